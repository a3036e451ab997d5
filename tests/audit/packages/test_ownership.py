# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Files of a package that changed since installation, their owners, and the command that restores them."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from packages import FAILED, PASSED, Library, Package, audit, list_notes, read_audit_text, rows, wheel

ONE = Package("one", {"one/lib/libone.so": Library(), "one/lib/libtwo.so": Library(code="int two() { return 2; }\n")})
OTHER = Package("other", {"other/_C.abi3.so": Library()})


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "venv/lib/python3.11/site-packages"
    for package in (ONE, OTHER):
        package.write(folder)
    return folder


def own_copy(file, change):
    """The file may be a link to the one that all tests use."""
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(change(content))


def change_byte(content):
    at = content.index(b"GCC: (")
    return content[:at] + b"g" + content[at + 1 :]


def test_finds_no_fault_in_a_sound_environment(site):
    found, document = rows(site)
    assert found["one"]["recorded"] == {
        "files": 5,
        "missing": 0,
        "changed": 0,
        "first_missing": [],
        "first_changed": [],
        "changed_libraries": [],
        "reinstall": False,
    }
    assert (document["reinstall"], document["problems"], list_notes(document)) == (None, [], [])


@pytest.mark.parametrize(
    ("change", "how"),
    [(change_byte, "another SHA-256"), (lambda content: content + bytes(8), "another size")],
    ids=["same size", "longer"],
)
def test_names_the_package_of_a_changed_library(site, change, how):
    own_copy(site / "one/lib/libone.so", change)
    found, document = rows(site, exit_code=FAILED)
    [changed] = found["one"]["recorded"]["changed_libraries"]
    assert changed == {"path": "one/lib/libone.so", "how": how, "other_owner": None}
    assert found["one"]["worst"] == "warn"
    assert f"one/lib/libone.so: it has {how} than one-1.0.dist-info recorded" in found["one"]["problems"]
    assert document["reinstall"] == "python -m pip install --force-reinstall --no-deps one==1.0"
    assert found["other"]["recorded"]["changed"] == 0


def test_names_the_former_owner_of_an_overwritten_path(site):
    cu13 = Package("one-cu13", {"one/lib/libone.so": Library(code="int thirteen() { return 13; }\n")})
    (site / "one/lib/libone.so").unlink()
    cu13.write(site)
    found, _ = rows(site, exit_code=FAILED)
    [changed] = found["one"]["recorded"]["changed_libraries"]
    assert changed["other_owner"] == "one_cu13-1.0.dist-info"
    assert "one_cu13-1.0.dist-info wrote the same path" in read_audit_text(site)
    assert found["one-cu13"]["problems"] == []


CU13 = Package("one-cu13", {"one/lib/libone.so": Library(code="int thirteen() { return 13; }\n")})


@pytest.mark.parametrize(
    ("requirement", "overlays"),
    [
        ("one==1.0", True),
        ('One (==1.0) ; python_version >= "3.8"', True),
        ('one; extra == "base"', False),
        ("one-more", False),
    ],
)
def test_accepts_overlay_of_required_package(site, requirement, overlays):
    """nvidia-cutlass-dsl-libs-cu13 requires libs-base, and pip installs the required package first."""
    (site / "one/lib/libone.so").unlink()
    CU13.but(requirements=(requirement,)).write(site)
    found, document = rows(site, exit_code=PASSED if overlays else FAILED)
    assert found["one"]["recorded"]["changed"] == (0 if overlays else 1)
    assert (document["reinstall"] is None) == overlays


def test_rejects_overlay_that_was_overwritten(site):
    """The required package was installed last: the files of the other one are lost."""
    (site / "one/lib/libone.so").unlink()
    CU13.but(requirements=("one==1.0",)).write(site)
    own_copy(site / "one/lib/libone.so", lambda content: content + bytes(8))
    found, _ = rows(site, exit_code=FAILED)
    assert found["one"]["recorded"]["changed"] == found["one-cu13"]["recorded"]["changed"] == 1


def test_notes_files_without_a_record(site):
    Package("gone", {"gone/lib/libgone.so": Library()}).write(site)
    shutil.rmtree(next(site.glob("gone-*.dist-info")))
    found, _ = rows(site)
    [finding] = found["(no package)"]["findings"]
    assert (finding["id"], finding["severity"]) == ("PB179", "note")
    assert "no installed package recorded 1 file with machine code in gone" in finding["what"]


def test_misses_no_file_of_two_packages_that_pip_merges(site):
    """An interrupted update leaves two dist-info folders: the owner of each file is unknown."""
    older = site / "one-0.9.dist-info"
    older.mkdir()
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: one\nVersion: 0.9\n")
    (older / "RECORD").write_text("one/lib/libone.so,sha256=AAAA,3\none/lib/libold.so,,\none-0.9.dist-info/RECORD,,\n")
    _, document = rows(site, exit_code=FAILED)
    assert [problem.split(",")[0] for problem in document["problems"]] == ["one is installed 2 times"]
    assert all(not row["findings"] and not row["problems"] for row in document["distributions"])
    assert document["reinstall"] is None


def test_accepts_the_same_file_of_two_packages(site):
    twin = Package("twin", {"one/lib/libone.so": Library()})
    (site / "one/lib/libone.so").unlink()
    twin.write(site)
    found, _ = rows(site)
    assert found["one"]["recorded"]["changed"] == found["twin"]["recorded"]["changed"] == 0


