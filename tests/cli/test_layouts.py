# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""One small build in each layout of torch: the verdict depends on the build, not on its folders."""

import functools
import json
import pathlib
import shutil
import subprocess

import pytest
from conda_layouts import CONDA, bookworm, libtorch_archive
from environment_layouts import LAYOUTS
from layouts import AVX2, AVX512, Made, checkout, conda, debian, editable, hwcaps, plain
from test_cli import FAILED, PASSED, SOURCE, run

CLAIM = "avx2,only,torch=2.10.0"
DEBIAN = ["libtorch1.13", "libtorch-dev", "python3-torch"]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="session")
def built(made, tmp_path_factory):
    """Makes each layout once."""
    root = tmp_path_factory.mktemp("layouts")
    roots = {
        "plain": plain(made, root / "plain"),
        "conda": conda(made, root / "conda"),
        "debian": debian(made, root / "debian"),
        "checkout": checkout(made, root / "checkout"),
    }
    for kind in ("pth", "egg-link", "finder", "direct_url", "not installed"):
        roots[kind] = editable(made, root / kind, kind)
    return roots


PLACES = [
    ("plain", ""),
    ("conda", ""),
    ("conda", "lib"),
    ("conda", "lib/python3.12/site-packages"),
    ("conda", "lib/python3.12/site-packages/torch"),
    ("conda", "lib/python3.12/site-packages/torch/lib"),
    ("debian", ""),
    ("debian", "usr"),
    ("debian", "usr/lib"),
    ("debian", "usr/lib/x86_64-linux-gnu"),
    ("debian", "usr/lib/python3"),
    ("debian", "usr/lib/python3/dist-packages"),
    ("debian", "usr/lib/python3/dist-packages/torch"),
    ("checkout", ""),
    ("checkout", "torch"),
    ("checkout", "build/lib"),
    *[(kind, "") for kind in ("pth", "egg-link", "finder", "direct_url", "not installed")],
    *[(kind, "lib/python3.12/site-packages") for kind in ("pth", "egg-link", "finder", "direct_url")],
]


@pytest.mark.parametrize(("layout", "place"), PLACES)
def test_passes_a_sound_build_in_every_layout(built, layout, place):
    passes_only_its_claim(built[layout] / place)


