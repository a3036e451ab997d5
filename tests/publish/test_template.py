# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The workflow template: lawful by GitHub's schema, its steps really run, and its expressions name what there is."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from ruamel import yaml  # comes with check-jsonschema
from world import NAME, PROGRAM, SOURCE, actionlint

TEMPLATE = SOURCE / "ci/templates/publish.yml"
WORKFLOW = yaml.YAML(typ="safe").load(TEMPLATE.read_text())
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
SCRIPTS = {step["name"]: step["run"] for step in STEPS if "run" in step}


def lint(file) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", file]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_template_is_valid():
    result = lint(TEMPLATE)
    assert result.returncode == 0, result.stdout


def test_actionlint_accepts_template_and_rejects_faults(tmp_path):
    """Expressions, inputs of the actions, and whether GitHub still runs their releases."""
    assert actionlint(TEMPLATE) == (0, "")
    for was, becomes, why in (
        ("needs.variants.outputs.matrix", "needs.variants.outputs.matrices", 'property "matrices" is not defined'),
        ("if-no-files-found:", "if-no-file-found:", 'input "if-no-file-found" is not defined'),
        ("actions/checkout@v7", "actions/checkout@v4", '"node20" is deprecated'),
    ):
        (tmp_path / "publish.yml").write_text(TEMPLATE.read_text().replace(was, becomes))
        code, shown = actionlint(tmp_path / "publish.yml")
        assert code == 1
        assert why in shown


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("    runs-on: ubuntu-24.04\n", ""),
        ("    needs: variants\n", "    need: variants\n"),
        ("permissions:\n  contents: read\n", "permissions:\n  contents: some\n"),
        ("      - uses: actions/checkout@v7\n", "      - use: actions/checkout@v7\n"),
        ("    timeout-minutes: 720\n", "    timeout-minutes: soon\n"),
    ],
)
def test_lint_can_fail(tmp_path, was, becomes):
    text = TEMPLATE.read_text()
    assert was in text
    (tmp_path / "publish.yml").write_text(text.replace(was, becomes, 1))
    assert lint(tmp_path / "publish.yml").returncode == 1


def commands(script: str) -> list[list[str]]:
    """Words of each simple command; assignments before it are left out, and commands in $(…) are listed too."""
    found = []
    for line in re.sub(r"(\w+)=\$\((.*)\)$", r"\2", script, flags=re.MULTILINE).splitlines():
        words = shlex.split(line)
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words.pop(0)
        found += [words] if words else []
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_commands_exist(name):
    for program, *arguments in commands(SCRIPTS[name]):
        if program.startswith(".venv/"):
            assert "cmake" in (SOURCE / "cmake/requirements.txt").read_text()
        elif program == "build/bin/pbprobe":
            asked = subprocess.run([PROGRAM, *arguments[:2], "--help"], capture_output=True, text=True, check=True)
            for option in re.findall(r"--[\w-]+", " ".join(arguments)):
                assert option in asked.stdout
        elif "/" in program:
            assert os.access(SOURCE / program, os.X_OK), program
        else:
            assert subprocess.run(["bash", "-c", f"type {program}"], check=False).returncode == 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_pass_shellcheck(tmp_path, name):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    script = tmp_path / "step"
    script.write_text("#!/bin/bash -e\n" + SCRIPTS[name])
    # `${X:+--option "$X"}` is two words or none, on purpose.
    command = ["shellcheck", "--exclude=SC2086", script]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_expressions_name_existing_fields():
    listed = [PROGRAM, "recipes", "list", "--format", "github-matrix"]
    row = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)["include"][0]
    inputs = WORKFLOW["on"]["workflow_dispatch"]["inputs"]
    known = {"fromJSON(needs.variants.outputs.matrix)", "runner.temp", "secrets.FLOX_FLOXHUB_TOKEN"}
    known |= {f"inputs.{key}" for key in inputs} | {f"matrix.{key}" for key in row}
    known |= {f"steps.{step['id']}.outputs.matrix" for step in STEPS if "id" in step}
    expressions = re.findall(r"\$\{\{ (.*?) \}\}", TEMPLATE.read_text())
    assert set(expressions) <= known
    assert {f"inputs.{key}" for key in inputs} <= set(expressions)
    assert WORKFLOW["jobs"]["variants"]["outputs"].keys() == {"matrix"}


def step(name: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-e", "-c", SCRIPTS[name]],
        capture_output=True,
        text=True,
        check=False,
        cwd=environment.pop("cwd"),
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(("sm", "isa", "count"), [("", "", None), ("sm121", "", 2), ("cpu", "avx2", 1)])
def test_listing_step_writes_matrix(tmp_path, sm, isa, count):
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/bin/pbprobe").symlink_to(PROGRAM)
    output = tmp_path / "output"
    result = step("List the variants", SM=sm, ISA=isa, GITHUB_OUTPUT=str(output), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (line,) = output.read_text().splitlines()
    if count is None:
        listed = subprocess.run([PROGRAM, "recipes", "list"], capture_output=True, text=True, check=True)
        count = len(listed.stdout.splitlines())
    assert len(json.loads(line.removeprefix("matrix="))["include"]) == count


def test_listing_fails_for_wrong_input(tmp_path):
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/bin/pbprobe").symlink_to(PROGRAM)
    result = step("List the variants", SM="sm999", ISA="", GITHUB_OUTPUT=str(tmp_path / "output"), cwd=tmp_path)
    assert result.returncode != 0


@pytest.mark.parametrize("org", ["", "myorg"])
def test_publishing_step_publishes(world, org):
    (world.checkout / "ci").symlink_to(SOURCE / "ci")
    environment = {**world.environment, "NAME": NAME, "ORG": org, "EVIDENCE": str(world.folder / "kept")}
    result = step("Build, judge, publish, compare", cwd=world.checkout, **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert world.published(org or "alice")
    assert (world.folder / "kept/report.json").is_file()
