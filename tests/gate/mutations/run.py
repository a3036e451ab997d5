# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Draws mutations of sound builds and of planted faults, and asks the gate of each.

    make gate-mutations [SEED=1] [COUNT=2000]      ONLY=17 repeats one and keeps it; REAL=1 takes the installed torch
    run.py --each                                  every operator on every variant, as CTest does

A mutation that changes the build's truth must fail, one that keeps it must not change the verdict. The others are
printed, and a table by operator; the exit code is 1 if there are any, and 130 if the run was interrupted. A seed and an
index name a mutation.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "shared"), str(HERE.parents[1] / "real")]

import builds  # noqa: E402
import cpu_faults  # noqa: E402
import device  # noqa: E402, F401
import evidence  # noqa: E402
import faults  # noqa: E402
import file_faults  # noqa: E402
import files  # noqa: E402, F401
import foreign_files  # noqa: E402, F401
import gpu_faults  # noqa: E402
import host  # noqa: E402, F401
import metadata  # noqa: E402, F401
import policies  # noqa: E402, F401
import pytest  # noqa: E402
import sections  # noqa: E402, F401
from made import BUILD, MACHINE, PROGRAM  # noqa: E402
from operators import ANSWERS, FAILS, OPERATORS, PASSES, REFUSED, About, Operator  # noqa: E402
from trees import Content, Tree, read_tree  # noqa: E402
from variants import get_parts, sound, target  # noqa: E402

FAULTS = [*gpu_faults.FAULTS, *cpu_faults.FAULTS, *file_faults.FAULTS]
CHANGING = [one for one in OPERATORS if not one.keeps]
KEEPING = [one for one in OPERATORS if one.keeps]
MASKING = [one for one in KEEPING if one.subject != "policy" and not one.afresh]  # what may hide a fault, not fix it
# One of each SM and of each ISA.
REAL = "the installed torch"
VARIANTS = tuple(
    f"pytorch-python313-{name}"
    for name in (
        *("cuda13_0-sm75-avx512vnni", "cuda13_0-sm80-armv8_2", "cuda13_0-sm86-avx512", "cuda13_0-sm89-avx2"),
        *("cuda13_0-sm90-avx2", "cuda13_0-sm90-armv9", "cuda13_0-sm100-avx512bf16", "cuda13_0-sm103-armv8_2"),
        *("cuda13_0-sm110-armv9", "cuda13_0-sm120-avx512", "cuda13_0-sm121-armv8_2"),
        *("cpu-avx", "cpu-avx512bf16", "cpu-armv9"),
    )
)
# Faults that need a result of Nix: in a wheel, NVIDIA's libraries come with others.
NIX = {"PB112", "PB115", "PB116", "PB119", "PB129", "PB130", "PB131", "PB132"}
# A folder with a version.py and no library is not an artifact at all.
NO_TORCH = {"PB103"}
# A capability without its own instructions: planting some there fixes it.
EMPTY_CAPABILITY = "PB206"
# Pairs whose second operator repairs the first. A section with a false size counts by its name; under another name its
# bytes count, which the loader reads. Only the names of a baseline tell an added unit from a dropped one.
UNDOING = {("truncate section", "rename section"), ("drop entry", "add section")}
# Raised by operators on a file that another operator, or a planted fault, has broken before.
DOES_NOT_APPLY = (ValueError, LookupError, StopIteration, struct.error, subprocess.CalledProcessError)
SECONDS = 600 if os.environ.get("REAL") else 120  # that one verdict may take, on a busy machine too
INTERRUPTED = 130  # exit code of a run that judged only some
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclasses.dataclass
class Outcome:
    index: int
    operators: tuple[str, ...]  # the one that decides comes first
    what: str
    due: frozenset[int]
    code: int
    reported: str
    skipped: str = ""

    @property
    def kind(self) -> str:
        return {PASSES: "kept", ANSWERS: "unknown"}.get(self.due, "changed")

    @property
    def wrong(self) -> bool:
        return not self.skipped and self.code not in self.due


