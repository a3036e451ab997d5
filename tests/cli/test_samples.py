# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests of docs/samples: each report of a picture is real, and names only kernels of the table, now or at its time."""

import json
import re

import pytest
from test_cli import SOURCE, run

FOLDER = SOURCE / "docs/samples"
INVENTED = SOURCE / "tests/report/golden/h200.json"


def load_reports(folder):
    documents = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    return {name: one for name, one in documents.items() if one.get("schema") == "pbprobe.report/1"}


SAMPLES = load_reports(FOLDER)


@pytest.fixture(scope="module")
def table():
    """Returns the full names of all kernels, including targets that are not built."""
    targets = json.loads(run("targets", "--format", "json").stdout)
    return {kernel["name"] for target in targets["targets"] for kernel in target["kernels"]}


def find_faults(document, table):
    """Lists reasons why the report cannot be a sample: its origin is unknown, or a kernel does not exist."""
    faults = [f"no {key}" for key in ("commit", "created", "host") if not document.get(key)]
    rows = (document.get("measurements") or {}).get("rows", [])
    names = {row["kernel"] for row in rows}
    return faults + [f"no kernel {name}" for name in sorted(names) if name not in table]


def test_samples_exist():
    assert SAMPLES


@pytest.fixture(scope="module")
def deleted():
    """Returns kernels of samples that were deleted since, by the samples' README."""
    [listed] = re.findall(r"^Deleted since: (.*)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    return set(re.findall(r"`(\w+)`", listed))


def test_deleted_kernels_are_in_samples_alone(table, deleted):
    named = {row["kernel"] for one in SAMPLES.values() for row in (one["measurements"] or {}).get("rows", [])}
    assert deleted <= named - table


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_names_only_known_kernels(name, table, deleted):
    assert find_faults(SAMPLES[name], table | deleted) == []
    assert (SAMPLES[name]["measurements"] or {}).get("rows"), "a sample shows measured rates"


def test_rejects_report_with_invented_kernel(table):
    invented = json.loads(INVENTED.read_text())
    assert "no kernel gemm_fp32_8x48" in find_faults(invented, table)


def test_rejects_report_without_origin(table):
    document = next(iter(SAMPLES.values()))
    assert "no commit" in find_faults({**document, "commit": ""}, table)


@pytest.mark.parametrize("name", SAMPLES)
def test_readme_states_origin_of_sample(name):
    document, rows = SAMPLES[name], (FOLDER / "README.md").read_text().splitlines()
    [row] = [row for row in rows if row.startswith(f"| `{name}` ")]
    gpus = [gpu["name"] for gpu in document["host"]["gpus"]]
    for fact in (document["created"][:10], document["commit"][:7], document["host"]["cpu"]["name"], *gpus):
        assert fact in row, fact


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_has_no_private_names(name):
    text = (FOLDER / name).read_text()
    assert not re.search(r"/home/\w+|/root/|GPU-[0-9a-f]{8}-", text)


def test_picture_shows_a_sample():
    [named] = re.findall(r'^SAMPLE = ROOT / "docs/samples/([^"]+)"$', (SOURCE / "tools/picture").read_text(), re.M)
    assert named in SAMPLES
