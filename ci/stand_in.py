# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The call of recipes/nix/stand-in/world.nix for this machine: its compilers, and the files of its packages."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import kept

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAND_IN = ROOT / "recipes/nix/stand-in"
SOURCE = ROOT / "build/torch-source"
SYSROOT = ROOT / "build/aarch64-sysroot"
MACHINE = platform.machine()
# Command that runs programs of another processor.
EMULATOR = {"aarch64": ("qemu-aarch64-static", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu")}
# Attribute of nixpkgs → packages of Debian. Archives count only for GoogleTest, which has nothing else.
DEBIAN = {
    "cli11": "libcli11-dev",
    "fmt": "libfmt-dev libfmt9",
    "gtest": "libgtest-dev libgmock-dev",
    "lz4": "liblz4-dev liblz4-1",
    "nlohmann_json": "nlohmann-json3-dev",
    "openssl": "libssl-dev libssl3",
    "zlib": "zlib1g-dev zlib1g",
    "zstd": "libzstd-dev libzstd1",
    "zycore": "libzycore-dev libzycore1.4",
    "zydis": "libzydis-dev libzydis4.0",
}


def output(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {last}")
    return done.stdout


def list_debian_files(name: str, packages: str, machine: str = MACHINE) -> str:
    """Returns the files of Debian packages that a build uses. For another processor, renames the files of this
    machine's packages and finds them in the sysroot."""
    root = pathlib.Path("/") if machine == MACHINE else SYSROOT
    kept = []
    for line in sorted(set(output("dpkg", "-L", *packages.split()).splitlines())):
        file = pathlib.Path("/usr" + line if line.startswith("/lib/") else line)
        wanted = file.is_relative_to("/usr/include") or file.is_relative_to("/usr/lib") or "cmake" in file.parts
        if not wanted or (file.suffix == ".a" and name != "gtest"):
            continue
        own = str(file).replace(f"{MACHINE}-linux-gnu", f"{machine}-linux-gnu")
        places = [root / own.lstrip("/")]
        if machine != MACHINE:  # unpacked, /lib is a folder of its own
            places.append(root / own.removeprefix("/usr/"))
        kept += [str(place) for place in places if place.is_symlink() or place.is_file()][:1]
    if not kept:
        raise RuntimeError(f"{root} holds nothing of {packages}")
    return " ".join(kept)


def text(value: object) -> str:
    """Quotes a text as a Nix string."""
    return json.dumps(str(value)).replace("${", "\\${")


def attributes(values: dict[str, str]) -> str:
    return "{ " + " ".join(f"{name} = {value};" for name, value in values.items()) + " }"


def cached(name: str) -> str:
    """Reads a setting of the configuration of build/; returns "" if it is not set."""
    file = ROOT / "build/CMakeCache.txt"
    lines = file.read_text().splitlines() if file.is_file() else []
    return next((line.partition("=")[2] for line in lines if line.startswith(f"{name}:")), "")


def nvcc() -> pathlib.Path:
    """Returns the nvcc of build/ (from PyPI wheels in .venv), of PATH, or of the toolkit."""
    configured = ROOT / "build/setup/configured"
    option = "-DPBPROBE_TEST_NVCC="
    lines = configured.read_text().splitlines() if configured.is_file() else []
    named = [line.removeprefix(option) for line in lines if line.startswith(option)]
    for found in (*named, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if found and pathlib.Path(found).is_file():
            return pathlib.Path(found)
    raise RuntimeError("there is no nvcc: `make matrix` installs one, or set CUDACXX and run it again")


def packages(machine: str) -> str:
    root = "" if machine == MACHINE else SYSROOT
    return attributes(
        {"root": text(root)} | {name: text(list_debian_files(name, of, machine)) for name, of in DEBIAN.items()}
    )


def own_variables(machine: str) -> str:
    """Returns the variables for compiling pbprobe: the flags of the ordinary build or of the cross preset, also for
    warnings, so that ccache has the objects that do not depend on torch."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    preset = {row["name"]: row.get("cacheVariables", {}) for row in presets}
    flags = ["-DCMAKE_CXX_FLAGS_RELEASE="]
    variables = {name: os.environ[name] for name in ("LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES") if name in os.environ}
    if machine == MACHINE:
        flags.append(f"-DPBPROBE_WERROR={cached('PBPROBE_WERROR') or 'OFF'}")
        variables |= {
            "ownCxx": cached("CMAKE_CXX_COMPILER") or "c++",
            "ownCxxFlags": preset["base"]["CMAKE_CXX_FLAGS_RELWITHDEBINFO"],
            "ownHeaders": "/usr/include",
        }
    else:
        cross = preset["aarch64"]
        flags.append(f"-DPBPROBE_WERROR={cross['PBPROBE_WERROR']}")
        flags += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={machine}"]
        flags.append(f"-DCMAKE_LIBRARY_ARCHITECTURE={machine}-linux-gnu")
        flags.append(f"-DCMAKE_CROSSCOMPILING_EMULATOR={';'.join(EMULATOR[machine])}")
        variables |= {
            "ownCxxFlags": cross["CMAKE_CXX_FLAGS_RELEASE"],
            "ownHeaders": f"../{SYSROOT.name}/usr/include",  # as seen from where that preset builds
            "ownFolder": f"build/{machine}",
            "ownSysroot": str(SYSROOT),
        }
    variables["ownCmakeFlags"] = " ".join(flags)
    return attributes({name: text(value) for name, value in variables.items()})


@functools.cache
def world(missing: str = "") -> str:
    site = pathlib.Path(output(sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
    headers = site / "torch/include"
    nvrtc = next(site.glob("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), None)
    # Nix deletes a builder's HOME, where ccache would store its files. CMake and Ninja are the PyPI packages, as in the
    # ordinary build.
    tools = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    machines = [MACHINE, *(other for other in EMULATOR if other != MACHINE and SYSROOT.is_dir())]
    return f"""import {STAND_IN}/world.nix {{
      path = {text(tools)}; python = {text(sys.executable)};
      debian = {attributes({f"{machine}-linux": packages(machine) for machine in machines})};
      own = {attributes({f"{machine}-linux": own_variables(machine) for machine in machines})};
      pybind11 = {text(site / "pybind11")}; cuda = {text(nvcc().parents[1])};
      pytorch = {text(SOURCE)}; torchHeaders = {text(headers) if headers.is_dir() else "null"};
      cmakeFlags = {text(f"-DCMAKE_CXX_COMPILER_LAUNCHER={ROOT}/cmake/cached")};
      nvrtc = {text(nvrtc) if nvrtc else "null"}; missing = {text(missing)}; cache = {text(kept.folder())};
    }}"""
