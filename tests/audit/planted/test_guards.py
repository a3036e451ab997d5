# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Code that asks the CPU before it calls a faster function is guarded, also where the call is the function's last."""

import json
import subprocess

import pytest
from builds import CPU, PROGRAM
from made import MACHINE, OUT, compiler, made, text
from small_builds import Build, Library
from test_cpu import C10, CLAIM, X86, beside
from test_names import judged

CODE = """
__attribute__((noinline, target("avx2,fma"))) static void fast(int* x) {
  for (int i = 0; i < 64; ++i) x[i] = x[i] * x[i] + 1;
}
__attribute__((noinline)) static void slow(int* x) { for (int i = 0; i < 64; ++i) x[i] = x[i] * 3 + 1; }
__attribute__((noinline)) static void help(int* x) { x[0] += 1; fast(x); x[1] += 1; }
extern "C" void run(int* x) { %s }
namespace at::native::DEFAULT { void scale(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 2; } }
"""
GUARDED = 'if (__builtin_cpu_supports("avx2")) fast(x); else slow(x);'
HELPED = 'if (__builtin_cpu_supports("avx2")) help(x); else slow(x);'
UNHELPED = 'if (__builtin_cpu_supports("avx2")) help(x); else slow(x); }\nextern "C" void other(int* x) { help(x);'
UNGUARDED = "if (x[0] > 1) fast(x); else slow(x);"


@pytest.mark.skipif(MACHINE != "x86_64", reason="the guards are x86-64's")
@pytest.mark.parametrize("program", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("body", "found", "stripped"),
    [
        (GUARDED, ("pass", []), False),
        (GUARDED, ("pass", []), True),
        (HELPED, ("pass", []), False),
        (UNHELPED, ("fail", ["PB207"]), False),
        (UNGUARDED, ("fail", ["PB207"]), False),
        (UNGUARDED, ("unknown", ["PB211"]), True),  # without symbols nothing tells who calls fast()
    ],
    ids=[
        "guarded",
        "guarded and stripped",
        "helper",
        "helper with another caller",
        "unguarded",
        "unguarded and stripped",
    ],
)
def test_follows_two_tail_calls_of_a_guard(tmp_path, program, body, found, stripped):
    if program != "g++":
        try:
            subprocess.run([program, "--version"], capture_output=True, check=True)
        except FileNotFoundError:
            pytest.skip(f"no {program}")
    command = program if program != "g++" else compiler(MACHINE)
    flags = ("-O3", "-ffp-contract=off", "-mavx", "-fPIC", "-fno-inline")
    made_object = made("guard.o", command, *flags, "-c", text("guard.cpp", CODE % body), "-o", OUT)
    linking = ("-Wl,-s",) if stripped else ()
    build = Build({CPU: Library(code="", objects=(made_object,), linking=linking)}, tag=None)
    command = [PROGRAM, "audit", build.write(tmp_path), "--claim", "avx,only", "--format", "json"]
    verdict = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)["verdict"]
    assert (verdict["outcome"], [objection["id"] for objection in verdict["objections"]]) == found


# BoringSSL keeps the words of cpuid, which a function returns by their number, behind a jump in FIPS modules.
GETTER = r"""
#include <cpuid.h>
#include <pthread.h>
#define N __attribute__((noinline))
N static void wide() { __asm__ volatile("vaddps %%zmm1, %%zmm0, %%zmm0"); }
static unsigned words[4];
static pthread_once_t once;
static void ask() { __cpuid_count(7, 0, words[0], words[1], words[2], words[3]); }
extern "C" __attribute__((noinline, visibility("hidden"))) unsigned get_word(unsigned i) {
  %s
  return i < 4 ? words[i] : 0;
}
__asm__(".type jump, @function\njump: jmp get_word\n.size jump, . - jump");
extern "C" __attribute__((visibility("hidden"))) unsigned jump(unsigned i);
N static void hash() { if (%s(1) & (1u << 16)) wide(); }
__attribute__((constructor)) static void start() { hash(); }
"""
ONCE = "pthread_once(&once, ask);"


@pytest.mark.skipif(MACHINE != X86, reason="the guards are x86-64's")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("once", "name", "found"),
    [
        (ONCE, "get_word", {"PB211"}),  # may call
        (ONCE, "jump", {"PB211"}),
        ("", "get_word", {"PB204"}),  # calls: the words are zero
    ],
    ids=["getter", "getter behind a jump", "no getter"],
)
def test_does_not_know_a_getter_of_words(tmp_path, once, name, found, level):
    source = text("getter.cpp", GETTER % (once, name))
    made_object = made("getter.o", compiler(MACHINE), level, "-mavx2", "-fPIC", "-c", source, "-o", OUT)
    build = beside(X86, C10, "", objects=(made_object,))()
    assert judged(build, CLAIM[X86], tmp_path) == ("fail", found)
