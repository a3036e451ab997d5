# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The batch script and the prolog of tools/fleet, with stand-ins for srun, python and logger."""

import os
import pathlib
import subprocess

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "tools/fleet"


def stand_in(folder, name, body):
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def run(folder, script, **env):
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", EXAMPLES / script],
        cwd=folder,
        env=os.environ | path | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_batch_script_passes_the_verdict_on_and_keeps_a_baseline_of_what_passed(tmp_path, code):
    stand_in(tmp_path, "srun", f'echo "$@" >>calls; mkdir -p fleet; echo "{{}}" >fleet/fleet.json; exit {code}')
    assert run(tmp_path, "fleet.sbatch").returncode == code
    assert run(tmp_path, "fleet.sbatch").returncode == code
    first, second = (tmp_path / "calls").read_text().splitlines()
    assert first == "--kill-on-bad-exit=0 python -m pbprobe.fleet --minutes 3 --output fleet"
    assert second == first + (" --baseline fleet/last.json" if code == 0 else "")


@pytest.mark.parametrize(
    "line, code, expected, logged",
    [("PASS  1 of 1 nodes pass", 0, 0, False), ("FAIL  rank 3: slow", 1, 1, False), ("UNKNOWN  busy", 1, 0, True),
     ("", 2, 0, True)],
)  # fmt: skip
def test_the_prolog_drains_what_is_wrong_and_not_what_is_unknown(tmp_path, line, code, expected, logged):
    stand_in(tmp_path, "python3", f'[ "$*" = "-m pbprobe.fleet --node-health" ] || exit 9; echo "{line}"; exit {code}')
    stand_in(tmp_path, "logger", 'echo "$@" >logged')
    done = run(tmp_path, "prolog.sh")
    assert done.returncode == expected
    assert done.stdout == (f"print pbprobe: {line}\n" if expected else "")
    assert (tmp_path / "logged").exists() == logged
