# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Output of readelf for a file, in the words of the audit."""

import os
import re
import subprocess

MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}


def output(*command):
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


def dynamic(file):
    """DT_NEEDED, DT_SONAME, DT_RPATH and DT_RUNPATH, as readelf -d prints them."""
    entries = {"NEEDED": [], "SONAME": [], "RPATH": [], "RUNPATH": []}
    for line in output("readelf", "-dW", file).splitlines():
        match = re.search(r"\((NEEDED|SONAME|RPATH|RUNPATH)\).*\[(.*)\]$", line)
        if match:
            entries[match[1]].append(match[2])
    return entries


def numbers(version):
    return [int(part) for part in version.split(".")]


def floors(file):
    """Highest versions that readelf -V lists as needed."""
    highest = {}
    for name, version in re.findall(r"Name: (\w+)_([0-9.]+)\s+Flags", output("readelf", "-VW", file)):
        if name not in highest or numbers(version) > numbers(highest[name]):
            highest[name] = version
    return highest


def split(paths):
    """An empty folder is one too: ld.so takes it for the current one."""
    return [folder for path in paths for folder in path.split(":")]


def machine(file):
    return MACHINES[re.search(r"Machine:\s+(.*)", output("readelf", "-hW", file))[1]]


def code_bytes(file):
    """Size of all sections of code: readelf -S marks them AX."""
    sizes = re.findall(
        r"PROGBITS\s+[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+\s+[A-Z]*X", output("readelf", "-SW", file)
    )
    return sum(int(size, 16) for size in sizes)
