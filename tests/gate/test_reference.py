# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares builds with a table of their version, or with a baseline's kernels by name."""

import json

import cubins
import fatbins
import faults
import pytest
from device_faults import change_content, every_unit
from made import text
from variants import CUDA, LINALG, fatbin, get_parts, sound

NAME = faults.full_name("sm90-avx2")


def table(version="2.10.0", sm="sm_90", files=None, **counts):
    """A table of one build."""
    code = {sm: {"units": 1, "kernels": 1, "code_bytes": 16} | counts}
    build = {"torch": version, "cuda": "13.0", "platform": "x86_64-linux", "build": "a generic one", "code": code}
    document = {"schema": "pbprobe.reference_builds/1", "builds": [build | {"parts": {}, "files": files or {}}]}
    return text("reference.json", json.dumps(document))


def answer(tmp_path, reference, *options, change=lambda build: build):
    return faults.gated(change(sound(NAME)).write(tmp_path), NAME, *options, reference=reference)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (
            {"units": 3},
            "holds 2 translation units for it; the same file in the reference build a generic one holds 3 for sm_90",
        ),
        (
            {"kernels": 9},
            "holds 3 kernels for it; the same file in the reference build a generic one holds 9 for sm_90",
        ),
        (
            {"code_bytes": 1 << 20},
            "bytes of code for it; the same file in the reference build a generic one holds 1048576 for sm_90",
        ),
    ],
    ids=["units", "kernels", "bytes"],
)
def test_fails_a_build_with_less_code(tmp_path, counts, says):
    found = answer(tmp_path / "less", table(**counts))
    assert found.failed == {"PB335", "claim"}
    assert says in found.found["PB335"]
    assert answer(tmp_path / "as-much", table(units=2, kernels=2)).code == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda build: build,
            (
                "libtorch_cuda_linalg.so holds 1 kernel for it; the same file in the "
                "reference build a generic one holds 2 for sm_90"
            ),
        ),
        (
            lambda build: build.but({LINALG: build.libraries[LINALG].but(units=())}),
            (
                "libtorch_cuda_linalg.so holds 0 translation units for it; the same file in "
                "the reference build a generic one holds 1 for sm_90"
            ),
        ),
    ],
    ids=["less", "nothing"],
)
def test_fails_another_file_with_less_code(tmp_path, change, says):
    code = {"units": 1, "kernels": 2, "code_bytes": 16}
    theirs = {"libtorch_cuda_linalg.so": {"linked": {}, "code": {"sm_90": code}}}
    found = answer(tmp_path / "less", table(files=theirs), change=change)
    assert found.failed == {"PB333", "claim"}
    assert says in found.found["PB333"]
    code["kernels"] = 1
    assert answer(tmp_path / "as-much", table(files=theirs)).code == 0
    theirs["libtorch_cuda_linalg.so"] |= {"linked": {"MAGMA": "2.6.1"}}
    assert answer(tmp_path / "another-magma", table(files=theirs), change=change).code == 0


def test_does_not_count_copies_of_a_unit(tmp_path):
    def holding(*which):
        def change(build):
            units = [get_parts(NAME).cuda_units()[at] for at in which]
            return build.but({CUDA: build.libraries[CUDA].but(units=tuple(units))})

        return change

    due = table(units=2, kernels=3)
    found = answer(tmp_path / "copied", due, change=holding(1, 1, 1))
    assert found.failed == {"PB335", "claim"}
    assert "holds 1 translation unit for it" in found.found["PB335"]
    assert answer(tmp_path / "more", due, change=holding(0, 1, 0)).code == 0


def test_takes_the_nearest_sm_of_the_table(tmp_path):
    assert "PB335" in answer(tmp_path / "less", table(sm="sm_80", units=9)).failed
    assert answer(tmp_path / "as-much", table(sm="sm_80")).code == 0


def test_leaves_an_unlisted_version_unknown(tmp_path):
    found = answer(tmp_path, table(version="1.0.0"))
    assert (found.failed, found.unknown) == (frozenset(), frozenset({"PB335", "claim"}))


