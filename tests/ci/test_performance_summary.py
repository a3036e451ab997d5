# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/performance_summary.py: the first tables of docs/performance.md."""

import importlib.util
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def summary():
    spec = importlib.util.spec_from_file_location("summary", SOURCE / "ci/performance_summary.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document(count):
    shape = {"layer": "qkv", "m": 7, "n": 64, "k": 32, "ours_us": 2.0, "kernel": "gemm_fp32"}
    shapes = [{**shape, "peer_us": 2.0 * ratio, "ratio": ratio} for ratio in (0.5, *[2.0] * (count - 1))]
    counts = dict.fromkeys(
        ("refused_by_peer", "refused", "wrong", "peer_wrong", "too_large", "disturbed", "not_reached"), 0
    )
    row = {"dtype": "fp32", "threads": 1, "mode": None, "drawn": 120, "shapes": shapes, **counts, "not_reached": 20}
    return {
        "device": {"name": "A CPU", "cpus": 2, "load": 1.5, "driver": None},
        "torch": "2.11.0",
        "peer": "torch 2.11.0+cpu",
        "date": "2026-11-26",
        "seed": 3,
        "most_m": 16384,
        "most_flop": 4e10,
        "command": "python -m pbprobe.speed --seed 3",
        "rows": [row],
    }


def test_refuses_rows_of_few_shapes(summary):
    assert summary.find_short_rows([document(100)]) == []
    (sentence,) = summary.find_short_rows([document(99)])
    assert sentence.startswith("A CPU, fp32, 1: 99 shapes, and 100 are the least")


def test_states_device_seed_counts_and_worst_shapes(summary):
    text = summary.render([document(100)])
    figures = "100 of 120; 20 exceed the budget | 1.97 | 2.00 | 0.50 | 99 % |"
    assert f"| A CPU | fp32 | 1 thread | torch 2.11.0 | fp32 | {figures}" in text
    assert "- A CPU (2 CPUs, load 1.5), torch 2.11.0, 2026-11-26, seed 3, m from 1 to 16384" in text
    assert "| A CPU | fp32 | 1 thread | qkv | 7x64x32 | 0.50 | 2.0 | 1.0 | gemm_fp32 | - | - |" in text


def test_page_follows_samples(summary, monkeypatch):
    monkeypatch.setattr("sys.argv", ["performance_summary.py", "--check"])
    assert summary.main() == 0
