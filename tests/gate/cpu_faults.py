# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults of CPU code: compiler output for other flags than the recipe's flags, in all files or outside guarded code."""

from __future__ import annotations

from faults import Change, Fault, get_library
from made import text
from small_builds import Build
from variants import C10, CPU, OPENMP, PLAIN, Parts, capability, compiled, target

TORCHS_OWN = ("torch/_C.", "torch/lib/libc10", "torch/lib/libtorch")


def get_recipe_flags(identifier: str) -> tuple[str, ...]:
    return tuple(target(identifier)["recipe_flags"])


def added(*flags: str) -> Change:
    """One file of c10 by further flags."""

    def change(build: Build, parts: Parts) -> Build:
        own = get_library(build, C10)
        return build.but({C10: own.but(objects=(compiled(PLAIN, parts.machine, *parts.flags, *flags),))})

    return change


def add_target_file(identifier: str) -> Change:
    """One file of c10 by another target's flags."""
    return lambda build, parts: added(*get_recipe_flags(identifier))(build, parts)


def rebuild_all(*flags: str) -> Change:
    """Compiles all of libtorch with other flags than the recipe's flags."""

    def change(build: Build, parts: Parts) -> Build:
        plain = (compiled(PLAIN, parts.machine, *flags),)
        own = {path for path in build.libraries if path.startswith(TORCHS_OWN)}
        built = build.but({path: get_library(build, path).but(objects=plain) for path in own})
        return built.but({CPU: get_library(build, CPU).but(objects=parts.cpu_objects(flags))})

    return change


def rebuild_for_target(identifier: str) -> Change:
    return lambda build, parts: rebuild_all(*get_recipe_flags(identifier))(build, parts)


def rebuild_kernels(*flags: str) -> Change:
    """Torch's kernels by other flags than the rest."""
    return lambda build, parts: build.but({CPU: get_library(build, CPU).but(objects=parts.cpu_objects(flags))})


def bundle_library(path: str, identifier: str) -> Change:
    """A library beside torch's own by another target's flags."""

    def change(build: Build, parts: Parts) -> Build:
        own = get_library(build, path)
        return build.but({path: own.but(objects=(compiled(PLAIN, parts.machine, *get_recipe_flags(identifier)),))})

    return change


def planted_in_capabilities(*defines: str) -> Change:
    def change(build: Build, parts: Parts) -> Build:
        objects = parts.cpu_objects(defines=tuple(f"-D{name}" for name in defines))
        return build.but({CPU: get_library(build, CPU).but(objects=objects)})

    return change


def capabilities(*names: str, without: tuple[str, ...] = ()) -> Change:
    """Fewer CPU capabilities, or some by no flags of their own."""

    def change(build: Build, parts: Parts) -> Build:
        objects = [capability(parts.machine, name, parts.flags) for name in names]
        for name in without:
            copy = text(f"cpu_capabilities.cpp.{name}.cpp", CAPABILITIES_TEXT)
            objects.append(compiled(copy, parts.machine, *parts.flags, f"-DCAPABILITY={name}"))
        objects.append(compiled(PLAIN, parts.machine, *parts.flags))
        return build.but({CPU: get_library(build, CPU).but(objects=tuple(objects))})

    return change


def add_initializer(identifier: str) -> Change:
    """A static initializer of c10 by another target's flags."""

    def change(build: Build, parts: Parts) -> Build:
        source = text("table.cpp", TABLE)
        own = get_library(build, C10)
        objects = (*own.objects, compiled(source, parts.machine, *parts.flags, *get_recipe_flags(identifier)))
        return build.but({C10: own.but(objects=objects)})

    return change


TABLE = """
namespace c10 {
float table[1024];
int counts[1024];
bool filled = [] {
  for (int i = 0; i < 1024; ++i) table[i] = static_cast<float>(counts[i] * counts[i]) + 1;
  return true;
}();
}  // namespace c10
"""
CAPABILITIES_TEXT = (PLAIN.parents[1] / "audit/fixtures/cpu_capabilities.cpp").read_text()

