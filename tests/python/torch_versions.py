# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Runs the operators' tests in several versions of torch, each in an environment of its own, and prints the matrix.

    python3 tests/python/torch_versions.py --build build [--scratch DIR] [VERSION...]

From 2.10 on all versions load the one shared object of the build; for older ones it is built against each, for which
cmake and ninja must be on PATH. An environment takes 3 to 7 GB and some minutes, and is removed after its run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
VERSIONS = ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.13.0", "2.15.0"]
OPERATORS = "libpbprobe_ops.so"
PYTEST = next(
    line for line in (SOURCE / "cmake" / "requirements.txt").read_text().splitlines() if line.startswith("pytest==")
)


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], text=True, check=True, **options)


def environment(folder: Path, version: str) -> Path:
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", f"torch=={version}", PYTEST, "setuptools")
    return python


def torch_folder(python: Path) -> Path:
    found = run(python, "-c", "import torch; print(torch.__path__[0])", stdout=subprocess.PIPE)
    return Path(found.stdout.strip())


def prepare_package(version: str, torch: Path, build: Path, scratch: Path) -> Path:
    """Returns the folder for PYTHONPATH."""
    if tuple(int(part) for part in version.split(".")[:2]) >= (2, 10):
        return build / "python"
    folder = scratch / "build"  # one for all of them: only the operators differ
    options = ["-DPBPROBE_TARGETS=cpu", "-DPBPROBE_BUILD_TESTS=OFF", "-DPBPROBE_BUILD_PYTHON=ON"]
    run(
        *("cmake", "-G", "Ninja", "-S", SOURCE, "-B", folder, *options),
        *(f"-DPBPROBE_TORCH={torch}", f"-DPython_EXECUTABLE={sys.executable}"),
        stdout=subprocess.DEVNULL,
    )
    run("cmake", "--build", folder, "--target", "pbprobe_operators", stdout=subprocess.DEVNULL)
    package = scratch / version / "python" / "pbprobe"
    package.mkdir(parents=True)
    for file in (build / "python" / "pbprobe").iterdir():
        if file.name != OPERATORS:
            (package / file.name).symlink_to(file.resolve())
    shutil.copy(folder / "python" / "pbprobe" / OPERATORS, package)
    return package.parent


def test(version: str, build: Path, scratch: Path) -> tuple[str, bool]:
    """A row of the matrix, and whether all passed."""
    folder = scratch / f"torch-{version}"
    try:
        python = environment(folder, version)
        path = prepare_package(version, torch_folder(python), build, scratch)
        start = time.monotonic()
        result = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", SOURCE / "tests" / "python" / "test_operators.py"],
            env={**os.environ, "PYTHONPATH": str(path), "PBPROBE_TEST_BUILD": str(path.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - start
        if result.returncode != 0:
            print(result.stdout, result.stderr, file=sys.stderr)
        reported = re.search(r"\d+ (?:passed|failed|skipped|error).*?(?= in )", result.stdout)
        abi = "stable" if path == build / "python" else "C++"
        return (
            f"| {version} | {abi} | {reported[0] if reported else 'nothing ran'} | {seconds:.0f} |",
            result.returncode == 0,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--scratch", type=Path, help="where environments are made; a temporary folder by default")
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    arguments = parser.parse_args()
    good = True
    print("| torch | ABI | tests | seconds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=arguments.scratch, prefix="pbprobe-torch-") as scratch:
        for version in arguments.versions:
            row, passed = test(version, arguments.build.resolve(), Path(scratch))
            print(row, flush=True)
            good &= passed
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
