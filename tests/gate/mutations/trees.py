# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A build's files, some of them changed. Unchanged files stay in place and are linked."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil

OWN = ("_C.", "libc10", "libtorch", "libshm")
CLOSED = ("libcudnn", "libcublas", "libmagma", "libnccl")


@dataclasses.dataclass(frozen=True)
class Link:
    target: str  # with the tree's root in front where it is absolute: "@ROOT@/…"


@dataclasses.dataclass(frozen=True)
class Empty:
    """A folder without files."""


ROOT = "@ROOT@"
Content = pathlib.Path | bytes | Link | Empty


@dataclasses.dataclass
class Tree:
    """`files`: by their paths below the root. `top`: what is audited."""

    files: dict[str, Content]
    top: str
    options: list[str] = dataclasses.field(default_factory=list)  # further ones of the gate
    beside: dict[str, bytes] = dataclasses.field(default_factory=dict)  # files of the folder that the gate runs in
    notes: list[str] = dataclasses.field(default_factory=list)  # what was done

    def copy(self) -> Tree:
        return Tree(dict(self.files), self.top, list(self.options), dict(self.beside), list(self.notes))

    def read(self, path: str) -> bytes:
        content = self.files[path]
        if isinstance(content, Link | Empty):
            raise ValueError(f"{path} is not a file")
        return content if isinstance(content, bytes) else content.read_bytes()

    def libraries(self, *prefixes: str) -> list[str]:
        """Shared objects whose names begin so; all of them without prefixes."""
        found = []
        for path, content in self.files.items():
            name = path.rsplit("/", 1)[-1]
            if isinstance(content, Link | Empty) or ".so" not in name:
                continue
            if not prefixes or name.startswith(prefixes):
                found.append(path)
        return sorted(found)

    def own(self) -> list[str]:
        return self.libraries(*OWN)

    def named(self, name: str) -> str | None:
        """The path of the one file of this name."""
        return next((path for path in sorted(self.files) if path.rsplit("/", 1)[-1] == name), None)

    def moved(self, path: str, other: str) -> None:
        self.files[other] = self.files.pop(path)

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        for path, content in self.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Empty):
                file.mkdir()
            elif isinstance(content, Link):
                file.symlink_to(content.target.replace(ROOT, str(folder)))
            elif isinstance(content, bytes):
                file.write_bytes(content)
            else:
                placed(content, file)
        return folder / self.top


def placed(source: pathlib.Path, file: pathlib.Path) -> None:
    try:
        os.link(source, file)
    except OSError:
        shutil.copyfile(source, file)


def read_tree(root: pathlib.Path, top: pathlib.Path) -> Tree:
    """Reads the files below `root`, and the links that lead below it."""
    files: dict[str, Content] = {}
    for folder, names, others in os.walk(root):
        here = pathlib.Path(folder)
        for name in [*others, *(name for name in names if (here / name).is_symlink())]:
            file = here / name
            path = str(file.relative_to(root))
            files[path] = Link(str(file.readlink()).replace(str(root), ROOT)) if file.is_symlink() else file
        if not names and not others and here != root:
            files[str(here.relative_to(root))] = Empty()
    return Tree(files, str(top.relative_to(root)))
