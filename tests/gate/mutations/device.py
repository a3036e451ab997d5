# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on entries and containers of device code. sections.py has operators on all of it."""

from __future__ import annotations

import functools
import mmap
import pathlib
import random
from collections.abc import Callable

import cubins
import elves
import fatbins
from made import OUT, made, nvcc, text
from operators import About, changes, chosen
from trees import CLOSED, Tree
from variants import fatbin

OTHER_SMS = ("75", "80", "86", "89", "90", "100", "103", "110", "120", "121")
RELOCATABLE = "__nv_relfatbin"  # the device linker's input
TENSOR = {"90a", "100a", "103a", "110a"}  # without which an exact claim has no wgmma or tcgen05
Containers = tuple[fatbins.Container, ...]
Place = tuple[int, int]  # container, entry


def holder(content: bytes) -> str | None:
    """Returns the section with device code, by content. In a linked file, it holds the linker's output."""
    found = [
        one.name
        for one in elves.sections(content)
        if one.kind != elves.SHT_NOBITS
        and content[one.offset : min(one.end, one.offset + 4)] == fatbins.MAGIC.to_bytes(4, "little")
    ]
    return next((name for name in found if name != RELOCATABLE), found[0] if found else None)


def holders(tree: Tree, about: About) -> list[str]:
    """Returns files whose device code the claim needs. Large libraries of others may lack a cubin."""
    return [path for path in (tree.libraries() if about.small else tree.own()) if probe_member(tree, path)[1]]


def is_elf(tree: Tree, path: str) -> bool:
    return probe_member(tree, path)[0]


def probe_member(tree: Tree, path: str) -> tuple[bool, str | None]:
    """Reports whether a file is an ELF with sections, and names the section of its device code."""
    content = tree.files[path]
    if isinstance(content, pathlib.Path):
        return probe_file(content)
    return probe_content(tree.read(path))


@functools.cache
def probe_file(file: pathlib.Path) -> tuple[bool, str | None]:
    if not file.stat().st_size:
        return False, None
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return probe_content(content)


def probe_content(content: bytes) -> tuple[bool, str | None]:
    try:
        return bool(elves.sections(content)), holder(content)
    except (ValueError, IndexError, elves.struct.error):
        return False, None


def rewritten(tree: Tree, path: str, change: Callable[[Containers], Containers], **how: int) -> None:
    content = tree.read(path)
    name = holder(content)
    containers = fatbins.read(elves.get_section_bytes(content, name))
    tree.files[path] = elves.replace_section_bytes(content, name, fatbins.written(change(containers), **how))


def places(tree: Tree, path: str, wanted: Callable[[fatbins.Entry], bool]) -> list[Place]:
    content = tree.read(path)
    containers = fatbins.read(elves.get_section_bytes(content, holder(content)))
    return [(c, e) for c, row in enumerate(containers) for e, one in enumerate(row) if wanted(one)]


def replaced(containers: Containers, at: Place, *others: fatbins.Entry) -> Containers:
    """Others in the place of one entry; a container that is left without any goes too."""
    row = containers[at[0]]
    changed = (*row[: at[1]], *others, *row[at[1] + 1 :])
    return tuple(row for row in (*containers[: at[0]], changed, *containers[at[0] + 1 :]) if row)


def make_claimed_filter(tree: Tree, about: About, path: str) -> Callable[[fatbins.Entry], bool]:
    """Entries of that file whose absence breaks the claim."""
    own = path in tree.own()

    def claimed(one: fatbins.Entry) -> bool:
        plain = one.kind == fatbins.CUBIN and one.sm in about.numbers
        return plain or (own and about.exact and one.sm in TENSOR and one.sm in about.siblings)

    return claimed


