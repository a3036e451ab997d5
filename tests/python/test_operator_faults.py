# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report --operators`: faults that show for some inputs only, and operators that hang or end the process."""

import pytest

pytest.importorskip("expecttest", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
pytest.importorskip("numpy", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
if not hasattr(pytest.importorskip("torch").library, "get_kernel"):
    pytest.skip("torch.library.get_kernel is missing", allow_module_level=True)
from planted_operators import FORMS, OF_FORMS, compute, find_cpu_run

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
TANH_CRASHED = {("tanh", "float16", "crashed", "the process ended by signal 11")}  # test_right_operators.py
LIKE_A_GPU_NAMES = (
    "nn.functional.embedding,nn.functional.multilabel_margin_loss,nn.functional.rrelu,_upsample_bilinear2d_aa,"
    "native_batch_norm,torch._scaled_mm,mode,acosh"
)

# Behaves as GPU kernels of torch 2.11 do, which is no fault.
LIKE_A_GPU = (
    FORMS[: FORMS.index("def add_one")]
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


@pytest.mark.source
@pytest.mark.parametrize("planted", [True, False])
def test_faults_of_single_forms_are_found(operator_reports, planted):
    report = operator_reports[planted]
    run = find_cpu_run(report)
    assert run["problem"] is None
    results = [one for one in run["results"] if one["type"] != "none"]  # a CPU has no scales for each row
    found = {(one["name"], one["type"], one["state"], one["way"] or one["reason"]) for one in results}
    assert {one for one in found if one[0] in OF_FORMS} - TANH_CRASHED == (FOUND if planted else set())
    findings = [one["what"] for one in report["verdict"]["findings"] if one["id"] in ("PB551", "PB552")]
    assert len(findings) == sum(state != "not_run" for _, _, state, _ in found)
    if planted:
        (wrong,) = [one for one in findings if one.startswith("maximum")]
        assert "maximum in int64 is wrong on cpu: 1 of 1 elements differ from double precision; element [] is" in wrong
        assert "inputs: int64[] (here " in wrong
        assert any(one.startswith("bitwise_and") and "differ from NumPy; element" in one for one in findings)
        assert any("tril in float32" in one and "the type is torch.float64 instead of" in one for one in findings)


@pytest.mark.parametrize(
    ("order", "found"),
    [pytest.param(">=", set(), marks=pytest.mark.source), ("<=", {("mode", "int64", "wrong", "call")})],
)
def test_accepts_differences_of_gpus(build, torch, tmp_path, order, found):
    (tmp_path / "plant.py").write_text(LIKE_A_GPU.replace("ORDER", order))
    names = "mode" if found else LIKE_A_GPU_NAMES
    options = ["--operators", "--only-operators", names, "--budget", "120", "--plant", tmp_path / "plant.py"]
    report = compute(build, torch, *options, timeout=900)
    run = find_cpu_run(report)
    results = [one for one in run["results"] if one["type"] != "none"]
    assert {(one["name"], one["type"], one["state"], one["way"] or one["reason"]) for one in results} == found
    assert found or run["calls"] > 100
    assert bool([one for one in report["verdict"]["findings"] if one["id"] == "PB551"]) is bool(found)


@pytest.mark.source
def test_budget_without_a_result_is_no_answer(build, torch):
    report = compute(build, torch, "--operators", "--only-operators", "cos,sin", "--budget", "1")
    run = find_cpu_run(report)
    assert sorted(run["omitted"]) == ["cos", "sin"]
    (row,) = [one for one in report["verdict"]["checks"] if one["id"] == "PB551"]
    assert row["state"] == "unanswered"
    assert "none of 2 ran in the time limit" in row["why"]


@pytest.mark.source
def test_missing_database_is_no_answer(build, torch, tmp_path):
    """A module that shadows expecttest and cannot be imported."""
    (tmp_path / "expecttest.py").write_text("raise ImportError('planted')")
    report = compute(build, torch, "--operators", PYTHONPATH=str(tmp_path))
    (row,) = [one for one in report["verdict"]["checks"] if one["id"] == "PB551"]
    assert row["state"] == "unanswered"
    assert "planted" in row["why"]
