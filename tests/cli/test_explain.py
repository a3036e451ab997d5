# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""docs/checks: each check has a page with all parts, which is what `pbprobe explain` and SARIF show.

That the examples are what the program prints is asked where faults are planted: tests/judge, tests/recipes/matrix.
"""

import json
import re

import pytest
from gated import CLAIM
from test_cli import SOURCE, run

PARTS = ["What it checks", "Why it matters", "Example", "How to fix", "How to waive", "References"]
PAGES = sorted((SOURCE / "docs/checks").iterdir())


def split_parts(text):
    """Heading and text of each part, in order."""
    pieces = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return list(zip(pieces[1::2], (piece.strip() for piece in pieces[2::2]), strict=True))


@pytest.fixture(scope="module")
def catalogue():
    return {check["id"]: check for check in json.loads(run("explain", "--format", "json").stdout)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_has_all_parts_of_its_check(page, catalogue):
    check, text = catalogue[page.stem], page.read_text()
    assert [heading for heading, _ in split_parts(text)] == PARTS
    parts = dict(split_parts(text))
    assert all(len(part) > 15 for part in parts.values()), parts
    assert f"[{page.stem}]: " in parts["Example"]
    assert parts["Example"].splitlines()[0].startswith(f"{check['severity']}[")
    assert len(text.splitlines()) <= 40
    waiver = f'"id": "{page.stem}"' if check["can_be_waived"] else "No policy can"
    assert waiver in parts["How to waive"]
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (page.parent / link).exists(), link


def test_program_has_the_pages_of_the_folder(catalogue):
    assert set(catalogue) == {page.stem for page in PAGES}
    for page in PAGES:
        assert catalogue[page.stem]["page"] == page.read_text()


def test_explain_prints_the_page_under_the_row(catalogue):
    text = run("explain", "PB303").stdout
    for part in PARTS:
        assert f"\n{part}\n" in text


@pytest.mark.parametrize("part", ["What it checks", "Why it matters", "How to fix"])
def test_pages_do_not_repeat_each_other(part):
    seen = {}
    for page in PAGES:
        text = dict(split_parts(page.read_text()))[part]
        assert text not in seen, f"{page.stem} has the words of {seen[text]}"
        seen[text] = page.stem


def test_sarif_brings_the_page_along(sound, tmp_path, catalogue):
    run("gate", sound, "--claim", CLAIM, "--sarif", tmp_path / "sarif.json")
    rules = json.loads((tmp_path / "sarif.json").read_text())["runs"][0]["tool"]["driver"]["rules"]
    for rule in rules:
        assert rule["help"].get("markdown") == catalogue[rule["id"]]["page"]