def change_entry(
    tree: Tree,
    about: About,
    rng: random.Random,
    change: Callable[[fatbins.Entry], tuple[fatbins.Entry, ...] | None],
    wanted: Callable[[fatbins.Entry], bool] | None = None,
    path: str | None = None,
) -> str | None:
    """One entry whose absence breaks the claim, changed; in any file, unless one is named."""
    path = path or chosen(rng, holders(tree, about))
    if path is None:
        return None
    at = chosen(rng, places(tree, path, wanted or make_claimed_filter(tree, about, path)))
    if at is None:
        return None
    reported = []

    def changed(containers: Containers) -> Containers:
        one = containers[at[0]][at[1]]
        others = change(one)
        if others is None:
            return containers
        reported.append(f"{path.rsplit('/', 1)[-1]}: entry {at[1]} of container {at[0]}, sm_{one.sm}")
        return replaced(containers, at, *others)

    rewritten(tree, path, changed)
    return reported[0] if reported else None


def change_claimed_cubins(
    tree: Tree, about: About, rng: random.Random, change: Callable[[fatbins.Entry], fatbins.Entry], what: str
) -> str | None:
    """Changes all cubins of one label, in a real build a third or more: some units have none for some SMs."""
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    sm, share = rng.choice(about.numbers), rng.uniform(0.33, 1)
    if about.small:
        wanted = make_claimed_filter(tree, about, path)
        containers = fatbins.read(elves.get_section_bytes(tree.read(path), holder(tree.read(path))))
        sm, share = rng.choice(sorted({one.sm for row in containers for one in row if wanted(one)})), 1.0

    done: list[fatbins.Entry] = []

    def changed(one: fatbins.Entry) -> fatbins.Entry:
        if not any_cubin(one) or one.sm != sm or rng.random() >= share:
            return one
        done.append(one)
        return change(one)

    rewritten(tree, path, lambda containers: fatbins.each(containers, changed))
    return f"{path.rsplit('/', 1)[-1]}: {what}, sm_{sm}, {len(done)} units" if done else None


def any_cubin(one: fatbins.Entry) -> bool:
    return one.kind == fatbins.CUBIN


@changes("drop", "entry")
def the_claimed_cubin(tree, about, rng):
    """Drops a claimed cubin. With a plain one, also drops the suffixes of its chip, which run there too."""
    path = chosen(rng, holders(tree, about))
    at = path and chosen(rng, places(tree, path, make_claimed_filter(tree, about, path)))
    if not at:
        return None
    gone: list[fatbins.Entry] = []

    def change(containers):
        row = containers[at[0]]
        one = row[at[1]]
        gone.extend(other for other in row if other is one or (not one.suffix and have_same_chip(other, one)))
        rest = tuple(other for other in row if other not in gone)
        return tuple(row for row in (*containers[: at[0]], rest, *containers[at[0] + 1 :]) if row)

    rewritten(tree, path, change)
    return f"{path.rsplit('/', 1)[-1]}: {', '.join('sm_' + one.sm for one in gone)} of container {at[0]}"


def have_same_chip(one: fatbins.Entry, other: fatbins.Entry) -> bool:
    return any_cubin(one) and one.number == other.number


@changes("drop", "entry")
def whole_translation_units(tree, about, rng):
    """Drops a third or more of a real file's units; in a tiny build all but one, which the reference table reveals."""
    files = [tree.named(name) for name in ("libtorch_cuda.so", "libtorch_cuda_linalg.so")[: 1 if about.small else 2]]
    path = chosen(rng, [path for path in files if path in holders(tree, about)])
    if path is None:
        return None
    share = rng.uniform(0.34, 0.9)
    counts = []

    def change(containers):
        some = [row for row in containers if rng.random() >= share]
        kept = containers[:1] if about.small else tuple(some or containers[:1])
        counts.append((len(containers) - len(kept), len(containers)))
        return kept

    rewritten(tree, path, change)
    return f"{path.rsplit('/', 1)[-1]}: {counts[0][0]} of {counts[0][1]}" if counts[0][0] else None


@changes("downgrade", "entry")
def a_cubin_of_another_sm_under_its_own_label(tree, about, rng):
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    other = foreign(about, rng, path)

    def change(one):
        return (fatbins.entry(other.content, other.sm, compression=one.compression),)

    return change_entry(tree, about, rng, change, path=path)


