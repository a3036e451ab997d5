# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on host code and on the symbols that tell whose it is."""

from __future__ import annotations

import pathlib
import random
import subprocess
import tempfile

import elves
from device import is_elf
from made import OUT, compiler, made, text
from operators import About, changes, chosen, keeps
from small_builds import ENTRY, PLAIN, Library, linked
from trees import OWN, Tree
from variants import sound

# Instructions with harmless operands, and the CPU features that they need. The first ones are of newer sets.
NEWER = {
    "x86_64": {
        "vpdpbssd %ymm2, %ymm1, %ymm0 (AVX-VNNI-INT8)": "c4e27750c2",
        "vpmadd52luq %ymm2, %ymm1, %ymm0 (AVX-IFMA)": "c4e2f5b4c2",
        "add %r16d, %r16d (APX)": "d55001c0",
        "vminmaxps $0, %zmm2, %zmm1, %zmm0 (AVX10.2)": "62f3754852c200",
        "tcmmimfp16ps %tmm2, %tmm1, %tmm0 (AMX-COMPLEX)": "c4e2696cc1",
        "vsha512rnds2 %xmm2, %ymm1, %ymm0 (SHA512)": "c4e277cbc2",
        "vaddph %zmm2, %zmm1, %zmm0 (AVX512-FP16)": "62f5744858c2",
        "tilezero %tmm0 (AMX)": "c4e27b49c0",
    },
    "aarch64": {
        "cpyfp [x0]!, [x1]!, x2! (MOPS)": "40040119",
        "abs x0, x0 (CSSC)": "0020c0da",
        "ldclrp x0, x1, [x2] (LSE128)": "40102119",
        "smstart (SME)": "7f4703d5",
    },
}
KNOWN = {
    "x86_64": {
        "vpaddd %ymm1, %ymm0, %ymm0": ("avx2", "c5fdfec1"),
        "vfmadd231ps %ymm2, %ymm1, %ymm0": ("fma", "c4e275b8c2"),
        "shlx %edx, %ecx, %eax": ("bmi2", "c4e269f7c1"),
        "vaddps %zmm1, %zmm0, %zmm0": ("avx512f", "62f17c4858c1"),
        "vpdpbusd %zmm2, %zmm1, %zmm0": ("avx512_vnni", "62f2754850c2"),
        "vdpbf16ps %zmm2, %zmm1, %zmm0": ("avx512_bf16", "62f2764852c2"),
    },
    "aarch64": {
        "add z0.s, z0.s, z1.s": ("sve", "0000a104"),
        "sqrdmlah z0.s, z1.s, z2.s": ("sve2", "20708244"),
        "smmla v0.4s, v1.16b, v2.16b": ("i8mm", "20a4824e"),
        "bfdot v0.2s, v1.4h, v2.4h": ("bf16", "20fc422e"),
    },
}
RETURN = {"x86_64": bytes.fromhex("c3"), "aarch64": bytes.fromhex("c0035fd6")}
NOP = {"x86_64": bytes.fromhex("90"), "aarch64": bytes.fromhex("1f2003d5")}
CAPABILITIES = {"x86_64": "AVX512", "aarch64": "SVE256"}


def beyond(about: About) -> dict[str, str]:
    """Instructions that a CPU as it is claimed does not have."""
    known = {what: code for what, (feature, code) in KNOWN[about.machine].items() if feature not in about.features}
    return known | NEWER[about.machine]


