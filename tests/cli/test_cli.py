# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The program as its users run it: every kind of bad input gets one clear line, the right exit code, no stack trace."""

import json
import os
import pathlib
import shutil
import subprocess
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build")) / "bin/pbprobe"
TORCH = os.environ.get("PBPROBE_TEST_TORCH")
needs_torch = pytest.mark.skipif(not TORCH, reason="PBPROBE_TEST_TORCH names no torch")

PASSED, FAILED, COULD_NOT_RUN = 0, 1, 2


def run(*arguments, env=None, timeout=180, **options):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
        check=False,
        **options,
    )


def refused(result, *words):
    """One line on standard error that holds the words, and exit code 2."""
    assert result.returncode == COULD_NOT_RUN, result.stdout + result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("pbprobe: ")]
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0], lines[0]
    assert "terminate called" not in result.stderr


def small_library(folder: pathlib.Path, name: str = "libsmall.so") -> pathlib.Path:
    source = folder / "small.c"
    source.write_text("int answer(void) { return 42; }\n")
    library = folder / name
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


# ---- usage --------------------------------------------------------------------------------------------------------


def test_shows_help_without_a_subcommand():
    result = run()
    assert result.returncode == COULD_NOT_RUN
    assert "pbprobe report" in result.stdout


@pytest.mark.parametrize("command", [[], ["report"], ["host"], ["targets"], ["audit"], ["bench"]])
def test_help_has_exit_code_0(command):
    result = run(*command, "--help")
    assert result.returncode == PASSED
    assert "Usage" in result.stdout


def test_help_lists_each_command_on_one_line():
    text = run("--help").stdout
    commands = text.partition("\nSubcommands:\n")[2].splitlines()
    assert [line.split()[0] for line in commands if line] == [
        *("report", "host", "targets", "audit", "gate", "verify", "bench"),
        *("compare", "merge", "recommend", "recipes", "explain"),
    ]
    assert len(text.splitlines()) < 40
    assert max(map(len, commands)) <= 110


def test_help_of_command_has_examples():
    text = run("gate", "--help").stdout
    assert "pbprobe gate result-NAME --claim" in text
    assert "{false}" not in text


def test_measure_is_hidden():
    assert "measure" not in [line.split()[0] for line in run("--help").stdout.splitlines() if line.startswith("  ")]


def test_version_names_the_targets_compiled_in():
    result = run("--version")
    assert result.returncode == PASSED
    assert "targets compiled in:" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], ["frobnicate"]),
        (["report", "--format", "yaml"], ["--format", "yaml"]),
        (["report", "--budget", "0"], ["--budget"]),
        (["report", "--budget", "soon"], ["--budget", "soon"]),
        (["report", "--quick", "--full"], ["--full"]),
        (["report", "--no-figures", "--full"], ["--full"]),
        (["audit"], ["ARTIFACT"]),
        (["audit", "/nowhere/at/all"], ["/nowhere/at/all"]),
        (["audit", "x.so", "--claim", "sm999"], ["claim", "sm999", "sm121"]),
        (["audit", "x.so", "--claim", ""], ["empty claim"]),
        (["report", "x.so", "--claim", ""], ["empty claim"]),
        (["audit", "x.so", "y.so"], ["2 artifacts", "--table"]),
        (["report", "x.so", "--claim", "sm121,avx2"], ["sm121", "avx2"]),
        (["audit", "x.so", "--claim", "sm90", "--device-code-only"], ["--claim"]),
        (["bench", "--target", "sm999"], ["sm999", "sm121", "avx512"]),
        (["bench", "--shape", "0x1x1"], ["0x1x1", "at least 1"]),
        (["bench", "--shape=-4x1x1"], ["-4x1x1", "at least 1"]),
        (["bench", "--shape", "12x12"], ["12x12", "MxNxK"]),
        (["bench", "--shape", "1x2x3x4"], ["1x2x3x4", "MxNxK"]),
        (["bench", "--shape", "99999999999999999999x1x1"], ["MxNxK"]),
        (["bench", "--dtype", "fp8"], ["--dtype", "fp8"]),
        (["bench", "--layout", "xx"], ["--layout", "xx"]),
        (["bench", "--threads=-1"], ["--threads"]),
        (["bench", "--against", "numpy"], ["numpy", "libtorch"]),
        (["bench", "--prepacked", "--target", "sm90"], ["sm90", "--prepacked"]),
        (["bench", "--explain", "--prepacked", "--target", "sm90"], ["sm90", "--prepacked"]),
        (["bench", "--explain", "--against", "cublaslt"], ["--explain", "--against"]),
        (["bench", "--sms", "12"], ["--sms", "--explain"]),
        (["bench", "--scaled", "--against", "cublaslt"], ["cublaslt", "--scaled", "bf16"]),
        (["bench", "--scaled", "--dtype", "int8", "--out", "int32"], ["int32", "scale"]),
    ],
)
def test_wrong_usage_is_refused_in_one_line(arguments, words):
    refused(run(*arguments), *words)


