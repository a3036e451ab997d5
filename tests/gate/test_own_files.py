# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""torch's own files, held against each other: a stub, a missing file or a wrong RPATH does not pass."""

import json
import subprocess

import pytest
from made import MACHINE, PROGRAM
from small_builds import ENTRY, Build, Library, linked
from wheels import recorded

LIB = "torch/lib/"
MODULE = f"torch/_C.cpython-311-{MACHINE}-linux-gnu.so"
CLAIM = "torch=2.11.0"
EXPORTS = "namespace c10 { void warn(int) {} }\n"
WANTS = "namespace c10 { void warn(int); }\nvoid f() { c10::warn(1); }\n"
INITIALIZES = 'extern "C" void* initModule();\nextern "C" void* PyInit__C() { return initModule(); }\n'


def torch(**changes):
    libraries = {
        LIB + "libc10.so": Library(code=EXPORTS),
        LIB + "libtorch_cpu.so": Library(code=WANTS, needs=("libc10.so",)),
        LIB + "libtorch_python.so": Library(
            code='extern "C" void* initModule() { return nullptr; }\n', needs=("libtorch_cpu.so",)
        ),
        MODULE: Library(code=INITIALIZES, needs=("libtorch_python.so",), runpath=("$ORIGIN/lib",)),
    }
    return Build(libraries).but(**changes)


def gated(site):
    command = [PROGRAM, "gate", site, "--claim", CLAIM, "--no-emulated-run", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["verdict"]["findings"]
    return {one["id"]: one["what"] for one in findings if one["severity"] == "fail"}


def record(site):
    """Writes a RECORD of the files, as pip does."""
    [info] = site.glob("torch-*.dist-info")
    names = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*")) if path.is_file()]
    lines = [recorded(name, (site / name).read_bytes()) for name in names]
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,"]) + "\n")
    return site


def test_passes_a_sound_torch(tmp_path):
    assert gated(record(torch().write(tmp_path))) == {}


@pytest.mark.parametrize(
    ("stub", "says"),
    [
        (LIB + "libc10.so", "libtorch_cpu.so needs c10::warn(int), which nothing defines"),
        (LIB + "libtorch_python.so", "needs initModule, which nothing defines"),
    ],
)
def test_reports_missing_symbols_of_an_empty_library(tmp_path, stub, says):
    sound = torch()
    empty = sound.libraries[stub].but(code="")
    found = gated(record(sound.but({stub: empty}).write(tmp_path)))
    assert found.keys() == {"PB163"}
    assert says in found["PB163"]


def test_reports_the_missing_entry_of_a_module(tmp_path):
    empty = Library(code="", needs=("libtorch_python.so",), runpath=("$ORIGIN/lib",))
    found = gated(record(torch().but({MODULE: empty}).write(tmp_path)))
    assert "needs PyInit__C, which nothing defines" in found["PB163"]


def test_fails_a_module_with_a_wrong_rpath(tmp_path):
    sound = torch()
    found = gated(record(sound.but({MODULE: sound.libraries[MODULE].but(runpath=("$ORIGIN/libs",))}).write(tmp_path)))
    assert found.keys() == {"PB140"}
    assert (
        f"-{MACHINE}-linux-gnu.so needs libtorch_python.so, which is in none of the folders of its RPATH"
        in found["PB140"]
    )


def test_accepts_a_loaded_library_without_rpath(tmp_path):
    sound = torch()
    more = Library(code=WANTS, needs=("libc10.so", "libtorch_cpu.so"), runpath=())
    assert gated(record(sound.but({LIB + "libtorch_extra.so": more}).write(tmp_path))) == {}


@pytest.mark.parametrize("name", ["torch/__init__.py", "torch/lib/libtorch_global_deps.so"])
def test_fails_a_missing_file_of_record(tmp_path, name):
    site = record(torch().but({LIB + "libtorch_global_deps.so": Library(code="")}).write(tmp_path))
    assert gated(site) == {}
    (site / name).unlink()
    assert gated(site).keys() == {"PB182"}


def test_fails_a_library_with_changed_bytes(tmp_path):
    site = record(torch().write(tmp_path))
    library = site / LIB / "libtorch_python.so"
    content = bytearray(library.read_bytes())
    at = content.index(b".shstrtab") if b".shstrtab" in content else len(content) - 64
    content[at : at + 4] = bytes(4)
    library.unlink()
    library.write_bytes(content)
    assert "another SHA-256" in gated(site)["PB182"]


def test_edited_python_passes(tmp_path):
    site = record(torch(texts=(("torch/nn.py", "a = 1\n"),)).write(tmp_path))
    (site / "torch/nn.py").write_text("a = 2\n")
    assert gated(site) == {}


def test_fails_an_empty_cuda_library(tmp_path):
    versioned = "libcudart.so.13 { global: cudaMalloc; };\n"
    script = tmp_path / "versions"
    script.write_text(versioned)
    runtime = Library(code='extern "C" int cudaMalloc() { return 0; }\n', linking=(f"-Wl,--version-script={script}",))
    for code, expected in ((runtime.code, set()), ("", {"PB163"})):
        site = tmp_path / f"site{len(code)}"
        build = torch().but({LIB + "libcudart.so.13": runtime.but(code=code)}).write(site)
        source = tmp_path / "cuda.cpp"
        source.write_text('extern "C" int cudaMalloc();\nint g() { return cudaMalloc(); }\n')
        real = tmp_path / "libcudart.so.13"
        (tmp_path / "runtime.cpp").write_text(runtime.code)
        named = (f"-Wl,--version-script={script}", "-Wl,-soname,libcudart.so.13")
        subprocess.run(["g++", "-shared", "-fPIC", *named, "-o", real, tmp_path / "runtime.cpp"], check=True)
        subprocess.run(
            ["g++", "-shared", "-fPIC", "-Wl,-rpath,$ORIGIN", "-Wl,-soname,libc10_cuda.so", "-o",
             build / LIB / "libc10_cuda.so", source, real], check=True)  # fmt: skip
        assert gated(record(build)).keys() - {"PB331"} == expected  # there is no libtorch_cuda.so


@pytest.mark.parametrize(
    ("function", "called"),
    [
        ('extern "C" void cblas_sgemm()', "cblas_sgemm"),
        ("namespace gloo { void run(); }\nvoid gloo::run()", "gloo::run"),
    ],
)
def test_reports_a_function_that_an_empty_bundled_library_lacks(tmp_path, function, called):
    declared = function.replace("\nvoid gloo::run()", "") if "gloo" in function else f"{function};"
    user = Library(code=f"{WANTS}{declared}\nvoid g() {{ {called}(); }}\n", needs=("libc10.so", "libopenblas.so.0"))
    library = Library(code=f"{function} {{}}\n")
    sound = torch().but({LIB + "libtorch_cpu.so": user, LIB + "libopenblas.so.0": library})
    assert gated(record(sound.write(tmp_path / "sound"))) == {}
    found = gated(record(sound.but({LIB + "libopenblas.so.0": library.but(code="")}).write(tmp_path / "empty")))
    assert found.keys() == {"PB163"}
    assert f"libtorch_cpu.so needs {called}" in found["PB163"]
    elsewhere = sound.but({LIB + "libopenblas.so.0": None})  # another package may bring the library
    assert gated(record(elsewhere.write(tmp_path / "elsewhere"))) == {}


def test_passes_a_module_with_only_its_entry(tmp_path):
    module = Library(code=ENTRY, needs=("libtorch_python.so",), runpath=("$ORIGIN/lib",))
    assert gated(record(torch().but({MODULE: module}).write(tmp_path))) == {}


def add_package(site, path, content, requirement=""):
    """Writes a file of the package spam, and the RECORD of this package."""
    (site / path).parent.mkdir(parents=True, exist_ok=True)
    (site / path).unlink(missing_ok=True)
    (site / path).write_bytes(content)
    info = site / "spam-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: spam\nVersion: 1.0\n{requirement}")
    lines = [recorded(path, content), f"{info.name}/METADATA,,", f"{info.name}/RECORD,,"]
    (info / "RECORD").write_text("\n".join(lines) + "\n")
    return site


