# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests the output of `ctest -L sm121` if a part is missing; fake programs answer as pbprobe does."""

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


def test_fails_for_untested_kernel(tmp_path, pbprobe):
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


@pytest.mark.parametrize("question", ["sanitizer", "against"])
def test_hardware_that_is_required_and_cannot_be_asked_fails(tmp_path, pbprobe, sanitizer, question):
    done = run(
        "hardware.py", question, pbprobe, "sm121", tmp_path / "absent", **sanitizer, PBPROBE_REQUIRE_HARDWARE="1"
    )
    assert (done.returncode, done.stdout.strip()) == (1, f"{NOT_BUILT} (PBPROBE_REQUIRE_HARDWARE=1)")


def test_fails_on_gpu_of_another_target(tmp_path, pbprobe, sanitizer):
    arguments = ("hardware.py", "sanitizer", pbprobe, "sm90", program_of_tests(tmp_path))
    (tmp_path / "targets.json").write_text(json.dumps({"targets": [TARGETS["targets"][0] | {"id": "sm90"}]}))
    done = run(*arguments, **sanitizer)
    assert done.returncode == SKIPPED
    assert done.stdout.splitlines()[-1] == "no GPU of sm90: this machine has NVIDIA GB10 (12.1)"
    assert "sanitized" not in done.stdout
    assert run(*arguments, **sanitizer, PBPROBE_REQUIRE_HARDWARE="1").returncode == 1


def test_hardware_without_the_program_is_skipped(tmp_path, sanitizer):
    done = run("hardware.py", "sanitizer", tmp_path / "absent", "sm121", program_of_tests(tmp_path), **sanitizer)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (SKIPPED, NOT_BUILT, "")


def test_runs_sanitizer_if_tools_exist(tmp_path, pbprobe, sanitizer):
    done = run("hardware.py", "sanitizer", pbprobe, "sm121", program_of_tests(tmp_path), **sanitizer)
    assert done.returncode == 0
    # The tools run at once.
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("sanitized")) == [
        "sanitized initcheck",
        "sanitized memcheck",
        "sanitized racecheck",
        "sanitized synccheck",
    ]


def resources(tmp_path, compiler, *, registers=40, spilled=0, name="gemm_bf16_64x64_nt"):
    (tmp_path / "table.json").write_text(
        json.dumps(
            {
                "compilers": {"nvcc": "13.0"},
                "sm121": {"gemm_bf16_64x64_nt": {"registers": 40, "shared_bytes": 0, "spill_bytes": 0}},
            }
        )
    )
    (tmp_path / "ptxas").write_text(
        f"ptxas info    : Compiling entry function '{name}' for 'sm_121'\n"
        f"    0 bytes stack frame, {spilled} bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : Used {registers} registers, used 1 barriers\n"
    )
    return run("resources.py", tmp_path / "table.json", "sm121", tmp_path / "ptxas", compiler)


def test_registers_of_another_nvcc_are_skipped_with_the_reason(tmp_path):
    done = resources(tmp_path, "nvcc 13.2", registers=44)
    assert done.returncode == SKIPPED
    assert "the table is of nvcc 13.0, and nvcc 13.2 compiled this" in done.stdout
    # Evidence depends on the cubin's digest: the output names the effect.
    assert "has them as assembled, and not as executed." in done.stdout


@pytest.mark.parametrize(
    "compiler, change",
    [
        ("nvcc 13.0", {"registers": 44}),
        ("nvcc 13.2", {"spilled": 8}),
        ("nvcc 13.2", {"name": "another"}),
    ],
)
def test_fails_for_other_resources(tmp_path, compiler, change):
    assert resources(tmp_path, compiler, **change).returncode == 1


def test_resources_of_the_table_pass(tmp_path):
    done = resources(tmp_path, "nvcc 13.0")
    assert (done.returncode, done.stdout.strip()) == (0, "sm121: 1 kernels as committed")


