# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report --host`: judges builds for aarch64 for a recorded GB10.

In the cross build the program itself is an aarch64 program under QEMU (PBPROBE_TEST_RUNNER).
"""

import json
import os
import subprocess

import pytest
from made import MACHINE, MADE, OUT, PROGRAM, SOURCE, made, nvcc
from small_builds import Build, Library

GB10 = SOURCE / "tests/core/host/gb10_host.json"
RUNNER = os.environ.get("PBPROBE_TEST_RUNNER", "").split()
PASSED, FAILED, COULD_NOT_RUN = 0, 1, 2
LIBRARIES = {
    "libc10.so": (),
    "libtorch_cpu.so": ("libc10.so",),
    "libtorch_cuda.so": ("libtorch_cpu.so", "libcudart.so.13"),
    "libtorch.so": ("libtorch_cuda.so",),
    "libtorch_python.so": ("libtorch.so",),
}


def run(*arguments):
    command = [*RUNNER, PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def make_recorded_torch(folder, sm, machine="aarch64"):
    """A torch with device code for one SM."""
    MADE.mkdir(parents=True, exist_ok=True)
    unit = SOURCE / "tests/audit/planted/unit.cu"
    flags = ("-fatbin", "-DNAME=kernel", f"-gencode=arch=compute_{sm},code=sm_{sm}")
    fatbin = made(f"sm{sm}.fatbin", nvcc(), *flags, unit, "-o", OUT)
    libraries = {f"torch/lib/{name}": Library(needs=needs, machine=machine) for name, needs in LIBRARIES.items()}
    libraries["torch/lib/libcudart.so.13"] = Library(machine=machine)
    cuda = libraries["torch/lib/libtorch_cuda.so"]
    libraries["torch/lib/libtorch_cuda.so"] = cuda.but(units=(fatbin,))
    tag = f"cp312-cp312-manylinux_2_39_{machine}"
    return Build(libraries, version="2.11.0+cu130", cuda="13.0", tag=tag, requires=()).write(folder)


def judged(torch, *options):
    """(exit code, document) of a report on it for the recorded GB10."""
    done = run("report", torch, "--host", GB10, "--format", "json", *options)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def failed(report):
    return {finding["id"] for finding in report["verdict"]["findings"] if finding["severity"] == "fail"}


def test_names_a_missing_artifact():
    done = run("report", "no-such.whl", "--host", GB10)
    assert done.returncode == COULD_NOT_RUN
    assert "no-such.whl: no such file or folder" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("sm, code", [("121", "native"), ("120", "same_major")])
def test_judges_torches_for_a_gb10(tmp_path, sm, code):
    returned, report = judged(make_recorded_torch(tmp_path / "site", sm))
    assert (returned, failed(report)) == (PASSED, set())
    (gpu,) = report["verdict"]["gpus"]
    assert gpu["code"] == code


def test_fails_a_build_without_code_for_a_gb10(tmp_path):
    returned, report = judged(make_recorded_torch(tmp_path / "site", "90"))
    assert (returned, failed(report)) == (FAILED, {"PB301"})


def test_fails_a_build_of_another_processor(tmp_path):
    returned, report = judged(make_recorded_torch(tmp_path / "site", "121", "x86_64"))
    assert (returned, failed(report)) == (FAILED, {"PB104"})


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_searches_libraries_of_its_own_processor_only(tmp_path, machine):
    libraries = {"torch/lib/libtorch_cpu.so": Library(needs=("libmade-up.so.3",), machine=machine)}
    site = Build(libraries, tag=f"cp312-cp312-manylinux_2_39_{machine}", requires=()).write(tmp_path / "site")
    findings = json.loads(run("audit", site, "--claim", "torch=2.11.0", "--format", "json").stdout)["verdict"][
        "findings"
    ]
    own = "aarch64" if RUNNER else MACHINE
    assert ("PB115" in {one["id"] for one in findings}) == (machine == own)


@pytest.mark.parametrize(("glibc", "refused"), [("2.41", True), ("2.39", False)])
def test_judges_executable_stacks_by_recorded_glibc(tmp_path, glibc, refused):
    library = Library(linking=("-Wl,-z,execstack",), machine="aarch64")
    libraries = {"torch/lib/libtorch_cpu.so": library}
    site = Build(libraries, tag="cp312-cp312-manylinux_2_39_aarch64", requires=()).write(tmp_path / "site")
    host = tmp_path / "host.json"
    host.write_text(json.dumps(json.loads(GB10.read_text()) | {"glibc": glibc}))
    done = run("report", site, "--host", host, "--format", "json")
    found = {one["id"] for one in json.loads(done.stdout)["verdict"]["findings"]}
    assert ("PB185" in found, "PB181" in found) == (refused, False)


def test_reports_unknown_and_invents_no_figure(tmp_path):
    _, report = judged(make_recorded_torch(tmp_path / "site", "121"))
    assert report["host"] == json.loads(GB10.read_text())
    assert report["measurements"] is None
    assert report["verdict"]["outcome"] == "unknown"
    assert report["problems"] == ["this machine is a record: nothing was loaded, run or measured"]
    [finding] = [one for one in report["verdict"]["findings"] if one["id"] == "PB505"]
    assert finding["remedy"] == "run `pbprobe report` on that machine"


@pytest.mark.skipif(bool(RUNNER), reason="QEMU's user mode starts no measuring child")
def test_converts_a_report_to_the_recorded_machine(tmp_path):
    """Only what it says of files is kept: what ran, ran elsewhere."""
    mine = tmp_path / "mine.json"
    run("report", make_recorded_torch(tmp_path / "site", "121"), "--no-figures", "--format", "json", "--output", mine)
    assert json.loads(mine.read_text())["measurements"] is not None
    returned, report = judged(mine)
    assert (returned, report["measurements"]) == (PASSED, None)
    assert report["host"]["gpus"][0]["name"] == "NVIDIA GB10"


def test_reads_the_host_of_a_report(tmp_path):
    theirs = tmp_path / "theirs.json"
    torch = make_recorded_torch(tmp_path / "site", "121")
    theirs.write_text(run("report", torch, "--host", GB10, "--format", "json").stdout)
    done = run("report", torch, "--host", theirs, "--format", "json")
    assert json.loads(done.stdout)["host"] == json.loads(GB10.read_text())


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "pbprobe.host/1"}', '{"schema": "pbprobe.report/1"}', None]
)
def test_refuses_a_file_without_a_host(tmp_path, text):
    file = tmp_path / "host.json"
    if text is not None:
        file.write_text(text)
    done = run("report", make_recorded_torch(tmp_path / "site", "121"), "--host", file)
    assert (done.returncode, done.stdout) == (COULD_NOT_RUN, "")
    (line,) = done.stderr.splitlines()
    assert str(file) in line


def test_it_is_no_emulation(tmp_path):
    done = run("report", tmp_path, "--host", GB10, "--emulate", "max")
    assert done.returncode == COULD_NOT_RUN
    assert "--host" in done.stderr
