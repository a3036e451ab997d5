# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on whole files and their places."""

from __future__ import annotations

import io
import warnings
import zipfile

import elves
import fatbins
from device import foreign, holder, holders, is_elf, rewritten
from operators import ANSWERS, changes, chosen, keeps
from small_builds import stub
from trees import ROOT, Empty, Link
from wheels import recorded

NEEDED = ("libtorch_cuda.so", "libtorch_cpu.so", "libc10.so", "libtorch_python.so", "libc10_cuda.so", "_C.")


def needed(tree, rng):
    """A file without which no such build works."""
    return chosen(rng, [path for path in tree.libraries(*NEEDED) if is_elf(tree, path)])


@changes("drop", "file")
def a_library_of_libtorch(tree, about, rng):
    path = needed(tree, rng)
    if path:
        del tree.files[path]
    return path


@changes("drop", "file")
def a_library_with_device_code(tree, about, rng):
    """Others' may be packages of their own."""
    path = chosen(rng, [path for path in holders(tree, about) if path in tree.own()])
    if path:
        del tree.files[path]
    return path


@changes("empty", "file")
def a_library_of_no_bytes(tree, about, rng):
    path = needed(tree, rng)
    if path:
        tree.files[path] = b""
    return path


@changes("empty", "file")
def a_library_that_is_none(tree, about, rng):
    path = needed(tree, rng)
    if path is None:
        return None
    soname = path.rsplit("/", 1)[-1].encode()
    what, content = rng.choice(
        (
            ("text", b"this is not a library\n" * 100),
            ("a linker script", b"/* GNU ld script */\nGROUP ( " + soname + b".real )\n"),
            ("zeros", bytes(20000)),
            ("random bytes", rng.randbytes(20000)),
            ("a ZIP archive", zipped({"code": b"none"})),
        )
    )
    tree.files[path] = content
    return f"{path}: {what}"


def zipped(files: dict[str, bytes], how: str = "stored") -> bytes:
    room = Stream() if how == "with data descriptors" else io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED if how == "stored" else zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return room.getvalue()


