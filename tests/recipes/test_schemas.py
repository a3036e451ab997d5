# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The committed schemas, by a validator that is not ours: what they take and what they refuse."""

import copy
import json
import sys
from pathlib import Path

import jsonschema
import pytest

SOURCE = Path(__file__).resolve().parents[2]
TABLE = json.loads((SOURCE / "recipes/targets.json").read_text())
GOLDEN = sorted((SOURCE / "tests/report/golden").glob("*.json"))


def validator(path):
    schema = json.loads((SOURCE / path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


TARGETS = validator("recipes/targets.schema.json")
COMPONENTS = validator("recipes/cuda_components.schema.json")
COMPILERS = validator("recipes/compilers.schema.json")
SYMBOLS = validator("recipes/torch_symbols.schema.json")
REFERENCES = validator("recipes/reference_builds.schema.json")
WHEELS = validator("recipes/public_wheels.schema.json")
REPORT = validator("docs/report.schema.json")


def test_targets_table_is_valid():
    TARGETS.validate(TABLE)


def test_accepts_the_table_of_cuda_releases_and_rejects_a_broken_one():
    table = json.loads((SOURCE / "recipes/cuda_components.json").read_text())
    COMPONENTS.validate(table)
    broken = list(breaks(shortened(table), COMPONENTS.schema))
    assert len(broken) > 20
    assert [name for name, document in broken if COMPONENTS.is_valid(document)] == []


def test_accepts_the_table_of_compiler_defects_and_rejects_a_broken_one():
    table = json.loads((SOURCE / "recipes/compilers.json").read_text())
    COMPILERS.validate(table)
    assert [one["source"] for one in table["defects"] if not one["source"].startswith("https://")] == []
    broken = list(breaks(shortened(table), COMPILERS.schema))
    assert len(broken) > 10
    assert [name for name, document in broken if COMPILERS.is_valid(document)] == []


def test_accepts_the_table_of_torch_symbols_and_rejects_a_broken_one():
    table = json.loads((SOURCE / "recipes/torch_symbols.json").read_text())
    SYMBOLS.validate(table)
    assert len(table["releases"]) == 8
    assert table["slots"] > 1000 * sum(group["symbols"] for group in table["groups"])  # of the digests few are taken
    broken = list(breaks(shortened(table), SYMBOLS.schema))
    assert len(broken) > 5
    assert [name for name, document in broken if SYMBOLS.is_valid(document)] == []


def test_accepts_the_table_of_public_builds_and_rejects_a_broken_one():
    table = json.loads((SOURCE / "recipes/reference_builds.json").read_text())
    REFERENCES.validate(table)
    assert len(table["builds"]) >= 7
    for build in table["builds"]:
        counts = [row["kernels"] for row in build["code"].values()]
        assert min(counts) > 0.98 * max(counts) > 20000, build["build"]  # those of one build are alike
    broken = list(breaks(shortened(table), REFERENCES.schema))
    assert len(broken) > 10
    assert [name for name, document in broken if REFERENCES.is_valid(document)] == []


def test_page_of_wheels_matches_the_table():
    sys.path.insert(0, str(SOURCE / "recipes"))
    import public_wheels

    table = json.loads((SOURCE / "recipes/public_wheels.json").read_text())
    written = (SOURCE / "docs/wheels.md").read_text()
    assert public_wheels.page_table(table) in written, "recipes/public_wheels.py --page writes it again"
    table["wheels"][0]["sms"].append("sm_199")
    assert public_wheels.page_table(table) not in written


def test_accepts_the_table_of_public_wheels_and_rejects_a_broken_one():
    table = json.loads((SOURCE / "recipes/public_wheels.json").read_text())
    WHEELS.validate(table)
    torches = [wheel for wheel in table["wheels"] if wheel["package"] == "torch"]
    assert {wheel["platform"] for wheel in torches} == {"x86_64-linux", "aarch64-linux"}
    for wheel in torches:  # what is built with CUDA holds code, says for which, and needs a driver
        assert bool(wheel["cuda"]) == bool(wheel["sms"]) == bool(wheel["min_driver"]), wheel["wheel"]
    broken = list(breaks(shortened(table), WHEELS.schema))
    assert len(broken) > 20
    assert [name for name, document in broken if WHEELS.is_valid(document)] == []


def test_writes_every_key_of_every_row():
    keys = set(TARGETS.schema["$defs"]["Target"]["properties"])
    assert [row["id"] for row in TABLE["targets"] if set(row) != keys] == []


def test_there_are_whole_reports():
    assert len(GOLDEN) == 2


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_writes_a_schema_valid_report(file):
    REPORT.validate(json.loads(file.read_text()))


def resolved(schema, root):
    """Returns the schema of an optional value or of a reference without null."""
    schema = schema.get("anyOf", [schema])[0]
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    kind = schema.get("type", "string")
    return {**schema, "type": kind[0] if isinstance(kind, list) else kind}


def wrong_values(schema):
    return {
        "integer": ["text", 1.5, True, []],
        "number": ["text", True, []],
        "boolean": ["text", 1],
        "array": [{}, "text", 1],
        "object": [[], "text", 1],
    }.get(schema["type"], [42, {}, False])


def shortened(value):
    """Returns the document with at most one entry per list: a validator reads the whole document for every break."""
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    return [shortened(inner) for inner in value[:1]] if isinstance(value, list) else value


def breaks(whole, schema, at=(), root=None):
    """Yields each document with one required key removed, or with one key of another type, at every depth."""
    root = root or schema
    schema = resolved(schema, root)
    here = whole
    for step in at:
        here = here[step]
    if here is None or here == []:
        return
    if "items" in schema:
        yield from breaks(whole, schema["items"], (*at, 0), root)
    for key, inner in schema.get("properties", {}).items():
        if inner == {"description": inner.get("description")} or key not in here:
            continue
        changes = list(wrong_values(resolved(inner, root)))
        if key in schema["required"]:
            changes.append(None)
        for change in changes:
            broken = copy.deepcopy(whole)
            place = broken
            for step in at:
                place = place[step]
            if change is None:
                del place[key]
            else:
                place[key] = change
            yield f"{'.'.join(map(str, (*at, key)))} = {change}", broken
        yield from breaks(whole, inner, (*at, key), root)


@pytest.mark.parametrize("which", ["targets", "report"])
def test_refuses_every_missing_key_and_wrong_type(which):
    schema = TARGETS if which == "targets" else REPORT
    whole = TABLE if which == "targets" else json.loads((SOURCE / "tests/report/golden/h200.json").read_text())
    whole = shortened(whole)
    schema.validate(whole)
    broken = list(breaks(whole, schema.schema))
    assert len(broken) > 100
    assert [name for name, document in broken if schema.is_valid(document)] == []
