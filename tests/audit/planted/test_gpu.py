# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""PB3xx: device code as nvcc writes it, in libraries that are laid out as a torch."""

import hashlib
import pathlib
import sys

import pytest
from builds import ANY, BESIDE, CUDA, audit, cuda
from made import cuda_release
from rows import Row, ask
from small_builds import UNITS as UNIT_FOLDER
from small_builds import Build, Library

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gate"))
import cubins
import fatbins

BOTH = ("first120.o", "second120.o")
LINALG = "torch/lib/libtorch_cuda_linalg.so"
LINEAR_ALGEBRA = Library(needs=("libmagma.so",), units=BOTH)
SOME = ("first120.o", *["sm120.fatbin"] * 3)  # kernels beside which one that traps is not a large share
NCCL_FUNCTIONS = "".join(f'extern "C" int ncclMadeUp{i}(void) {{ return {i}; }}\n' for i in range(12))


def claim_of_this_cuda() -> str:
    return f"sm120,cuda={cuda_release()}"


def without_device_code() -> Build:
    return cuda(units=())


def build_static_nccl(unit: str) -> Build:
    """NCCL is linked in statically, and brings the SMs that it was built for."""
    build = cuda()
    return build.but({CUDA: Library(needs=build.libraries[CUDA].needs, units=(*BOTH, unit), code=NCCL_FUNCTIONS)})


def build_changed_unit(change) -> pathlib.Path:
    """A unit for sm_120, each of its entries changed."""
    file = UNIT_FOLDER / "sm120.fatbin"
    if not file.exists():
        pytest.skip(f"{file.name} was not built: no nvcc")
    changed = fatbins.each(fatbins.read(file.read_bytes()), change)
    return fatbins.made_file("made.fatbin", fatbins.written(changed))


def change_first_unit(change) -> Build:
    """Returns a build with a changed first unit."""
    return cuda(units=(build_changed_unit(change), "sm120.fatbin"))


def without_its_library(build: Build) -> Build:
    """libtorch_cuda.so is gone; libtorch_cuda_linalg.so has code of its own."""
    return build.but({CUDA: None, LINALG: LINEAR_ALGEBRA})


def build_inner_cubins(fatbin: str) -> Build:
    """libtorch_cuda.so hands a fatbin entry to the driver by itself, as CuTe's kernels of torch 2.15: a constant."""
    file = UNIT_FOLDER / fatbin
    if not file.exists():
        pytest.skip(f"{fatbin} was not built: no nvcc")
    lines = [f"# {hashlib.sha256(file.read_bytes()).hexdigest()}", ".pushsection .rodata", ".balign 8"]
    words = "".join(f'"{line}\\n"\n' for line in [*lines, f'.incbin \\"{file}\\"', ".popsection"])
    build = cuda(units=BOTH)
    return build.but({CUDA: build.libraries[CUDA].but(code=f"asm({words});\n")})


