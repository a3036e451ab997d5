# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The GitHub Action that gates a wheel: lawful, pinned, and its steps really run."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from ruamel import yaml  # comes with check-jsonschema
from wheels import completed
from world import PROGRAM, SOURCE, actionlint

TEMPLATE = SOURCE / "ci/templates/gate/action.yml"
ACTION = yaml.YAML(typ="safe").load(TEMPLATE.read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
CLAIM = "avx2,torch=2.10.0"
CODE = """
extern "C" void axpy(float* y, const float* x, float a, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
extern "C" int sum(const int* x, int n) { int s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }
namespace at::native::DEFAULT { void scale(float* y, int n) { for (int i = 0; i < n; ++i) y[i] *= 3; } }
"""


def lint(file):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", file]
    return subprocess.run(command, capture_output=True, text=True, check=False).returncode


def test_action_is_valid_and_lint_can_fail(tmp_path):
    assert lint(TEMPLATE) == 0
    (tmp_path / "action.yml").write_text(TEMPLATE.read_text().replace("  using: composite\n", ""))
    assert lint(tmp_path / "action.yml") == 1


USE = """on: push
jobs:
  gate:
    runs-on: ubuntu-24.04
    steps:
      - uses: ./gate
        with: {wheel: dist/*.whl, claim: "sm90", pbprobe: pbprobe.whl}
"""


def test_actionlint_accepts_workflow(tmp_path):
    shutil.copytree(TEMPLATE.parent, tmp_path / "gate")
    workflow = tmp_path / ".github/workflows/gate.yml"
    workflow.parent.mkdir(parents=True)
    (tmp_path / ".git").mkdir()  # where actionlint looks for ./gate
    workflow.write_text(USE)
    assert actionlint(workflow) == (0, "")
    workflow.write_text(USE.replace("claim:", "claims:"))
    code, shown = actionlint(workflow)
    assert code == 1
    assert 'missing input "claim"' in shown


def test_actionlint_accepts_steps(tmp_path):
    """With the actions by their releases: it knows the inputs of these, and whether GitHub still runs them."""
    releases = dict(re.findall(r"uses: (\S+@[0-9a-f]{40}) # (v\d+)", TEMPLATE.read_text()))
    steps = [
        step | ({"uses": f"{step['uses'].partition('@')[0]}@{releases[step['uses']]}"} if "uses" in step else {})
        for step in STEPS.values()
    ]
    inputs = {name: {**one, "type": "string"} for name, one in ACTION["inputs"].items()}
    job = {"runs-on": "ubuntu-24.04", "steps": steps}
    text = json.dumps({"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"gate": job}})  # which is YAML too
    workflow = tmp_path / "gate.yml"
    workflow.write_text(text)
    assert actionlint(workflow) == (0, "")
    for was, becomes, why in (
        ("upload-artifact@v7", "upload-artifact@v4", '"node20" is deprecated'),
        ("steps.gate.", "steps.gates.", 'property "gates" is not defined'),
        ('"path"', '"paths"', 'missing input "path"'),
    ):
        assert was in text
        workflow.write_text(text.replace(was, becomes))
        code, shown = actionlint(workflow)
        assert code == 1
        assert why in shown


def test_requires_a_wheel_of_pbprobe():
    assert ACTION["inputs"]["pbprobe"]["required"] is True
    assert "default" not in ACTION["inputs"]["pbprobe"]


def test_requires_actions_pinned_by_commit():
    used = re.findall(r"uses: (\S+/\S+@\S+)", TEMPLATE.read_text().partition("\nruns:")[2])
    assert len(used) == 2
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in used), used


def test_expressions_name_existing_fields():
    known = {f"inputs.{name}" for name in ACTION["inputs"]} | {"runner.temp", "steps.gate.outputs.verdict"}
    expressions = set(re.findall(r"\$\{\{ (.*?) \}\}", TEMPLATE.read_text()))
    assert expressions <= known
    asked = set(re.findall(r"\b(?:inputs|steps)\.[\w.-]+", json.dumps(ACTION)))
    assert asked <= known
    assert {f"inputs.{name}" for name in ACTION["inputs"]} <= asked


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if "run" in step])
def test_scripts_pass_shellcheck(tmp_path, name):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    (tmp_path / "step").write_text("#!/bin/bash -e\n" + STEPS[name]["run"])
    result = subprocess.run(["shellcheck", tmp_path / "step"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.fixture
def wheel(tmp_path):
    file = tmp_path / "dist/torch-2.10.0-cp311-cp311-linux_x86_64.whl"
    file.parent.mkdir()
    (tmp_path / "code.cpp").write_text(CODE)
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("libtorch_cpu.so", "libc10.so"):
            # Sums in vectors; -ffast-math would fail by PB217.
            built = ["g++", "-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-mavx2", "-mfma"]
            built += ["-shared", "-fPIC", f"-Wl,-soname,{name}"]
            subprocess.run([*built, "-o", tmp_path / name, tmp_path / "code.cpp"], check=True)
            archive.write(tmp_path / name, f"torch/lib/{name}")
        archive.writestr("torch/version.py", f"__version__ = '2.10.0'\ncuda = None\ngit_version = '{'0' * 40}'\n")
        archive.writestr("torch/__init__.py", "")
    return completed(file)


def run_step(name, tmp_path, **inputs):
    folder = tmp_path / "temp/pbprobe"
    (folder / "venv/bin").mkdir(parents=True, exist_ok=True)
    if not (folder / "venv/bin/pbprobe").exists():
        (folder / "venv/bin/pbprobe").symlink_to(PROGRAM)
    environment = {
        **os.environ,
        "FOLDER": str(folder),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        **inputs,
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)


@pytest.mark.parametrize(("claim", "verdict", "code"), [(CLAIM, "pass", 0), ("avx512,only", "fail", 1)])
def test_gate_writes_verdict_summary_and_documents(wheel, tmp_path, claim, verdict, code):
    result = run_step("Gate", tmp_path, WHEEL="dist/*.whl", CLAIM=claim)
    assert result.returncode == code, result.stdout + result.stderr
    assert (tmp_path / "output").read_text() == f"verdict={verdict}\n"
    assert (tmp_path / "summary").read_text().startswith(f"### pbprobe: {verdict} for torch 2.10.0")
    folder = tmp_path / "temp/pbprobe"
    kept = [line.strip() for line in STEPS["Keep what was written"]["with"]["path"].splitlines()]
    kept.append(STEPS["Show the findings in code scanning"]["with"]["sarif_file"])
    for path in kept:
        assert (folder.parent / path.replace("${{ runner.temp }}/", "")).stat().st_size > 0


def test_names_pattern_that_matches_no_wheel(wheel, tmp_path):
    result = run_step("Gate", tmp_path, WHEEL="dist/*.zip", CLAIM=CLAIM)
    assert result.returncode == 2
    assert "::error::dist/*.zip fits 0 files" in result.stdout
    assert not (tmp_path / "output").exists()


def test_installs_named_packages(tmp_path):
    built = SOURCE / "build/wheel/pbprobe/libpbprobe_ops.so"
    if not built.is_file():
        pytest.skip("no wheel was built: make wheel")
    pytest.importorskip("wheel")
    subprocess.run([sys.executable, SOURCE / "ci/pack-wheel", "--output", tmp_path / "dist"], check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    folder = tmp_path / "fresh"
    result = run_step("Install pbprobe", tmp_path, PBPROBE=str(wheel), FOLDER=str(folder))
    assert result.returncode == 0, result.stderr
    shown = subprocess.run([folder / "venv/bin/pbprobe", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("pbprobe ")
