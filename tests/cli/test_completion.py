# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Completions, as shells ask for them, and in real shells on a terminal, by the Tab key."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest
from test_cli import PROGRAM


def completed(line):
    """Returns the completions of bash for the last word."""
    words = line.split(" ")
    script = (
        f"source <({PROGRAM} completion bash); COMP_WORDS=({' '.join(map(repr, words))}); "
        f"COMP_CWORD={len(words) - 1}; _pbprobe; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    "line, offered",
    [
        ("pbprobe rep", ["report"]),
        ("pbprobe report --for", ["--format"]),
        ("pbprobe report --format ", ["text", "json", "markdown", "html"]),
        ("pbprobe recipes rec", ["recommend"]),
        ("pbprobe gate x --claim y --require ex", ["executed"]),
        ("pbprobe completion f", ["fish"]),
        ("pbprobe load", []),  # hidden
    ],
)
def test_bash_completes(line, offered):
    assert completed(line) == offered


# Start command of each shell, and a pbprobe that prints its arguments.
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "pbprobe() { echo \"GOT[$*]\"; }; source <('PROGRAM' completion bash)",
    ),
    "zsh": (["zsh", "-f", "-i"], "pbprobe() { echo \"GOT[$*]\"; }; source <('PROGRAM' completion zsh)"),
    "fish": (
        ["fish", "--no-config", "-i"],
        "function pbprobe; echo \"GOT[$argv]\"; end; 'PROGRAM' completion fish | source",
    ),
}
TYPED = {
    "rep\t": "report",
    "report --forma\t ma\t": "report --format markdown",
    "recipes recom\t": "recipes recommend",
    "completion f\t": "completion fish",
    "gate x --claim y --require ex\t": "gate x --claim y --require executed",
}


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, command, folder):
        self.child, self.screen = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), "TERM": "dumb"}
            os.execvpe(command[0], command, {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **home})

    def seen(self, pattern, seconds=30.0):
        """Waits for it, and gives all that was shown up to then."""
        text, end = "", time.monotonic() + seconds
        while not re.search(pattern, text):
            assert time.monotonic() < end, text
            if select.select([self.screen], [], [], 0.2)[0]:
                text += os.read(self.screen, 65536).decode(errors="replace")
        return text

    def type(self, keys):
        for key in re.findall(r"\t|[^\t]+", keys):
            os.write(self.screen, key.encode())
            time.sleep(0.5 if key == "\t" else 0.1)  # as one who looks at what Tab did

    def close(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.screen)


@pytest.fixture(scope="module", params=sorted(SHELLS))
def terminal(request, tmp_path_factory):
    command, setting = SHELLS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed: make setup")
    shell = Terminal(command, tmp_path_factory.mktemp("home"))
    shell.type(f"{setting.replace('PROGRAM', str(PROGRAM))}; echo rea''dy\n")
    shell.seen("ready\r?\n")
    yield shell
    shell.close()


@pytest.mark.parametrize("keys", TYPED)
def test_tab_completes(terminal, keys):
    terminal.type(f"pbprobe {keys}\n")
    shown = terminal.seen(r"GOT\[[^\]$]*\]")
    assert re.search(r"GOT\[([^\]$]*)\]", shown)[1].strip() == TYPED[keys]


def test_zsh_completes_from_a_file_on_its_path(tmp_path):
    """Loads the function on the first Tab, as in the wheel."""
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed: make setup")
    words = subprocess.run([PROGRAM, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
    (tmp_path / "_pbprobe").write_text(words)
    shell = Terminal(SHELLS["zsh"][0], tmp_path)
    try:
        shell.type(
            "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; pbprobe() { echo \"GOT[$*]\"; }; echo rea''dy\n"
        )
        shell.seen("ready\r?\n")
        shell.type("pbprobe rep\t\n")
        assert "GOT[report]" in shell.seen(r"GOT\[[^\]$]*\]").replace(" ]", "]")
    finally:
        shell.close()
