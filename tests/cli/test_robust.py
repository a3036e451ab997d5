# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Files that change during reading, sparse files and special files: named at once, without a crash."""

import json
import os
import pathlib
import re
import resource
import shutil
import stat
import subprocess
import sys
import time
import zipfile

import pytest
from gated import CLAIM
from test_cli import COULD_NOT_RUN, FAILED, PROGRAM, refused, run

BUILD = PROGRAM.parent.parent
GB = 10**9

# Does to a file what another process might, between the moment that it is looked at and the moment that it is read.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int ends_with(const char* path, const char* end) {
  size_t have = strlen(path), want = end ? strlen(end) : 0;
  return want > 0 && have >= want && strcmp(path + have - want, end) == 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  void* (*real)(void*, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
  void* mapped = real(address, size, protection, flags, file, offset);
  char link[64], path[4096];
  if (file < 0 || !getenv("CUT_FILE")) return mapped;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) path[length] = 0;
  if (length > 0 && ends_with(path, getenv("CUT_FILE")) && truncate(path, atol(getenv("CUT_TO"))) != 0) abort();
  return mapped;
}
int open(const char* path, int flags, ...) {
  int (*real)(const char*, int, ...) = dlsym(RTLD_NEXT, "open");
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  if (ends_with(path, getenv("REMOVED_FILE"))) unlink(path);
  return real(path, flags, mode);
}
"""


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
    return folder / "shim.so"


@pytest.fixture
def build(sound, tmp_path):
    """A build of its own: the test damages it."""
    return pathlib.Path(shutil.copytree(sound, tmp_path / "site"))


def cutting(shim, name, size):
    return {"LD_PRELOAD": str(shim), "CUT_FILE": name, "CUT_TO": str(size)}


# ---- cut while it is read -----------------------------------------------------------------------------------------

COMMANDS = {
    "audit": ["audit"],
    "gate": ["gate", "--claim", CLAIM],
    "gate with digests": ["gate", "--claim", CLAIM, "--format", "json"],
    "report": ["report", "--budget", "1"],
}


# Several readers map a library: if the first map cuts it, a later reader opens a shorter file.
CUT = r"libtorch_cpu\.so: (it was cut from \d+ to \d+ bytes while|the file changed during reading|the file is empty)"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("size", [0, 4096])
def test_names_a_library_that_is_cut_during_reading(shim, build, command, size):
    result = run(*COMMANDS[command], build, env=cutting(shim, "libtorch_cpu.so", size))
    assert result.returncode == FAILED, result.stdout + result.stderr
    reported = " ".join(result.stdout.split())
    assert re.search(CUT, reported), reported
    if command.startswith("gate"):
        assert "PB101" in reported


def test_reads_the_same_file_alone(shim, build):
    library = build / "torch/lib/libtorch_cpu.so"
    assert run("audit", library).returncode == 0
    result = run("audit", library, env=cutting(shim, "libtorch_cpu.so", 4096))
    refused(result, "libtorch_cpu.so: ")
    assert re.search(CUT, result.stderr), result.stderr


@pytest.mark.parametrize("size", [100, 4096])
def test_names_a_wheel_that_is_cut_during_reading(shim, build, tmp_path, size):
    wheel = tmp_path / "torch-2.10.0-cp313-cp313-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in sorted(build.rglob("*")):
            archive.write(file, file.relative_to(build))
    assert run("audit", wheel).returncode == 0
    result = run("audit", wheel, env=cutting(shim, wheel.name, size))
    assert result.returncode in (FAILED, COULD_NOT_RUN), result.stdout + result.stderr
    assert wheel.name in result.stdout + result.stderr


# In a process that is not ours: the signal's own handler goes on to serve whatever else fails.
def test_python_lives_on_when_a_library_is_cut(shim, build):
    code = """
