# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/rooms: includes that run upwards or in a circle are found, and so is a full folder without a README."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = """
| floor | room | holds | library |
|---|---|---|---|
| 3 | `probes/cli` | the program | `pbprobe` |
| 2 | `probes/audit` | readers | `audit` |
| 2 | `kernels/cpu`, `kernels/cuda` | kernels | `kernels` |
| 2 | `kernels/cuda/host` | launches | `kernels` |
| 1 | `core/facts`, `core/*.hpp` | facts | `core` |
"""
SOUND = {
    "docs/architecture.md": TABLE,
    "core/json.hpp": "",
    "core/facts/host.hpp": '#include "core/json.hpp"\n',
    "kernels/cpu/call.hpp": '#include <vector>\n#include "core/json.hpp"\n',
    "kernels/cuda/host/gpu.hpp": '#include "kernels/cpu/call.hpp"\n',
    "probes/audit/audit.hpp": '#include "core/facts/host.hpp"\n',
    "probes/audit/zip/zip.hpp": '#include "probes/audit/audit.hpp"\n',
    "probes/cli/main.cpp": '#include "probes/audit/audit.hpp"\n#include "cli.hpp"\n',
    "probes/cli/cli.hpp": "",
    "tests/audit_test.cpp": '#include "probes/cli/cli.hpp"\n',
}


def run_rooms(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    done = subprocess.run([sys.executable, ROOT / "ci/rooms", folder], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1 if lines else 0, "")
    return lines


def test_accepts_downward_includes(tmp_path):
    assert run_rooms(tmp_path, SOUND) == []


@pytest.mark.parametrize(
    "file, line, where",
    [
        ("core/json.hpp", '#include "probes/audit/audit.hpp"', ["core/json.hpp:2"]),
        ("probes/audit/audit.hpp", '  #  include "probes/cli/cli.hpp"', ["probes/audit/audit.hpp:3"]),
        ("probes/cli/cli.hpp", '#include "tests/audit_test.cpp"', ["probes/cli/cli.hpp:2"]),
        # The reverse include exists: both ends of the cycle are named.
        (
            "kernels/cpu/call.hpp",
            '#include "kernels/cuda/host/gpu.hpp"',
            ["kernels/cpu/call.hpp:4", "kernels/cuda/host/gpu.hpp:1"],
        ),
    ],
    ids=["core", "cli", "outside", "circle"],
)
def test_finds_planted_include(tmp_path, file, line, where):
    lines = run_rooms(tmp_path, SOUND | {file: f"{SOUND[file]}\n{line}\n"})
    assert [":".join(one.split(":")[:2]) for one in lines] == where


def test_requires_readme_in_full_folder(tmp_path):
    full = SOUND | {f"core/{number}.hpp": "" for number in range(10)}
    (line,) = run_rooms(tmp_path, full)
    assert line.startswith("core: 11 files")
    assert run_rooms(tmp_path, full | {"core/README.md": "# core\n"}) == []


def test_finds_name_of_two_types(tmp_path):
    text = "namespace pbprobe {{\nstruct Other;\n{} Layout {{\n}};\n}}\n"
    both = {"kernels/cpu/call.hpp": text.format("enum class"), "probes/audit/audit.hpp": text.format("struct")}
    assert run_rooms(tmp_path, SOUND | both) == [
        "probes/audit/audit.hpp: pbprobe::Layout is defined in kernels/cpu/call.hpp too"
    ]
    short = both | {"probes/audit/audit.hpp": "namespace pbprobe {\nstruct Layout {};\n}\n"}
    assert len(run_rooms(tmp_path, SOUND | short)) == 1
    apart = both | {"probes/audit/audit.hpp": both["probes/audit/audit.hpp"].replace("pbprobe", "pbprobe::audit")}
    assert run_rooms(tmp_path, SOUND | apart) == []


def test_tree_follows_room_rules():
    done = subprocess.run([sys.executable, ROOT / "ci/rooms"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert (ROOT / "docs/architecture.md").read_text().count("| `pbprobe_audit` |") == 1  # the table is there
