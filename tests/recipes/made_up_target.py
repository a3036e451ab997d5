# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Adds a made-up SM, CPU ISA and check to a copy of the tree, by the steps of CONTRIBUTING.md and nothing else.

made_up_target.py SOURCE SCRATCH CMAKE [-DNAME=VALUE…]     what follows goes to CMake

Then it builds the copy and wants both targets in `pbprobe targets` and as labels of CTest, the SM's recipe listed,
written, verified, documented and in CI's matrix, the copy's unit and recipe tests passed, and, where pytest is,
the gate's suite on the new variant.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

SM = ("sm86", "sm88")  # (the row to start from, the made-up one): nvcc knows it, and the table does not
SM_CPU = {"x86_64": "avx2", "aarch64": "armv9"}[platform.machine()]
ORDINARY = re.compile(r"^ +Start +\d+: | Passed +[\d.]+ sec")  # CTest's lines, which would hide a failure's
ROOMS = "core;kernels;audit;judge;report;recipes"


def fail(sentence):
    print(f"made-up target: {sentence}")
    sys.exit(1)


def run(*command, cwd=None, env=None):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines(keepends=True)
        failed = "".join(line for line in lines if not ORDINARY.search(line))
        fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{failed[-4000:]}")
    return done.stdout


def copy_tree(source, tree):
    listed = run("git", "-C", source, "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    for name in filter(None, listed):
        if (source / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, tree / name)


def add_row(tree, old, new, **changes):
    path = tree / "recipes/targets.json"
    table = json.loads(path.read_text())
    row = next(dict(row) for row in table["targets"] if row["id"] == old)
    table["targets"].append({**row, "id": new, "products": ["made up"], **changes})
    path.write_text(json.dumps(table, indent=1))


def add_kernels(tree, old, new, file):
    text = (tree / file.format(old)).read_text()
    (tree / file.format(new)).write_text(re.sub(rf"\b{old}\b", new, text))
    path = tree / "kernels/gemm/kernels.inc"
    statement = re.compile(rf"^PBPROBE_\w+\({old}\b.*?\)\n(?=PBPROBE_|\n|//|#|\Z)", re.MULTILINE | re.DOTALL)
    text, count = statement.subn(lambda match: match[0] + re.sub(rf"\({old}\b", f"({new}", match[0]), path.read_text())
    if count == 0:
        fail(f"kernels/gemm/kernels.inc has no row of {old}")
    path.write_text(text)


def add_variants(tree, gpu, cpu, made_up_cpu):
    """A row of the default line's matrix and, of a made-up ISA, a build without CUDA: one more recipe each."""
    path = tree / "recipes/matrix.json"
    matrix = json.loads(path.read_text())
    line = next(line for line in matrix["lines"] if line["id"] == matrix["default_line"])
    line["rows"].append({"gpus": [gpu], "cpus": [cpu]})
    if made_up_cpu is not None:
        line["cpu_only"].append(made_up_cpu)
    path.write_text(json.dumps(matrix, indent=1))


CHECK = "PB199"
ASK = """Answer made_up(const Facts& facts) {
  if (facts.inventory->artifact != "/made/up") return {};
  return {.seen = {{say("{} is made up", facts.inventory->artifact)}}};
}

"""
ROW = f"""      {{.id = "{CHECK}",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::warn,
       .needs = {{inventory}},
       .remedy = "name an artifact that is there",
       .ask = made_up}},
"""
CASE = f"""  cases.push_back({{"{CHECK}", "/made/up is made up",
                   with(audited(), [](Report& r) {{ r.inventory->artifact = "/made/up"; }}), audited()}});
"""
PAGE = f"""# {CHECK}: Is the artifact there?

## What it checks

That the artifact is not made up.

## Why it matters

What is made up is not there.

## Example

    warn[{CHECK}]: /made/up is made up

## How to fix

Name another artifact.

## How to waive

In a gate's policy: `{{"id": "{CHECK}", "reason": WHY, "until": DATE}}`.

## References

The guide that this follows: CONTRIBUTING.md.
"""


def add_check(tree):
    """Function and row in the file of its subject, a planted fault with its twin, a page: nothing else."""
    (tree / f"docs/checks/{CHECK}.md").write_text(PAGE)
    for name, steps in {
        "probes/judge/libraries/files.cpp": {"}  // namespace\n\nstd::vector<Check>": ASK, "      {.id =": ROW},
        "tests/judge/file_cases.cpp": {'  cases.push_back({"PB119"': CASE},
    }.items():
        text = (tree / name).read_text()
        for place, added in steps.items():
            before, found, after = text.partition(place)
            if not found:
                fail(f"{name} has no {place!r}")
            text = before + added + found + after
        (tree / name).write_text(text)


def find_base_cpu(tree):
    """Returns a CPU target of this machine that has kernels."""
    for row in json.loads((tree / "recipes/targets.json").read_text())["targets"]:
        if row["architecture"] == platform.machine() and (tree / f"kernels/cpu/{row['id']}.cpp").exists():
            return row["id"]
    return None


def check(ctest, build, ids, has_nvcc):
    listed = json.loads(run(build / "bin/pbprobe", "targets", "--format", "json"))["targets"]
    rows = {row["id"]: row for row in listed}
    for new in ids:
        if new not in rows or not rows[new]["kernels"]:
            fail(f"`pbprobe targets` does not list {new} with its kernels")
        if not rows[new]["built"] and (new != SM[1] or has_nvcc):
            fail(f"{new} was not built: {rows[new]['why_not']}")
        tests = run(ctest, "-N", "-L", f"^{new}$", cwd=build)
        if re.search(r"Total Tests: [1-9]", tests) is None:
            fail(f"no test has the label {new}")
        print(f"{new}: {len(rows[new]['kernels'])} kernels, {'built' if rows[new]['built'] else 'listed'}, labelled")


def check_variant(tree, build, gpu, cpu):
    """The new variant is listed, written, verified, documented and in CI's matrix."""
    program = build / "bin/pbprobe"
    names = [word for word in run(program, "recipes", "list").split() if word.endswith(f"-{gpu}-{cpu}")]
    if len(names) != 1:
        fail(f"`pbprobe recipes list` has {len(names)} variants of {gpu} and {cpu}")
    run(program, "recipes", "write", cwd=tree)
    run(program, "recipes", "verify", cwd=tree)
    run(build / "bin/pbprobe_generate", ".", cwd=tree)
    run(sys.executable, tree / "recipes/variants_page.py")
    for place, text in {
        "recipe": (tree / f".flox/pkgs/{names[0]}.nix").read_text(),
        "docs/variants.md": (tree / "docs/variants.md").read_text(),
        "CI matrix": run(program, "recipes", "list", "--format", "github-matrix"),
    }.items():
        if names[0] not in text and f"{gpu}-{cpu}" not in text:
            fail(f"{names[0]} is not in the {place}")
    if CHECK not in (tree / "docs/checks.md").read_text():
        fail(f"{CHECK} is not in docs/checks.md")
    print(f"{CHECK}: asked, documented")
    print(f"{names[0]}: listed, written, verified, documented, in CI's matrix")
    return names[0]


def run_suites(ctest, tree, build, variant):
    """Runs the tests of other targets on the new targets, and the tests of the gate on the new variant."""
    suite = ("-L", "^(unit|recipes)$", "-LE", "^slow$", "--no-tests=error", "--output-on-failure")
    run(ctest, *suite, "--parallel", "2", cwd=build)
    print("unit and recipe tests of the copy: passed")
    environment = {**os.environ, "PBPROBE_TEST_BUILD": str(build)}
    suite = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", variant, "tests/gate/test_gate.py")
    if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True, check=False).returncode == 0:
        print("gate:", run(*suite, cwd=tree, env=environment).splitlines()[-1])


