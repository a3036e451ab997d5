#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Resolves TARGETS of the Makefile to ids of recipes/targets.json.

    cmake/native_targets.py native         # targets of this machine: sm121,armv8_2,armv9
    cmake/native_targets.py sm90,avx512    # checks ids and prints them as a CMake list
    cmake/native_targets.py --compilers all    # prints the required compilers: cxx nvcc nvrtc

native means every CPU target of the architecture of this machine, and the GPUs that the driver reports. CMake itself
never inspects the machine. Exit code: 0, or 2 for an unknown target.
"""

import ctypes
import json
import pathlib
import platform
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "targets.json"
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


def say(text: str) -> None:
    print(f"pbprobe: {text}", file=sys.stderr)


def architecture() -> str:
    machine = platform.machine()
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(machine, machine)


def capabilities() -> list[str]:
    """Compute capabilities ("12.1") of the GPUs that the driver reports; none without a driver or a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    code = cuda.cuInit(0)
    if code == 100:  # CUDA_ERROR_NO_DEVICE
        return []
    if code != 0:
        say(
            f"the NVIDIA driver is installed, but cuInit answered error {code}: building no GPU target; "
            "name one to build it all the same, as in TARGETS=sm90"
        )
        return []
    count = ctypes.c_int(0)
    cuda.cuDeviceGetCount(ctypes.byref(count))
    seen = []
    for index in range(count.value):
        device, major, minor = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), CAPABILITY_MAJOR, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), CAPABILITY_MINOR, device)
        capability = f"{major.value}.{minor.value}"
        if capability not in seen:
            seen.append(capability)
    return seen


def native(rows: list[dict]) -> list[str]:
    here = capabilities()
    known = {row["capability"] for row in rows if row["kind"] == "gpu"}
    for capability in here:
        if capability not in known:
            say(f"this machine has a GPU of compute capability {capability}, for which {TABLE.name} has no target")
    return [
        row["id"]
        for row in rows
        if (row["kind"] == "cpu" and row["architecture"] == architecture())
        or (row["kind"] == "gpu" and row["capability"] in here)
    ]


def main(arguments: list[str]) -> int:
    compilers = arguments[:1] == ["--compilers"]
    words = arguments[1:] if compilers else arguments
    if len(words) != 1 or words[0].startswith("-"):
        print(__doc__)
        return 2
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["targets"]
    ids = [row["id"] for row in rows]
    if words[0] == "native":
        chosen = native(rows)
    elif words[0] == "all":
        chosen = ids
    else:
        chosen = [word for word in words[0].replace(",", " ").split() if word]
    for word in chosen:
        if word not in ids:
            say(f'unknown target "{word}" in TARGETS={words[0]}: choose from {", ".join(ids)}, or native, or all')
            return 2
    if compilers:
        print(" ".join(sorted({row["compiler"] for row in rows if row["id"] in chosen} - {"none"})))
    else:
        print("all" if words[0] == "all" else ",".join(chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
