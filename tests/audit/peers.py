#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Holds `pbprobe audit` against NVIDIA's own tools: the list of fatbin entries against cuobjdump, the census against
nvdisasm.

  peers.py --pbprobe PROGRAM --cuobjdump CUOBJDUMP [--nvdisasm NVDISASM] [--speed] FILE...

With --nvdisasm each cubin is extracted and disassembled: for small files. Counts of its instructions are kept for every
clone on this machine. With --speed both list each file interleaved, and the medians and their ratio are printed. Exit
code 77: a tool is missing. Never run NVIDIA's tools on files from strangers.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "shared"))
from made import kept

SKIPPED = 77
RUNS = 7
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T0-9]+\s+)?([A-Z0-9_]+)", re.MULTILINE)


def run(*command, cwd=None):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, cwd=cwd).stdout


def count_instructions(tool, option, file):
    """Returns how often each mnemonic occurs in what the tool prints of the file."""

    def write(answer):
        answer.write_text(json.dumps(collections.Counter(INSTRUCTION.findall(run(tool, option, file)))))

    digests = (hashlib.sha256(pathlib.Path(one).read_bytes()).hexdigest() for one in (tool, file))
    inputs = (INSTRUCTION.pattern, option, *digests)
    answer = kept("instructions.json", hashlib.sha256("\0".join(inputs).encode()), write)
    return collections.Counter(json.loads(answer.read_text()))


def audited(pbprobe, file, *flags):
    done = subprocess.run([pbprobe, "audit", str(file), "--format", "json", *flags], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{file}: {done.stderr}")
    [entry] = json.loads(done.stdout)["files"]
    if entry["problem"]:
        sys.exit(f"{file}: {entry['problem']}")
    return entry["device_code"]


def listed(cuobjdump, file, what):
    """Cubins per SM: lines like "ELF file    1: libx.1.sm_90a.cubin", which leave the suffix f out."""
    text = run(cuobjdump, f"--list-{what}", file)
    return collections.Counter(re.findall(r"\.(sm_\d+a?)\.(?:cubin|ptx)$", text, re.MULTILINE))


def families(cuobjdump, file):
    """Counts cubins with the suffix f per SM: by a container's headers, or by the note of a bare cubin."""
    headers = re.findall(r"^Fatbin elf code:\n=+\narch = (sm_\d+f)$", run(cuobjdump, file), re.MULTILINE)
    notes = re.findall(r"Command Line Arguments: .*-arch (sm_\d+f)\b", run(cuobjdump, "-elf", file))
    return collections.Counter(headers if file.suffix != ".cubin" else notes)


def without_family(counts):
    """Returns the counts by the names of cuobjdump's list."""
    folded = collections.Counter()
    for name, count in counts.items():
        folded[name.removesuffix("f")] += count
    return folded


def count_mnemonics(nvdisasm, cubins):
    """Returns counts of mnemonics, the number of words, and the cubins with tensor instructions."""
    uses = uses_of_mnemonics()
    counts = collections.Counter()
    words = 0
    tensor = []
    for cubin in cubins:
        mnemonics = count_instructions(nvdisasm, "-c", cubin)
        words += mnemonics.total()
        counts.update({name: count for name, count in mnemonics.items() if uses.get(name, "memory") != "memory"})
        if any(uses.get(name) == "tensor" for name in mnemonics):
            number = re.search(r"\.(\d+)\.sm_\d+[af]?\.cubin$", cubin.name)
            tensor.append(int(number[1]) if number else 1)  # a bare cubin has none
    return counts, words, sorted(tensor)


def uses_of_mnemonics():
    table = pathlib.Path(__file__).parents[2] / "probes/audit/device_code/sass.inc"
    return dict(re.findall(r"^PBPROBE_SASS\((\w+), \w+, (\w+)", table.read_text(), re.MULTILINE))


def compare_lists(options, file):
    code = audited(options.pbprobe, file, "--device-code-only")
    wrong = 0
    for ours, what in (("cubin", "elf"), ("ptx", "ptx")):
        theirs = listed(options.cuobjdump, file, what)
        if without_family(code[ours]) != theirs:
            print(f"{file.name}: {ours}: pbprobe {code[ours]}, cuobjdump {dict(theirs)}")
            wrong += 1
    of_family = {name: count for name, count in code["cubin"].items() if name.endswith("f")}
    if options.nvdisasm and of_family != families(options.cuobjdump, file):
        print(f"{file.name}: pbprobe {of_family}, cuobjdump {families(options.cuobjdump, file)}")
        wrong += 1
    return wrong


def compare_census(options, file):
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        run(options.cuobjdump, "--extract-elf", "all", file.resolve(), cwd=folder)
        by_sm = collections.defaultdict(list)
        for cubin in pathlib.Path(folder).iterdir():
            by_sm[re.search(r"(sm_\d+[af]?)\.cubin$", cubin.name)[1]].append(cubin)
        for sm, census in audited(options.pbprobe, file)["census"].items():
            if int(re.search(r"\d+", sm)[0]) < 70:
                continue  # words of 64 bits, which are not counted
            theirs, words, tensor = count_mnemonics(options.nvdisasm, by_sm[sm.removesuffix("f")])
            ours = (collections.Counter(census["instructions"]), census["words"], census["tensor_cubins"])
            if ours != (theirs, words, tensor):
                print(f"{file.name} {sm}: pbprobe {census}, nvdisasm {dict(theirs)} in {words} words, {tensor}")
                wrong += 1
    return wrong


def seconds(*command):
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def measure(options, file):
    ours, theirs = [], []
    for _ in range(RUNS):
        theirs.append(seconds(options.cuobjdump, "--list-elf", file))
        ours.append(seconds(options.pbprobe, "audit", file, "--device-code-only", "--format", "json"))
    slow, fast = statistics.median(theirs), statistics.median(ours)
    print(f"{file.name}: {file.stat().st_size / 1e6:.0f} MB, medians of {RUNS}, interleaved:")
    print(f"  cuobjdump --list-elf               {slow * 1e3:8.1f} ms")
    print(f"  pbprobe audit --device-code-only   {fast * 1e3:8.1f} ms   {slow / fast:.0f} times as fast")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pbprobe", required=True)
    parser.add_argument("--cuobjdump", required=True)
    parser.add_argument("--nvdisasm")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    for tool in filter(None, (options.pbprobe, options.cuobjdump, options.nvdisasm)):
        if not shutil.which(tool):
            print(f"{tool} is missing: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")
            return SKIPPED
    wrong = 0
    for file in options.files:
        wrong += compare_lists(options, file)
        if options.nvdisasm:
            wrong += compare_census(options, file)
        if options.speed:
            measure(options, file)
    print(f"{len(options.files)} files, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
