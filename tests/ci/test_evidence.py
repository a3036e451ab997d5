# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""tools/evidence: one command packs what a chip can prove, whatever it ended with, and nothing tells whose it is."""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UUID = "GPU-01234567-89ab-cdef-0123-456789abcdef"
CTEST = """#!/bin/bash
echo "$@" >asked
mkdir -p Testing/Temporary
echo "$PWD/build/tests of $(uname -n), $HOME/torch, {uuid}: SM clock 2418 of 2418 MHz" >Testing/Temporary/LastTest.log
echo "$PBPROBE_REQUIRE_HARDWARE" >"$PBPROBE_EVIDENCE_DIR/sm121.json"
exit $TESTS
"""
PBPROBE = """#!/bin/bash
case $1 in
  report) [[ " $* " == *" --redact "* ]] || exit 9
    [[ $REPORT -eq 2 ]] || echo '{{"schema": "pbprobe.report/1"}}' >"${{@: -1}}"
    echo "pbprobe: $HOME/torch" >&2; exit $REPORT ;;
  targets) echo '{{"schema": "pbprobe.target-list/1"}}' ;;
esac
"""


@pytest.fixture
def tree(tmp_path):
    tree = tmp_path / "home/pbprobe"
    for path, text in {
        "build/bin/pbprobe": PBPROBE.format(),
        ".venv/bin/ctest": CTEST.format(uuid=UUID),
        "build/tests/kernels_test": "",
        "build/setup/torch": "/somewhere/torch\n",
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
        (tree / path).chmod(0o755)
    (tree / "tools").mkdir()
    shutil.copy(ROOT / "tools/evidence", tree / "tools")
    return tree


def pack(tree, tests=0, report=0):
    environment = {**os.environ, "HOME": str(tree.parent), "TESTS": str(tests), "REPORT": str(report)}
    command = [tree / "tools/evidence", "sm121"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def packed(tree):
    """The text of each file, by its name."""
    with tarfile.open(tree / "evidence/sm121.tar.gz") as archive:
        return {m.name: archive.extractfile(m).read().decode() for m in archive.getmembers() if m.isfile()}


def test_packs_records_output_report_and_targets(tree):
    done = pack(tree)
    assert done.returncode == 0, done.stderr
    files = packed(tree)
    assert {"sm121/ctest.txt", "sm121/report.json", "sm121/targets.json", "sm121/records/sm121.json"} <= set(files)
    assert files["sm121/records/sm121.json"].strip() == "1"  # PBPROBE_REQUIRE_HARDWARE
    assert "SM clock 2418 of 2418 MHz" in files["sm121/ctest.txt"]
    assert json.loads(files["sm121/report.json"])["schema"] == "pbprobe.report/1"
    assert (tree / "asked").read_text().split() == ["-L", "^sm121$", "--no-tests=error", "--output-on-failure"]


def test_record_names_no_person_or_host(tree):
    pack(tree)
    whole = "".join(packed(tree).values())
    for secret in (UUID, str(tree), str(tree.parent), os.uname().nodename + ","):
        assert secret not in whole
    assert "./build/tests of HOST, ~/torch, GPU-UUID" in whole


@pytest.mark.parametrize("tests, report", [(8, 0), (0, 1), (8, 1), (0, 2)])
def test_packs_record_for_any_exit_code(tree, tests, report):
    done = pack(tree, tests, report)
    assert done.returncode == tests
    assert f"the tests ended with {tests}, the report with {report}" in done.stdout
    assert "~/torch" in packed(tree)["sm121/report-errors.txt"]


def test_prints_build_command_without_build(tree):
    (tree / "build/tests/kernels_test").unlink()
    done = pack(tree)
    assert (done.returncode, done.stderr) == (2, "not built: make test TARGETS=sm121\n")
