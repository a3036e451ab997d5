# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Progress on the terminal, and the state after an interruption."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from gated import CLAIM
from test_cli import PASSED, PROGRAM, TORCH, needs_torch


@pytest.fixture
def slow(tmp_path):
    """A program that runs until it is stopped, and tells its number: what Nix is where recipes are verified."""
    folder = tmp_path / "slow"
    folder.mkdir()
    for name in ("nix", "nix-instantiate"):
        (folder / name).write_text(
            f'#!{sys.executable}\nimport os, time\nopen("{folder}/pid", "w").write(str(os.getpid()))\ntime.sleep(600)\n'
        )
        (folder / name).chmod(0o755)
    return folder


def bench(*more):
    """About a minute of work of one thread, which loads nothing."""
    shape = ["--shape", "2048x2048x2048", "--threads", "1"]
    return [PROGRAM, "bench", *shape, "--sustained", "0.5", "--budget", "60", *more]


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def list_children(pid):
    """Returns processes with the tag of this process's children."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"PBPROBE_CHILD={pid}-".encode() in (folder / "environ").read_bytes() and is_running(folder.name):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_until(holds, seconds=30):
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_stops_it_finds_nothing_left_and_reads_how_far_it_came(tmp_path, number):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    output = tmp_path / "out.json"
    command = bench("--format", "json", "--output", str(output))
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(scratch)})
    wait_until(lambda: list_children(child.pid) and list(scratch.iterdir()))
    time.sleep(0.5)
    children = list_children(child.pid)
    sent = time.monotonic()
    child.send_signal(number)
    _, words = child.communicate(timeout=20)
    took = time.monotonic() - sent
    assert child.returncode == -number
    assert took < 0.2 * max(1, os.getloadavg()[0] / os.cpu_count()), "0.2 s, more where others compute"
    assert [pid for pid in children if is_running(pid)] == []
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch"]
    assert re.search(r"^pbprobe: stopped by \S+ after \d+\.\d s, while .+: no result was written", words, re.M), words


def test_ends_the_programs_that_it_started(slow, tmp_path):
    recipes = pathlib.Path(__file__).resolve().parents[2] / ".flox/pkgs"
    environment = {**os.environ, "PATH": f"{slow}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    command = [PROGRAM, "recipes", "verify", recipes]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (slow / "pid").exists() or child.poll() is not None)
    assert child.poll() is None, child.stderr.read()
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, words = child.communicate(timeout=20)
    assert child.returncode == -signal.SIGINT
    assert not is_running(int((slow / "pid").read_text()))
    assert "stopped by Ctrl-C" in words


def test_keeps_ignored_signals_ignored():
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *bench()]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: list_children(child.pid))
    child.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert child.poll() is None, "as under nohup"
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=20) == -signal.SIGTERM


def seen_on_terminal(command, seconds, environment):
    main, end = pty.openpty()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end, env=environment)
    os.close(end)
    os.set_blocking(main, False)
    text = b""
    until = time.monotonic() + seconds
    while time.monotonic() < until and child.poll() is None:
        try:
            text += os.read(main, 65536)
        except BlockingIOError:
            time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    child.wait(timeout=20)
    os.close(main)
    return text.decode(errors="replace")


def test_shows_step_and_time_on_a_terminal():
    ascii_only = {**os.environ, "LC_ALL": "C"}
    text = seen_on_terminal(bench(), 4, ascii_only)
    lines = [line for line in text.split("\r\x1b[K") if line]
    assert any(re.match(r"[#-]{16}   2 s  (checking|timing|preparing) ", line) for line in lines), lines[-3:]
    assert all(len(line.splitlines()[0]) < 80 for line in lines if line.splitlines())
    assert text.isascii()


@needs_torch
def test_shows_a_bar_for_a_known_total():
    text = seen_on_terminal([PROGRAM, "report", TORCH, "--budget", "20"], 5, {**os.environ, "LC_ALL": "C.UTF-8"})
    assert re.search("█+░+   [2-9] s of about 20  ", text), text[-300:]


def test_writes_a_log_line_every_ten_seconds(slow):
    environment = {**os.environ, "PATH": f"{slow}:{os.environ['PATH']}"}
    command = [PROGRAM, "recipes", "verify", pathlib.Path(__file__).resolve().parents[2] / ".flox/pkgs"]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(11.5)
    child.send_signal(signal.SIGINT)
    _, words = child.communicate(timeout=20)
    lines = words.splitlines()
    assert len(lines) == 2, words
    assert re.match(r"pbprobe: 1\d s: \w+ing ", lines[0])


def test_shows_no_progress_of_a_fast_command(sound):
    gate = subprocess.run([PROGRAM, "gate", sound, "--claim", CLAIM], capture_output=True, text=True)
    assert (gate.returncode, gate.stderr) == (PASSED, "")
