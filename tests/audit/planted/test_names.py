# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Code beyond the claim that a name, a resolver or its file would excuse; the bytes decide."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable

import pytest
from builds import CPU, PROGRAM
from made import OUT, compiler, made, text
from small_builds import Build, Library
from test_cpu import ARM, ASKS, C10, GOMP, X86, beside, built
from test_cpu import CLAIM as CLAIMS
from test_cpu import WIDE as WIDE_OF

WIDE = '__asm__ volatile("vaddps %zmm1, %zmm0, %zmm0");'
ASK = f"if ({ASKS[X86]})"
FLAGS = ("-O2", "-fPIC", "-fno-inline", "-mavx2", "-mfma", "-mf16c")
NEEDED = "libbundled.so"
PROGRAM_OF_TORCH = "torch/bin/torch_shm_manager"


def compiled(code: str, source: str = "code.cpp", flags: tuple[str, ...] = ()):
    return made("code.o", compiler(X86), *FLAGS, *flags, "-c", text(source, code), "-o", OUT)


def build_c10(code: str, source: str = "code.cpp", flags: tuple[str, ...] = ()) -> Callable[[], Build]:
    """A sound libtorch_cpu.so, and libc10.so from one source file."""
    return beside(X86, C10, "", objects=(compiled(code, source, flags),))


def store_hwcap(body: str, hwcap: str) -> Callable[[], Build]:
    """libc10.so for aarch64 that stores getauxval(AT_HWCAP), or something else, before `body` uses it."""

    def build() -> Build:
        code = text("code.cpp", STORED % {"hwcap": hwcap, "body": body % {"hwcap": hwcap} if "%(" in body else body})
        flags = ("-O2", "-fPIC", "-fno-inline", "-fno-toplevel-reorder")
        code_object = made("code.o", compiler(ARM), *flags, "-c", code, "-o", OUT)
        return beside(ARM, C10, "", objects=(code_object,))()

    return build


def at(path: str, code: str) -> Callable[[], Build]:
    """The code as another file of the wheel."""
    return lambda: built("avx2")().but({path: Library(code=code, machine=X86)})


def hidden(name: str, guard: str = "", opening: str = "", closing: str = "") -> str:
    """A function that only this file calls, and an exported one that calls it."""
    inner = f"{opening} static __attribute__((noinline)) void {name}() {{ {WIDE} }} {closing}\n"
    space = "at::native::AVX512::" if "AVX512" in opening else "fbgemm::" if "fbgemm" in opening else ""
    return f'{inner}extern "C" void run(void) {{ {guard} {space}{name}(); }}\n'


def exported(name: str, guard: str = "") -> str:
    inner = f'extern "C" void {name}(void) {{ {WIDE} }}\n'
    return inner + (f'extern "C" void run(void) {{ {guard} {name}(); }}\n' if guard else "")


def resolved(body: str) -> str:
    """An ifunc with two candidates."""
    candidates = f"static void wide_avx512() {{ {WIDE} }}\nstatic void narrow() {{}}\n"
    kind = 'extern "C" void (*choose(void))(void) {{ {} }}\n'.format(f"__builtin_cpu_init(); {body}")
    return candidates + kind + 'extern "C" void chosen(void) __attribute__((ifunc("choose")));\n'


# A function that a program calls after loading asks for HWCAP_SVE, and another one uses the answer.
STORED = """
#include <sys/auxv.h>
extern "C" unsigned long environment;
static void wide() { __asm__ volatile(".inst 0x04a00000"); }
static void narrow() {}
static void other() {}
static struct { int calls; unsigned long hwcap; } state;
static void (*chosen[2])() = {narrow, narrow};
extern "C" void ask() { state.hwcap = %(hwcap)s; }
%(body)s
"""
ON_ARM_LATER = {
    "stored answer": 'extern "C" void run() { if (state.hwcap & (1 << 22)) wide(); else narrow(); }',
    "filled table": """
extern "C" void fill() {
  const unsigned long hwcap = %(hwcap)s;
  ++state.calls;
  chosen[0] = hwcap & 1 ? narrow : other;
  chosen[1] = hwcap & (1 << 22) ? wide : narrow;
}
extern "C" void run() { chosen[0](); chosen[1](); }
""",
}
CLONES = """
__attribute__((target_clones("default", "avx512f"))) void scale(float* x) {
  for (int i = 0; i < 1024; ++i) x[i] = x[i] * 2 + 1;
}
"""
MORE = ("-O3", "-mavx512f", "-mprefer-vector-width=512")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    planted: Callable[[], Build]
    found: tuple[str, str]  # outcome, check
    twin: Callable[[], Build]
    machine: str = X86


