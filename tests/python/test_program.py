# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SOURCE

import pbprobe

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def test_module_is_the_program(python, build):
    program = subprocess.run([build / "bin" / "pbprobe", "--version"], capture_output=True, text=True, check=True)
    run = python("-m", "pbprobe", "--version")
    assert (run.returncode, run.stdout) == (0, program.stdout)
    assert run.stdout.startswith(f"pbprobe {pbprobe.__version__} ({pbprobe.__commit__})")


@pytest.mark.parametrize("arguments", [["report", "--format", "nope"], ["bench", "--shape", "0x1x1"], ["no-such"]])
def test_wrong_usage_is_2_and_one_clear_message(python, arguments):
    run = python("-m", "pbprobe", *arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("pbprobe: ")
    assert "Traceback" not in run.stderr


def test_module_means_the_torch_of_its_interpreter(python, torch):
    run = python(
        "-m", "pbprobe", "report", "--no-figures", "--format", "json", see=[torch.parent], env={"PATH": "/usr/bin:/bin"}
    )
    assert run.returncode in {0, 1}
    assert json.loads(run.stdout)["inventory"]["artifact"] == str(torch)


def test_missing_program_is_reported(python, build, tmp_path):
    package = tmp_path / "pbprobe"
    package.mkdir()
    for file in (build / "python" / "pbprobe").iterdir():
        if file.name not in {"bin", "__pycache__"}:
            (package / file.name).symlink_to(file.resolve())
    run = python("-m", "pbprobe", env={"PYTHONPATH": str(tmp_path)})
    assert run.returncode == 1
    assert run.stderr.startswith("pbprobe: ")
    assert "install the package again" in run.stderr


@pytest.mark.source
def test_core_links_neither_kernels_nor_cuda_nor_torch(build):
    (module,) = (build / "python" / "pbprobe").glob("_core*.so")
    needed = subprocess.run(["readelf", "--dynamic", module], capture_output=True, text=True, check=True).stdout
    libraries = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    assert libraries <= {
        "libstdc++.so.6",
        "libgcc_s.so.1",
        "libm.so.6",
        "libc.so.6",
        "libz.so.1",
        "libZydis.so.4.0",  # which the package ships
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    }
    # Names of kernels end in the target's name; -debug sections and symbols are in this build.
    symbols = subprocess.run(["nm", "--demangle", module], capture_output=True, text=True, check=True).stdout
    assert "pbprobe::render_report" in symbols
    assert "gemm_fp32" not in symbols


def wheel_settings(build, folder):
    """Settings for pip under which ccache knows the objects of the build folder; without ccache, the fastest ones."""
    launcher, flags = "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_CXX_FLAGS_RELWITHDEBINFO"
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE))
    if not cache.get(launcher) or cache["CMAKE_BUILD_TYPE"] != "RelWithDebInfo":
        # Without optimization: what is asked is how it is put together.
        return {"cmake.build-type": "Debug", "cmake.define.CMAKE_CXX_FLAGS_DEBUG": "-O0"}
    same = ("CMAKE_CXX_COMPILER", launcher, flags, "PBPROBE_WERROR")
    return {
        "build-dir": str(folder),
        "cmake.build-type": "RelWithDebInfo",
        **{f"cmake.define.{name}": cache[name] for name in same},
    }


@pytest.fixture
def wheel_build_folder():
    """Makes a folder at the depth of build/: ccache compares paths relative to the compiler's folder."""
    folder = SOURCE / "build-wheel"
    shutil.rmtree(folder, ignore_errors=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_wheel_ships_the_program_and_asks_for_no_torch(tmp_path, bare_python, build, wheel_build_folder):
    """`pip install .` in an environment of its own, without the network."""
    settings = wheel_settings(build, wheel_build_folder)
    subprocess.run(
        [
            *(*PIP, "wheel", "--no-index", "--no-build-isolation", "--wheel-dir", tmp_path, SOURCE),
            *(f"--config-settings={name}={value}" for name, value in settings.items()),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("pbprobe-*.whl")
    site = subprocess.run(
        [bare_python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    subprocess.run([*PIP, "install", "--no-index", "--target", site, wheel], check=True)
    (metadata,) = importlib.metadata.distributions(name="pbprobe", path=[site])
    # Only pbprobe[fleet] asks for a torch.
    assert [need for need in metadata.requires or () if "extra ==" not in need] == []
    (script,) = [point for point in metadata.entry_points if point.name == "pbprobe"]
    assert script.value == "pbprobe.__main__:main"
    shown = subprocess.run(
        [bare_python, "-m", "pbprobe", "--version"], capture_output=True, text=True, check=True, env={}
    )
    assert shown.stdout.startswith(f"pbprobe {pbprobe.__version__}")
    listed = subprocess.run(
        [bare_python, "-m", "pbprobe", "targets", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    (sm121,) = [target for target in json.loads(listed.stdout)["targets"] if target["id"] == "sm121"]
    way_out = "reinstall with PBPROBE_TARGETS=cpu,sm121"  # pip has no make
    assert sm121["why_not"] == f"not built: no kernels of sm121 in this package: {way_out}"
    torch = importlib.util.find_spec("torch")
    if torch is not None:  # it was there to build against, so the operators are in the wheel
        computes = "import pbprobe, torch; a = torch.eye(3); assert torch.equal(pbprobe.ops.mm(a, a), a)"
        subprocess.run(
            [bare_python, "-W", "ignore", "-c", computes],
            check=True,
            env={"PYTHONPATH": str(Path(torch.origin).parents[1])},
        )
