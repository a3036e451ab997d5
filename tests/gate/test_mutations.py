# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Applies each operator of the mutation run, and repeats a draw."""

import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "mutations"))

import run
from operators import OPERATORS


@pytest.fixture(scope="session", autouse=True)
def _scratch():
    yield
    run.shutil.rmtree(run.scratch())


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: f"{one.name}: {one.what}")
def test_applies_each_operator(operator):
    for attempt in range(60):
        variant = run.VARIANTS[attempt % len(run.VARIANTS)]
        before = run.read_base_tree(variant)
        tree = before.copy()
        if run.apply(operator, tree, run.describe_variant(variant), random.Random(attempt)):
            files = {path: tree.read(path) for path in tree.libraries()}
            same = {path: before.read(path) for path in before.libraries()}
            assert files != same or tree.files != before.files or tree.options or tree.beside
            return
    pytest.fail("never applied")


# Were judged wrongly once.
@pytest.mark.parametrize(
    "names",
    [("entries otherwise compressed", "a wheel"), ("a second section with a unit more", "the type of the section")],
    ids=["uncompressed cubins in a wheel", "a second section with a copy"],
)
def test_changes_that_keep_the_truth_pass(tmp_path, names):
    variant, rng = run.VARIANTS[4], random.Random(5)
    tree = run.read_base_tree(variant).copy()
    for name in names:
        assert run.apply(next(one for one in OPERATORS if one.what == name), tree, run.describe_variant(variant), rng)
    code, reported, _ = run.asked(run.Drawn(tree, variant, names, run.PASSES), tmp_path)
    assert code == 0, reported


def test_repeats_a_draw():
    first, again, other = (run.mutated(run.How(seed), 3) for seed in (11, 11, 12))
    assert (first.what, first.code) == (again.what, again.code)
    assert first.what != other.what


def test_operators_say_what_is_due():
    assert {one.verb for one in OPERATORS if not one.keeps} >= set(
        "drop relabel empty swap truncate hide downgrade stub unlink gut mix retag rename shadow path trap".split()
    )
    subjects = {one.subject for one in OPERATORS}
    assert subjects == {"file", "entry", "section", "symbol", "metadata", "policy"}
    assert all((0 in one.due) == one.keeps for one in OPERATORS if one.verb != "scramble")
