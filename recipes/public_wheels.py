#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes recipes/public_wheels.json: which SMs the public wheels of torch and of what runs beside it hold.

    recipes/public_wheels.py [--pbprobe build/bin/pbprobe] [PACKAGE==VERSION/PROCESSOR…]   adds these, or reads again
    recipes/public_wheels.py [--pbprobe …] --read WHEEL…                                 of what is here already
    recipes/public_wheels.py --page                     only the table of docs/wheels.md, which it writes each time

Without a name, all of WHEELS are read. A wheel has up to a gigabyte: one is downloaded at a time, read by `pbprobe
audit`, and removed. What the index has no wheel of for a processor stands in `absent`.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

FILE = pathlib.Path(__file__).with_name("public_wheels.json")
PAGE = FILE.parent.parent / "docs/wheels.md"
BEGIN, END = "<!-- by recipes/public_wheels.py -->\n", "<!-- end of the table -->\n"
PROCESSORS = ("x86_64", "aarch64")
PYTHONS = ("3.12", "3.11")  # torch 2.1 has no wheel for 3.12
WHEELS = {
    # From 2.1 on: 2.7.1 is the last on PyPI with code for Maxwell and Pascal.
    "torch": "2.1.2 2.2.2 2.3.1 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0".split(),
    "torchvision": "0.16.2 0.17.2 0.18.1 0.19.1 0.20.1 0.21.0 0.22.1 0.23.0 0.24.1 0.25.0 0.26.0 0.27.1 0.28.0 "
    "0.29.2".split(),
    "torchaudio": ("2.11.0",),
    "triton": ("3.9.0",),
    "xformers": ("0.0.35",),
    "flash-attn": ("2.8.3.post2",),  # only its source so far
    "vllm": ("0.33.0",),
    "bitsandbytes": ("0.50.2",),
    "cupy-cuda12x": ("14.2.0",),
    "cupy-cuda13x": ("14.2.0",),
}
TAGS = [f"manylinux_2_{minor}" for minor in (17, 24, 27, 28, 31, 34, 35, 39)] + ["manylinux2014", "linux"]
# CUDA's minor-version compatibility: the first driver branch of each major.
DRIVERS = {"11": 450, "12": 525, "13": 580}
OF_PROFILERS = ("libcupti", "libnvperf")  # whose code is for no kernel of the package
OF_CUDA = re.compile(r"lib(cudart|cublasLt|cublas|nvrtc|nvJitLink)[.-].*?so\.(\d+)")


