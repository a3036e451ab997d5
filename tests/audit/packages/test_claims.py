# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Claims about packages other than torch: each broken claim fails by its own id."""

import json
import subprocess

import pytest
from packages import COULD_NOT_RUN, FAILED, MACHINE, PASSED, PROGRAM, Library, Package, device, wheel

FREE = "namespace c10 { void free_cpu(void*); }\nvoid f() { c10::free_cpu(nullptr); }\n"
FATAL = (  # in torch 2.8 to 2.10
    "namespace c10 { struct FatalSignalHandler { static void fatalSignalHandler(int); }; }\n"
    "void f() { c10::FatalSignalHandler::fatalSignalHandler(0); }\n"
)
ENTRY = 'extern "C" void* PyInit__C() { return nullptr; }\n'
BOTH = ("second90_120.o",)
MODULE = f"spam/_C.cpython-311-{MACHINE}-linux-gnu.so"


def spam(**libraries):
    return Package("spam-kernels", {MODULE: Library(units=BOTH, code=FREE + ENTRY)} | libraries)


def gate(package, tmp_path, claim, exit_code):
    command = [PROGRAM, "gate", wheel(package, tmp_path), "--claim", claim, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == exit_code, done.stdout + done.stderr
    return json.loads(done.stdout)["verdict"]


def found(verdict):
    return {finding["id"]: finding["what"] for finding in verdict["findings"] if finding["severity"] == "fail"}


@pytest.mark.parametrize("claim", ["sm90", "sm120", "sm90,sm120", "sm120,torch=2.11.0", "python=3.11", "torch=2.9"])
def test_passes_a_claim_that_each_file_keeps(tmp_path, claim):
    verdict = gate(spam(), tmp_path, claim, PASSED)
    assert (verdict["outcome"], found(verdict)) == ("pass", {})


CFFI = 'extern "C" void _cffi_pypyinit__C(const void*) {}\n'


@pytest.mark.parametrize(
    ("claim", "exit_code", "failed"),
    [("pypy3.11", PASSED, set()), ("pypy3.10", FAILED, {"PB174"}), ("3.11", FAILED, {"PB174"})],
)
@pytest.mark.parametrize("code", [CFFI, ENTRY], ids=["cffi", "C API"])
def test_judges_modules_of_pypy_by_its_name(tmp_path, code, claim, exit_code, failed):
    """cffi's modules for PyPy have another entry than PyInit_, and the ABI pypy311_pp73 is of the Python pp311."""
    module = f"spam/_C.pypy311-pp73-{MACHINE}-linux-gnu.so"
    tag = f"pp311-pypy311_pp73-manylinux_2_39_{MACHINE}"
    package = Package("spam", {module: Library(code=code)}, tag=tag)
    verdict = gate(package, tmp_path, f"python={claim}", exit_code)
    assert {identifier for identifier in found(verdict) if identifier.startswith("PB")} == failed


def test_fails_an_sm_that_no_file_contains(tmp_path):
    verdict = gate(spam(), tmp_path, "sm90,sm80", FAILED)
    assert found(verdict) == {
        "PB171": (
            f"sm80 is claimed, and file {MODULE.rpartition('/')[2]} in "
            f"spam-kernels 1.0 holds machine code only for sm_120, sm_90"
        )
    }
    [row] = [row for row in verdict["claims"] if row["claim"] == "SM"]
    assert row["shipped"] == "fail"


def test_fails_a_library_that_lost_its_kernels(tmp_path):
    verdict = gate(spam(**{"spam/_moe.abi3.so": Library(units=("first90.o",))}), tmp_path, "sm90,sm120", FAILED)
    assert found(verdict) == {
        "PB171": "sm120 is claimed, and file _moe.abi3.so in spam-kernels 1.0 holds machine code only for sm_90"
    }


def test_counts_libraries_per_sm_as_one(tmp_path):
    package = Package("spam", {"spam/sm90/ops.so": Library(units=("first90.o",)),
                               "spam/sm120/ops.so": Library(units=("first120.o",))})  # fmt: skip
    assert found(gate(package, tmp_path, "sm90,sm120", PASSED)) == {}


def test_raw_cubins_of_a_folder_are_one(tmp_path):
    cubins = {f"spam/{name}": device(name) for name in ("sm_100a.cubin", "sm_120f.cubin")}
    assert found(gate(Package("spam", cubins), tmp_path, "sm100,sm120", PASSED)) == {}
    assert "PB171" in found(gate(Package("spam", cubins), tmp_path / "other", "sm90", FAILED))


def test_fails_an_sm_claim_without_device_code(tmp_path):
    verdict = gate(Package("plain", {"plain/_C.abi3.so": Library()}), tmp_path, "sm90", FAILED)
    says = "sm90 is claimed, and no file of plain 1.0 holds device code: it was built without CUDA"
    assert found(verdict) == {"PB171": says}


@pytest.mark.parametrize(
    ("library", "claim", "check"),
    [
        (Library(needs=("libcudart.so.12",)), "cuda=13.0", "PB172"),
        (Library(code=FATAL), "torch=2.11.0", "PB173"),
        (Library(code=ENTRY), "python=3.13", "PB174"),
        (Library(code='extern "C" void Py_Initialize();\nvoid f() { Py_Initialize(); }\n'), "python=3.13", "PB174"),
    ],
)
def test_fails_another_claim_by_its_own_id(tmp_path, library, claim, check):
    assert found(gate(Package("spam", {MODULE: library}), tmp_path, claim, FAILED)).keys() == {check}


def test_accepts_a_library_without_python_for_any_python(tmp_path):
    """torchao 0.18 has one for torch.ops.load_library(), with the name of a module for Python 3.10."""
    library = {f"spam/_D.cpython-310-{MACHINE}-linux-gnu.so": Library(code=FREE)}
    stable = Package("spam", {"spam/_C.abi3.so": Library(code=ENTRY)} | library, tag=f"cp310-abi3-linux_{MACHINE}")
    assert found(gate(stable, tmp_path, "python=3.11", PASSED)) == {}
    verdict = gate(stable.but(libraries=library), tmp_path / "alone", "python=3.13", FAILED)
    assert (verdict["outcome"], found(verdict)) == ("unknown", {})


def test_reports_unknown_for_torch_required_by_url(tmp_path):
    url = "torch @ https://example.org/torch-2.11.0-cp311-cp311-linux_x86_64.whl"
    verdict = gate(spam().but(requirements=(url,)), tmp_path / "url", "torch=2.11.0", FAILED)
    assert (verdict["outcome"], found(verdict)) == ("unknown", {})
    [row] = [row for row in verdict["claims"] if row["claim"] == "torch"]
    assert row["shipped"] == "unknown"
    gate(spam().but(requirements=("torch==2.11.0",)), tmp_path / "version", "torch=2.11.0", PASSED)


def test_reports_unknown_for_module_without_tag(tmp_path):
    """The tag of another module does not tell for which Python this one is."""
    code = 'extern "C" void PyList_New();\nextern "C" void* PyInit__D() { PyList_New(); return nullptr; }\n'
    untagged = spam(**{"spam/_D.so": Library(code=code)})
    verdict = gate(untagged, tmp_path / "untagged", "python=3.11", FAILED)
    assert (verdict["outcome"], found(verdict)) == ("unknown", {})
    gate(spam(**{f"spam/_D.cpython-311-{MACHINE}-linux-gnu.so": Library(code=code)}), tmp_path, "python=3.11", PASSED)


@pytest.mark.parametrize(("claim", "row"), [("cuda=13.0", "CUDA"), ("torch=2.99", "torch"), ("avx2", "ISA")])
def test_reports_unknown_for_facts_that_files_lack(tmp_path, claim, row):
    verdict = gate(Package("spam", {"spam/_C.abi3.so": Library()}), tmp_path, claim, FAILED)
    assert (verdict["outcome"], found(verdict)) == ("unknown", {})
    assert {one["claim"]: one["shipped"] for one in verdict["claims"]}[row] == "unknown"


def test_names_the_package_in_the_verdict(tmp_path):
    command = [PROGRAM, "gate", wheel(spam(), tmp_path), "--claim", "sm90"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("PASS  spam-kernels 1.0\n")


def test_judges_the_only_package_of_an_environment(tmp_path):
    command = [PROGRAM, "gate", tmp_path / "venv", "--claim", "python=3.11"]
    ext = Package("ext", {f"ext/_C.cpython-311-{MACHINE}-linux-gnu.so": Library(code=ENTRY)})
    site = ext.write(tmp_path / "venv/lib/python3.11/site-packages")
    Package("pure", {}).write(site)
    assert subprocess.run(command, capture_output=True, check=False).returncode == PASSED
    with (site / f"ext/_C.cpython-311-{MACHINE}-linux-gnu.so").open("ab") as library:
        library.write(b"changed")
    assert subprocess.run(command, capture_output=True, check=False).returncode == FAILED
    ext.but(name="other", libraries={"other/_D.abi3.so": Library(code=ENTRY)}).write(site)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == COULD_NOT_RUN
    assert "2 packages with machine code (ext-1.0.dist-info, other-1.0.dist-info): give the wheel of one" in done.stderr
