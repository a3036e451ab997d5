# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report --operators`: planted faults in the installed torch, each with a sound operator beside it."""

import json
import os
import subprocess

import pytest

pytest.importorskip("expecttest", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
pytest.importorskip("numpy", reason="torch's database of operators needs it: cmake/bootstrap.sh test")

# Replaces the CPU kernel of four operators, for some inputs only.
FAULTS = """
import itertools, os, signal
library = torch.library.Library("aten", "IMPL")

def plant(name, is_asked, change):
    into = getattr(torch.ops.aten, name).out

    def function(x):
        dtype = x.dtype if x.is_floating_point() else torch.float32
        right = into(x, out=torch.empty_like(x, dtype=dtype))
        return change(right) if is_asked(x) else right

    library.impl(name, function, "CPU")

def crash(right):
    os.kill(os.getpid(), signal.SIGSEGV)

plant("sigmoid", lambda x: x.dtype == torch.bfloat16, lambda right: right + 0.25)
plant("erf", lambda x: x.dtype == torch.float32 and not x.is_contiguous() and x.numel() > 1, lambda right: right * 1.01)
plant("tanh", lambda x: x.dtype == torch.float16, crash)
def lose(right):
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

plant("atan", lambda x: x.dtype == torch.float16, lose)
# Two elements are equal, so that both indices are right: argmax takes the last one, argmin takes another element.
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

def give_ties(operator, device, dtype, requires_grad, **_):
    yield SampleInput(torch.tensor([1.0, 2.0, 2.0, 0.0], dtype=dtype, device=device))

for one in op_db:
    if one.name in ("argmax", "argmin"):
        one.sample_inputs_func = give_ties
        one.op = lambda x, name=one.name: torch.tensor(2 if x.dtype == torch.float32 else int(getattr(torch, name)(x)))
# Takes equal elements in the other order, so that the gradients are at other elements: right.
def sort(x, *args, **kwargs):
    if x.dtype != torch.bfloat16 or args or kwargs or not x.dim():
        return torch.sort(x, *args, **kwargs)
    values, index = torch.sort(x.flip(-1), stable=True)
    return values, x.shape[-1] - 1 - index

def topk(x, *args, **kwargs):
    values, index = torch.topk(x, *args, **kwargs)
    return (values.detach() + 1.5 * (values - values.detach()) if x.dtype == torch.float16 else values), index

# Returns statistics in evaluation, as on a GPU. The reference has none, so that they are not compared.
def native_batch_norm(x, *args, **kwargs):
    out, *statistics = torch.native_batch_norm(x, *args, **kwargs)
    return out, *(torch.ones(3) if one.numel() == 0 and x.dtype == torch.float32 else one for one in statistics)

replaced = {"sort": sort, "topk": topk, "native_batch_norm": native_batch_norm}
for one in op_db:
    one.op = replaced.get(one.name, one.op)
calls = itertools.count()
plant("sinh", lambda x: x.dtype == torch.float32, lambda right: right * (1 + 2e-7 * (next(calls) % 16)))
"""
OPERATORS = "sigmoid,erf,tanh,atan,sinh,cos,linalg.eigh,argmax,argmin,sort,topk,stack,native_batch_norm"


@pytest.fixture(scope="module")
def report(build, torch, tmp_path_factory):
    """Reports on the installed torch: with the faults (True) and without (False)."""
    folder = tmp_path_factory.mktemp("operators")
    plant = folder / "plant.py"
    plant.write_text(FAULTS)

    def compute(planted):
        command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", "--operators"]
        command += ["--only-operators", OPERATORS, "--budget", "90", *(["--plant", plant] if planted else [])]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
        return json.loads(result.stdout)

    return {planted: compute(planted) for planted in (True, False)}


# Replaces what Inductor's C++ back end writes for one function; the function itself stays right.
MISCOMPILED = """
from torch._inductor.codegen import cpp
for overrides in (cpp.CppOverrides, cpp.CppVecOverrides):
    right = overrides.sigmoid
    overrides.sigmoid = staticmethod(lambda x, right=right: f"({right(x)} * decltype({x})(1.25f))")
"""


def compile_operators(build, torch, folder, names, plant):
    """Returns the report on compiled operators, and their run on the CPU.

    plant: code that changes the compiler, or "".
    """
    command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", "--compile"]
    command += ["--only-operators", names]
    if plant:
        (folder / "plant.py").write_text(plant)
        command += ["--plant", folder / "plant.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    report = json.loads(result.stdout)
    (run,) = [one for one in report["operators"] if one["device"] == "cpu"]
    assert run["problem"] is None
    assert run["compiled"]
    return report, run


@pytest.mark.parametrize("planted", [True, False])
def test_compiled_function_is_compared(build, torch, tmp_path, planted):
    report, run = compile_operators(build, torch, tmp_path, "sigmoid,cos", MISCOMPILED if planted else "")
    assert (run["operators"], run["wrong"], run["right"]) == (2, int(planted), 2 - int(planted))
    found = [one["what"] for one in report["verdict"]["findings"] if one["id"] in ("PB551", "PB553")]
    assert len(found) == int(planted)
    if planted:
        assert "(compiled)" in found[0]
        assert "eager is right" in found[0]


# Doubles a scale in the compiled function; eager stays right.
MISCOMPILED_PRODUCT = """
from torch._inductor.lowering import lowerings
product, times = (lowerings[one] for one in (torch.ops.aten._scaled_mm.default, torch.ops.aten.mul.Tensor))
lowerings[torch.ops.aten._scaled_mm.default] = lambda a, b, scale_a, scale_b, *more, **named: product(
    a, b, scale_a, times(scale_b, 2.0), *more, **named
)
"""


@pytest.mark.parametrize("planted", [True, False])
def test_compiled_scaled_product_is_compared(build, torch, tmp_path, planted):
    plant = MISCOMPILED_PRODUCT if planted else ""
    report, run = compile_operators(build, torch, tmp_path, "torch._scaled_mm", plant)
    # A CPU has no scales for each row.
    assert (run["operators"], run["wrong"], run["right"], run["not_run"]) == (2, int(planted), 1 - int(planted), 1)
    found = [one["what"] for one in report["verdict"]["findings"] if one["id"] == "PB553"]
    assert len(found) == int(planted)
    assert all("torch._scaled_mm in bfloat16" in one and "eager is right" in one for one in found)


def test_unknown_operator_is_a_problem(build, torch):
    command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", "--operators"]
    result = subprocess.run([*command, "--only-operators", "cosine,cos"], capture_output=True, text=True, check=False)
    (run,) = [one for one in json.loads(result.stdout)["operators"] if one["device"] == "cpu"]
    assert "no operator cosine" in run["problem"]
    assert run["operators"] == 0


def test_recorded_machine_computes_nothing(build):
    command = [build / "bin/pbprobe", "report", "--operators", "--host", "host.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "--operators" in result.stderr


def list_findings(report):
    return sorted(one["id"] for one in report["verdict"]["findings"] if one["id"] in ("PB551", "PB552"))


def test_planted_faults_are_found(report):
    (run,) = [one for one in report[True]["operators"] if one["device"] == "cpu"]
    assert run["problem"] is None
    found = {(one["name"], one["type"], one["state"], one.get("way")) for one in run["results"]}
    assert found == {
        ("sigmoid", "bfloat16", "wrong", "call"),
        ("erf", "float32", "wrong", "non-contiguous"),
        ("tanh", "float16", "crashed", None),
        ("atan", "float16", "crashed", None),
        ("argmin", "float32", "wrong", "call"),
        ("topk", "float16", "wrong", "backward"),
    }
    assert (run["operators"], run["right"], run["wrong"], run["crashed"], run["not_run"]) == (13, 7, 4, 2, 0)
    assert "sinh" in run["not_repeated"]
    assert list_findings(report[True]) == ["PB551", "PB551", "PB551", "PB551", "PB552", "PB552"]
    (wrong,) = [one["what"] for one in report[True]["verdict"]["findings"] if "sigmoid" in one["what"]]
    assert "sigmoid in bfloat16 is wrong on cpu" in wrong
    assert "inputs: bfloat16[" in wrong
    (lost,) = [one["what"] for one in report[True]["verdict"]["findings"] if "atan" in one["what"]]
    assert "CUDA error: no kernel image" in lost


def test_sound_torch_has_no_wrong_operator(report):
    (run,) = [one for one in report[False]["operators"] if one["device"] == "cpu"]
    assert run["results"] == []
    assert (run["operators"], run["right"]) == (13, 13)
    assert run["not_repeated"] == []
    assert run["calls"] > 100
    assert list_findings(report[False]) == []


# Functions of two packages, as their publishers name them. A wrong SCALE is the fault.
FLASH_ATTENTION = """
import torch

def flash_attn_func(query, key, value):
    turned = [one.transpose(1, 2) for one in (query, key, value)]
    return torch.nn.functional.scaled_dot_product_attention(*turned, scale=SCALE).transpose(1, 2)
"""
CAUSAL_CONVOLUTION = """
import torch

def causal_conv1d_fn(x, weight, bias=None, activation=None):
    result = torch.nn.functional.conv1d(x, weight[:, None], bias, padding=weight.shape[1] - 1, groups=len(weight))
    return torch.nn.functional.silu(result[..., : x.shape[-1]])
"""


@pytest.mark.parametrize("planted", [True, False])
def test_operators_of_packages_are_compared(build, torch, tmp_path, planted):
    (tmp_path / "flash_attn.py").write_text(FLASH_ATTENTION.replace("SCALE", "1.0" if planted else "None"))
    (tmp_path / "causal_conv1d.py").write_text(CAUSAL_CONVOLUTION)
    command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", "--operators"]
    command += ["--only-operators", "flash_attn.flash_attn_func,causal_conv1d.causal_conv1d_fn,cos"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400, env=environment)
    report = json.loads(result.stdout)
    (run,) = [one for one in report["operators"] if one["device"] == "cpu"]
    assert run["problem"] is None
    assert run["packages"] == ["causal_conv1d", "flash_attn"]
    assert (run["operators"], run["wrong"], run["right"]) == (3, int(planted), 3 - int(planted))
    wrong = {one["name"] for one in run["results"]}
    assert wrong == ({"flash_attn.flash_attn_func"} if planted else set())
    assert list_findings(report) == (["PB551", "PB551"] if planted else [])  # FP16 and BF16
