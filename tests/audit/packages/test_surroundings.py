# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report` of whole environments: tools that torch.compile and Triton need, and device code for the GPU, judged
for this machine with a GB10's GPU and driver. Each fault is planted in an environment without findings."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from made import OUT, PROGRAM, SOURCE, made, nvcc
from packages import MACHINE, Library, Package
from test_reports import TO_TORCH, environment, extension, only, reported, torch
from test_rows import ORDINARY

GB10 = json.loads((SOURCE / "tests/core/host/gb10_host.json").read_text())
DRIVER = "libraries = ['libcuda.so.1']\nldconfig = '/sbin/ldconfig'\n"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def fatbin(*codes):
    flags = [f"-gencode=arch=compute_{code.split('_')[1]},code={code}" for code in codes]
    source = SOURCE / "tests/audit/planted/unit.cu"
    return made("-".join(codes) + ".fatbin", nvcc(), "-fatbin", "-DNAME=kernel", *flags, source, "-o", OUT)


def add_cuda_version(place):
    site = next(place.glob("lib/python3*/site-packages"))
    (site / "torch/version.py").write_text("__version__ = '2.11.0+cu130'\ncuda = '13.0'\ngit_version = '70d99e9'\n")
    return place


def host(driver="13.0"):
    own = json.loads(subprocess.run([PROGRAM, "host", "--format", "json"], capture_output=True, check=True).stdout)
    return own | {"gpus": GB10["gpus"], "driver": GB10["driver"] | {"cuda_version": driver}}


class Compiling:
    """An environment of a Python and a Triton of its own, with all that they ask for."""

    def __init__(self, folder):
        self.folder = folder
        self.place = add_cuda_version(environment(folder, torch("2.11.0+cu130"), extension()))
        python = self.place / "bin/python"
        interpreter = os.path.realpath(python)
        python.unlink()
        shutil.copy(interpreter, python)
        (self.place / "pyvenv.cfg").write_text(f"home = {folder}/base/bin\n")
        self.header = folder / f"base/include/{PYTHON}/Python.h"
        self.header.parent.mkdir(parents=True)
        self.header.write_text("")
        self.nvidia = next(self.place.glob("lib/python3*/site-packages")) / "triton/backends/nvidia"
        for name in ("ptxas", "ptxas-blackwell"):
            program(self.nvidia / "bin" / name)
        (self.nvidia / "driver.py").write_text(DRIVER)
        for name in ("gcc", "g++"):
            program(folder / "tools" / name)
        self.driver = folder / "driver/libcuda.so.1"
        self.driver.parent.mkdir()
        self.driver.write_text("")

    def findings(self):
        caches = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH")
        variables = {name: str(self.folder / "cache") for name in caches}
        variables |= {"PATH": str(self.folder / "tools"), "TRITON_LIBCUDA_PATH": str(self.driver.parent)}
        variables |= {"CC": "", "CXX": "", "TRITON_PTXAS_PATH": "", "TRITON_PTXAS_BLACKWELL_PATH": ""}
        _, document = reported(self.place, variables=variables)
        document |= {"host": host(), "verdict": None}
        seen = self.folder / "seen.json"
        seen.write_text(json.dumps(document))
        return [one for one in reported(seen)[0] if one["id"].startswith("PB53")]


@pytest.fixture
def compiling(tmp_path):
    sound = Compiling(tmp_path)
    assert sound.findings() == []
    return sound


def test_python_s_header_is_missing(compiling):
    compiling.header.unlink()
    name, severity, what = only(compiling.findings())
    assert (name, severity) == ("PB532", "warn")
    assert what.startswith(f"{compiling.header} is missing")


def test_reports_a_driver_that_triton_does_not_find(compiling):
    compiling.driver.unlink()
    findings = compiling.findings()
    assert only(findings)[:2] == ("PB533", "warn")
    assert findings[0]["remedy"].startswith("export TRITON_LIBCUDA_PATH=")


def test_ptxas_is_missing(compiling):
    (compiling.nvidia / "bin/ptxas-blackwell").unlink()
    findings = compiling.findings()
    assert only(findings)[:2] == ("PB534", "warn")
    assert "TRITON_PTXAS_BLACKWELL_PATH=/path/to/ptxas" in findings[0]["remedy"]


def test_accepts_a_missing_unused_ptxas(compiling):
    """A GB10 needs only ptxas-blackwell."""
    (compiling.nvidia / "bin/ptxas").unlink()
    assert compiling.findings() == []