def foreign(about: About, rng: random.Random, path: str = "libtorch_cuda.so") -> fatbins.Entry:
    """Returns an entry for another SM; for libraries of others, an SM whose code cannot run on the claimed one."""
    numbers = [sm for sm in OTHER_SMS if sm not in about.numbers]
    if path.rsplit("/", 1)[-1].startswith(CLOSED):
        numbers = [sm for sm in numbers if not any(can_run(sm, chip) for chip in about.numbers)]
    return fatbins.read(fatbin(rng.choice(numbers)).read_bytes())[0][0]


def can_run(sm: str, chip: str) -> bool:
    """Machine code of 8.0 runs on 8.6, and not the other way round."""
    return sm[:-1] == chip[:-1] and sm[-1] <= chip[-1]


@changes("relabel", "entry")
def a_cubin_of_another_sm_under_the_claimed_label(tree, about, rng):
    other = foreign(about, rng)
    return change_entry(tree, about, rng, lambda one: (one.holding(other.content),))


@changes("relabel", "entry")
def a_cubin_whose_elf_says_another_sm(tree, about, rng):
    number = int(rng.choice([sm for sm in OTHER_SMS if sm not in about.numbers]))
    return change_entry(tree, about, rng, lambda one: (one.holding(cubins.put_number(one.content, number)),), any_cubin)


@changes("relabel", "entry")
def the_claimed_cubin_as_another_sm(tree, about, rng):
    number = rng.choice([sm for sm in OTHER_SMS if sm not in about.numbers])
    return change_entry(tree, about, rng, lambda one: (one.relabelled(number),))


@changes("relabel", "entry")
def plain_code_under_a_suffix(tree, about, rng):
    suffix = rng.choice("af")
    plain = "90" if suffix == "a" else "100"
    return change_entry(
        tree,
        about,
        rng,
        lambda one: (one.relabelled(one.sm + suffix),) if int(one.sm) >= int(plain) else None,
        lambda one: one.kind == fatbins.CUBIN and one.sm in about.numbers,
    )


@changes("relabel", "entry")
def a_suffix_left_out_of_the_label(tree, about, rng):
    """Code of sm_90a that says sm_90: no other chip of the family could run it, and the label says it could."""
    return change_entry(
        tree,
        about,
        rng,
        lambda one: (one.relabelled(str(one.number)),),
        lambda one: one.kind == fatbins.CUBIN and one.suffix != "" and one.sm in about.siblings,
    )


@changes("relabel", "entry")
def a_cubin_as_ptx_or_lto_ir(tree, about, rng):
    kind = rng.choice((fatbins.PTX, fatbins.LTO_IR))
    return change_entry(tree, about, rng, lambda one: (one.set_fields(kind=kind),))


@changes("empty", "entry")
def random_bytes_as_the_cubin(tree, about, rng):
    def change(one):
        other = rng.randbytes(len(one.stored))
        if rng.random() < 0.5:
            return (one.holding(other, fatbins.NONE),)
        return (one.storing(other),)

    return change_entry(tree, about, rng, change, any_cubin)


@changes("empty", "entry")
def zeros_text_or_a_program_as_the_cubin(tree, about, rng):
    program = tree.read(tree.libraries()[0])
    other = rng.choice((bytes(4096), b"not a cubin at all\n" * 200, program, b""))
    return change_entry(
        tree,
        about,
        rng,
        lambda one: (one.holding(other),) if other or not one.compression else (one.holding(other, "none"),),
        any_cubin,
    )


@changes("empty", "entry")
def a_cubin_without_kernels(tree, about, rng):
    how = rng.choice((cubins.without_kernels, cubins.without_code))
    return change_claimed_cubins(tree, about, rng, lambda one: one.holding(how(one.content)), how.__name__)


@changes("empty", "entry")
def kernels_of_one_instruction(tree, about, rng):
    how = rng.choice((cubins.emptied, cubins.trapping, cubins.trapping_at_the_end))
    return change_claimed_cubins(tree, about, rng, lambda one: one.holding(how(one.content)), how.__name__)


# Fallbacks for an unsupported SM often contain such kernels, which store nothing.
IDLE_KERNELS = {
    "print": 'printf("FATAL: built for another SM than %d\\n", x);',
    "assert": "assert(x > 1000);",
    "trap": "if (x > 3) __trap();",
    "print and trap": 'if (printf("FATAL %d\\n", x)) __trap();',
}


