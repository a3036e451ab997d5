# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""cmake/bootstrap.sh on a DGX Spark, as far as it can be walked without one.

The script is the real one, in a copy of what it reads, and the real native_targets.py answers it. Doubles are the
machine (aarch64, a GPU of capability 12.1, a list of installed packages, a user who is not root, CUDA in a folder that
is not on PATH), and pip and CMake, which write down what they were asked for.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
READ = ("cmake", "recipes/targets.json")
NEEDS = ("build", "test", "torch", "configure")  # of `make test`
DRIVER = """
int cuInit(unsigned f) { return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetAttribute(int *v, int what, int d) { *v = what == 75 ? 12 : 1; return 0; }
"""
VENV_PYTHON = """#!/bin/bash
case $1 in
  -m) shift; echo "$@" >>"$ASKED/pip" ;;
  -c) [[ -z ${OLD:-} || $2 != *"(3, 11)"* ]] ;;
  -) echo "$PWD/.venv/lib/python3.12/site-packages/torch" ;;
esac
"""


class Spark:
    """Checkout on a simulated machine."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.tree, self.bin = folder, folder / "pbprobe", folder / "bin"
        self.asked, self.cuda = folder / "asked", folder / "usr/local/cuda"
        for made in (self.tree, self.bin, self.asked, folder / "machine", self.tree / ".venv/bin"):
            made.mkdir(parents=True)
        for part in READ:
            (self.tree / part).parent.mkdir(exist_ok=True)
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, self.tree / part)
        (folder / "machine/sitecustomize.py").write_text("import platform\nplatform.machine = lambda: 'aarch64'\n")
        driver = ("cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / "machine/libcuda.so.1")
        subprocess.run(driver, input=DRIVER, text=True, check=True)
        self.program("dpkg-query", 'grep -qx -- "${@: -1}" "$ASKED/missing" || echo installed')
        self.program("id", "echo 1000")
        self.program("sudo", 'echo sudo "$@" >>"$ASKED/root"; exit 1')
        self.program("apt-get", 'echo apt-get "$@" >>"$ASKED/root"; exit 1')
        (self.bin / "python3").symlink_to(sys.executable)
        self.write(self.tree / ".venv/bin/python3", VENV_PYTHON)
        self.write(
            self.tree / ".venv/bin/cmake", '#!/bin/bash\nprintf "%s\\n" "$@" >>"$ASKED/cmake"; : >build/build.ninja\n'
        )
        (self.tree / ".venv/lib/python3.12/site-packages/nvidia/cu13/bin").mkdir(parents=True)
        self.missing()
        self.toolkit("13.0")

    def write(self, path: pathlib.Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def program(self, name: str, body: str) -> None:
        self.write(self.bin / name, f"#!/bin/bash\n{body}\n")

    def missing(self, *packages: str) -> None:
        (self.asked / "missing").write_text("".join(f"{package}\n" for package in packages))

    def toolkit(self, release: str | None) -> None:
        shutil.rmtree(self.cuda, ignore_errors=True)
        if release:
            self.write(
                self.cuda / "bin/nvcc", f"#!/bin/bash\necho 'Cuda compilation tools, release {release}, V{release}.1'\n"
            )

    def set_up(self, *options: str, **environment: str) -> subprocess.CompletedProcess:
        kept = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
        machine = str(self.folder / "machine")
        known = {"PATH": f"{self.bin}:/usr/bin:/bin", "PYTHONPATH": machine, "LD_LIBRARY_PATH": machine}
        known |= {"ASKED": str(self.asked), "CUDA_HOME": str(self.cuda)}
        command = [self.tree / "cmake/bootstrap.sh", *options, *NEEDS]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env={**kept, **known, **environment}, timeout=60
        )

    def lines(self, name: str) -> list[str]:
        file = self.asked / name
        return file.read_text().splitlines() if file.exists() else []

    def installed(self) -> set[str]:
        """Names of packages that pip was asked for, by name or as the lines of a file."""
        names = set()
        for words in map(str.split, self.lines("pip")):
            for file in (word for at, word in enumerate(words) if words[at - 1] == "-r"):
                names |= pins((self.tree / file).read_text())
            options = {at + 1 for at, word in enumerate(words) if word in ("-r", "--constraint")}
            names |= {w for at, w in enumerate(words) if at > 1 and at not in options and not w.startswith("-")}
        return names


def pins(text: str) -> set[str]:
    return set(re.findall(r"^([A-Za-z0-9_.-]+)==", text, re.MULTILINE))


@pytest.fixture
def spark(tmp_path):
    return Spark(tmp_path)


def test_selects_targets_of_the_machine(spark):
    done = spark.set_up()
    assert done.returncode == 0, done.stderr
    given = spark.lines("cmake")
    assert "-DPBPROBE_TARGETS=sm121,armv8_2,armv9" in given
    assert f"-DPBPROBE_NVCC={spark.cuda}/bin/nvcc" in given
    assert f"-DPBPROBE_TEST_TORCH={spark.tree}/.venv/lib/python3.12/site-packages" in given
    assert not spark.lines("root")


def test_installs_only_what_ci_wheels_checks(spark):
    spark.toolkit(None)
    assert spark.set_up().returncode == 0
    asked_for = set().union(*(pins(file.read_text()) for file in ROOT.glob("cmake/requirements*.txt")))
    assert {"torch", "cmake", "pytest", "nvidia-cuda-nvcc"} <= spark.installed()
    assert spark.installed() <= asked_for


def test_installs_no_compiler_with_system_cuda(spark):
    assert spark.set_up().returncode == 0
    assert "torch" in spark.installed()
    assert not {"nvidia-cuda-nvcc", "nvidia-cuda-nvrtc-cu12"} & spark.installed()


@pytest.mark.parametrize("release", [None, "12.8"])
def test_installs_nvcc_wheel_for_unknown_sm(spark, release):
    spark.toolkit(release)
    assert spark.set_up().returncode == 0
    assert "nvidia-cuda-nvcc" in spark.installed()
    wheel = spark.tree / ".venv/lib/python3.12/site-packages/nvidia/cu13/bin/nvcc"
    assert f"-DPBPROBE_NVCC={wheel}" in spark.lines("cmake")


def test_prints_commands_without_root(spark):
    spark.missing("libzydis-dev", "ccache")
    done = spark.set_up()
    assert done.returncode == 2
    typed = "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ccache libzydis-dev"
    assert typed in done.stderr.splitlines()
    assert "then the same make command again" in done.stderr
    assert spark.lines("root") == ["sudo -n true"]
    assert not spark.lines("pip") and not spark.lines("cmake")


@pytest.mark.parametrize("user, asked_for", [("1000", False), ("0", True)])
def test_uses_debian_cmake_as_root_and_wheel_ctest(spark, user, asked_for):
    spark.program("id", f"echo {user}")
    listed = spark.set_up("--list")
    assert ("cmake" in listed.stdout.split()) == asked_for, listed.stderr
    spark.program("id", "echo 1000")
    assert spark.set_up().returncode == 0
    assert "cmake" in spark.installed()
    assert (ROOT / ".venv/bin/ctest").exists()  # what that wheel holds


def test_uses_ctest_named_in_documents():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    called = [(page.name, line) for page in pages for line in page.read_text().splitlines() if "ctest -L" in line]
    assert len(called) >= 5
    for page, line in called:
        assert line.count("ctest -L") == line.count(".venv/bin/ctest -L '^") == line.count("--no-tests=error"), page


def test_refuses_tests_on_older_python(spark):
    done = spark.set_up(OLD="yes")
    assert done.returncode == 2
    assert "older than 3.11, which tests and lint need" in done.stderr
    assert not spark.lines("pip")


def test_second_run_does_nothing(spark):
    assert spark.set_up().returncode == 0
    before = spark.lines("pip"), spark.lines("cmake")
    done = spark.set_up()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (spark.lines("pip"), spark.lines("cmake")) == before


def test_keeps_named_targets(spark):
    assert spark.set_up(TARGETS="sm121,armv9").returncode == 0
    assert spark.set_up().returncode == 0
    assert [line for line in spark.lines("cmake") if "TARGETS" in line] == ["-DPBPROBE_TARGETS=sm121,armv9"]