def program() -> str:
    return os.environ.get("PBPROBE_PROGRAM") or str(PROGRAM)


def list_asked_variants() -> tuple[str, ...]:
    return (REAL,) if os.environ.get("REAL") else VARIANTS


def describe_variant(variant: str) -> About:
    if variant == REAL:
        return real_about()
    parts = get_parts(variant)
    row = target(variant.rsplit("-", 1)[-1])
    numbers = (str(parts.number),) if parts.number else ()
    features = frozenset(row["requires"] or ()) | frozenset(row["implied"] or ())
    return About(variant, parts.machine, numbers, parts.siblings() if parts.number else (), features)


@functools.cache
def scratch() -> pathlib.Path:
    """Folder of this run, made before processes fork. REAL links large files, so it shares their file system."""
    return pathlib.Path(
        tempfile.mkdtemp(dir=BUILD if REAL in list_asked_variants() else SCRATCH, prefix="pbprobe-mutations-")
    )


@functools.cache
def read_base_tree(variant: str) -> Tree:
    if variant == REAL:
        return real_tree()
    root = scratch() / f"base-{variant}"
    return read_tree(root, sound(variant).write(root))


def real_claim() -> str:
    """Returns the claim of the installed torch."""
    packages = pathlib.Path(os.environ["PBPROBE_TEST_TORCH"])
    version = re.search(r"__version__ = '([^'+]*)", (packages / "torch/version.py").read_text())[1]
    claim = next(one.claim for one in builds.BUILDS if one.name.startswith(f"torch-{version}-") and MACHINE in one.name)
    minor = re.search(r"cpython-3(\d+)", next((packages / "torch").glob("_C.cpython-*.so")).name)[1]
    return re.sub(r"python=3\.\d+", f"python=3.{minor}", claim)


@functools.cache
def real_about() -> About:
    """Instructions beyond all that is claimed; SMs that each unit is claimed for, among others."""
    words = real_claim().split(",")
    rows = [target(word) for word in words if "=" not in word]
    features = {name for row in rows if row["kind"] == "cpu" for name in (*row["requires"], *row["implied"])}
    numbers = tuple(word.removeprefix("sm") for word in words if word.startswith("sm"))
    return About(REAL, MACHINE, numbers, (), frozenset(features), exact=False, small=False)


@functools.cache
def real_tree() -> Tree:
    """The torch and the libraries that it came with, as they are installed."""
    packages = pathlib.Path(os.environ["PBPROBE_TEST_TORCH"])
    found: dict[str, Content] = {}
    own = ("torch/version.py", "torch/__init__.py", "torch/_C*.so", "torch/lib/*.so*")
    for pattern in (*own, "nvidia/**/*.so*", "triton/**/*.so"):
        found |= {f"site/{file.relative_to(packages)}": file for file in packages.glob(pattern) if file.is_file()}
    for folder in (*packages.glob("torch-*.dist-info"), *packages.glob("nvidia_*.dist-info")):
        texts = [file for file in folder.iterdir() if file.is_file() and file.name != "RECORD"]  # it names all files
        found |= {f"site/{file.relative_to(packages)}": file for file in texts}
    return Tree(found, "site")


def faulty(fault: faults.Fault, root: pathlib.Path) -> Tree:
    """A planted fault, and the policy by which its check fails."""
    tree = read_tree(root, fault.build().write(root))
    tree.options = ["--policy", str(faults.make_policy(fault.expected))]
    tree.notes.append(f"{fault.what} ({fault.expected})")
    return tree


def apply(operator: Operator, tree: Tree, about: About, rng: random.Random) -> bool:
    before = tree.copy()
    try:
        reported = operator.change(tree, about, rng)
    except DOES_NOT_APPLY:
        reported = None
    if reported is None:
        tree.__dict__.update(before.__dict__)
        return False
    tree.notes.append(f"{operator.name}: {operator.what}: {reported}")
    return True


