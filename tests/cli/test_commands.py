# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Commands of README and docs: run unchanged, or at least checked for known options."""

import os
import re
import shutil
import subprocess
import zipfile

import pytest
from gated import build
from test_cli import PROGRAM, SOURCE, TORCH, run
from wheels import completed

README = SOURCE / "README.md"
DOCUMENTS = [README, *sorted((SOURCE / "docs").rglob("*.md"))]
# In these pages a block is one script; in other pages each line is a script.
TUTORIALS = [
    SOURCE / "docs" / name for name in ("check-a-wheel.md", "gate-in-ci.md", "claims.md", "validate-a-fleet.md")
]
PAGES = [page for page in DOCUMENTS if page.parent.name not in ("checks", "decisions")]
COMMAND = re.compile(
    r"(?:build/bin/)?pbprobe [a-z]|(?:openssl|make|flox|pip|python|srun|sbatch|torchrun|mpirun|cd) |ci/|tools/|\.venv/"
)
# Commands that end otherwise than by 0, and why.
OTHER_CODES = {
    "pbprobe audit torch.whl --claim sm999": {2},  # no such target
    "pbprobe report --quiet --strict": {0, 1},  # by whether a GPU is here
    "pbprobe gate site-packages --claim avx2,torch=2.10.0 --require executed": {
        1,
        2,
    },  # the small build has no kernels to run
}
# Commands that run elsewhere, or by hand.
NOT_HERE = {
    "make": "ci/run and the fresh machine run it",
    "flox": "flox is not installed",
    "pbprobe merge node-*.json": "tests/fleet, of documents that ranks wrote",
    "pbprobe merge fleet/": "the same",
    "pip install 'dist/pbprobe-": "tests/python/test_wheel.py installs the wheel",
    "python -m pbprobe.fleet": "tests/fleet/test_jobs.py, by Gloo",
    "python -m pbprobe.speed": "tests/python/test_speed.py",
    "torchrun": "no launcher of a cluster is installed: tests/fleet/test_jobs.py starts the ranks",
    "srun": "the same",
    "mpirun": "the same",
    "sbatch": "Slurm is not installed",
    "pbprobe bench --target sm90 --dtype e4m3": "it takes an SM90",
    "pbprobe bench --target sm90 --dtype bf16 --out bf16": "it takes an SM90",
    "PBPROBE_REQUIRE_HARDWARE": "it takes an SM100",
    "cd ..": "ci/check generated runs ci/support_table.py",
    ".venv/bin/ctest -L": "CI runs it",
    "build/bin/pbprobe report torch-2.11.0": "a wheel of 850 MB: test_recorded_host.py has small builds",
    "tools/evidence": "tests/ci/test_evidence.py",
    "tools/measure-candidates": "it takes a GPU",
    "build/bin/pbprobe_fit_model": "tests/kernels/test_fit_model.py",
    "tools/try-patches": "it takes files of nixpkgs: tests/ci/test_try_patches.py",
    "pbprobe audit --table torch-2.8.0": "five wheels of torch have 6 GB: test_cli.py has tables of small builds",
}


def list_blocks(text):
    """Returns the indented blocks of a document, as lists of lines."""
    return [
        [line[4:] for line in block.splitlines()]
        for block in re.findall(r"(?:(?<=\n\n)|\A)((?:    .*(?:\n|\Z))+)", text)
    ]


def list_scripts(page):
    """Returns the scripts of a page: command blocks of tutorials, command lines of other pages."""
    found = []
    for block in list_blocks(page.read_text()):
        lines = [re.sub(r"\s+# .*", "", line) for line in block]
        if page in TUTORIALS and COMMAND.match(lines[0]):
            found.append("\n".join(lines))
        elif page not in TUTORIALS and (page == README or COMMAND.match(lines[0])):
            found += [
                line for line in "\n".join(lines).replace("\\\n", "").splitlines() if not line.startswith("openssl")
            ]
    return found


