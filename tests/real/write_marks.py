# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes `least_marks` of each CPU row into recipes/targets.json: marks per thousand instructions that run everywhere
in real code with the row's flags. Writes a tenth of the measured number, for libraries with other code.

    ci/torch-source; build/bin/pbprobe is built; then
    .venv/bin/python tests/real/write_marks.py [ROW …]
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "shared")]

import aten  # noqa: E402
from made import PROGRAM, SOURCE  # noqa: E402

TABLE = SOURCE / "recipes/targets.json"
KERNELS = ("FillKernel", "CrossKernel")
C10 = ("core/TensorImpl.cpp", "core/Scalar.cpp", "core/CPUAllocator.cpp")
PART = 10  # a whole libtorch also holds protobuf, ONNX and other code with less to vectorize


def counted(target: dict, folder: pathlib.Path) -> float:
    """Marks in a thousand instructions that run everywhere."""
    sources = [aten.root() / "c10" / name for name in C10]
    objects = [aten.compile_c10(target, file) for file in sources if file.exists()]
    kernels = [aten.root() / f"aten/src/ATen/native/cpu/{name}.cpp" for name in KERNELS]
    objects += [aten.compile_capability(target, file, "DEFAULT") for file in kernels]
    every, marks = 0, dict.fromkeys(target["marks"], 0)
    for file in objects:
        command = [PROGRAM, "audit", file, "--format", "json"]
        reported = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        code = reported.get("inventory", reported)["files"][0]["host_code"]
        every += code["unguarded_instructions"]
        for name in marks:
            marks[name] += code["unguarded"].get(name, 0)
    return 1000 * max(marks.values()) / every


def rounded(number: float) -> float:
    """Down, to two digits."""
    text = f"{number:.1e}"
    value = float(text)
    return value if value <= number else value - 10 ** (int(text.split("e")[1]) - 1)


def written(text: str, identifier: str, least: float) -> str:
    row = re.compile(rf'("id": "{identifier}",.*?"least_marks": )(?:null|[0-9.e-]+)', re.DOTALL)
    return row.sub(lambda match: f"{match[1]}{least:g}", text, count=1)


def main() -> int:
    os.environ["PBPROBE_REAL_KERNELS"] = " ".join(KERNELS)
    asked = sys.argv[1:] or list(aten.targets())
    for identifier in asked:
        with tempfile.TemporaryDirectory() as folder:
            share = counted(aten.targets()[identifier], pathlib.Path(folder))
        least = rounded(share / PART)
        print(f"{identifier}: {share:.2f} in a thousand; at least {least:g}", flush=True)
        TABLE.write_text(written(TABLE.read_text(), identifier, least))
    return 0


if __name__ == "__main__":
    sys.exit(main())
