# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The minimum CPU of packages beside torch, compared with what an emulated Nehalem does with them.

PBPROBE_TEST_MINIMUM_CPU=all, or package names, downloads each wheel, and removes it after its test. A package whose
minimum has no AVX must load without an illegal instruction; one that needs AVX must not.
"""

import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys

import pytest
from made import PROGRAM

QEMU = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
WHEELS = (
    "av brotli catboost cryptography ctranslate2 datafusion decord duckdb grpcio h5py jaxlib kornia-rs lancedb "
    "lightgbm llvmlite mediapipe numpy onnxruntime opencv-python-headless openvino orjson pillow polars-runtime-32 "
    "pyarrow pydantic-core rapidfuzz rasterio safetensors scipy sentencepiece tiktoken tokenizers torchcodec "
    "warp-lang xgboost-cpu zstandard".split()
)
ASKED = os.environ.get("PBPROBE_TEST_MINIMUM_CPU", "")
CHOSEN = WHEELS if ASKED == "all" else [name for name in ASKED.split(",") if name]
# Loads each library, and starts each module, if its dependencies are installed: only the signal that ends it counts.
LOAD = """
import ctypes, importlib.util, sys
for path in sys.argv[1:]:
    name = path.rpartition("/")[2].partition(".")[0]
    try:
        if hasattr(ctypes.CDLL(path), "PyInit_" + name):
            spec = importlib.util.spec_from_file_location(name, path)
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except BaseException:
        pass
"""

# Packages whose Python chooses between modules, with a statement that uses the choice: no other module is for any CPU.
CHOOSES = {"rapidfuzz": "import rapidfuzz.fuzz, sys; print([name for name in sys.modules if name.endswith('_avx2')])"}

pytestmark = [
    pytest.mark.skipif(not CHOSEN, reason="downloads wheels: PBPROBE_TEST_MINIMUM_CPU=all or names"),
    pytest.mark.skipif(not QEMU or platform.machine() != "x86_64", reason="needs qemu-user-static on x86_64"),
]


@pytest.fixture(params=CHOSEN)
def site(request, tmp_path):
    folder = tmp_path / "site-packages"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:"]
    subprocess.run([*command, "--target", folder, request.param], check=True, timeout=900)
    yield folder
    shutil.rmtree(folder)


def read_minimum_cpu(folder):
    command = [PROGRAM, "audit", folder, "--distributions", "--format", "json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["distributions"]
    [row] = [row for row in rows if row["minimum_cpu"]]
    return row["minimum_cpu"]


def run_emulated(site, cpu):
    libraries = sorted(map(str, pathlib.Path(site).rglob("*.so*")))
    chooses = CHOOSES.get(next((name for name in CHOOSES if (site / name).is_dir()), None))
    code = f"import sys; sys.path.insert(0, {str(site)!r}); {chooses}" if chooses else LOAD
    command = [QEMU, "-cpu", cpu, sys.executable, "-c", code, *libraries]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.parametrize("site", [name for name in CHOSEN if name in CHOOSES], indirect=True)
def test_python_chooses_modules_by_cpu(site):
    assert "selects avx2 at run time" in read_minimum_cpu(site)
    assert run_emulated(site, "Nehalem").stdout == "[]\n"
    assert "_avx2" in run_emulated(site, "Haswell").stdout


def test_minimum_agrees_with_emulated_cpu(site):
    minimum = read_minimum_cpu(site)
    print(f"\n{site.parent.name}: {minimum}")
    assert "apx_f" not in minimum and "avx10" not in minimum
    done = run_emulated(site, "Nehalem")
    died = done.returncode in (-signal.SIGILL, 128 + signal.SIGILL)
    if minimum.removeprefix("at most ").startswith("x86_64"):
        assert not died, done.stderr
    elif minimum.removeprefix("at least ").startswith("avx"):
        assert died, f"{minimum}, and it loads on a Nehalem"