@pytest.fixture
def libtorch_of_target(tmp_path):
    """Judges by a program that has the exit code of the folder's own name: result-0, result-1."""
    (tmp_path / "host.json").write_text(json.dumps(HOST), encoding="utf-8")
    program = script(
        tmp_path / "pbprobe",
        f'[ "$1" = host ] && exec cat "{tmp_path}/host.json"\necho "judged $2 by $4"; exit "${{2##*-}}"',
    )
    for code in (0, 1):
        (tmp_path / "mine" / f"result-{code}").mkdir(parents=True)

    def run_test(target="sm121", default=None, report=None, more=(), **environment):
        if default is not None:
            (tmp_path / "torch").write_text(f"{tmp_path}/mine/{default}\n")
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PBPROBE_")}
        options = (f"-DPBPROBE={program}", f"-DID={target}", f"-DDEFAULT={tmp_path / 'torch'}")
        options += more if report is None else (f"-DREPORT={report}", *more)
        return subprocess.run(
            [CMAKE, *options, "-P", SOURCE / "tests/recipes/libtorch_of_target.cmake"],
            env={**kept, "PWD": str(tmp_path / "mine"), **environment},  # ctest calls it in another folder
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return run_test


def test_resolves_relative_libtorch_for_user(tmp_path, libtorch_of_target):
    done = libtorch_of_target(PBPROBE_LIBTORCH="result-0")
    assert (done.returncode, done.stdout.strip()) == (0, f"judged {tmp_path}/mine/result-0 by sm121")


def test_fails_for_incomplete_named_libtorch(tmp_path, libtorch_of_target):
    done = libtorch_of_target(PBPROBE_LIBTORCH="result-1")
    assert done.returncode == 1
    assert f"{tmp_path}/mine/result-1 does not deliver sm121" in " ".join(done.stdout.split())


def test_fails_for_missing_named_libtorch(libtorch_of_target):
    done = libtorch_of_target(PBPROBE_LIBTORCH="result-7")
    assert done.returncode == 1
    assert "judged" not in done.stdout


def test_judges_default_torch(tmp_path, libtorch_of_target):
    done = libtorch_of_target(default="result-0")
    assert (done.returncode, done.stdout.strip()) == (0, f"judged {tmp_path}/mine/result-0 by sm121")


def test_judges_report_on_default_torch(tmp_path, libtorch_of_target):
    (tmp_path / "report-0").touch()
    done = libtorch_of_target(default="result-1", report=tmp_path / "report-0")
    assert (done.returncode, done.stdout.strip()) == (0, f"judged {tmp_path}/report-0 by sm121")
    done = libtorch_of_target(default="result-0", report=tmp_path / "absent-1")
    assert (done.returncode, done.stdout.strip()) == (0, f"judged {tmp_path}/mine/result-0 by sm121")


def test_writes_no_report_for_named_libtorch(tmp_path, libtorch_of_target):
    done = libtorch_of_target(
        "sm90", "result-0", tmp_path / "report", ("-DONLY_REPORT=ON",), PBPROBE_LIBTORCH="result-1"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "skipped: PBPROBE_LIBTORCH names the libtorch to judge")


def test_fails_without_document_of_default_torch(tmp_path, libtorch_of_target):
    (tmp_path / "report").touch()  # of an earlier run
    done = libtorch_of_target("sm90", "result-1", tmp_path / "report", ("-DONLY_REPORT=ON",))
    assert done.returncode == 1 and "no report on" in done.stdout


def test_skips_default_torch_without_claim(tmp_path, libtorch_of_target):
    done = libtorch_of_target(default="result-1")
    assert done.returncode == 0
    assert done.stdout.startswith(
        f"skipped: {tmp_path}/mine/result-1 does not deliver sm121 here (exit code 1)\njudged"
    )
    assert libtorch_of_target(default="result-1", PBPROBE_REQUIRE_HARDWARE="1").returncode == 1


@pytest.mark.parametrize("missing", [{"default": None}, {"default": "result-0", "target": "sm90"}])
def test_skips_without_torch_or_target(libtorch_of_target, missing):
    done = libtorch_of_target(**missing)
    assert done.returncode == 0
    assert done.stdout.startswith("skipped: ")
    assert "judged" not in done.stdout


LISTED = """Gemm/gemm_bf16_sm121.
  Ragged
  FarApart
  RefusedWithoutItsIsa
Peak/peak_bf16_sm121.
  Runs
  Proof
Memory/read_sm121.
  Bandwidth
sm121.
  table
"""


@pytest.fixture
def gpu_tests(tmp_path):
    """Returns a function: CTest's entries of sm121 on a machine with the given devices, and ctest's whole output."""
    listed = tmp_path / "listed"
    listed.write_text(LISTED, encoding="utf-8")

    def entries(*devices, code=0):
        (tmp_path / "devices").write_text("".join(f"{one}\n" for one in devices), encoding="utf-8")
        program = script(
            tmp_path / "kernels_test",
            f"""case $1 in
--list-devices) cat {tmp_path}/devices ;;
--gtest_list_tests) case $2 in *_sm121.*) cat {listed} ;; esac ;;
*) echo ran $1; exit {code} ;;
esac""",
        )
        (tmp_path / "CTestTestfile.cmake").write_text(
            f'set(program "{program}")\nset(ids sm90 sm121)\ninclude("{HERE}/gpu_tests.cmake")\n'
        )
        ctest = [CMAKE.with_name("ctest"), "-L", "^sm121$", "--no-tests=error"]
        how = {"cwd": tmp_path, "capture_output": True, "text": True}
        shown = subprocess.run([*ctest, "--show-only=json-v1"], **how, check=True)
        properties = {
            test["name"]: {entry["name"]: entry["value"] for entry in test["properties"]}
            for test in json.loads(shown.stdout)["tests"]
        }
        return properties, subprocess.run([*ctest, "--verbose"], **how, check=False)

    return entries


def test_lists_two_entries_without_device(gpu_tests):
    properties, ran = gpu_tests(code=SKIPPED)
    assert list(properties) == ["sm121.without_device", "sm121.device"]
    assert "ran --gtest_filter=sm121.*:*_sm121.RefusedWithoutItsIsa\n" in ran.stdout
    assert "ran --gtest_filter=*_sm121.*-sm121.*:*_sm121.RefusedWithoutItsIsa\n" in ran.stdout
    assert ran.returncode == 0 and ran.stdout.count("***Skipped") == 2


def test_shows_failure_without_device(gpu_tests):
    _, ran = gpu_tests("sm90", code=1)
    assert ran.returncode != 0 and "2 tests failed out of 2" in ran.stdout


def test_lists_each_test_with_device(gpu_tests):
    properties, ran = gpu_tests("sm90", "sm121")
    names = (
        *(f"Gemm/gemm_bf16_sm121.{name}" for name in ("Ragged", "FarApart", "RefusedWithoutItsIsa")),
        *("Peak/peak_bf16_sm121.Runs", "Peak/peak_bf16_sm121.Proof", "Memory/read_sm121.Bandwidth", "sm121.table"),
    )
    assert tuple(properties) == names
    assert ran.returncode == 0 and all(f"ran --gtest_filter={name}\n" in ran.stdout for name in names)


def test_runs_timed_and_large_tests_alone(gpu_tests):
    tests, _ = gpu_tests("sm121")
    assert {name for name, one in tests.items() if one.get("RUN_SERIAL")} == {
        "Peak/peak_bf16_sm121.Runs",
        "Memory/read_sm121.Bandwidth",
    }
    assert {name for name, one in tests.items() if one.get("RESOURCE_LOCK") == ["gpu_memory"]} == {
        "Gemm/gemm_bf16_sm121.FarApart"
    }


def run_ctest(folder):
    (folder / "CTestTestfile.cmake").write_text((SOURCE / "CTestTestfile.cmake").read_text())
    return subprocess.run(
        [CMAKE.with_name("ctest"), "-L", "^sm121$", "--no-tests=error"], cwd=folder, capture_output=True, text=True
    )


def test_ctest_in_the_root_says_what_to_do_where_nothing_is_configured(tmp_path):
    done = run_ctest(tmp_path)
    assert done.returncode != 0
    assert "not configured: make test" in done.stderr


def test_ctest_in_the_root_runs_the_tests_of_build(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "CTestTestfile.cmake").write_text(
        'add_test(one "true")\nset_tests_properties(one PROPERTIES LABELS "sm121")\n'
    )
    done = run_ctest(tmp_path)
    assert done.returncode == 0
    assert "100% tests passed, 0 tests failed out of 1" in done.stdout