def main():
    source, scratch, cmake, options = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    tree = scratch / "tree"
    # Uses the paths and the CMake (order of flags) of a checkout, so that ccache knows the unchanged objects.
    build = tree / "build"
    shutil.rmtree(scratch, ignore_errors=True)
    copy_tree(source, tree)
    gencode = ["-gencode=arch=compute_88,code=sm_88"]
    add_row(tree, *SM, capability="8.8", architecture="88", flags=gencode, siblings=[])
    add_kernels(tree, *SM, "kernels/cuda/{}.cu")
    add_check(tree)
    ids = [SM[1]]
    cpu = find_base_cpu(tree)
    if cpu is not None:
        ids.append(cpu + "made")
        add_row(tree, cpu, ids[-1])
        add_kernels(tree, cpu, ids[-1], "kernels/cpu/{}.cpp")
    add_variants(tree, SM[1], SM_CPU, cpu and ids[-1])
    reported = run(
        cmake,
        "-G",
        "Ninja",
        "-S",
        tree,
        "-B",
        build,
        f"-DPBPROBE_TARGETS={','.join(ids)}",
        f"-DPBPROBE_TEST_ROOMS={ROOMS}",
        *options,
    )
    run(cmake, "--build", build, "--target", "all", "pbprobe_generate", "--parallel", "2")
    check(cmake.with_name("ctest"), build, ids, f"pbprobe: {SM[1]}: not built: nvcc" not in reported)
    variant = check_variant(tree, build, SM[1], SM_CPU)
    run_suites(cmake.with_name("ctest"), tree, build, variant)
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