UNITS = [
    Row("PB310", "none of libtorch's files holds device code", without_device_code, cuda, ANY),
    Row(
        "PB314",
        "sm120 is claimed, and libtorch_cuda.so holds machine code only for sm_90",
        lambda: cuda(units=("first90.o", "second90.o")),
        lambda: cuda(units=BOTH),
        "sm120",
    ),
    Row(
        "PB314",
        "sm120 is claimed, and only 1 of the 2 translation units of libtorch_cuda.so holds machine code for it",
        lambda: cuda(units=("first120.o", "second90.o")),
        lambda: cuda(units=("first120.o", "second90_120.o")),
        "sm120",
    ),
    # CMake's detection turns a 12.1 into "12.1(2.0)", and builds this.
    Row(
        "PB314",
        "holds machine code only for sm_75",
        lambda: cuda(units=("second75.o",)),
        lambda: cuda(units=("second120.o",)),
        "sm120",
    ),
    # The code runs on 12.1, but the claim names another SM.
    Row(
        "PB314",
        "sm121 is claimed, and libtorch_cuda.so holds machine code only for sm_120",
        lambda: cuda(units=("sm120.fatbin",), machine="aarch64"),
        lambda: cuda(units=("sm121.fatbin",), machine="aarch64"),
        "sm121",
    ),
    # An exact claim says of a unit without the SM just that.
    Row(
        "PB314",
        "sm120 is claimed, and only 1 of the 2 translation units of libtorch_cuda.so holds machine code for it",
        lambda: cuda(units=("first120.o", "second90.o")),
        lambda: cuda(units=BOTH),
        "sm120,only",
    ),
    Row("PB314", "sm120 is claimed, and libtorch holds no device code", without_device_code, cuda, "sm120"),
    Row(
        "PB315",
        "libtorch_cuda.so holds only PTX (sm_120)",
        lambda: cuda(units=("first_ptx.o",)),
        lambda: cuda(units=("first120.o",)),
        "sm120",
    ),
    Row(
        "PB315",
        "libnccl.so.2 holds only PTX (sm_80)",
        lambda: cuda(nccl=["collective_ptx.o"]),
        lambda: cuda(nccl=["collective120.o"]),
        "sm120",
    ),
    Row(
        "PB316",
        "libtorch_cuda.so holds machine code for sm_90 too",
        lambda: cuda(units=("first120.o", "second90_120.o")),
        lambda: cuda(units=("first120.o", "second120a.o")),  # the a variant is a sibling
        "sm120,only",
    ),
    Row(
        "PB317",
        "libtorch_cuda.so holds PTX for sm_120 beside its machine code",
        lambda: cuda(units=("first120.o", "second_ptx.o")),
        lambda: cuda(units=BOTH),
        "sm120,only",
    ),
]

TENSOR = [
    Row(
        "PB323",
        "sm100 is claimed, and no file of libtorch holds machine code for sm_100a, which code with tcgen05.mma needs",
        lambda: cuda(units=("first100.o",), magma="first100.o"),
        lambda: cuda(units=("first100.o", "second100a.o"), magma="first100.o"),
        "sm100,only",
    ),
]

LIBRARIES = [
    Row(
        "PB318",
        "sm120 is claimed, and NCCL holds machine code only for sm_80, none of which runs there",
        lambda: cuda(nccl=["collective80.o"]),
        lambda: cuda(nccl=["collective80_90_120.o"]),
        "sm120",
    ),
    Row(
        "PB319",
        "NCCL holds machine code for sm_80, sm_90 too",
        lambda: cuda(nccl=["collective80_90_120.o"]),
        lambda: cuda(nccl=["collective120.o"]),
        "sm120,only",
    ),
    Row(
        "PB319",
        "libraries linked into libtorch_cuda.so hold machine code for sm_80, sm_90 too",
        lambda: build_static_nccl("collective80_90_120.o"),
        lambda: build_static_nccl("collective120.o"),
        "sm120,only",
    ),
    Row(
        "PB319",
        "libtorch_cuda.so also holds machine code for sm_121 in its constants, and the claim says `only`",
        lambda: build_inner_cubins("sm121.fatbin"),
        lambda: build_inner_cubins("sm120.fatbin"),
        "sm120,only",
    ),
]

INSIDE = [
    Row(
        "PB320",
        "1 kernel of libtorch_cuda.so for sm_120 does nothing but trap: second",
        lambda: cuda(units=(*SOME, "traps.o")),
        lambda: cuda(units=(*SOME, "works.o")),
        "sm120",
    ),
    Row(
        "PB321",
        "cubins of libtorch_cuda.so were compiled by different CUDA toolkits: 1 by CUDA 12.9, ",
        lambda: cuda(units=("first120.o", "older120.fatbin")),
        lambda: cuda(units=BOTH),
        "sm120",
    ),
    Row(
        "PB322",
        "CUDA 12.9 is claimed, and cubins of libtorch_cuda.so were compiled by CUDA ",
        lambda: cuda(cuda="12.9", version="2.11.0+cu129"),
        lambda: cuda(),
        "sm120,cuda=12.9",
        twin_claim=claim_of_this_cuda,
    ),
    Row(
        "PB322",
        "is claimed, and cubins of libtorch_cuda.so were compiled by CUDA 12.9",
        lambda: cuda(units=("older120.fatbin",)),
        lambda: cuda(units=BOTH),
        claim_of_this_cuda,
    ),
]

