# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The wheel of `make wheel`: what it holds, what its readers say, and that it works away from the tree."""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import SOURCE

PACKER = SOURCE / "ci/pack-wheel"
PACKAGE = SOURCE / "bindings/pbprobe"
MODULES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
CARRIED = ["_built.py", "bin/pbprobe", "lib/libZydis.so.4.0", "libpbprobe_ops.so", "model_layers.json", "py.typed"]
DATA = ["man/man1/pbprobe.1"]
INFO = ["METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "licenses/docs/licenses.md"]
FROM_TORCH = frozenset({"libtorch_cpu.so"})  # which is there when the operators are loaded


def packed(build, folder):
    pytest.importorskip("wheel", reason="what packs a wheel is not installed: cmake/bootstrap.sh wheel")
    if not (build / "wheel/pbprobe/libpbprobe_ops.so").is_file():
        assert not os.environ.get("PBPROBE_REQUIRE_WHEEL"), "no wheel was built"
        pytest.skip("no wheel was built: make wheel")
    subprocess.run([sys.executable, PACKER, "--build", build, "--output", folder], check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def wheel(build, tmp_path_factory):
    return packed(build, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The interpreter of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = (folder / "lib").glob("python3*/site-packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin/python3"]
    subprocess.run([*pip, "install", "--no-index", wheel], check=True, capture_output=True)
    return folder / "bin/python3", site


def test_it_holds_exactly_these_files(wheel):
    name, version, *_ = wheel.name.split("-")
    expected = [f"pbprobe/{file}" for file in MODULES + CARRIED]
    expected += [f"{name}-{version}.data/data/share/{file}" for file in DATA]
    expected += [f"{name}-{version}.dist-info/{file}" for file in INFO]
    with zipfile.ZipFile(wheel) as archive:
        assert sorted(archive.namelist()) == sorted(expected)
        modes = {one.filename: one.external_attr >> 16 & 0o777 for one in archive.infolist()}
        tags = archive.read(f"{name}-{version}.dist-info/WHEEL").decode()
        requires = archive.read(f"{name}-{version}.dist-info/METADATA").decode()
    assert modes["pbprobe/bin/pbprobe"] == 0o755
    assert modes["pbprobe/__init__.py"] == 0o644
    assert re.search(r"^Tag: py3-none-manylinux_2_31_\w+$", tags, re.MULTILINE)
    assert "Requires-Python: >=3.9" in requires
    needs = re.findall(r"^Requires-Dist: (.*)$", requires, re.MULTILINE)
    assert [need for need in needs if "extra ==" not in need] == []  # pbprobe[fleet] asks for a torch


def test_it_is_at_most_15_megabytes(wheel):
    assert wheel.stat().st_size <= 15e6


def test_writes_equal_bytes_twice(build, wheel, tmp_path):
    mask = os.umask(0o077)
    try:
        again = packed(build, tmp_path)
    finally:
        os.umask(mask)
    assert again.read_bytes() == wheel.read_bytes()


def test_it_holds_nothing_of_where_it_was_built(wheel):
    """Requires that build folder and compiler cache do not change the bytes."""
    with zipfile.ZipFile(wheel) as archive:
        held = archive.read("pbprobe/libpbprobe_ops.so")
        assert str(SOURCE).encode() not in held + archive.read("pbprobe/bin/pbprobe")
    files = re.findall(rb"[\w./-]+/(?:torch_abi\.hpp|csrc/stable/\w+\.h)\b", held)  # torch's checks state theirs
    assert files
    assert [file for file in files if not file.startswith((b"./bindings/", b"torch/include/torch/"))] == []


def test_its_program_holds_the_worker_of_operators(wheel):
    """The worker has the same bytes, so that its tests in `python` are not repeated for the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        program = archive.read("pbprobe/bin/pbprobe")
    files = sorted((SOURCE / "probes/operators").glob("*.py"))
    assert files
    assert [file.name for file in files if file.read_bytes() not in program] == []


@pytest.mark.parametrize("folder", ["wheel", "python"])
def test_its_operators_take_only_torchs_functions_of_torch(build, wheel, folder):
    """libtorch_cpu.so exports parts of a libstdc++ too, without versions: another torch may not."""
    assert wheel
    library = build / folder / "pbprobe/libpbprobe_ops.so"
    names = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    taken = [name for name in re.findall(r" U (\S+)", names) if "@" not in name]
    assert len(taken) > 10
    assert [name for name in taken if not re.match(r"aoti_torch_|torch_", name)] == []


def test_auditwheel_grants_the_tag(wheel):
    abi = pytest.importorskip("auditwheel.wheel_abi")
    architecture = pytest.importorskip("auditwheel.architecture").Architecture
    libc = pytest.importorskip("auditwheel.libc").Libc
    known = architecture(wheel.stem.split("manylinux_2_31_")[1])
    how = {"disable_isa_ext_check": False, "allow_graft": True}
    found = abi.analyze_wheel_abi(libc.GLIBC, known, wheel, FROM_TORCH, **how)
    assert found.overall_policy.name == wheel.stem.split("-")[-1]
    without = abi.analyze_wheel_abi(libc.GLIBC, known, wheel, frozenset(), **how)
    assert without.ref_policy.name.startswith("linux_")


@pytest.mark.parametrize("tool", ["twine", "check-wheel-contents"])
def test_its_metadata_is_sound(wheel, tool):
    command = {
        "twine": [sys.executable, "-m", "twine", "check", "--strict", wheel],
        "check-wheel-contents": [shutil.which("check-wheel-contents", path=os.path.dirname(sys.executable)), wheel],  # noqa: PTH120
    }[tool]
    pytest.importorskip(tool.replace("-", "_"), reason=f"{tool} is not installed")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_it_reports_from_an_environment_without_torch(installed, tmp_path):
    python, _ = installed
    result = subprocess.run(
        [python, "-c", "import pbprobe; pbprobe.report(budget=1, show=False)"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={},
    )
    assert result.returncode == 1
    assert re.match(r"pbprobe\._errors\.Error: .*torch", result.stderr.splitlines()[-1])
    version = subprocess.run([python.parent / "pbprobe", "--version"], capture_output=True, text=True, check=True)
    assert re.match(r"pbprobe [\d.]+ \([0-9a-f]+(-dirty)?\)\ntargets compiled in: .+\nCUDA compilers: ", version.stdout)


@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_it_runs_from_the_file(wheel, torch, tmp_path, tool):
    """Installed nowhere, and with no index to ask."""
    pytest.importorskip({"uvx": "uv", "pipx": "pipx"}[tool], reason=f"{tool} is not installed: make setup")
    command = {
        "uvx": [sys.executable, "-m", "uv", "tool", "run", "--python", sys.executable, "--from", wheel],
        "pipx": [sys.executable, "-m", "pipx", "run", "--spec", wheel],
    }[tool]
    folders = {name: str(tmp_path / name) for name in ("PIPX_HOME", "PIPX_BIN_DIR", "UV_CACHE_DIR", "HOME")}
    result = subprocess.run(
        [*command, "pbprobe", "audit", torch / "lib/libc10.so", "--claim", "avx512,only,torch=1.0"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **folders, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": ""},
    )
    assert result.returncode == 1, result.stderr  # of the program, whose claim is not kept
    assert "avx512 is claimed" in result.stdout, result.stderr


def answers(python, path, torch, folder):
    """Returns the results of the package in that path for a libtorch and a false claim."""
    code = (
        "import json, pbprobe, sys\n"
        "judged = pbprobe.gate(sys.argv[1], 'avx512,only,torch=1.0')\n"
        "facts = {key: value for key, value in judged.to_dict().items() if key != 'created'}\n"
        "print(json.dumps(facts, sort_keys=True), judged, judged.findings, judged.to_html(), sep='\\n')"
    )
    command = [python, "-W", "ignore", "-c", code, torch / "lib/libc10.so"]
    environment = {"PYTHONPATH": str(path), "PATH": os.environ["PATH"]}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=environment).stdout
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", shown)


def test_returns_equal_results_in_both_ways(installed, torch, build, tmp_path):
    """Compares the module and program built from source with the wheel."""
    source = answers(sys.executable, build / "python", torch, tmp_path)
    wheel = answers(installed[0], "", torch, tmp_path)
    assert wheel == source
    assert "avx512 is claimed" in wheel


def test_operators_compute_in_the_installed_torch(installed, torch, tmp_path):
    code = "import torch; from pbprobe import ops; a = torch.eye(3); assert torch.equal(ops.mm(a, a), a)"
    subprocess.run(
        [installed[0], "-c", code], check=True, cwd=tmp_path, env={"PYTHONPATH": str(torch.parent)}, timeout=120
    )


@pytest.mark.wheel
def test_wheel_passes_the_python_suite(installed, torch, build, tmp_path):
    """All tests of `python` not marked `source`, of the program, the package and the operators that pip installed.
    They repeat one report on torch's operators: the program has the same objects, and the worker the same bytes.
    """
    package = installed[1] / "pbprobe"
    stand_in = tmp_path / "build"
    (stand_in / "python").mkdir(parents=True)
    (stand_in / "python/pbprobe").symlink_to(package)
    (stand_in / "bin").symlink_to(package / "bin")
    (stand_in / "lib").symlink_to(package / "lib")
    (stand_in / "CMakeCache.txt").symlink_to(build / "CMakeCache.txt")
    environment = {
        **os.environ,
        "PYTHONPATH": str(stand_in / "python"),
        "PBPROBE_TEST_BUILD": str(stand_in),
        "PBPROBE_TEST_TORCH": str(torch.parent),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "unit and not source"]
    command += [f"--ignore={SOURCE / 'tests/python/test_wheel.py'}", SOURCE / "tests/python"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=SOURCE, env=environment)
    assert result.returncode == 0, result.stdout[-4000:]
    print(result.stdout.splitlines()[-1])
    (passed,) = re.findall(r"(\d+) passed", result.stdout)
    assert int(passed) > 100