def body(about: About, code: str, size: int) -> bytes:
    nop = NOP[about.machine]
    start = bytes.fromhex(code) + RETURN[about.machine]
    return start + nop * ((size - len(start)) // len(nop))


def planted(tree: Tree, about: About, rng: random.Random) -> tuple[str, str, str] | None:
    """A function that runs everywhere gets such an instruction: path, function, what."""
    # In a real libtorch_cpu.so, it is unknown which functions are guarded.
    paths = [path for path in tree.own() if about.small or not path.endswith(("libtorch_cpu.so", "libtorch_cuda.so"))]
    path = chosen(rng, [path for path in paths if is_elf(tree, path)])
    if path is None:
        return None
    content = tree.read(path)
    found = [one for one in elves.functions(content, ".dynsym") if one.size >= 16 and "AVX" not in one.name]
    one = chosen(rng, [one for one in found if "SVE" not in one.name and "dnnl" not in one.name])
    if one is None:
        return None
    what, code = rng.choice(sorted(beyond(about).items()))
    at = elves.find_file_offset(content, one.address)
    tree.files[path] = elves.put(content, at, body(about, code, one.size))
    return path, one.name, what


@changes("plant", "symbol")
def an_instruction_that_the_claimed_cpu_lacks(tree, about, rng):
    done = planted(tree, about, rng)
    return f"{done[0].rsplit('/', 1)[-1]}: {done[2]} in {done[1]}" if done else None


@changes("hide", "symbol")
def that_instruction_in_a_function_whose_symbol_lies(tree, about, rng):
    done = planted(tree, about, rng)
    if not done:
        return None
    path, name, what = done
    content = tree.read(path)
    how = rng.choice(("no size", "no function", "a CPU capability's name", "another name", "elsewhere"))
    for one in elves.symbols(content, ".dynsym", ".symtab"):
        if one.name != name:
            continue
        row = list(elves.SYMBOL.unpack_from(content, one.place))
        if how == "no size":
            row[5] = 0
        elif how == "no function":
            row[1] = row[1] & 0xF0 | elves.STT_OBJECT
        elif how == "elsewhere":
            row[4] += 0x10
        content = elves.put(content, one.place, elves.SYMBOL.pack(*row))
        other = {"a CPU capability's name": b"_AVX512", "another name": rng.randbytes(4).hex().encode()}.get(how)
        if other:
            content = elves.put(content, one.name_place, other[: len(name)].ljust(len(name), b"_"))
    tree.files[path] = content
    return f"{path.rsplit('/', 1)[-1]}: {what} in {name}: {how}"


@changes("hide", "symbol")
def that_instruction_in_a_stripped_library(tree, about, rng):
    done = planted(tree, about, rng)
    if not done:
        return None
    path, name, what = done
    how = rng.choice(("stripped", "no section headers", "no dynamic symbols", "not executable by its section"))
    content = tree.read(path)
    if how == "stripped":
        content = stripped(content, about, "--strip-all")
    elif how == "no section headers":
        content = elves.without_sections(content)
    elif how == "no dynamic symbols":
        content = elves.change_section_header(content, elves.section(content, ".dynsym"), size=24)
    else:
        one = elves.section(content, ".text")
        content = elves.change_section_header(content, one, flags=one.flags & ~elves.SHF_EXECINSTR)
    tree.files[path] = content
    return f"{path.rsplit('/', 1)[-1]}: {what} in {name}: {how}"


def stripped(content: bytes, about: About, how: str) -> bytes:
    """Runs `strip`. Returns the content unchanged if `strip` empties a segment without a section."""
    tool = compiler(about.machine).replace("g++", "strip").replace("c++", "strip")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "library.so"
        file.write_bytes(content)
        subprocess.run([tool, how, file], check=True, capture_output=True)
        done = file.read_bytes()
    return done if loaded_bytes(done) == loaded_bytes(content) else content


def loaded_bytes(content: bytes) -> int:
    return sum(row[5] for _, row in elves.segments(content) if row[0] == elves.PT_LOAD)


def run_at_load(content: bytes, address: int, how: str) -> bytes | None:
    """A constructor, or a resolver of an ifunc, is at that address."""
    machine = elves.header(content)[2]
    relative = [row for row in elves.relocations(content) if row[2] == elves.RELATIVE[machine]]
    starts = [one for one in elves.sections(content) if one.name == ".init_array"]
    if how == "constructor":
        relative = [
            row for row in relative if starts and starts[0].address <= row[1] < starts[0].address + starts[0].size
        ]
        kind = elves.RELATIVE[machine]
    else:
        relative = [
            row for row in relative if starts and not starts[0].address <= row[1] < starts[0].address + starts[0].size
        ]
        kind = elves.IRELATIVE[machine]
    if not relative:
        return None
    return elves.replace_relocation(content, relative[-1][0], kind, address)


@changes("hide", "section")
def that_instruction_in_a_segment_without_a_section(tree, about, rng):
    """Code that no symbol names, run when the library is loaded."""
    path = chosen(rng, [path for path in tree.own() if is_elf(tree, path)])
    if path is None:
        return None
    what, code = rng.choice(sorted(beyond(about).items()))
    how = rng.choice(("constructor", "resolver"))
    try:
        content, address = elves.add_segment(tree.read(path), body(about, code, 64), elves.PF_R | elves.PF_X)
    except ValueError:
        return None
    changed = run_at_load(content, address, how)
    if changed is None:
        return None
    tree.files[path] = changed
    return f"{path.rsplit('/', 1)[-1]}: {what} in a {how}"


@changes("relink", "symbol")
def a_capability_run_at_load(tree, about, rng):
    path = tree.named("libtorch_cpu.so")
    needs = "avx512f" if about.machine == "x86_64" else "sve"
    if path is None or needs in about.features or not is_elf(tree, path):
        return None
    content = tree.read(path)
    capability = [
        one
        for one in elves.functions(content, ".symtab")
        if f"native{len(CAPABILITIES[about.machine])}{CAPABILITIES[about.machine]}" in one.name
    ]
    one = chosen(rng, capability)
    how = rng.choice(("constructor", "resolver"))
    changed = one and run_at_load(content, one.address, how)
    if not changed:
        return None
    tree.files[path] = changed
    return f"{one.name} as a {how}"


@changes("plant", "section")
def that_instruction_in_init(tree, about, rng):
    """DT_INIT leads there, and no symbol of the dynamic table."""
    path = chosen(rng, [path for path in tree.own() if is_elf(tree, path)])
    if path is None:
        return None
    content = tree.read(path)
    one = elves.section(content, ".init")
    what, code = rng.choice(sorted(beyond(about).items()))
    content = elves.put(content, one.offset, body(about, code, one.size))
    tree.files[path] = stripped(content, about, "--strip-all") if rng.random() < 0.5 else content
    return f"{path.rsplit('/', 1)[-1]}: {what}"


@changes("plant", "symbol")
def a_newer_instruction_in_a_capability_of_older_processors(tree, about, rng):
    path = tree.named("libtorch_cpu.so")
    if path is None or not about.small or not is_elf(tree, path):
        return None
    content = tree.read(path)
    capability = rng.choice(("AVX2", "DEFAULT") if about.machine == "x86_64" else ("DEFAULT",))
    one = chosen(
        rng, [one for one in elves.functions(content, ".symtab") if f"6native{len(capability)}{capability}" in one.name]
    )
    if one is None:
        return None
    what, code = rng.choice(sorted((beyond(about) if capability == "DEFAULT" else NEWER[about.machine]).items()))
    tree.files[path] = elves.put(content, elves.find_file_offset(content, one.address), body(about, code, one.size))
    return f"{what} in {one.name}"


def started(kind: str, about: About, code: str) -> str:
    """A constructor with that instruction."""
    values = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(code))
    line = f".byte {values}" if about.machine == "x86_64" else f".inst 0x{bytes.fromhex(code)[::-1].hex()}"
    return f'__attribute__(({kind})) static void start(void) {{ __asm__ volatile("{line}"); }}\n'


