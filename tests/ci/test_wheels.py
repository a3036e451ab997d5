# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/wheels: of packages in a folder, one for only x86-64 is named; an unreachable index gives exit code 2."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_wheel(folder, name, tag):
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


def ask(folder, *pins, **more):
    """(exit code, standard output) of ci/wheels for these lines of a requirements file."""
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(pins) + "\n")
    environment = {"PYTHON": sys.executable, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), **more}
    command = [ROOT / "ci/wheels", requirements]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "tag",
    ["py3-none-any", "cp312-cp312-manylinux_2_28_aarch64", "py3-none-manylinux2014_aarch64"],
)
def test_a_wheel_of_this_platform_passes(tmp_path, tag):
    write_wheel(tmp_path, "sound", tag)
    assert ask(tmp_path, "# why", "sound==1.0 \\", "    --hash=sha256:00") == (
        0,
        "1 of 1 packages have a wheel for CPython 3.12 on aarch64\n",
    )


@pytest.mark.parametrize("tag", ["py3-none-manylinux2014_x86_64", "cp311-cp311-manylinux_2_28_aarch64"])
def test_a_wheel_of_another_is_none(tmp_path, tag):
    write_wheel(tmp_path, "sound", "py3-none-any")
    write_wheel(tmp_path, "other", tag)
    code, printed = ask(tmp_path, "sound==1.0", "other==1.0")
    assert code == 1
    assert [line.partition(":")[0] for line in printed.splitlines()] == [
        "other==1.0",
        "1 of 2 packages have a wheel for CPython 3.12 on aarch64",
    ]


def test_nothing_pinned_is_no_pass(tmp_path):
    assert ask(tmp_path, "# nothing") == (2, "")


def test_an_index_that_cannot_be_reached_is_no_verdict(tmp_path):
    unreachable = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_RETRIES": "1", "NO_PROXY": "*"}
    write_wheel(tmp_path, "sound", "py3-none-any")
    assert ask(tmp_path, "sound==1.0", "other==1.0", **unreachable) == (2, "")
