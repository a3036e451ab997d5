# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A libtorch with a newer libc than the machine, as in Nix. Its closure has the libraries of Debian trixie."""

import ctypes
import json
import os
import pathlib
import platform
import shutil
import subprocess

import pytest
from test_cli import COULD_NOT_RUN, FAILED, SOURCE, TORCH, needs_torch, run

CLOSURE = SOURCE / "build/newer-libc/usr/lib" / f"{platform.machine()}-linux-gnu"
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}.get(platform.machine(), "")

# C23's <stdlib.h> redirects strtol to this function from glibc 2.38 on.
NEEDS_NEWER = """
long __isoc23_strtol(const char*, char**, int);
long pbprobe_parse(const char* text) { return __isoc23_strtol(text, 0, 10); }
"""


@pytest.fixture(scope="session")
def closure():
    made = subprocess.run([SOURCE / "ci/newer-libc"], capture_output=True, text=True, check=False)
    if made.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"ci/newer-libc: {made.stderr.strip()}")
    assert made.returncode == 0, made.stderr
    if os.confstr("CS_GNU_LIBC_VERSION") >= "glibc 2.41":
        pytest.skip("the glibc of this machine is not older than trixie")
    return CLOSURE


def make_foreign_torch(folder: pathlib.Path, closure: pathlib.Path) -> pathlib.Path:
    """The torch of these tests behind a libtorch_cpu.so that needs GLIBC_2.38 and leads to the closure."""
    real = pathlib.Path(TORCH) / "torch"
    (folder / "torch/lib").mkdir(parents=True)
    shutil.copy(real / "version.py", folder / "torch/version.py")
    source = folder / "newer.c"
    source.write_text(NEEDS_NEWER)
    paths = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{closure}:{real / 'lib'}"]
    libraries = ["-Wl,--no-as-needed", real / "lib/libtorch_cpu.so", closure / "libc.so.6", closure / "libstdc++.so.6"]
    library = folder / "torch/lib/libtorch_cpu.so"
    subprocess.run(
        [
            "cc",
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-o",
            library,
            source,
            *paths,
            *libraries,
            "-Wl,--unresolved-symbols=ignore-all",
        ],
        check=True,
    )
    return library


@needs_torch
def test_it_loads_computes_and_throws_by_its_own_loader(tmp_path, closure):
    library = make_foreign_torch(tmp_path, closure)
    with pytest.raises(OSError, match=r"GLIBC_2\.38"):  # or this test would prove nothing
        ctypes.CDLL(str(library))
    result = run("report", tmp_path, "--format", "json", "--budget", "10", timeout=120)
    assert result.returncode != COULD_NOT_RUN, result.stderr
    measurements = json.loads(result.stdout)["measurements"]
    libtorch = measurements["libtorch"]
    assert libtorch["problem"] is None
    assert (libtorch["loaded"], libtorch["executed"]) == (True, True)
    assert libtorch["loader"]["path"] == str(closure / LOADER)
    assert libtorch["loader"]["glibc"] == "2.41"
    areas = {area["area"]: area["problem"] for area in libtorch["areas"]}
    assert set(areas.values()) == {None}
    assert "exceptions" in areas
    assert measurements["problems"] == []
    assert any("libtorch has its own glibc 2.41" in note for note in measurements["notes"])
    assert any(row["best"] for row in measurements["rows"]), "our own kernels ran beside it"


@needs_torch
def test_names_a_closure_without_its_loader(tmp_path, closure):
    part = tmp_path / "part"
    part.mkdir()
    for name in ("libc.so.6", "libstdc++.so.6"):
        shutil.copy(closure / name, part / name)
    make_foreign_torch(tmp_path, part)
    result = run("report", tmp_path, "--format", "json", "--no-figures", "--budget", "20", timeout=60)
    assert result.returncode == FAILED
    report = json.loads(result.stdout)
    assert any(f"its loader {LOADER} is missing" in problem for problem in report["problems"])
    assert report["measurements"]["libtorch"]["loaded"] is False
