# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Entries that the tests write equal nvcc's entries: the program, NVIDIA's tools and the loader read them."""

import collections
import ctypes
import json
import os
import re
import shutil
import subprocess

import cubins
import elves
import fatbins
import pytest
from made import MACHINE, OUT, PROGRAM, made, nvcc
from small_builds import Library, linked
from variants import KERNEL, fatbin

SMS = ("75", "80", "86", "89", "90", "90a", "100", "100a", "103a", "110", "120", "120f", "121", "121a")
COMPRESSIONS = (fatbins.NONE, fatbins.LZ4, fatbins.ZSTD)
MODES = ("none", "speed", "balance", "size")


def cubin(sm):
    return made("unit.cubin", nvcc(), "-cubin", f"-arch=sm_{sm}", "-DNAME=kernel", KERNEL, "-o", OUT).read_bytes()


def ptx(sm):
    return made("unit.ptx", nvcc(), "-ptx", f"-arch=compute_{sm}", "-DNAME=kernel", KERNEL, "-o", OUT).read_bytes()


def audited(file):
    done = subprocess.run([PROGRAM, "audit", file, "--format", "json"], capture_output=True, text=True)
    [entry] = json.loads(done.stdout)["files"]
    assert entry["problem"] is None, entry["problem"]
    return entry["device_code"]


def tool(name):
    hint = os.environ.get(f"PBPROBE_TEST_{name.upper()}") or shutil.which(name) or ""
    if not os.access(hint, os.X_OK):
        pytest.skip(f"no {name}")
    return hint


def listed(file):
    """NVIDIA's list: cubins, which leaves the suffix f out, then PTX."""
    reported = [
        subprocess.run([tool("cuobjdump"), f"--list-{kind}", file], capture_output=True, text=True)
        for kind in ("elf", "ptx")
    ]
    return [sorted(re.findall(r"\.sm_(\d+a?)\.(?:cubin|ptx)$", one.stdout, re.MULTILINE)) for one in reported]


def mixed_by_nvcc(mode):
    command = [nvcc(), "-fatbin", "-DNAME=kernel", f"--compress-mode={mode}", KERNEL, "-o", OUT]
    for code in ("compute_90,code=[sm_90,compute_90]", "compute_90a,code=sm_90a", "compute_120f,code=sm_120f"):
        command.append(f"-gencode=arch={code}")
    return made("mixed.fatbin", *command, "-gencode=arch=compute_75,code=lto_75").read_bytes()


@pytest.mark.parametrize("mode", MODES)
def test_writes_nvcc_output_again(mode):
    content = mixed_by_nvcc(mode)
    [container] = fatbins.read(content)
    assert sorted(one.sm for one in container) == ["120f", "75", "90", "90", "90a"]
    assert collections.Counter(one.kind for one in container) == {fatbins.CUBIN: 3, fatbins.PTX: 1, fatbins.LTO_IR: 1}
    assert fatbins.written([container]) == content


def test_all_modes_hold_the_same():
    entries = [fatbins.read(mixed_by_nvcc(mode))[0] for mode in MODES]
    contents = [{one.content.rstrip(b"\0") for one in row if one.kind != fatbins.LTO_IR} for row in entries]
    assert len(contents[0]) == 4 and contents == [contents[0]] * len(MODES)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("sm", SMS)
def test_all_tools_read_a_written_entry(sm, compression):
    own = fatbins.entry(cubin(sm), sm, compression=compression)
    base = sm.rstrip("af")
    text = fatbins.entry(ptx(base), base, fatbins.PTX, compression, version="9.0")
    assert (own.sm, own.compression, own.content) == (sm, compression, cubin(sm))
    units = fatbins.made_file("own.fatbin", fatbins.written([(own,), (text, own)]))
    file = linked("libown.so", Library(units=(units,)))
    code = audited(file)
    assert (code["cubin"], code["ptx"]) == ({f"sm_{sm}": 2}, {f"sm_{base}": 1})
    assert code["census"][f"sm_{sm}"]["kernels"] == 2
    assert listed(file) == [[sm.removesuffix("f")] * 2, [base]]


@pytest.mark.parametrize("sm", SMS)
def test_nvcc_writes_the_same_entry(sm):
    [[theirs]] = fatbins.read(fatbin(sm).read_bytes())
    ours = fatbins.entry(theirs.content, sm, compression=fatbins.ZSTD)
    sizes = {name: ours.field(name) for name in ("compressed_bytes", "padded_bytes")}  # of another level
    assert ours.header == theirs.set_fields(**sizes).header


