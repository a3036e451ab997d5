# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults planted in small libtorches by a real compiler (HostCodeFixtures.cmake): each is found with its id, no other.

planted.py PBPROBE FIXTURES     exit code 1 where the program says something else, 77 where no fixture was built
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# (library, claim, the ids that it must be given); a sound twin has none
CASES = [
    ("leak", "", {"PB205"}),
    ("hidden_leak", "", {"PB205"}),
    ("own", "", set()),  # the tier alone calls its inline function
    ("initializer", "", {"PB204"}),
    ("lost", "", {"PB206"}),
    ("generic", "", set()),
    ("avx512", "avx2,only", {"PB207"}),
    ("avx2", "avx,only", {"PB207"}),
    ("avx2", "avx2,only", set()),
    ("avx", "avx,only", set()),
    ("generic", "avx2,only", {"PB208"}),
    ("generic", "avx2", set()),  # at least: its tier is there
    ("avx512bf16", "avx512bf16,only", {"PB209"}),
    ("avx512", "avx512,only", set()),
    ("armv9", "armv8_2,only", {"PB207"}),
    ("armv8_2", "armv8_2,only", set()),
    ("arm_generic", "armv8_2,only", {"PB208"}),
    ("armv9", "armv9,only", set()),
]
SEVERITY = {"PB204": "fail", "PB205": "warn", "PB206": "warn", "PB207": "fail", "PB208": "fail", "PB209": "warn"}


def findings(program, library, claim):
    """Ids of the CPU findings with their severities, and the exit code, of a folder with this libtorch_cpu.so."""
    with tempfile.TemporaryDirectory() as folder:
        lib = Path(folder) / "lib"
        lib.mkdir()
        (lib / "libtorch_cpu.so").write_bytes(library.read_bytes())
        # With a claim JSON is a whole report; without one it is the inventory alone, and text has the findings.
        command = [program, "audit", folder, "--format", "json"]
        if claim:
            done = subprocess.run([*command, "--claim", claim], capture_output=True, text=True, check=False)
            document = json.loads(done.stdout)
            return {f["id"]: f["severity"] for f in document["verdict"]["findings"]}, done.returncode
        done = subprocess.run(command[:-2], capture_output=True, text=True, check=False)
        found = {id_: severity for id_, severity in SEVERITY.items() if f"{severity}  {id_}" in done.stdout}
        return found, done.returncode


def main():
    program, fixtures = sys.argv[1], Path(sys.argv[2])
    asked = wrong = 0
    for name, claim, wanted in CASES:
        library = fixtures / f"lib{name}.so"
        if not library.exists():
            continue
        asked += 1
        found, code = findings(program, library, claim)
        expected_code = 1 if "fail" in {SEVERITY[id_] for id_ in wanted} else 0
        if set(found) != wanted or any(found[id_] != SEVERITY[id_] for id_ in wanted) or code != expected_code:
            wrong += 1
            print(
                f'{name}, claim "{claim}": wanted {sorted(wanted)} and exit code {expected_code}, got {found}, {code}'
            )
    print(f"{asked} builds asked about")
    if wrong:
        return 1
    return 0 if asked else 77


if __name__ == "__main__":
    sys.exit(main())
