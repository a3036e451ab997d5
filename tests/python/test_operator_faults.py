# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report --operators`: faults that show for some inputs only, and operators that hang or end the process."""

import json
import os
import subprocess

import pytest

pytest.importorskip("expecttest", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
pytest.importorskip("numpy", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
if not hasattr(pytest.importorskip("torch").library, "get_kernel"):
    pytest.skip("torch.library.get_kernel is missing", allow_module_level=True)

# Replaces CPU kernels; each fault shows for some inputs only.
FAULTS = """
import os, time
library = torch.library.Library("aten", "IMPL")
kernels = []

def plant(name, is_asked, change):
    kernel = torch.library.get_kernel("aten::" + name, "CPU")
    kernels.append(kernel)

    def function(keys, *args, **kwargs):
        asked = is_asked(*args)
        right = kernel.call_boxed(keys, *args, **kwargs)
        return change(right, *args) if asked else right

    library.impl(name, function, "CPU", with_keyset=True)

def add_one(right, *args):
    right = right.clone()
    right.view(-1)[-1:] += 1
    return right

def fail(*args):
    raise RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")

is_integer = lambda x, *args: x.dtype == torch.int64
is_fp32 = lambda x, *args: x.dtype == torch.float32
plant("maximum", is_integer, add_one)  # double precision is the reference
plant("bitwise_and.Tensor", is_integer, add_one)  # NumPy is the reference
plant("prod", lambda x, *args: is_fp32(x) and x.numel() == 0, add_one)
is_empty = lambda x, *args: x.numel() == 0 and x.dtype != torch.int64
plant("amax", lambda x, *args: is_fp32(x) and x.numel() == 0, lambda right, *args: right.unsqueeze(0))
plant("tril", is_empty, lambda right, *args: right.double())  # also in the reference
plant("asinh", lambda x: x.dtype == torch.float16 and x.numel() and bool((x.abs() > 300).any()),
      lambda right, x: torch.where(x.abs() > 300, float("nan"), right))
plant("hypot", lambda x, y: is_fp32(x) and x.dim() > 1 and x.stride(0) < x.stride(1), lambda right, *args: right * 1.1)
plant("_scaled_mm", lambda *args: True, lambda right, *args: right * 1.1)
plant("exp2.out", is_fp32, lambda right, x: right.mul_(1.1))
plant("tanh_", is_fp32, lambda right, x: right.mul_(1.1))
plant("softplus_backward", is_fp32, lambda right, *args: right * 1.1)
plant("floor", is_fp32, lambda *args: time.sleep(1000))
plant("ceil", is_fp32, fail)
plant("trunc", is_fp32, lambda *args: os._exit(1))
"""
# Name, type, state, and the form of the call or a part of the reason.
FOUND = {
    ("maximum", "int64", "wrong", "call"),
    ("bitwise_and", "int64", "wrong", "call"),
    ("prod", "float32", "wrong", "call"),
    ("amax", "float32", "wrong", "call"),
    ("tril", "float32", "wrong", "call"),
    ("tril", "float16", "wrong", "call"),
    ("tril", "bfloat16", "wrong", "call"),
    ("asinh", "float16", "wrong", "call"),
    ("hypot", "float32", "wrong", "non-contiguous"),
    ("torch._scaled_mm", "bfloat16", "wrong", "call"),
    ("exp2", "float32", "wrong", "out="),
    ("tanh", "float32", "wrong", "in place"),
    ("nn.functional.softplus", "float32", "wrong", "backward"),
    ("floor", "float32", "not_run", "it exceeded its time limit"),
    ("ceil", "float32", "crashed", "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    ("trunc", "float32", "crashed", "the process ended with 1"),
}
SOUND = ("cos", "minimum", "bitwise_or")


# Behaves as GPU kernels of torch 2.11 do, which is no fault.
LIKE_A_GPU = (
    FAULTS[: FAULTS.index("def add_one")]
    + """
is_fp32 = lambda x, *args: x.dtype == torch.float32

def refuse(name, is_asked, text):  # before the kernel of the CPU does
    kernel = torch.library.get_kernel("aten::" + name, "CPU")
    kernels.append(kernel)

    def function(keys, *args, **kwargs):
        if is_asked(*args):
            if not text:
                os.abort()
            raise RuntimeError(text)
        return kernel.call_boxed(keys, *args, **kwargs)

    library.impl(name, function, "CPU", with_keyset=True)

def choose_last(right, x, dim=-1, keepdim=False):  # the largest of the most frequent values; ORDER: of all values
    values, indices = right
    count = lambda value: (x == value).sum(dim, keepdim=True)
    chosen = values if keepdim else values.unsqueeze(dim)
    place = indices if keepdim else indices.unsqueeze(dim)
    for value in x.unique():
        better = (count(value) ORDER count(chosen)) & (count(value) > 0)
        chosen = torch.where(better, value, chosen)
        place = torch.where(better, (x == value).int().argmax(dim, keepdim=True), place)
    return (chosen, place) if keepdim else (chosen.squeeze(dim), place.squeeze(dim))

def is_outside(weight, index, *args):
    return is_fp32(weight) and index.numel() and int(index.max()) >= weight.shape[0]

refuse("embedding", is_outside, "CUDA error: device-side assert triggered")
for name in ("_upsample_bilinear2d_aa", "acosh"):  # the database itself has an empty input of acosh
    refuse(name, lambda x, *args: is_fp32(x) and x.numel() == 0, "CUDA error: invalid argument")
refuse("native_batch_norm", lambda x, *args: x.numel() == 0, "")
refuse("_scaled_mm", lambda a, *args: a.stride(-1) != 1,
       "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul")

plant("multilabel_margin_loss_forward", lambda x, *args: is_fp32(x) and x.numel() == 0,
      lambda right, *args: (right[0].reshape(-1)[:0], right[1]))

def draw(right, x, noise, lower, upper, *args):  # other random numbers
    return torch.where(x < 0, x * torch.empty_like(x).uniform_(lower, upper), x)

plant("rrelu_with_noise", lambda x, *args: is_fp32(x) and args[3], draw)
plant("mode", lambda x, *args: x.dtype == torch.int64 and x.dim() > 1, choose_last)
"""
)


def compute(build, torch, names, *more, budget="120"):
    command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", "--operators"]
    command += ["--only-operators", ",".join(names), "--budget", budget, *more]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    report = json.loads(result.stdout)
    (run,) = [one for one in report["operators"] if one["device"] == "cpu"]
    return run, report


@pytest.mark.parametrize("planted", [True, False])
def test_faults_of_single_forms_are_found(build, torch, tmp_path, planted):
    (tmp_path / "plant.py").write_text(FAULTS)
    names = [*SOUND, *sorted({name for name, *_ in FOUND})]
    run, report = compute(build, torch, names, *(["--plant", tmp_path / "plant.py"] if planted else []))
    assert run["problem"] is None
    results = [one for one in run["results"] if one["type"] != "none"]  # a CPU has no scales for each row
    found = {(one["name"], one["type"], one["state"], one["way"] or one["reason"]) for one in results}
    assert found == (FOUND if planted else set())
    findings = [one["what"] for one in report["verdict"]["findings"] if one["id"] in ("PB551", "PB552")]
    assert len(findings) == sum(state != "not_run" for _, _, state, _ in found)
    if planted:
        (wrong,) = [one for one in findings if one.startswith("maximum")]
        assert "maximum in int64 is wrong on cpu: 1 of 1 elements differ from double precision; element [] is" in wrong
        assert "inputs: int64[] (here " in wrong
        assert any(one.startswith("bitwise_and") and "differ from NumPy; element" in one for one in findings)
        assert any("tril in float32" in one and "the type is torch.float64 instead of" in one for one in findings)


@pytest.mark.parametrize(("order", "found"), [(">=", set()), ("<=", {("mode", "int64", "wrong", "call")})])
def test_accepts_differences_of_gpus(build, torch, tmp_path, order, found):
    (tmp_path / "plant.py").write_text(LIKE_A_GPU.replace("ORDER", order))
    names = ("embedding", "multilabel_margin_loss", "rrelu")
    names = (
        *(f"nn.functional.{name}" for name in names),
        "_upsample_bilinear2d_aa",
        "native_batch_norm",
        "torch._scaled_mm",
        "mode",
        "acosh",
    )
    run, report = compute(build, torch, names, "--plant", tmp_path / "plant.py")
    results = [one for one in run["results"] if one["type"] != "none"]
    assert {(one["name"], one["type"], one["state"], one["way"] or one["reason"]) for one in results} == found
    assert run["calls"] > 100
    assert bool([one for one in report["verdict"]["findings"] if one["id"] == "PB551"]) is bool(found)


def test_budget_without_a_result_is_no_answer(build, torch):
    run, report = compute(build, torch, ("cos", "sin"), budget="1")
    assert sorted(run["omitted"]) == ["cos", "sin"]
    (row,) = [one for one in report["verdict"]["checks"] if one["id"] == "PB551"]
    assert row["state"] == "unanswered"
    assert "none of 2 ran in the time limit" in row["why"]


def test_missing_database_is_no_answer(build, torch, tmp_path):
    """A module that shadows expecttest and cannot be imported."""
    (tmp_path / "expecttest.py").write_text("raise ImportError('planted')")
    command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", "--operators"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400, env=environment)
    report = json.loads(result.stdout)
    (row,) = [one for one in report["verdict"]["checks"] if one["id"] == "PB551"]
    assert row["state"] == "unanswered"
    assert "planted" in row["why"]