def test_notes_a_gpu_peer_on_a_cpu():
    target = json.loads(run("host", "--format", "json").stdout)["cpu"]["targets"][0]
    shape = ["--shape", "64x64x64", "--budget", "2"]
    result = run("bench", "--target", target, *shape, "--against", "cublaslt_best", "--format", "json")
    assert result.returncode == 0, result.stderr
    assert any("only on GPUs" in note for note in json.loads(result.stdout)["notes"])


# ---- artifacts ----------------------------------------------------------------------------------------------------


def test_rejects_a_text_file_as_artifact(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    refused(run("audit", file), "notes.txt")


def test_measures_nothing_for_a_missing_artifact(tmp_path):
    result = run("report", tmp_path / "none.whl", "--format", "json")
    assert result.returncode == 2
    report = json.loads(result.stdout)
    assert any("none.whl" in problem for problem in report["problems"])
    assert report["measurements"] is None


def test_finds_no_torch_in_an_empty_folder(tmp_path):
    refused(run("audit", tmp_path), str(tmp_path))


def test_rejects_an_empty_shared_object(tmp_path):
    file = tmp_path / "libempty.so"
    file.touch()
    refused(run("audit", file), "libempty.so")


def test_names_a_truncated_shared_object(tmp_path):
    library = small_library(tmp_path)
    whole = library.read_bytes()
    library.write_bytes(whole[: len(whole) // 2])
    result = run("audit", library)
    assert result.returncode == FAILED
    assert "libsmall.so" in result.stdout
    assert "truncated" in result.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_names_an_unreadable_file(tmp_path):
    library = small_library(tmp_path)
    library.chmod(0)
    refused(run("audit", library), "libsmall.so")


def test_reads_a_wheel_of_another_platform_in_place(tmp_path):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no aarch64-linux-gnu-gcc")
    source = tmp_path / "small.c"
    source.write_text("int answer(void) { return 42; }\n")
    library = tmp_path / "libtorch_cpu.so"
    subprocess.run(["aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-nostdlib", "-o", library, source], check=True)
    wheel = tmp_path / "torch-2.10.0-cp313-cp313-manylinux_2_28_aarch64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "torch/lib/libtorch_cpu.so")
        archive.writestr("torch/version.py", "__version__ = '2.10.0+cpu'\ncuda = None\ngit_version = 'abc'\n")
    result = run("audit", wheel, "--format", "json")
    assert result.returncode == PASSED, result.stderr
    inventory = json.loads(result.stdout)
    assert inventory["torch_version"] == "2.10.0+cpu"
    assert inventory["platform"] == "aarch64-linux"
    assert inventory["files"][0]["path"] == "torch/lib/libtorch_cpu.so"
    assert not [file for file in tmp_path.iterdir() if file.is_dir()], "something was extracted"


def small_torch(folder: pathlib.Path) -> pathlib.Path:
    """A site-packages folder with a torch that is no more than its files' names and versions."""
    library_folder = folder / "torch" / "lib"
    library_folder.mkdir(parents=True)
    small_library(library_folder, "libtorch_cpu.so")
    (library_folder / "small.c").unlink()
    (folder / "torch" / "version.py").write_text("__version__ = '2.10.0+cpu'\ncuda = None\n")
    return folder


def test_judges_a_claim_by_the_files(tmp_path):
    torch = small_torch(tmp_path)
    result = run("audit", torch, "--claim", "torch=2.10.0", "--format", "json")
    assert result.returncode == PASSED, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["schema"] == "pbprobe.report/1"
    assert report["claim"]["torch"] == "2.10.0"
    assert report["inventory"]["torch_version"] == "2.10.0+cpu"
    assert report["host"] is None
    assert report["verdict"]["outcome"] == "pass"
    result = run("audit", torch, "--claim", "torch=2.9.1,cuda=13.0")
    assert result.returncode == FAILED
    assert result.stdout.startswith("FAIL")
    assert "PB105" in result.stdout
    assert "PB106" in result.stdout
    open_question = run("audit", torch, "--claim", "python=3.13")
    assert open_question.returncode == PASSED, "reported as unknown"
    assert open_question.stdout.startswith("UNKNOWN")


def test_writes_a_table_row_for_each_artifact(tmp_path):
    first, second = (small_torch(tmp_path / name) for name in ("one", "two"))
    result = run("audit", "--table", first, second)
    assert result.returncode == PASSED, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("| artifact | torch | platform | CUDA | SMs |")
    assert [line.split(" | ")[:2] for line in lines[2:]] == [["| one", "2.10.0+cpu"], ["| two", "2.10.0+cpu"]]
    result = run("audit", "--table", first, tmp_path / "nothing")
    assert result.returncode == COULD_NOT_RUN
    assert "nothing" in result.stderr
    assert "| one | 2.10.0+cpu |" in result.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ["is not JSON", "line 1"]),
        ("{}", ["its schema is none"]),
        ('{"schema": "pbprobe.report/2"}', ["pbprobe.report/2"]),
        ('{"schema": "pbprobe.inventory/1"}', ["artifact: required key is missing"]),
        ("[" * 100, []),
        ('{"a":' * 100, ["64 levels"]),
    ],
)
def test_refuses_json_of_other_programs(tmp_path, text, words):
    file = tmp_path / "report.json"
    file.write_text(text)
    refused(run("audit", file), "report.json" if words else "", *words)


