#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes recipes/reference_builds.json: the contents of public torch wheels, as `pbprobe audit` reads them.

    recipes/reference_builds.py [--pbprobe build/bin/pbprobe] [VERSION[/PROCESSOR]…]     adds or updates these
    recipes/reference_builds.py [--pbprobe …] --read WHEEL_OR_JSON…                      reads local files

A wheel has several hundred megabytes: the script downloads one at a time, reads it and removes it.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

FILE = pathlib.Path(__file__).with_name("reference_builds.json")
CUDA = "libtorch_cuda.so"
LEAST_KERNELS = 4  # a quarter of all families has fewer, and one in 200 kernels


def fetched(version: str, processor: str, folder: str) -> pathlib.Path:
    """Downloads the wheel for Python 3.11; the device code is the same for every Python."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    platform = ["--python-version", "3.11", "--platform", f"manylinux_2_28_{processor}"]
    subprocess.run([*command, *platform, "--dest", folder, f"torch=={version}"], check=True)
    (wheel,) = pathlib.Path(folder).glob("torch-*.whl")
    return wheel


def audited(pbprobe: str, file: pathlib.Path) -> dict:
    if file.suffix == ".json":
        return json.loads(file.read_text())
    command = [pbprobe, "audit", file, "--kernels", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def count_device_code(file: dict) -> dict[str, dict]:
    """Returns the counts of each SM that most units have. torch adds other SMs and suffixes to a few files."""
    census = file["device_code"]["census"]
    most = max(row["cubins"] for row in census.values())
    return {
        sm: {"units": row["cubins"], "kernels": row["kernels"], "code_bytes": row["code_bytes"]}
        for sm, row in sorted(census.items(), key=lambda entry: int(entry[0].removeprefix("sm_").rstrip("af")))
        if sm[-1] not in "af" and row["cubins"] * 2 >= most
    }


def count_families(file: dict) -> dict[str, int]:
    """Returns the kernels of each function template, for the SM with the most kernels. Rare ones are left out."""
    census = file["device_code"]["census"]
    most = max(census.values(), key=lambda entry: sum((entry["families"] or {}).values()))
    families = most["families"] or {}
    return {family: count for family, count in sorted(families.items()) if count >= LEAST_KERNELS}


def row(inventory: dict) -> dict:
    """Makes the row of a build; its files are empty for a build without device code."""
    own = {
        pathlib.Path(file["path"]).name: file
        for file in inventory["files"]
        if file["component"] == "libtorch" and (file["device_code"] or {}).get("cubin")
    }
    name = pathlib.Path(inventory["artifact"]).name
    cuda = own.pop(CUDA, None)
    return {
        "torch": inventory["torch_version"].split("+")[0],
        "cuda": inventory["cuda_version"] or "",
        "platform": inventory["platform"],
        "build": name,
        "code": count_device_code(cuda) if cuda else {},
        "families": count_families(cuda) if cuda else None,
        "files": {
            name: {
                "linked": file["links"]["versions"],
                "code": count_device_code(file),
                "families": count_families(file),
            }
            for name, file in sorted(own.items())
        },
    }


def number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def render(rows: list[dict]) -> str:
    """Renders one line for each SM, so that a changed count is one line of a diff."""
    builds = []
    for entry in rows:
        lines = []
        for key, value in entry.items():
            if key == "code":
                inner = ",\n".join(f'        "{sm}": {json.dumps(counts)}' for sm, counts in value.items())
                lines.append(f'      "code": {{\n{inner}\n      }}')
            elif key == "families":
                lines += [f'      "families": {json.dumps(value)}'] if value else []
            elif key == "files":
                lines.append('      "files": {\n' + ",\n".join(map(render_file, value.items())) + "\n      }")
            else:
                lines.append(f'      "{key}": {json.dumps(value)}')
        builds.append("    {\n" + ",\n".join(lines) + "\n    }")
    return '{\n  "schema": "pbprobe.reference_builds/1",\n  "builds": [\n' + ",\n".join(builds) + "\n  ]\n}\n"


def render_file(file: tuple[str, dict]) -> str:
    name, held = file
    inner = ",\n".join(f'            "{sm}": {json.dumps(counts)}' for sm, counts in held["code"].items())
    linked = json.dumps(held["linked"])
    families = f',\n          "families": {json.dumps(held["families"])}' if held.get("families") else ""
    return (
        f'        "{name}": {{\n          "linked": {linked},\n          "code": {{\n{inner}\n          }}{families}'
        "\n        }"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pbprobe", default="build/bin/pbprobe")
    parser.add_argument("--read", nargs="*", type=pathlib.Path, default=[])
    parser.add_argument("versions", nargs="*")
    options = parser.parse_args()
    known = json.loads(FILE.read_text())["builds"] if FILE.exists() else []
    rows = {(entry["torch"], entry["platform"]): entry for entry in known}
    inventories = [audited(options.pbprobe, file) for file in options.read]
    for asked in options.versions:
        version, _, processor = asked.partition("/")
        with tempfile.TemporaryDirectory() as folder:
            inventories.append(audited(options.pbprobe, fetched(version, processor or "x86_64", folder)))
    for inventory in inventories:
        entry = row(inventory)
        if entry["code"]:
            rows[entry["torch"], entry["platform"]] = entry
    FILE.write_text(render(sorted(rows.values(), key=lambda entry: (number(entry["torch"]), entry["platform"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
