# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Checks of this interpreter's torch that need Python, as in PyTorch's release checks.

    python -m pbprobe._checks FILE

Writes a line of JSON for each check: an area of a report's libtorch, first with a placeholder result. The pipeline
starts this module in a separate process with a time limit.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Skipped(Exception):  # noqa: N818 - no error
    """The check cannot run here; the message has the reason."""


def numpy_bridge(device: str) -> None:
    """Tests that a tensor and an array share their memory, in both directions."""
    import torch

    try:
        import numpy as np
    except ImportError:
        raise Skipped("NumPy is not installed") from None
    array: Any = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = torch.from_numpy(array)
    tensor[1, 2] = 41
    if array[1, 2] != 41:
        raise AssertionError(
            f"torch.from_numpy copied the array: it holds {array[1, 2]} after a write of 41 to the tensor"
        )
    back = torch.ones(3, dtype=torch.int64).numpy()
    back[0] = 7
    if not np.array_equal(torch.from_numpy(back).to(device).cpu().numpy(), np.array([7, 1, 1])):
        raise AssertionError(f"the values of a NumPy array changed on the way to {device} and back")


def compiled(device: str, **options: object) -> None:
    """Compares a function of torch.compile with the same function uncompiled. On a GPU, Triton must know the SM."""
    import torch

    compiler = os.environ.get("CXX", "g++")
    if device == "cpu" and shutil.which(compiler) is None:
        raise Skipped(f"torch.compile needs a C++ compiler on a CPU, and {compiler} is missing")

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ y + 1).sum(-1) * 2

    # Small integers: every order of summation gives the same result.
    x = torch.randint(-2, 3, (64, 48), device=device).float()
    y = torch.randint(-2, 3, (48, 80), device=device).float()
    seen = torch.compile(function, fullgraph=True, **options)(x, y)
    if not torch.equal(seen, function(x, y)):
        raise AssertionError("torch.compile changes the result of a function of small integers")


def compiled_by_nvrtc(device: str) -> None:
    """Runs a kernel that torch compiles by NVRTC, which must know the SM."""
    import torch

    jiterator = getattr(torch.cuda, "jiterator", None)
    if jiterator is None:
        raise Skipped("this torch has no torch.cuda.jiterator")
    function = jiterator._create_jit_fn("template <typename T> T pbprobe_twice(T x) { return x + x; }")
    x = torch.arange(5.0, device=device)
    if not torch.equal(function(x), 2 * x):
        raise AssertionError("a kernel that torch compiled by NVRTC gives a wrong result")


def simd(device: str) -> None:
    """Expects that torch.compile finds vector instructions of this CPU."""
    from torch._inductor import cpu_vec_isa

    if shutil.which(os.environ.get("CXX", "g++")) is None:
        raise Skipped("no C++ compiler was found to test vector instructions with")
    if not cpu_vec_isa.pick_vec_isa():
        raise AssertionError(
            "torch.compile finds no vector instructions that both this CPU and its C++ compiler support"
        )


def gpu_direct_storage(device: str) -> None:
    """Expects that cuFile works, or that its refusal is raised as an error."""
    import torch

    try:
        from torch.cuda.gds import GdsFile
    except ImportError:
        raise Skipped("this torch has no torch.cuda.gds") from None
    with tempfile.NamedTemporaryFile() as file:
        try:
            GdsFile(file.name, os.O_CREAT | os.O_RDWR)
        except RuntimeError as error:
            if "not supported" in str(error) and "cuFile" not in str(error):
                raise Skipped(str(error).splitlines()[0]) from None
            if "cuFile" not in str(error):
                raise
    if not torch.equal(torch.ones(3, device=device) * 2, torch.full((3,), 2.0, device=device)):
        raise AssertionError("the GPU computes wrong results after a call of cuFile (GPUDirect Storage)")


def checks() -> list[tuple[str, str, Callable[..., None]]]:
    """Returns name, device and function of each check, slow checks last."""
    import torch

    rows: list[tuple[str, str, Callable[..., None]]] = [("NumPy bridge", "cpu", numpy_bridge)]
    gpu = "cuda:0" if torch.cuda.is_available() else None
    if gpu:
        rows += [("NumPy bridge", gpu, numpy_bridge), ("GPUDirect Storage", gpu, gpu_direct_storage)]
        rows += [("kernel compiled by NVRTC", gpu, compiled_by_nvrtc), ("torch.compile", gpu, compiled)]
    rows += [("vector instructions of torch.compile", "cpu", simd), ("torch.compile", "cpu", compiled)]
    device = gpu or "cpu"
    rows.append(("torch.compile, max-autotune", device, lambda where: compiled(where, mode="max-autotune")))
    return rows


def main() -> None:
    """Runs all checks, and writes a line of JSON for each to the file of the first argument."""
    with Path(sys.argv[1]).open("w", encoding="utf-8") as file:
        for name, device, check in checks():
            area: dict[str, str | None] = {"area": name, "device": device, "skipped": None}
            print(json.dumps({**area, "problem": "no result came back"}), file=file, flush=True)
            problem = None
            try:
                check(device)
            except Skipped as reason:
                area["skipped"] = str(reason)
            except Exception as error:  # foreign code, whose words are the finding
                words = str(error).strip().splitlines() or [""]
                problem = f"{type(error).__name__}: {words[0][:300]}"
            print(json.dumps({**area, "problem": problem}), file=file, flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # workers of the compiler may still run
