# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""PB2xx: small libtorches whose objects a compiler made by their CPU capabilities' flags (HostCodeFixtures.cmake)."""

import pytest
from builds import ANY, CPU
from rows import Row, ask
from small_builds import HOST_CODE, Build, Library


def built(name: str):
    def build() -> Build:
        if not (HOST_CODE / f"lib{name}.so").exists():
            pytest.skip(f"lib{name}.so was not built: no cross compiler")
        return Build({CPU: Library(ready=f"lib{name}.so")}, tag=None)

    return build


C10 = "torch/lib/libc10.so"
GOMP = "torch/lib/libgomp.so.1"
X86, ARM = "x86_64", "aarch64"
# Code that a CPU of the claimed row cannot run, and its callers.
WIDE = {
    X86: 'extern "C" void wide_avx512(void) { __asm__ volatile("vaddps %zmm1, %zmm0, %zmm0"); }\n',
    ARM: 'extern "C" void wide_sve(void) { __asm__ volatile(".inst 0x04a10000"); }\n',
}
NAME = {X86: "wide_avx512", ARM: "wide_sve"}
ASKS = {
    X86: '__builtin_cpu_supports("avx512f")',
    ARM: "getauxval(16) & (1 << 22)",
}
# Code that GCC before 13 adds with -ffast-math: it flushes subnormal numbers to zero.
FLUSH = {
    X86: "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);",
    ARM: '__asm__ volatile("msr fpcr, %0" : : "r"(0x1000000UL));',
}
NO_OPCODE = {X86: ".byte 0x62, 0xf0, 0x7c, 0x48, 0x58, 0xc1", ARM: ".inst 0x02345678"}
READY = {X86: "avx2", ARM: "armv8_2"}
CLAIM = {X86: "avx2,only", ARM: "armv8_2,only"}


def start(body: str, machine: str) -> str:
    """Code of a library that runs as it is loaded."""
    head = "#include <sys/auxv.h>\n" + WIDE[machine]
    return head + f"__attribute__((constructor)) static void start(void) {{ {body} }}\n"


def pointer(machine: str, guard: str = "") -> str:
    return f"void (*call)(void) = {NAME[machine]}; {guard} call();"


def direct(machine: str, guard: str = "") -> str:
    return f"{guard} {NAME[machine]}();"


def guard(machine: str) -> str:
    return f"if ({ASKS[machine]})"


def beside(machine: str, path: str, code: str, **more):
    """A sound libtorch_cpu.so, and one more library."""

    def build() -> Build:
        sound = built(READY[machine])()
        other = Library(code=code, machine=machine, **more)
        needs = Library(machine=machine, needs=(path.rsplit("/", 1)[-1],))
        return sound.but({path: other} if path == C10 else {path: other, C10: needs})

    return build


def resolver(machine: str) -> str:
    """An ifunc whose resolver itself is not for every CPU."""
    body = f"{NAME[machine]}(); return wide;"
    kind = 'extern "C" void wide(void) {}\nextern "C" void (*choose(void))(void) '
    return WIDE[machine] + kind + f'{{ {body} }}\nextern "C" void chosen(void) __attribute__((ifunc("choose")));\n'


def make_load_rows(machine: str) -> list[Row]:
    needs = {X86: "needs avx512f", ARM: "needs sve"}[machine]
    unknown = start(f'__asm__ volatile("{NO_OPCODE[machine]}");', machine)
    known_later = (
        WIDE[machine]
        .replace("vaddps %zmm1, %zmm0, %zmm0", NO_OPCODE[machine])
        .replace(".inst 0x04a10000", NO_OPCODE[machine])
    )
    claim = CLAIM[machine]
    guarded = start(direct(machine, guard(machine)), machine)
    return [
        Row(
            "PB204", needs, beside(machine, C10, start(direct(machine), machine)), beside(machine, C10, guarded), claim
        ),
        Row("PB204", needs + " ", beside(machine, C10, resolver(machine)), beside(machine, C10, guarded), claim),
        Row(
            "PB211",
            f"may call {NAME[machine]}",
            beside(machine, C10, start(pointer(machine), machine)),
            beside(machine, C10, start(pointer(machine, guard(machine)), machine)),
            claim,
        ),
        Row(
            "PB212",
            needs,
            beside(machine, GOMP, start(direct(machine), machine)),
            beside(machine, GOMP, guarded),
            claim,
        ),
        Row(
            "PB217",
            "start() makes the CPU flush subnormal numbers to zero",
            beside(machine, C10, start(FLUSH[machine], machine)),
            beside(machine, C10, f"void set_flush_denormal(void) {{ {FLUSH[machine]} }}\n"),
            claim,
        ),
        Row(
            "PB214",
            "an instruction that pbprobe does not know",
            beside(machine, C10, unknown),
            beside(machine, C10, known_later),
            claim,
        ),
    ]


def foreign(machine: str):
    """A library of that processor, which libc10.so needs."""

    def build() -> Build:
        libraries = {GOMP: Library(machine=machine), C10: Library(machine=X86, needs=("libgomp.so.1",))}
        return built("avx2")().but(libraries)

    return build


def stub() -> Build:
    plain = 'extern "C" void f(void) { __asm__ volatile("vpaddd %ymm1, %ymm0, %ymm0"); }\n'
    return Build({CPU: Library(code=plain, machine=X86)}, tag=None)


ROWS = [
    *make_load_rows(X86),
    *make_load_rows(ARM),
    Row("PB213", "this file is for the processor aarch64, and", foreign(ARM), foreign(X86), CLAIM[X86]),
    Row("PB216", "none of torch's CPU kernels (capability DEFAULT)", stub, built("avx2"), CLAIM[X86]),
    Row("PB204", "needs avx", built("initializer"), built("generic"), ANY),
    Row(
        "PB205",
        "runs on every CPU, and the linker kept the copy of it that was compiled for one CPU capability",
        built("leak"),
        built("generic"),
        ANY,
    ),
    # The twin's inline function is called only by its CPU capability.
    Row("PB205", "kept the copy of it that was compiled for", built("hidden_leak"), built("own"), ANY),
    Row("PB206", "the AVX512 CPU capability is missing", built("lost"), built("generic"), ANY),
    Row("PB207", "which avx2 lacks", built("avx512"), built("avx2"), "avx2,only"),
    Row("PB207", "which avx lacks", built("avx2"), built("avx"), "avx,only"),
    Row("PB207", "which armv8_2 lacks", built("armv9"), built("armv8_2"), "armv8_2,only"),
    Row("PB208", "avx2 is claimed, and no unguarded code", built("generic"), built("avx2"), "avx2,only"),
    Row("PB208", "avx2 is claimed, and no unguarded", built("generic"), built("generic"), "avx2,only", "avx2"),
    Row("PB208", "armv8_2 is claimed, and no", built("arm_generic"), built("armv8_2"), "armv8_2,only"),
    Row("PB208", "armv9 is claimed, and no", built("armv8_2"), built("armv9"), "armv9,only"),
    Row(
        "PB209",
        "the build is the same as for avx512",
        built("avx512bf16"),
        built("avx512"),
        "avx512bf16,only",
        "avx512,only",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_finds_planted_fault_and_accepts_twin(tmp_path, row):
    ask(row, tmp_path)