def test_entries_are_relabelled_dropped_and_broken():
    whole = fatbins.entry(cubin("120"), "120", compression=fatbins.ZSTD)
    for sm in ("103", "121a", "80", "120f"):
        assert whole.relabelled(sm).sm == sm and whole.relabelled(sm).content == whole.content
        assert whole.relabelled(sm).relabelled("120") == whole
    cut = whole.storing(whole.stored[:-9])
    assert fatbins.read(fatbins.written([(cut, whole)])) == ((cut, whole),)
    with pytest.raises(ValueError, match="announced"):
        assert cut.content
    roomy = fatbins.written([(whole.roomier(64),), (whole,)], alignment=4096)
    assert [one.content for [one] in fatbins.read(roomy)] == [whole.content] * 2
    assert fatbins.each(((whole, whole.relabelled("90")), (whole,)), lambda one: one if one.sm == "90" else None) == (
        (whole.relabelled("90"),),
    )


@pytest.mark.parametrize("sm", [sm for sm in SMS if sm[-1] not in "af"])
def test_changed_cubins_are_still_cubins(sm):
    whole = cubin(sm)
    [name] = cubins.kernels(whole)
    assert cubins.number(whole) == int(sm)
    assert cubins.number(cubins.put_number(whole, 75)) == 75
    for changed, first in ((cubins.emptied(whole), "EXIT"), (cubins.trapping(whole), "BPT.TRAP 0x1")):
        file = fatbins.made_file("changed.cubin", changed)
        reported = subprocess.run([tool("nvdisasm"), "-c", file], capture_output=True, text=True, check=True).stdout
        code = re.findall(r"^\s+/\*[0-9a-f]{4}\*/\s+(.*?)\s*;", reported, re.MULTILINE)
        assert code[0] == first and set(code[1:]) == {"NOP"} and len(code) * 16 == len(cubins.kernels(whole)[name])
    assert cubins.kernels(cubins.without_kernels(whole)) == {}
    assert cubins.kernels(cubins.without_code(whole)) == {name: b""}


def link_device_library(*more):
    return linked("libdevice.so", Library(units=(fatbin("90", "90a"),), objects=more))


def same_library(content, twin):
    """The loader takes it, and the program finds the same in it."""
    file = fatbins.made_file("libchanged.so", content)
    assert ctypes.CDLL(file)._Z6answerv() == 42
    reported, meant = audited(file), audited(twin)
    assert {name: reported[name] for name in ("cubin", "ptx", "census")} == {
        name: meant[name] for name in ("cubin", "ptx", "census")
    }


def test_device_code_that_outgrows_its_place_is_loaded_from_another_segment():
    twin = link_device_library()
    content = twin.read_bytes()
    one = fatbins.read(elves.get_section_bytes(content, ".nv_fatbin"))
    larger = elves.replace_section_bytes(
        content, ".nv_fatbin", fatbins.written(fatbins.each(one, lambda it: it.set_compression("none")))
    )
    assert len(larger) > len(content) + 4096
    same_library(larger, twin)
    smaller = elves.replace_section_bytes(larger, ".nv_fatbin", fatbins.written(one))
    assert len(smaller) == len(larger) and smaller != larger
    same_library(smaller, twin)


def test_reads_embedded_code_in_renamed_sections():
    content = fatbins.written([(fatbins.entry(cubin("90"), "90"),)])
    file = linked("libother.so", Library(objects=(fatbins.embedded(content, MACHINE, ".nv_cubins", 64),)))
    whole = file.read_bytes()
    assert (
        elves.get_section_bytes(whole, ".nv_cubins") == content and elves.section(whole, ".nv_cubins").offset % 64 == 0
    )
    ours = elves.renamed(whole, ".nv_cubins", ".nv_fatbin")
    theirs = elves.objcopied(file, "--rename-section", ".nv_cubins=.nv_fatbin").read_bytes()
    assert elves.get_section_bytes(ours, ".nv_fatbin") == elves.get_section_bytes(theirs, ".nv_fatbin") == content
    assert audited(fatbins.made_file("libours.so", ours))["cubin"] == {"sm_90": 1}
    assert elves.sections(elves.without_sections(whole)) == []
