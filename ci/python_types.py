#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes bindings/pbprobe/_types.py from the schemas in docs: what the package's documents hold, for type checkers.

ci/python_types.py [--check]    exit code 1 where the file is not what they give
"""

from __future__ import annotations

import json
import keyword
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "bindings/pbprobe/_types.py"
# The documents, and the names that their schemas get here.
DOCUMENTS = {"report": "ReportDocument", "comparison": "ComparisonDocument", "environment": "EnvironmentDocument"}
# Words that the package's own classes use, by the field that has them.
WORDS = {"Severity": ("Finding", "severity"), "Level": ("Finding", "level"), "Outcome": ("Verdict", "outcome")}
HEAD = '''# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What pbprobe's documents hold. By ci/python_types.py from the schemas in docs: `make generate`."""

from __future__ import annotations

from typing import Literal, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def literal(values: list) -> str:
    return f"Literal[{', '.join(json.dumps(value) if value is not None else 'None' for value in values)}]"


def format_type(schema: dict) -> str:
    """Returns the Python type of a schema; Any without a type."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "const" in schema:
        return literal([schema["const"]])
    if "enum" in schema:
        return literal(schema["enum"])
    if "anyOf" in schema:
        return " | ".join(format_type(one) for one in schema["anyOf"])
    names = schema.get("type", [])
    return " | ".join(plain_type(name, schema) for name in ([names] if isinstance(names, str) else names)) or "Any"


def plain_type(name: str, schema: dict) -> str:
    if name == "array":
        return f"list[{format_type(schema.get('items', {}))}]"
    if name == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {format_type(values) if isinstance(values, dict) else 'Any'}]"
    return PLAIN[name]


def format_class(name: str, schema: dict) -> str:
    """Returns a TypedDict. A subclass has the optional keys, since NotRequired needs Python 3.11."""
    required = set(schema.get("required", []))
    rows = {key: (format_type(value), value.get("description", "")) for key, value in schema["properties"].items()}
    if any(not key.isidentifier() or keyword.iskeyword(key) for key in rows):
        listed = ", ".join(f'"{key}": {kind!r}' for key, (kind, _) in rows.items())
        return f'{name} = TypedDict("{name}", {{{listed}}}, total={required == set(rows)})\n'

    def body(keys: list[str]) -> str:
        return "".join(f"    {key}: {rows[key][0]}\n" for key in keys) or "    pass\n"

    always, sometimes = [key for key in rows if key in required], [key for key in rows if key not in required]
    if not sometimes:
        return f'class {name}(TypedDict):\n    """{title(schema, name)}"""\n\n{body(always)}'
    above = f"class _{name}(TypedDict):\n{body(always)}\n\n"
    return above + f'class {name}(_{name}, total=False):\n    """{title(schema, name)}"""\n\n{body(sometimes)}'


def title(schema: dict, name: str) -> str:
    return schema.get("title", f"{name} in a document of pbprobe").rstrip(".") + "."


def text() -> str:
    classes: dict[str, str] = {}
    schemas = {}
    for document, name in DOCUMENTS.items():
        schema = json.loads((ROOT / f"docs/{document}.schema.json").read_text())
        for part, definition in {**schema.get("$defs", {}), name: schema}.items():
            if part in schemas and schemas[part] != definition:
                sys.exit(f"two schemas define {part} differently")
            schemas[part] = definition
            classes[part] = (
                format_class(part, definition)
                if "properties" in definition
                else f"{part} = {format_type(definition)}\n"
            )
    words = [f"{word} = {format_type(schemas[part]['properties'][key])}\n" for word, (part, key) in WORDS.items()]
    return HEAD + "\n" + "".join(words) + "\n\n" + "\n\n".join(classes.values())


def formatted(source: str) -> str:
    command = [ROOT / ".venv/bin/ruff", "format", "--stdin-filename", OUTPUT, "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def main() -> int:
    new = formatted(text())
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(new)
        return 0
    if OUTPUT.exists() and OUTPUT.read_text() == new:
        return 0
    print(f"{OUTPUT.relative_to(ROOT)}: not what the schemas in docs give: make generate, and commit it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
