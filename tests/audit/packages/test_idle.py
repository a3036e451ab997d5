# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Kernels that store nothing and only print, assert or trap deliver no SM, whichever package claims them."""

import json
import subprocess

import pytest
from made import OUT, made, nvcc, text
from packages import FAILED, PASSED, PROGRAM, Library, Package, wheel
from small_builds import linked

HEAD = "#include <cassert>\n#include <cstdio>\n#include <cstdlib>\n"
IDLE = {
    "prints": '__global__ void idle(int x) { printf("FATAL: built for sm%d\\n", x); }',
    "asserts": "__global__ void idle(int x) { assert(x > 3); }",
    "traps": "__global__ void idle(int x) { if (x > 3) __trap(); }",
    "prints by a function": (
        '__device__ __noinline__ int say(int x) { return printf("FATAL %d\\n", x); }\n'
        "__global__ void idle(int x) { if (say(x) > 4) __trap(); }"
    ),
    "divides and prints": '__global__ void idle(double x) { printf("%f\\n", 1.0 / x); }',
    "allocates": "__global__ void idle(int x) { free(malloc(x)); }",
}
BUSY = {
    "prints and stores": '__global__ void busy(int* x) { printf("%d\\n", *x); *x = 1; }',
    "stores by a function": (
        "__device__ __noinline__ void put(int* x) { *x = 2; }\n__global__ void busy(int* x) { put(x); }"
    ),
    "calls through a pointer": "__global__ void busy(void (*f)(int*), int* x) { f(x); }",
    "counts": "__global__ void busy(int* x) { atomicAdd(x, 1); }",
}


def unit(code, *flags):
    architecture = ("-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_120,code=sm_120")
    source = text("kernels.cu", HEAD + code + "\n")
    return made("kernels.o", nvcc(), "-c", "-Xcompiler", "-fPIC", *architecture, *flags, source, "-o", OUT)


def gated(artifact, claim=("--claim", "sm90")):
    command = [PROGRAM, "gate", artifact, *claim, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["verdict"]["findings"]
    return done.returncode, {one["id"]: one["what"] for one in found if one["severity"] == "fail"}


@pytest.mark.parametrize("kernel", IDLE)
def test_fails_a_package_with_empty_kernels(tmp_path, kernel):
    package = Package("spam", {"spam/_C.abi3.so": Library(objects=(unit(IDLE[kernel]),))})
    code, found = gated(wheel(package, tmp_path))
    assert (code, found.keys()) == (FAILED, {"PB171"})
    assert "1 of the 1 kernels of _C.abi3.so of spam 1.0 for it does nothing: idle" in found["PB171"]


@pytest.mark.parametrize("kernel", BUSY)
def test_passes_a_package_with_working_kernels(tmp_path, kernel):
    package = Package("spam", {"spam/_C.abi3.so": Library(objects=(unit(BUSY[kernel]),))})
    assert gated(wheel(package, tmp_path)) == (PASSED, {})


def test_checks_the_folder_of_a_kernel(tmp_path):
    for code, expected in ((IDLE["prints"], {"PB175"}), (BUSY["counts"], set())):
        folder = tmp_path / f"{len(code)}/torch29-cxx11-cu130-x86_64-linux"
        folder.mkdir(parents=True)
        library = linked("_spam.abi3.so", Library(objects=(unit(code),), needs=("libcudart.so.13",)))
        (folder / "_spam.abi3.so").write_bytes(library.read_bytes())
        (folder / "metadata.json").write_text('{"backend": {"type": "cuda", "archs": ["9.0"]}}')
        assert gated(folder, ())[1].keys() == expected


def test_relocatable_code_that_was_never_linked_fails(tmp_path):
    package = Package("spam", {"spam/_C.abi3.so": Library(objects=(unit(BUSY["counts"], "-rdc=true"),))})
    code, found = gated(wheel(package, tmp_path))
    assert (code, found.keys()) == (FAILED, {"PB334"})


def test_fails_one_unit_of_two_without_the_sm(tmp_path):
    other = made(
        "other.o", nvcc(), "-c", "-Xcompiler", "-fPIC", "-gencode=arch=compute_120,code=sm_120",
        text("other.cu", "__global__ void other(int* x) { *x = 3; }\n"), "-o", OUT)  # fmt: skip
    package = Package("spam", {"spam/_C.abi3.so": Library(objects=(unit(BUSY["counts"]), other))})
    code, found = gated(wheel(package, tmp_path))
    assert code == FAILED
    assert found == {
        "PB171": (
            "sm90 is claimed, and only 1 of the 2 translation units of file "
            "_C.abi3.so in spam 1.0 holds machine code for it"
        )
    }
    assert gated(wheel(package, tmp_path / "twin"), ("--claim", "sm120")) == (PASSED, {})
