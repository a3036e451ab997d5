# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Reads the machine code of a CPU target's objects.

    objects.py purity ID TABLE ROOT CXX FOLDER [--level LEVEL] [--source FILE] [--object FILE] [--flag FLAG]… [-DNAME]…
    objects.py loops  ID TABLE ROOT CXX FOLDER [--level LEVEL] [--object FILE] [--flag FLAG]…

purity  no instruction outside the row's flags, no symbol that other objects could take for theirs, no include but
        intrinsics, <cstddef>, <cstdint> and family headers
loops   of each main tile: how much of the K loop multiplies, on how many accumulators, and an untouched stack

LEVEL is -O0, -O3 or asan; an object that was built is read instead of compiled. Instructions of an object are judged
once for every clone on this machine. Exit code 77: a tool is missing.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from made import compute_digest, kept, read_version_text

SKIPPED = 77
LEVELS = {
    "-O3": ["-O3"],
    "-O0": ["-O0"],
    "asan": "-O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer".split(),
}
INCLUDES = re.compile(r"<(immintrin\.h|arm_neon\.h|arm_sve\.h|cstddef|cstdint)>|\"kernels/cpu/[a-z0-9_]+\.hpp\"")
# Headers of the library that <cstddef>, <cstdint> and the intrinsics include: no code.
LIBRARY = "cstddef cstdint c++config.h os_defines.h cpu_defines.h mm_malloc.h stdlib.h cstdlib std_abs.h pstl_config.h"
# Symbols of the sanitizers, and descriptions of types, which hold no code.
SANITIZERS = re.compile(r"asan|ubsan|sanitizer|__(start|stop)_|^typeinfo (name )?for ")


def run(*command, text=None, cwd=None):
    done = subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True, cwd=cwd, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find_target_row(table, name):
    rows = json.loads(Path(table).read_text(encoding="utf-8"))["targets"]
    return next(row for row in rows if row["id"] == name)


def tool(compiler, name):
    """The binutils of this compiler, which may be a cross compiler."""
    found = run(compiler, f"-print-prog-name={name}").strip()
    return found if shutil.which(found) else name


def compile_source(options, row):
    """The object, and the files that went into it."""
    compiler = [options.cxx]
    if options.level == "asan" and "clang" not in Path(options.cxx).name:
        # The preset uses clang too: gcc 12 ends with an internal error on SVE.
        compiler = ["clang++", f"--target={row['architecture']}-linux-gnu"]
    for program in (compiler[0], options.cxx):
        if not shutil.which(program):
            print(
                f"{options.id} at {options.level} is not inspected: {program} is not installed (make check installs it)"
            )
            sys.exit(SKIPPED)
    source = Path(options.source or Path(options.root) / "kernels/cpu" / f"{options.id}.cpp")
    words = [*row["flags"], *LEVELS[options.level], *options.define, *options.flag]
    digest = hashlib.sha256(" ".join([str(source), *compiler, *words]).encode()).hexdigest()[:12]
    target = Path(options.folder) / f"{source.stem}-{digest}.o"
    target.parent.mkdir(parents=True, exist_ok=True)
    warnings = ["-std=c++20", "-w", "-fPIC", "-fvisibility=hidden", f"-I{options.root}"]
    cached = Path(options.root) / "cmake/cached"  # through ccache, which names files of the tree from its root
    depend = ["-MD", "-MF", f"{target}.d"]
    run(cached, *compiler, *warnings, *words, *depend, "-c", source, "-o", target, cwd=options.root)
    read = Path(f"{target}.d").read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]
    return target, source, [str(Path(options.root) / name) for name in read]


# ---- instructions -------------------------------------------------------------------------------------------------


def functions(options, target):
    """{demangled name: [(address, mnemonic, operands)]}"""
    result = defaultdict(list)
    name = None
    for line in run(tool(options.cxx, "objdump"), "-dC", "--no-show-raw-insn", target).splitlines():
        if head := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            name = head[1]
        elif name and (found := re.match(r"^\s+([0-9a-f]+):\t(\S+)(?:\s+(.*))?$", line)):
            result[name].append((int(found[1], 16), found[2], found[3] or ""))
    return result


def x86_options(flags):
    """The assembler's name of each flag, on top of what every x86-64 CPU has."""
    renamed = {"avx512bf16": "avx512_bf16", "avx512vnni": "avx512_vnni", "avxvnni": "avx_vnni"}
    names = [flag[2:] for flag in flags if flag.startswith("-m") and not flag.startswith("-mno-")]
    return "generic64" + "".join("+" + renamed.get(name, name.replace("-", "_")) for name in names)


def assembler_options(row):
    if row["architecture"] == "x86_64":
        return f"-march={x86_options(row['flags'])}"
    return next(flag for flag in row["flags"] if flag.startswith("-march="))