class Stream(io.BytesIO):
    """A pipe, which cannot seek: zipfile writes sizes after each member."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


@changes("truncate", "file")
def a_library_cut_short(tree, about, rng):
    path = needed(tree, rng) if rng.random() < 0.5 else chosen(rng, holders(tree, about))
    if path is None:
        return None
    content = tree.read(path)
    length = rng.randrange(1, len(content))
    if not content[length:].strip(b"\0"):
        return None  # nothing but zeros is lost
    tree.files[path] = content[:length]
    return f"{path}: {length} of {len(content)} bytes"


@changes("truncate", "file")
def a_hole_in_a_library(tree, about, rng):
    """Zeroes the code and keeps the end, as a wrongly resumed copy does."""
    path = needed(tree, rng)
    if path is None:
        return None
    content = tree.read(path)
    segments = [row for _, row in elves.segments(content) if row[0] == elves.PT_LOAD and row[1] & elves.PF_X]
    start, size = segments[0][2], segments[0][5]
    tree.files[path] = elves.put(content, start, bytes(size))
    return f"{path}: its code"


@changes("swap", "file")
def two_libraries(tree, about, rng):
    own = [path for path in tree.libraries(*NEEDED) if is_elf(tree, path)]
    pair = rng.sample(own, 2) if len(own) > 1 else None
    cuda = tree.named("libtorch_cuda.so")
    if pair is None:
        return None
    if cuda and cuda not in pair:
        pair[0] = cuda
    tree.files[pair[0]], tree.files[pair[1]] = tree.files[pair[1]], tree.files[pair[0]]
    return " and ".join(pair)


@changes("downgrade", "file")
def a_library_for_another_processor(tree, about, rng):
    path = needed(tree, rng)
    if path is None:
        return None
    other = "aarch64" if about.machine == "x86_64" else "x86_64"
    tree.files[path] = elves.set_machine(tree.read(path), other)
    return f"{path}: {other}"


@changes("downgrade", "file")
def a_stub_of_libtorch(tree, about, rng):
    """No code of its own: what links against it is content."""
    path = tree.named(rng.choice(("libtorch_cpu.so", "libtorch_cuda.so")))
    other = tree.named("libtorch.so")
    if path is None or other is None:
        return None

    tree.files[path] = stub(path.rsplit("/", 1)[-1], about.machine)
    return path


@changes("hide", "file")
def libtorch_cuda_under_another_name(tree, about, rng):
    """Renames libtorch_cuda.so to a name that readers may skip, with kernels for another SM."""
    path = tree.named("libtorch_cuda.so")
    if path is None or not holder(tree.read(path)):
        return None
    other = foreign(about, rng)
    rewritten(tree, path, lambda rows: fatbins.each(rows, lambda one: one.holding(other.content).relabelled(other.sm)))
    name = rng.choice(
        ("libATen_cuda.so", "libtorch_cuda_main.so", "libtorch_cuda.so.2", "kernels.bin", "libaten_cu.so")
    )
    tree.moved(path, path.replace("libtorch_cuda.so", name))
    return f"{name}, sm_{other.sm}"


@changes("hide", "file")
def libtorch_cuda_as_a_link_to_nowhere(tree, about, rng):
    path = needed(tree, rng)
    if path is None:
        return None
    tree.files[path] = Link(rng.choice(("nowhere.so", "/nonexistent/lib.so", path.rsplit("/", 1)[-1])))
    return path


@changes("add", "file")
def kernels_for_another_sm_beside(tree, about, rng):
    """Adds a library of libtorch with code only for another SM."""
    path = tree.named("libtorch_cuda_linalg.so")
    if path is None or not about.exact or not holder(tree.read(path)):
        return None
    other = foreign(about, rng)
    copy = tree.copy()
    rewritten(copy, path, lambda rows: fatbins.each(rows, lambda one: one.holding(other.content).relabelled(other.sm)))
    name = rng.choice(("libtorch_extra.so", "libATen_cuda.so", "libtorch_cuda_more.so"))
    tree.files[path.replace("libtorch_cuda_linalg.so", name)] = copy.files[path]
    return f"{name}, sm_{other.sm}"


@keeps("add", "file")
def what_is_no_library(tree, about, rng):
    version = tree.named("version.py")
    if version is None:
        return None
    folder = version.rsplit("/", 1)[0]
    name, content = rng.choice(
        (
            ("README.md", b"# torch\n"),
            ("__init__.py", b"import os\n"),
            ("include/ATen/ATen.h", b"#pragma once\n"),
            ("share/cmake/Torch/TorchConfig.cmake", b"set(TORCH_FOUND TRUE)\n"),
            ("_inductor/kernel.ptx.txt", b".version 8.0\n"),
            ("py.typed", b""),
            ("test/data.bin", b"\x50\xed\x55\xba"),
            ("lib.txt", bytes(3)),
        )
    )
    tree.files[f"{folder}/{name}"] = content
    return name


@keeps("move", "file")
def the_whole_build_to_another_folder(tree, about, rng):
    """Keeps the store paths, if the build has any."""
    if tree.top.startswith("elsewhere"):
        return None
    tree.files = {f"elsewhere/{n}/{path}": one for n in [rng.randrange(9)] for path, one in tree.files.items()}
    prefix = next(iter(tree.files)).split("/", 2)
    below = "/".join(prefix[:2])
    for path, one in tree.files.items():
        if isinstance(one, Link):
            tree.files[path] = Link(one.target.replace(ROOT, f"{ROOT}/{below}"))
    tree.top = f"{below}/{tree.top}"
    return below


@keeps("relink", "file")
def a_library_as_a_link_to_itself_by_version(tree, about, rng):
    path = chosen(
        rng, [path for path in tree.libraries() if is_elf(tree, path) and path.endswith(".so") and "_C." not in path]
    )
    if path is None:
        return None
    tree.files[path + ".2.10"] = tree.files[path]
    tree.files[path] = Link(path.rsplit("/", 1)[-1] + ".2.10")
    return path


def is_nix(tree) -> bool:
    return "python3.13-" in tree.top or "-python3" in tree.top


def flattened(tree) -> dict[str, bytes]:
    """The files of site-packages, with what its links lead to."""
    site = tree.named("version.py").rsplit("torch/version.py", 1)[0]
    flat = {}
    for path, one in tree.files.items():
        if path.startswith(site) and path != f"{site}torch/lib":
            flat[path.removeprefix(site)] = one
    folders = {path.rsplit("/", 1)[0] for path in tree.files if path.endswith(("/libtorch.so", "/libc10.so"))}
    libraries = min(folders, default=None)
    if libraries and not libraries.startswith(site):
        for path, one in tree.files.items():
            if path.startswith(libraries + "/"):
                flat["torch/lib/" + path.removeprefix(libraries + "/")] = one
    return flat


@keeps("lay out", "file")
def site_packages_without_nix(tree, about, rng):
    if not is_nix(tree) or not tree.named("version.py"):
        return None
    tree.files = {f"venv/lib/python3.13/site-packages/{path}": one for path, one in flattened(tree).items()}
    tree.top = "venv/lib/python3.13/site-packages"
    return tree.top


def make_wheel_record(contents: dict[str, bytes]) -> dict[str, bytes]:
    """RECORD of a wheel's other members, as its builder writes it."""
    info = next(path.split("/")[0] for path in contents if ".dist-info/" in path)
    lines = [recorded(path, content) for path, content in contents.items()]
    return {f"{info}/RECORD": "\n".join([*lines, f"{info}/RECORD,,"]).encode() + b"\n"}