def some(
    operators: list[Operator], tree: Tree, about: About, rng: random.Random, least: int, most: int
) -> list[Operator]:
    """So many that apply, one after the other."""
    wanted = rng.randint(least, most)
    done: list[Operator] = []
    for _ in range(20):
        if len(done) == wanted:
            break
        one = rng.choice(operators)
        if apply(one, tree, about, rng):
            done.append(one)
    return done


@dataclasses.dataclass(frozen=True)
class How:
    seed: int
    variants: tuple[str, ...] = VARIANTS
    each: bool = False  # every operator on every variant, rather than draws
    keep: pathlib.Path | None = None  # where the one that is repeated stays


@dataclasses.dataclass
class Drawn:
    tree: Tree
    claim: str
    operators: tuple[str, ...]
    due: frozenset[int]


def draw_operator(rng: random.Random, operators: list[Operator]) -> Operator:
    """Draws each kind of operator equally often, however many functions it has."""
    name = rng.choice(sorted({one.name for one in operators}))
    return rng.choice([one for one in operators if one.name == name])


def draw(rng: random.Random, folder: pathlib.Path, variants: tuple[str, ...]) -> Drawn | None:
    kind = rng.choices(("change", "keep", "mask"), (55, 30, 0 if REAL in variants else 15))[0]
    if kind == "mask":
        fault = rng.choice(FAULTS)
        tree, about = faulty(fault, folder / "fault"), describe_variant(fault.name)
        hiding = [
            one
            for one in MASKING
            if (one.verb != "lay out" or fault.expected not in NIX)
            and (one.verb != "plant" or fault.expected != EMPTY_CAPABILITY)
        ]
        done = some(hiding, tree, about, rng, 1, 3)
        due = REFUSED if fault.expected in NO_TORCH and any(one.verb == "lay out" for one in done) else FAILS
        return Drawn(tree, fault.asked, ("mask fault", *(one.name for one in done)), due) if done else None
    variant = rng.choice(variants)
    claim = real_claim() if variant == REAL else variant
    tree, about = read_base_tree(variant).copy(), describe_variant(variant)
    if kind == "keep":
        done = some(KEEPING, tree, about, rng, 1, 3)
        return Drawn(tree, claim, tuple(one.name for one in done), PASSES) if done else None
    before = some(KEEPING, tree, about, rng, 0, 1) if rng.random() < 0.25 else []
    deciding = draw_operator(rng, CHANGING)
    if not apply(deciding, tree, about, rng):
        return None
    due = deciding.due
    masking = [one for one in MASKING if (deciding.name, one.name) not in UNDOING]
    after = some(masking, tree, about, rng, 0, 2) if rng.random() < 0.3 else []
    return Drawn(tree, claim, (deciding.name, *(one.name for one in (*before, *after))), due)


