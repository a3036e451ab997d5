# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A guard asks for the features of the code behind it; a question for another feature guards nothing."""

import shutil

import pytest
from made import MACHINE, OUT, compiler, made, text
from small_builds import Library
from test_cpu import ARM, C10, READY, X86, built
from test_names import judged

HEAD = {
    X86: """
#include <cpuid.h>
#include <thread>
#define N __attribute__((noinline))
N static void fast(int* x) { __asm__ volatile("vaddps %%zmm1, %%zmm0, %%zmm0"); x[0] += 1; }
N static void slow(int* x) { x[0] += 2; }
""",
    ARM: """
#include <sys/auxv.h>
#define N __attribute__((noinline))
struct Caps { unsigned long size, first, second; };
N static void fast(int* x) { __asm__ volatile(".inst 0x04a10000"); x[0] += 1; }
N static void slow(int* x) { x[0] += 2; }
""",
}


def run(body: str, head: str = "") -> str:
    return f'{head}\nextern "C" void run(int* x, int n) {{ {body} }}\n'


def supports(name: str) -> str:
    return f'__builtin_cpu_supports("{name}")'


def resolved(argument: str, body: str) -> str:
    kind = f'extern "C" void (*choose({argument}))(int*) {{ {body} }}\n'
    return kind + 'extern "C" void chosen(int*) __attribute__((ifunc("choose")));\n'


def ask_cpuid(leaf: int, test: str) -> str:
    return run(f"unsigned a, b, c, d; __cpuid_count({leaf}, 0, a, b, c, d); if ({test}) fast(x); else slow(x);")


WIDE, NARROW = supports("avx512f"), supports("avx2")
IF = "if (%s) fast(x); else slow(x);"
INIT = "__builtin_cpu_init(); return %s ? %s : %s;"
HWCAP, HWCAP2 = "getauxval(16)", "getauxval(26)"
SVE = f"({HWCAP} & (1 << 22))"

RIGHT = {
    X86: {
        "if": run(IF % WIDE),
        "a better feature": run(IF % supports("avx512vnni")),
        "two features": run(IF % f"{NARROW} && {WIDE}"),
        "early return": run(f"if (!{WIDE}) {{ slow(x); return; }} x[1] = 1; fast(x); x[2] = 1;"),
        "loop": run(f"for (int i = 0; i < n; ++i) {IF % WIDE}"),
        "pointer": run(f"void (*f)(int*) = {WIDE} ? fast : slow; f(x);"),
        "cpuid": ask_cpuid(7, "b & (1u << 16)"),
        "all bits": ask_cpuid(7, "(b & 0x40010000u) == 0x40010000u"),
        "resolver": resolved("", INIT % (WIDE, "fast", "slow")),
        "flag": run("if (flag) fast(x); else slow(x);", f"static bool flag = {WIDE};"),
        "local flag": run(f"static const bool flag = {WIDE}; {IF % 'flag'}"),
        "function": run(IF % "has()", f"N static bool has() {{ return {WIDE}; }}"),
        "lambda": run(f"auto has = [] {{ return bool({WIDE}); }}; {IF % 'has()'}"),
        "guard in a lambda": run(f"auto go = [&] {{ {IF % WIDE} }}; go();"),
        "guard of a lambda": run(f"auto go = [&] {{ fast(x); }}; if ({WIDE}) go();"),
        "thread": run(f"std::thread t([x] {{ {IF % WIDE} }}); t.join();"),
        "guard of a thread's function": run(f"if ({WIDE}) {{ std::thread t(fast, x); t.join(); }}"),
    },
    ARM: {
        "if": run(IF % SVE),
        "all bits": run(IF % f"({HWCAP} & 0x500000) == 0x500000"),
        "SVE2": run(IF % f"({HWCAP2} & 2)"),
        "flag": run("if (flag) fast(x); else slow(x);", f"static bool flag = {SVE};"),
        "function": run(IF % "has()", f"N static bool has() {{ return {SVE}; }}"),
        "resolver": resolved("unsigned long caps", "return caps & (1 << 22) ? fast : slow;"),
        "second word": resolved(
            "unsigned long caps, const Caps* all", "return (caps >> 62 & 1) && (all->second & 2) ? fast : slow;"
        ),
    },
}
WRONG = {
    X86: {
        "another feature": run(IF % NARROW),
        "inverted": run(f"if (!{WIDE}) fast(x); else slow(x);"),
        "either": run(IF % f"{NARROW} || {WIDE}"),
        "ignored": run(f"volatile int has = {WIDE}; (void)has; fast(x);"),
        "both ways": run(f"{IF % WIDE} fast(x);"),
        "another leaf": ask_cpuid(1, "b & (1u << 16)"),
        "another bit": ask_cpuid(7, "b & (1u << 5)"),
        "another register": ask_cpuid(7, "d & (1u << 16)"),
        "resolver": resolved("", INIT % (NARROW, "fast", "slow")),
        "inverted resolver": resolved("", INIT % (WIDE, "slow", "fast")),
        "resolver without a choice": resolved("", INIT % (WIDE, "fast", "fast")),
        "flag": run("if (flag) fast(x); else slow(x);", f"static bool flag = {NARROW};"),
        "function": run(IF % "has()", f"N static bool has() {{ return {NARROW}; }}"),
        "lambda": run(f"auto has = [] {{ return bool({NARROW}); }}; {IF % 'has()'}"),
        "helper": run(f"if ({NARROW}) help(x);", "N static void help(int* x) { x[3] = 1; fast(x); x[4] = 1; }"),
        "pointer": run(f"void (*f)(int*) = {NARROW} ? fast : slow; f(x);"),
    },
    ARM: {
        "another feature": run(IF % f"({HWCAP} & 2)"),
        "another word": run(IF % f"({HWCAP2} & (1 << 22))"),
        "another entry": run(IF % "getauxval(15)"),
        "ignored": run(f"volatile unsigned long has = {HWCAP}; (void)has; fast(x);"),
        "flag": run("if (flag) fast(x); else slow(x);", f"static bool flag = {HWCAP} & 2;"),
        "function": run(IF % "has()", f"N static bool has() {{ return {HWCAP} & 2; }}"),
        "resolver": resolved("unsigned long caps", "return caps & 2 ? fast : slow;"),
    },
}


