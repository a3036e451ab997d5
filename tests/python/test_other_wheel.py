# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The wheel for aarch64 that `make wheel` writes on x86-64 (ci/cross-wheel): read here, its program run under QEMU on
the libraries of an arm64 Debian 11."""

import json
import os
import platform
import re
import shutil
import subprocess
import zipfile

import pytest
from conftest import SOURCE
from test_wheel import CARRIED, FROM_TORCH, MODULES

SYSTEM = SOURCE / "build/older-libc-arm64"


@pytest.fixture(scope="module")
def wheel():
    found = sorted((SOURCE / "dist").glob("pbprobe-*_aarch64.whl"))
    if platform.machine() == "aarch64" or not found:
        assert platform.machine() == "aarch64" or not os.environ.get("PBPROBE_REQUIRE_WHEEL"), "no wheel was built"
        pytest.skip("no wheel of another processor: make wheel, on x86-64")
    return found[-1]


@pytest.fixture(scope="module")
def package(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("aarch64")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for program in (folder / "pbprobe/bin").iterdir():
        program.chmod(0o755)
    return folder / "pbprobe"


@pytest.fixture
def emulated(package):
    if not shutil.which("qemu-aarch64-static") or not SYSTEM.is_dir():
        pytest.skip("QEMU or the arm64 libraries are missing: make wheel")

    def run(*words):
        command = ["qemu-aarch64-static", "-cpu", "max", "-L", SYSTEM, package / "bin/pbprobe", *words]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=300)

    return run


def test_it_holds_what_the_other_one_holds(package, wheel):
    held = sorted(str(path.relative_to(package)) for path in package.rglob("*") if path.is_file())
    assert held == sorted(MODULES + CARRIED)
    assert wheel.stat().st_size <= 15e6
    assert "sm121" in (package / "_built.py").read_text()


def test_auditwheel_grants_the_tag(wheel):
    abi = pytest.importorskip("auditwheel.wheel_abi")
    architecture = pytest.importorskip("auditwheel.architecture").Architecture
    libc = pytest.importorskip("auditwheel.libc").Libc
    how = {"disable_isa_ext_check": False, "allow_graft": True}
    found = abi.analyze_wheel_abi(libc.GLIBC, architecture("aarch64"), wheel, FROM_TORCH, **how)
    assert found.overall_policy.name == "manylinux_2_31_aarch64"


def test_its_program_says_what_it_has(emulated):
    shown = emulated("--version")
    assert shown.returncode == 0, shown.stderr
    (targets,) = re.findall(r"^targets compiled in: (.*)$", shown.stdout, re.MULTILINE)
    assert {"sm61", "sm90", "sm121", "armv8_2", "armv9"} <= set(re.findall(r"\w+", targets))


def test_it_looks_at_an_arm_machine(emulated):
    shown = emulated("host", "--format", "json")
    assert shown.returncode == 0, shown.stderr
    assert "armv8_2" in json.loads(shown.stdout)["cpu"]["targets"]


def test_it_audits_as_the_program_of_this_machine(emulated, build):
    """A library of this machine: what is in a file does not depend on who reads it."""
    library = package_library()
    words = ("audit", library, "--claim", "avx2,torch=2.10.0", "--format", "json")
    here = subprocess.run([build / "bin/pbprobe", *words], capture_output=True, text=True, check=False)
    there = emulated(*words)
    assert there.returncode == here.returncode
    documents = [json.loads(one.stdout) for one in (here, there)]
    for document in documents:
        del document["created"], document["commit"]  # of the program, not of the file
    assert documents[0] == documents[1]


def package_library():
    torch = os.environ.get("PBPROBE_TEST_TORCH")
    if not torch:
        pytest.skip("no torch: `make test` finds or installs one")
    return os.path.join(torch, "torch/lib/libc10.so")  # noqa: PTH118


def test_its_operators_take_the_same_of_torch(package, build):
    """Linked without a torch for aarch64: by the name of its library, and the symbols of the stable ABI."""
    if not (build / "wheel/pbprobe/libpbprobe_ops.so").is_file():
        pytest.skip("no wheel was built: make wheel")
    taken = []
    for library in (build / "wheel/pbprobe/libpbprobe_ops.so", package / "libpbprobe_ops.so"):
        shown = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
        assert "[libtorch_cpu.so]" in shown
        names = subprocess.run(
            ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
        ).stdout
        unversioned = {name for name in re.findall(r"\bU (\S+)", names) if "@" not in name}
        taken.append({name for name in unversioned if re.match(r"aoti_|torch_", name)})
    assert taken[0] == taken[1]
    assert len(taken[0]) > 10
    assert unversioned == taken[1]  # of the compiler's own, such as aarch64's atomics, none is left to be found