INVENTORY = {
    "schema": "pbprobe.inventory/1",
    "artifact": "a",
    "layout": "file",
    "stated_versions": [],
    "packages": [],
    "files": [],
    "problems": [],
}
WAY_OUT = ": write it again, with --format json"


def without(key):
    return json.dumps({name: value for name, value in INVENTORY.items() if name != key})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('{"schema": ', "{file}: line 1, column 12 is not JSON", id="cut"),
        pytest.param('{"a": 1} {', "{file}: line 1, column 10 is not JSON", id="two of them"),
        pytest.param('{"a": ' * 65 + "1", "{file}: JSON nests deeper than 64 levels", id="too deep"),
        pytest.param(without("artifact"), "{file}: artifact: required key is missing", id="a missing key"),
        pytest.param(without("files"), "{file}: files: required key is missing", id="a missing list"),
        pytest.param(json.dumps({**INVENTORY, "layout": 3}), "{file}: layout: expected ", id="another type"),
        pytest.param(json.dumps({**INVENTORY, "files": [{}]}), "{file}: files[0].", id="a file without a path"),
        pytest.param(json.dumps({**INVENTORY, "problems": {}}), "{file}: problems: expected ", id="no list"),
    ],
)
def test_malformed_json_is_reported_by_its_defect_with_the_way_out(tmp_path, text, says):
    file = tmp_path / "inventory.json"
    file.write_text(text)
    result = run("audit", file)
    assert result.returncode == COULD_NOT_RUN
    [line] = result.stderr.splitlines()
    assert line.startswith("pbprobe: " + says.format(file=file)), line
    assert line.endswith(WAY_OUT), line


def test_reads_the_twin_of_malformed_json(tmp_path):
    (tmp_path / "inventory.json").write_text(json.dumps(INVENTORY))
    assert run("audit", tmp_path / "inventory.json").returncode == PASSED


