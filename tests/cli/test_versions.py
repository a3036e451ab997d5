# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Versions that libraries tell by their own code, and what an audit's text says of libraries."""

import importlib.metadata
import json
import pathlib
import re
import shutil
import subprocess

import pytest
from real_torch import audited_torch
from test_cli import TORCH, needs_torch, run

MAGMA = """
extern "C" void magma_version(int* major, int* minor, int* micro) {
  if (major && minor && micro) { *major = 2; *minor = 0; *micro = 13; }
}
"""
# The version is in a variable, not in constants of the function.
MAGMA_TWIN = """
extern int numbers[3];
int numbers[3] = {2, 0, 13};
extern "C" void magma_version(int* major, int* minor, int* micro) {
  *major = numbers[0]; *minor = numbers[1]; *micro = numbers[2];
}
"""
NCCL = 'extern "C" const char* text() { return "NCCL version 2.99.1+cuda13.0"; }\n'
NCCL_FUNCTIONS = "".join(f'extern "C" int ncclMadeUp{i}() {{ return {i}; }}\n' for i in range(12))


def compiled(folder, name, code, compiler="g++", *flags):
    source = folder / "code.cpp"
    source.write_text(code)
    library = folder / name
    subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def versions(library):
    (file,) = json.loads(run("audit", library, "--format", "json").stdout)["files"]
    return file["links"]["versions"]


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-fcf-protection=full"]])
@pytest.mark.parametrize("compiler", ["g++", "clang++", "aarch64-linux-gnu-g++"])
def test_magma_tells_its_version_by_its_code(tmp_path, compiler, flags):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    if compiler.startswith("aarch64"):
        flags = flags[:1]
    assert versions(compiled(tmp_path, "libmagma.so", MAGMA, compiler, *flags)) == {"MAGMA": "2.0.13"}
    assert versions(compiled(tmp_path, "libmagma.so", MAGMA_TWIN, compiler, *flags)) == {}


def test_nccl_tells_its_version_by_its_constants(tmp_path):
    assert versions(compiled(tmp_path, "libnccl.so.2", NCCL + NCCL_FUNCTIONS)) == {"NCCL": "2.99.1"}
    assert versions(compiled(tmp_path, "libother.so", NCCL)) == {}, "words about NCCL do not make one"


def test_prints_linked_and_external_libraries(tmp_path):
    opens = 'extern "C" const char* opens() { __builtin_puts(""); return "libmade_up_part.so.7"; }\n'
    library = compiled(tmp_path, "libtorch_cuda.so", MAGMA + NCCL + NCCL_FUNCTIONS + opens)
    text = run("audit", library).stdout
    assert re.search(r"^  MAGMA +2\.0\.13, in libtorch_cuda\.so$", text, re.MULTILINE), text
    assert re.search(r"^  NCCL +2\.99\.1, in libtorch_cuda\.so$", text, re.MULTILINE), text
    assert re.search(r"^Libraries\n  libtorch_cuda\.so +holds NCCL$", text, re.MULTILINE), text
    assert re.search(r"^  needed +\d+ from the system: .*libc\.so\.6", text, re.MULTILINE), text
    assert re.search(r"^  may be opened +1 not found: libmade_up_part\.so\.7$", text, re.MULTILINE), text


@needs_torch
def test_finds_the_stated_magma_and_nccl_in_a_real_torch():
    inventory = json.loads(audited_torch().read_text())
    known = {}
    for file in inventory["files"]:
        known |= (file["links"] or {}).get("versions") or {}
    if inventory["cuda_version"] is None:
        pytest.skip("a CPU build")
    package = next(iter(importlib.metadata.distributions(name="nvidia-nccl-cu13", path=[TORCH])), None)
    if package:
        assert known["NCCL"] == package.version
    linalg = next(iter(pathlib.Path(TORCH, "torch/lib").glob("libtorch_cuda_linalg.so")), None)
    sources = re.findall(rb"/magma-(\d+\.\d+\.\d+)/", linalg.read_bytes()) if linalg else []
    if sources:  # the folder that its messages name
        assert known["MAGMA"] == sources[0].decode()
