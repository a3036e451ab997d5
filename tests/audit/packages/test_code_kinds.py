# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Code of packages that is of another kind than claimed, damaged, or in no library that a loader takes. Each fault has
its own check, and a sound twin."""

import json
import pathlib
import subprocess
import sys

import pytest
from made import MACHINE, OUT, made, nvcc, text
from packages import FAILED, PASSED, PROGRAM, Library, Package, wheel
from small_builds import linked

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gate"))

import elves
import fatbins

MODULE = "spam/_C.abi3.so"
KERNEL = "__global__ void store(int* x) { *x = 1; }\n"


def fatbin(*code):
    """One translation unit for these: ("compute_90a", "compute_90a") is PTX."""
    architectures = [f"-gencode=arch={compute},code={real}" for compute, real in code]
    return made("code.fatbin", nvcc(), "-fatbin", *architectures, text("store.cu", KERNEL), "-o", OUT)


PTX = ("compute_80", "compute_80")
CUBIN = ("compute_90", "sm_90")


def gated(artifact, *claim):
    done = subprocess.run(
        [PROGRAM, "gate", artifact, *claim, "--format", "json"], capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["verdict"]["findings"]
    return done.returncode, {one["id"]: one["what"] for one in found if one["severity"] != "note"}


def spam(*units, **changes):
    return Package("spam", {MODULE: Library(units=units, **changes)})


def claimed(tmp_path, lines):
    file = tmp_path / "spam.claims"
    file.write_text(lines)
    return "--claim-file", file


def test_ptx_of_a_later_isa_than_the_claimed_cuda_fails(tmp_path):
    for major, claim, expected in (("12", "12.8", {"PB172"}), ("13", "13.0", set())):
        package = spam(fatbin(PTX), needs=(f"libcudart.so.{major}",))
        _, found = gated(wheel(package, tmp_path / major), "--claim", f"cuda={claim}")
        assert found.keys() - {"PB161"} == expected
    package = spam(fatbin(PTX), needs=("libcudart.so.12",))
    code, found = gated(wheel(package, tmp_path / "again"), "--claim", "cuda=12.8")
    assert code == FAILED
    assert "spam 1.0 holds PTX for sm_80 of ISA version 9.0, which only a later CUDA supports" in found["PB172"]


@pytest.mark.parametrize(("claim", "code"), [("compute_90a", PASSED), ("compute_90", FAILED)])
def test_ptx_with_a_suffix_proves_none_without(tmp_path, claim, code):
    file = wheel(spam(fatbin(("compute_90a", "compute_90a"))), tmp_path)
    returned, found = gated(file, *claimed(tmp_path, f"files * {claim}\n"))
    assert (returned, set(found)) == (code, {"PB175"} if code else set())


def test_ptx_that_ends_inside_a_function_fails(tmp_path):
    def cut(one):
        return one.holding(one.content[: one.content.rindex(b"{") + 9] + b"\0") if one.kind == fatbins.PTX else one

    whole = fatbins.read(fatbin(CUBIN, PTX).read_bytes())
    for name, containers, expected in (("cut", fatbins.each(whole, cut), {"PB102"}), ("whole", whole, set())):
        unit = fatbins.made_file("code.fatbin", fatbins.written(containers))
        code, found = gated(wheel(spam(unit), tmp_path / name), "--claim", "sm90")
        assert found.keys() == expected
        assert code == (FAILED if expected else PASSED)


def test_device_code_among_constants_is_judged(tmp_path):
    for real, code in (("sm_90", PASSED), ("sm_80", FAILED)):
        containers = fatbins.read(fatbin((real.replace("sm", "compute"), real)).read_bytes())
        constants = fatbins.embedded(fatbins.written(containers), MACHINE, ".rodata")
        package = Package("spam", {MODULE: Library(objects=(constants,))})
        assert gated(wheel(package, tmp_path / real), "--claim", "sm90")[0] == code


REFUSED = {
    "another OS ABI": (elves.set_freebsd_abi, "made for the OS ABI 9"),
    "a later ABI": (lambda content: elves.put(content, 8, b"\x09"), "ABI version 9"),
    "another ELF version": (lambda content: elves.put_number(content, 20, 2, "I"), "ELF version 2, not 1"),
    "a program": (elves.set_program_type, "an executable, no shared object (ET_DYN)"),
    "no PT_DYNAMIC": (elves.without_dynamic, "no dynamic section"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_rejects_module_that_no_loader_takes(tmp_path, fault):
    change, says = REFUSED[fault]
    sound = linked("_C.abi3.so", Library(units=(fatbin(CUBIN),)))
    file = tmp_path / "_C.abi3.so"
    file.write_bytes(change(sound.read_bytes()))
    code, found = gated(wheel(Package("spam", {MODULE: file}), tmp_path), "--claim", "sm90")
    assert (code, set(found)) == (FAILED, {"PB102"})
    assert says in found["PB102"]
    assert gated(wheel(Package("spam", {MODULE: sound}), tmp_path / "twin"), "--claim", "sm90") == (PASSED, {})
