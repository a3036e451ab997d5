# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/templates/Containerfile: each of its steps is run, in a bare system in place of its base, and what it makes is run
as its user, on a root file system that cannot be written, without a network."""

import json
import os
import platform
import re
import shlex
from pathlib import Path

import pytest
from bare import DEBIAN, SOURCE, System, pristine

FILE = SOURCE / "ci/templates/Containerfile"


def steps():
    """(instruction, rest) of each line, continued ones joined."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def value(name):
    (found,) = [rest for instruction, rest in steps() if instruction == name]
    return found


@pytest.fixture(scope="module")
def dist():
    wheels = sorted((SOURCE / "dist").glob("pbprobe-*.whl"))
    if not any(wheel.stem.endswith(f"_{platform.machine()}") for wheel in wheels):
        pytest.skip("no wheel in dist: make wheel")
    return wheels


class Container:
    """Runs the steps of the file in a bare system."""

    def __init__(self, dist, folder):
        release = value("ARG").removeprefix("BASE=debian:").removesuffix("-slim")
        assert release in DEBIAN, "a base that is not Debian slim"
        self.system = System(pristine(release, ()), folder)
        self.env, self.user, self.program, self.words = {}, 0, [], []
        for instruction, rest in steps():
            getattr(self, f"do_{instruction.lower()}")(rest, dist)

    def do_arg(self, rest, dist):
        assert rest.startswith("BASE=")

    def do_from(self, rest, dist):
        assert rest == "${BASE}"

    def do_run(self, rest, dist):
        done = self.system.run("sh", "-c", rest, user=self.user, env=self.env)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    def do_copy(self, rest, dist):
        pattern, target = shlex.split(rest)
        assert pattern == "*.whl"
        for wheel in dist:
            self.system.copy(wheel, target)

    def do_env(self, rest, dist):
        self.env.update(word.split("=", 1) for word in shlex.split(rest))

    def do_user(self, rest, dist):
        self.user = int(rest.split(":")[0])

    def do_workdir(self, rest, dist):
        assert rest == "/tmp"

    def do_entrypoint(self, rest, dist):
        self.program = json.loads(rest)

    def do_cmd(self, rest, dist):
        self.words = json.loads(rest)

    def start(self, *words, shown=None, program=None):
        """Runs a command like `podman run --read-only --tmpfs /tmp --network none`."""
        command = [*(program or self.program), *(words or self.words)]
        return self.system.run(
            "env",
            "-C",
            "/tmp",
            *command,
            user=self.user,
            read_only=True,
            network=False,
            shown=shown,
            env={"HOME": "/tmp", **self.env},
        )


@pytest.fixture(scope="module")
def container(dist, tmp_path_factory):
    return Container(dist, tmp_path_factory.mktemp("container"))


def test_it_is_a_user_without_rights_on_a_file_system_that_stays(container):
    who = container.start("id -u; touch /opt/new; touch /tmp/new && echo tmp", program=["sh", "-c"])
    assert who.stdout.split() == ["10001", "tmp"]
    assert "Read-only file system" in who.stderr


def test_leaves_nothing_of_the_steps(container):
    left = container.start("ls /wheels /var/lib/apt/lists", program=["sh", "-c"])
    assert "/wheels" in left.stderr
    assert left.stdout.split() in ([], ["/var/lib/apt/lists:"])


def test_it_says_what_it_has(container):
    shown = container.start("--version")
    assert shown.returncode == 0, shown.stderr
    assert "targets compiled in" in shown.stdout


def test_it_judges_a_mounted_torch(container):
    torch = os.environ.get("PBPROBE_TEST_TORCH")
    if not torch:
        pytest.skip("no torch: `make test` finds or installs one")
    shown = {Path(torch): "/site"}
    audit = container.start("audit", "/site/torch", "--claim", "sm90,avx2", shown=shown)
    assert (audit.returncode, audit.stderr) == (0, "")
    report = container.start("report", "/site/torch", shown=shown)
    assert report.returncode == 0, report.stdout + report.stderr
    assert re.search(r"^ +CPU .* ok +ok +ok ", report.stdout, re.MULTILINE), report.stdout
