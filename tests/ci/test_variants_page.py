# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""recipes/variants_page.py: docs/variants.md is what the data says, and has the result of each recipe."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "recipes"))
import variants_page  # noqa: E402


def row(text, name):
    return next(line for line in text.splitlines() if line.startswith(f"| [{name}]"))


def test_matches_the_committed_page():
    results = (ROOT / "docs/matrix.md").read_text(encoding="utf-8")
    assert variants_page.render(results) == variants_page.PAGE.read_text(encoding="utf-8"), "run `make generate`"


def test_links_every_recipe():
    text = variants_page.render("")
    recipes = sorted((ROOT / ".flox/pkgs").glob("pytorch*.nix"))
    assert recipes
    for recipe in recipes:
        assert f"(../.flox/pkgs/{recipe.name})" in text


def test_states_the_result_of_each_recipe():
    text = variants_page.render(
        "| recipe |\n"
        "| pytorch-python313-cpu-avx2 | 2.10.0 | - | x86_64-linux | yes | 1 | - | 3 |\n"
        "| pytorch-python313-cuda13_0-sm121-armv9 | 2.10.0 | 13.0 | aarch64-linux | no | - | - | 3 |\n"
    )
    assert row(text, "pytorch-python313-cpu-avx2").endswith("| yes | built, gate 1 | never |")
    assert row(text, "pytorch-python313-cuda13_0-sm121-armv9").endswith("| yes | failed | never |")
    assert row(text, "pytorch-python313-cpu-avx").endswith("| yes | never | never |")