@functools.cache
def idle_cubin(sm: str, what: str) -> bytes:
    code = f"#include <cassert>\n#include <cstdio>\n__global__ void kernel(int x) {{ {IDLE_KERNELS[what]} }}\n"
    return made("idle.cubin", nvcc(), "-cubin", f"-arch=sm_{sm}", text("idle.cu", code), "-o", OUT).read_bytes()


@changes("trap", "entry")
def kernels_that_only_print_assert_or_trap(tree, about, rng):
    what = rng.choice(sorted(IDLE_KERNELS))
    return change_claimed_cubins(tree, about, rng, lambda one: one.holding(idle_cubin(one.sm, what)), what)


@changes("truncate", "entry")
def a_frame_that_breaks_off(tree, about, rng):
    part = rng.uniform(0.05, 0.95)

    def change(one):
        return (one.storing(one.stored[: int(len(one.stored) * part)]),) if one.compression != fatbins.NONE else None

    return change_entry(tree, about, rng, change, any_cubin)


@changes("truncate", "entry")
def a_cubin_that_breaks_off(tree, about, rng):
    part = rng.uniform(0.02, 0.95)
    return change_entry(
        tree, about, rng, lambda one: (one.holding(one.content[: int(len(one.content) * part)]),), any_cubin
    )


@changes("swap", "entry")
def contents_of_two_labels(tree, about, rng):
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    swapped = []

    def change(containers):
        cubins_of = [(c, e) for c, row in enumerate(containers) for e, one in enumerate(row) if any_cubin(one)]
        rng.shuffle(cubins_of)
        for a in cubins_of:
            for b in cubins_of:
                one, two = containers[a[0]][a[1]], containers[b[0]][b[1]]
                if one.sm != two.sm and (one.sm in about.numbers or two.sm in about.numbers):
                    swapped.append(f"{path.rsplit('/', 1)[-1]}: sm_{one.sm} and sm_{two.sm}")
                    return replaced(replaced(containers, a, one.holding(two.content)), b, two.holding(one.content))
        return containers

    rewritten(tree, path, change)
    return chosen(rng, swapped)


@changes("mix", "entry")
def code_of_another_unit_for_one_sm(tree, about, rng):
    """For one SM, some units have a copy of another unit's code: counts stay, and their own kernels are gone."""
    path = tree.named("libtorch_cuda.so")
    if path is None or path not in holders(tree, about):
        return None
    sm = rng.choice(about.numbers)
    lost = []

    def change(containers):
        units = [n for n, row in enumerate(containers) if any(any_cubin(one) and one.sm == sm for one in row)]
        some = rng.sample(units, 2 if about.small else rng.randint(23, 60))
        source = next(one for one in containers[some[0]] if any_cubin(one) and one.sm == sm)
        lost.extend(some[1:])
        return tuple(
            tuple(source if n in lost and any_cubin(one) and one.sm == sm else one for one in row)
            for n, row in enumerate(containers)
        )

    rewritten(tree, path, change)
    return f"sm_{sm}, {len(lost)} units"


@changes("hide", "entry")
def the_claimed_cubin_behind_the_container_s_end(tree, about, rng):
    """The container says that it ends before its last entry."""
    path = chosen(rng, [path for path in holders(tree, about) if path in tree.own()])
    if path is None:
        return None
    content = tree.read(path)
    name = holder(content)
    containers = fatbins.read(elves.get_section_bytes(content, name))
    at = chosen(rng, [n for n, row in enumerate(containers) if row[-1].sm in about.numbers and any_cubin(row[-1])])
    if at is None:
        return None
    before = fatbins.written(containers[:at]) if at else b""
    body = b"".join(one.written() for one in containers[at][:-1])
    short = fatbins.CONTAINER.pack(fatbins.MAGIC, 1, fatbins.CONTAINER.size, len(body)) + body
    hidden = containers[at][-1].written()
    tree.files[path] = elves.replace_section_bytes(
        content, name, before + short + hidden + fatbins.written(containers[at + 1 :])
    )
    return f"{path.rsplit('/', 1)[-1]}: container {at}"