# ---- report -------------------------------------------------------------------------------------------------------


def no_torch(tmp_path):
    return {"PATH": "/nonexistent", "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "HOME": str(tmp_path)}


def test_states_a_missing_torch_in_one_sentence(tmp_path):
    result = run("report", "--budget", "1", env=no_torch(tmp_path), cwd=tmp_path)
    assert result.returncode == COULD_NOT_RUN
    assert "no torch was found" in result.stdout
    assert "activate an environment" in result.stdout
    assert "UNKNOWN" in result.stdout.upper()
    command = ("report", "--budget", "1", "--format", "json")
    report = json.loads(run(*command, env=no_torch(tmp_path), cwd=tmp_path).stdout)
    assert report["schema"] == "pbprobe.report/1"
    assert report["host"]["cpu"]["targets"] is not None
    assert report["inventory"] is None
    assert report["verdict"]["outcome"] == "unknown"


def test_keeps_other_facts_for_an_invalid_artifact(tmp_path):
    result = run("report", tmp_path / "nothing", "--format", "json")
    assert result.returncode == COULD_NOT_RUN
    report = json.loads(result.stdout)
    assert "nothing" in report["problems"][0]
    assert report["host"]["cpu"]["architecture"]


def test_writes_the_output_file_atomically(tmp_path):
    file = tmp_path / "report.json"
    run("report", tmp_path / "nothing", "--format", "json", "--output", file)
    assert json.loads(file.read_text())["schema"] == "pbprobe.report/1"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]
    refused(
        run("report", tmp_path / "nothing", "--output", tmp_path / "no/such/folder/report.txt"), "cannot be written"
    )


@needs_torch
def test_runs_the_build_without_figures():
    result = run("report", TORCH, "--no-figures", "--budget", "100", "--format", "json")
    measurements = json.loads(result.stdout)["measurements"]
    assert measurements["libtorch"]["executed"], measurements["libtorch"]
    assert measurements["libtorch"]["areas"]
    assert (measurements["libtorch"]["figures"], measurements["rows"]) == ([], [])


