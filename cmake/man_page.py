#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes pbprobe.1 from what the program's own --help says, of itself and of each of its commands.

man_page.py PROGRAM… OUTPUT, where an emulator may run the program
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

LISTS = ("Positionals:", "Options:", "Subcommands:")
ENTRY = re.compile(r"  (\S.*?)(?:\s{2,}(.*))?$")  # a name and what it is; CLI11 puts the latter below a long name


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def help_of(program: list[str], *commands: str) -> list[str]:
    command = [*program, *commands, "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def list_of(lines: list[str], title: str) -> list[tuple[str, list[str]]]:
    """Entries of one list of a help: their names, and their lines."""
    entries: list[tuple[str, list[str]]] = []
    inside = False
    for line in lines:
        if not line.startswith(" "):
            inside = line == title
        elif inside and (found := ENTRY.match(line)) and not line.startswith("   "):
            entries.append((found[1], [found[2]] if found[2] else []))
        elif inside and entries:
            entries[-1][1].append(line.strip())
    return entries


def prose(lines: list[str]) -> list[str]:
    """What stands before the lists: sentences, and examples as they are."""
    page: list[str] = []
    literal = False
    for line in lines:
        if line in LISTS:
            break
        if line.startswith("  ") != literal:
            literal = not literal
            page.append(".nf" if literal else ".fi")
        if line.strip():
            page += [escaped(line)] if literal else [".PP", escaped(line)]
    return [*page, *([".fi"] if literal else [])]


def entries(lines: list[str], title: str) -> list[str]:
    page: list[str] = []
    for name, text in list_of(lines, title):
        # \: lets a long list of choices end a line.
        page += [".TP", ".B " + escaped(name).replace(",", ",\\:"), *map(escaped, text)]
    return page


def command_pages(program: list[str], *commands: str) -> list[str]:
    page: list[str] = []
    lines = help_of(program, *commands)
    if commands:
        page += [f".SS pbprobe {' '.join(map(escaped, commands))}", *prose(lines)]
        page += entries(lines, "Positionals:") + entries(lines, "Options:")
    for name, _ in list_of(lines, "Subcommands:"):
        page += command_pages(program, *commands, name)
    return page


def man_page(program: list[str]) -> str:
    version = subprocess.run([*program, "--version"], check=True, capture_output=True, text=True).stdout.split()
    lines = help_of(program)
    page = [f'.TH PBPROBE 1 "" "{escaped(" ".join(version[:2]))}" "User Commands"']
    page += [".SH NAME", f"pbprobe \\- {escaped(lines[0][0].lower() + lines[0][1:].rstrip('?'))}"]
    page += [".SH SYNOPSIS", ".B pbprobe", "[OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]"]
    page += [".SH DESCRIPTION", *prose(lines), ".SH OPTIONS", *entries(lines, "Options:")]
    page += [".SH COMMANDS", *command_pages(program)]
    page += [".SH SEE ALSO", "The documents of share/doc/pbprobe, README.md first."]
    return "\n".join(page) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[-1]).write_text(man_page(sys.argv[1:-1]))
