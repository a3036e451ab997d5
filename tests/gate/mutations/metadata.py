# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on what a package says of itself, and on where its libraries look for others."""

from __future__ import annotations

import re

import elves
from device import is_elf
from operators import REFUSED, changes, chosen, keeps

VERSION = re.compile(rb"__version__ = '([^']*)'")
CUDA = re.compile(rb"^cuda(: Optional\[str\])? = '[^']*'", re.MULTILINE)


def version_file(tree) -> tuple[str, bytes] | tuple[None, bytes]:
    path = next((path for path in sorted(tree.files) if path.endswith("torch/version.py")), None)
    return path, tree.read(path) if path else b""


def others(version: str) -> list[str]:
    base = version.split("+")[0]
    major, minor, patch = base.split(".")
    neighbours = [f"{major}.{int(minor) - 1}.1", f"{major}.{int(minor) + 1}.0", f"{major}.{minor}.{int(patch) + 1}"]
    return [
        *neighbours,
        *(base + end for end in ("rc1", "a0", "b2", ".dev20260101")),
        f"1!{base}",
        "unknown",
        f"v{base}x",
    ]


@changes("downgrade", "metadata")
def another_version(tree, about, rng):
    path, text = version_file(tree)
    reported = VERSION.search(text)
    if not reported:
        return None
    other = rng.choice(others(reported[1].decode()))
    tree.files[path] = VERSION.sub(f"__version__ = '{other}'".encode(), text, count=1)
    return other


@changes("hide", "metadata")
def a_version_that_is_assigned_twice(tree, about, rng):
    path, text = version_file(tree)
    reported = VERSION.search(text)
    if not reported:
        return None
    other = f"__version__ = '{rng.choice(others(reported[1].decode())[:5])}'\n".encode()
    tree.files[path] = rng.choice((text + other, other + text, text + b"if True:\n    " + other))
    return other.decode().strip()


@changes("downgrade", "metadata")
def another_cuda_in_version_py(tree, about, rng):
    path, text = version_file(tree)
    if not CUDA.search(text) or not about.numbers:
        return None
    other = rng.choice(("cuda = '12.8'", "cuda = '13.2'", "cuda = None", "cuda = '12.9'"))
    tree.files[path] = CUDA.sub(other.encode(), text, count=1)
    return other


@changes("empty", "metadata", REFUSED)
def no_version_py(tree, about, rng):
    path, _ = version_file(tree)
    if not path:
        return None
    how = rng.choice(("dropped", "empty", "binary"))
    if how == "dropped":
        del tree.files[path]
    else:
        tree.files[path] = b"" if how == "empty" else rng.randbytes(200)
    return how


@changes("relabel", "metadata")
def metadata_of_another_version_or_package(tree, about, rng):
    path = next((path for path in sorted(tree.files) if re.search(r"/torch-[^/]*\.dist-info/METADATA$", path)), None)
    if path is None:
        return None
    text = tree.read(path).decode()
    field, other = rng.choice(
        (("Version", "2.9.1"), ("Version", "2.10.0rc1"), ("Name", "torchvision"), ("Name", "torch-cpu"))
    )
    # Text behind the first empty line is the description, which no tool parses.
    head, *description = text.split("\n\n", 1)
    changed = re.sub(rf"^{field}: .*$", f"{field}: {other}", head, count=1, flags=re.MULTILINE)
    changed = changed if changed != head else f"{field}: {other}\n{head}"
    tree.files[path] = "\n\n".join([changed, *description]).encode()
    return f"{field}: {other}"


@changes("add", "metadata")
def a_second_dist_info(tree, about, rng):
    path = next((path for path in sorted(tree.files) if re.search(r"/torch-[^/]*\.dist-info/METADATA$", path)), None)
    if path is None:
        return None
    other = rng.choice(("2.9.1", "2.8.0", "2.12.0"))
    folder = path.rsplit("/", 2)[0]
    tree.files[f"{folder}/torch-{other}.dist-info/METADATA"] = (
        f"Metadata-Version: 2.1\nName: torch\nVersion: {other}\n".encode()
    )
    return other


@changes("relabel", "metadata")
def the_wheel_s_tag(tree, about, rng):
    path = next((path for path in tree.files if re.search(r"(^|/)torch-[^/]*/WHEEL$", path)), None)
    if path is None:
        return None
    text = tree.read(path).decode()
    machine = "aarch64" if about.machine == "x86_64" else "x86_64"
    other = rng.choice(("cp312-cp312-linux_" + about.machine, "cp313-cp313-linux_" + machine))
    tree.files[path] = re.sub(r"^Tag: .*$", f"Tag: {other}", text, flags=re.MULTILINE).encode()
    return other


@changes("hide", "metadata")
def a_runpath_to_a_shared_folder(tree, about, rng):
    own = [path for path in tree.own() if is_elf(tree, path) and runpath(tree.read(path))]
    path = chosen(rng, own)
    if path is None:
        return None
    content = tree.read(path)
    place, reported = runpath(content)
    other = rng.choice(("/tmp/x", ".", "", "/tmp", "lib", "/a/b", "/home/a"))[: len(reported)]
    tree.files[path] = elves.put(content, place, other.encode().ljust(len(reported), b"\0"))
    return f"{path.rsplit('/', 1)[-1]}: {other!r}"


def runpath(content: bytes) -> tuple[int, str] | None:
    """Returns the place and text of the RUNPATH among the strings, if it begins with $ORIGIN."""
    names = [one.name for one in elves.sections(content)]
    if ".dynstr" not in names:
        return None
    strings = elves.section(content, ".dynstr")
    at = content.find(b"\0$ORIGIN", strings.offset, strings.end)
    if at < 0:
        return None
    end = content.index(b"\0", at + 1)
    return at + 1, content[at + 1 : end].decode()


@keeps("reorder", "metadata")
def version_py_written_otherwise(tree, about, rng):
    path, text = version_file(tree)
    if not path:
        return None
    lines = text.decode().splitlines()
    how = rng.choice(("order", "quotes", "comments", "annotated", "spaces"))
    if how == "order":
        rng.shuffle(lines)
    elif how == "quotes":
        lines = [line.replace("'", '"') for line in lines]
    elif how == "comments":
        lines = ["# generated", "", *lines, "# __version__ = '1.0'"]
    elif how == "annotated":
        lines = [
            "from typing import Optional",
            "__all__ = ['__version__', 'cuda', 'git_version']",
            *(line.replace("cuda = ", "cuda: Optional[str] = ") for line in lines),
        ]
    else:
        lines = [line.replace(" = ", "=") + "  " for line in lines]
    tree.files[path] = ("\n".join(lines) + "\n").encode()
    return how


@keeps("reorder", "metadata")
def metadata_with_more_in_it(tree, about, rng):
    path = next((path for path in sorted(tree.files) if re.search(r"/torch-[^/]*\.dist-info/METADATA$", path)), None)
    if path is None:
        return None
    more = rng.choice(("Summary: Tensors\n", "Author-email: a@b\nLicense: BSD\n", "Classifier: Private\n"))
    tree.files[path] = (
        tree.read(path) + more.encode() + rng.choice(("", "\nVersion: 1.0 is what this text is about\n")).encode()
    )
    return more.strip()
