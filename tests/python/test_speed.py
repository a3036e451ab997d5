# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""python -m pbprobe.speed: operators beside torch's own, on layers of models."""

import json
import math
import os
import re
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

import torch

from pbprobe import _speed_cases as cases
from pbprobe import _speed_options, ops, speed
from pbprobe import _speed_peers as peers
from pbprobe import _speed_table as table

pytestmark = pytest.mark.filterwarnings("ignore:Failed to initialize NumPy")

TOO_MANY = str(len(os.sched_getaffinity(0)) + 1)
SMALL = {"layers": [["one", 40, 64], ["two", 65, 48]]}


@pytest.fixture
def layers(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "_MOST_SPREAD", float("inf"))  # machines that test are busy
    path = tmp_path / "layers.json"
    path.write_text(json.dumps(SMALL))
    return path


def measure(layers, *arguments):
    common = ["--device", "cpu", "--layers", str(layers), "--most-m", "64", "--count", "4", "--budget", "60"]
    return speed.main([*common, *arguments])


def test_package_has_layers_of_models():
    layers = cases.load_layers()
    assert len(layers) >= 40
    assert ("llama-3-8b qkv", 6144, 4096) in layers


def test_shapes_repeat_by_seed_and_keep_limits():
    def draw(seed, most_flop=4e10):
        return list(cases.draw_shapes(cases.load_layers(), 200, seed, 16384, most_flop))

    assert draw(1) == draw(1) != draw(2)
    assert all(1 <= shape.m <= 16384 and shape.flop <= 4e10 for shape in draw(1))
    assert max(shape.m for shape in draw(1, 4e13)) > 8192
    with pytest.raises(ValueError, match="--most-flop"):
        draw(1, 10)


@pytest.mark.parametrize("dtype", cases.CPU_TYPES)
def test_check_accepts_operator_and_rejects_faults(dtype):
    case = cases.make_case(dtype, cases.Shape("layer", 100, 90, 80), cases.Operands("cpu", 1))
    right = case.ours()
    assert case.check(right)
    assert case.check(case.theirs())
    for row, column in ((0, 0), (99, 89), (0, 89), (99, 0)):
        wrong = right.clone()
        wrong[row, column] += 7
        assert not case.check(wrong)
    assert not case.check(ops.int_mm(case.a[:, :-1], case.b[:-1]) if dtype == "int8" else case.a[:, :-1] @ case.b[:-1])
    assert not case.check(torch.full_like(right, 0) if dtype == "int8" else right * float("nan"))


def test_fp8_reference_applies_scales():
    shape = cases.Shape("layer", 70, 150, 200)
    for dtype in (name for name in cases.GPU_TYPES if name.startswith("fp8")):
        case = cases.make_case(dtype, shape, cases.Operands("cpu", 1))
        scale_a, scale_b = (scale.double() for scale in case.scales)
        a, b = case.a.double(), case.b.double()
        if dtype.startswith("fp8-1x128"):
            scale_a = scale_a.repeat_interleave(128, 1)[:, :200]
            scale_b = scale_b.repeat_interleave(128, 0)[:200]
            scale_b = scale_b.repeat_interleave(128, 1)[:, :150] if dtype == "fp8-1x128" else scale_b
        right = ((a * scale_a) @ (b * scale_b)).to(torch.bfloat16)
        assert case.check(right), dtype
        assert not case.check(right * 1.2), dtype


def test_measures_each_row_and_names_kernels(layers, tmp_path, capsys):
    out = tmp_path / "speed.json"
    assert measure(layers, "--threads", "1", "--threads", "all", "--worst", "1", "--json", str(out)) == 0
    document = json.loads(out.read_text())
    every = torch.get_num_threads()
    expected = [(dtype, threads) for dtype in cases.CPU_TYPES for threads in dict.fromkeys((1, every))]
    assert [(row["dtype"], row["threads"]) for row in document["rows"]] == expected
    names = ops.kernels()
    for row in document["rows"]:
        assert (row["drawn"], len(row["shapes"]), row["wrong"]) == (4, 4, 0)
        assert all(shape["kernel"] in names and shape["ratio"] > 0 for shape in row["shapes"])
        assert sum("fastest_kernel" in shape for shape in row["shapes"]) == 1
    text = capsys.readouterr().out
    assert "seed 1" in text and f"torch {torch.__version__}" in text
    assert re.search(r"\| 1 thread \| torch [\d.]+ \| [a-z0-9_, ]+ \| 4 of 4 \|", text)


