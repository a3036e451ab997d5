# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators that add or exchange whole files of another build: `mix` replaces a file, `shadow` adds one of its name
that the loader finds first."""

from __future__ import annotations

import re

import fatbins
from device import foreign, holder, holders, rewritten
from file_faults import RELEASE_2_9, replace_by_older_cuda
from operators import changes, chosen
from small_builds import Library, linked, stub
from variants import C10, CPU, CUDA, LINALG, TORCH, functions, get_parts, sound, target, variants

WIDE = {"x86_64": "avx512f", "aarch64": "sve"}  # compilers use it in any loop if they may
FIRST_FOLDERS = ("nvidia/cudnn/lib", "nvidia/nccl/lib", "nvidia/cu13/lib")  # of the wheel's RPATH, before $ORIGIN
# Libraries, and files that need them: one relinked file is enough for the loader.
NEEDED_BY = {
    "libc10_cuda.so": ("libtorch_cuda_linalg.so",),
    "libtorch_cpu.so": ("libtorch.so",),
    "libc10.so": ("libtorch_cpu.so",),
    "libtorch_cuda_linalg.so": ("libtorch_cuda.so",),
}


def list_features(variant: str) -> frozenset[str]:
    row = target(variant.rsplit("-", 1)[-1])
    return frozenset(row["requires"] or ()) | frozenset(row["implied"] or ())


def replaced(tree, path: str, library: Library) -> bool:
    """Puts `library` in the place of the file that is called as `path` is; False if the tree has none."""
    name = path.rsplit("/", 1)[-1]
    place = tree.named(name)
    if place is None:
        return False
    tree.files[place] = linked(name, library).read_bytes()
    return True


@changes("mix", "file")
def a_library_of_another_cuda(tree, about, rng):
    """One library that was built with CUDA 12.9, with or without the libraries of CUDA 12 that it needs."""
    if not about.small or not about.numbers:
        return None
    build = replace_by_older_cuda(sound(about.variant), get_parts(about.variant))
    path = rng.choice((CUDA, TORCH + "libc10_cuda.so"))
    library = build.libraries.get(path)
    if library is None or not replaced(tree, path, library):
        return None
    more = rng.random() < 0.7
    folder = tree.named(path.rsplit("/", 1)[-1]).rsplit("/", 1)[0]
    for name in [name for name in library.needs if name.endswith(".so.12")] if more else ():
        tree.files[f"{folder}/{name}"] = linked(name, build.libraries[TORCH + name]).read_bytes()
    return f"{path}, {'with' if more else 'without'} what it needs"


@changes("mix", "file")
def a_library_of_the_other_major(tree, about, rng):
    """libnvrtc.so.12 under the name of libnvrtc.so.13."""
    names = {}
    for path in tree.libraries():
        stem = re.search(r"/(lib\w+\.so\.)13$", path)
        if stem and (about.small or tree.named(stem[1] + "12")):
            names[path] = stem[1] + "12"
    path = chosen(rng, sorted(names))
    if path is None:
        return None
    other = tree.named(names[path])
    plain = Library(machine=about.machine)
    tree.files[path] = tree.files[other] if other else linked(names[path], plain).read_bytes()
    return f"{names[path]} as {path}"


@changes("mix", "file")
def a_library_of_another_torch(tree, about, rng):
    if not about.small:
        return None
    library = sound(about.variant).libraries[CPU]
    return CPU if replaced(tree, CPU, library.but(code=functions("dnnl_") + RELEASE_2_9)) else None


@changes("mix", "file")
def a_library_of_another_variant(tree, about, rng):
    """One library comes from a build for another SM, or for CPUs with wider vectors."""
    if not about.small:
        return None
    others = [name for name in variants() if get_parts(name).machine == about.machine]
    if about.numbers and rng.random() < 0.5:
        path = rng.choice((CUDA, LINALG))
        others = [name for name in others if get_parts(name).number not in (None, "", *about.numbers)]
    else:
        path = rng.choice((CPU, C10))
        wide = WIDE[about.machine]
        others = [name for name in others if wide in list_features(name)] if wide not in about.features else []
    other = chosen(rng, others)
    if other is None or not replaced(tree, path, sound(other).libraries[path]):
        return None
    return f"{path} of {other}"


def place_before(tree, about, rng, name: str) -> str | None:
    """Returns a path for a second file called `name` that the loader finds before torch's own.

    In a tiny build, a file that needs it is linked again with a further folder in front of its RUNPATH."""
    own = tree.named(name)
    if own is None:
        return None
    if not about.small:
        folders = sorted({path.rsplit("/", 1)[0] for path in tree.files if "/nvidia/" in path})
        folder = chosen(rng, [one for one in folders if one.endswith(FIRST_FOLDERS)])
        return f"{folder}/{name}" if folder else None
    user = rng.choice(NEEDED_BY[name])
    library = sound(about.variant).libraries.get(TORCH + user)
    if library is None or not replaced(tree, user, library.but(runpath=("$ORIGIN/first", "$ORIGIN"))):
        return None
    return f"{tree.named(user).rsplit('/', 1)[0]}/first/{name}"


@changes("shadow", "file")
def a_stub_that_the_loader_finds_first(tree, about, rng):
    name = rng.choice(sorted(NEEDED_BY))
    place = place_before(tree, about, rng, name)
    if place is None:
        return None
    with_code = rng.random() < 0.7
    library = linked(name, Library(machine=about.machine)) if with_code else stub(name, about.machine)
    tree.files[place] = library.read_bytes()
    return f"{place}, {'with' if with_code else 'without'} code"


@changes("shadow", "file")
def a_library_for_another_sm_that_the_loader_finds_first(tree, about, rng):
    path = tree.named("libtorch_cuda_linalg.so")
    if path is None or path not in holders(tree, about) or not holder(tree.read(path)):
        return None
    other = foreign(about, rng)
    copy = tree.copy()
    rewritten(copy, path, lambda rows: fatbins.each(rows, lambda one: one.holding(other.content).relabelled(other.sm)))
    place = place_before(tree, about, rng, "libtorch_cuda_linalg.so")
    if place is None:
        return None
    tree.files[place] = copy.files[path]
    return f"{place}, sm_{other.sm}"
