# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on device code as a whole: its sections, and their order."""

from __future__ import annotations

import random
from collections.abc import Callable

import elves
import fatbins
from device import any_cubin, foreign, holder, holders, rewritten
from operators import About, changes, chosen, keeps
from trees import CLOSED, Tree


@changes("drop", "section")
def the_device_code(tree, about, rng):
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    content = tree.read(path)
    name = holder(content)
    how = rng.choice(("zeros", "no size", "NOBITS"))
    for one in [one for one in elves.sections(content) if one.name == name]:  # a unit more may lie in a second one
        content = elves.put(content, one.offset, bytes(one.size))
        if how != "zeros":
            content = elves.change_section_header(
                content, one, **({"size": 0} if how == "no size" else {"kind": elves.SHT_NOBITS})
            )
    tree.files[path] = content
    return f"{path.rsplit('/', 1)[-1]}: {name}, {how}"


@changes("downgrade", "section")
def all_device_code_for_another_sm(tree, about, rng):
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    other = foreign(about, rng, path)
    relabel = rng.random() < 0.5

    def change(one):
        if one.kind != fatbins.CUBIN:
            return one
        return one.holding(other.content) if relabel else one.holding(other.content).relabelled(other.sm)

    rewritten(tree, path, lambda containers: fatbins.each(containers, change))
    return f"{path.rsplit('/', 1)[-1]}: sm_{other.sm}" + (", labels kept" if relabel else "")


@changes("truncate", "section")
def a_section_cut_short(tree, about, rng):
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    content = tree.read(path)
    one = elves.section(content, holder(content))
    size = rng.randrange(1, max(2, len(fatbins.written(fatbins.read(elves.get_section_bytes(content, one.name)))) - 8))
    if one.name != ".nv_fatbin" or rng.random() < 0.5:  # under another name the bytes count, which the loader takes
        content = elves.put(content, one.offset + size, bytes(one.size - size))
    tree.files[path] = elves.change_section_header(content, one, size=size)
    return f"{path.rsplit('/', 1)[-1]}: {size} of {one.size} bytes"


@changes("hide", "section")
def other_device_code_in_a_section_of_another_name(tree, about, rng):
    reported = all_device_code_for_another_sm(tree, about, rng)
    renamed = reported and the_section_s_name(tree, about, rng)
    return f"{reported}; {renamed}" if renamed else reported


@changes("add", "section")
def a_second_section_of_the_same_name(tree, about, rng):
    """Adds a section for another SM, if one SM is claimed exactly. No segment loads it: only its name counts."""
    path = chosen(rng, [path for path in holders(tree, about) if path in tree.own()])
    if path is None or not about.exact:
        return None
    content = tree.read(path)
    other = foreign(about, rng)
    name = holder(content)
    if name != ".nv_fatbin":
        return None
    more = fatbins.written([(other,)])
    tree.files[path] = elves.add_section(content, name, more, flags=elves.SHF_ALLOC if rng.random() < 0.5 else 0)
    return f"{path.rsplit('/', 1)[-1]}: {name}, sm_{other.sm}"


@keeps("relabel", "section")
def the_type_of_the_section(tree, about, rng):
    """Changes the section's type: the loader reads segments, and the runtime reads pointers."""
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    content = tree.read(path)
    kind = rng.choice((7, 0x70000064, 0x60000000))
    tree.files[path] = elves.change_section_header(content, elves.section(content, holder(content)), kind=kind)
    return f"{path.rsplit('/', 1)[-1]}: {kind:#x}"


@keeps("add", "section")
def a_second_section_with_a_unit_more(tree, about, rng):
    path = chosen(rng, [path for path in holders(tree, about) if path in tree.own()])
    if path is None or not about.small:
        return None
    content = tree.read(path)
    name = holder(content)
    containers = fatbins.read(elves.get_section_bytes(content, name))
    tree.files[path] = elves.add_section(content, name, fatbins.written(containers[:1]), flags=elves.SHF_ALLOC)
    return f"{path.rsplit('/', 1)[-1]}: {name}"


@keeps("rename", "section")
def the_section_s_name(tree, about, rng):
    path = chosen(rng, holders(tree, about))
    if path is None:
        return None
    content = tree.read(path)
    name = holder(content)
    names = [".nv_cubins", ".rodata.cubins", ".data.fatbin", ".nv_fatbin.1", "cubins"]
    if content.count(fatbins.MAGIC.to_bytes(4, "little")) > len(fatbins.read(elves.get_section_bytes(content, name))):
        names.remove(".rodata.cubins")  # beside linked containers, those among constants are the library's own to load
    other = rng.choice(names)
    tree.files[path] = elves.renamed(content, name, other)
    return f"{path.rsplit('/', 1)[-1]}: {name} as {other}"


def movable(tree: Tree, about: About, rng: random.Random) -> str | None:
    """A file whose containers nothing points to: in a real one each has a pointer in .nvFatBinSegment."""
    return chosen(rng, holders(tree, about)) if about.small else None


@keeps("move", "section")
def device_code_in_a_segment_of_its_own(tree, about, rng):
    path = movable(tree, about, rng)
    if path is None:
        return None
    content = tree.read(path)
    name = holder(content)
    try:
        tree.files[path] = elves.moved(content, name, elves.get_section_bytes(content, name))
    except ValueError:
        return None
    return path.rsplit("/", 1)[-1]


@keeps("recompress", "entry")
def entries_otherwise_compressed(tree, about, rng):
    by = rng.choice((fatbins.NONE, fatbins.LZ4, fatbins.ZSTD))
    level = rng.choice((1, 3, 19))
    return change_each_entry(
        tree, about, rng, lambda one: one.set_compression(by, level) if any_cubin(one) else one, f"{by} {level}"
    )


@keeps("pad", "entry")
def zeros_behind_entries(tree, about, rng):
    by = 8 * rng.randrange(1, 64)
    return change_each_entry(tree, about, rng, lambda one: one.roomier(by), f"{by} bytes")


def change_each_entry(
    tree: Tree, about: About, rng: random.Random, change: Callable[[fatbins.Entry], fatbins.Entry], reported: str
) -> str | None:
    path = movable(tree, about, rng)
    if path is None:
        return None
    try:
        rewritten(tree, path, lambda containers: fatbins.each(containers, change))
    except ValueError:  # no segment to spare
        return None
    return f"{path.rsplit('/', 1)[-1]}: {reported}"


@keeps("reorder", "entry")
def containers_and_entries_in_another_order(tree, about, rng):
    path = movable(tree, about, rng)
    if path is None:
        return None

    def change(containers):
        rows = [tuple(rng.sample(row, len(row))) for row in containers]
        return tuple(rng.sample(rows, len(rows)))

    rewritten(tree, path, change)
    return path.rsplit("/", 1)[-1]


@keeps("align", "section")
def containers_at_other_multiples(tree, about, rng):
    path = movable(tree, about, rng)
    if path is None:
        return None
    alignment = rng.choice((16, 64, 256, 4096))
    try:
        rewritten(tree, path, lambda containers: containers, alignment=alignment)
    except ValueError:
        return None
    return f"{path.rsplit('/', 1)[-1]}: {alignment}"


@keeps("add", "entry")
def a_unit_more_of_the_same_kind(tree, about, rng):
    """Another translation unit that holds what the first one does."""
    path = chosen(rng, [path for path in holders(tree, about) if not path.rsplit("/", 1)[-1].startswith(CLOSED)])
    if path is None or not about.small:
        return None
    try:
        rewritten(tree, path, lambda containers: (*containers, containers[0]))
    except ValueError:
        return None
    return path.rsplit("/", 1)[-1]
