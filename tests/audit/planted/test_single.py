# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A single file, a shared object, an object file, a cubin or a fatbin: what its own bytes tell is judged, no more."""

import json
import re
import shutil
import subprocess

import pytest
from builds import BUILD, CUDA, HOST_CODE, MACHINE, PROGRAM, Library, cuda_release, linked, unit

DEVICE = BUILD / "tests/audit/device"
VARIANT = "pytorch-python313-cuda13_0-sm{}-avx2"


def judged(file, claim):
    """Verdict and exit code; no check that needs a whole artifact may speak."""
    command = [PROGRAM, "audit", file, "--claim", claim, "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.stdout, result.stderr
    verdict = json.loads(result.stdout)["verdict"]
    whole = re.findall(r"\| (PB\d\d\d) [^\n]*a whole artifact", (PROGRAM.parents[2] / "docs/checks.md").read_text())
    assert len(whole) > 15
    assert not {finding["id"] for finding in verdict["findings"]} & set(whole)
    return verdict, result.returncode


def ids(verdict):
    return [finding["id"] for finding in verdict["findings"]]


def shipped(verdict):
    return {row["claim"]: row["shipped"] for row in verdict["claims"]}


def fixture(name):
    file = DEVICE / name
    return file if file.exists() else pytest.skip(f"{name} was not built: no nvcc")


def host_code(name):
    file = HOST_CODE / f"lib{name}.so"
    return file if file.exists() else pytest.skip(f"lib{name}.so was not built: no compiler")


FILES = {
    "shared object": lambda: linked("libkernels.so", Library(units=("first120.o", "second120.o"))),
    "torch's own": lambda: linked("libtorch_cuda.so", Library(units=("first120.o", "second120.o"))),
    "object file": lambda: unit("first120.o", MACHINE),
    "fatbin": lambda: unit_file("sm120.fatbin"),
    "cubin": lambda: fixture("sm_121.cubin"),
}
OTHER = {"cubin": "sm_121"}


def unit_file(name):
    unit(name, MACHINE)
    return BUILD / "tests/audit/planted" / name


@pytest.mark.parametrize("kind", FILES)
def test_finds_or_misses_sm(kind):
    held = OTHER.get(kind, "sm_120")
    claim = held.replace("_", "")
    verdict, code = judged(FILES[kind](), claim)
    assert (verdict["outcome"], ids(verdict), code, shipped(verdict)) == ("pass", [], 0, {"SM": "pass"})
    assert verdict["reason"].endswith(f'holds what "{claim}" claims')
    verdict, code = judged(FILES[kind](), "sm90")
    assert (verdict["outcome"], ids(verdict), code, shipped(verdict)) == ("fail", ["PB314"], 1, {"SM": "fail"})
    assert f"holds machine code only for {held}" in verdict["reason"]


def test_finds_file_that_lacks_one_unit():
    verdict, code = judged(linked("libkernels.so", Library(units=("first90.o", "second90_120.o"))), "sm120")
    assert (ids(verdict), code) == (["PB314"], 1)
    assert "1 of the 2 translation units of libkernels.so" in verdict["reason"]


def test_variant_name_claims_exactly():
    verdict, code = judged(unit("second90_120.o", MACHINE), VARIANT.format(120))
    assert "PB316" in ids(verdict)
    assert code == 1


def test_ptx_alone_is_found():
    verdict, code = judged(unit("first_ptx.o", MACHINE), "sm120")
    assert (ids(verdict), code) == (["PB315"], 1)


def test_allows_more_in_library_with_own_list():
    verdict, code = judged(linked("libnccl.so.2", Library(units=("collective80_90_120.o",))), "sm120,only")
    assert (verdict["outcome"], code) == ("pass", 0)
    verdict, code = judged(linked("libnccl.so.2", Library(units=("collective80.o",))), "sm120,only")
    assert (verdict["outcome"], code) == ("fail", 1)


@pytest.mark.parametrize("name", ["lib{}.so", "libtorch_cpu.so"])
def test_host_code_is_judged(tmp_path, name):
    file = tmp_path / name.format("avx2")
    shutil.copy(host_code("avx2"), file)
    verdict, code = judged(file, "avx2,only")
    assert (verdict["outcome"], ids(verdict), code, shipped(verdict)) == ("pass", [], 0, {"ISA": "pass"})
    verdict, code = judged(file, "avx,only")
    assert (ids(verdict), code) == (["PB207"], 1)


def test_judges_object_file_of_host_code(tmp_path):
    if MACHINE != "x86_64":
        pytest.skip("compiled for x86-64 flags")
    source = tmp_path / "sum.cpp"
    loop = "float s = 0; for (int i = 0; i < n; ++i) s += x[i] * x[i]; return s;"
    source.write_text(f"float f(const float* x, int n) {{ {loop} }}\n")
    for flags, outcome in ((["-mavx2", "-mfma", "-O3", "-ffast-math"], "pass"), (["-O2"], "fail")):
        subprocess.run(["c++", *flags, "-c", source, "-o", source.with_suffix(".o")], check=True)
        verdict, code = judged(source.with_suffix(".o"), "avx2,only")
        assert (verdict["outcome"], code) == (outcome, 0 if outcome == "pass" else 1), verdict["reason"]


def test_reports_facts_missing_in_one_file():
    claim = f"sm120,cuda={cuda_release()},torch=2.11.0,python=3.11"
    verdict, code = judged(FILES["shared object"](), claim)
    assert (verdict["outcome"], code) == ("pass", 0)
    assert verdict["reason"].endswith("claims, but for what one file does not tell: torch, Python")
    assert shipped(verdict) == {"SM": "pass", "torch": "unknown", "CUDA": "pass", "Python": "unknown"}


def test_compares_toolkit_of_cubins_with_claim():
    verdict, code = judged(fixture("sm_75.cubin"), "cuda=12.8,sm75")
    assert (ids(verdict), code) == (["PB322"], 1)
    assert shipped(verdict) == {"SM": "pass", "CUDA": "fail"}
    verdict, code = judged(fixture("sm_75.cubin"), "cuda=12.8")
    assert (ids(verdict), code) == (["PB322"], 1)


@pytest.mark.parametrize(
    ("kind", "claim", "parts"),
    [
        ("cubin", "avx2", "ISA"),
        ("cubin", "torch=2.11.0,python=3.13", "torch, Python"),
        ("shared object", "blas=mkl", "BLAS"),
    ],
)
def test_returns_unknown_without_facts_on_claim(kind, claim, parts):
    file = FILES[kind]()
    verdict, code = judged(file, claim)
    assert (verdict["outcome"], ids(verdict), code) == ("unknown", [], 0)
    assert verdict["reason"] == f"{file.name} by itself does not tell what is claimed: {parts}"
    assert set(shipped(verdict).values()) == {"unknown"}


def test_finds_no_sm_without_device_code():
    verdict, code = judged(linked("libplain.so", Library()), "sm120")
    assert (verdict["outcome"], code) == ("unknown", 0)


def test_rejects_platform_without_claimed_chip():
    if MACHINE != "x86_64":
        pytest.skip("sm_110 is found on aarch64")
    verdict, _ = judged(linked("libkernels.so", Library(units=("sm110.fatbin",))), "sm110")
    assert ids(verdict) == ["PB109"]


def test_lists_possible_claims_without_claim():
    result = subprocess.run([PROGRAM, "audit", FILES["cubin"]()], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "the files satisfy: sm_121.cubin is a sm_121 build" in result.stdout


def test_rejects_damaged_file(tmp_path):
    file = tmp_path / CUDA.rsplit("/", 1)[-1]
    file.write_bytes(FILES["torch's own"]().read_bytes()[:40])
    result = subprocess.run([PROGRAM, "audit", file, "--claim", "sm120"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "libtorch_cuda.so" in result.stderr
