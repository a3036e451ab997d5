# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""How a report is shown: --verbose, --quiet, --strict, --color, --format markdown."""

from test_cli import FAILED, PASSED, SOURCE, refused, run

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


def test_a_report_as_markdown():
    text = run("report", GOLDEN / "h200.json", "--format", "markdown").stdout
    assert text.startswith("### pbprobe: pass for torch")
