# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Environments other than virtual ones: conda, the root of a container, a Nix result with its propagated packages; and
wheel variant properties that the bytes of a package state."""

import json
import shutil
import subprocess
import sys

import pytest
from made import OUT, compiler, made, text
from packages import FAILED, MACHINE, Library, Package, audit, rows
from small_builds import linked, placed
from test_loading import TO_TORCH, environment, extension, torch

ONE = Package("one", {"one/lib/libone.so": Library()})
CODE = Package("code", {"code/_C.abi3.so": Library(units=("second75_120_ptx80.o",))})
LOADERS = {"aarch64": "ld-linux-aarch64.so.1", "x86_64": "ld-linux-x86-64.so.2"}
OTHER_MACHINE = "aarch64" if MACHINE == "x86_64" else "x86_64"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def conda(folder, files, name="libcublas", version="12.9.1.4"):
    """Makes a conda environment with the record of a package without Python."""
    site = folder / f"lib/{PYTHON}/site-packages"
    ONE.write(site)
    Package("there", {"libcublas.so.12": Library()}, recorded=False).write(folder / "lib")
    (folder / "conda-meta").mkdir()
    record = {"name": name, "version": version, "files": files}
    (folder / f"conda-meta/{name}-{version}-0.json").write_text(json.dumps(record))
    return folder


def test_lists_conda_and_python_packages_once(tmp_path):
    own = f"lib/{PYTHON}/site-packages/one/lib/libone.so"
    found, document = rows(conda(tmp_path / "env", ["lib/libcublas.so.12", own, "share/doc/readme"]))
    assert (found["libcublas"]["version"], found["libcublas"]["cuda"]) == ("12.9.1.4", ["12"])
    assert found["libcublas"]["files"] == found["one"]["files"] == 1
    assert document["problems"] == []


def test_names_a_file_that_a_conda_package_lost(tmp_path):
    found, _ = rows(conda(tmp_path / "env", ["lib/libcublas.so.12", "lib/libcublasLt.so.12"]), exit_code=FAILED)
    [problem] = found["libcublas"]["problems"]
    assert problem.startswith("lib/libcublasLt.so.12: conda-meta/libcublas-12.9.1.4-0.json has it, and it is missing")


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"name": 3}', '{"name": "x", "files": {"a": 1}}'])
def test_ignores_an_invalid_record_of_conda(tmp_path, text):
    folder = conda(tmp_path / "env", ["lib/libcublas.so.12", "../../etc/evil.so"])
    (folder / "conda-meta/broken-1.0-0.json").write_text(text)
    found, document = rows(folder, exit_code=FAILED if "files" not in text else 0)
    assert {"libcublas", "one"} <= set(found)
    assert len(document["problems"]) == (0 if "files" in text else 1)


def test_finds_all_environments_of_a_container(tmp_path):
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
    assert f"pbprobe searched the libraries that {site} needs in {root}, the root of another system" in notes


def container(folder, *packages, machine=MACHINE):
    """With a Python and a libc of its own, by links that are right in it only."""
    root = folder / "root"
    site = environment(root / "opt", *packages)
    python = site.parents[2] / "bin/python"
    (root / "py").mkdir()
    program = made("program", compiler(machine, "gcc"), text("main.c", "int main(void) { return 0; }\n"), "-o", OUT)
    shutil.copy(program, root / f"py/{PYTHON}")
    system = root / f"usr/lib/{machine}-linux-gnu"
    system.mkdir(parents=True)
    (root / "lib").symlink_to("/usr/lib")  # followed on this machine it leads out
    for name in ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", LOADERS[machine]):
        asked = [compiler(machine), f"-print-file-name={name}"]
        shutil.copy(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip(), system / name)
    python.unlink()
    python.symlink_to(f"/py/{PYTHON}")
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text("ID=debian\n")
    return root, site


def test_libraries_are_looked_for_in_the_root_of_the_container(tmp_path):
    """The container's system lacks libz, which this machine has."""
    ext = extension(needs=("libc10.so", "libz.so.1"), runpath=(*TO_TORCH, "/srv/lib"))
    root, site = container(tmp_path, torch(), ext)
    for place in (root, site):
        found, document = rows(place, "--distributions", exit_code=FAILED)
        assert document["interpreter"] == f"{root}/py/{PYTHON}"
        [finding] = found["ext"]["findings"]
        assert finding["id"] == "PB161"
        assert "needs libz.so.1, which neither the environment nor the system has" in finding["what"]
    (root / "srv").symlink_to("/mnt/more/../srv")
    (root / "mnt/srv/lib").mkdir(parents=True)
    (root / "mnt/more").mkdir()
    placed(linked("libz.so.1", Library()), root / "mnt/srv/lib/libz.so.1.3")
    (root / "mnt/srv/lib/libz.so.1").symlink_to("/mnt/srv/lib/libz.so.1.3")
    found, _ = rows(root, "--distributions")
    assert found["ext"]["findings"] == []


