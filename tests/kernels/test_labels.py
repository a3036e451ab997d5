# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What `ctest -L sm121` says where something is missing: programs that answer as pbprobe does stand for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1]
CMAKE = Path(os.environ.get("PBPROBE_TEST_CMAKE", "cmake"))
SKIPPED = 77
NOT_BUILT = "not built: make test TARGETS=sm121"

KERNELS = [{"name": "gemm_bf16_64x64_sm121"}, {"name": "gemm_int8_64x64_sm121"}]
HOST = {"cpu": {"targets": []}, "gpus": [{"name": "NVIDIA GB10", "capability": "12.1", "target": "sm121"}]}
TARGETS = {"targets": [{"id": "sm121", "built": True, "why_not": None, "kernels": KERNELS}]}


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def pbprobe(tmp_path):
    for name, answer in (("host", HOST), ("targets", TARGETS)):
        (tmp_path / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")
    return script(tmp_path / "pbprobe", f'exec cat "{tmp_path}/$1.json"')


def program_of_tests(tmp_path, *kernels):
    return script(tmp_path / "kernels_test", "\n".join(f"echo Gemm/{kernel}." for kernel in kernels))


def run(name, *arguments, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PBPROBE_")}
    return subprocess.run(
        [sys.executable, HERE / name, *arguments],
        capture_output=True,
        text=True,
        env={**kept, **environment},
        check=False,
    )


def kernels(pbprobe, tests, **environment):
    return run("target.py", "kernels", pbprobe, SOURCE / "recipes/targets.json", "sm121", tests, **environment)


def test_kernels_that_are_not_built_are_skipped(tmp_path, pbprobe):
    done = kernels(pbprobe, tmp_path / "absent")
    assert (done.returncode, done.stdout.strip()) == (SKIPPED, NOT_BUILT)


def test_kernels_that_are_not_built_fail_where_hardware_is_required(tmp_path, pbprobe):
    done = kernels(pbprobe, tmp_path / "absent", PBPROBE_REQUIRE_HARDWARE="1")
    assert (done.returncode, done.stdout.strip()) == (1, NOT_BUILT)


def test_a_kernel_without_a_test_fails(tmp_path, pbprobe):
    done = kernels(pbprobe, program_of_tests(tmp_path, KERNELS[0]["name"]))
    assert (done.returncode, done.stderr.strip()) == (1, "no test of gemm_int8_64x64_sm121")


def test_kernels_with_tests_pass(tmp_path, pbprobe):
    done = kernels(pbprobe, program_of_tests(tmp_path, *(kernel["name"] for kernel in KERNELS)))
    assert (done.returncode, done.stdout.strip()) == (0, "sm121: 2 kernels have tests")


@pytest.fixture
def sanitizer(tmp_path):
    folder = tmp_path / "toolkit"
    folder.mkdir()
    script(folder / "compute-sanitizer", 'echo "sanitized $2"')
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("question", ["sanitizer", "against"])
def test_hardware_without_a_program_of_tests_is_skipped(tmp_path, pbprobe, sanitizer, question):
    done = run("hardware.py", question, pbprobe, "sm121", tmp_path / "absent", **sanitizer)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (SKIPPED, NOT_BUILT, "")


def test_hardware_without_the_program_is_skipped(tmp_path, sanitizer):
    done = run("hardware.py", "sanitizer", tmp_path / "absent", "sm121", program_of_tests(tmp_path), **sanitizer)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (SKIPPED, NOT_BUILT, "")


def test_the_sanitizer_runs_where_all_is_there(tmp_path, pbprobe, sanitizer):
    done = run("hardware.py", "sanitizer", pbprobe, "sm121", program_of_tests(tmp_path), **sanitizer)
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("sanitized")] == [
        "sanitized memcheck",
        "sanitized racecheck",
        "sanitized initcheck",
    ]


def ctest_in(folder):
    (folder / "CTestTestfile.cmake").write_text((SOURCE / "CTestTestfile.cmake").read_text())
    return subprocess.run(
        [CMAKE.with_name("ctest"), "-L", "^sm121$", "--no-tests=error"], cwd=folder, capture_output=True, text=True
    )


def test_ctest_in_the_root_says_what_to_do_where_nothing_is_configured(tmp_path):
    done = ctest_in(tmp_path)
    assert done.returncode != 0
    assert "not configured: make test" in done.stderr


def test_ctest_in_the_root_runs_the_tests_of_build(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "CTestTestfile.cmake").write_text(
        'add_test(one "true")\nset_tests_properties(one PROPERTIES LABELS "sm121")\n'
    )
    done = ctest_in(tmp_path)
    assert done.returncode == 0
    assert "100% tests passed, 0 tests failed out of 1" in done.stdout