def test_takes_a_baseline_for_an_unlisted_version(tmp_path):
    """Takes expected counts from a generic build if no table has the version."""
    parts = get_parts(NAME)
    more = [parts.unit(flags=(f"-DNAME=kernel{i}",)) for i in range(3)]
    generic = sound(NAME).but({CUDA: sound(NAME).libraries[CUDA].but(units=(*parts.cuda_units(), *more))})
    unknown = table(version="1.0.0")
    found = answer(tmp_path / "less", unknown, "--baseline", generic.write(tmp_path / "generic"))
    assert "PB335" in found.failed
    assert "holds 2 translation units for it; the same file in the reference build" in found.found["PB335"]
    twin = answer(tmp_path / "twin", unknown, "--baseline", sound(NAME).write(tmp_path / "same"))
    assert twin.code == 0


def test_fails_a_tiny_build_by_the_own_table(tmp_path):
    reported, code = faults.gate(sound(NAME).write(tmp_path), NAME)
    assert code == 1
    assert {row["id"] for row in reported["findings"] if row["severity"] == "fail"} == {"PB335"}


def test_names_missing_kernels_of_a_baseline(tmp_path):
    """A generic build of that version has what the build has, and three times more."""
    parts = get_parts(NAME)
    names = [parts.unit(flags=(f"-DNAME=kernel{i}",)) for i in range(3)]
    generic = sound(NAME).but({CUDA: sound(NAME).libraries[CUDA].but(units=(*parts.cuda_units(), *names))})
    baseline = generic.write(tmp_path / "generic")
    found = answer(tmp_path / "build", table(), "--baseline", baseline)
    assert "PB336" in found.failed
    assert "3 of the 5 kernels that the baseline has for sm_90 are missing for sm_90: kernel0" in found.found["PB336"]
    twin = answer(tmp_path / "twin", table(), "--baseline", sound(NAME).write(tmp_path / "same"))
    assert "PB336" not in twin.found
    emptied = answer(
        tmp_path / "emptied",
        table(),
        "--baseline",
        sound(NAME).write(tmp_path / "again"),
        change=lambda build: every_unit(CUDA, change_content(cubins.without_kernels))(build, parts),
    )
    assert {"PB332", "PB336"} <= emptied.failed


def several_sms(change=lambda units: units):
    """libtorch_cuda.so of a build for 8.0 and 9.0: six translation units, a kernel each."""
    units = [fatbin("80", "90", flags=(f"-DNAME=kernel{letter}",)) for letter in "abcdef"]
    return lambda build: build.but({CUDA: build.libraries[CUDA].but(units=tuple(change(units)))})


def exchanged(units):
    """For 9.0, one unit has a copy of the kernels of another unit."""
    other = fatbins.read(units[1].read_bytes())[0]
    [copy] = [one for one in other if one.sm == "90"]
    rows = fatbins.each(fatbins.read(units[0].read_bytes()), lambda one: copy if one.sm == "90" else one)
    return [fatbins.made_file("exchanged.fatbin", fatbins.written(rows)), *units[1:]]


def test_kernels_that_only_other_sms_have_are_named(tmp_path):
    def gated(name, change):
        build = several_sms(change)(sound(NAME)).write(tmp_path / name)
        return faults.gated(build, "sm90,cuda=13.0,torch=2.10", reference=table())

    found = gated("exchanged", exchanged)
    assert {"PB337"} == found.failed - {"claim"}
    says = "1 of the 6 kernels that libtorch_cuda.so holds for sm_80 are missing for the claimed target: kernela (1)"
    assert found.found["PB337"] == f"sm90 is claimed, and {says}"
    assert "PB337" not in gated("twin", lambda units: units).found


def test_families_of_the_release_are_named(tmp_path):
    families = {"kernel": 2, "radixSortKVInPlace": 3}
    file = json.loads(table().read_text())
    file["builds"][0] |= {"families": families}
    found = answer(tmp_path / "less", text("reference.json", json.dumps(file)))
    assert found.failed == {"PB337", "claim"}
    assert found.found["PB337"].endswith(": radixSortKVInPlace (3), kernel (1)")
    file["builds"][0] |= {"families": {"kernel": 1}}
    assert answer(tmp_path / "twin", text("reference.json", json.dumps(file))).code == 0
    file["builds"][0] |= {"families": families, "cuda": "12.9"}
    assert answer(tmp_path / "another-cuda", text("reference.json", json.dumps(file))).code == 0
