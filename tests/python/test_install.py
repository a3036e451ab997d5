# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pip install .` and `uv pip install .` with build isolation, in environments with a torch and without one."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from test_program import SOURCE, wheel_build_folder, wheel_settings  # noqa: F401

COMPUTES = "import torch; from pbprobe import ops; a = torch.eye(3); assert torch.equal(ops.mm(a, a), a)"
UNREACHABLE = r"Failed to fetch|No matching distribution|Could not find a version|ConnectionError|dns error"


class Environment:
    """A new one, with a torch (a link to the real one), or without any."""

    def __init__(self, folder, torch):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.python = folder / "bin/python3"
        self.site = next((folder / "lib").glob("python3*")) / "site-packages"
        self.torch = torch
        if torch:
            (self.site / "torch").symlink_to(torch)

    def install(self, tool, settings, environment=None):
        """With build isolation; what it needs besides comes from the package index."""
        command = [self.python, "-m", "pip", "install"]
        if tool == "uv":
            uv = shutil.which(os.environ.get("PBPROBE_UV", "uv"))
            if not uv:
                pytest.skip("uv is not installed: pip install uv, or name it in PBPROBE_UV")
            command = [uv, "pip", "install", "--python", self.python]
        options = [f"--config-settings={name}={value}" for name, value in settings.items()]
        hidden = {"PYTHONPATH", "PBPROBE_TORCH", "PBPROBE_TARGETS", "VIRTUAL_ENV"}
        clean = {key: value for key, value in os.environ.items() if key not in hidden}
        done = subprocess.run(
            [*command, "--no-deps", *options, SOURCE],
            capture_output=True,
            text=True,
            check=False,
            env=clean | (environment or {}),
        )
        if done.returncode != 0 and re.search(UNREACHABLE, done.stderr + done.stdout):
            pytest.skip("the package index cannot be reached")
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]

    def run(self, code, see=()):
        path = os.pathsep.join(map(str, see))
        return subprocess.run(
            [self.python, "-c", code], capture_output=True, text=True, check=False, env={"PYTHONPATH": path}
        )


# A fresh folder at the depth of build/ each time: an isolated environment is deleted after its build.
@pytest.mark.install
@pytest.mark.parametrize(
    "tool, has_torch, named, built",
    [
        ("pip", False, False, False),
        ("pip", True, False, True),  # the isolated build runs this environment's interpreter, which sees its torch
        ("uv", True, False, False),  # the isolated build has an interpreter of its own
        ("uv", True, True, True),
    ],
)
def test_isolated_install_builds_the_operators_or_explains(
    tmp_path,
    build,
    torch,
    wheel_build_folder,  # noqa: F811
    tool,
    has_torch,
    named,
    built,
):
    here = Environment(tmp_path / "venv", torch if has_torch else None)
    here.install(tool, wheel_settings(build, wheel_build_folder), {"PBPROBE_TORCH": str(torch)} if named else {})
    package = here.site / "pbprobe"
    assert (package / "bin/pbprobe").is_file()
    assert (package / "libpbprobe_ops.so").is_file() == built
    see = [torch.parent]  # torch needs more of its site-packages than its own folder
    reported = here.run(COMPUTES, see)
    if built:
        assert reported.returncode == 0, reported.stderr
    else:
        assert "pbprobe.ops: not in this package: it was built without a torch" in reported.stderr
        assert "PBPROBE_TORCH=" in reported.stderr
    # Kernels of a GPU are not among those that are built by default.
    shown = here.run("from pbprobe import _package; print(_package.no_gpu_kernels(['sm121']))", see)
    assert shown.stdout.startswith("no GPU kernels in this package: reinstall with PBPROBE_TARGETS=cpu,sm121"), shown
    report = here.run("import pbprobe; r = pbprobe.report(show=False, budget=1); print(r.verdict, r.problems)", see)
    assert report.returncode == 0, report.stderr