def find_device_code_findings(folder, *codes, driver="13.0"):
    """Findings on an extension with this code, beside a torch that serves the GPU."""
    package = torch("2.11.0+cu130")
    package.libraries["torch/lib/libtorch_cuda.so"] = Library(needs=("libtorch_cpu.so",), units=(fatbin("sm_120"),))
    ext = extension()
    ext.libraries["ext/kernels.so"] = Library(needs=("libc10.so",), runpath=TO_TORCH, units=(fatbin(*codes),))
    machine = folder / "host.json"
    folder.mkdir()
    machine.write_text(json.dumps(host(driver)))
    return reported(add_cuda_version(environment(folder, package, ext)), "--host", machine)[0]


def test_reports_a_package_without_code_for_the_gpu(tmp_path):
    findings = find_device_code_findings(tmp_path / "planted", "sm_80", "sm_90")
    name, severity, what = only(findings)
    assert (name, severity) == ("PB169", "fail")
    assert what.endswith("its device code is sm_80, sm_90")
    assert "TORCH_CUDA_ARCH_LIST=12.1" in findings[0]["remedy"]
    assert find_device_code_findings(tmp_path / "sound", "sm_80", "sm_120") == []


def test_reports_a_driver_older_than_the_only_ptx(tmp_path):
    findings = find_device_code_findings(tmp_path / "planted", "compute_90", driver="12.0")
    assert only(findings)[:2] == ("PB170", "warn")
    assert findings[0]["remedy"].startswith("install a driver with CUDA ")
    assert find_device_code_findings(tmp_path / "sound", "compute_90") == []


def find_findings_on_host(place, **changes):
    """Findings on packages that a recorded machine does not run."""
    machine = host() | {"gpus": []}
    machine["glibc"] = changes.get("glibc", machine["glibc"])
    machine["cpu"]["features"] = changes.get("features", machine["cpu"]["features"])
    record = place / "host.json"
    record.write_text(json.dumps(machine))
    _, document = reported(place, "--host", record)
    return [one for one in document["verdict"]["findings"] if one["id"] in ("PB184", "PB218")]


def test_compares_packages_with_the_glibc_of_a_recorded_machine(tmp_path):
    place = environment(tmp_path, torch(), extension())
    name, severity, what = only(find_findings_on_host(place, glibc="2.1"))
    assert (name, severity) == ("PB184", "fail")
    assert what.startswith("torch 2.11.0+cpu and ext 1.0 need glibc up to 2.") and what.endswith("this machine has 2.1")
    assert find_findings_on_host(place) == []


@pytest.mark.skipif(MACHINE != "x86_64", reason="AVX is of x86-64")
def test_compares_packages_with_the_cpu_of_a_recorded_machine(tmp_path):
    packages = [
        Package(name, {f"{name}/lib{name}.so": Library(code=ORDINARY, linking=("-O2", "-ftree-vectorize", flag))})
        for name, flag in (("wide", "-mavx"), ("plain", "-msse2"))
    ]
    place = environment(tmp_path, torch(), *packages)
    name, severity, what = only(find_findings_on_host(place, features=["pni", "ssse3", "sse4_1", "sse4_2", "popcnt"]))
    assert (name, severity) == ("PB218", "fail")
    assert what.startswith("wide 1.0 is built for CPUs with avx, which ")
    assert find_findings_on_host(place, features=["pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "avx"]) == []


def test_removes_the_other_cuda_major_of_a_shared_path(tmp_path):
    """nvidia-cudnn-cu12 and -cu13 both have nvidia/cudnn/lib/libcudnn.so.9."""
    package = torch("2.11.0+cu130")
    needs = ("libtorch_cpu.so", "libcudart.so.13", "libcudnn.so.9")
    beside = ("$ORIGIN/../../nvidia/cudnn/lib", "$ORIGIN/../../nvidia/cu13/lib", "$ORIGIN")
    package.libraries["torch/lib/libtorch_cuda.so"] = Library(needs=needs, runpath=beside)
    runtime = Package("nvidia-cuda-runtime", {"nvidia/cu13/lib/libcudart.so.13": Library()})
    path = "nvidia/cudnn/lib/libcudnn.so.9"
    of13 = Package("nvidia-cudnn-cu13", {path: Library(code="int major() { return 13; }\n")})
    of12 = Package("nvidia-cudnn-cu12", {path: Library(code="int major() { return 12; }\n")})
    place = add_cuda_version(environment(tmp_path, package, runtime, of13))
    findings = [one for one in reported(place)[0] if one["id"] == "PB168"]
    assert findings == []
    site = next(place.glob("lib/python3*/site-packages"))
    (site / path).unlink()
    of12.write(site)
    findings = [one for one in reported(place)[0] if one["id"].startswith("PB16")]
    assert only(findings)[:2] == ("PB168", "fail")
    python = place / "bin/python"
    assert findings[0]["remedy"] == (
        f"{python} -m pip uninstall --yes nvidia-cudnn-cu12 && "
        f"{python} -m pip install --force-reinstall --no-deps nvidia-cudnn-cu13==1.0"
    )
