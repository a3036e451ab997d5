# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Builds with one planted defect each, made by a real compiler: its id and no other failure; and a sound twin."""

import json
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build")) / "bin/pbprobe"
MACHINE = os.uname().machine
CODE = "int answer(void) { return 42; }\n"


def library(path: pathlib.Path, *, needs=(), runpath=(), code=CODE):
    """A shared object at `path` that needs the SONAMEs, none of which has to be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stubs = path.parent / "stubs-to-link"
    stubs.mkdir(exist_ok=True)
    source = stubs / "code.cpp"
    source.write_text(code)
    stub_source = stubs / "stub.c"
    stub_source.write_text("")
    command = ["c++", "-shared", "-fPIC", "-Wl,--no-as-needed", f"-Wl,-soname,{path.name}", "-o", path, source]
    for name in needs:
        stub = stubs / f"{name}.stub"
        subprocess.run(["cc", "-shared", f"-Wl,-soname,{name}", "-o", stub, stub_source], check=True)
        command.append(stub)
    if runpath:
        command += ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{':'.join(runpath)}"]
    subprocess.run(command, check=True)
    for file in stubs.iterdir():
        file.unlink()
    stubs.rmdir()


def torch(
    folder: pathlib.Path, version="2.11.0+cu130", cuda="13.0", tag=f"cp311-cp311-manylinux_2_28_{MACHINE}", **libraries
):
    """A site-packages folder; `libraries` are arguments of library(), by the stem of the file's name."""
    lib = folder / "torch/lib"
    library(lib / "libtorch_cpu.so", **libraries.pop("libtorch_cpu", {}))
    for stem, arguments in libraries.items():
        library(lib / f"{stem}.so", **arguments)
    cuda_line = f"'{cuda}'" if cuda else "None"
    (folder / "torch/version.py").write_text(
        f"__version__ = '{version}'\ncuda = {cuda_line}\ngit_version = '70d99e9'\n"
    )
    info = folder / f"torch-{version.split('+')[0]}.dist-info"
    info.mkdir()
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "METADATA").write_text(
        "Name: torch\nRequires-Dist: nvidia-cudnn-cu13==9.19.0.56; platform_system == 'Linux'\n"
    )
    return folder