@pytest.mark.parametrize("layout", CONDA)
def test_accepts_each_layout_of_conda(made, tmp_path, layout):
    passes_only_its_claim(CONDA[layout](made, tmp_path / "root"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_accepts_each_layout_of_an_environment(made, tmp_path, layout):
    passes_only_its_claim(LAYOUTS[layout](made, tmp_path / "root"))


@pytest.mark.parametrize("version", [True, False], ids=["version", "no version"])
def test_accepts_archive_of_libtorch(made, tmp_path, version):
    passes_only_its_claim(libtorch_archive(made, tmp_path, version=version))


def test_accepts_layout_of_debian_12(made, tmp_path):
    passes_only_its_claim(bookworm(made, tmp_path / "root"))


def passes_only_its_claim(path):
    for command in (["audit", "--claim", CLAIM], ["gate", "--claim", CLAIM]):
        result = run(*command, path)
        assert result.returncode == PASSED, result.stdout + result.stderr
        assert "PB1" not in result.stdout, result.stdout
    for false in ("avx512,only,torch=2.10.0", "avx2,only,torch=2.9.1"):  # the files contradict them
        assert run("gate", path, "--claim", false, "--no-emulated-run", "--no-import").returncode == FAILED


@pytest.mark.parametrize(
    ("layout", "place"), [("conda", ""), ("debian", "usr"), ("pth", ""), ("finder", ""), ("plain", "")]
)
def test_reports_the_same_as_for_the_plain_layout(built, layout, place):
    assert findings_on_files(built[layout] / place) == findings_on_files(built["plain"])


@functools.cache
def findings_on_files(path):
    """Returns the findings and the torch of a report. Needs no figure."""
    document = json.loads(run("report", path, "--no-figures", "--format", "json").stdout)
    listed = document["verdict"]["findings"]
    return {finding["id"] for finding in listed if finding["id"] < "PB4"}, document["inventory"]["torch_version"]


# Whichever way leads to the libraries, the audit lists each of them once.
def test_reads_each_library_once(built):
    for layout in ("conda", "debian", "pth", "not installed"):
        inventory = json.loads(run("audit", built[layout], "--format", "json").stdout)
        names = [pathlib.PurePath(file["path"]).name.split(".so")[0] for file in inventory["files"]]
        for name in ("libc10", "libtorch_cpu", "libtorch", "libtorch_python"):
            assert names.count(name) == 1, names
        assert inventory["libtorch_dir"]
        assert inventory["torch_version"] == "2.10.0"


def test_finds_an_unnamed_environment(built):
    for layout in ("conda", "pth", "egg-link", "finder", "direct_url"):
        environment = {"PBPROBE_TORCH": str(built[layout])}
        document = json.loads(run("report", "--no-figures", "--format", "json", env=environment).stdout)
        assert str(built[layout].parent) in document["inventory"]["artifact"]


def test_names_a_missing_checkout(made, tmp_path):
    environment = editable(made, tmp_path, "finder")
    shutil.rmtree(tmp_path / "src")
    result = run("audit", environment)
    assert result.returncode == 2
    assert str(tmp_path / "src/pytorch") in result.stderr


# An environment may name anything: a finder is read, never run, and what it names must be a torch.
@pytest.mark.parametrize(
    "text", ["MAPPING = {'torch': '/nowhere'", "MAPPING = " + "{" * 10000, "", "MAPPING: x = {'torch': '\\x1b[2J'}"]
)
def test_finds_no_torch_by_a_broken_finder(made, tmp_path, text):
    environment = editable(made, tmp_path, "finder")
    for file in (environment / "lib/python3.12/site-packages").glob("__editable___*.py"):
        file.write_text(text)
    (environment / "lib/python3.12/site-packages/torch-2.10.0.dist-info/direct_url.json").unlink()
    assert run("audit", environment, timeout=20).returncode == 2


# ---- glibc-hwcaps -------------------------------------------------------------------------------------------------


def test_does_not_count_hwcaps_libraries_as_unguarded_code(made, tmp_path):
    root = hwcaps(made, tmp_path / "both")
    for claim in ("torch=2.10.0", "avx2,torch=2.10.0", "avx2,only,torch=2.10.0", "avx512,only,torch=2.10.0"):
        result = run("gate", root, "--claim", claim)
        assert result.returncode == PASSED, claim + result.stdout


# A library for more than the claimed CPU is not loaded there: what the base holds is what is delivered.
def test_ignores_a_library_for_another_cpu(made, tmp_path):
    root = hwcaps(made, tmp_path / "v4", v4=AVX512)
    result = run("gate", root, "--claim", "avx2,only,torch=2.10.0")
    assert result.returncode == FAILED
    assert "PB208" in result.stdout
    assert "PB207" not in result.stdout


def test_fails_a_library_that_exceeds_its_hwcaps_folder(made, tmp_path):
    root = hwcaps(made, tmp_path / "wrong", v3=AVX512)
    for claim in ("avx2,only,torch=2.10.0", "torch=2.10.0"):
        result = run("gate", root, "--claim", claim)
        assert result.returncode == FAILED, result.stdout
        reported = " ".join(result.stdout.split())
        assert "PB150" in reported
        assert "glibc-hwcaps/x86-64-v3" in reported


def test_base_must_fit_the_claim(made, tmp_path):
    root = hwcaps(made, tmp_path / "base", v3=AVX2)
    made.library(root / "torch/lib/libtorch_cpu.so", *AVX512)
    result = run("gate", root, "--claim", "avx2,only,torch=2.10.0")
    assert result.returncode == FAILED
    assert "PB207" in result.stdout


def test_passes_a_libtorch_folder_with_hwcaps(made, tmp_path):
    root = hwcaps(made, tmp_path / "site")
    (root / "torch/lib").rename(tmp_path / "lib")
    (tmp_path / "build-version").write_text("2.10.0\n")
    assert run("gate", tmp_path, "--claim", CLAIM).returncode == PASSED


# ---- Debian's own -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def debians_own(tmp_path_factory):
    if not shutil.which("apt-get"):
        pytest.skip("requires packages of Debian")
    folder = tmp_path_factory.mktemp("debian") / "root"
    command = [SOURCE / "ci/unpack-debian", folder, "amd64", "own", *DEBIAN]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("Debian's torch cannot be fetched")
    return folder


@pytest.mark.parametrize("place", ["", "usr", "usr/lib/x86_64-linux-gnu", "usr/lib/python3/dist-packages"])
def test_debians_own_torch_is_judged(debians_own, place):
    # The Python package calls itself an alpha; only the number for CMake beside the libraries does not.
    torch = "1.13.0" if place.endswith("linux-gnu") else "1.13.0a0"
    result = run("gate", debians_own / place, "--claim", f"torch={torch}", timeout=300)
    assert result.returncode in (PASSED, FAILED), result.stdout + result.stderr
    objections = result.stdout if result.returncode == FAILED else ""
    assert "fail" not in objections, result.stdout
    reported = " ".join(result.stdout.split())
    for own in ("libc10.so.1.13", "libtorch_cpu.so.1.13", "libtorch_python.so.1.13"):
        assert f"needs {own}" not in reported
