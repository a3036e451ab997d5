# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report` of an environment: what is planted beside torch, or in what surrounds it, is the one finding."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from packages import MACHINE, PROGRAM, Library, Package
from test_loading import FATAL, FREE, TAG, TO_TORCH

OF_ENVIRONMENTS = ("PB16", "PB170", "PB178", "PB53", "PB54")
MODULE = """
extern "C" void* PyModule_Create2(void*, int);
static long definition[14] = {{1, 0, 0, 0, 0, reinterpret_cast<long>("{name}"), 0, -1}};
extern "C" void* PyInit_{name}() {{ {code} return PyModule_Create2(definition, 1013); }}
"""
IMPORTS = "import ctypes, os, sys\nfrom torch.version import __version__\nfrom torch import _C\n"


def module(code="", name="_C"):
    return MODULE.format(code=code, name=name)


def torch(version="2.11.0+cpu"):
    libraries = {
        "torch/lib/libc10.so": Library(code=FREE + "void c10::free_cpu(void*) {}\n"),
        "torch/lib/libtorch_cpu.so": Library(needs=("libc10.so",)),
        "torch/lib/libtorch_python.so": Library(needs=("libtorch_cpu.so", "libc10.so")),
        f"torch/_C.{TAG}.so": Library(needs=("libtorch_python.so",), runpath=("$ORIGIN/lib",), code=module()),
    }
    return Package("torch", libraries, version=version)


def extension(code=None, name="ext", needs=("libc10.so",), runpath=TO_TORCH):
    code = code or FREE + module("c10::free_cpu(nullptr);")
    return Package(name, {f"{name}/_C.{TAG}.so": Library(needs=needs, runpath=runpath, code=code)})


def environment(folder, *packages, imports=IMPORTS):
    site = folder / f"venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    for package in packages:
        package.write(site)
    python = site.parents[2] / "bin/python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    (site.parents[2] / "pyvenv.cfg").write_text(f"home = {pathlib.Path(os.path.realpath(sys.executable)).parent}\n")
    (site / "torch/version.py").write_text(
        f"__version__ = '{packages[0].version}'\ncuda = None\ngit_version = '70d99e9'\n"
    )
    (site / "torch/__init__.py").write_text(imports)
    for package in packages[1:]:
        if (site / package.name).is_dir():
            (site / package.name / "__init__.py").write_text("")
    return site.parents[2]


def reported(place, *options, figures=("--no-figures",), variables=None):
    """Findings about the environment, and the document. No finding needs a figure."""
    command = [PROGRAM, "report", place, "--no-cache", "--format", "json", *figures, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, **(variables or {})})  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    findings = document["verdict"]["findings"]
    return [one for one in findings if one["id"].startswith(OF_ENVIRONMENTS)], document


def only(findings):
    [one] = findings
    return one["id"], one["severity"], one["what"]


@pytest.fixture
def sound(tmp_path):
    return environment(tmp_path, torch(), extension())


def test_has_no_finding_in_a_sound_environment(sound):
    findings, document = reported(sound)
    assert [one for one in findings if not one["id"].startswith("PB53")] == []
    assert [row["name"] for row in document["environment"]["distributions"]] == ["ext", "torch"]


def test_fails_for_an_extension_of_another_torch(tmp_path):
    ext = extension(FATAL + module("c10::FatalSignalHandler::fatalSignalHandler(0);"))
    findings, document = reported(environment(tmp_path, torch(), ext))
    name, severity, what = only(findings)
    assert (name, severity) == ("PB163", "fail")
    assert "the package loads only with torch 2.8 to 2.10" in what
    assert (document["verdict"]["outcome"], document["verdict"]["reason"].split(":")[0]) == ("fail", "ext 1.0")


def test_notes_a_fault_of_a_package_without_torch(tmp_path):
    pillow = extension(module(), name="pillow", needs=("libtiff.so.7",), runpath=())
    findings, _ = reported(environment(tmp_path, torch(), extension(), pillow))
    assert only(findings)[:2] == ("PB167", "note")
    assert "libtiff.so.7" in findings[0]["what"]