def findings(folder, claim):
    command = [PROGRAM, "audit", folder, "--claim", claim, "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode in (0, 1), result.stderr
    return {entry["id"]: entry for entry in json.loads(result.stdout)["verdict"]["findings"]}


ORIGIN = "$ORIGIN"
CPU = {"version": "2.11.0+cpu", "cuda": None}
OLD_STRINGS = "#define _GLIBCXX_USE_CXX11_ABI 0\n#include <string>\n"
NEW_STRINGS = "#include <string>\n"
MANY = "namespace c10 {{ {} }}\n"


def strings(count, letter):
    return "".join(f"int {letter}{i}(const std::string& s) {{ return (int)s.size() + {i}; }}\n" for i in range(count))


# id, part of what it says, the planted build, its twin
DEFECTS = [
    (
        "PB115",
        "libtorch_cpu.so needs libmade-up.so.3",
        {**CPU, "libtorch_cpu": {"needs": ["libmade-up.so.3"], "runpath": [ORIGIN]}},
        {**CPU, "libtorch_cpu": {"needs": ["libmade-up.so"], "runpath": [ORIGIN]}, "libmade-up": {}},
    ),
    (
        "PB117",
        "2 OpenMP libraries are loaded together",
        {
            **CPU,
            "libtorch_cpu": {"needs": ["libiomp5.so", "libgomp.so"], "runpath": [ORIGIN]},
            "libiomp5": {},
            "libgomp": {},
        },
        {**CPU, "libtorch_cpu": {"needs": ["libgomp.so"], "runpath": [ORIGIN]}, "libgomp": {}},
    ),
    (
        "PB118",
        "where a stub of the driver lies",
        {**CPU, "libtorch_cpu": {"runpath": ["/opt/cuda/lib64/stubs"]}},
        {**CPU, "libtorch_cpu": {"runpath": ["/opt/cuda/lib64"]}},
    ),
    (
        "PB120",
        "its version 2.11.0+cu128 says CUDA 12.8, and it is built with none",
        {"version": "2.11.0+cu128", "cuda": None},
        CPU,
    ),
    (
        "PB121",
        "says linux_sparc64, and its files are built for",
        {**CPU, "tag": "cp311-cp311-linux_sparc64"},
        {**CPU, "tag": f"cp311-cp311-linux_{MACHINE}"},
    ),
    (
        "PB122",
        "names have the strings before C++11",
        {**CPU, "libtorch_cpu": {"code": OLD_STRINGS + MANY.format(strings(12, "f"))}},
        {**CPU, "libtorch_cpu": {"code": NEW_STRINGS + MANY.format(strings(12, "f"))}},
    ),
]


@pytest.mark.parametrize(("check", "says", "planted", "twin"), DEFECTS, ids=[row[0] for row in DEFECTS])
def test_a_planted_defect_is_found_and_its_twin_is_not(tmp_path, check, says, planted, twin):
    found = findings(torch(tmp_path / "planted", **planted), "torch=2.11.0")
    assert check in found
    assert says in found[check]["what"]
    assert [other for other, entry in found.items() if entry["severity"] == "fail" and other != check] == []
    sound = findings(torch(tmp_path / "twin", **twin), "torch=2.11.0")
    assert check not in sound
    assert [other for other, entry in sound.items() if entry["severity"] == "fail"] == []


def test_two_cuda_versions_in_one_closure(tmp_path):
    parts = {"libtorch_cuda": {"needs": ["libcudart.so.12", "libcudnn.so.9"], "runpath": [ORIGIN]}}
    found = findings(torch(tmp_path / "planted", **parts), "torch=2.11.0")
    assert "it needs libcudart.so.12 (there it is libcudart.so.13)" in found["PB110"]["what"]
    assert found["PB110"]["where"] == "torch/lib/libtorch_cuda.so"
    parts["libtorch_cuda"]["needs"][0] = "libcudart.so.13"
    assert "PB110" not in findings(torch(tmp_path / "twin", **parts), "torch=2.11.0")


def test_a_compiler_that_does_not_know_the_claimed_chip(tmp_path):
    def ptxas(newest):
        return {
            "code": f'const char* const kTargets[] = {{"compute_75", "compute_90a", "{newest}", '
            '"Cuda compilation tools, release 12.8, V12.8.93"};\n'
            "const char* target(int i) { return kTargets[i]; }\n"
        }

    for newest, knows in (("compute_120", False), ("compute_121a", True)):
        folder = torch(tmp_path / newest, "2.11.0+cu130", "13.0")
        library(folder / "torch/bin/ptxas", **ptxas(newest))
        found = findings(folder, "sm121")
        assert ("PB113" not in found) == knows
        if not knows:
            assert found["PB113"]["what"].startswith("ptxas 12.8.93 knows no 12.1")


def test_what_cudnn_opens_is_looked_for(tmp_path):
    opens = {"code": 'const char* part() { return "libcudnn_graph.so"; }\n', "runpath": [ORIGIN]}
    folder = torch(tmp_path, **CPU)
    cudnn = folder / "nvidia/cudnn/lib"
    library(cudnn / "libcudnn.so.9", **opens)
    assert "opens libcudnn_graph.so as it runs" in findings(folder, "torch=2.11.0")["PB116"]["what"]
    library(cudnn / "libcudnn_graph.so.9")
    assert "PB116" not in findings(folder, "torch=2.11.0")


def test_another_version_than_the_package_asks_for(tmp_path):
    folder = torch(tmp_path, **CPU)
    (folder / "nvidia_cudnn_cu13-9.11.0.98.dist-info").mkdir()
    assert "asks for cuDNN 9.19.0.56, and 9.11.0.98 is installed" in findings(folder, "torch=2.11.0")["PB119"]["what"]
    (folder / "nvidia_cudnn_cu13-9.11.0.98.dist-info").rename(folder / "nvidia_cudnn_cu13-9.19.0.56.dist-info")
    assert "PB119" not in findings(folder, "torch=2.11.0")