@needs_torch
def test_reports_on_a_real_torch(tmp_path):
    # The report before it filled the cache, so that reading takes a small part of this budget.
    result = run("report", TORCH, "--budget", "24", "--format", "json", "--output", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert result.returncode == (FAILED if report["verdict"]["outcome"] == "fail" else PASSED)
    assert report["problems"] == []
    assert report["inventory"]["torch_version"][0].isdigit()
    run_of_torch = report["measurements"]["libtorch"]
    assert run_of_torch["loaded"], run_of_torch
    assert run_of_torch["executed"], run_of_torch
    assert {figure["dtype"] for figure in run_of_torch["figures"]} >= {"fp32", "bf16"}
    assert report["measurements"]["rows"], report["measurements"]["notes"]
    assert all(row["gflops"] > 0 and row["samples_us"] for row in report["measurements"]["rows"])
    assert not any("also printed" in note for note in report["measurements"]["notes"])

    # The verdict can be computed again from the document, and an audit reads its inventory.
    again = json.loads(run("report", tmp_path / "report.json", "--format", "json").stdout)
    assert again["verdict"] == report["verdict"]
    inventory = json.loads(run("audit", tmp_path / "report.json", "--format", "json").stdout)
    assert inventory == report["inventory"]


@needs_torch
def test_keeps_the_budget():
    result = run("report", TORCH, "--budget", "3", "--format", "json", timeout=30)
    assert result.returncode in (PASSED, FAILED)
    assert json.loads(result.stdout)["verdict"]


def write_torch_that(folder, does):
    library_folder = folder / "torch" / "lib"
    library_folder.mkdir(parents=True)
    source = folder / "crash.c"
    includes = "#include <stdlib.h>\n#include <unistd.h>\n"
    source.write_text(includes + f"__attribute__((constructor)) static void load(void) {{ {does}; }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library_folder / "libtorch_cpu.so", source], check=True)
    (folder / "torch" / "version.py").write_text("__version__ = '2.11.0+cpu'\ncuda = None\n")


def test_reports_a_torch_that_crashes_at_load(tmp_path):
    write_torch_that(tmp_path, does="abort()")
    result = run("report", tmp_path, "--no-figures", "--format", "json")
    report = json.loads(result.stdout)
    assert result.returncode == FAILED
    assert "SIGABRT" in report["measurements"]["libtorch"]["problem"]
    assert report["inventory"]["torch_version"] == "2.11.0+cpu"
    assert [finding["id"] for finding in report["verdict"]["findings"] if finding["severity"] == "fail"]


def test_detects_a_crash_if_the_parent_ignores_sigchld(tmp_path):
    write_torch_that(tmp_path, does="abort()")
    command = ["bash", "-c", 'trap "" CHLD; exec "$@"', "bash", PROGRAM, "report", tmp_path]
    command += ["--no-figures", "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == FAILED, result.stderr
    assert "SIGABRT" in json.loads(result.stdout)["measurements"]["libtorch"]["problem"]


def test_does_not_call_a_slow_load_a_deadlock(tmp_path):
    write_torch_that(tmp_path, does="sleep(4)")
    libtorch = json.loads(run("report", tmp_path, "--budget", 2, "--format", "json").stdout)["measurements"]["libtorch"]
    assert "aoti_torch_abi_version" in libtorch["problem"]  # so it was loaded


def test_fails_a_bench_with_a_dead_peer_and_keeps_its_rows(tmp_path):
    write_torch_that(tmp_path, does="abort()")
    result = run("bench", "--against", "libtorch", "--libtorch", tmp_path, "--shape", "64x64x64", "--format", "json")
    assert result.returncode == FAILED, result.stdout + result.stderr
    assert json.loads(result.stdout)["rows"]


# ---- host, targets, bench -----------------------------------------------------------------------------------------


def test_prints_host_and_targets_as_json():
    host = json.loads(run("host", "--format", "json").stdout)
    assert host["schema"] == "pbprobe.host/1"
    targets = json.loads(run("targets", "--format", "json").stdout)["targets"]
    ids = [target["id"] for target in targets]
    assert len([target for target in targets if target["kind"] == "gpu"]) == 12
    assert len([target for target in targets if target["kind"] == "cpu"]) == 9
    assert set(host["cpu"]["targets"]) <= set(ids)
    for target in targets:
        for kernel in target["kernels"]:
            assert {"name", "dtype", "instruction", "evidence"} <= set(kernel)


def test_bench_rows_have_every_promised_key():
    host = json.loads(run("host", "--format", "json").stdout)
    targets = json.loads(run("targets", "--format", "json").stdout)["targets"]
    runnable = [
        target["id"]
        for target in targets
        if target["built"]
        and target["id"] in host["cpu"]["targets"]
        and any(kernel["dtype"] == "fp32" and kernel["evidence"] != "not built" for kernel in target["kernels"])
    ]
    if not runnable:
        pytest.skip("no FP32 kernel for this CPU is built")
    result = run("bench", "--target", runnable[-1], "--shape", "64x64x64", "--shape", "97x31x53", "--format", "json")
    assert result.returncode == PASSED, result.stderr
    rows = json.loads(result.stdout)["rows"]
    assert {(row["m"], row["n"], row["k"]) for row in rows} == {(64, 64, 64), (97, 31, 53)}
    promised = {"kernel", "target", "dtype", "m", "n", "k", "threads", "gflops", "peak_fraction", "best", "layout"}
    promised |= {"out", "instruction", "class", "clock_ghz", "plan", "samples_us", "peers", "prepacked_b"}
    for row in rows:
        assert promised <= set(row)
        assert row["target"] == runnable[-1]
        assert not row["prepacked_b"]
    result = run("bench", "--target", runnable[-1], "--shape", "97x31x53", "--prepacked", "--format", "json")
    assert result.returncode == PASSED, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert row["prepacked_b"]
    assert "B packed beforehand" in row["plan"]
    result = run("bench", "--target", runnable[-1], "--shape", "97x31x53", "--scaled", "--format", "json")
    assert result.returncode == PASSED, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert "scaled by row and column" in row["plan"]
