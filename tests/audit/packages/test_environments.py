# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Environments that are no virtual ones: conda's, the root of a container, a Nix result and what it propagates; and
what the bytes of a package state as the properties of a wheel variant."""

import json
import sys
import zipfile

import pytest
from packages import FAILED, Library, Package, audit, rows, wheel
from test_loading import environment, extension, torch

ONE = Package("one", {"one/lib/libone.so": Library()})
CODE = Package("code", {"code/_C.abi3.so": Library(units=("first120.o", "second75.o", "collective_ptx.o"))})
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def conda(folder, files, name="libcublas", version="12.9.1.4"):
    """An environment of conda's, with a record of a package that is not Python's."""
    site = folder / f"lib/{PYTHON}/site-packages"
    ONE.write(site)
    Package("there", {"libcublas.so.12": Library()}, recorded=False).write(folder / "lib")
    (folder / "conda-meta").mkdir()
    record = {"name": name, "version": version, "files": files}
    (folder / f"conda-meta/{name}-{version}-0.json").write_text(json.dumps(record))
    return folder


def test_what_conda_installed_has_a_row_and_python_packages_have_one_only(tmp_path):
    own = f"lib/{PYTHON}/site-packages/one/lib/libone.so"
    found, document = rows(conda(tmp_path / "env", ["lib/libcublas.so.12", own, "share/doc/readme"]))
    assert (found["libcublas"]["version"], found["libcublas"]["cuda"]) == ("12.9.1.4", ["12"])
    assert found["libcublas"]["files"] == found["one"]["files"] == 1
    assert document["problems"] == []


def test_what_conda_s_package_lost_is_named(tmp_path):
    found, _ = rows(conda(tmp_path / "env", ["lib/libcublas.so.12", "lib/libcublasLt.so.12"]), exit_code=FAILED)
    [problem] = found["libcublas"]["problems"]
    assert problem.startswith("lib/libcublasLt.so.12: conda-meta/libcublas-12.9.1.4-0.json has it, and it is not there")


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"name": 3}', '{"name": "x", "files": {"a": 1}}'])
def test_a_record_of_conda_s_that_is_none_ends_nothing(tmp_path, text):
    folder = conda(tmp_path / "env", ["lib/libcublas.so.12", "../../etc/evil.so"])
    (folder / "conda-meta/broken-1.0-0.json").write_text(text)
    found, document = rows(folder, exit_code=FAILED if "files" not in text else 0)
    assert {"libcublas", "one"} <= set(found)
    assert len(document["problems"]) == (0 if "files" in text else 1)


def test_the_root_of_a_container_is_all_its_environments(tmp_path):
    root = tmp_path / "root"
    ONE.write(root / "usr/lib/python3/dist-packages")
    site = environment(root / "opt", torch(), extension())
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text("ID=debian\n")
    (root / "opt/loop").symlink_to(root)
    found, document = rows(root, "--distributions")
    assert {"one", "torch", "ext"} <= set(found)
    assert (document["interpreter"], found["ext"]["loading"]) == (None, None)
    notes = " ".join(document["notes"])
    assert str(site) in notes
    assert "it is the root of another system" in notes


def test_a_folder_that_is_no_root_is_not_searched(tmp_path):
    ONE.write(tmp_path / "some/usr/lib/python3/dist-packages")
    assert audit(tmp_path / "some", "--distributions").returncode == 2


def test_a_nix_result_is_what_it_propagates(tmp_path):
    out, dependency, further = (tmp_path / name for name in ("out", "dependency", "further"))
    for place, package in ((out, CODE), (dependency, ONE), (further, Package("two", {"two/libtwo.so": Library()}))):
        package.write(place / f"lib/{PYTHON}/site-packages")
        (place / "nix-support").mkdir()
    (out / "nix-support/propagated-build-inputs").write_text(f" {dependency} {tmp_path}/gone\n")
    (dependency / "nix-support/propagated-build-inputs").write_text(f"{further} {out}")
    found, document = rows(out, "--distributions")
    assert set(found) == {"code", "one", "two"}
    assert str(further) in " ".join(document["notes"])


def derived(place, *options):
    result = audit(place, "--variant-json", *options)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def test_properties_are_those_that_every_file_keeps(tmp_path):
    document, notes = derived(wheel(CODE, tmp_path))
    [(label, properties)] = document["variants"].items()
    assert label == "derived"
    assert properties["nvidia"]["sm_arch"] == ["75_real", "120_real", "80_virtual"]
    assert document["default-priorities"]["namespace"][0] == "nvidia"
    two = CODE.but(name="two", libraries={**CODE.libraries, "two/_D.abi3.so": Library(units=("first120.o",))})
    document, notes = derived(wheel(two, tmp_path))
    assert document["variants"]["derived"]["nvidia"]["sm_arch"] == ["120_real"]
    assert "75_real is not stated: 1 of the files with device code lack it" in notes


def test_what_is_derived_is_true_of_the_wheel_that_has_it(tmp_path):
    file = wheel(CODE, tmp_path)
    document, _ = derived(file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("code-1.0.dist-info/variant.json", json.dumps(document))
    [row] = rows(file, "--distributions")[0].values()
    assert [one for one in row["findings"] if one["id"] == "PB177"] == []


def test_variantlib_reads_what_is_derived(tmp_path):
    reader = pytest.importorskip("variantlib.variant_dist_info")
    document, _ = derived(wheel(CODE, tmp_path))
    read = reader.VariantDistInfo(json.dumps(document), expected_label="derived")
    stated = {one.to_str() for one in read.variant_desc.properties}
    assert {"nvidia :: sm_arch :: 120_real", "nvidia :: sm_arch :: 75_real"} <= stated