def test_openblas_is_measured_in_the_same_threads(layers, monkeypatch, capsys):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    np = pytest.importorskip("numpy")
    threads, matmul = [], np.matmul

    def spy(a, b):
        found = threadpoolctl.ThreadpoolController().select(internal_api="openblas").info()
        threads.append({each["num_threads"] for each in found})
        return matmul(a, b)

    monkeypatch.setattr(np, "matmul", spy)
    assert measure(layers, "--peer", "openblas", "--threads", "1", "--count", "1") == 0
    printed = capsys.readouterr().out
    assert re.search(r"\| fp32 \| 1 thread \| OpenBLAS [\d.]+ \| \w+ \| 1 of 1 \|", printed)
    assert re.search(r"OpenBLAS [\d.]+ \(\w+\) of numpy [\d.]+, 20", printed)
    assert {1} in threads and all(each == {1} for each in threads)
    monkeypatch.setattr(np, "matmul", lambda a, b: matmul(a, b) * 2)
    assert measure(layers, "--peer", "openblas", "--threads", "1", "--count", "1") == 2
    assert "the peer is wrong on 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "missing, message",
    [("threadpoolctl", "threadpoolctl is not installed: pip install"), ("pools", "here has no OpenBLAS: pip install")],
)
def test_missing_openblas_is_refused(layers, monkeypatch, capsys, missing, message):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    pytest.importorskip("numpy")
    if missing == "pools":
        monkeypatch.setattr(threadpoolctl.ThreadpoolController, "info", lambda _: [])
    else:
        monkeypatch.setitem(sys.modules, missing, None)
    assert measure(layers, "--peer", "openblas") == 2
    refusal = capsys.readouterr().err
    assert message in refusal and refusal.count("\n") == 1


def test_wrong_result_is_named_and_fails(layers, monkeypatch, capsys):
    make = cases.make_case

    def make_wrong(dtype, shape, operands):
        case = make(dtype, shape, operands)
        return cases.Case(case.a, case.b, (), lambda: case.theirs() * 2, case.theirs, case.check)

    monkeypatch.setattr(cases, "make_case", make_wrong)
    assert measure(layers, "--dtype", "bf16", "--threads", "1") == 1
    assert "WRONG: pbprobe, bf16, 1 thread: " in capsys.readouterr().out


def test_unrepeatable_result_is_wrong(layers, monkeypatch):
    make = cases.make_case

    def make_unsteady(dtype, shape, operands):
        case = make(dtype, shape, operands)
        results = []

        def ours():
            results.append(case.ours())
            results[-1][-1, -1] += 1e-6 * len(results)
            return results[-1]

        return cases.Case(case.a, case.b, (), ours, case.theirs, case.check)

    monkeypatch.setattr(cases, "make_case", make_unsteady)
    assert measure(layers, "--dtype", "fp32", "--threads", "1") == 1


def test_disturbed_shapes_are_left_out(layers, monkeypatch, capsys):
    monkeypatch.setattr(speed, "_MOST_SPREAD", 0.0)  # less than any spread
    assert measure(layers, "--dtype", "int8", "--threads", "1") == 2
    assert "| 0 of 4; 4 disturbed by other work |" in capsys.readouterr().out


def test_refusals_are_counted(layers, monkeypatch, capsys):
    def refuse(*_):
        raise RuntimeError("not here")

    monkeypatch.setattr(torch, "_int_mm", refuse)
    assert measure(layers, "--dtype", "int8", "--threads", "1") == 2
    assert "| 0 of 4; the peer refuses 4 |" in capsys.readouterr().out


def test_budget_ends_row_and_is_named(layers, capsys):
    shapes = list(cases.draw_shapes(cases.load_layers(layers), 50, 1, 64, 1e9))
    row = speed.Row("cpu", "fp32", 1, None, 1, peers.Torch())
    result = speed.measure_row(row, shapes, 0, 0, show=lambda text: None)
    assert result["not_reached"] > 0 and result["drawn"] == 50
    assert f"{result['not_reached']} exceed the budget" in table.describe_shapes(result)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--dtype", "fp16"], "only GPUs have it"),
        (["--threads", "0"], "--threads 0: give a number"),
        (["--threads", TOO_MANY], f"--threads {TOO_MANY}: this process may use 1 to "),
        (["--count", "0"], "--count 0: give at least 1"),
        (["--budget", "nan"], "--budget nan: give at least 1"),
        (["--mode", "graph"], "--mode graph: only GPUs have CUDA graphs"),
        (["--most-flop", "10"], "--most-flop 10: a row of the smallest layer takes 5120"),
        (["--json", "/nosuch/x.json"], "--json /nosuch/x.json: cannot be written (No such file or directory)"),
        (["--peer", "openblas", "--dtype", "bf16"], "--peer openblas: it computes fp32 on CPUs only"),
        (["--peer", "openblas", "--host"], "--host: only torch is measured there"),
        (["--layers", "/nosuch.json"], "--layers /nosuch.json: cannot be read (No such file or directory)"),
    ],
)
def test_rejects_wrong_usage(layers, arguments, message, capsys):
    with pytest.raises(SystemExit) as exited:
        measure(layers, *arguments)
    assert exited.value.code == 2
    refusal = capsys.readouterr().err
    assert message in refusal and refusal.count("\n") == 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("not json", "is not JSON"),
        ("{}", "has no layers"),
        ("[]", "has no layers"),
        ('{"layers": []}', "has no layers"),
        ('[["x", "a", 4]]', "has no layers"),
        ('{"layers": [["x", "a", 4]]}', '["x", "a", 4] is not a layer'),
        ('{"layers": [["x", 0, 4]]}', '["x", 0, 4] is not a layer'),
        ('{"layers": [["x", 4, -1]]}', '["x", 4, -1] is not a layer'),
        ('{"layers": [["x", 4]]}', '["x", 4] is not a layer'),
    ],
)
def test_rejects_files_without_layers(layers, text, message, capsys):
    layers.write_text(text)
    with pytest.raises(SystemExit) as exited:
        measure(layers)
    assert exited.value.code == 2
    refusal = capsys.readouterr().err
    assert message in refusal and 'give {"layers": [["name", n, k], ...]}' in refusal and refusal.count("\n") == 1