def repacked(tree, about, rng, change, *, again: bool) -> bool:
    """The build as a wheel, its members changed; RECORD is written `again`, or stays as it was."""
    if not a_wheel(tree, about, rng) or not tree.top.endswith(".whl"):
        return False
    with zipfile.ZipFile(io.BytesIO(tree.read(tree.top))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    listing = next(name for name in members if name.endswith("/RECORD"))
    if again:
        del members[listing]
        members |= make_wheel_record(members)
    tree.files[tree.top] = zipped(members)
    return True


@changes("retag", "file")
def a_wheel_for_another_python(tree, about, rng):
    """Changes the wheel's name; its modules stay."""
    if not a_wheel(tree, about, rng) or not tree.top.endswith(".whl"):
        return None
    other = rng.choice(("cp312-cp312", "cp313-cp313t", "cp314-cp314"))
    tree.moved(tree.top, tree.top.replace("cp313-cp313", other))
    tree.top = tree.top.replace("cp313-cp313", other)
    return other


@changes("rename", "file")
def a_member_that_record_does_not_list(tree, about, rng):
    def change(members):
        path = chosen(rng, [name for name in members if name.startswith("torch/lib/")])
        members["torch/lib/other_" + path.rsplit("/", 1)[-1]] = members[path]

    return "a copy" if repacked(tree, about, rng, change, again=False) else None


@changes("gut", "file")
def a_page_of_a_member_that_record_reveals(tree, about, rng):
    """Changes a byte that only the digest in RECORD reveals."""

    def change(members):
        path = chosen(rng, [name for name in members if name.startswith("torch/lib/")])
        members[path] = members[path][:-1] + bytes([members[path][-1] ^ 0xFF])

    return "the last byte" if repacked(tree, about, rng, change, again=False) else None


@changes("unlink", "file")
def the_file_that_makes_torch_a_package(tree, about, rng):
    path = next((path for path in tree.files if path.endswith("/torch/__init__.py")), None)
    if path:
        del tree.files[path]
    return path


@changes("stub", "file")
def an_extension_module_without_its_entry(tree, about, rng):
    path = chosen(rng, tree.libraries("_C."))
    content = tree.read(path) if path else b""
    if content.count(b"PyInit__C") == 0 or not about.small:
        return None
    tree.files[path] = content.replace(b"PyInit__C", b"PyInit__D")
    return path


@changes("path", "file")
def a_needed_library_by_its_path(tree, about, rng):
    """DT_NEEDED of the same length, with a slash in it."""
    path = chosen(rng, [path for path in tree.libraries("libtorch_cpu.so") if b"libc10.so\0" in tree.read(path)])
    if path is None or not about.small:
        return None
    tree.files[path] = tree.read(path).replace(b"libc10.so\0", b"/lib10.so\0")
    return path


@keeps("lay out", "file")
def a_wheel(tree, about, rng):
    if not is_nix(tree) or not tree.named("version.py") or not tree.named("METADATA"):
        return None
    flat = flattened(tree)
    flat = {path: one for path, one in flat.items() if not isinstance(one, Empty)}
    if any(isinstance(one, Link) for one in flat.values()):
        return None
    how = rng.choice(("stored", "deflated", "with data descriptors"))
    contents = {path: one if isinstance(one, bytes) else one.read_bytes() for path, one in sorted(flat.items())}
    name = f"torch-2.10.0-cp313-cp313-linux_{about.machine}.whl"
    tree.files = {name: zipped(contents | make_wheel_record(contents), how)}
    tree.top = name
    return how


@keeps("relink", "file")
def the_folder_of_the_libraries_as_a_link(tree, about, rng):
    folder = next((path.rsplit("/", 1)[0] for path in sorted(tree.files) if path.endswith("/libtorch_cpu.so")), None)
    if folder is None or folder in tree.files:
        return None
    other = folder + "-of-2.10"
    tree.files = {path.replace(folder + "/", other + "/"): one for path, one in tree.files.items()}
    tree.files[folder] = Link(other.rsplit("/", 1)[-1])
    return folder


@changes("hide", "file")
def a_member_that_is_twice_in_the_wheel(tree, about, rng):
    """Installers unpack the second member, which is cut short or for another SM."""
    broken = tree.copy()
    operator = rng.choice((a_library_cut_short, a_library_of_no_bytes))
    reported = operator(broken, about, rng)
    if not reported or not a_wheel(tree, about, rng) or not tree.top.endswith(".whl"):
        return None
    path = reported.split(":")[0]
    name = "torch/lib/" + path.rsplit("/", 1)[-1] if "/_C." not in path else "torch/" + path.rsplit("/", 1)[-1]
    content = io.BytesIO(tree.read(tree.top))
    with warnings.catch_warnings(), zipfile.ZipFile(content, "a") as archive:
        warnings.simplefilter("ignore")
        if name not in archive.namelist():
            return None
        archive.writestr(name, broken.read(path))
    tree.files[tree.top] = content.getvalue()
    return reported


@changes("add", "file")
def another_libtorch_cuda_elsewhere(tree, about, rng):
    """Adds a second copy for another SM, if one SM is claimed exactly."""
    path = tree.named("libtorch_cuda.so")
    version = tree.named("version.py")
    if path is None or version is None or not about.exact or not holder(tree.read(path)):
        return None
    other = foreign(about, rng)
    copy = tree.copy()
    rewritten(copy, path, lambda rows: fatbins.each(rows, lambda one: one.holding(other.content).relabelled(other.sm)))
    folder = version.rsplit("/", 1)[0]
    place = rng.choice(
        (f"{folder}/lib64/libtorch_cuda.so", f"{folder}/bin/libtorch_cuda.so", f"{folder}/libtorch_cuda.so")
    )
    tree.files[place] = copy.files[path]
    return f"{place}, sm_{other.sm}"


EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 1 << 32, 1 << 40)


