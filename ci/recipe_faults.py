# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults that ci/recipe-builds plants in recipes: each still builds, and the gate of the build names it."""

from __future__ import annotations

import dataclasses
import re

CPU = "pytorch-python313-cpu-avx2"
GPU = "pytorch-python313-cuda13_0-sm90-avx512"
SPARK = "pytorch-python313-cuda13_0-sm121-armv9"


@dataclasses.dataclass(frozen=True)
class Fault:
    """A change of a recipe that still builds, and the checks of the gate that it wants, besides the claim's own."""

    what: str
    recipe: str
    old: str
    new: str
    expected: frozenset[str]
    fails: bool = True  # else the gate passes it, and warns by these checks

    @property
    def folder(self) -> str:
        """Returns the name of a folder, valid in a Nix path."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.what)

    @property
    def wanted(self) -> str:
        return ("" if self.fails else "warned of: ") + ", ".join(sorted(self.expected))


def overlay(text: str) -> tuple[str, str]:
    """Returns a change that appends an overlay to the recipe's overlays."""
    end = "      })\n    ];\nin\n"
    return end, end.replace("    ];", f"      (final: prev: {{ {text} }})\n    ];")


def override_torch(attributes: str) -> tuple[str, str]:
    """Returns an overlay that changes torch's derivation."""
    changed = f"torch = before.torch.overrideAttrs (old: {{ {attributes} }});"
    return overlay(
        f"pythonPackagesExtensions = prev.pythonPackagesExtensions ++ [ (_: before: {{ {changed} }}) ];",
    )


def exported(variable: str, value: str) -> tuple[str, str]:
    """Returns a change that exports a variable in the build of torch, after the exports of nixpkgs."""
    return override_torch(f"preConfigure = old.preConfigure + \"export {variable}='{value}'\\n\";")


def environment(text: str) -> tuple[str, str]:
    """Returns a change that sets variables of torch's build through recipes/nix/torch.nix."""
    line = '  python = "313";\n'
    return line, f"{line}  environment = {{ {text} }};\n"


def append_flag(last: str, flag: str) -> tuple[str, str]:
    """Returns a change that inserts `flag` after the compiler flag `last` of the recipe."""
    return f'    "{last}"\n', f'    "{last}"\n    "{flag}"\n'


def replace_cuda_package(name: str, line: str) -> tuple[str, str]:
    """Returns an overlay that takes one package of the CUDA set from another line."""
    package = f"(_: _: {{ {name} = final.{line}.{name}; }})"
    return overlay(f"cudaPackages = prev.cudaPackages.overrideScope {package};")


def by(*ids: str) -> frozenset[str]:
    return frozenset(ids)


FAULTS = (
    Fault("cpuFlags dropped", CPU, '    "-mavx2"\n    "-mfma"\n    "-mf16c"\n', "", by("PB208")),
    Fault("a flag taken back", CPU, *append_flag("-mf16c", "-mno-avx2"), by("PB208")),
    Fault("a later -march for more", CPU, *append_flag("-mf16c", "-march=skylake-avx512"), by("PB207", "PB215")),
    Fault("a later -march for less", SPARK, *append_flag("-march=armv9-a+sve2", "-march=armv8-a"), by("PB208")),
    Fault("-ffast-math", CPU, *append_flag("-mf16c", "-ffast-math"), by("PB217")),
    Fault("arch list replaced", GPU, 'gpuArchSM = "9.0"', 'gpuArchSM = "10.0"', by("PB314", "PB318")),
    Fault("the SM of a sibling chip", SPARK, *exported("TORCH_CUDA_ARCH_LIST", "12.0"), by("PB314")),
    Fault("one SM more", GPU, *exported("TORCH_CUDA_ARCH_LIST", "9.0;10.0"), by("PB316")),
    Fault("one SM more, by CUDAFLAGS", GPU, *exported("CUDAFLAGS", "-gencode=arch=compute_80,code=sm_80"), by("PB316")),
    Fault("PTX too", GPU, *exported("CUDAFLAGS", "-gencode=arch=compute_90,code=compute_90"), by("PB317"), fails=False),
    Fault("CUDA's overlay removed", GPU, "cudaPackages = final.cudaPackages_13_0;", "", by("PB106")),
    Fault("another CUDA", GPU, "final.cudaPackages_13_0", "final.cudaPackages_12_9", by("PB106")),
    Fault("another CUDA's cudart", GPU, *replace_cuda_package("cuda_cudart", "cudaPackages_12_9"), by("PB106")),
    Fault("USE_CUDA=0", GPU, *environment('USE_CUDA = "0";'), by("PB106")),
    Fault("USE_CUDNN=0", GPU, *environment('USE_CUDNN = "0";'), by("PB125"), fails=False),
    Fault("another version", CPU, *environment('PYTORCH_BUILD_VERSION = "2.10.0a0+git1";'), by("PB105")),
    Fault("another Python", CPU, 'python = "313"', 'python = "312"', by("PB107")),
    Fault("BLAS switched", CPU, 'blasProvider ? "openblas"', 'blasProvider ? "mkl"', by("PB108")),
)