@changes("plant", "file")
def that_instruction_in_the_constructor_of_a_needed_library(tree, about, rng):
    path = tree.named(rng.choice(("libgomp.so.1", "libopenblas.so.0")))
    if path is None or not about.small:
        return None
    what, code = rng.choice(sorted(beyond(about).items()))
    source = started("constructor", about, code)
    name = path.rsplit("/", 1)[-1]
    command = (compiler(about.machine, "gcc"), "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", OUT)
    tree.files[path] = made(name, *command, text("start.c", source))
    return f"{name}: {what}"


LINKING = {
    "pages of their own for code": "-Wl,-z,separate-code",
    "code and constants on one page": "-Wl,-z,noseparate-code",
    "no build ID": "-Wl,--build-id=none",
    "the old hash table": "-Wl,--hash-style=sysv",
    "bound at once": "-Wl,-z,now",
    "nothing made read-only": "-Wl,-z,norelro",
    "packed relocations": "-Wl,-z,pack-relative-relocs",
    "no table of frames": "-Wl,--no-eh-frame-hdr",
    "optimized": "-Wl,-O2",
    "stripped by the linker": "-Wl,-S",
}


def choose_library(tree: Tree, about: About, rng: random.Random, names: tuple[str, ...]) -> tuple[str, Library] | None:
    """Returns the path and the inputs of one of the variant's own libraries."""
    path = chosen(rng, [path for path in tree.own() if path.rsplit("/", 1)[-1].startswith(names)])
    if path is None or not about.small:
        return None
    name = path.rsplit("/", 1)[-1]
    libraries = sound(about.variant).libraries
    library = next(one for where, one in libraries.items() if where.rsplit("/", 1)[-1] == name)
    return path, library.but(code=PLAIN + ENTRY) if name.startswith("_C.") else library


