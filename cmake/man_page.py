#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes pbprobe.1 from the --help of the program and of each command.

man_page.py PROGRAM… OUTPUT; PROGRAM may start with an emulator and its arguments
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

LISTS = ("Positionals:", "Options:", "Subcommands:")
ENTRY = re.compile(r"  (\S.*?)(?:\s{2,}(.*))?$")  # name and description; CLI11 prints the description below a long name


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def read_help(program: list[str], *commands: str) -> list[str]:
    command = [*program, *commands, "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def parse_list(lines: list[str], title: str) -> list[tuple[str, list[str]]]:
    """Parses the entries of one list in a --help text: names and lines."""
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
    """Formats the text before the lists: sentences, and examples verbatim."""
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


def format_list(lines: list[str], title: str) -> list[str]:
    """Formats one list of a --help text in roff: a paragraph (.TP) for each entry."""
    page: list[str] = []
    for name, text in parse_list(lines, title):
        # \: lets a long list of choices end a line.
        page += [".TP", ".B " + escaped(name).replace(",", ",\\:"), *map(escaped, text)]
    return page


def format_command(program: list[str], *commands: str) -> list[str]:
    """Formats the --help text of the command with this path, as "recipes", "lock", and of all commands below it.

    Returns lines of roff. Without a path, formats all commands of the program.
    """
    page: list[str] = []
    lines = read_help(program, *commands)
    if commands:
        page += [f".SS pbprobe {' '.join(map(escaped, commands))}", *prose(lines)]
        page += format_list(lines, "Positionals:") + format_list(lines, "Options:")
    for name, _ in parse_list(lines, "Subcommands:"):
        page += format_command(program, *commands, name)
    return page


def man_page(program: list[str]) -> str:
    version = subprocess.run([*program, "--version"], check=True, capture_output=True, text=True).stdout.split()
    lines = read_help(program)
    page = [f'.TH PBPROBE 1 "" "{escaped(" ".join(version[:2]))}" "User Commands"']
    page += [".SH NAME", f"pbprobe \\- {escaped(lines[0][0].lower() + lines[0][1:].rstrip('?'))}"]
    page += [".SH SYNOPSIS", ".B pbprobe", "[OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]"]
    page += [".SH DESCRIPTION", *prose(lines), ".SH OPTIONS", *format_list(lines, "Options:")]
    page += [".SH COMMANDS", *format_command(program)]
    page += [".SH SEE ALSO", "The documents of share/doc/pbprobe, README.md first."]
    return "\n".join(page) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[-1]).write_text(man_page(sys.argv[1:-1]))