def assembled_again(row, mnemonic, operands):
    """An instruction as the assembler takes it; None for branches and padding, whose operands are places."""
    operands = re.sub(r"\s*(//|#).*$" if row["architecture"] == "x86_64" else r"\s*//.*$", "", operands)
    operands = re.sub(r"\s*<[^>]*>", "", operands).strip()
    if row["architecture"] == "x86_64":
        # data16 and cs only pad; every CPU takes them.
        if re.match(r"(call|j[a-z]+|bnd|notrack|data16|cs|nop[wl]?|xchg|loop\w*)$", mnemonic):
            return None
    elif re.match(r"(b|bl|b\..*|bc\..*|cbn?z|tbn?z|adrp?|\.word|\.inst|udf)$", mnemonic):
        return None
    return f"{mnemonic} {operands}"


def foreign_instructions(options, row, code):
    """Assembles every instruction again with only the row's flags, and returns the refused ones."""
    where = {}
    for name, instructions in code.items():
        for _, mnemonic, operands in instructions:
            if line := assembled_again(row, mnemonic, operands):
                where.setdefault(line, name)
    lines = list(where)
    command = [tool(options.cxx, "as"), assembler_options(row), "-o", "/dev/null", "-"]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    refused = re.findall(r"\{standard input\}:(\d+): Error: (.*)", done.stderr)
    if done.returncode != 0 and not refused:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    for number, message in refused:
        line = lines[int(number) - 1]
        yield f'outside {options.id}: "{line}" in {where[line]}: {message}'
    if len(lines) < 3:
        sys.exit(f"only {len(lines)} instructions were read")


def judge_instructions(options, row, target):
    """Returns the number of instructions and the faults among them, from the last time if nothing changed since."""

    def write(answer):
        code = functions(options, target)
        faults = list(foreign_instructions(options, row, code))
        answer.write_text(json.dumps({"count": sum(map(len, code.values())), "faults": faults}))

    tools = (read_version_text(tool(options.cxx, name)) for name in ("objdump", "as"))
    inputs = (options.id, json.dumps(row["flags"]), *tools, *map(compute_digest, (Path(__file__), target)))
    answer = kept("instructions.json", hashlib.sha256("\0".join(inputs).encode()), write)
    return json.loads(answer.read_text()).values()


# ---- purity -------------------------------------------------------------------------------------------------------


def escaping_symbols(options, target):
    for line in run(tool(options.cxx, "nm"), "-C", target).splitlines():
        kind, name = line[17:].split(" ", 1)
        if SANITIZERS.search(name):
            continue
        if kind in "WwVvu":
            yield f"weak symbol: {name}"
        elif kind in "TDBR" and not name.startswith(f"pbprobe::{options.id}::"):
            yield f"symbol of another namespace: {name}"


def forbidden_includes(options, source, files):
    for file in sorted({source, *(Path(f) for f in files if "/kernels/cpu/" in f)}):
        for include in re.findall(r"^\s*#\s*include\s+(\S+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            if not INCLUDES.fullmatch(include):
                yield f"{file.name} includes {include}"
    for file in files:
        if "/c++/" in file and Path(file).name not in LIBRARY.split():
            yield f"{source.name} includes the standard library's {file}"


def check_purity(options, row):
    source, files = None, []
    if options.object:
        target = Path(options.object)
    else:
        target, source, files = compile_source(options, row)
    count, faults = judge_instructions(options, row, target)
    faults += escaping_symbols(options, target)
    if source:
        faults += forbidden_includes(options, source, files)
    if faults:
        print("\n".join(faults[:40]))
        return 1
    print(f"{options.id} {target.name}: {count} instructions, all of {assembler_options(row)}")
    return 0


# ---- K loops ------------------------------------------------------------------------------------------------------

# (mnemonic, least accumulators); the least share of multiplications in the loop, by target.
ACCUMULATORS = {"fmla": 20, "sdot": 20, "bfmmla": 16, "smmla": 16, "usmmla": 16}
SHARES = {"armv8_2": 0.80, "armv9": 0.70}
# x86 targets, whose tiles are written in C++: the multiplying and the adding instruction, and the number of sums.
TILES = {
    "avx": {("vmulps", "vaddps"): 10},
    "avx2": {("vfmadd231ps", "vfmadd231ps"): 12, ("vpmaddwd", "vpaddd"): 12},
    "avxvnni": {("vpdpbusd", "vpdpbusd"): 12},
    "avx512": {("vfmadd231ps", "vfmadd231ps"): 24, ("vpmaddwd", "vpaddd"): 24},
    "avx512bf16": {("vdpbf16ps", "vdpbf16ps"): 28},
    "avx512vnni": {("vpdpbusd", "vpdpbusd"): 28},
}
# Instructions of small-M GEMMs, which have no main tile.
FEW_ROWS = {("armv9", "fmla v.4s"), ("armv9", "sdot v.4s")}


def innermost_loops(instructions):
    """Returns the bodies between a branch and its earlier target that contain no other body."""
    first = instructions[0][0]
    edges = []
    for address, mnemonic, operands in instructions:
        if re.match(r"(b|b\..*|cbn?z|tbn?z|j[a-z]+)$", mnemonic) and (to := re.search(r"\b([0-9a-f]+) <", operands)):
            begin = int(to[1], 16)
            if first <= begin <= address:
                edges.append((begin, address))
    for begin, end in edges:
        if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in edges):
            yield [i for i in instructions if begin <= i[0] <= end]


