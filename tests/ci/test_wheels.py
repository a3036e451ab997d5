# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/wheels names a package or dependency that exists only for x86-64; exit code 2 without an index."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_wheel(folder, name, tag, *needs):
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-{tag}.whl", "w") as wheel:
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            "Version: 1.0",
            *(f"Requires-Dist: {need}" for need in needs),
        ]
        wheel.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


def ask(folder, *pins, **more):
    """(exit code, standard output) of ci/wheels for these lines of a requirements file."""
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(pins) + "\n")
    environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), **more}
    command = [sys.executable, ROOT / "ci/wheels", requirements]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "tag",
    [
        "py3-none-any",
        "cp312-cp312-manylinux_2_28_aarch64",
        "py3-none-manylinux2014_aarch64",
        "py3-none-manylinux_2_18_aarch64",  # NCCL's
        "py3-none-manylinux_2_39_aarch64",
    ],
)
def test_accepts_wheel_of_this_platform(tmp_path, tag):
    write_wheel(tmp_path, "sound", tag)
    assert ask(tmp_path, "# why", "sound==1.0 \\", "    --hash=sha256:00") == (
        0,
        "1 of 1 packages have a wheel for CPython 3.12 on aarch64\n",
    )


@pytest.mark.parametrize(
    "tag",
    [
        "py3-none-manylinux2014_x86_64",
        "cp311-cp311-manylinux_2_28_aarch64",
        "py3-none-manylinux_2_40_aarch64",
    ],
)
def test_rejects_wheel_of_another_platform(tmp_path, tag):
    write_wheel(tmp_path, "sound", "py3-none-any")
    write_wheel(tmp_path, "other", tag)
    code, printed = ask(tmp_path, "sound==1.0", "other==1.0")
    assert code == 1
    assert [line.partition(":")[0] for line in printed.splitlines()] == [
        "other==1.0",
        "1 of 2 packages have a wheel for CPython 3.12 on aarch64",
    ]


def test_names_dependency_and_its_parent(tmp_path):
    write_wheel(tmp_path, "torchlike", "py3-none-any", "middle[gpu]>=1.0", "other; python_version < '3.12'")
    write_wheel(tmp_path, "middle", "py3-none-any", "library==1.0; extra == 'gpu'", "absent; extra == 'docs'")
    write_wheel(tmp_path, "library", "py3-none-manylinux_2_28_x86_64")
    assert ask(tmp_path, "torchlike==1.0") == (
        1,
        "library==1.0: no wheel for CPython 3.12 on aarch64 (middle depends on it)\n"
        "2 of 3 packages have a wheel for CPython 3.12 on aarch64\n",
    )


@pytest.mark.parametrize("machine, code", [("aarch64", 1), ("x86_64", 0)])
def test_evaluates_markers_for_that_machine(tmp_path, machine, code):
    write_wheel(tmp_path, "sound", "py3-none-any", f"library; platform_machine == '{machine}'")
    assert ask(tmp_path, "sound==1.0")[0] == code


def test_pinned_files_need_no_dependencies(tmp_path):
    write_wheel(tmp_path, "sound", "py3-none-any", "library")
    assert ask(tmp_path, "sound==1.0 \\", "    --hash=sha256:00")[0] == 0


def test_fails_without_pins(tmp_path):
    assert ask(tmp_path, "# nothing") == (2, "")


def test_gives_no_verdict_without_index(tmp_path):
    unreachable = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_RETRIES": "1", "NO_PROXY": "*"}
    write_wheel(tmp_path, "sound", "py3-none-any")
    assert ask(tmp_path, "sound==1.0", "other==1.0", **unreachable) == (2, "")
