# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Plans of `pbprobe bench`: random shapes, plans without the GPU, block scales."""

import json
import os
import subprocess
import sys

import pytest
from test_cli import COULD_NOT_RUN, PASSED, PROGRAM, run


def test_bench_draws_shapes_by_a_seed():
    def shapes(seed):
        asked = ("bench", "--target", "sm90", "--random", "30", "--seed", seed, "--explain", "--format", "json")
        gemms = json.loads(run(*asked).stdout)["gemms"]
        return [(gemm["m"], gemm["n"], gemm["k"]) for gemm in gemms]

    drawn = shapes("5")
    assert drawn == shapes("5") != shapes("6")
    assert len(set(drawn)) == 30 and all(1 <= size <= 16384 for shape in drawn for size in shape)
    assert sum(size < 128 for shape in drawn for size in shape) in range(25, 66)  # half of 90: log-uniform


def test_bench_explains_its_choice_for_a_missing_gpu():
    asked = ("bench", "--target", "sm90", "--dtype", "bf16", "--shape", "4096x4096x4095", "--explain", "--sms", "114")
    result = run(*asked, "--format", "json")
    (gemm,) = json.loads(result.stdout)["gemms"]
    assert result.returncode == PASSED, result.stderr
    assert (gemm["m"], gemm["n"], gemm["k"], gemm["out"]) == (4096, 4096, 4095, "fp32")
    (chosen,) = [kernel for kernel in gemm["kernels"] if kernel["chosen"]]
    assert chosen["kernel"].startswith("wgmma_bf16_") and "is aligned first" in chosen["why"]
    assert chosen["model"] == min(kernel["model"] for kernel in gemm["kernels"] if kernel["model"]) == 1
    other_path = [kernel for kernel in gemm["kernels"] if kernel["kernel"].startswith("gemm_")]
    assert other_path and {kernel["model"] for kernel in other_path} == {None}
    text = run(*asked).stdout
    assert chosen["kernel"] in text and chosen["why"].split(";")[0] in text
    if "a GPU of" in (gemm["supposed"] or ""):
        assert "114 SMs" in text


BLOCKS = ("bench", "--target", "sm121", "--dtype", "e2m1x2", "--block-scales", "nvfp4", "--layout", "nt")


def test_bench_explains_block_scaled_types_for_a_missing_gpu():
    asked = (*BLOCKS, "--out", "bf16", "--shape", "4096x2048x4096", "--explain", "--sms", "48")
    result = run(*asked, "--format", "json")
    (gemm,) = json.loads(result.stdout)["gemms"]
    assert (gemm["dtype"], gemm["blocks"], gemm["k"], gemm["out"]) == ("e2m1x2", "nvfp4", 4096, "bf16")
    text = run(*asked).stdout
    assert " e2m1x2 (nvfp4 blocks) nt to bf16 on cuda:" in text
    assert result.returncode == PASSED, result.stderr
    (chosen,) = [kernel for kernel in gemm["kernels"] if kernel["chosen"]]
    assert chosen["kernel"].startswith("gemm_nv_e2m1_") and chosen["kernel"] in text
    random = json.loads(run(*BLOCKS, "--random", "9", "--explain", "--format", "json").stdout)["gemms"]
    assert len(random) == 9 and all(each["k"] % 2 == 0 for each in random)


def test_bench_of_block_scaled_types_names_what_is_missing():
    gpus = json.loads(run("host", "--format", "json").stdout)["gpus"]
    if not any(gpu["target"] == "sm121" for gpu in gpus):
        here = run(*BLOCKS, "--shape", "64x64x64")
        assert here.returncode == COULD_NOT_RUN and "sm121 cannot run on this machine" in here.stderr
    for arguments, words in (
        (("--dtype", "bf16", "--block-scales", "mx"), "bf16 does not go with block scales"),
        (("--dtype", "e4m3", "--block-scales", "nvfp4"), "e2m1x2 takes mx or nvfp4"),
        (("--dtype", "e2m1x2", "--block-scales", "mx", "--shape", "8x8x7"), "give a multiple of 2 as K"),
        (("--dtype", "e4m3", "--block-scales", "mx", "--against", "cublaslt"), "does not measure this peer with block"),
    ):
        result = run("bench", *arguments)
        assert result.returncode == COULD_NOT_RUN and words in " ".join(result.stderr.split()), result.stderr


@pytest.mark.parametrize("style", ["text", "json"])
def test_bench_judges_no_figure_of_a_busy_cpu(style):
    cpu = {min(os.sched_getaffinity(0))}
    command = [PROGRAM, "bench", "--dtype", "fp32", "--chosen", "--shape", "256x256x256"]
    command += ["--threads", "1", "--budget", "4", "--format", style]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        for other in others:
            os.sched_setaffinity(other.pid, cpu)
        result = subprocess.run(
            command, capture_output=True, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, cpu)
        )
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert "the threads waited" in result.stdout, result.stdout
    if style == "json":
        rows = [row for row in json.loads(result.stdout)["rows"] if row["threads"] > 0]
        assert rows and all(row["disturbed"].endswith("% of the time for a CPU") for row in rows)
    else:
        assert "not judged, because other processes were active" in " ".join(result.stdout.split())
