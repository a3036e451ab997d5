#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes recipes/cuda_components.json: which versions of its libraries each CUDA toolkit release consists of.

    recipes/cuda_components.py [RELEASE…]      adds these releases; without one, reads those that stand there again

The versions come from the metadata of the `cuda-toolkit` packages, a few kilobytes each, which pip downloads. The names
that the libraries are loaded by follow a rule (LIBRARIES), which tests compare with real files.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

FILE = pathlib.Path(__file__).with_name("cuda_components.json")

# Of each package: the component and its libraries. A SONAME ends in the first number of the component's version,
# or in a number of its own.
LIBRARIES = {
    "nvidia-cublas": ("cuBLAS", {"libcublas": None, "libcublasLt": None, "libnvblas": None}),
    "nvidia-cuda-cupti": ("CUPTI", {"libcupti": None}),
    "nvidia-cuda-nvrtc": ("NVRTC", {"libnvrtc": None}),
    "nvidia-cuda-runtime": ("CUDA runtime", {"libcudart": None}),
    "nvidia-cufft": ("cuFFT", {"libcufft": None, "libcufftw": None}),
    "nvidia-cufile": ("cuFile", {"libcufile": 0, "libcufile_rdma": 1}),
    "nvidia-curand": ("cuRAND", {"libcurand": None}),
    "nvidia-cusolver": ("cuSOLVER", {"libcusolver": None, "libcusolverMg": None}),
    "nvidia-cusparse": ("cuSPARSE", {"libcusparse": None}),
    "nvidia-nvjitlink": ("nvJitLink", {"libnvJitLink": None}),
    "nvidia-nvtx": ("NVTX", {}),
}

# NVIDIA supports a newer nvJitLink of the same major version with older libraries. torch 2.1 and 2.2 pin none.
LINKER = "nvJitLink"

# "nvidia-cublas==13.1.0.3.*", "nvidia-nvjitlink<14,>=13.2.86": of the latter a newer one belongs to the release too.
REQUIREMENT = re.compile(
    r"Requires-Dist: (?P<package>nvidia-[a-z-]+)(?:-cu\d+)?"
    r"(?:==(?P<exactly>[0-9.]+)\.\*|<\d+,>=(?P<least>[0-9.]+)).*extra == ['\"]all['\"]"
)


def metadata(release: str) -> str:
    """The METADATA of the release's wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", folder, f"cuda-toolkit=={release}"], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            return archive.read(name).decode()


def components(text: str) -> list[dict]:
    """Versions and SONAMEs, sorted by component, from the requirements of the extra `all`."""
    found = []
    for line in text.splitlines():
        match = REQUIREMENT.match(line)
        if not match or match["package"] not in LIBRARIES:
            continue
        name, libraries = LIBRARIES[match["package"]]
        version = match["exactly"] or match["least"]
        major = version.split(".")[0]
        sonames = [f"{stem}.so.{major if number is None else number}" for stem, number in libraries.items()]
        newer = match["least"] is not None or name == LINKER
        found.append({"component": name, "version": version, "newer_too": newer, "sonames": sonames})
    return sorted(found, key=lambda entry: entry["component"])


def number(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def render(document: dict) -> str:
    """One line a component, so that a change of one version is one line of a diff."""
    releases = []
    for entry in document["releases"]:
        rows = ",\n".join("        " + json.dumps(component) for component in entry["components"])
        head = f'    {{\n      "release": "{entry["release"]}",\n      "components": [\n'
        releases.append(f"{head}{rows}\n      ]\n    }}")
    body = ",\n".join(releases)
    return f'{{\n  "schema": "{document["schema"]}",\n  "releases": [\n{body}\n  ]\n}}\n'


def main() -> int:
    known = json.loads(FILE.read_text())["releases"] if FILE.exists() else []
    by_release = {entry["release"]: entry for entry in known}
    for release in sys.argv[1:] or list(by_release):
        by_release[release] = {"release": release, "components": components(metadata(release))}
    ordered = sorted(by_release.values(), key=lambda entry: number(entry["release"]))
    FILE.write_text(render({"schema": "pbprobe.cuda_components/1", "releases": ordered}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