def test_recommends_reinstalling_missing_files(site):
    shutil.rmtree(site / "one")
    found, document = rows(site, exit_code=FAILED)
    assert found["one"]["recorded"]["first_missing"] == ["one/lib/libone.so", "one/lib/libtwo.so"]
    assert document["reinstall"].endswith("--no-deps one==1.0")


def test_notes_an_edited_text(site):
    (site / "other-1.0.dist-info/METADATA").write_text("Name: other\nVersion: 1.0\nSummary: edited\n")
    found, document = rows(site)
    assert found["other"]["recorded"]["first_changed"] == ["other-1.0.dist-info/METADATA"]
    [note] = list_notes(document)
    assert "1 changed of the " in note
    assert " in its RECORD, no library among them; the first is other-1.0.dist-info/METADATA" in note
    assert document["reinstall"] is None


def test_ignores_recorded_files_outside_the_environment(tmp_path):
    """`pip install --target` records ../../bin, and writes to bin."""
    target = ONE.but(also_recorded=("../../bin/one,sha256=x,1",)).write(tmp_path / "target")
    assert rows(target)[0]["one"]["recorded"]["missing"] == 0


def test_does_not_compare_files_stripped_by_the_system(tmp_path):
    """Debian's PyYAML has a RECORD from before dh_strip, and no INSTALLER. Files that pip installed are compared."""
    site = ONE.write(tmp_path / "usr/lib/python3/dist-packages")
    own_copy(site / "one/lib/libone.so", lambda content: content + b"\0")
    found, document = rows(site)
    assert (found["one"]["recorded"]["changed"], document["reinstall"]) == (0, None)
    (site / "one-1.0.dist-info/INSTALLER").write_text("pip\n")
    found, _ = rows(site, exit_code=FAILED)
    assert found["one"]["recorded"]["changed"] == 1


def test_does_not_compare_files_relocated_by_conda(site):
    own_copy(site / "one/lib/libone.so", change_byte)
    (site / "one-1.0.dist-info/INSTALLER").write_text("conda\n")
    found, _ = rows(site)
    assert found["one"]["recorded"]["changed"] == 0


def test_prints_the_command_of_the_installer_and_environment(site):
    Package("torch-like", {"torch_like/_C.so": Library()}, version="2.11.0+cu130").write(site)
    (site / "torch_like-2.11.0+cu130.dist-info/INSTALLER").write_text("uv\n")
    own_copy(site / "torch_like/_C.so", change_byte)
    python = site.parents[2] / "bin/python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    _, document = rows(site, exit_code=FAILED)
    command = f"uv pip install --python {python} --reinstall --no-deps torch-like==2.11.0+cu130"
    assert document["reinstall"] == command
    assert [note for note in document["notes"] if "+cu130" in note and "--extra-index-url" in note]


def test_names_the_index_of_pytorch_in_the_command(site):
    Package("torchvision", {"torchvision/_C.so": Library()}, version="0.26.0+cu130").write(site)
    own_copy(site / "torchvision/_C.so", change_byte)
    _, document = rows(site, exit_code=FAILED)
    command = "python -m pip install --force-reinstall --no-deps torchvision==0.26.0+cu130"
    assert document["reinstall"] == f"{command} --extra-index-url https://download.pytorch.org/whl/cu130"
    assert list_notes(document) == []


def test_prints_the_conda_command_for_conda_packages(site):
    environment = site.parents[2]
    (environment / "conda-meta").mkdir()
    meta = {
        "name": "py-one",
        "version": "1.0",
        "files": [f"{site.relative_to(environment)}/one-1.0.dist-info/METADATA"],
    }
    (environment / "conda-meta/py-one-1.0-0.json").write_text(json.dumps(meta))
    (environment / "conda-meta/broken-1.0-0.json").write_text('{"one-1.0.dist-info')
    (site / "one-1.0.dist-info/INSTALLER").write_text("conda\n")
    (site / "one/lib/libone.so").unlink()
    (site / "other/_C.abi3.so").unlink()
    assert rows(site, exit_code=FAILED)[1]["reinstall"] == (
        f"conda install --prefix {environment} --force-reinstall py-one=1.0"
        " && python -m pip install --force-reinstall --no-deps other==1.0"
    )


def test_printed_command_fixes_the_environment(tmp_path):
    """Runs the printed command in a shell, with pip itself."""
    environment = tmp_path / "an environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    files = [wheel(package.but(tag="py3-none-any"), tmp_path) for package in (ONE, OTHER)]
    offline = os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([environment / "bin/python", "-m", "pip", "install", "-q", *files], check=True, env=offline)
    [site] = environment.glob("lib/python3.*/site-packages")
    assert audit(environment).returncode == PASSED
    own_copy(site / "one/lib/libone.so", change_byte)
    (site / "other/_C.abi3.so").unlink()
    _, document = rows(environment, exit_code=FAILED)
    assert "one==1.0 other==1.0" in document["reinstall"]
    subprocess.run(document["reinstall"], shell=True, check=True, env=offline, capture_output=True)
    assert audit(environment).returncode == PASSED
    assert rows(environment)[1]["reinstall"] is None
