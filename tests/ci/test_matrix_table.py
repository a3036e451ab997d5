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


def row(name, sources, gate="0", probe="not built", operators="-"):
    return (name, "2.10.0", "-", "x86_64-linux", "yes", gate, "9", probe, operators, "-", "2026-11-24", sources)


@pytest.fixture(autouse=True)
def line(monkeypatch, tmp_path):
    """The recipes a and b."""
    monkeypatch.setattr(matrix_table, "is_default_line", lambda one: one[0] in ("a", "b"))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "matrix.md"


def test_keeps_sources_of_rows_that_were_not_built(file):
    matrix_table.update(file, [row("a", "11111111"), row("b", "11111111"), row("gone", "0")], [FAULT], ["b", "a"])
    matrix_table.update(file, [row("a", matrix_table.digest(), gate="1")], [], ["b", "a"])
    text = file.read_text()
    assert matrix_table.parse_cells(text, matrix_table.ROWS) == [
        row("b", "11111111"),
        row("a", matrix_table.digest(), "1"),
    ]
    assert matrix_table.parse_cells(text, matrix_table.FAULTS) == [FAULT]
    assert "1 of 2 recipes" in text
    assert f"1 of them are of the sources of this page's last change, {matrix_table.digest()}" in text


@pytest.mark.parametrize(
    "probe, operators, good, counted",
    [
        ("not built", "-", True, 0),
        ("yes", "loaded", True, 1),
        ("yes", "under QEMU", True, 1),
        ("yes", "other CPU", True, 0),  # nothing was loaded
        ("yes", "no", False, 0),
        ("no", "-", False, 0),
    ],
)
def test_counts_only_built_and_loaded_recipes(file, probe, operators, good, counted):
    rows = [row("a", "1", probe=probe, operators=operators), row("b", "1"), row("other", "1", "0", "yes", "loaded")]
    matrix_table.update(file, rows, [FAULT], ["a", "b", "other"])
    assert matrix_table.is_sound_build(rows[0]) is good
    assert f"{1 + good} of 2 recipes" in file.read_text()
    assert f"pbprobe was built against {counted} of these 2 torches" in file.read_text()


def test_counts_recipes_of_each_line(file):
    rows = [row("other", "1", probe="yes", operators="loaded"), row("another", "1", gate="1")]
    matrix_table.update(file, rows, [FAULT], ["other", "another"])
    assert "1 of 2 recipes" in file.read_text()
    assert "pbprobe was built against 1 of these 2 torches, its" in file.read_text()


@pytest.mark.parametrize("sources, expected", [("1", "loaded"), ("2", "-")])
def test_keeps_build_only_for_same_torch_sources(file, sources, expected):
    matrix_table.update(file, [row("a", "1", probe="yes", operators="loaded")], [FAULT], ["a"])
    matrix_table.update(file, [row("a", sources)], [], ["a"])
    [left] = matrix_table.parse_cells(file.read_text(), matrix_table.ROWS)
    assert left[matrix_table.ROWS.index("operators")] == expected


def test_counts_each_source(tmp_path):
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


def test_page_lists_every_recipe():
    recipes = {file.stem for file in (ROOT / ".flox/pkgs").glob("pytorch-*.nix")}
    rows = matrix_table.parse_cells((ROOT / "docs/matrix.md").read_text(), matrix_table.ROWS)
    assert {one[0] for one in rows} >= recipes
