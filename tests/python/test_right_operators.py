# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report --operators`: planted faults in the installed torch, each with a sound operator beside it."""

import subprocess

import pytest

pytest.importorskip("expecttest", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
pytest.importorskip("numpy", reason="torch's database of operators needs it: cmake/bootstrap.sh test")
pytest.importorskip("torch")
from planted_operators import HAS_KERNELS, OF_PACKAGES, OF_VALUES, compute, find_cpu_run

# Replaces what Inductor's C++ back end writes for one function; the function itself stays right.
MISCOMPILED = """
from torch._inductor.codegen import cpp
for overrides in (cpp.CppOverrides, cpp.CppVecOverrides):
    right = overrides.sigmoid
    overrides.sigmoid = staticmethod(lambda x, right=right: f"({right(x)} * decltype({x})(1.25f))")
"""


# Doubles a scale in the compiled function; eager stays right.
MISCOMPILED_PRODUCT = """
from torch._inductor.lowering import lowerings
product, times = (lowerings[one] for one in (torch.ops.aten._scaled_mm.default, torch.ops.aten.mul.Tensor))
lowerings[torch.ops.aten._scaled_mm.default] = lambda a, b, scale_a, scale_b, *more, **named: product(
    a, b, scale_a, times(scale_b, 2.0), *more, **named
)
"""


@pytest.mark.source
@pytest.mark.parametrize("planted", [True, False])
def test_compiled_functions_are_compared(build, torch, tmp_path, planted):
    """One report for all functions: a process compiles the headers of the back end once."""
    options = ["--compile", "--only-operators", "sigmoid,cos,torch._scaled_mm"]
    if planted:
        (tmp_path / "plant.py").write_text(MISCOMPILED + MISCOMPILED_PRODUCT)
        options += ["--plant", tmp_path / "plant.py"]
    report = compute(build, torch, *options, timeout=500)
    run = find_cpu_run(report)
    assert run["problem"] is None
    assert run["compiled"]
    # A CPU has no scales for each row.
    counts = (4, 2, 1, 1) if planted else (4, 0, 3, 1)
    assert (run["operators"], run["wrong"], run["right"], run["not_run"]) == counts
    findings = [one for one in report["verdict"]["findings"] if one["id"] in ("PB551", "PB553")]
    product, other = (
        [one for one in findings if ("torch._scaled_mm" in one["what"]) == wanted] for wanted in (True, False)
    )
    assert (len(product), len(other)) == (int(planted), int(planted))
    assert all("eager is right" in one["what"] for one in findings)
    if planted:
        assert "(compiled)" in other[0]["what"]
        assert other[0]["what"].startswith("sigmoid")
        assert product[0]["id"] == "PB553"
        assert "torch._scaled_mm in bfloat16" in product[0]["what"]


@pytest.mark.source
def test_unknown_operator_is_a_problem(build, torch):
    run = find_cpu_run(compute(build, torch, "--operators", "--only-operators", "cosine,cos"))
    assert "no operator cosine" in run["problem"]
    assert run["operators"] == 0


def test_recorded_machine_computes_nothing(build):
    command = [build / "bin/pbprobe", "report", "--operators", "--host", "host.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "--operators" in result.stderr


def list_findings(report, names):
    """Returns what PB551 and PB552 find in these operators."""
    found = [one for one in report["verdict"]["findings"] if one["id"] in ("PB551", "PB552")]
    return [(one["id"], one["what"]) for one in found if one["what"].split(" in ")[0] in names]


TANH_IN_PLACE = {("tanh", "float32", "wrong", "in place")}  # test_operator_faults.py
# Operators, and how many are right, wrong, crashed and not run with the faults.
COUNTS = {"values": (13, 7, 4, 2, 0), "packages": (2, 1, 1, 0, 0), "forms": (16, 2, 10, 2, 2)}
KINDS = ("operators", "right", "wrong", "crashed", "not_run")


@pytest.mark.source
def test_counts_all_operators(operator_reports):
    parts = [COUNTS[part] for part in ("values", "packages", *(["forms"] if HAS_KERNELS else []))]
    planted, sound = (find_cpu_run(operator_reports[one]) for one in (True, False))
    assert [planted[kind] for kind in KINDS] == [sum(numbers) for numbers in zip(*parts, strict=True)]
    not_run = int(HAS_KERNELS)  # a CPU has no scales for each row
    assert [sound[kind] for kind in KINDS] == [planted["operators"], planted["operators"] - not_run, 0, 0, not_run]


@pytest.mark.source
def test_planted_faults_are_found(operator_reports):
    report = operator_reports[True]
    run = find_cpu_run(report)
    assert run["problem"] is None
    results = [one for one in run["results"] if one["name"] in OF_VALUES]
    assert {(one["name"], one["type"], one["state"], one.get("way")) for one in results} - TANH_IN_PLACE == {
        ("sigmoid", "bfloat16", "wrong", "call"),
        ("erf", "float32", "wrong", "non-contiguous"),
        ("tanh", "float16", "crashed", None),
        ("atan", "float16", "crashed", None),
        ("argmin", "float32", "wrong", "call"),
        ("topk", "float16", "wrong", "backward"),
    }
    assert "sinh" in run["not_repeated"]
    found = [one for one in list_findings(report, OF_VALUES) if not one[1].startswith("tanh in float32")]
    assert sorted(check for check, _ in found) == ["PB551", "PB551", "PB551", "PB551", "PB552", "PB552"]
    (wrong,) = [what for _, what in found if "sigmoid" in what]
    assert "sigmoid in bfloat16 is wrong on cpu" in wrong
    assert "inputs: bfloat16[" in wrong
    (lost,) = [what for _, what in found if "atan" in what]
    assert "CUDA error: no kernel image" in lost


@pytest.mark.source
def test_sound_torch_has_no_wrong_operator(operator_reports):
    run = find_cpu_run(operator_reports[False])
    assert run["problem"] is None
    assert [one for one in run["results"] if one["type"] != "none"] == []
    assert run["not_repeated"] == []
    assert run["calls"] > 100
    assert not [one for one in operator_reports[False]["verdict"]["findings"] if one["id"] in ("PB551", "PB552")]


@pytest.mark.source
@pytest.mark.parametrize("planted", [True, False])
def test_operators_of_packages_are_compared(operator_reports, planted):
    run = find_cpu_run(operator_reports[planted])
    assert run["packages"] == ["causal_conv1d", "flash_attn"]
    wrong = {one["name"] for one in run["results"] if one["name"] in OF_PACKAGES}
    assert wrong == ({"flash_attn.flash_attn_func"} if planted else set())
    found = [check for check, _ in list_findings(operator_reports[planted], OF_PACKAGES)]
    assert found == (["PB551", "PB551"] if planted else [])  # FP16 and BF16
