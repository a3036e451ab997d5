# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Output options of a report: --verbose, --quiet, --strict, --color, --format markdown."""

import pytest
from test_cli import COULD_NOT_RUN, FAILED, PASSED, SOURCE, refused, run

GOLDEN = SOURCE / "tests/report/golden"


def test_quiet_is_one_line_and_strict_counts_what_is_unknown():
    document = GOLDEN / "no-torch.json"
    plain = run("report", document, "--quiet")
    assert (plain.returncode, plain.stdout.count("\n")) == (PASSED, 1)
    assert plain.stdout.startswith("UNKNOWN  ")
    assert run("report", document, "--quiet", "--strict").returncode == FAILED
    sound = run("report", GOLDEN / "h200.json", "--quiet", "--strict")
    assert (sound.returncode, sound.stdout[:6]) == (PASSED, "PASS  ")


def test_verbose_adds_what_the_first_screen_leaves_out():
    short, whole = (run("report", GOLDEN / "h200.json", *more).stdout for more in ([], ["--verbose"]))
    assert "libtorch_cuda_linalg.so" not in short
    assert "libtorch_cuda_linalg.so" in whole
    assert len(short.splitlines()) < 25 < len(whole.splitlines())
    refused(run("report", GOLDEN / "h200.json", "--verbose", "--quiet"), "--quiet", "--verbose")


def test_colour_is_asked_for_or_refused():
    def shown(*more, **env):
        return run("report", GOLDEN / "h200.json", *more, env={"LC_ALL": "C.UTF-8", **env}).stdout

    assert "\033" not in shown()
    assert shown("--color", "always").startswith("\033[1;32m\u2713 PASS")
    assert shown("--color", "always", NO_COLOR="1").startswith("\033[1;32m")
    assert shown("--color", "always", LC_ALL="C").startswith("\033[1;32mPASS")
    assert "\033" not in shown("--color", "never")
    refused(run("report", "--color", "sometimes"), "auto|always|never")


def test_renders_a_report_as_markdown():
    text = run("report", GOLDEN / "h200.json", "--format", "markdown").stdout
    assert text.startswith("### pbprobe: pass for torch")
    assert "torch 2.11.0+cu130 on NVIDIA H200 (sm_90)" in text.splitlines()[0]
    assert "\n| GPU 0 | NVIDIA H200 | \u2713 sm_90 | \u2713 | \u2713 | not compared |\n" in text
    assert "\n- driver: 580.159.04, supports CUDA 13.0\n" in text
    assert "builder.example.org" not in text, "pasted text does not name the machine"


def test_sixty_columns_keep_what_decides():
    text = run("report", GOLDEN / "h200.json", env={"COLUMNS": "60"}).stdout
    assert max(len(line) for line in text.splitlines()) <= 60
    for words in ("vs generic\n", "not compared\n", "ours/it\n", "1.04x\n"):
        assert words in text
    for command in (["explain", "PB303"], ["recommend", "--host", GOLDEN / "h200.json"]):
        lines = run(*command, env={"COLUMNS": "60"}).stdout.splitlines()
        assert [line for line in lines if len(line) > 60 and not line.startswith("    ")] == []


@pytest.mark.parametrize(
    ("words", "says", "help_of"),
    [
        ("repot", "unknown command repot: did you mean report?", "pbprobe"),
        ("repot x y", "unknown command repot: did you mean report?", "pbprobe"),
        ("elephant", "unknown command elephant", "pbprobe"),
        ("report --fromat json", "unknown option --fromat: did you mean --format?", "pbprobe report"),
        ("gate torch.whl --claim", "--claim: its value is missing", "pbprobe gate"),
        ("audit", "ARTIFACT is required", "pbprobe audit"),
        ("compare one.json", "ARTIFACT: give at least 2", "pbprobe compare"),
        ("recipes shwo", "unknown command shwo: did you mean show?", "pbprobe recipes"),
        ("recipes", "A subcommand is required", "pbprobe recipes"),
        ("host one", "one: unexpected argument", "pbprobe host"),
    ],
)
def test_wrong_usage_is_named_with_what_was_meant(words, says, help_of):
    result = run(*words.split())
    assert (result.returncode, result.stderr) == (COULD_NOT_RUN, f"pbprobe: {says}\nTry `{help_of} --help`.\n")