def test_accepts_a_container_of_the_other_processor(tmp_path):
    def other(package):
        tag = f"cp311-cp311-manylinux_2_39_{OTHER_MACHINE}"
        libraries = {
            path.replace(f"-{MACHINE}-linux", f"-{OTHER_MACHINE}-linux"): library.but(machine=OTHER_MACHINE)
            for path, library in package.libraries.items()
        }
        return package.but(libraries=libraries, tag=tag)

    root, site = container(tmp_path, other(torch()), other(extension(runpath=TO_TORCH)), machine=OTHER_MACHINE)
    found, _ = rows(root, "--distributions")
    assert (found["torch"]["findings"], found["ext"]["findings"]) == ([], [])
    assert [one["unresolved"] for one in found["ext"]["loading"]] == [[]]
    extension(name="own", runpath=TO_TORCH).write(site)
    found, _ = rows(root, "--distributions", exit_code=FAILED)
    assert [one["id"] for one in found["own"]["findings"]] == ["PB178"]


def test_does_not_search_a_folder_that_is_no_root(tmp_path):
    ONE.write(tmp_path / "some/usr/lib/python3/dist-packages")
    assert audit(tmp_path / "some", "--distributions").returncode == 2


def test_reads_what_a_nix_result_propagates(tmp_path):
    out, dependency, further = (tmp_path / name for name in ("out", "dependency", "further"))
    for place, package in ((out, CODE), (dependency, ONE), (further, Package("two", {"two/libtwo.so": Library()}))):
        package.write(place / f"lib/{PYTHON}/site-packages")
        (place / "nix-support").mkdir()
    (out / "nix-support/propagated-build-inputs").write_text(f" {dependency} {tmp_path}/gone\n")
    (dependency / "nix-support/propagated-build-inputs").write_text(f"{further} {out}")
    found, document = rows(out, "--distributions")
    assert set(found) == {"code", "one", "two"}
    assert str(further) in " ".join(document["notes"])


def editable(folder, ext, site):
    """Installs as `pip install -e` does: the files stay in their tree, and RECORD names a .pth file."""
    tree = folder / "a tree"
    (tree / "src").mkdir(parents=True)
    ext.write(site)
    (site / "ext").rename(tree / "src/ext")
    info = site / ext.info
    url = {"url": "file://" + str(tree).replace(" ", "%20"), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(url))
    (info / "RECORD").write_text(f"__editable__.ext-1.0.pth,,\n{ext.info}/METADATA,,\n{ext.info}/RECORD,,\n")
    (site / "__editable__.ext-1.0.pth").write_text(f"{tree}/src\n")
    return tree / "src/ext"


def test_reads_an_editable_install_at_its_source(tmp_path):
    ext = extension(runpath=("$ORIGIN/../../../site/torch/lib",))
    for name, lacking, found_ids in (("sound", (), []), ("planted", ("libgone.so.7",), ["PB161"])):
        site = environment(tmp_path / name, torch())
        (tmp_path / name / "site").symlink_to(site)
        [library] = ext.libraries.values()
        changed = library.but(needs=(*library.needs, *lacking))
        place = editable(tmp_path / name, ext.but(libraries=dict.fromkeys(ext.libraries, changed)), site)
        found, document = rows(site, "--distributions", exit_code=FAILED if found_ids else 0)
        assert [one["id"] for one in found["ext"]["findings"]] == found_ids
        assert found["ext"]["files"] == 1
        assert f"ext-1.0.dist-info: it is an editable install: files of it were read in {place}" in document["notes"]
