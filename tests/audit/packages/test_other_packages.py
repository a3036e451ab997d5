# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A package that is not torch is described as what it is, and asked nothing that torch is asked."""

import json

from packages import FAILED, PASSED, Library, Package, audit, device, read_audit_text, wheel

PLAIN = Package("plain-text", {"plain_text/_C.cpython-311-x86_64-linux-gnu.so": Library()})
DEVICE = Package("spam-kernels", {"spam/_C.abi3.so": Library(units=("first120.o", "second75.o", "collective_ptx.o"))})


def test_reports_the_contents_and_nothing_of_torch(tmp_path):
    file = wheel(DEVICE, tmp_path)
    result = audit(file)
    assert result.returncode == PASSED
    text = read_audit_text(file)
    assert text.startswith("spam-kernels 1.0, wheel: ")
    assert "spam-kernels 1.0 holds machine code for sm_75, 120 and PTX for sm_80, for" in text
    for wrong in ("CPU build", "torch (version unknown)", "PB103", "Findings", "libtorch"):
        assert wrong not in text


def test_does_not_take_a_package_without_device_code_for_torch(tmp_path):
    text = read_audit_text(wheel(PLAIN, tmp_path))
    assert "plain-text 1.0 holds no device code" in text
    assert "CPU build" not in text


def test_does_not_take_a_module_with_a_torch_name_for_torch(tmp_path):
    inventory = json.loads(audit(wheel(DEVICE, tmp_path), "--format", "json").stdout)
    assert [file["component"] for file in inventory["files"]] == [None]


def test_does_not_take_a_library_with_a_torch_name_for_torch(tmp_path):
    package = Package("torchspam", {"torchspam/lib/libtorchspam_core.so": Library()})
    inventory = json.loads(audit(wheel(package, tmp_path), "--format", "json").stdout)
    assert [file["component"] for file in inventory["files"]] == [None]


def test_counts_a_cubin_as_device_code(tmp_path):
    package = Package("spam-cubins", {"spam_cubins/fmha/one.cubin": device("sm_100a.cubin")})
    assert "spam-cubins 1.0 holds machine code for sm_100a" in read_audit_text(wheel(package, tmp_path))


def test_finds_a_torch_without_its_libraries(tmp_path):
    package = Package("torch", {"torch/_C.cpython-311-x86_64-linux-gnu.so": Library()}, version="2.11.0")
    result = audit(wheel(package, tmp_path))
    assert result.returncode == FAILED
    assert "PB103" in result.stdout


def test_reports_a_damaged_file_of_a_package(tmp_path):
    package = Package("spam-kernels", {"spam/_C.abi3.so": Library(units=("first120.o",), keeps=0.5)})
    result = audit(wheel(package, tmp_path))
    assert result.returncode == FAILED
    assert "PB102" in result.stdout


def test_its_kernels_are_listed_by_the_sms_that_they_are_for(tmp_path):
    package = Package("spam-kernels", {"spam/_C.abi3.so": Library(units=("first90.o", "second90_120.o"))})
    text = read_audit_text(wheel(package, tmp_path), "--kernels")
    one, two = text.index("1 kernel for sm_90 "), text.index("1 kernel for sm_90, sm_120 ")
    assert "first(" in text[one : one + 60]
    assert "second(" in text[two : two + 60]
    assert "1 kernel for PTX for compute_80" in read_audit_text(
        wheel(Package("ptx", {"ptx/_C.so": Library(units=("collective_ptx.o",))}), tmp_path), "--kernels"
    )
