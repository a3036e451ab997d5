# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Searches ids, cubins and flags of targets outside recipes/targets.json and the kernels.

one_place.py SOURCE              prints what it finds; exit code 1 if anything
one_place.py SOURCE --self-test  plants literals and wants each found
"""

import json
import re
import sys
import tempfile
from pathlib import Path

PLACES = ("core", "probes", "bindings", "cmake", "ci", ".ci", "CMakeLists.txt", "CMakePresets.json", "Makefile")
SUFFIXES = {".cpp", ".hpp", ".h", ".py", ".pyi", ".cmake", ".txt", ".json", ".sh", ""}

# Examples of target names in help and messages: (file, text).
ALLOWED = {
    ("Makefile", "sm90"),
    ("Makefile", "avx512"),
    ("probes/cli/bench.cpp", "avx512"),
    ("probes/cli/bench.cpp", "sm90"),
    ("probes/cli/bench.cpp", "sm121"),
    ("probes/cli/audit.cpp", "sm90"),
    ("probes/cli/audit.cpp", "sm121"),
    ("probes/cli/audit.cpp", "avx512"),
    ("probes/cli/gate.cpp", "sm90"),
    ("probes/cli/gate.cpp", "avx512"),
    ("probes/cli/report.cpp", "sm90"),
    ("probes/cli/report.cpp", "avx512"),
    ("bindings/pbprobe/_package.py", "sm90"),
    ("cmake/native_targets.py", "sm90"),
    # The names of register states that the system saves, not of the targets.
    ("core/host/cpu_bits.hpp", "avx512"),
    ("core/host/cpu_x86.cpp", "avx512"),
    ("core/host/cpu_bits.hpp", "amx"),
    ("core/host/cpu_x86.cpp", "amx"),
    # glibc-hwcaps' levels by the rows that have their features.
    ("core/cpu_needs.cpp", "avx512"),
    # The example in a field's description.
    ("core/facts/environment.hpp", "avx512"),
    # Names of CPU capabilities in ATEN_CPU_CAPABILITY.
    ("probes/measure/libtorch/starts.cpp", "avx512"),
}

# States what recipes must hold a second time, on purpose: a wrong table must not make wrong recipes right.
ORACLES = {"ci/check-recipes", "ci/recipe-builds", "ci/recipe_faults.py"}


def patterns(table):
    """Names of targets: ids, cubin names, flags. Names that are also CPU features (avx, avx2) do not count."""
    features = {feature for row in table for feature in row["requires"]}
    ids = [row["id"] for row in table if row["id"] not in features]
    flags = {flag for row in table for flag in row["flags"] + row["recipe_flags"] if flag.startswith("-m")}
    words = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    yield re.compile(rf"(?<![\w-])(?:{words})(?!\w)")
    yield re.compile(r"(?<!\w)(?:sm|compute)_\d{2,3}[af]?(?!\w)")
    yield re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, sorted(flags, key=len, reverse=True))) + r")(?![\w+])")


def without_comments(text, suffix):
    """A comment may give an example; code may not."""
    if suffix in {".cpp", ".hpp", ".h"}:
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        return re.sub(r"//.*", "", text)
    if suffix in {".py", ".pyi"}:
        text = re.sub(r'"""(?!,).*?"""', "", text, flags=re.DOTALL)
    if suffix == ".json":
        return text
    return re.sub(r"(?m)(^|\s)#.*", "", text)


def files(source):
    for place in PLACES:
        path = source / place
        found = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
        yield from (file for file in found if file.is_file() and file.suffix in SUFFIXES)


def findings(source, table):
    wanted = list(patterns(table))
    for file in files(source):
        name = file.relative_to(source).as_posix()
        if "__pycache__" in name or name in ORACLES:
            continue
        lines = without_comments(file.read_text(encoding="utf-8", errors="replace"), file.suffix).splitlines()
        for line in lines:
            for pattern in wanted:
                for match in pattern.finditer(line):
                    if (name, match[0]) not in ALLOWED:
                        yield f"{name}: {match[0]} in: {line.strip()}"


PLANTED = {
    "core/a.cpp": 'if (id == "sm121") return;',
    "probes/judge/b.cpp": 'constexpr auto kBase = "sm_120";',
    "probes/c.hpp": "#define FLAGS -mavx512f",
    "bindings/d.py": 'TARGET = "avx512vnni"',
    "cmake/E.cmake": "set(flags -march=armv9-a+sve2)",
    "ci/f": "build/bin/pbprobe bench --target armv8_2",
    "Makefile": "TARGETS = sm100",
}
SOUND = {
    "core/a.cpp": '// for example sm121\nreturn features.contains("avx2");',
    "cmake/B.cmake": "# sm_121 is an example\nset(x my_sm121x)",
    "Makefile": "\t@echo 'TARGETS=sm90,avx512 a choice'",
}


def self_test(table):
    for planted, expected in ((PLANTED, len(PLANTED)), (SOUND, 0)):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in planted.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            found = {finding.split(":")[0] for finding in findings(Path(folder), table)}
        if len(found) != expected:
            print(f"wanted {expected} files to be found, got {sorted(found)} of {sorted(planted)}")
            return 1
    print("each planted literal was found, and nothing else")
    return 0


def main():
    source = Path(sys.argv[1])
    table = json.loads((source / "recipes/targets.json").read_text())["targets"]
    if "--self-test" in sys.argv[2:]:
        return self_test(table)
    found = list(findings(source, table))
    for finding in found:
        print(finding)
    if found:
        print("read it from the target table (core/targets.hpp, cmake/Targets.cmake), or, in help, add it to ALLOWED")
    elif not any(files(source)):
        print(f"no files were searched in {source}")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