SCRIPTS = [
    pytest.param(script, id=f"{page.name}-{script.splitlines()[0][:60]}")
    for page in PAGES
    for script in list_scripts(page)
    if not any(script.startswith(start) for start in NOT_HERE)
]


def wheel(site, path):
    """A wheel of a small build."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(site.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(site))
        archive.writestr("torch-2.10.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.10.0\n")
    return completed(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder for the commands: a built checkout with a wheel and an installed build."""
    folder = tmp_path_factory.mktemp("pasted")
    site = build(folder / "site-packages", "-mavx2", "-mfma")
    (folder / "build/bin").mkdir(parents=True)
    (folder / "build/bin/pbprobe").symlink_to(PROGRAM)
    (folder / "wheels").mkdir()
    (folder / "tools").symlink_to(SOURCE / "tools")
    for name in ("torch.whl", "old.whl", "new.whl", "wheels/torch-2.10.0-cp313-cp313-linux_x86_64.whl"):
        wheel(site, folder / name)
    return folder


def pasted(script, folder):
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "VIRTUAL_ENV": str(SOURCE / ".venv")}
    environment.pop("GITHUB_STEP_SUMMARY", None)
    return subprocess.run(
        ["bash", "-ec", script], cwd=folder, capture_output=True, text=True, timeout=300, env=environment, check=False
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_does_what_it_says_when_it_is_pasted(script, folder):
    if " report" in script and not TORCH:
        pytest.skip("PBPROBE_TEST_TORCH names no torch")
    if "openssl" in script and not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    result = pasted(script, folder)
    expected = OTHER_CODES.get(script.removeprefix("build/bin/"), {0})
    assert result.returncode in expected, result.stdout + result.stderr


def test_prints_the_finding_of_the_tutorial(folder):
    shown = next(
        "\n".join(block)
        for block in list_blocks((SOURCE / "docs/check-a-wheel.md").read_text())
        if block[0].startswith("FAIL")
    )
    result = run("audit", folder / "torch.whl", "--claim", "avx2,torch=2.9.1")
    assert result.returncode == 1
    assert shown in result.stdout


def test_judges_the_fleet_of_the_tutorial(folder, tmp_path):
    blocks = list_blocks((SOURCE / "docs/validate-a-fleet.md").read_text())
    shown = next(block for block in blocks if block[0].startswith("FAIL"))
    subprocess.run([SOURCE / "tools/fleet-simulation", "write", tmp_path, "--nodes", "20"], check=True)
    printed = run("merge", tmp_path).stdout.splitlines()
    assert shown == printed[: len(shown)]


def test_skipped_commands_are_in_the_documents():
    lines = [line for page in PAGES for script in list_scripts(page) for line in [script]]
    assert [start for start in NOT_HERE if not any(line.startswith(start) for line in lines)] == []


def list_commands(document):
    """Yields each call of the program in code, with its options."""
    text = document.read_text()
    code = [line for block in list_blocks(text) for line in block] + re.findall(r"`([^`\n]+)`", text)
    for line in code:
        yield from re.findall(r"(?:build/bin/|^|&& )pbprobe ((?:[a-z][\w-]*)[^|#;>]*)", line)


@pytest.fixture(scope="module")
def options():
    """The options of each command, by its words."""
    known = {}

    def learn(*words):
        text = run(*words, "--help").stdout
        known[words] = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) | {"-o"}
        for command in re.findall(r"^  (\w[\w-]*)(?: |$)", text.partition("\nSubcommands:\n")[2], re.MULTILINE):
            learn(*words, command)

    learn()
    return known


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_commands_have_the_options_that_they_are_given(document, options):
    unknown = []
    for call in list_commands(document):
        words = call.split()
        command = max((known for known in options if known == tuple(words[: len(known)])), key=len)
        if not command:
            unknown.append(call)
        given = {word.split("=")[0] for word in words if re.match(r"--[a-z]", word)}
        unknown += [f"{call}: {option}" for option in given - options[command]]
    assert unknown == []
