# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Contents of this package, and messages for machines that need more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pbprobe import _built

# Paths that show an NVIDIA GPU on Linux without a call to the driver.
GPU_PLACES = ("/proc/driver/nvidia/gpus", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/dxg")


def has_gpu(places: Sequence[str] = GPU_PLACES) -> bool:
    """Reports whether the machine has an NVIDIA GPU. An empty folder does not count."""
    for place in map(Path, places):
        if place.is_dir():
            if any(place.iterdir()):
                return True
        elif place.exists():
            return True
    return False


def no_gpu_kernels(targets: Sequence[str] = ()) -> str | None:
    """Returns why this package has no GPU kernels, with the fix; None if it has GPU kernels.

    targets: targets of this machine, if known: "sm121".
    """
    if _built.GPU_KERNELS:
        return None
    if targets:
        return (
            "no GPU kernels in this package: reinstall with "
            f"PBPROBE_TARGETS=cpu,{','.join(dict.fromkeys(targets))} (it takes nvcc)"
        )
    return (
        "no GPU kernels in this package: reinstall with PBPROBE_TARGETS=cpu,sm90 (it takes nvcc), where 90 is the "
        "compute capability of your GPU without its dot: nvidia-smi --query-gpu=compute_cap --format=csv"
    )


def no_operators() -> str:
    """Returns why this package has no pbprobe.ops, with the fix."""
    reason = _built.NO_OPERATORS or "the shared object of the operators is missing"
    return (
        f"pbprobe.ops: not in this package: {reason}. Name the folder of a torch 2.8 or newer as you install it again, "
        "from source: PBPROBE_TORCH=…/site-packages/torch pip install --force-reinstall --no-deps SOURCE"
    )
