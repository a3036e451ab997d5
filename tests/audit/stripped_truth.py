# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A library without its symbols has the same minimum CPU as with them, or a range that holds it.

stripped_truth.py PBPROBE FILE…     exit code 1 if the results differ, 77 if no strip supports the file

The whole file needs all that the stripped file surely needs; the stripped file may need all that the whole one needs.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = {b"\x3e\x00": "x86_64-linux-gnu-strip", b"\xb7\x00": "aarch64-linux-gnu-strip"}


def host_code(program, path):
    done = subprocess.run([program, "audit", path, "--format", "json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["files"][0]["host_code"]


def words(code):
    most = code["minimum_cpu_at_most"]
    return code["minimum_cpu"] + (f" to {most}" if most else "")


def agree(whole, bare):
    certain, needed = set(bare["unguarded"]), set(whole["unguarded"])
    return certain <= needed <= certain | set(bare["unclassified"])


def main():
    program, *files = sys.argv[1:]
    compared = wrong = 0
    for path in map(Path, files):
        with path.open("rb") as file:
            tool = TOOLS[file.read(20)[18:20]]
        if shutil.which(tool) is None:
            print(f"{path.name}: no {tool} here")
            continue
        whole = host_code(program, path)
        if whole["functions_from"] != ".symtab":
            print(f"{path.name}: stripped already: {words(whole)}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            stripped = Path(folder) / path.name
            # strip warns of the segments that BOLT adds, and goes on
            subprocess.run([tool, "-o", stripped, path], check=True, stderr=subprocess.DEVNULL)
            bare = host_code(program, stripped)
        same = agree(whole, bare) and bare["functions_from"] != ".symtab"
        print(f"{path.name}: minimum CPU {words(whole)}, stripped {words(bare)}{'' if same else '  DIFFERS'}")
        compared += 1
        wrong += not same
    if wrong:
        return 1
    return 0 if compared else 77


if __name__ == "__main__":
    sys.exit(main())
