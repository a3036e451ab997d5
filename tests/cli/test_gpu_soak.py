# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Failing allocations of GPU memory: the result is unknown, and never a fault of torch or the kernels."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys

import pytest
from test_cli import COULD_NOT_RUN, PASSED, TORCH, needs_torch, run

# Replaces these driver functions: the preloaded library precedes the driver.
SHIM = r"""
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

static int fails(void) {
  static long seen;
  const char* every = getenv("FAIL_EVERY");
  return every && atol(every) > 0 && __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) % atol(every) == 0;
}
#define ALLOCATES(name, type)                                          \
  int name(type* pointer, size_t bytes) {                              \
    int (*real)(type*, size_t) = dlsym(dlopen(REAL, RTLD_NOW), #name); \
    return fails() ? 2 : real(pointer, bytes);                         \
  }
ALLOCATES(cuMemAlloc_v2, unsigned long long)
ALLOCATES(cuMemAllocHost_v2, void*)
"""


def gpu_driver():
    """Returns the file of the driver's library; None if it finds no GPU."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int()
        if library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
            return None
    except OSError:
        return None
    maps = pathlib.Path("/proc/self/maps").read_text()
    return next(line.split()[-1] for line in maps.splitlines() if "libcuda.so" in line)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Folder for LD_LIBRARY_PATH whose libcuda fails by FAIL_EVERY."""
    # Asked in a process of its own: this one goes on to fork.
    asked = subprocess.run(
        [sys.executable, "-c", "import test_gpu_soak; print(test_gpu_soak.gpu_driver() or '')"],
        cwd=pathlib.Path(__file__).parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    real = asked.stdout.strip()
    if not real:
        pytest.skip("no GPU")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "shim.c").write_text(f'#define REAL "{real}"\n{SHIM}')
    # Linked with a library that goes by the driver's path, so that the loader takes both.
    subprocess.run(
        ["cc", "-shared", f"-Wl,-soname,{real}", "-o", folder / "libreal.so", "-x", "c", "/dev/null"], check=True
    )
    soname = "-Wl,--no-as-needed,-soname,libcuda.so.1"
    library = folder / "libcuda.so.1"
    subprocess.run(
        ["cc", "-shared", "-fPIC", soname, "-o", library, folder / "shim.c", folder / "libreal.so", "-ldl"], check=True
    )
    return folder


def environment(failing, every):
    return {"LD_LIBRARY_PATH": f"{failing}:{os.environ.get('LD_LIBRARY_PATH', '')}", "FAIL_EVERY": str(every)}


@needs_torch
@pytest.mark.parametrize("every", [0, 1, 2, 3, 7, 19])
def test_report_finds_no_fault(failing, every):
    result = run("report", TORCH, "--budget", 20, "--format", "json", env=environment(failing, every), timeout=200)
    verdict = json.loads(result.stdout)["verdict"]
    assert [f["message"] for f in verdict["findings"] if f["severity"] == "fail"] == []
    assert result.returncode == PASSED


@pytest.mark.parametrize("every", [0, 1, 2, 3, 7])
def test_benchmark_is_right_or_out_of_memory(failing, every):
    arguments = ["--dtype", "bf16", "--against", "cublaslt", "--shape", "512x512x512", "--format", "json"]
    result = run("bench", *arguments, env=environment(failing, every), timeout=200)
    assert "wrong" not in result.stdout + result.stderr
    if every == 0:
        assert result.returncode == PASSED, result.stderr
    elif result.returncode != PASSED:
        assert "CUDA_ERROR_OUT_OF_MEMORY" in result.stdout + result.stderr
        assert result.returncode in (1, COULD_NOT_RUN)