MADE = [
    Row(
        "PB330",
        "the cubin for sm_103 at ",
        lambda: change_first_unit(lambda one: one.relabelled("103")),
        lambda: change_first_unit(lambda one: one),
        "sm120",
    ),
    Row(
        "PB330",
        "is not an ELF file",
        lambda: change_first_unit(lambda one: one.holding(b"no cubin at all\n" * 99, fatbins.NONE)),
        lambda: change_first_unit(lambda one: one.set_compression(fatbins.NONE)),
        "sm120",
    ),
    Row(
        "PB331",
        "is a CUDA build, and has no libtorch_cuda.so",
        lambda: without_its_library(cuda()),
        lambda: cuda().but({LINALG: LINEAR_ALGEBRA}),
        "sm120",
    ),
    Row(
        "PB332",
        "sm120 is claimed, and 1 of the 2 kernels of libtorch_cuda.so for it does nothing: ",
        lambda: change_first_unit(lambda one: one.holding(cubins.emptied(one.content))),
        lambda: change_first_unit(lambda one: one.set_compression(fatbins.LZ4)),
        "sm120",
    ),
]

ROWS = [
    Row(
        "PB334",
        "libtorch_cuda.so holds relocatable device code",
        lambda: cuda(units=("relocatable.o",)),
        lambda: cuda(units=("relocatable.o", "linked.o")),
        ANY,
    ),
    Row(
        "PB334",
        "holds relocatable device code (1 entry of nvcc -rdc=true)",
        lambda: cuda(units=("first120.o", "relocatable.o")),
        lambda: cuda(units=("first120.o", "relocatable.o", "linked.o")),
        ANY,
    ),
    *UNITS,
    *TENSOR,
    *LIBRARIES,
    *INSIDE,
    *MADE,
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_finds_planted_fault_and_accepts_twin(tmp_path, row):
    ask(row, tmp_path)


FORMS = [["first120.o", f"second_{mode}.o"] for mode in ("size", "speed", "balance", "none")]
FORMS.append(["first120.o", "relocatable.o", "linked.o"])


@pytest.mark.parametrize("units", FORMS, ids=lambda units: units[1])
def test_whatever_form_the_device_code_has_its_claim_is_true(tmp_path, units):
    found, code = audit(cuda(units=tuple(units)).write(tmp_path), claim_of_this_cuda())
    assert found == {}
    assert code == 0


# Check, its message, and the bytes of the file that are overwritten
DAMAGE = [
    ("PB101", "fatbin magic 0x00000000, 0xba55ed50 expected", b"\x50\xed\x55\xba"),
    ("PB330", "is broken zstd data", None),
]


@pytest.mark.parametrize(("check", "says", "damage"), DAMAGE, ids=["header", "payload"])
def test_damaged_device_code_is_named(tmp_path, check, says, damage):
    unit = "second_size.o"
    damage = damage or zstd_frame(tmp_path, unit)
    damaged = Library(needs=BESIDE, units=("first120.o", unit), damage=damage)
    found, code = audit(cuda().but({CUDA: damaged}).write(tmp_path / "planted"), ANY)
    assert says in found[check]["what"]
    assert "libtorch_cuda.so" in found[check]["what"]
    assert set(found) == {check}
    assert code == 1


def zstd_frame(folder, unit: str) -> bytes:
    """Some bytes behind the first frame's header."""
    content = cuda(units=("first120.o", unit)).write(folder / "sound").joinpath(CUDA).read_bytes()
    at = content.index(b"\x28\xb5\x2f\xfd") + 24
    return content[at : at + 64]