def each(rng: random.Random, index: int, variants: tuple[str, ...]) -> Drawn | None:
    """Every operator on every variant, one by one, without others."""
    variant, operator = variants[index // len(OPERATORS)], OPERATORS[index % len(OPERATORS)]
    tree, about = read_base_tree(variant).copy(), describe_variant(variant)
    claim = real_claim() if variant == REAL else variant
    applied = any(apply(operator, tree, about, rng) for _ in range(10))
    return Drawn(tree, claim, (operator.name,), operator.due) if applied else None


def asked(drawn: Drawn, folder: pathlib.Path) -> tuple[int, str, list[str]]:
    artifact = drawn.tree.write(folder / "build")
    for name, content in drawn.tree.beside.items():
        (folder / name).write_bytes(content)
    command = [program(), "gate", str(artifact), "--claim", drawn.claim, *faults.FILES_ALONE, *drawn.tree.options]
    if "PBPROBE_TEST_TORCH" not in os.environ or drawn.claim != real_claim():
        # A fault under a mask is to be found by what it is, not by a unit that it lacks.
        command += ["--reference", str(faults.tiny_table(counted="mask fault" not in drawn.operators))]
    code, reported = run(command, folder)
    return code, reported, command


def run(command: list[str], folder: pathlib.Path) -> tuple[int, str]:
    try:
        done = subprocess.run(command, capture_output=True, cwd=folder, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return -1, f"no answer in {SECONDS} s"
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def mutated(how: How, index: int) -> Outcome:
    rng = random.Random(f"{how.seed}:{index}")
    folder = how.keep or pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    try:
        if not how.each and REAL not in how.variants and rng.random() < 0.08:
            return mutate_evidence(rng, index, folder)
        drawn = draw_mutation(how, index, rng, folder)
        if drawn is None:
            return Outcome(index, ("skipped",), "", PASSES, 0, "", skipped="no operator applies")
        code, reported, command = asked(drawn, folder)
        if how.keep:
            print(" ".join(command))
        what = f"{drawn.claim}: {'; '.join(drawn.tree.notes)}"
        return Outcome(index, drawn.operators, what, drawn.due, code, reported)
    except pytest.skip.Exception as skip:
        return Outcome(index, ("skipped",), "", PASSES, 0, "", skipped=str(skip))
    finally:
        if not how.keep:
            shutil.rmtree(folder)


def draw_mutation(how: How, index: int, rng: random.Random, folder: pathlib.Path) -> Drawn | None:
    if how.each:
        return each(rng, index, how.variants)
    draws = (draw(rng, folder / str(attempt), how.variants) for attempt in range(50))
    return next((drawn for drawn in draws if drawn), None)


def can_be_made(variant: str) -> bool:
    try:
        read_base_tree(variant)
    except pytest.skip.Exception:
        return False
    return True


# ---- evidence -----------------------------------------------------------------------------------------------------


@functools.cache
def signed() -> tuple[pathlib.Path, dict[str, bytes]]:
    """Keys, and the evidence of a sound build."""
    folder = scratch() / "signed"
    folder.mkdir()
    evidence.make_keys(folder)
    variant = next(one for one in (VARIANTS[4], *VARIANTS) if can_be_made(one))
    artifact = sound(variant).write(folder / "build")
    command = [program(), "gate", str(artifact), "--claim", variant, *faults.FILES_ALONE]
    command += ["--reference", str(faults.tiny_table())]
    contents = {}
    for key, end in (("key", ""), ("other", evidence.OTHERS)):
        code, reported = run([*command, "--evidence", str(folder / f"by-{key}"), "--sign", str(folder / key)], folder)
        if code != 0:
            raise RuntimeError(reported)
        contents |= {file.name + end: file.read_bytes() for file in (folder / f"by-{key}").iterdir()}
    return folder, contents


def mutate_evidence(rng: random.Random, index: int, folder: pathlib.Path) -> Outcome:
    keys, contents = signed()
    keeping = rng.random() < 0.1
    name, how, change = rng.choice(evidence.KEEPS if keeping else evidence.CHANGES)
    changed = dict(contents)
    if change is not evidence.what_another_key_signed:
        changed = {file: content for file, content in contents.items() if not file.endswith(evidence.OTHERS)}
    reported = change(changed, rng)
    place = folder / "evidence"
    place.mkdir()
    for file, content in changed.items():
        if not file.endswith(evidence.OTHERS):
            (place / file).write_bytes(content)
    if how == evidence.VERIFY:
        command = [program(), "verify", str(place), "--key", str(keys / "key.pub")]
    elif how == evidence.FROM:
        command = [program(), "gate", "--from", str(place)]
    else:
        command = [program(), "gate", "--join", str(place), str(keys / "by-key")]
    code, text = run(command, folder)
    what = f"{change.__name__.replace('_', ' ')}: {reported}, asked by {how}"
    return Outcome(index, (name,), what, PASSES if keeping else FAILS, code, text)


# ---- all of them --------------------------------------------------------------------------------------------------


def table(outcomes: list[Outcome]) -> str:
    rows: dict[tuple[str, str], collections.Counter] = collections.defaultdict(collections.Counter)
    for one in outcomes:
        row = rows[one.kind, one.operators[0]]
        row["run"] += 1
        row["wrong"] += one.wrong
    lines = ["| operator | truth | run | wrong |", "| --- | --- | --- | --- |"]
    lines += [f"| {name} | {kind} | {row['run']} | {row['wrong']} |" for (kind, name), row in sorted(rows.items())]
    return "\n".join(lines)


def format_outcome(outcome: Outcome, seed: int) -> str:
    why = {"kept": "kept the truth, not the verdict", "unknown": "no answer"}
    why = why.get(outcome.kind, "changed the truth, not the verdict")
    reported = [line for line in outcome.reported.splitlines() if line.strip()]
    first = " / ".join(line.strip()[:200] for line in reported[:6])
    return f"seed {seed} index {outcome.index}: {why} (exit code {outcome.code}): {outcome.what}\n    {first}"


def make_bases(variants: tuple[str, ...]) -> tuple[str, ...]:
    """Once, before processes ask for them at once; those that can be made here."""
    made = []
    for variant in variants:
        try:
            read_base_tree(variant)
            made.append(variant)
        except pytest.skip.Exception as skip:
            print(f"{variant} is left out: {skip}")
    return tuple(made)


def run_all(how: How, indices: range, jobs: int) -> int:
    start = time.monotonic()
    scratch()
    how = dataclasses.replace(how, variants=make_bases(how.variants))
    real = REAL in how.variants
    if not real and not how.each:
        signed()
    made = time.monotonic() - start
    outcomes = []
    # Processes finish their mutation when the terminal interrupts all of them.
    ignoring = functools.partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=ignoring) as pool:
        try:
            for outcome in pool.map(functools.partial(mutated, how), indices, chunksize=1 if real else 8):
                outcomes.append(outcome)
                if outcome.wrong:
                    print(format_outcome(outcome, how.seed), flush=True)
        except KeyboardInterrupt:  # what was judged is printed
            ignoring()  # a second signal would lose the table
            pool.shutdown(cancel_futures=True)
    wrong = print_summary(outcomes)
    took = time.monotonic() - start
    print(f"Seed {how.seed}; {made:.0f} s to make the builds, {took:.0f} s in all.")
    if len(outcomes) < len(indices):
        print(f"Interrupted: {len(indices) - len(outcomes)} of {len(indices)} were not judged.")
        return INTERRUPTED
    return 1 if wrong else 0


def print_summary(outcomes: list[Outcome]) -> int:
    wrong = [one for one in outcomes if one.wrong]
    missed = sum(one.kind == "changed" for one in wrong)
    skipped = collections.Counter(one.skipped for one in outcomes if one.skipped)
    print(f"\n{table([one for one in outcomes if not one.skipped])}\n")
    for why, number in skipped.items():
        print(f"{number} were not made: {why}")
    never = sorted({one.name for one in OPERATORS} - {name for one in outcomes for name in one.operators})
    if never and len(outcomes) >= 1000:
        print(f"Never applied: {', '.join(never)}")
    print(
        f"{len(outcomes) - skipped.total()} mutations: {missed} changed the truth without changing the verdict, "
        f"{sum(one.kind == 'kept' for one in wrong)} kept it and changed the verdict."
    )
    return len(wrong)


def arguments() -> argparse.Namespace:
    setting = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(setting("SEED") or 1))
    parser.add_argument("--count", type=int, default=int(setting("COUNT") or 2000))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, default=int(setting("ONLY")) if setting("ONLY") else None)
    parser.add_argument("--each", action="store_true", help="every operator on every variant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> int:
    options = arguments()
    how = How(options.seed, list_asked_variants(), options.each)
    try:
        if options.only is None:
            count = len(OPERATORS) * len(how.variants) if options.each else options.count
            return run_all(how, range(options.first, options.first + count), options.jobs)
        kept = pathlib.Path(tempfile.mkdtemp(dir=BUILD, prefix="mutation-"))
        outcome = mutated(dataclasses.replace(how, keep=kept), options.only)
        print(outcome.what, outcome.reported, f"exit code {outcome.code}, due: {sorted(outcome.due)}", sep="\n")
        return int(outcome.wrong)
    finally:
        shutil.rmtree(scratch())


if __name__ == "__main__":
    sys.exit(main())
