# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Variables of the environment that a recipe reads: evaluation is impure, so each of them would reach a build."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Iterator

CODE = re.compile(
    r"""(?P<comment>\#[^\n]*|/\*.*?\*/)
      | (?P<string>"(?P<text>(?:[^"\\$]|\\.|\$(?!\{))*)")
      | (?P<search><[\w.+-]+(?:/[\w.+-]+)*>)
      | (?P<path>[\w.+~-]*(?:/[\w.+-]+)+|\.{1,2}/(?=\$\{))
      | (?P<word>[A-Za-z_][\w'-]*)
      | (?P<opens>"|'')
      | (?P<other>\$\{|.)""",
    re.VERBOSE | re.DOTALL,
)
QUOTED = {
    '"': re.compile(r"""(?P<part>(?:[^"\\$]|\\.|\$(?!\{))+)|(?P<inner>\$\{)|(?P<closes>")""", re.DOTALL),
    "''": re.compile(r"""(?P<part>'''|''\$|''\\.|[^'$]|'(?!')|\$(?!\{))|(?P<inner>\$\{)|(?P<closes>'')""", re.DOTALL),
}


def nix_tokens(text: str) -> Iterator[tuple[str, str]]:
    """Splits Nix code into strings, paths, words and signs; ${…} in a string yields the text between the braces."""
    modes = ["{"]  # the last one: in code ("{", "${"), or in a string by its quotes
    at = 0
    while at < len(text) and modes:
        found = (QUOTED.get(modes[-1]) or CODE).match(text, at)
        if not found:
            return  # Nix will say what is wrong with it
        at, kind, value = found.end(), found.lastgroup, found[0]
        if kind == "closes" or (kind == "other" and value == "}"):
            modes.pop()
        elif kind == "opens" or kind == "inner" or (kind == "other" and value in ("{", "${")):
            modes.append(value)
        if kind == "opens":
            yield "interpolated", value
        elif kind in ("string", "text"):
            yield "string", found["text"]
        elif kind not in ("comment", "part", "closes", "inner") and not value.isspace():
            yield kind or "", value


def parse_nix_file(file: pathlib.Path) -> tuple[set[str], set[str]]:
    """Variables and paths that one Nix file names; "?" is a variable whose name the text does not tell."""
    variables: set[str] = set()
    paths: set[str] = set()
    tokens = [*nix_tokens(file.read_text(errors="replace")), ("other", "")]
    inherits = False
    for (kind, value), (next_kind, next_value) in itertools.pairwise(tokens):
        inherits = (inherits or (kind, value) == ("word", "inherit")) and value != ";"
        if kind == "path":
            paths.add(value)
        elif kind == "search":
            variables.add("NIX_PATH")
        elif (kind, value) == ("word", "getEnv") and not inherits:
            variables.add(next_value if next_kind == "string" else "?")
    return variables, paths


def nix_files(named: pathlib.Path) -> list[pathlib.Path]:
    """Returns the files that a path in Nix code may mean: all files of a folder, since code may compose names."""
    if named.is_file():
        return [named] if named.suffix in (".nix", "") else []
    default = named / "default.nix"
    return [default] if default.is_file() else list(named.rglob("*.nix"))


def read_recipe_variables(recipe: pathlib.Path, tree: pathlib.Path) -> set[str]:
    """Returns the environment variables that the recipe and its Nix files read."""
    variables, seen, waiting = {"CUDA_TOOLKIT_REPO"}, set(), [recipe.resolve()]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        found, paths = parse_nix_file(file)
        variables |= found
        for path in paths:
            named = (file.parent / path).resolve()
            if named.is_relative_to(tree.resolve()):
                waiting += nix_files(named)
    return variables