@changes("scramble", "file", ANSWERS)
def numbers_in_headers(tree, about, rng):
    """May or may not matter: the program must only answer, and in time."""
    path = chosen(rng, [path for path in tree.libraries() if is_elf(tree, path)])
    if path is None or not about.small:
        return None
    content = tree.read(path)
    tables = [(0, 64), (64, 64 + 56 * 9)]
    start = elves.header(content)[6]
    tables.append((start, start + 64 * elves.header(content)[12]))
    names = (
        ".dynamic",
        ".dynsym",
        ".dynstr",
        ".rela.dyn",
        ".gnu.version_r",
        ".gnu.hash",
        ".symtab",
        ".eh_frame",
        ".init_array",
    )
    tables += [(one.offset, one.end) for one in elves.sections(content) if one.name in (*names, holder(content))]
    for _ in range(rng.randint(1, 6)):
        first, last = rng.choice(tables)
        width = rng.choice((1, 2, 4, 8))
        value = rng.choice(EXTREMES) if rng.random() < 0.7 else rng.getrandbits(64)
        at = rng.randrange(first, max(first + 1, last - width))
        content = elves.put(content, at, (value & (1 << 8 * width) - 1).to_bytes(width, "little"))
    tree.files[path] = content
    return path.rsplit("/", 1)[-1]


@changes("scramble", "file", ANSWERS)
def numbers_in_a_wheel_s_directory(tree, about, rng):
    if not a_wheel(tree, about, rng) or not tree.top.endswith(".whl"):
        return None
    content = tree.read(tree.top)
    directory = content.rindex(b"PK\1\2", 0, content.rindex(b"PK\5\6"))
    places = (content.index(b"PK\1\2"), directory, content.rindex(b"PK\5\6"), 0)
    for _ in range(rng.randint(1, 4)):
        width = rng.choice((1, 2, 4))
        at = rng.choice(places) + rng.randrange(60)
        content = elves.put(content, at, (rng.choice(EXTREMES) & (1 << 8 * width) - 1).to_bytes(width, "little"))
    tree.files[tree.top] = content
    return tree.top