@pytest.mark.parametrize("arguments, code", [(["--help"], 0), (["--threads", "0"], 2), (["--json", "/nosuch/x"], 2)])
def test_prints_help_and_refusals_without_torch(python, tmp_path, arguments, code):
    (tmp_path / "torch.py").write_text("raise ImportError('not yet')")
    path = os.pathsep.join([str(tmp_path), str(Path(speed.__file__).parents[1])])
    result = python("-m", "pbprobe.speed", *arguments, env={"PYTHONPATH": path})
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr


def test_check_of_output_leaves_files_alone(layers, tmp_path):
    kept, absent = tmp_path / "kept.json", tmp_path / "absent.json"
    kept.write_text("before")
    for path in (kept, absent):
        _speed_options.parse(None, ["--layers", str(layers), "--json", str(path)])
    assert kept.read_text() == "before" and not absent.exists()


def test_file_that_becomes_unwritable_does_not_lose_table(layers, tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    assert measure(layers, "--dtype", "fp32", "--threads", "1", "--json", str(tmp_path / "speed.json")) == 2
    printed = capsys.readouterr()
    assert "| 4 of 4 |" in printed.out and "No space left on device" in printed.err


def test_prints_progress_without_terminal(layers, monkeypatch, capsys):
    monkeypatch.setattr(speed, "_PROGRESS_S", 0.0)
    assert measure(layers, "--dtype", "fp32", "--threads", "1") == 0
    assert re.search(r"^pbprobe.speed: fp32, 1 thread: 3 of 4 shapes, \d+ s of 60 s$", capsys.readouterr().err, re.M)


def test_progress_is_printed_every_ten_seconds(monkeypatch, capsys):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = speed.Progress()
    for now in range(101, 131):
        progress(f"at {now}")
    assert capsys.readouterr().err == "pbprobe.speed: at 110\npbprobe.speed: at 120\npbprobe.speed: at 130\n"


def test_budget_ends_rounds_and_attempts(monkeypatch):
    monkeypatch.setattr(speed, "_MOST_SPREAD", 0.0)  # every attempt is disturbed
    case = cases.make_case("fp32", cases.Shape("layer", 4, 5, 6), cases.Operands("cpu", 1))
    rounds = []
    assert speed.compare(case, None, time.monotonic(), lambda: rounds.append(1)) is None
    assert len(rounds) == 3  # the first warms up
    assert speed.compare(case, None, math.inf, lambda: rounds.append(1)) is None
    assert len(rounds) == 3 + 3 * 7


def test_budget_ends_search_of_fastest_kernels(monkeypatch):
    monkeypatch.setattr(speed, "_MOST_SPREAD", math.inf)
    row = speed.Row("cpu", "fp32", 1, None, 1, peers.Torch())
    row.measure(cases.Shape("layer", 4, 5, 6), math.inf, lambda: None)
    assert len(row.result["shapes"]) == 1
    made = []
    monkeypatch.setattr(cases, "make_case", lambda *_: made.append(1))
    row.find_fastest(5, -1, lambda: None)
    assert not made


def test_summary_has_mean_percentile_and_least():
    shapes = [{"ratio": ratio} for ratio in (0.5, *[2.0] * 19, 8.0)]
    figures = table.summarize(shapes)
    assert figures["least"] == 0.5 and figures["p5"] == 2.0
    assert figures["mean"] == pytest.approx(2.0)
    assert figures["share_from_1"] == pytest.approx(20 / 21)


def test_prints_host_time():
    head, _, *rows = speed.host_rows(["cpu"], 100, ("eager",))
    assert len(rows) == 3
    for row in rows:
        assert row.count("|") == head.count("|")
        assert all(float(cell) > 0 for cell in row.split("|")[-5:-1])
