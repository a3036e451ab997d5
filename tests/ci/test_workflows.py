# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests of .github/workflows and .pre-commit-config.yaml, which call the scripts of the project."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from ruamel import yaml  # a dependency of check-jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github/workflows/ci.yml"
HOOKS = ROOT / ".pre-commit-config.yaml"
# Commands of a fresh container, before any script of the project can run.
PREPARATION = ("apt-get update", "git config --global --add safe.directory")


def load(file):
    return yaml.YAML(typ="safe").load(file.read_text())


def find_commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def find_pins(text):
    return set(re.findall(r"^([\w-]+==[\w.]+)", text, re.MULTILINE))


def test_actionlint_accepts_workflow():
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    program = shutil.which("actionlint", path=path)
    if not program:
        pytest.skip("actionlint is not installed: make setup")
    done = subprocess.run([program, "-no-color", WORKFLOW], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_workflow_calls_scripts_of_ci():
    commands = [command for command in find_commands(load(WORKFLOW)) if not command.startswith(PREPARATION)]
    assert commands == ["ci/check lint", ".ci/run"]
    assert all((ROOT / command.split()[0]).exists() for command in commands)


def test_workflow_states_that_it_never_ran():
    assert "This workflow has not run yet" in WORKFLOW.read_text()


def test_hooks_use_locked_versions():
    hooks = load(HOOKS)["repos"][0]["hooks"]
    pinned = {pin for hook in hooks for pin in hook.get("additional_dependencies", [])}
    locked = find_pins((ROOT / "cmake/requirements-lint.txt").read_text())
    assert pinned
    assert pinned <= locked, "pin the versions of cmake/requirements-lint.txt"


def test_hooks_name_existing_programs():
    hooks = load(HOOKS)["repos"][0]["hooks"]
    scripts = [hook["entry"] for hook in hooks if hook["entry"].startswith("ci/")]
    assert scripts == ["ci/rooms", "ci/sizes", "ci/plain-english"]
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
