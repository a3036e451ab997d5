# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Releases of torch that load a wheel: all forms of names, and names that no release has."""

import zipfile

import pytest
from packages import FAILED, PASSED, Library, Package, audit, read_audit_text, rows, wheel

FREE = "namespace c10 { void free_cpu(void*); }\nvoid f() { c10::free_cpu(nullptr); }\n"  # in torch 2.8 to 2.15
# _ZNR5torch7Library4_defEO…: torch 2.12 changed what it takes.
LIBRARY = (
    "#include <string>\n#include <variant>\n#include <vector>\n"
    "namespace at { enum class Tag {}; }\nnamespace torch::headeronly { enum class Tag {}; }\n"
    "namespace c10 { struct OperatorName { std::string a; }; struct FunctionSchema { std::string b; }; }\n"
    "namespace torch { struct CppFunction {}; struct Library { Library& _def(std::variant<c10::OperatorName,"
    " c10::FunctionSchema>&&, CppFunction&&, const std::vector<TAG>&) &; }; }\n"
    "void f(torch::Library& l) { l._def(c10::OperatorName(), torch::CppFunction(), {}); }\n"
)
OLD_ABI = (
    "#define _GLIBCXX_USE_CXX11_ABI 0\n#include <string>\nnamespace c10::detail {\n"
    "void torchCheckFail(const char*, const char*, unsigned, const std::string&); }\n"
    'void f() { c10::detail::torchCheckFail("f", "f.cpp", 1, std::string("x")); }\n'
)
INVENTED = "namespace c10 { void invented(); }\nvoid f() { c10::invented(); }\n"
ALL = ["2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15"]


def package(code, **changes):
    return Package("ext", {"ext/_C.abi3.so": Library(needs=("libc10.so", "libtorch_cpu.so"), code=code, **changes)})


def releases(folder, built):
    [row] = rows(wheel(built, folder), "--distributions")[0].values()
    return row["torch_releases"], row["unknown_torch_symbol"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [(FREE, ALL), (LIBRARY.replace("TAG", "at::Tag"), ["2.8", "2.9", "2.10", "2.11"]),
     (LIBRARY.replace("TAG", "torch::headeronly::Tag"), ["2.12", "2.13", "2.14", "2.15"])],
)  # fmt: skip
def test_members_with_a_ref_qualifier_count(tmp_path, code, expected):
    assert releases(tmp_path, package(code)) == (expected, None)


def test_gate_refuses_a_torch_that_lacks_a_symbol(tmp_path):
    built = wheel(package(LIBRARY.replace("TAG", "at::Tag")), tmp_path)
    assert "only torch 2.8 to 2.11 has" in read_audit_text(built, "--claim", "torch=2.12")
    assert audit(built, "--claim", "torch=2.12").returncode == FAILED
    assert audit(built, "--claim", "torch=2.11").returncode == PASSED


def test_strings_of_the_old_abi_load_with_no_release(tmp_path):
    built = package(OLD_ABI)
    assert releases(tmp_path, built) == ([], "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs")
    page = read_audit_text(tmp_path / f"ext-1.0-{built.tag}.whl", "--claim", "torch=2.8")
    assert "none of torch 2.8 to 2.15 has: the file was built with _GLIBCXX_USE_CXX11_ABI=0, for torch 2.6" in page
    assert "none of 2.8 to 2.15 (_GLIBCXX_USE_CXX11_ABI=0" in read_audit_text(
        tmp_path / f"ext-1.0-{built.tag}.whl", "--distributions"
    )


def test_finds_an_invented_torch_name_in_no_release(tmp_path):
    assert releases(tmp_path, package(INVENTED + FREE.replace("f()", "g()"))) == ([], "_ZN3c108inventedEv")


def test_does_not_blame_torch_for_names_of_the_same_package(tmp_path):
    built = package(INVENTED)
    built.libraries["ext/libown.so"] = Library(code="namespace c10 { void invented() {} }\n")
    assert releases(tmp_path, built) == (ALL, None)


def test_allows_an_unread_library_to_define_a_name(tmp_path):
    """A build for ROCm has libc10_hip.so; another package has libexecutorch.so."""
    built = Package("ext", {"ext/_C.abi3.so": Library(needs=("libc10.so", "libc10_hip.so"), code=INVENTED)})
    assert releases(tmp_path, built) == (ALL, None)


def test_ignores_a_weak_reference(tmp_path):
    code = (
        "namespace c10 { __attribute__((weak)) void invented(); }\nvoid f() { if (c10::invented) c10::invented(); }\n"
    )
    assert releases(tmp_path, package(code + FREE.replace("f()", "g()"))) == (ALL, None)


@pytest.mark.parametrize(
    ("line", "torch", "code"),
    [("Torch == 2.10.0", "2.10", PASSED), ("Torch == 2.10.0", "2.11", FAILED), ("TORCH>=2.12", "2.11", FAILED),
     ("TORCH>=2.12", "2.12", PASSED), ("torch[opt] (>=2.12)", "2.11", FAILED), ("torch_scatter>=2.12", "2.11", PASSED),
     ("torch>=2.12 ; extra == 'new'", "2.11", PASSED), ("torch>=2.9", "2.11", PASSED)],
)  # fmt: skip
def test_names_in_metadata_are_compared_by_pep_503(tmp_path, line, torch, code):
    site = package(FREE).write(tmp_path / "site")
    with (site / "ext-1.0.dist-info/METADATA").open("a") as metadata:
        metadata.write(f"requires-dist:  {line}\n")
    built = package(FREE)
    file = tmp_path / f"ext-1.0-{built.tag}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(site.rglob("*")):
            archive.write(path, path.relative_to(site))
    assert audit(file, "--claim", f"torch={torch}").returncode == code
