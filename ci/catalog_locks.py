# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""flox's locks of the catalogs that Nix expressions refer to.

Newer flox pins each `catalogs.OWNER.PACKAGE` of .flox/pkgs in one file, .flox/catalog.lock, and without it looks the
packages up anew for each build: what is published may then be another build than the tested one. A release before wrote
.flox/nix-builds.lock from .flox/nix-builds.toml.
"""

from __future__ import annotations

import pathlib

from recipe_variables import nix_tokens

LOCK = ".flox/catalog.lock"
OLDER_LOCK = ".flox/nix-builds.lock"
OLDER_CONFIGURATION = ".flox/nix-builds.toml"
WAY_OUT = "run `flox build update-catalogs`, commit the lock and push it"


def refers_to_catalogs(text: str) -> bool:
    """`catalogs.…` in Nix code, in no string and no comment; `a.catalogs.…` is an attribute of something else."""
    tokens = [("other", ""), *nix_tokens(text), ("other", "")]
    three = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return any(
        before[1] != "." and word == ("word", "catalogs") and after == ("other", ".") for before, word, after in three
    )


def missing_lock(folder: pathlib.Path, tracked: list[str]) -> str | None:
    """Returns why two builds by flox in a clone of `folder` could differ, or None."""
    for lock in (LOCK, OLDER_LOCK):
        if (folder / lock).is_file() and lock not in tracked:
            return f"{lock} is not tracked, and flox builds from a clone, which lacks it: commit and push it"
    if LOCK in tracked or OLDER_LOCK in tracked:
        return None
    if OLDER_CONFIGURATION in tracked:
        return f"{OLDER_CONFIGURATION} names catalogs that no lock pins: {WAY_OUT}"
    recipes = (name for name in tracked if name.startswith(".flox/pkgs/") and name.endswith(".nix"))
    for name in recipes:
        if refers_to_catalogs((folder / name).read_text(errors="replace")):
            return f"{name} refers to catalogs, and there is no {LOCK}, so each build looks them up anew: {WAY_OUT}"
    return None
