# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""PB129 to PB131: what a Nix result refers to, in a scratch store that the real Nix filled."""

import json
import pathlib
import subprocess

import nix
import pytest
from builds import ANY, CPU, PROGRAM, Library, audit, linked, shared
from nix import NixBuild, package
from rows import Row, ask

NEEDED = "libneeded.so.1"
CUDART_12 = "cuda12.8-cuda_cudart-12.8.90"
CUDART_13 = "cuda13.0-cuda_cudart-13.0.96"


def needing(folder, **changes) -> NixBuild:
    return NixBuild(library=Library(needs=(NEEDED,), runpath=(str(folder),)), **changes)


def outside() -> NixBuild:
    """Found in a folder of the machine that built it."""
    folder = pathlib.Path(shared("usr-local", 0o755))  # neither in a store nor where anybody may write
    (folder / NEEDED).write_bytes(linked(NEEDED, Library()).read_bytes())
    return needing(folder)


def build_nix_store(*, as_input: bool) -> NixBuild:
    needed = package("needed-1.2", NEEDED)
    return needing(needed / "lib", needs=(needed,) if as_input else ())


def searching(*, as_input: bool) -> NixBuild:
    """Only RUNPATH names it."""
    folder = package("searched-3.4")
    return NixBuild(library=Library(runpath=(f"{folder}/lib",)), needs=(folder,) if as_input else ())


def deleted(*, gone: bool) -> NixBuild:
    path = package("gone-1.0" if gone else "kept-1.0")
    return NixBuild(refers=(path,), gone=(path,) if gone else ())


def referring(*names: str):
    return lambda: NixBuild(refers=tuple(package(name) for name in names))


ROWS = [
    Row(
        "PB129",
        "libtorch_cpu.so needs libneeded.so.1, which is found at ",
        lambda: build_nix_store(as_input=False),
        lambda: build_nix_store(as_input=True),
        ANY,
    ),
    Row(
        "PB129",
        ("libneeded.so.1, outside of the artifact's Nix closure"),
        outside,
        lambda: build_nix_store(as_input=True),
        ANY,
    ),
    Row(
        "PB129",
        "searched-3.4/lib for libraries, which the artifact's Nix closure lacks",
        lambda: searching(as_input=False),
        lambda: searching(as_input=True),
        ANY,
    ),
    Row(
        "PB129",
        "gone-1.0 is in the artifact's Nix closure, and the Nix store lacks it",
        lambda: deleted(gone=True),
        lambda: deleted(gone=False),
        ANY,
    ),
    Row(
        "PB130",
        "the closure holds more than one CUDA toolkit: 12.8 (",
        referring(CUDART_12, CUDART_13),
        referring(CUDART_13, "cuda13.0-libcublas-13.1.0.3"),
        ANY,
    ),
    Row(
        "PB130",
        "the closure holds more than one cuBLAS: 12.8.4.1 (",
        referring("libcublas-12.8.4.1", "libcublas-13.1.0.3"),
        referring("libcublas-13.1.0.3", "cuda_cudart-13.0.96"),
        ANY,
    ),
    Row(
        "PB131",
        "the closure holds more than one glibc: 2.38-44 (",
        referring("glibc-2.38-44", "glibc-2.40-66"),
        referring("glibc-2.40-66", "glibc-locales-2.38-44"),
        ANY,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_finds_planted_fault_and_accepts_twin(tmp_path, row):
    ask(row, tmp_path, nix.environment())


def audit_inventory(link, environment, code=0):
    result = subprocess.run(
        [PROGRAM, "audit", link, "--format", "json"], capture_output=True, text=True, check=False, env=environment
    )
    assert result.returncode == code, result.stdout + result.stderr
    return json.loads(result.stdout)


def test_joins_outputs_and_reads_closure(tmp_path):
    needed = package("cuda13.0-libcublas-13.1.0.3")
    link = NixBuild(refers=(needed,)).write(tmp_path)
    outputs = [
        str((tmp_path / name).resolve()) for name in ("result-made-up", "result-made-up-lib", "result-made-up-dev")
    ]
    for given in (link, f"{link}/"):
        inventory = audit_inventory(given, nix.environment())
        assert inventory["layout"] == "nix"
        assert [file["path"] for file in inventory["files"]] == [CPU]
        assert inventory["libtorch_dir"] == outputs[1] + "/lib"
        closure = inventory["store_closure"]
        assert closure["outputs"] == outputs
        known = subprocess.run(
            ["nix-store", "-qR", *outputs], capture_output=True, text=True, check=True, env=nix.environment()
        ).stdout.split()
        assert [path["path"] for path in closure["paths"]] == known
        assert set(known) == {*outputs, str(needed)}
        assert inventory["component_versions"]["cuBLAS"] == "13.1.0.3"


def test_reads_version_from_dev_output(tmp_path):
    link = NixBuild().write(tmp_path)
    version = link.resolve() / nix.PACKAGES / "torch/version.py"
    version.chmod(0o644)
    version.write_text("")
    inventory = audit_inventory(link, nix.environment(), 1)
    assert inventory["torch_version"] == "2.11.0"
    assert inventory["problems"] == ["version.py: it assigns no quoted text to __version__: install this torch again"]


def test_compares_cuda_of_closure_with_claim(tmp_path):
    for name, release in (("twin", "13.0.96"), ("planted", "12.8.90")):
        (tmp_path / name).mkdir()
        build = NixBuild(refers=(package(f"cuda_cudart-{release}"),))
        link = build.write(tmp_path / name)
        version = link.resolve() / nix.PACKAGES / "torch/version.py"
        version.chmod(0o644)
        version.write_text("__version__ = '2.11.0'\ncuda = '13.0'\ngit_version = '70d99e9'\n")
        found, _ = audit(link, "cuda=13.0", environment=nix.environment())
        assert ("PB112" in found) == (name == "planted"), found


def test_reports_missing_nix_store(tmp_path):
    link = NixBuild().write(tmp_path)
    environment = {**nix.environment(), "PATH": str(tmp_path)}
    inventory = audit_inventory(link, environment)
    assert inventory["store_closure"]["paths"] == []
    assert inventory["store_closure"]["problem"] == (
        "nix-store cannot be started: No such file or directory: put Nix on PATH to have the closure read"
    )
    result = subprocess.run([PROGRAM, "audit", link, "--claim", ANY], capture_output=True, text=True, env=environment)
    assert result.returncode == 0
    assert "PB129" not in result.stdout
    assert "nix-store cannot be started" in result.stdout


def test_reports_path_unknown_to_store(tmp_path):
    store = nix.environment()["NIX_STORE_DIR"]
    path = f"{store}/00000000000000000000000000000000-torch-2.11.0"
    subprocess.run(["cp", "-r", NixBuild().write(tmp_path).resolve(), path], check=True)
    problem = audit_inventory(path, nix.environment())["store_closure"]["problem"]
    assert problem == f"nix-store does not tell the closure: path '{path}' is not valid"