import ctypes, faulthandler, mmap, os, re, sys, tempfile, pbprobe
faulthandler.enable()
report = pbprobe.report(sys.argv[1], show=False, budget=2)
print(report.verdict, [f.id for f in report.findings if re.search(sys.argv[2], f.what)])
file = tempfile.TemporaryFile()
file.write(b"x" * 4096)
file.flush()
mapped = mmap.mmap(file.fileno(), 4096)
file.truncate(0)
sys.stdout.flush()
mapped[0]
"""
    environment = {**os.environ, **cutting(shim, "libtorch_cpu.so", 4096), "PYTHONPATH": str(BUILD / "python")}
    ended = subprocess.run(
        [sys.executable, "-c", code, build, CUT],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=120,
    )
    assert ended.stdout == "fail ['PB101']\n", ended.stdout + ended.stderr
    assert "Fatal Python error: Bus error" in ended.stderr


def test_names_a_file_that_vanishes(shim, build):
    result = run("audit", build, env={"LD_PRELOAD": str(shim), "REMOVED_FILE": "libc10.so"})
    assert result.returncode == FAILED
    assert "cannot open" in result.stdout
    assert "libc10.so: No such file or directory" in " ".join(result.stdout.split())


# ---- holes --------------------------------------------------------------------------------------------------------


def bounded(*arguments):
    """The result of a command, which must take little CPU time and less than a gigabyte."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    script = "import resource, sys, subprocess; subprocess.run(sys.argv[1:]); " + (
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    )
    start = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", script, PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    *lines, kilobytes = ended.stderr.splitlines()
    assert used < 1.5, f"{used} s of CPU time"  # Python starts in it as well
    assert time.monotonic() - start < 15
    assert int(kilobytes) * 1024 < GB
    return ended.stdout + "\n".join(lines)


@pytest.mark.parametrize("size", [8 * GB, 8 << 30, 400 * GB])
@pytest.mark.parametrize("content", ["nothing", "a library"])
def test_names_a_sparse_library_at_once(build, size, content):
    library = build / "torch/lib/libtorch_cuda.so"
    if content == "a library":
        shutil.copy(build / "torch/lib/libtorch_cpu.so", library)
    library.touch()
    os.truncate(library, size)
    for command in (["audit"], ["gate", "--claim", CLAIM, "--format", "json"]):
        reported = " ".join(bounded(*command, build).split())
        assert f"libtorch_cuda.so: at least 4294967296 of its {size} bytes are a hole" in reported
    assert "libtorch_cuda.so" in bounded("audit", library)


def test_names_a_sparse_wheel_at_once(tmp_path):
    wheel = tmp_path / "torch-2.10.0-cp313-cp313-linux_x86_64.whl"
    wheel.write_bytes(b"PK\3\4")
    os.truncate(wheel, 400 * GB)
    assert "are a hole" in bounded("audit", wheel)
    assert "are a hole" in bounded("gate", wheel, "--claim", CLAIM)


@pytest.mark.parametrize("start", ['{"schema": "pbprobe.report/1"', "{", "   {"])
def test_refuses_a_sparse_report_at_once(tmp_path, start):
    file = tmp_path / "report.json"
    file.write_text(start)
    os.truncate(file, 5 * GB)
    for command in (
        ["audit", file],
        ["report", file],
        ["gate", file, "--claim", CLAIM],
        ["gate", "--join", file, file],
    ):
        assert "this text has 5000000000 bytes, and pbprobe reads at most 33554432" in " ".join(
            bounded(*command).split()
        )


def test_evidence_that_is_mostly_a_hole_is_refused_at_once(evidence, keys, tmp_path):
    folder = shutil.copytree(evidence, tmp_path / "evidence")
    os.truncate(folder / "report.json", 5 * GB)
    assert "pbprobe reads at most" in " ".join(bounded("gate", "--from", folder).split())
    assert "pbprobe reads at most" in " ".join(bounded("verify", folder, "--key", keys / "pub").split())


def test_refuses_a_huge_policy_or_key_at_once(sound, tmp_path):
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, 50 * GB)
    assert "pbprobe reads at most" in " ".join(bounded("gate", sound, "--claim", CLAIM, "--policy", file).split())
    assert "pbprobe reads at most" in " ".join(
        bounded("gate", sound, "--claim", CLAIM, "--evidence", tmp_path / "e", "--sign", file).split()
    )


def test_names_a_huge_version_file_at_once(build):
    os.truncate(build / "torch/version.py", 50 * GB)
    assert "version.py: this text has 50000000000 bytes, and pbprobe reads at most 1048576" in " ".join(
        bounded("audit", build).split()
    )


