# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Wheels that installers refuse, and broken promises of tags and RECORD: each fails the gate by PB182."""

import json
import re
import shutil
import subprocess
import zipfile

import pytest
from packages import FAILED, MACHINE, PASSED, PROGRAM, Library, Package, wheel
from small_builds import Build, linked
from wheels import recorded

OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[MACHINE]
MODULE = f"spam/_C.cpython-311-{MACHINE}-linux-gnu.so"
INFO = "spam_kernels-1.0.dist-info"
UNITS = ("second90_120.o",)


def spam(**changes):
    return Package("spam-kernels", {MODULE: Library(units=UNITS), "spam/plain.so": Library()}).but(**changes)


def rewritten(file, change, *, record=True):
    """Writes the wheel with members changed by `change`. Rewrites RECORD if the wheel has one."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    change(members)
    listing = next((name for name in members if name.endswith("/RECORD")), None)
    if record and listing:
        lines = [recorded(name, content) for name, content in members.items() if name != listing]
        members[listing] = "\n".join([*lines, f"{listing},,"]).encode() + b"\n"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def gated(file, exit_code):
    command = [PROGRAM, "gate", file, "--claim", "sm90", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == exit_code, done.stdout + done.stderr
    findings = json.loads(done.stdout)["verdict"]["findings"]
    return [(finding["id"], finding["what"]) for finding in findings if finding["severity"] == "fail"]


def replaced(name, old, new):
    def change(members):
        content = members[f"{INFO}/{name}"]
        assert old in content
        members[f"{INFO}/{name}"] = content.replace(old, new)

    return change


def without(name):
    return lambda members: members.pop(f"{INFO}/{name}")


def added(name, content):
    return lambda members: members.update({name: content})


FAULTS = {
    "other version in METADATA": (replaced("METADATA", b"1.0", b"2.0"), "has version 1.0, and METADATA 2.0"),
    "other name in METADATA": (replaced("METADATA", b"spam-kernels", b"ham"), "package spam_kernels, and METADATA ham"),
    "no METADATA": (without("METADATA"), "has no METADATA"),
    "no WHEEL": (without("WHEEL"), "has no WHEEL"),
    "no RECORD": (without("RECORD"), "has no RECORD"),
    "Wheel-Version 2.0": (replaced("WHEEL", b"Wheel-Version: 1.0", b"Wheel-Version: 2.0"), "has Wheel-Version 2.0"),
    "other tag in WHEEL": (replaced("WHEEL", b"cp311-cp311", b"cp312-cp312"), "and WHEEL has tags cp312-cp312"),
    "two .dist-info": (added("ham-2.0.dist-info/METADATA", b"Name: ham\nVersion: 2.0\n"), "it has 2 .dist-info"),
    "Requires-Python of another Python": (
        replaced("METADATA", b"Version: 1.0", b"Version: 1.0\nRequires-Python: >=3.12"),
        "the wheel's tag is for cp311, and METADATA requires Python >=3.12",
    ),
    "Requires-Python without a version": (
        replaced("METADATA", b"Version: 1.0", b"Version: 1.0\nRequires-Python: three"),
        'METADATA requires Python "three", which is no version',
    ),
    "no Name in METADATA": (replaced("METADATA", b"Name: spam-kernels\n", b""), "METADATA has no Name"),
    "Metadata-Version 3.0": (replaced("METADATA", b"Version: 2.1", b"Version: 3.0"), "has Metadata-Version 3.0"),
    "Requires-Dist with an unknown sign": (
        replaced("METADATA", b"Version: 1.0", b"Version: 1.0\nRequires-Dist: numpy >=> 2"),
        'METADATA requires "numpy >=> 2", which is not a valid requirement',
    ),
    "Requires-Dist with an empty URL": (
        replaced("METADATA", b"Version: 1.0", b"Version: 1.0\nRequires-Dist: numpy @ "),
        'METADATA requires "numpy @ ", which is not a valid requirement',
    ),
}
SOUND = {
    "as it was packed": lambda members: None,
    "Requires-Python that takes it": replaced(
        "METADATA", b"Version: 1.0", b"Version: 1.0\nRequires-Python: >=3.9,<3.13"
    ),
    "Metadata-Version 2.9": replaced("METADATA", b"Version: 2.1", b"Version: 2.9"),
    "Wheel-Version 1.9": replaced("WHEEL", b"Wheel-Version: 1.0", b"Wheel-Version: 1.9"),
    "a tag of plain Linux": replaced("WHEEL", b"manylinux_2_39", b"linux"),
    "a name in capitals": replaced("METADATA", b"spam-kernels", b"Spam.Kernels"),
    "requirements of all forms": replaced(
        "METADATA",
        b"Version: 1.0",
        b"Version: 1.0\nRequires-Dist: numpy\nRequires-Dist: a.b [x, y] (>=1.0,!=1.5.*) ; python_version > '3'\n"
        b"Requires-Dist: c @ https://example.org/c-1.0-py3-none-any.whl\nRequires-Dist: d~=2.0",
    ),
    "a text below .dist-info": added(f"{INFO}/licenses/LICENSE", b"MIT\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fails_a_wheel_that_installers_refuse(tmp_path, fault):
    change, says = FAULTS[fault]
    found = gated(rewritten(wheel(spam(), tmp_path), change), FAILED)
    assert {identifier for identifier, _ in found} == {"PB182"}
    assert says in " ".join(what for _, what in found)


@pytest.mark.parametrize("sound", SOUND)
def test_passes_a_wheel_that_installers_accept(tmp_path, sound):
    assert gated(rewritten(wheel(spam(), tmp_path), SOUND[sound]), PASSED) == []


# Tag, Requires-Python, and whether installers take each Python of the tag.
PYTHONS = [
    ("cp312-abi3", "<3.12", False),
    ("cp312-abi3", ">=3.14", True),
    ("cp311-none", ">=3.12", False),
    ("cp311-none", ">=3.9,!=3.11.0", True),
    ("py2-none", ">=3.6", True),
]


@pytest.mark.parametrize(("tag", "asked", "sound"), PYTHONS)
def test_compares_requires_python_with_each_python_of_the_tag(tmp_path, tag, asked, sound):
    package = Package("spam-kernels", {"spam/ops.so": Library(units=UNITS)}, tag=f"{tag}-linux_{MACHINE}")
    version = b"Version: 1.0\nRequires-Python: " + asked.encode()
    file = rewritten(wheel(package, tmp_path), replaced("METADATA", b"Version: 1.0", version))
    found = gated(file, PASSED if sound else FAILED)
    says = (
        f"the wheel's tag is for {tag.partition('-')[0]}, and METADATA requires Python {asked}: pip refuses the wheel"
    )
    assert found == ([] if sound else [("PB182", says)])


def damaged(file, name):
    """Changes packed bytes of a member."""
    content = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        at = archive.getinfo(name).header_offset + 30 + len(name) + 8
    content[at : at + 4] = bytes(byte ^ 0xFF for byte in content[at : at + 4])
    file.write_bytes(content)
    return file


def test_fails_a_text_that_cannot_be_unpacked(tmp_path):
    name = "spam/ops.py"
    file = rewritten(wheel(spam(), tmp_path), added(name, b"import os\n" * 400))
    assert gated(file, PASSED) == []
    assert gated(damaged(file, name), FAILED) == [("PB182", f"RECORD has another digest or size of {name}")]


def test_fails_a_member_missing_in_record(tmp_path):
    file = rewritten(wheel(spam(), tmp_path), added("spam/more.py", b""), record=False)
    assert gated(file, FAILED) == [("PB182", "RECORD does not list spam/more.py")]


def test_fails_a_missing_member(tmp_path):
    file = rewritten(wheel(spam(), tmp_path), lambda members: members.pop("spam/plain.so"), record=False)
    assert gated(file, FAILED) == [("PB182", "RECORD lists files that the wheel lacks: spam/plain.so")]


@pytest.mark.parametrize("name", ["spam/plain.so", f"{INFO}/METADATA"])
def test_fails_a_member_with_another_digest(tmp_path, name):
    def change(members):
        members[name] = members[name] + b"\0"

    [(identifier, what)] = gated(rewritten(wheel(spam(), tmp_path), change, record=False), FAILED)
    assert (identifier, what) == ("PB182", f"RECORD has another digest or size of {name}")


@pytest.mark.parametrize("digest", ["", "md5=AAAAAAAAAAAAAAAAAAAAAA", "sha512=AAAA"])
def test_fails_a_member_without_sha256(tmp_path, digest):
    def change(members):
        lines = members[f"{INFO}/RECORD"].decode()
        members[f"{INFO}/RECORD"] = re.sub(r"(?m)^(spam/plain.so,)sha256=[^,]*", rf"\g<1>{digest}", lines).encode()

    file = rewritten(wheel(spam(), tmp_path), change, record=False)
    assert gated(file, FAILED) == [("PB182", "RECORD has no SHA-256 of spam/plain.so")]


# Tag, name of a second module, and what is wrong.
PROMISES = {
    f"cp311-cp311-manylinux_2_39_{MACHINE}": (f"_D.cpython-311-{MACHINE}-linux-musl.so", "is for musl by its name"),
    f"cp39-abi3-linux_{MACHINE}": (f"_D.cpython-311-{MACHINE}-linux-gnu.so", "tag is for abi3, and spam/_D is for"),
    f"py3-none-linux_{MACHINE}": (f"_D.cpython-311-{MACHINE}-linux-gnu.so", "tag is for py3, and spam/_D is for"),
    "py3-none-any": ("_D.abi3.so", "tag is for the platform any, and spam/_D.abi3.so is a module for Linux"),
    "cp311-abi3-win_amd64": ("_D.abi3.so", "tag is for the platform win_amd64, and spam/_D.abi3.so is a module"),
    f"cp311-cp311-musllinux_1_2_{MACHINE}": (f"_D.cpython-311-{MACHINE}-linux-gnu.so", "is for glibc by its name"),
    f"cp311-cp311-linux_{MACHINE}": (f"_D.pypy311-pp73-{MACHINE}-linux-gnu.so", "spam/_D is for pp311 only"),
}


@pytest.mark.parametrize("tag", PROMISES)
def test_fails_a_module_that_breaks_the_promise_of_the_tag(tmp_path, tag):
    name, says = PROMISES[tag]
    linking = ("-nostdlib",) if "musl" in tag else ()  # without libc.so.6 of glibc
    libraries = {"spam/ops.so": Library(units=UNITS, linking=linking)}
    sound = Package("spam-kernels", libraries, tag=tag)
    assert tag.endswith("win_amd64") or gated(wheel(sound, tmp_path), PASSED) == []
    module = Library(code='extern "C" void* PyInit__D() { return nullptr; }\n')
    planted = sound.but(libraries={**libraries, f"spam/{name}": module})
    found = gated(wheel(planted, tmp_path / "planted"), FAILED)
    assert {identifier for identifier, _ in found} == {"PB182"}
    assert says in " ".join(what for _, what in found)


@pytest.mark.parametrize(
    ("symbol", "python", "says"),
    [
        ("_PyLong_AsByteArray", 39, "spam/_C.abi3.so needs _PyLong_AsByteArray, which Python's stable ABI lacks"),
        ("PyCode_NewEmpty", 312, "spam/_C.abi3.so needs PyCode_NewEmpty, which Python's stable ABI lacks"),
        ("_Py_IncRef", 310, None),
        ("PyArg_ParseTuple", 32, None),
        ("PyType_FromModuleAndSpec", 310, None),
        (
            "PyType_FromModuleAndSpec",
            39,
            "the wheel's tag is for Python 3.9, and spam/_C.abi3.so needs PyType_FromModuleAndSpec, "
            "which the stable ABI has from Python 3.10 on",
        ),
        ("Pyramid_volume", 39, None),  # of another library of the package
    ],
)
def test_fails_symbols_that_the_stable_abi_of_the_tag_lacks(tmp_path, symbol, python, says):
    code = f'extern "C" void {symbol}();\nextern "C" void* PyInit__C() {{ {symbol}(); return nullptr; }}\n'
    files = {
        "spam/_C.abi3.so": Library(units=UNITS, code=code),
        "spam/libpyramid.so": Library(code='extern "C" void Pyramid_volume() {}\n'),
    }
    package = Package("spam-kernels", files, tag=f"cp{python}-abi3-linux_{MACHINE}")
    found = gated(wheel(package, tmp_path), FAILED if says else PASSED)
    assert found == ([("PB182", says)] if says else [])


@pytest.mark.parametrize(
    ("tag", "module", "says"),
    [
        ("cp315-abi3t", "abi3t", None),
        ("cp315-abi3", "abi3t", None),
        ("cp315-cp315t", "abi3t", None),
        ("cp315-abi3t", "abi3", "the wheel's tag is for abi3t, and spam/_C is for abi3 only"),
        ("cp314-abi3", "abi3t", "the wheel's tag is for abi3, and spam/_C is for abi3t only"),
    ],
)
def test_holds_abi3t_modules_to_their_tag(tmp_path, tag, module, says):
    """PEP 803: Python 3.15 and later import them, with and without a GIL."""
    entry = Library(units=UNITS, code='extern "C" void* PyInit__C() { return nullptr; }\n')
    package = Package("spam-kernels", {f"spam/_C.{module}.so": entry}, tag=f"{tag}-linux_{MACHINE}")
    found = gated(wheel(package, tmp_path), FAILED if says else PASSED)
    assert found == ([("PB182", says)] if says else [])


def test_accepts_modules_for_several_pythons_under_one_tag(tmp_path):
    entry = Library(code='extern "C" void* PyInit__D() { return nullptr; }\n')
    modules = {f"spam/_D.cpython-{python}-{MACHINE}-linux-gnu.so": entry for python in (311, 312)}
    package = Package("spam-kernels", {"spam/ops.so": Library(units=UNITS), **modules}, tag=f"py3-none-linux_{MACHINE}")
    assert gated(wheel(package, tmp_path), PASSED) == []


def test_accepts_a_library_that_torch_loads_by_path_under_abi3(tmp_path):
    """torchao 0.18 has such a library, called as a module for Python 3.10."""
    library = {f"spam/_D.cpython-310-{MACHINE}-linux-gnu.so": Library(units=UNITS)}
    assert gated(wheel(Package("spam-kernels", library, tag=f"cp310-abi3-linux_{MACHINE}"), tmp_path), PASSED) == []


def renamed(file, old, new):
    assert old in file.name
    return file.rename(file.with_name(file.name.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("spam_kernels-1.0", "ham-1.0", "the file name states the package ham"),
        ("spam_kernels-1.0", "spam_kernels-1.1", "the file name has version 1.1"),
        ("cp311-cp311", "cp312-cp312", "the wheel's tag is for cp312"),
    ],
)
def test_fails_a_name_that_contradicts_its_files(tmp_path, old, new, says):
    found = gated(renamed(wheel(spam(), tmp_path), old, new), FAILED)
    assert {identifier for identifier, _ in found} == {"PB182"}
    assert says in " ".join(what for _, what in found)


def test_does_not_compare_a_renamed_file_with_its_name(tmp_path):
    file = wheel(spam(), tmp_path)
    assert gated(file.rename(tmp_path / "spam.whl"), PASSED) == []


def test_fails_a_library_that_needs_a_newer_glibc_than_its_tag(tmp_path):
    later = Library(code="#include <dlfcn.h>\nvoid* f(void) { return dlopen(0, 0); }\n")  # of glibc 2.34
    for release, expected in (("2_17", ["PB182"]), ("2_39", [])):
        package = spam(tag=f"cp311-cp311-manylinux_{release}_{MACHINE}")
        package = package.but(libraries={**package.libraries, "spam/later.so": later})
        found = gated(wheel(package, tmp_path / release), FAILED if expected else PASSED)
        assert [identifier for identifier, _ in found] == expected
        assert all("spam/later.so needs glibc 2.34" in what for _, what in found)


NEEDS = {  # by what the tag does not allow: whether another package may provide it
    "libgomp.so.1": ((), True),
    "libopenblas.so.0": ((), True),
    "libz.so.1": ((), False),
    "libtorch.so": ((), False),
    "libcublas.so.12": ((), False),
    "libcuda.so.1": ((), False),
    "libarrow.so.2100": (("pyarrow>=21",), False),
    "libmkl_rt.so.2": (("mkl",), False),
    "libtbbmalloc.so.2": (("tbb",), False),
    "libiomp5.so": (("intel-openmp",), False),
    "librmm.so": (("librmm-cu13>=26",), False),
    "libcon.so.1": (("concert",), True),
    "libmkl_rt.so.3": (("nomkl",), True),
}


@pytest.mark.parametrize(("name", "requirements", "fails"), [(k, *v) for k, v in NEEDS.items()], ids=list(NEEDS))
def test_fails_a_library_that_neither_tag_nor_package_provides(tmp_path, name, requirements, fails):
    package = spam(requirements=requirements)
    package = package.but(libraries={**package.libraries, "spam/more.so": Library(needs=(name,))})
    found = gated(wheel(package, tmp_path), FAILED if fails else PASSED)
    assert [identifier for identifier, _ in found] == (["PB182"] if fails else [])
    assert all(f"spam/more.so needs {name}, which neither this tag allows" in what for _, what in found)


def test_accepts_a_library_that_the_wheel_brings(tmp_path):
    package = spam()
    more = {"spam/more.so": Library(needs=("libhelp.so.1",)), "spam_kernels.libs/libhelp.so.1": Library()}
    linking = Library(needs=("libhelp.so.1",), linking=("-Wl,-rpath,$ORIGIN/../spam_kernels.libs",))
    package = package.but(libraries={**package.libraries, **more, "spam/more.so": linking})
    assert gated(wheel(package, tmp_path), PASSED) == []


def test_fails_newer_libstdcxx_than_its_tag(tmp_path):
    code = "#include <charconv>\ndouble f(const char* s) { double d = 0; std::from_chars(s, s + 3, d); return d; }\n"
    later = Library(code=code)  # of GCC 11: GLIBCXX_3.4.29
    for release, expected in (("2_28", ["PB182"]), ("2_39", [])):
        package = spam(tag=f"cp311-cp311-manylinux_{release}_{MACHINE}")
        package = package.but(libraries={**package.libraries, "spam/later.so": later})
        found = gated(wheel(package, tmp_path / release), FAILED if expected else PASSED)
        assert [identifier for identifier, _ in found] == expected
        assert all("spam/later.so needs GLIBCXX 3.4.29" in what for _, what in found)


def test_fails_a_musllinux_wheel_with_glibc(tmp_path):
    libraries = {"spam/ops.so": Library(units=UNITS)}
    package = Package("spam-kernels", libraries, tag=f"cp311-cp311-musllinux_1_2_{MACHINE}")
    [(identifier, what)] = gated(wheel(package, tmp_path), FAILED)
    assert identifier == "PB182"
    assert re.search(r"the tag is musllinux_1_2_\w+, and .* needs libc.so.6 of glibc", what)


def test_fails_a_module_for_another_processor(tmp_path):
    foreign = {f"spam/_D.cpython-311-{MACHINE}-linux-gnu.so": Library(machine=OTHER)}
    package = spam().but(libraries={**spam().libraries, **foreign})
    found = gated(wheel(package, tmp_path), FAILED)
    assert {identifier for identifier, _ in found} == {"PB178", "PB182"}
    assert f"cannot load: the file is for {OTHER}, and its tag for {MACHINE}" in dict(found)["PB178"]


def test_data_for_another_processor_beside_a_twin_passes(tmp_path):
    agents = {f"spam/data/{processor}/agent.so": Library(machine=processor) for processor in (OTHER, MACHINE)}
    package = spam().but(libraries={**spam().libraries, **agents})
    assert gated(wheel(package, tmp_path), PASSED) == []


# Libraries that Python opens by ctypes, imports without a tag, or starts: no name tells that.
@pytest.mark.parametrize("path", ["spam/libspam_cuda130.so", "spam/_D.so", "spam/bin/server"])
def test_fails_each_file_for_another_processor(tmp_path, path):
    code = 'extern "C" void PyList_New();\nextern "C" void* PyInit__D() { PyList_New(); return nullptr; }\n'
    foreign = Library(machine=OTHER, code=code if "_D" in path else "int f() { return 1; }\n")
    package = spam().but(libraries={**spam().libraries, path: foreign})
    found = gated(wheel(package, tmp_path), FAILED)
    assert [identifier for identifier, _ in found] == ["PB178"]
    twin = spam().but(libraries={**spam().libraries, path: foreign.but(machine=MACHINE)})
    assert gated(wheel(twin, tmp_path / "twin"), PASSED) == []


@pytest.mark.parametrize(
    "platform",
    ["manylinux_2_39_ppc64le", "linux_riscv64", "macosx_11_0_arm64", f"linux_{MACHINE}.linux_{OTHER}"],
)
def test_fails_a_platform_of_the_tag_without_its_libraries(tmp_path, platform):
    def write_tags(members):
        tags = "".join(f"Tag: cp311-abi3-{one}\n" for one in platform.split("."))
        members[f"{INFO}/WHEEL"] = f"Wheel-Version: 1.0\n{tags}".encode()

    package = Package("spam-kernels", {"spam/ops.so": Library(units=UNITS)}, tag=f"cp311-abi3-{platform}")
    [(identifier, what)] = gated(rewritten(wheel(package, tmp_path), write_tags), FAILED)
    assert identifier == "PB182"
    last = platform.rpartition(".")[2]
    assert what == f"the wheel's tag is for the platform {last}, and spam/ops.so is a library for Linux on {MACHINE}"


@pytest.mark.parametrize(("old", "new", "says"), [
    ("-cp311-cp311", "-abc-cp311-cp311", "the file name has build tag abc, which does not begin with a digit"),
    ("-1.0-", "-1.0.x!y-", "the file name has version 1.0.x!y, which is no version"),
])  # fmt: skip
def test_fails_a_file_name_that_pip_cannot_parse(tmp_path, old, new, says):
    found = gated(renamed(wheel(spam(), tmp_path), old, new), FAILED)
    assert {identifier for identifier, _ in found} == {"PB182"}
    assert says in " ".join(what for _, what in found)
    assert gated(renamed(wheel(spam(), tmp_path / "twin"), "-cp311-cp311", "-1abc-cp311-cp311"), PASSED) == []


def test_fails_a_kernel_folder_for_another_processor(tmp_path):
    for processor, expected in ((OTHER, {"PB178"}), (MACHINE, set())):
        folder = tmp_path / f"torch29-cxx11-cu130-{processor}-linux"
        folder.mkdir()
        shutil.copy(linked("_spam.abi3.so", Library(units=UNITS, needs=("libcudart.so.13",))), folder / "_spam.abi3.so")
        (folder / "metadata.json").write_text('{"backend": {"type": "cuda", "archs": ["9.0"]}}')
        done = subprocess.run(
            [PROGRAM, "gate", folder, "--format", "json"], capture_output=True, text=True, check=False
        )
        found = {one["id"] for one in json.loads(done.stdout)["verdict"]["findings"] if one["severity"] == "fail"}
        assert found == expected


# ---- members whose content cannot be read --------------------------------------------------------------------------


def encrypted(file, name):
    """The flag of an encrypted member, in its own header and in the directory."""
    content = bytearray(file.read_bytes())
    for magic, flags, begin in ((b"PK\3\4", 6, 30), (b"PK\1\2", 8, 46)):
        at = content.index(magic)
        while content[at + begin : at + begin + len(name)] != name.encode():
            at = content.index(magic, at + 1)
        content[at + flags] |= 1
    file.write_bytes(content)
    return file


def repacked(file, name, method):
    with zipfile.ZipFile(file) as archive:
        members = {one: archive.read(one) for one in archive.namelist() if not one.endswith("/")}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in members.items():
            archive.writestr(one, content, method if one == name else zipfile.ZIP_DEFLATED)
    return file


UNREAD = {
    "encrypted": (encrypted, "is encrypted: pack the archive again without a password"),
    "bzip2": (
        lambda file, name: repacked(file, name, zipfile.ZIP_BZIP2),
        "is compressed by method 12 (bzip2): pack the archive again by 0 (stored) or 8 (deflate)",
    ),
}


@pytest.mark.parametrize("name", [MODULE, f"{INFO}/METADATA"])
@pytest.mark.parametrize("fault", UNREAD)
def test_names_member_that_cannot_be_read(tmp_path, fault, name):
    change, says = UNREAD[fault]
    file = change(wheel(spam(), tmp_path), name)
    command = [PROGRAM, "gate", file, "--claim", "sm90", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = {one["id"]: one for one in json.loads(done.stdout)["verdict"]["findings"]}
    assert done.returncode == FAILED
    assert f"member {name} {says}" in findings["PB102"]["what"]
    assert findings["PB102"]["remedy"] == "build this wheel again, or download it again from its publisher"
    assert findings.keys() == {"PB102"}


def test_does_not_miss_unreadable_library(tmp_path):
    site = Build({f"torch/lib/{name}.so": Library() for name in ("libtorch_cpu", "libc10")}).write(tmp_path / "site")
    file = tmp_path / f"torch-2.11.0-cp311-cp311-linux_{MACHINE}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(site.rglob("*")):
            archive.write(path, path.relative_to(site))
    encrypted(file, "torch/lib/libtorch_cpu.so")
    command = [PROGRAM, "gate", file, "--claim", "torch=2.11.0", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = {one["id"]: one for one in json.loads(done.stdout)["verdict"]["findings"]}
    assert "libtorch_cpu.so is encrypted: pack the archive again without a password" in findings["PB101"]["what"]
    assert findings["PB101"]["remedy"] == "build this wheel again, or download it again from its publisher"
    assert "PB103" not in findings


def test_takes_no_module_without_metadata_as_torch(tmp_path):
    file = rewritten(wheel(spam(), tmp_path), without("METADATA"))
    command = [PROGRAM, "gate", file, "--claim", "sm90", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert {one["id"] for one in json.loads(done.stdout)["verdict"]["findings"]} == {"PB182"}
