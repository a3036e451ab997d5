#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Prints the content of each cubin of this build by the audit's census, and compares it with `cuobjdump -sass`.

  census_table.py --pbprobe PROGRAM [--cuobjdump CUOBJDUMP] CUBIN...

Prints a row for each cubin: its kernels, its instructions, those that compute, copy, use local memory or trap. With
--cuobjdump each count is compared: exit code 1 if one differs, 77 if cuobjdump is missing. SMs before 7.0 have
words of another size, of which the census counts no instructions: their kernels are counted, and nothing is compared.
Counts of cuobjdump, which disassembles a cubin for up to a minute, are kept for every clone on this machine.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "audit"))
import peers

USES = {
    "math": "arithmetic",
    "tensor": "tensor cores",
    "allocation": "tensor memory",
    "copy": "copies",
    "local": "local memory",
    "trap": "traps",
}


def uses():
    """Returns the use of each mnemonic by the census' table."""
    table = pathlib.Path(__file__).parents[2] / "probes/audit/device_code/sass.inc"
    return dict(re.findall(r"^PBPROBE_SASS\((\w+), \w+, (\w+)", table.read_text(encoding="utf-8"), re.MULTILINE))


def theirs(cuobjdump, file, counted):
    counts = peers.count_instructions(cuobjdump, "-sass", file)
    return {name: count for name, count in counts.items() if name in counted}, counts.total()


def look(options, file, counted):
    """The cubin's row, and what differs."""
    [(sm, census)] = peers.audited(options.pbprobe, file)["census"].items()
    held = collections.defaultdict(list)
    for name, count in sorted(census["instructions"].items()):
        held[counted[name]].append(f"{count} {name}")
    row = [file.name, sm, str(census["kernels"]), str(census["words"])]
    row += [", ".join(held[use]) or "-" for use in USES]
    verdict, wrong = "-", None
    if options.cuobjdump and census["words"]:
        seen, words = theirs(options.cuobjdump, file, counted)
        verdict = "agrees"
        if seen != census["instructions"] or words != census["words"]:
            verdict, wrong = "differs", f"{file}: pbprobe {census}, cuobjdump {seen} in {words} words"
    return [*row, verdict], [wrong] if wrong else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pbprobe", required=True)
    parser.add_argument("--cuobjdump")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    for tool in filter(None, (options.pbprobe, options.cuobjdump)):
        if not shutil.which(tool):
            print(f"{tool} is missing: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")
            return peers.SKIPPED
    files = [file for file in options.files if file.exists()]
    if not files:
        print("none of these cubins is built: make build TARGETS=all")
        return peers.SKIPPED
    # cuobjdump asks for nvdisasm by name.
    if options.cuobjdump:
        os.environ["PATH"] = f"{pathlib.Path(options.cuobjdump).parent}{os.pathsep}{os.environ['PATH']}"
    counted = {name: use for name, use in uses().items() if use != "memory"}
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        looked = list(pool.map(lambda file: look(options, file, counted), files))
    print("| cubin | SM | kernels | instructions | " + " | ".join(USES.values()) + " | cuobjdump -sass |")
    print("|---" * (5 + len(USES)) + "|")
    for row, _ in looked:
        print("| " + " | ".join(row) + " |")
    wrong = [what for _, found in looked for what in found]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
