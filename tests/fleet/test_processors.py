# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests of each SM of a GPU: compiled kernel, parsed notes, and detected faults on a GPU."""

import os
import pathlib
import subprocess

import pytest

pytest.importorskip("torch")
import torch

from pbprobe.fleet import processors

FP32_OF_ONE = 0x3F800000


@pytest.mark.parametrize("kind", processors.KINDS)
@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120", "sm_121"])
def test_compiles_for_each_gpu(tmp_path, kind, sm):
    compiler = os.environ.get("PBPROBE_TEST_NVCC")
    if not compiler:
        pytest.skip("no CUDA toolkit")
    assembler = pathlib.Path(compiler).with_name("ptxas")
    source = tmp_path / "each_sm.ptx"
    source.write_text(processors.make_source(kind))
    done = subprocess.run(
        [assembler, "-arch", sm, "-v", source, "-o", tmp_path / "each_sm.cubin"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0 bytes spill stores" in done.stderr
    disassembler = os.environ.get("PBPROBE_TEST_NVDISASM")
    if disassembler:
        shown = subprocess.run([disassembler, tmp_path / "each_sm.cubin"], capture_output=True, text=True, check=True)
        assert {"bf16": "HMMA.16816.F32.BF16", "int8": "IMMA.16832.S8.S8"}[kind] in shown.stdout


@pytest.mark.parametrize("kind", processors.KINDS)
def test_rounds_no_partial_sum(kind):
    a, b, want = processors.make_operands(kind)
    assert a[0].nbytes == 512 and b[0].nbytes == 256  # as the kernel steps along k
    most = (a.double().abs().amax() * b.double().abs().amax() * a.shape[0] * a.shape[2]).item()
    assert most <= (2**24 if kind == "bf16" else 2**31 - 1)
    assert torch.equal(want.double(), torch.einsum("sik,sjk->ij", a.double(), b.double()))


def test_names_wrong_sm_with_first_element_and_count():
    want = torch.zeros(16, 8)
    tally = torch.tensor([[1, 0], [1, 5], [1, 0], [1, 2]], dtype=torch.int32)
    notes = torch.zeros(1 + processors.NOTES, 4, dtype=torch.int32)
    notes[0, 0] = 2
    notes[1] = torch.tensor([1, 9, 3, FP32_OF_ONE])
    notes[2] = torch.tensor([1, 0, 0, FP32_OF_ONE])
    assert processors.find_wrong_sms("bf16", tally, notes, want) == [
        {"what": "mma_bf16 on SM 1", "how": "the exact result", "count": 5, "seed": processors.SEED, "row": 9,
         "column": 3, "expected": 0.0, "got": 1.0},
        {"what": "mma_bf16 on SM 3", "how": "the exact result", "count": 2, "seed": processors.SEED},
    ]  # fmt: skip
    assert processors.find_wrong_sms("bf16", torch.zeros(4, 2), torch.zeros(33, 4, dtype=torch.int32), want) == []


def asked(device, change=lambda state: None):
    every = processors.Processors(device)
    assert every.why is None, every.why
    change(every)
    for _ in range(3):
        every.step()
    row = {"facts": {}, "wrong": []}
    every.write(row)
    return every.count, row


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_finds_wrong_result_on_each_sm():
    device = torch.device("cuda", 0)
    count, row = asked(device)
    assert row == {"facts": {"sms_verified": f"{count} of {count}"}, "wrong": []}

    def other(every):
        _, tensors = every._state["int8"]
        tensors[2][13, 6] += 1

    count, row = asked(device, other)
    assert {wrong["what"] for wrong in row["wrong"]} == {f"mma_int8 on SM {sm}" for sm in range(count)}
    shown = [wrong for wrong in row["wrong"] if "row" in wrong]
    assert shown and all((wrong["row"], wrong["column"]) == (13, 6) for wrong in shown)
    assert all(wrong["got"] + 1 == wrong["expected"] for wrong in shown)