FAIL, UNKNOWN = ("fail", "PB207"), ("unknown", "PB211")
NAMESPACES = {
    "capability": ("namespace at::native::AVX512 {", "}"),
    "fbgemm": ("namespace fbgemm {", "}"),
}
CASES = [
    Case("source", build_c10(hidden("wide"), "mkl_x.cpp"), FAIL, build_c10(hidden("wide", ASK), "mkl_x.cpp")),
    Case(
        "sleef", build_c10(hidden("wide"), "sleefsimd.c.cpp"), FAIL, build_c10(hidden("wide", ASK), "sleefsimd.c.cpp")
    ),
    Case("prefix", build_c10(hidden("mkl_wide")), FAIL, build_c10(hidden("mkl_wide", ASK))),
    Case("suffix", build_c10(hidden("wide_avx512")), FAIL, build_c10(hidden("wide_avx512", ASK))),
    Case("core", build_c10(hidden("wide_SKYLAKEX")), FAIL, build_c10(hidden("wide_SKYLAKEX", ASK))),
    *(
        Case(
            name,
            build_c10(hidden("wide", "", *space)),
            FAIL,
            build_c10(hidden("wide", ASK, *space)),
        )
        for name, space in NAMESPACES.items()
    ),
    Case("exported", build_c10(exported("mkl_wide")), UNKNOWN, build_c10(exported("mkl_wide", ASK))),
    Case(
        "resolver",
        build_c10(resolved("return wide_avx512;")),
        FAIL,
        build_c10(resolved('return __builtin_cpu_supports("avx512f") ? wide_avx512 : narrow;')),
    ),
    Case(
        "resolver of aarch64",
        lambda: beside(ARM, C10, ON_ARM % "wide_sve")(),
        FAIL,
        lambda: beside(ARM, C10, ON_ARM % "hwcap & (1 << 22) ? wide_sve : narrow")(),
        ARM,
    ),
    *(
        Case(
            name,
            store_hwcap(body, "environment"),
            FAIL,
            store_hwcap(body, "getauxval(16)"),
            ARM,
        )
        for name, body in ON_ARM_LATER.items()
    ),
    Case("clones", build_c10(CLONES, flags=MORE), FAIL, build_c10(CLONES, flags=("-O3",))),
    Case(
        "OpenMP",
        beside(X86, GOMP, f'extern "C" void GOMP_parallel(void) {{ {WIDE} }}\n'),
        ("fail", "PB212"),
        beside(X86, GOMP, 'extern "C" void GOMP_parallel(void) {}\n'),
    ),
    Case(
        "FBGEMM",
        beside(X86, "torch/lib/libfbgemm.so", f'extern "C" void pack(void) {{ {WIDE} }}\n'),
        ("fail", "PB212"),
        beside(X86, "torch/lib/libfbgemm.so", "#include <sys/auxv.h>\n" + hidden("wide", ASK)),
    ),
    Case(
        "OpenBLAS",
        beside(X86, "torch/lib/libopenblas.so.0", hidden("sgemm_kernel_SKYLAKEX")),
        ("fail", "PB212"),
        beside(X86, "torch/lib/libopenblas.so.0", hidden("sgemm_kernel_SKYLAKEX", ASK)),
    ),
    Case(
        "functorch",
        at("functorch/_C.so", f'extern "C" void* PyInit__C() {{ {WIDE} return nullptr; }}\n'),
        FAIL,
        at("functorch/_C.so", 'extern "C" void* PyInit__C() { return nullptr; }\n'),
    ),
    Case(
        "program",
        at(PROGRAM_OF_TORCH, f'extern "C" void serve(void) {{ {WIDE} }}\n'),
        FAIL,
        at(PROGRAM_OF_TORCH, 'extern "C" void serve(void) {}\n'),
    ),
    Case(
        "library without a suffix",
        at("torch/lib/helper", f'extern "C" void serve(void) {{ {WIDE} }}\n'),
        ("fail", "PB212"),
        at("torch/lib/helper", 'extern "C" void serve(void) {}\n'),
    ),
    Case(
        "folder of torch",
        at("torchgen/helper.so", f'extern "C" void serve(void) {{ {WIDE} }}\n'),
        ("fail", "PB212"),
        at("torchgen/helper.so", 'extern "C" void serve(void) {}\n'),
    ),
    Case(
        "plain kernels",
        lambda: built("generic")().but({C10: Library(machine=X86, code=f'extern "C" void f(void) {{ {AVX2} }}\n')}),
        ("fail", "PB208"),
        lambda: built("avx2")().but({C10: Library(machine=X86, code=f'extern "C" void f(void) {{ {AVX2} }}\n')}),
    ),
]
# ld.so gives the resolvers of aarch64 what they would ask for.
ON_ARM = (
    WIDE_OF[ARM]
    + """
extern "C" void narrow(void) {}
extern "C" void (*choose(unsigned long hwcap))(void) { return %s; }
extern "C" void chosen(void) __attribute__((ifunc("choose")));
"""
)
AVX2 = '__asm__ volatile("vpaddd %ymm1, %ymm0, %ymm0");'


def judged(build: Build, claim: str, folder) -> tuple[str, set[str]]:
    command = [PROGRAM, "audit", build.write(folder), "--claim", claim, "--format", "json"]
    verdict = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)["verdict"]
    return verdict["outcome"], {objection["id"] for objection in verdict["objections"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decides_by_code(tmp_path, case):
    assert CPU in case.planted().libraries
    outcome, check = case.found
    claim = CLAIMS[case.machine]
    assert judged(case.planted(), claim, tmp_path / "planted") == (outcome, {check})
    assert judged(case.twin(), claim, tmp_path / "twin") == ("pass", set())
