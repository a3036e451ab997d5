# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""MkDocs hooks: two pages made from the program, and links out of docs/.

`make docs` builds the program and the package first.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/bin/pbprobe"
LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)]*)?\)")


def read_help(*commands: str) -> str:
    return subprocess.run([PROGRAM, *commands, "--help"], check=True, capture_output=True, text=True).stdout.strip()


def parse_commands(text: str) -> list[str]:
    _, found, listed = text.partition("\nSubcommands:\n")
    return re.findall(r"^  (\w[\w-]*)(?: |$)", listed, re.MULTILINE) if found else []


def section(*commands: str) -> list[str]:
    """Returns the help of a command and of its subcommands."""
    text = read_help(*commands)
    own = text.partition("\nSubcommands:\n")[0] if parse_commands(text) else text
    page = [f"## {' '.join(('pbprobe', *commands))}", "", "```text", own.rstrip(), "```", ""]
    for command in parse_commands(text):
        page += section(*commands, command)
    return page


def command_page() -> str:
    return "\n".join(["# Commands", "", "Output of `--help` for each command.", "", *section()])


def format_signature(thing: object) -> str:
    """Returns the signature without the quotes of string annotations."""
    return str(inspect.signature(thing)).replace("'", "")


def described(name: str, thing: object) -> list[str]:
    if inspect.isclass(thing):
        members = [
            (f"{name}.{member}", value)
            for member, value in vars(thing).items()
            if not member.startswith("_") and (callable(value) or isinstance(value, property))
        ]
        page = [f"## {name}", "", inspect.getdoc(thing) or "", ""]
        for member, value in members:
            signature = "" if isinstance(value, property) else format_signature(value)
            page += [f"### {member}", "", f"```python\n{member}{signature}\n```", "", inspect.getdoc(value) or "", ""]
        return page
    return [f"## {name}", "", f"```python\n{name}{format_signature(thing)}\n```", "", literal(thing), ""]


def literal(thing: object) -> str:
    """Returns a docstring whose argument lists keep their line breaks."""
    first, _, rest = (inspect.getdoc(thing) or "").partition("\n\n")
    return f"{first}\n\n```text\n{rest}\n```" if rest else first


def python_page() -> str:
    sys.path.insert(0, str(ROOT / "build/python"))
    import pbprobe

    page = ["# Python", "", "`pip install .` from a checkout; it installs no torch. `import pbprobe`, then:", ""]
    for name in pbprobe.__all__:
        thing = getattr(pbprobe, name)
        if callable(thing):
            page += described(f"pbprobe.{name}", thing)
    return "\n".join([*page, "The kernels as torch operators: [operators.md](operators.md).", ""])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    if not PROGRAM.exists():
        raise PluginError(f"{PROGRAM} is not built: make docs builds it first")
    for name, text in (("cli.md", command_page()), ("python.md", python_page())):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replaces links to files outside docs/ by their text. Keeps broken links, which then fail the build."""
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def words(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        outside = not target.is_relative_to(docs) and target.exists()
        return match[1] if outside else match[0]

    return LINK.sub(words, markdown)