# Feature, an instruction of it, and a feature that real CPUs have without it: AVX-512F on Knights Landing, AVX2 on CPUs
# of VIA, AVX-512BW on Skylake.
BEYOND = [
    ("avx512bw", "vpaddb %%zmm1, %%zmm0, %%zmm0", "avx512f", "avx2"),
    ("avx512dq", "vpmullq %%zmm1, %%zmm0, %%zmm0", "avx512f", "avx2"),
    ("avx512vl", "vpaddd %%xmm16, %%xmm0, %%xmm0", "avx512f", "avx2"),
    ("avx512vnni", "vpdpbusd %%zmm1, %%zmm0, %%zmm0", "avx512bw", "avx2"),
    ("fma", "vfmadd231ps %%ymm1, %%ymm0, %%ymm0", "avx2", "avx"),
]


def judge(
    machine: str,
    body: str,
    program: str,
    level: str,
    folder,
    linking: tuple[str, ...] = (),
    code: str = "",
    claim: str = "",
) -> tuple[str, set[str]]:
    if program != "g++" and (machine != MACHINE or not shutil.which(program)):
        pytest.skip(f"no {program} for {machine}")
    command = compiler(machine) if program == "g++" else program
    ready = claim or READY[machine]
    flags = ("-std=c++17", level, "-fPIC", *((f"-m{ready}",) if machine == X86 else ()))
    head = HEAD[machine].replace("vaddps %%zmm1, %%zmm0, %%zmm0", code) if code else HEAD[machine]
    asks = made("asks.o", command, *flags, "-c", text("asks.cpp", head.replace("%%", "%") + body), "-o", OUT)
    build = built(ready)().but({C10: Library(code="", objects=(asks,), machine=machine, linking=linking)})
    return judged(build, f"{ready},only", folder)


def list_cases(cases):
    return [
        pytest.param(machine, body, program, level, id=f"{machine}-{name}-{program}-{level}".replace(" ", "-"))
        for machine, rows in cases.items()
        for name, body in rows.items()
        for program in (("g++", "clang++") if machine == X86 else ("g++",))
        for level in ("-O0", "-O2")
    ]


@pytest.mark.parametrize(("machine", "body", "program", "level"), list_cases(RIGHT))
def test_accepts_question_for_feature(tmp_path, machine, body, program, level):
    assert judge(machine, body, program, level, tmp_path) == ("pass", set())


@pytest.mark.parametrize(("machine", "body", "program", "level"), list_cases(WRONG))
def test_rejects_question_for_another_feature(tmp_path, machine, body, program, level):
    assert judge(machine, body, program, level, tmp_path) == ("fail", {"PB207"})


@pytest.mark.parametrize(("feature", "code", "less", "claim"), BEYOND, ids=[row[0] for row in BEYOND])
def test_rejects_question_for_part_of_features(tmp_path, feature, code, less, claim):
    def ask(name: str, folder) -> tuple[str, set[str]]:
        return judge(X86, run(IF % supports(name)), "g++", "-O2", folder, code=code, claim=claim)

    assert ask(less, tmp_path / "planted") == ("fail", {"PB207"})
    assert ask(feature, tmp_path / "twin") == ("pass", set())


STRIP = ("-Wl,-s",)


@pytest.mark.parametrize(("machine", "body", "program", "level"), list_cases(RIGHT))
def test_accepts_question_without_symbols(tmp_path, machine, body, program, level):
    assert judge(machine, body, program, level, tmp_path, STRIP) == ("pass", set())


@pytest.mark.parametrize(("machine", "body", "program", "level"), list_cases(WRONG))
def test_rejects_question_for_another_feature_without_symbols(tmp_path, machine, body, program, level):
    assert judge(machine, body, program, level, tmp_path, STRIP)[0] != "pass"
