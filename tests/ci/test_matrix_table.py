# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/matrix_table.py: a row is of the sources that were built, and stays until that recipe is built again."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
import matrix_table  # noqa: E402

FAULT = ("BLAS switched", "a", "PB108", "gate 1: PB108", "yes")


def row(name, sources, gate="0"):
    return (name, "2.10.0", "-", "x86_64-linux", "yes", gate, "-", "9", "2026-11-24", sources)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "matrix.md"


def test_what_was_not_built_keeps_the_sources_that_it_was_built_of(file):
    matrix_table.update(file, [row("a", "11111111"), row("b", "11111111"), row("gone", "0")], [FAULT], ["b", "a"])
    matrix_table.update(file, [row("a", matrix_table.digest(), gate="1")], [], ["b", "a"])
    text = file.read_text()
    assert matrix_table.cells_of(text, matrix_table.ROWS) == [
        row("b", "11111111"),
        row("a", matrix_table.digest(), "1"),
    ]
    assert matrix_table.cells_of(text, matrix_table.FAULTS) == [FAULT]
    assert "1 of 2 recipes" in text
    assert f"1 of them are of the sources of this page's last change, {matrix_table.digest()}" in text


def test_each_source_counts(tmp_path):
    for part in matrix_table.SOURCES:
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / part).write_text("one")
    before = matrix_table.digest(tmp_path)
    for part in matrix_table.SOURCES:
        matrix_table.digest.cache_clear()
        (tmp_path / part).write_text("other")
        assert matrix_table.digest(tmp_path) != before
        (tmp_path / part).write_text("one")
    matrix_table.digest.cache_clear()
    assert matrix_table.digest(tmp_path) == before


def test_the_page_of_this_tree_has_every_recipe():
    recipes = {file.stem for file in (ROOT / ".flox/pkgs").glob("pytorch-*.nix")}
    rows = matrix_table.cells_of((ROOT / "docs/matrix.md").read_text(), matrix_table.ROWS)
    assert {one[0] for one in rows} == recipes
