# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/recipe-builds where what it builds of is missing, or another: it could not run (2), and names the way out."""

import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "ci/recipe-builds"
RELEASE = json.loads((ROOT / "recipes/nix/stand-in/torch/aten.json").read_text())["release"]


@pytest.fixture
def builds(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    loader = importlib.machinery.SourceFileLoader("recipe_builds", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    monkeypatch.setitem(sys.modules, loader.name, module)  # dataclasses look their module up
    loader.exec_module(module)
    monkeypatch.setattr(module, "SOURCE", tmp_path / "torch-source")
    return module


def fetched(builds, version):
    folder = builds.SOURCE / f"source/pytorch-{version}"
    folder.mkdir(parents=True)
    (folder / "version.txt").write_text(f"{version}a0\n")
    for architecture in ("amd64", "arm64"):
        generated = builds.SOURCE / architecture / "usr/include/ATen/Config.h"
        generated.parent.mkdir(parents=True)
        generated.touch()


def test_without_torch_s_source_it_says_what_fetches_it(builds):
    with pytest.raises(RuntimeError, match="ci/torch-source fetches it"):
        builds.check_source()


def test_the_source_of_another_release_is_refused(builds):
    fetched(builds, "2.6.0")
    with pytest.raises(RuntimeError, match=f"built as torch {RELEASE} is, and .* holds 2.6.0"):
        builds.check_source()


def test_half_of_it_is_not_there(builds):
    fetched(builds, f"{RELEASE}.1")
    shutil.rmtree(builds.SOURCE / "arm64")
    with pytest.raises(RuntimeError, match="or not whole: ci/torch-source"):
        builds.check_source()


def test_the_source_of_that_release_is_taken(builds):
    fetched(builds, f"{RELEASE}.1")
    builds.check_source()


@pytest.mark.skipif(not shutil.which("nix-build"), reason="no nix-build")
def test_in_a_tree_without_that_source_it_ends_with_2(tmp_path):
    (tmp_path / "ci").mkdir()
    for file in (PROGRAM, *PROGRAM.parent.glob("*.py")):
        shutil.copy(file, tmp_path / "ci")
    facts = tmp_path / "recipes/nix/stand-in/torch/aten.json"
    facts.parent.mkdir(parents=True)
    shutil.copy(ROOT / facts.relative_to(tmp_path), facts)
    done = subprocess.run([sys.executable, tmp_path / "ci/recipe-builds"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("recipe-builds: torch's source is not in")


@pytest.mark.parametrize(
    "given, own, expected",
    [(["all"], True, True), (["all"], False, False), (["pytorch-a"], True, True), (["pytorch-b"], True, False)],
)
def test_all_is_each_recipe_that_pbprobe_can_be_built_against(builds, monkeypatch, given, own, expected):
    monkeypatch.setattr(builds, "build_recipe", lambda facts, folder, with_pbprobe, missing: with_pbprobe)
    monkeypatch.setattr(builds, "written", lambda line: ROOT)
    options = argparse.Namespace(with_pbprobe=given, without="")
    assert builds.build_one({"name": "pytorch-a" if own else "pytorch-python313-line"}, own, options) is expected