@pytest.mark.parametrize("requirement", ["", "Requires-Dist: torch\n"])
def test_fails_a_package_that_replaces_a_library_of_torch(tmp_path, requirement):
    other = linked("libc10.so", Library(code=EXPORTS + "int more() { return 1; }\n")).read_bytes()
    site = record(torch().write(tmp_path / "planted"))
    found = gated(add_package(site, LIB + "libc10.so", other, requirement))
    assert found.keys() == {"PB182"}
    assert "torch/lib/libc10.so has another" in found["PB182"]
    site = record(torch().write(tmp_path / "twin"))
    assert gated(add_package(site, "spam/lib/libc10.so", other, requirement)) == {}


def test_fails_a_package_that_adds_a_library_to_torch(tmp_path):
    content = linked("libspam.so", Library()).read_bytes()
    site = record(torch().write(tmp_path / "planted"))
    found = gated(add_package(site, LIB + "libspam.so", content))
    says = "torch/lib/libspam.so is not in torch's RECORD: spam-1.0.dist-info recorded it"
    assert found == {"PB182": says}
    site = record(torch().write(tmp_path / "twin"))
    assert gated(add_package(site, "spam/lib/libspam.so", content)) == {}


def test_judges_the_library_that_the_loader_takes(tmp_path):
    """Two libraries have the name that libtorch_cpu.so needs; the first folder of its RUNPATH decides."""
    code = f'{WANTS}extern "C" void cblas_sgemm();\nvoid g() {{ cblas_sgemm(); }}\n'
    blas = "libopenblas.so.0"
    first, second = f"{LIB}first/{blas}", f"{LIB}second/{blas}"
    whole, stub = Library(code='extern "C" void cblas_sgemm() {}\n'), Library(code="")
    paths = ("$ORIGIN/first", "$ORIGIN/second", "$ORIGIN")
    user = Library(code=code, needs=("libc10.so", blas), runpath=paths)
    for libraries, expected in (({first: whole, second: stub}, set()), ({first: stub, second: whole}, {"PB163"})):
        build = torch().but({LIB + "libtorch_cpu.so": user, **libraries})
        found = gated(record(build.write(tmp_path / f"site{len(expected)}")))
        assert found.keys() == expected
        assert all("libtorch_cpu.so needs cblas_sgemm" in what for what in found.values())