def test_notes_a_part_that_needs_a_better_cpu(tmp_path):
    package = extension()
    package.libraries[f"ext/_D.{TAG}.so"] = Library(needs=("libc10.so",), runpath=TO_TORCH, code=module(name="_D"))
    package.libraries[f"ext/tensor.{TAG}.so"] = Library(
        needs=("libtensor.so.2",), runpath=(), code=module(name="tensor")
    )
    findings, _ = reported(environment(tmp_path, torch(), package))
    assert only(findings)[:2] == ("PB166", "note")


def test_names_an_overwritten_library_with_a_command(sound):
    file = next(sound.glob("lib/python3*/site-packages/ext/_C.*.so"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.unlink()
    file.write_bytes(content)
    findings, _ = reported(sound)
    name, severity, what = only(findings)
    assert (name, severity) == ("PB168", "fail")
    assert "has another SHA-256 than its RECORD" in what
    assert findings[0]["remedy"] == f"{sound}/bin/python -m pip install --force-reinstall --no-deps ext==1.0"


OTHER_MACHINE = "aarch64" if MACHINE == "x86_64" else "x86_64"


def change_machine(library):
    return library.but(machine=OTHER_MACHINE)


def test_recommends_reinstalling_a_package_of_another_processor(tmp_path):
    ext = extension()
    ext = ext.but(libraries={path: change_machine(library) for path, library in ext.libraries.items()})
    place = environment(tmp_path, torch(), ext)
    findings, document = reported(place)
    name, severity, what = only(findings)
    assert (name, severity, findings[0]["distribution"]) == ("PB178", "fail", "ext")
    assert what == f"ext 1.0 is built for {OTHER_MACHINE}, and the environment's Python for {MACHINE}"
    assert findings[0]["remedy"] == f"{place}/bin/python -m pip install --force-reinstall --no-deps ext==1.0"
    assert document["environment"]["reinstall"] == findings[0]["remedy"]
    assert all(row["shipped"] != "fail" for row in document["verdict"]["claims"] if row["claim"] == "CPU")


def test_recommends_reinstalling_a_package_of_another_python(tmp_path):
    """Unless one of its modules is for this one, or for any."""
    ext = extension()
    [library] = ext.libraries.values()
    for tag, whose in (("cpython-38", "Python 3.8"), ("cpython-313t", "free-threaded Python 3.13")):
        name = f"ext/_C.{tag}-{MACHINE}-linux-gnu.so"
        place = environment(tmp_path / tag, torch(), ext.but(libraries={name: library}))
        findings, _ = reported(place)
        own = f"Python 3.{sys.version_info.minor}"
        says = f"ext 1.0 is built for {whose}, and the environment has {own}: Python does not find its modules"
        assert only(findings) == ("PB178", "fail", says)
        assert findings[0]["remedy"] == f"{place}/bin/python -m pip install --force-reinstall --no-deps ext==1.0"
        both = {name: library, "ext/_C.abi3.so": library}
        findings, _ = reported(environment(tmp_path / f"both-{tag}", torch(), ext.but(libraries=both)))
        assert findings == []


def test_names_the_writer_of_an_overwritten_library(tmp_path):
    """cupy-cuda12x beside cupy-cuda13x: the packages share paths, and the library there does not load."""
    ext = extension()
    [path] = ext.libraries
    other = Package("ext-cu12", {path: ext.libraries[path].but(needs=("libc10.so", "libcudart.so.12"))})
    place = environment(tmp_path, torch(), ext)
    site = next(place.glob("lib/python3*/site-packages"))
    (site / path).unlink()
    other.write(site)
    findings, _ = reported(place)
    assert sorted((one["id"], one["distribution"]) for one in findings) == [("PB161", "ext-cu12"), ("PB168", "ext")]


def test_reports_two_torches_as_one_fault(tmp_path):
    """The older one's metadata was left behind: the imported version counts, and its files are not missed."""
    place = environment(tmp_path, torch(), extension())
    site = next(place.glob("lib/python3*/site-packages"))
    older = site / "torch-2.9.0.dist-info"
    older.mkdir()
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n")
    (older / "RECORD").write_text("torch/lib/libtorch_cpu.so,sha256=AAAA,3\ntorch/lib/libold.so,,\n")
    (site / "ext-1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: ext\nVersion: 1.0\nRequires-Dist: torch==2.11.0\n"
    )
    _, document = reported(place)
    found = [one["id"] for one in document["verdict"]["findings"] if one["id"] < "PB200" and one["severity"] != "note"]
    assert found == ["PB134"]
    assert document["environment"]["reinstall"] is None


def test_names_one_module_of_another_processor(tmp_path):
    ext = extension()
    ext.libraries[f"ext/_D.{TAG}.so"] = change_machine(Library(needs=("libc10.so",), code=module(name="_D")))
    ext.libraries["ext/tools/libprobe.so"] = change_machine(Library())  # data: nothing here opens it
    findings, _ = reported(environment(tmp_path, torch(), ext))
    assert only(findings) == (
        "PB178",
        "fail",
        f"ext 1.0: _D.{TAG}.so cannot load: the file is for {OTHER_MACHINE}, "
        f"and the environment's Python for {MACHINE}",
    )


def test_names_the_package_of_a_foreign_library(tmp_path):
    """Reports no file that needs the library. A twin for the right processor in the same package replaces it."""
    runtime = Package("nvidia-cuda-runtime", {"nvidia/lib/libcudart.so.13": change_machine(Library())})
    ext = extension(needs=("libc10.so", "libcudart.so.13"), runpath=("$ORIGIN/../torch/lib", "$ORIGIN/../nvidia/lib"))
    findings, _ = reported(environment(tmp_path / "planted", torch(), runtime, ext))
    assert (only(findings)[0], findings[0]["distribution"]) == ("PB178", "nvidia-cuda-runtime")
    both = {"nvidia/lib/libcudart.so.13": Library(), "nvidia/sbsa/libcudart.so.13": change_machine(Library())}
    findings, _ = reported(environment(tmp_path / "twin", torch(), Package("nvidia-cuda-runtime", both), ext))
    assert findings == []


def test_does_not_start_programs_of_a_container(tmp_path):
    root = tmp_path / "root"
    environment(root / "opt", torch(), extension(needs=("libc10.so", "libz.so.1")))
    python = root / "opt/venv/bin/python"
    python.unlink()
    shutil.copy(os.path.realpath(sys.executable), python)
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text("ID=debian\n")
    findings, document = reported(root)
    assert not any(one["distribution"] == "ext" for one in findings)
    # The container's Python has no libc.
    assert "which is missing" in " ".join(document["environment"]["notes"])
    assert document["measurements"]["libtorch"] is None
    assert f"{root} is the root of another system" in " ".join(document["problems"])


def test_finds_two_majors_of_cuda_in_one_process(tmp_path):
    runtime = Package("nvidia-cuda-runtime", {"nvidia/lib/libcudart.so.12": Library()})
    beside = ("$ORIGIN/../torch/lib", "$ORIGIN/../nvidia/lib")
    ext = extension(needs=("libc10.so", "libcudart.so.12"), runpath=beside)
    found = [reported(environment(tmp_path / version, torch(version), runtime, ext))[0] for version in
             ("2.11.0+cu130", "2.9.1+cu126")]  # fmt: skip
    other, same = ([one for one in findings if one["id"] == "PB165"] for findings in found)
    assert only(other)[:2] == ("PB165", "warn")
    assert same == []


def test_reports_a_missing_compiler(sound):
    tools = sound / "tools"
    tools.mkdir()
    findings, _ = reported(sound, variables={"PATH": str(tools), "CC": "", "CXX": ""})
    assert only([one for one in findings if one["id"].startswith("PB53")])[0] == "PB531"


def test_reports_a_read_only_cache(sound):
    plain = sound / "plain"
    plain.write_text("")
    findings, _ = reported(sound, variables={"TORCHINDUCTOR_CACHE_DIR": str(plain / "cache")})
    assert "PB535" in {one["id"] for one in findings}
    findings, _ = reported(sound, variables={"TORCHINDUCTOR_CACHE_DIR": str(sound / "cache")})
    assert "PB535" not in {one["id"] for one in findings}


def imported(place, budgets=(9, 40)):
    """Findings of imports, which have their time besides what measuring takes. An import needs 2.5 s of the budget: the
    next budget is for a machine so busy that no time was left for one.
    """
    for budget in budgets:
        findings, document = reported(place, figures=("--full", "--budget", str(budget)))
        if not any("time budget was used up" in (one["problem"] or "") for one in document["imports"]):
            break
    return [one for one in findings if one["id"].startswith("PB54")], document["imports"]


def test_predicts_the_loaded_files(sound):
    findings, imports = imported(sound)
    assert findings == []
    assert [(one["module"], one["problem"], one["others"], one["unpredicted"]) for one in imports] == [
        ("torch", None, [], []),
        ("ext._C", None, [], []),
    ]
    assert any(path.endswith("/torch/lib/libc10.so") for path in imports[0]["loaded"])


def test_reports_a_torch_that_python_does_not_import(tmp_path):
    findings, _ = imported(environment(tmp_path, torch(), extension(), imports=IMPORTS + "import typing_extensionz\n"))
    assert only(one for one in findings if one["id"] == "PB541")[:2] == ("PB541", "fail")


def test_reports_extensions_that_crash_or_hang(tmp_path):
    def stopping(name, code):
        stop = 'extern "C" int pause();\nvoid stop() { ' + code + " }\n"
        return extension(stop + FREE + module("c10::free_cpu(nullptr); stop();"), name)

    # Imported in the order of their names: no time is left after the one that hangs.
    crashing, hanging = stopping("crashing", "__builtin_trap();"), stopping("hanging", "for (;;) pause();")
    findings, _ = imported(environment(tmp_path, torch(), crashing, hanging), budgets=(12,))
    assert [(one["id"], one["severity"]) for one in findings] == [("PB542", "warn")] * 2
    crashed, hung = sorted(one["what"] for one in findings)
    assert crashed.startswith("importing crashing._C") and "SIGILL" in crashed
    assert hung.startswith("importing hanging._C") and "the importing process did not end within 10 s" in hung


@pytest.mark.parametrize(
    ("extension_of_torch", "missing"),
    [
        (
            "import setuptools  # for extensions\nfrom setuptools.command.build_ext import build_ext\n",
            "numpy and expecttest and setuptools",
        ),
        ("def load():\n    import setuptools\n", "numpy and expecttest"),
    ],
)
def test_names_modules_that_the_database_of_operators_lacks(tmp_path, extension_of_torch, missing):
    place = environment(tmp_path, torch())
    with (place / "pyvenv.cfg").open("a") as settings:
        settings.write("include-system-site-packages = false\n")
    utils = next(place.glob("lib/python3*/site-packages/torch")) / "utils"
    utils.mkdir()
    (utils / "cpp_extension.py").write_text(extension_of_torch)
    _, document = reported(place, "--operators", variables={"PIP_NO_INDEX": "1"})
    assert f"operators needs {missing}, and pip could not" in document["operators"][0]["problem"]


def test_reports_a_library_from_another_place(tmp_path, sound):
    """Python code opened another copy first, so that the loader takes that one by its DT_SONAME."""
    copy = tmp_path / "elsewhere/libc10.so"
    copy.parent.mkdir()
    copy.write_bytes(next(sound.glob("lib/python3*/site-packages/torch/lib/libc10.so")).read_bytes())
    package = next(sound.glob("lib/python3*/site-packages/torch/__init__.py"))
    package.write_text(f"import ctypes\nctypes.CDLL({str(copy)!r})\n" + IMPORTS)
    findings, _ = imported(sound)
    assert only(findings)[:2] == ("PB543", "warn")
    assert f"has loaded {copy}" in findings[0]["what"]


def test_reports_a_library_without_a_user(tmp_path, sound):
    more = tmp_path / "elsewhere/libmore.so"
    more.parent.mkdir()
    more.write_bytes(next(sound.glob("lib/python3*/site-packages/torch/lib/libtorch_cpu.so")).read_bytes())
    package = next(sound.glob("lib/python3*/site-packages/torch/__init__.py"))
    package.write_text(IMPORTS + f"ctypes.CDLL({str(more)!r})\n")
    findings, _ = imported(sound)
    assert "PB544" in {one["id"] for one in findings}