def fetched(requirement: str, processor: str, folder: str) -> pathlib.Path | None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    for tag in TAGS:
        command += ["--platform", f"{tag}_{processor}"]
    for python in PYTHONS:
        chosen = ["--python-version", python, "--dest", folder, requirement]
        done = subprocess.run([*command, *chosen], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        if "No matching distribution" not in done.stderr:
            raise SystemExit(f"{requirement} for {processor}: {done.stderr.strip().splitlines()[-1]}")
    return next(pathlib.Path(folder).glob("*.whl"), None)


def audited(pbprobe: str, wheel: pathlib.Path) -> dict:
    command = [pbprobe, "audit", wheel, "--device-code-only", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr.strip())
    document = json.loads(done.stdout)
    return document.get("inventory") or document


def stated(wheel: pathlib.Path) -> dict:
    """What METADATA says, and torch/version.py of its CUDA."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        text = archive.read(info).decode(errors="replace").split("\n\n")[0]
        version = archive.read("torch/version.py").decode() if "torch/version.py" in names else ""
    fields = collections.defaultdict(list)
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        fields[key].append(value)
    needs = [re.match(r"torch\s*\(?([^);]*)", value) for value in fields["Requires-Dist"]]
    asked = [need[1].strip() for need in needs if need]
    return {
        "package": fields["Name"][0].lower().replace("_", "-"),
        "version": fields["Version"][0],
        "torch": (asked or [None])[0] or None,
        "cuda": (re.search(r"^cuda(?:: .*)? = '([\d.]+)'", version, re.MULTILINE) or [None, None])[1],
    }


def number(sm: str) -> tuple[int, str]:
    return int(sm.removeprefix("sm_").rstrip("af")), sm


def majors_of(inventory: dict, known: str | None) -> set[str]:
    """Of the CUDA libraries that its files need; what torch says of itself counts first."""
    if known:
        return {known.split(".")[0]}
    needed = [name for file in inventory["files"] for name in [*file["needed"], pathlib.Path(file["path"]).name]]
    return {found[2] for found in map(OF_CUDA.match, needed) if found}


def code_of(inventory: dict, kind: str) -> collections.Counter:
    """Units of each SM, over all files: packages bring a library an SM, or a CUDA release."""
    counts = collections.Counter()
    for file in inventory["files"]:
        if pathlib.Path(file["path"]).name.startswith(OF_PROFILERS):
            continue
        for code in (file["device_code"], file["self_loaded_code"]):
            counts.update((code or {}).get(kind, {}))
    return counts


def row(pbprobe: str, wheel: pathlib.Path) -> dict:
    inventory = audited(pbprobe, wheel)
    texts = stated(wheel)
    main = [file for file in inventory["files"] if file["path"] == "torch/lib/libtorch_cuda.so"]
    cubins = code_of(inventory | ({"files": main} if main else {}), "cubin")
    most = max(cubins.values(), default=0)
    # In torch a handful of units is for further SMs; of other packages each kernel has a choice of its own.
    held = {sm for sm, count in cubins.items() if not main or count * 2 >= most}
    ptx = code_of(inventory | ({"files": main} if main else {}), "ptx")
    majors = majors_of(inventory, texts["cuda"])
    return {
        "package": texts["package"],
        "version": texts["version"],
        "platform": next(one for one in PROCESSORS if wheel.stem.endswith(one)) + "-linux",
        "wheel": wheel.name,
        "torch": texts["torch"],
        "cuda": [texts["cuda"]] if texts["cuda"] else sorted(majors, key=int),
        "min_driver": DRIVERS[min(majors, key=int)] if majors else None,
        "sms": sorted(held, key=number),
        "few": sorted(set(cubins) - held, key=number),
        "ptx": sorted((sm for sm, count in ptx.items() if not main or count * 2 >= most), key=number),
    }


def identity(entry: dict) -> tuple[str, str, str]:
    return entry["package"], entry["version"], entry["platform"]


def sort_key(entry: dict) -> tuple:
    return (
        list(WHEELS).index(entry["package"]) if entry["package"] in WHEELS else len(WHEELS),
        [int(part) for part in re.findall(r"\d+", entry["version"])],
        entry["platform"],
    )


def render(rows: list[dict], absent: list[dict]) -> str:
    """One line a wheel, so that one that changed is one line of a diff."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = f'{{\n  "schema": "pbprobe.public_wheels/1",\n  "read": "{date}"'
    for key, entries in (("wheels", rows), ("absent", absent)):
        lines = ",\n".join(f"    {json.dumps(entry)}" for entry in sorted(entries, key=sort_key))
        text += f',\n  "{key}": [\n{lines}\n  ]'
    return text + "\n}\n"


def page_table(known: dict) -> str:
    """What docs/wheels.md says of them."""

    def numbers(names: list[str]) -> str:
        return " ".join(name.removeprefix("sm_") for name in names)

    text = f"Read on {known['read']}.\n\n| package | platform | asks for torch | CUDA | driver | SMs | PTX |\n"
    text += "|---" * 7 + "|\n"
    for one in known["wheels"]:
        sms = numbers(one["sms"]) + (f" (few: {numbers(one['few'])})" if one["few"] else "")
        cells = [f"{one['package']} {one['version']}", one["platform"], one["torch"], ", ".join(one["cuda"]),
                 one["min_driver"], sms, numbers(one["ptx"])]  # fmt: skip
        text += "| " + " | ".join(str(cell or "-") for cell in cells) + " |\n"
    lacking = [f"{one['package']} {one['version']} for {one['platform']}" for one in known["absent"]]
    return text + (f"\nThe index has no wheel of {', '.join(lacking)}.\n" if lacking else "")


def write_page() -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + page_table(json.loads(FILE.read_text())) + END + rest.split(END)[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pbprobe", default="build/bin/pbprobe")
    parser.add_argument("--read", nargs="*", type=pathlib.Path, default=[])
    parser.add_argument("--page", action="store_true")
    parser.add_argument("wheels", nargs="*")
    options = parser.parse_args()
    if options.page:
        write_page()
        return 0
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    rows = {identity(entry): entry for entry in known.get("wheels", [])}
    absent = {identity(entry): entry for entry in known.get("absent", [])}

    def take(wheel: pathlib.Path) -> None:
        entry = row(options.pbprobe, wheel)
        rows[identity(entry)] = entry
        absent.pop(identity(entry), None)

    for wheel in options.read:
        take(wheel)
    every = [f"{name}=={version}/{one}" for name, all_ in WHEELS.items() for version in all_ for one in PROCESSORS]
    for asked in options.wheels or ([] if options.read else every):
        requirement, _, processor = asked.partition("/")
        with tempfile.TemporaryDirectory() as folder:
            wheel = fetched(requirement, processor or PROCESSORS[0], folder)
            if wheel:
                take(wheel)
            else:
                package, _, version = requirement.partition("==")
                platform = f"{processor or PROCESSORS[0]}-linux"
                entry = {"package": package, "version": version, "platform": platform}
                absent[identity(entry)] = entry
    FILE.write_text(render(list(rows.values()), list(absent.values())))
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