TOO_MUCH = [
    Fault("FMA in one file", "cpu-avx", "PB207", added("-mfma")),
    Fault("FMA in one file", "pytorch-python313-cuda12_9-sm61-avx", "PB207", added("-mfma")),
    Fault("AVX2 in one file", "cpu-avx", "PB207", added("-mavx2")),
    Fault("BMI2 in one file", "cpu-avx", "PB207", added("-mbmi", "-mbmi2")),
    Fault("all of it for avx2", "cpu-avx", "PB207", rebuild_for_target("avx2")),
    Fault("AVX-512 in one file", "sm80-avx2", "PB207", add_target_file("avx512")),
    Fault("all of it for avx512", "cpu-avx2", "PB207", rebuild_for_target("avx512")),
    Fault("VNNI in one file", "sm86-avx512", "PB207", add_target_file("avx512vnni")),
    Fault("AVX-VNNI in one file", "sm120-avx2", "PB207", added("-mavxvnni")),
    Fault("SVE outside dispatch", "sm121-armv8_2", "PB207", added("-march=armv8.2-a+fp16+dotprod+sve")),
    Fault("all of it for armv9", "cpu-armv8_2", "PB207", rebuild_for_target("armv9")),
    Fault("AVX-512 in libgomp", "cpu-avx2", "PB212", bundle_library(OPENMP, "avx512")),
    Fault("SVE for one vector length in one file", "sm121-armv9", "PB207", added("-msve-vector-bits=256")),
    Fault("I8MM in one file", "sm75-armv8_2", "PB207", added("-march=armv8.2-a+fp16+dotprod+i8mm")),
]

TOO_LITTLE = [
    Fault("no EVEX", "sm90-avx512", "PB208", rebuild_for_target("avx2")),
    Fault("no EVEX", "cpu-avx512vnni", "PB208", rebuild_for_target("avx2")),
    Fault("no AVX2 and no FMA", "sm89-avx2", "PB208", rebuild_for_target("avx")),
    Fault("no VEX", "cpu-avx", "PB208", rebuild_all()),
    Fault("no AVX2 in torch's kernels", "cpu-avx2", "PB208", rebuild_kernels()),
    Fault("no SVE", "sm121-armv9", "PB208", rebuild_for_target("armv8_2")),
    Fault("no SVE", "cpu-armv9", "PB208", rebuild_all("-march=armv8.6-a")),
    Fault("neither LSE, dotprod nor FP16", "sm90-armv8_2", "PB208", rebuild_all()),
    Fault("no VNNI", "sm100-avx512vnni", "PB209", rebuild_for_target("avx512")),
    Fault("no SVE2", "cpu-armv9", "PB209", rebuild_all("-march=armv8.6-a+sve")),
]

CAPABILITIES = [
    Fault("AVX-512 in a static initializer", "sm89-avx2", "PB204", add_initializer("avx512")),
    Fault("AVX2 in a CPU capability's static initializer", "cpu-avx", "PB204", planted_in_capabilities("INITIALIZER")),
    Fault("SVE in a static initializer", "sm110-armv8_2", "PB204", add_initializer("armv9")),
    Fault("a leaked COMDAT of the AVX512 CPU capability", "sm103-avx2", "PB205", planted_in_capabilities("LEAK")),
    Fault(
        "a leaked hidden COMDAT of the AVX512 CPU capability",
        "cpu-avx",
        "PB205",
        planted_in_capabilities("LEAK", "HIDDEN"),
    ),
    Fault("a leaked COMDAT of the SVE256 CPU capability", "sm80-armv8_2", "PB205", planted_in_capabilities("LEAK")),
    Fault("the AVX512 CPU capability is lost", "sm75-avx2", "PB206", capabilities("AVX2", "DEFAULT")),
    Fault(
        "the AVX512 CPU capability has no such instructions",
        "cpu-avx2",
        "PB206",
        capabilities("AVX2", "DEFAULT", without=("AVX512",)),
    ),
    Fault("the AVX2 CPU capability is lost", "cpu-avx", "PB206", capabilities("AVX512", "DEFAULT")),
]

FAULTS = [*TOO_MUCH, *TOO_LITTLE, *CAPABILITIES]
