# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Detection of environment variables in the text of Nix code."""

import shutil
import sys

import pytest
from world import SOURCE

sys.path.insert(0, str(SOURCE / "ci"))
from recipe_variables import read_recipe_variables

ALWAYS = {"CUDA_TOOLKIT_REPO"}


def read(tmp_path, text: str, **others: str) -> set[str]:
    folder = tmp_path / ".flox/pkgs"
    folder.mkdir(parents=True)
    (folder / "recipe.nix").write_text(text)
    for path, content in others.items():
        file = tmp_path / path.replace("__", "/").replace("_nix", ".nix")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return read_recipe_variables(folder / "recipe.nix", tmp_path) - ALWAYS


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ('{ a ? builtins.getEnv "ONE" }: a', {"ONE"}),
        ('builtins . getEnv\n  "ONE"', {"ONE"}),
        ('with builtins; getEnv "ONE" + getEnv "TWO"', {"ONE", "TWO"}),
        ('let inherit (builtins) getEnv; in getEnv "ONE"', {"ONE"}),
        ('"${builtins.getEnv "ONE"}"', {"ONE"}),
        ('"a ${"b ${builtins.getEnv "ONE"}"} c"', {"ONE"}),
        ("''\n  a ${builtins.getEnv \"ONE\"}\n''", {"ONE"}),
        ("''it''s ''${no} ${builtins.getEnv \"ONE\"} ''\\n''", {"ONE"}),
        ('{ x = { y = "}"; }; z = builtins.getEnv "ONE"; }', {"ONE"}),
        ('"http://host/#a" + builtins.getEnv "ONE"', {"ONE"}),
        ('map builtins.getEnv [ "ONE" ]', {"?"}),
        ("builtins.getEnv name", {"?"}),
        ('builtins.getEnv "A${b}"', {"?"}),
        ('let get = builtins.getEnv; in get "ONE"', {"?"}),
        ("import <nixpkgs> { }", {"NIX_PATH"}),
        ('# builtins.getEnv "ONE"\n1', set()),
        ('/* builtins.getEnv "ONE"\n */ 1', set()),
        ('"builtins.getEnv \\"ONE\\""', set()),
        ("''\n  builtins.getEnv \"ONE\"\n  export A=''${B}\n''", set()),
        ('"\\${builtins.getEnv "', set()),
        ("a: b: a < b && b > a", set()),
        ("{ getEnvironment = 1; }", set()),
    ],
)
def test_finds_variables_in_text(tmp_path, text, variables):
    assert read(tmp_path, text) == variables


INNER = 'builtins.getEnv "ONE"'


@pytest.mark.parametrize(
    "text",
    [
        "import ../../lib/inner.nix",
        'import (../../lib + "/inner.nix")',
        'import (../../. + "/lib/inner.nix")',
        "callPackage ../../lib/inner.nix { }",
        'let name = "inner"; in import ../../lib/${name}.nix',
        "map import [ ../../lib/inner.nix ]",
    ],
)
def test_reads_imported_files(tmp_path, text):
    assert read(tmp_path, text, lib__inner_nix=INNER) == {"ONE"}


def test_follows_nested_imports(tmp_path):
    others = {"lib__default_nix": "import ./more.nix", "lib__more_nix": f"{INNER} + import ../.flox/pkgs/recipe.nix"}
    assert read(tmp_path, "import ../../lib", **others) == {"ONE"}


def test_skips_files_that_are_not_imported(tmp_path):
    assert read(tmp_path, "import ../../lib/other.nix", lib__inner_nix=INNER, lib__other_nix="1") == set()


def test_matrix_recipes_read_one_variable(tmp_path):
    for part in (".flox/pkgs", "recipes"):
        shutil.copytree(SOURCE / part, tmp_path / part)
    recipes = sorted((tmp_path / ".flox/pkgs").glob("pytorch-*.nix"))
    assert recipes
    assert "getEnv" in recipes[-1].read_text()
    for recipe in recipes:
        assert read_recipe_variables(recipe, tmp_path) == ALWAYS, recipe