def main_loops(code):
    """Returns {mnemonic: (function, body)}: the loop with most uses of each instruction, except peak loops."""
    best = {}
    for name, instructions in code.items():
        if "microkernel" not in name or not instructions:
            continue
        for body in innermost_loops(instructions):
            for mnemonic in ACCUMULATORS:
                count = sum(i[1] == mnemonic for i in body)
                if count > best.get(mnemonic, (0,))[0]:
                    best[mnemonic] = (count, name, body)
    return best


def is_stack(register, before):
    """Does the register hold an address of the stack, by what set it last? SVE reaches its spills by such ones."""
    if register in ("sp", "x29"):
        return True
    for index in range(len(before) - 1, -1, -1):
        _, mnemonic, operands = before[index]
        words = [word.strip() for word in operands.split(",")]
        if words[0] != register or re.match(r"(st|cmp|cmn|tst|cb|tb|prf|b)", mnemonic):
            continue
        derives = re.match(r"(add|addvl|addpl|sub|mov)$", mnemonic)
        return bool(derives) and any(is_stack(word, before[:index]) for word in words[1:2])
    return False


def stack_accesses(function, body):
    """Loads and stores of a loop that go to the stack."""
    found = []
    for at, instruction in enumerate(body):
        if base := re.search(r"\[(\w+)", instruction[2]):
            before = [i for i in function if i[0] < body[0][0]] + body[:at]
            if is_stack(base[1], before):
                found.append(f"{instruction[1]} {instruction[2]}")
    return found


def check_tiles(options, code):
    """The K loops of x86 tiles: as many sums as the tile has, all of them in registers."""
    faults = []
    for (multiplies, adds), wanted in TILES[options.id].items():
        bodies = []
        for name, instructions in code.items():
            if "microkernel" in name and instructions:
                plain = [
                    (at, *f"{word} {rest}".removeprefix("{vex} ").split(" ", 1)) for at, word, rest in instructions
                ]
                bodies += [(name, body) for body in innermost_loops(plain)]
        most = max((sum(i[1] == multiplies for i in body) for _, body in bodies), default=0)
        if most < wanted:
            faults.append(f"no K loop of {wanted} {multiplies}")
            continue
        for name, body in bodies:
            if sum(i[1] == multiplies for i in body) < most:
                continue
            sums = {i[2].split(",")[-1] for i in body if i[1] == adds}
            stack = [f"{i[1]} {i[2]}" for i in body if re.search(r"\(%r[sb]p", i[2])]
            print(f"{multiplies}: {most} of {len(body)} instructions, {len(sums)} sums, {name}")
            if len(sums) < wanted:
                faults.append(f"{multiplies}: {len(sums)} accumulators, less than {wanted}")
            if stack:
                faults.append(f"{multiplies}: its K loop uses the stack: {'; '.join(stack[:3])}")
    print("\n".join(faults))
    return 1 if faults else 0


def check_loops(options, row):
    target = Path(options.object) if options.object else compile_source(options, row)[0]
    code = functions(options, target)
    if options.id in TILES:
        return check_tiles(options, code)
    loops = main_loops(code)
    faults = []
    for path in row["instructions"]:
        small_m = (options.id, path["name"]) in FEW_ROWS
        if not small_m and not any(opcode in loops for opcode in path["opcodes"]):
            faults.append(f"no K loop of {path['name']}")
    for mnemonic, (count, name, body) in loops.items():
        share = count / len(body)
        sums = {i[2].split(",")[0].split(".")[0] for i in body if i[1] == mnemonic}
        stack = stack_accesses(code[name], body)
        print(f"{mnemonic}: {count} of {len(body)} instructions ({share:.1%}), {len(sums)} sums, {name}")
        if share < SHARES[options.id]:
            faults.append(f"{mnemonic}: {share:.1%} of its K loop, less than {SHARES[options.id]:.0%}")
        if len(sums) < ACCUMULATORS[mnemonic]:
            faults.append(f"{mnemonic}: {len(sums)} accumulators, less than {ACCUMULATORS[mnemonic]}")
        if stack:
            faults.append(f"{mnemonic}: its K loop uses the stack: {'; '.join(stack[:3])}")
    print("\n".join(faults))
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("question", choices=("purity", "loops"))
    for name in ("id", "table", "root", "cxx", "folder"):
        parser.add_argument(name)
    parser.add_argument("--level", choices=LEVELS, default="-O3")
    parser.add_argument("--source")
    parser.add_argument("--object")
    parser.add_argument("--flag", action="append", default=[], help="one more, as --flag=-ffixed-v20")
    parser.add_argument("-D", dest="define", action="append", default=[])
    options = parser.parse_args()
    options.define = [f"-D{name}" for name in options.define]
    return {"purity": check_purity, "loops": check_loops}[options.question](
        options, find_target_row(options.table, options.id)
    )


if __name__ == "__main__":
    sys.exit(main())