@keeps("relink", "file", afresh=True)
def a_library_linked_otherwise(tree, about, rng):
    found = choose_library(tree, about, rng, OWN)
    if found is None:
        return None
    path, library = found
    how = rng.choice(sorted(LINKING))
    if rng.random() < 0.5:
        library = library.but(objects=library.objects[::-1], units=library.units[::-1])
    tree.files[path] = linked(path.rsplit("/", 1)[-1], library.but(linking=(LINKING[how],)))
    return f"{path.rsplit('/', 1)[-1]}: {how}"


RUNTIMES = ("libgomp.so.1", "libatomic.so.1", "libgfortran.so.5", "libquadmath.so.0", "libitm.so.1", "libstdc++.so.6")


@keeps("add", "file", afresh=True)
def a_compiler_s_own_runtime_library(tree, about, rng):
    """A real one, with resolvers and constructors that ask the CPU first."""
    found = choose_library(tree, about, rng, ("libtorch_cpu",))
    name = rng.choice(RUNTIMES)
    command = [compiler(about.machine, "gcc"), f"-print-file-name={name}"]
    real = pathlib.Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    if found is None or not real.is_file():
        return None
    path, library = found
    if name not in library.needs:
        tree.files[path] = linked("libtorch_cpu.so", library.but(needs=(*library.needs, name)))
    tree.files[path.replace("libtorch_cpu.so", name)] = real.read_bytes()
    return name


@changes("relink", "file")
def that_instruction_in_a_constructor_linked_otherwise(tree, about, rng):
    found = choose_library(tree, about, rng, OWN)
    if found is None:
        return None
    path, library = found
    what, code = rng.choice(sorted(beyond(about).items()))
    how = rng.choice(sorted(LINKING))
    kind, priority = rng.choice((("constructor", ""), ("constructor", "(101)"), ("destructor", "")))
    source = text("start.c", started(kind + priority, about, code))
    more_code = made("start.o", compiler(about.machine, "gcc"), "-fPIC", "-c", source, "-o", OUT)
    more = library.but(objects=(*library.objects, more_code), linking=(LINKING[how], rng.choice(("-Wl,-s", "-Wl,-O1"))))
    tree.files[path] = linked(path.rsplit("/", 1)[-1], more)
    return f"{path.rsplit('/', 1)[-1]}: {what} in a {kind}{priority}, {how}, {more.linking[1]}"


@keeps("plant", "symbol")
def that_instruction_within_its_capability(tree, about, rng):
    path = tree.named("libtorch_cpu.so")
    if path is None or not is_elf(tree, path):
        return None
    content = tree.read(path)
    capability = CAPABILITIES[about.machine]
    one = chosen(
        rng, [one for one in elves.functions(content, ".symtab") if f"6native{len(capability)}{capability}" in one.name]
    )
    feature = "avx512f" if about.machine == "x86_64" else "sve"
    code = next(code for needs, code in KNOWN[about.machine].values() if needs == feature)
    if one is None:
        return None
    at = elves.find_file_offset(content, one.address)
    tree.files[path] = elves.put(content, at, bytes.fromhex(code) * 2 + RETURN[about.machine])
    return one.name


@keeps("strip", "symbol")
def what_debuggers_need(tree, about, rng):
    path = chosen(rng, [path for path in tree.libraries() if is_elf(tree, path)])
    if path is None:
        return None
    tree.files[path] = stripped(tree.read(path), about, "--strip-debug")
    return path.rsplit("/", 1)[-1]


@keeps("strip", "symbol")
def all_symbols_of_a_library_without_capabilities(tree, about, rng):
    """Omits libtorch_cpu.so, whose symbols show the CPU capabilities."""
    path = chosen(rng, [path for path in tree.libraries() if is_elf(tree, path) and "torch_cpu" not in path])
    if path is None:
        return None
    tree.files[path] = stripped(tree.read(path), about, "--strip-all")
    return path.rsplit("/", 1)[-1]


@keeps("pad", "file")
def zeros_behind_the_file_s_end(tree, about, rng):
    path = chosen(rng, [path for path in tree.libraries() if is_elf(tree, path)])
    if path is None:
        return None
    tree.files[path] = tree.read(path) + bytes(rng.randrange(1, 9000))
    return path.rsplit("/", 1)[-1]