# ---- no files -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["a pipe", "a device", "a folder"])
def no_file(request, tmp_path):
    folder = tmp_path / "named"
    if request.param == "a folder":
        folder.mkdir()
        return folder, "is a folder"
    if request.param == "a pipe":
        os.mkfifo(folder)
        return folder, "is a named pipe"
    if os.geteuid() != 0:
        return pathlib.Path("/dev/zero"), "is a device"
    # One of its own: should the check fail, root would put a file in the system's place.
    try:
        os.mknod(folder, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("root may make no devices here")
    return folder, "is a device"


def test_refuses_special_files_at_once(no_file, sound, keys, evidence, tmp_path):
    path, word = no_file
    wanted = ["gate", sound, "--claim", CLAIM]
    for command in (
        [*wanted, "--policy", path],
        [*wanted, "--evidence", tmp_path / "new", "--sign", path],
        ["verify", evidence, "--key", path],
        ["recipes", "recommend", "--host", path],
    ):
        refused(run(*command, timeout=20), str(path), word)
    assert not (tmp_path / "new").exists()


def test_refuses_a_special_file_as_artifact_at_once(no_file, sound, keys):
    path, word = no_file
    for command in (
        ["audit", path],
        ["gate", path, "--claim", CLAIM],
        ["gate", sound, "--claim", CLAIM, "--baseline", path],
    ):
        refused(run(*command, timeout=20), str(path))
    # An empty folder is evidence of which files are missing.
    for command in (["gate", "--from", path], ["gate", "--join", path, path], ["verify", path, "--key", keys / "pub"]):
        result = run(*command, timeout=20)
        assert result.returncode == (FAILED if word == "is a folder" else COULD_NOT_RUN)
        assert str(path) in result.stderr
    result = run("report", path, timeout=20)
    assert result.returncode == COULD_NOT_RUN
    assert path.name in result.stdout


def test_replaces_only_regular_files(no_file, tmp_path):
    """Writes to a device, and to a pipe with a reader."""
    path, word = no_file
    before = path.stat()
    result = run("report", tmp_path / "nothing", "--output", path, timeout=20)
    if word != "is a device":
        refused(result, str(path), "name a file")
    assert (path.stat().st_ino, path.stat().st_mode) == (before.st_ino, before.st_mode)


def test_pipes_in_an_artifact_do_not_block(build, tmp_path):
    for name in ("torch/version.py", "torch/lib/libpipe.so", "pyvenv.cfg", "made.pth"):
        (build / name).unlink(missing_ok=True)
        os.mkfifo(build / name)
    result = run("audit", build, timeout=20)
    reported = " ".join(result.stdout.split())
    assert result.returncode == FAILED, result.stdout + result.stderr
    assert "libpipe.so is a named pipe" in reported
    assert "version.py is a named pipe" in reported
    run("report", "--budget", "1", env={"PBPROBE_TORCH": str(build)}, timeout=60)


def test_loops_of_links_end(build, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    refused(run("audit", tmp_path / "loop"), "symbolic links")
    (build / "torch/lib/up").symlink_to("..")
    (build / "torch/lib/libloop.so").symlink_to("libloop.so")
    result = run("audit", build)
    reported = " ".join(result.stdout.split())
    assert result.returncode == FAILED
    assert "torch/lib/up/: a link back to a folder above it: not followed" in reported
    assert "libloop.so: cannot read: Too many levels of symbolic links" in reported


# Reports files deeper than the longest path as unread.
def test_folders_too_deep_to_enter_are_named(build):
    here = pathlib.Path.cwd()
    os.chdir(build / "torch")
    try:
        for _ in range(60):
            pathlib.Path("d" * 200).mkdir()
            os.chdir("d" * 200)
        shutil.copy(build / "torch/lib/libc10.so", "libdeep.so")
    finally:
        os.chdir(here)
    result = run("audit", build)
    subprocess.run(["rm", "-rf", build / "torch"], check=True)  # what pytest cannot remove
    assert result.returncode == FAILED, result.stdout + result.stderr
    assert "File name too long" in " ".join(result.stdout.split())


def test_reads_a_path_of_a_thousand_folders(build):
    here = pathlib.Path.cwd()
    os.chdir(build / "torch")
    try:
        for _ in range(1900):  # more than files may be open at once
            pathlib.Path("d").mkdir()
            os.chdir("d")
        shutil.copy(build / "torch/lib/libc10.so", "libdeep.so")
    finally:
        os.chdir(here)
    result = run("audit", build, "--format", "json")
    subprocess.run(["rm", "-rf", build / "torch"], check=True)
    assert any(file["path"].endswith("d/libdeep.so") for file in json.loads(result.stdout)["files"])
