# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""tools/figures-gpu on CPU kernels: it measures each shape once, and prints the table of the log.
tools/figures: the shapes that it draws, and its line of them."""

import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build")) / "bin/pbprobe"
SHAPE = "256x256x256"


def figures(question, log, *arguments):
    command = [sys.executable, SOURCE / "tools/figures-gpu", question, log, "--program", PROGRAM]
    command += ["--series", "small", "--only", f"^{SHAPE}$", "--peers", "", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_measures_a_shape_once_per_name(tmp_path):
    host = json.loads(subprocess.run([PROGRAM, "host", "--format", "json"], capture_output=True, check=True).stdout)
    log = tmp_path / "log"
    for name, lines in [("first", 1), ("first", 1), ("second", 2)]:
        done = figures("run", log, "--target", host["cpu"]["targets"][0], "--name", name)
        assert done.returncode == 0, done.stderr
        assert len(log.read_text().splitlines()) == lines
    assert SHAPE in figures("table", log, "--name", "second").stdout
    nothing = figures("table", log, "--name", "third")
    assert (nothing.returncode, SHAPE in nothing.stdout) == (1, False)


def line(shape, ratios):
    """Returns a line of the log for a shape."""
    row = {"kernel": "wgmma_bf16_128x256_sm90", "best": True, "gflops": 8e5, "peak_fraction": 0.5}
    row["peers"] = {peer: {"ratio": ratio} for peer, ratio in ratios.items()}
    slower = {**row, "best": False, "gflops": 9e5}
    known = {"name": "first", "series": "small", "layout": "nt", "shape": shape}
    return json.dumps({**known, "rows": [slower, row], "problems": [], "notes": []}) + "\n"


def test_prints_the_mean_of_a_class_for_each_peer_and_the_best(tmp_path):
    log = tmp_path / "log"
    shapes = {SHAPE: {"cublaslt": 2.0, "libtorch": 1.0}, "512x512x512": {"cublaslt": 0.5, "reading": 0.1}}
    log.write_text("".join(line(shape, ratios) for shape, ratios in shapes.items()))
    done = figures("table", log, "--only", "256|512")
    titles, _, first, second, mean = [[cell.strip() for cell in row.split("|")] for row in done.stdout.splitlines()]
    column = {title: at for at, title in enumerate(titles)}
    assert (first[column["TFLOP/s"]], first[column["of best"]]) == ("800", "1.00")
    assert (second[column["of libtorch"]], second[column["of best"]]) == ("-", "0.50")
    assert mean[column["mxnxk"]] == "2 of 2"
    assert mean[column["of cublaslt"]] == "1.00 (0.50)"
    assert mean[column["of best"]] == f"{math.sqrt(0.5):.2f} (0.50)"
    assert mean[column["of peak"]] == "0.50 (0.50)"


def test_shows_the_kernel_that_is_chosen_now(tmp_path):
    targets = json.loads(
        subprocess.run([PROGRAM, "targets", "--format", "json"], capture_output=True, check=True).stdout
    )
    if not any(target["id"] == "sm90" and target["built"] for target in targets["targets"]):
        pytest.skip("sm90 is not built: make build TARGETS=sm90")
    known = json.loads(line(SHAPE, {}))
    [wide, _] = known["rows"]
    known["rows"] = [
        {**wide, "best": True},
        {**wide, "best": False, "kernel": "wgmma_bf16_cluster_16x64_sm90", "gflops": 1e3},
    ]
    log = tmp_path / "log"
    log.write_text(json.dumps(known) + "\n")
    assert "128x256" in figures("table", log).stdout
    now = figures("table", log, "--chosen-now").stdout
    assert "wgmma_bf16_cluster_16x64_sm90" in now and "128x256" not in now


def test_int8_with_scales_is_held_against_bf16_alone_which_is_no_rival(tmp_path):
    log = tmp_path / "log"
    known = {"name": "first", "series": "scaled", "layout": "nt", "shape": "4096x4096x4096"}
    row = {"kernel": "wgmma_int8_128x256_sm90", "best": True, "gflops": 13e5, "peak_fraction": None}
    row["peers"] = {"bf16": {"ratio": 1.75}}
    log.write_text(json.dumps({**known, "rows": [row], "problems": [], "notes": []}) + "\n")
    done = figures("table", log, "--series", "scaled", "--only", "4096x4096")
    titles, _, first, mean = [[cell.strip() for cell in row.split("|")] for row in done.stdout.splitlines()]
    assert "of best" not in titles
    assert first[titles.index("of bf16")] == "1.75"
    assert mean[titles.index("mxnxk")] == "1 of 1"


def load_figures():
    """tools/figures as a module."""
    loader = importlib.machinery.SourceFileLoader("figures", str(SOURCE / "tools/figures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
    loader.exec_module(module)
    return module


def test_prints_mean_fifth_percentile_and_minimum_of_random_shapes(capsys):
    rows = {(1, 1, k): {"peers": {"libtorch": {"ratio": 2.0}}} for k in range(1, 39)}
    rows[(7, 8, 9)] = {"peers": {"libtorch": {"ratio": 0.25}}}
    rows[(7, 8, 10)] = {"peers": {"libtorch": {"ratio": 0.5}}}
    rows[(7, 8, 11)] = {"peers": {}}  # libtorch refused it
    load_figures().print_random(rows, "avx2", "fp32", "all", "nn", 50)
    mean = math.exp((38 * math.log(2) + math.log(0.25) + math.log(0.5)) / 40)
    assert capsys.readouterr().out == f"| avx2 fp32 | all | nn | 40 of 50 | {mean:.2f} | 2.00 | 0.25: 7x8x9 |\n"


def test_random_shapes_are_those_of_bench_but_for_the_largest(tmp_path):
    host = json.loads(subprocess.run([PROGRAM, "host", "--format", "json"], capture_output=True, check=True).stdout)
    if "avx2" not in host["cpu"]["targets"]:
        pytest.skip("this CPU has no AVX2")
    drawn = [PROGRAM, "bench", "--target", "avx2", "--random", "20", "--seed", "3", "--explain", "--format", "json"]
    gemms = json.loads(subprocess.run(drawn, capture_output=True, check=True).stdout)["gemms"]
    all_of_them = {(gemm["m"], gemm["n"], gemm["k"]) for gemm in gemms}
    kept = tmp_path / "rows.json"
    command = [sys.executable, SOURCE / "tools/figures", "--program", PROGRAM, "--sets", "avx2.fp32"]
    command += ["--threads", "1", "--random", "20", "--seed", "3", "--most", "1e6", "--budget", "20", "--json", kept]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    measured = {(row["m"], row["n"], row["k"]) for row in json.loads(kept.read_text())}
    assert measured == {shape for shape in all_of_them if 2 * math.prod(shape) <= 1e6}
    assert measured < all_of_them
