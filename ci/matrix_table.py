# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""docs/matrix.md: result, date and sources of each recipe. Keeps the rows of recipes that were not built."""

from __future__ import annotations

import datetime
import functools
import hashlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
TORCH = ("recipe", "torch", "CUDA", "platform", "built", "gate", "seconds")
ROWS = (*TORCH, "pbprobe", "operators", "its seconds", "on", "sources")
LOADED = ("loaded", "under QEMU")  # of operators
FAULTS = ("fault", "recipe", "wanted", "seen", "as wanted")
# Inputs of the recipe builds.
SOURCES = (".flox/pkgs", "recipes/nix", "recipes/targets.json", "recipes/matrix.json")


@functools.cache
def digest(root: pathlib.Path = ROOT) -> str:
    """Returns the digest of all inputs of recipes, independent of the commit."""
    files = [file for part in SOURCES for file in [root / part, *(root / part).rglob("*")] if file.is_file()]
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(f"{file.relative_to(root)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()[:8]


def today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def parse_cells(text: str, heads: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Returns the rows of the table with these heads; nothing if the document has no such table."""
    lines = text.splitlines()
    head = f"| {' | '.join(heads)} |"
    rows: list[tuple[str, ...]] = []
    for line in lines[lines.index(head) + 2 :] if head in lines else ():
        if not line.startswith("| "):
            break
        rows.append(tuple(line.removeprefix("| ").removesuffix(" |").split(" | ")))
    return rows


def kept(before: tuple[str, ...] | None, now: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the new row; without a new build of pbprobe, keeps the cells of the last build with the same sources."""
    first, end = ROWS.index("pbprobe"), ROWS.index("on")
    if before is None or now[first] != "not built" or before[-1] != now[-1]:
        return now
    return now[:first] + before[first:end] + now[end:]


def merged(before: list[tuple[str, ...]], now: list[tuple[str, ...]], order: list[str]) -> list[tuple[str, ...]]:
    """Merges the rows by name (first column). Returns only rows in `order`, in this order."""
    rows = {row[0]: row for row in before}
    rows |= {row[0]: kept(rows.get(row[0]), row) for row in now}
    return [rows[name] for name in order if name in rows]


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head, *body = ["| " + " | ".join(row) + " |" for row in [heads, *rows]]
    return "\n".join([head, "|" + "---|" * len(heads), *body]) + "\n"


def is_sound_build(row: tuple[str, ...]) -> bool:
    """Reports whether Nix built the recipe, the gate passed it, and pbprobe's operators loaded.

    Rows without a pbprobe build, and rows for another CPU, count as loaded.
    """
    built, gated, probe, operators = (row[ROWS.index(head)] for head in ("built", "gate", "pbprobe", "operators"))
    loaded = {"yes": (*LOADED, "other CPU"), "not built": ("-",)}
    return built == "yes" and gated == "0" and operators in loaded.get(probe, ())


def probed(row: tuple[str, ...]) -> bool:
    return row[ROWS.index("pbprobe")] == "yes" and row[ROWS.index("operators")] in LOADED


def is_default_line(row: tuple[str, ...]) -> bool:
    return (ROOT / f".flox/pkgs/{row[0]}.nix").is_file()


def document(rows: list[tuple[str, ...]], faults: list[tuple[str, ...]]) -> str:
    line = [row for row in rows if is_default_line(row)] or rows  # a page of another line has only its own
    others = "" if line == rows else ", and one of each other kind of line below them"
    sound, own = sum(map(is_sound_build, line)), sum(map(probed, line))
    present = sum(row[-1] == digest() for row in line)
    return f"""# The recipes, built

Written by `make matrix`. {sound} of {len(line)} recipes were built by Nix as they stood, and passed by the gate with
the claim of their name (exit code 0); {present} of them are of the sources of this page's last change, {digest()},
and the others of those that their row names. pbprobe was built against {own} of these {len(line)} torches, its
operators loaded in each{others}.

This is the stand-in nixpkgs (recipes/nix/stand-in), not the pinned one: its torch is c10 and some of ATen, from the
source of Debian's libtorch, one .cu, and the other libraries of a torch with a few lines of code each. It reads what
torch's own build reads. No recipe was built in the pinned nixpkgs yet.

- *seconds*: Nix's build and the gate together, on the machine that built it; 0 or 1 where Nix had built it before.
- *pbprobe*: recipes/nix/pbprobe.nix, with the kernels of the recipe's SM and CPU, built, checked and installed
  against that torch. Its check phase runs the unit tests of the rooms core and kernels with these kernels; the linker
  saw that this torch has each function that the operators call. One for aarch64 is built by the cross compiler and
  checked under QEMU, without the module `_core`, for which a Python of that processor would have to be here.
- *operators*: "loaded", their library was opened in that torch, which it found all C shims in (they compute nothing
  in this torch); "under QEMU", the same where the processor is another; "other CPU", this CPU lacks what that torch
  is for.
- *its seconds*: of that build, with what ccache knew from the ordinary build and from the rows before.
- *on*, *sources*: the day, and a digest of {", ".join(f"`{part}`" for part in SOURCES)}.

{table(ROWS, rows)}
## Faults planted in recipes

The changed recipe is built; the gate of that build must name exactly the checks of the third column: it fails by them,
or, where it is "warned of", passes and says so. The last two rows are not the gate's: without nixpkgs' patches the
build is sound and has none of them, and without a package it ends.

{table(FAULTS, faults)}"""


def update(file: pathlib.Path, rows: list[tuple[str, ...]], faults: list[tuple[str, ...]], order: list[str]) -> None:
    """Adds new rows to the document, or creates it."""
    before = file.read_text() if file.exists() else ""
    file.write_text(document(merged(parse_cells(before, ROWS), rows, order), faults or parse_cells(before, FAULTS)))
