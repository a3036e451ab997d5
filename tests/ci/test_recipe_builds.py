# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/recipe-builds where what it builds of is missing, or another: it could not run (2), and names the way out."""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
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


def test_nvcc_is_that_which_the_tree_is_configured_with(builds, tmp_path, monkeypatch):
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    for place in ("wheels/bin", "toolkit/bin"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "nvcc").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "toolkit/bin"))
    assert builds.nvcc() == tmp_path / "toolkit/bin/nvcc"
    (tmp_path / "build/setup").mkdir(parents=True)
    # As on a machine without a toolkit: set-up installs PyPI's.
    (tmp_path / "build/setup/configured").write_text(f"--preset=dev\n-DPBPROBE_TEST_NVCC={tmp_path}/wheels/bin/nvcc\n")
    assert builds.nvcc() == tmp_path / "wheels/bin/nvcc"


def build_phases(tmp_path, **variables):
    """recipes/nix/stand-in/setup.sh on a source of one file."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/version.txt").write_text("one\n")
    shown = "cat version.txt > $out"
    environment = {
        "PATH": os.environ["PATH"],
        "NIX_BUILD_TOP": str(tmp_path),
        "NIX_BUILD_CORES": "1",
        "out": str(tmp_path / "out"),
    }
    environment |= {
        "src": str(tmp_path / "src"),
        "dontUseCmakeConfigure": "1",
        "buildPhase": ":",
        "installPhase": shown,
    }
    setup = ROOT / "recipes/nix/stand-in/setup.sh"
    return subprocess.run(["bash", setup], env=environment | variables, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("patch"), reason="no patch program")
def test_the_stand_in_applies_patches_before_its_hook(tmp_path):
    (tmp_path / "a.patch").write_text("--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-one\n+two\n")
    done = build_phases(tmp_path, patches=str(tmp_path / "a.patch"), postPatch="echo three >> version.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_text() == "two\nthree\n"


@pytest.mark.skipif(not shutil.which("patch"), reason="no patch program")
def test_a_patch_that_does_not_apply_ends_the_build(tmp_path):
    (tmp_path / "a.patch").write_text("--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-another\n+two\n")
    done = build_phases(tmp_path, patches=str(tmp_path / "a.patch"))
    assert done.returncode != 0
    assert not (tmp_path / "out").exists()
    assert "1 out of 1 hunk FAILED" in done.stdout


@pytest.mark.parametrize("handed_over", [True, False])
def test_the_stub_in_the_place_of_the_dropped_patches_finds_cuda(tmp_path, handed_over, builds, monkeypatch):
    """As recipes/nix/torch.nix writes it: CMake's own module finds the toolkit; an empty file finds none."""
    monkeypatch.setattr(builds, "ROOT", ROOT)
    try:
        toolkit = builds.nvcc().parents[1]
    except RuntimeError as error:
        pytest.skip(str(error))
    [stub] = re.findall(r"echo '(.+)' > cmake/Modules/FindCUDAToolkit", (ROOT / "recipes/nix/torch.nix").read_text())
    (tmp_path / "FindCUDAToolkit.cmake").write_text(stub.replace("''${", "${") if handed_over else "")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(torch LANGUAGES CXX)\n"
        "list(PREPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR})\nfind_package(CUDAToolkit)\n"
        'message(STATUS "found <${CUDAToolkit_VERSION_MAJOR}>")\n'
    )
    cmake = os.environ.get("PBPROBE_TEST_CMAKE", "cmake")
    command = [cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCUDAToolkit_ROOT={toolkit}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("found <13>" in done.stdout, "found <>" in done.stdout) == (handed_over, not handed_over)


@pytest.mark.parametrize(
    "given, own, expected",
    [(["all"], True, True), (["all"], False, False), (["pytorch-a"], True, True), (["pytorch-b"], True, False)],
)
def test_all_is_each_recipe_that_pbprobe_can_be_built_against(builds, monkeypatch, given, own, expected):
    monkeypatch.setattr(builds, "build_recipe", lambda facts, folder, with_pbprobe, missing: with_pbprobe)
    monkeypatch.setattr(builds, "written", lambda line: ROOT)
    options = argparse.Namespace(with_pbprobe=given, without="")
    assert builds.build_one({"name": "pytorch-a" if own else "pytorch-python313-line"}, own, options) is expected
