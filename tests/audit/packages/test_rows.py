# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""One row per package of an environment, by RECORD, or of a folder of wheels."""

import json
import os
import struct
import subprocess
import zipfile

import jsonschema
import pytest
from packages import (
    COULD_NOT_RUN,
    CXX,
    FAILED,
    MACHINE,
    PROGRAM,
    SOURCE,
    STABLE,
    Library,
    Package,
    audit,
    device,
    list_notes,
    ptx_version,
    read_audit_text,
    rows,
    wheel,
)

CPP = Package(
    "cpp-extension",
    {
        "cpp_extension/_C.cpython-311-x86_64-linux-gnu.so": Library(
            needs=("libcudart.so.12", "libcufft.so.11"), code=CXX
        )
    },
)
SAFE = Package("stable-extension", {"stable_extension/_C.abi3.so": Library(needs=("libcublas.so.13",), code=STABLE)})
PLAIN = Package("plain", {"plain/lib/libplain.so": Library()})
CODE = Package("code", {"code/_C.abi3.so": Library(units=("first120.o", "second75.o", "collective_ptx.o"))})
PURE = Package("pure-python", {})


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "venv/lib/python3.11/site-packages"
    for package in (CPP, SAFE, PLAIN, PURE):
        package.write(folder)
    return folder


def test_lists_the_links_of_each_row(site):
    found, document = rows(site)
    jsonschema.validate(document, json.loads((SOURCE / "docs/environment.schema.json").read_text()))
    assert list(found) == ["cpp-extension", "plain", "stable-extension"]
    assert document["without_files"] == 1
    assert (document["problems"], list_notes(document)) == ([], [])
    cpp, plain, safe = found.values()
    assert (cpp["torch_abi"], cpp["torch_symbols"], cpp["first_torch_symbols"]) == ("cxx", 1, ["_ZN3c104warnEi"])
    assert (cpp["python"], cpp["cuda"], cpp["version"]) == (["cp311"], ["12"], "1.0")
    assert (safe["torch_abi"], safe["torch_symbols"]) == ("stable", 1)
    assert (safe["python"], safe["cuda"]) == (["abi3"], ["13"])
    assert (plain["torch_abi"], plain["cuda"], plain["python"], plain["worst"]) == ("none", [], [], None)
    assert plain["tags"] == [PLAIN.tag]


def test_lists_device_code_with_suffixes_and_ptx_version(site):
    cubins = {f"cubins/{name}": device(name) for name in ("sm_100a.cubin", "sm_120f.cubin")}
    Package("cubins", cubins).write(site)
    CODE.write(site)
    found, _ = rows(site)
    assert set(found["cubins"]["cubin"]) == {"sm_100a", "sm_120f"}
    assert found["code"]["cubin"] == {"sm_120": 1, "sm_75": 1}
    assert found["code"]["ptx"] == {"sm_80": 1}
    [version] = found["code"]["ptx_versions"].values()
    assert version == ptx_version()
    assert f"75 120 80 ({version})" in read_audit_text(site)


GUARDED = (
    '__attribute__((target("avx2"))) void fast(int* x) { for (int i = 0; i < 64; ++i) x[i] += x[i] * 3; }\n'
    'void f(int* x) { if (__builtin_cpu_supports("avx2")) fast(x); }\n'
)


@pytest.mark.skipif(MACHINE != "x86_64", reason="x86-64's instructions")
def test_does_not_count_self_guarded_code_as_minimum(tmp_path):
    """numpy chooses by a table of its own; what runs as the file is loaded is needed everywhere."""
    at_load = GUARDED.replace("target(", "constructor, target(").replace("int* x", "").replace("x[", "y[")
    packages = {"guarded": GUARDED, "needs": "static int y[64];\n" + at_load.replace("fast(x)", "fast()")}
    for name, code in packages.items():
        library = Library(code=code, linking=("-O2", "-ftree-vectorize"))
        Package(name, {f"{name}/lib{name}.so": library}).write(tmp_path / "site-packages")
    found, _ = rows(tmp_path / "site-packages")
    assert (found["guarded"]["minimum_cpu"], found["needs"]["minimum_cpu"]) == ("not known", "avx2")


@pytest.mark.skipif(MACHINE != "x86_64", reason="x86-64's instructions")
def test_does_not_call_code_with_unknown_guard_unguarded(tmp_path):
    """cryptography: its table of OpenSSL's functions decides at run time, out of sight."""
    code = {"open": GUARDED.replace('if (__builtin_cpu_supports("avx2")) ', ""), "plain": ORDINARY + SELECTED}
    pages = {}
    for name, text in code.items():
        library = Library(code=text, linking=("-O2", "-ftree-vectorize", "-msse2"))
        file = wheel(Package(name, {f"{name}/lib{name}.so": library}), tmp_path)
        [row] = rows(file, "--distributions")[0].values()
        pages[name] = read_audit_text(file)
        assert f"minimum CPU: {row['minimum_cpu']}" in pages[name]
        assert "unguarded" not in pages[name]
    assert "guard not known: fast(int*) in .text needs" in pages["open"]
    assert "fast" not in pages["plain"]


# No code of the file asks the CPU before `fast`, as if another file filled a table of functions.
SELECTED = '__attribute__((target("avx2"))) void fast(int* x) { for (int i = 0; i < 64; ++i) x[i] += x[i] * 3; }\n'
ORDINARY = "".join(
    f"void f{i}(float* x, const float* y) {{ for (int k = 0; k < 8; ++k) x[k] = y[k] * {i}.5f; }}\n" for i in range(30)
)
# Assembly without a frame, which the linker puts behind frame_dummy() of the C library's start files.
ASSEMBLY = '__asm__(".text\\n.rept 100\\nvaddps %ymm1, %ymm0, %ymm0\\n.endr\\nret\\n");\n'


@pytest.mark.skipif(MACHINE != "x86_64", reason="x86-64's instructions")
def test_tells_flags_of_a_file_from_most_of_its_functions(tmp_path):
    packages = {
        "plain": (ORDINARY + SELECTED, "-msse2"),
        "wide": (ORDINARY + SELECTED, "-mavx"),
        "few": (SELECTED, "-mavx"),
        "assembly": (ASSEMBLY + ORDINARY, "-s"),
    }
    for name, (code, flag) in packages.items():
        library = Library(code=code, linking=("-O2", "-ftree-vectorize", flag))
        Package(name, {f"{name}/lib{name}.so": library}).write(tmp_path / "site-packages")
    found, _ = rows(tmp_path / "site-packages")
    assert {name: row["minimum_cpu"] for name, row in found.items()} == {
        "plain": "x86_64; selects avx2 at run time",
        "wide": "at least avx",
        "few": "not known",
        "assembly": "x86_64; selects avx at run time",
    }
    assert {name: row["cpu_needs"] for name, row in found.items() if row["cpu_needs"]} == {"wide": ["avx"]}


def renumber_sections(library):
    """Leaves numbers of other sections in .symtab, as patchelf does when it inserts sections."""
    data = bytearray(library.read_bytes())
    [table] = struct.unpack_from("<Q", data, 0x28)
    [count] = struct.unpack_from("<H", data, 0x3C)
    for at in range(table, table + 64 * count, 64):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", data, at + 4)
        for symbol in range(offset, offset + size if kind == 2 else offset, 24):  # SHT_SYMTAB
            [section] = struct.unpack_from("<H", data, symbol + 6)
            if 2 < section < 0xFF00:
                struct.pack_into("<H", data, symbol + 6, section - 2)
    library.write_bytes(data)


@pytest.mark.skipif(MACHINE != "x86_64", reason="x86-64's instructions")
def test_finds_functions_by_address_if_sections_moved(tmp_path):
    """A library that auditwheel repaired seemed to run all its code as it was loaded."""
    library = Library(code=ORDINARY + SELECTED, linking=("-O2", "-ftree-vectorize", "-msse2"))
    site = Package("plain", {"plain/libplain.so": library}).write(tmp_path / "site-packages")
    minimum = rows(site)[0]["plain"]["minimum_cpu"]
    renumber_sections(site / "plain/libplain.so")
    done = audit(site, "--distributions", "--format", "json")
    [row] = json.loads(done.stdout)["distributions"]
    assert (row["minimum_cpu"], minimum) == ("x86_64; selects avx2 at run time",) * 2


def test_reads_an_environment_by_its_site_packages(site):
    environment = site.parents[2]
    assert rows(environment)[0].keys() == rows(site)[0].keys()


def test_lists_the_same_rows_for_a_folder_of_wheels(site, tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for package in (CPP, SAFE, PLAIN):
        wheel(package, wheels)
    (wheels / "broken-1.0-py3-none-any.whl").write_bytes(b"no ZIP")
    installed, _ = rows(site)
    found, document = rows(wheels, exit_code=FAILED)
    for row in (*installed.values(), *found.values()):
        del row["folder"], row["recorded"]
    assert found == installed
    [problem] = document["problems"]
    assert "broken-1.0-py3-none-any.whl" in problem


def test_reads_no_wheel_for_another_system(tmp_path):
    """A folder dist of cibuildwheel: a file of Mach-O is no broken one."""
    wheel(PLAIN, tmp_path)
    for tag in ("macosx_11_0_arm64", "win_amd64"):
        file = wheel(PLAIN.but(version="2.0", tag=f"cp311-cp311-{tag}"), tmp_path)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("plain/_C.cpython-311-darwin.so", b"\xcf\xfa\xed\xfe" + bytes(100))
    found, document = rows(tmp_path)
    assert [row["version"] for row in found.values()] == ["1.0"]
    assert len([note for note in document["notes"] if "for another system than Linux" in note]) == 2
    assert document["problems"] == []


@pytest.mark.parametrize("tag", ["macosx_11_0_arm64", "win_amd64"])
def test_refuses_a_wheel_for_another_system(tmp_path, tag):
    (tmp_path / "module").write_bytes(b"\xcf\xfa\xed\xfe" + bytes(100))
    module = tmp_path / "module"
    file = wheel(PLAIN.but(tag=f"cp311-cp311-{tag}", libraries={"plain/_C.cpython-311-darwin.so": module}), tmp_path)
    for command in ((), ("--distributions",)):
        done = audit(file, *command)
        assert (done.returncode, done.stdout) == (COULD_NOT_RUN, "")
        assert "is for another system than Linux: give the wheel for Linux" in done.stderr


def test_torch_is_one_row_among_them_where_rows_are_asked_for(site):
    Package(
        "torch",
        {f"torch/lib/{name}": Library() for name in ("libtorch_cpu.so", "libc10.so")}
        | {"torch/_C.cpython-311-x86_64-linux-gnu.so": Library(code=CXX)},
        version="2.11.0",
    ).write(site)
    (site / "torch/version.py").write_text("__version__ = '2.11.0'\ncuda = None\ngit_version = '70d99e9'\n")
    found, _ = rows(site, "--distributions")
    assert found["torch"]["torch_abi"] == "own"
    assert found["torch"]["files"] == 3
    assert json.loads(audit(site, "--format", "json").stdout)["torch_version"] == "2.11.0"
    text = read_audit_text(site)
    assert "4 packages with shared objects or device code, 1 without" in text
    assert "torch 2.11.0, no CUDA version, site-packages" in text


def test_names_and_reads_two_packages_of_one_name(site):
    PLAIN.but(version="2.0", libraries={"plain/lib/libother.so": Library()}).write(site)
    _, document = rows(site, exit_code=FAILED)
    assert [row["version"] for row in document["distributions"] if row["name"] == "plain"] == ["1.0", "2.0"]
    [problem] = document["problems"]
    assert "plain is installed 2 times, as plain-1.0.dist-info and plain-2.0.dist-info" in problem


def test_assigns_folders_by_name_without_a_record(site):
    CODE.but(recorded=False).write(site)
    found, document = rows(site)
    assert set(found["code"]["cubin"]) == {"sm_75", "sm_120"}
    [note] = list_notes(document)
    assert note.startswith("code-1.0.dist-info: its RECORD names no files")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("half a line", 'code-1.0.dist-info/RECORD: line 4 is not "path,hash,bytes"'),
        ("code/_gone.so,sha256=x,1", "code/_gone.so: code-1.0.dist-info/RECORD has it, and it is missing"),
        ("../../../../../etc/evil.so,,", "../../../../../etc/evil.so is outside of the environment: not read"),
        ("/etc/evil.so,,", "/etc/evil.so is outside of the environment: not read"),
    ],
)
def test_names_a_broken_record_and_continues(site, line, says):
    CODE.but(also_recorded=(line,)).write(site)
    found, _ = rows(site, exit_code=FAILED)
    [problem] = found["code"]["problems"]
    assert says in problem
    assert set(found["code"]["cubin"]) == {"sm_75", "sm_120"}
    assert found["plain"]["problems"] == []


def test_follows_and_notes_a_link_that_leads_out(site, tmp_path):
    CODE.write(site)
    outside = tmp_path / "elsewhere.so"
    (site / "code/_C.abi3.so").rename(outside)
    (site / "code/_C.abi3.so").symlink_to(outside)
    found, document = rows(site)
    assert set(found["code"]["cubin"]) == {"sm_75", "sm_120"}
    [note] = list_notes(document)
    assert "links lead out of the environment in the paths of 1 of its files, the first code/_C.abi3.so" in note


def test_lists_unowned_files_in_their_own_row(site):
    (site / "left/over").mkdir(parents=True)
    os.link(device("sm_100a.cubin"), site / "left/over/one.cubin")
    found, _ = rows(site)
    assert set(found["(no package)"]["cubin"]) == {"sm_100a"}


def test_reads_past_a_loop_and_missing_metadata(site):
    (site / "loop").symlink_to(site)
    (site / "nothing-1.0.dist-info").mkdir()
    found, document = rows(site, exit_code=FAILED)
    assert "loop/: a link back to a folder above it: not followed" in document["problems"]
    assert found["nothing"]["problems"] == ["nothing-1.0.dist-info: it has no METADATA: install the package again"]
    assert {"cpp-extension", "plain", "stable-extension"} <= found.keys()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can change its user")
def test_reads_a_hundred_thousand_files(site):
    recorded = []
    for folder in range(100):
        path = site / f"many/{folder}"
        path.mkdir(parents=True)
        for number in range(1000):
            (path / f"{number}.py").touch()
            recorded.append(f"many/{folder}/{number}.py,,0")
    info = site / "many-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: many\nVersion: 1.0\n")
    (info / "RECORD").write_text("\n".join(recorded) + "\n")
    before = rows(site)[1]["without_files"]
    (site / "many/7/7.py").write_text("edited\n")
    _, document = rows(site)
    assert document["without_files"] == before
    assert [note for note in document["notes"] if "1 changed of the 100000 in its RECORD, no library" in note]


def read_as_nobody(site):
    """The audit's document, and its rows by name, by a user who owns nothing."""
    for folder in site.parents[:6]:
        folder.chmod(folder.stat().st_mode | 0o055)
    command = [PROGRAM, "audit", site, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, user=65534, group=65534)
    assert done.returncode == FAILED, done.stderr
    document = json.loads(done.stdout)
    return document, {row["name"]: row for row in document["distributions"]}


def test_names_an_unreadable_file_and_continues(site):
    CODE.write(site)
    (site / "closed").mkdir(mode=0o700)
    own = (site / "code/_C.abi3.so").read_bytes()
    (site / "code/_C.abi3.so").unlink()
    (site / "code/_C.abi3.so").write_bytes(own)
    (site / "code/_C.abi3.so").chmod(0o600)
    document, found = read_as_nobody(site)
    assert document["problems"] == ["closed/: cannot list the folder: Permission denied"]
    [problem] = found["code"]["problems"]
    assert problem.startswith("code/_C.abi3.so: ")
    assert "ermission" in problem
    assert found["plain"]["problems"] == []


@pytest.mark.parametrize(
    ("closed", "problems"),
    [
        ("plain/lib", ["plain/lib/libplain.so: Permission denied: run as a user who may read it"]),
        ("plain", ["plain/lib/libplain.so: Permission denied: run as a user who may read it"]),
        ("plain-1.0.dist-info", []),
    ],
)
def test_does_not_call_files_of_a_closed_folder_missing(site, closed, problems):
    (site / closed).chmod(0o700)
    document, found = read_as_nobody(site)
    assert document["problems"] == [f"{closed}/: cannot list the folder: Permission denied"]
    assert found["plain"]["problems"] == problems
    assert document["reinstall"] is None


def test_marks_a_damaged_file_as_worst_finding(site):
    CODE.but(libraries={"code/_C.abi3.so": Library(units=("first120.o",), keeps=0.5)}).write(site)
    found, _ = rows(site, exit_code=FAILED)
    assert found["code"]["worst"] == "warn"
    assert [finding["id"] for finding in found["code"]["findings"]] == ["PB102"]
    assert found["plain"]["worst"] is None


def gpus(found, name):
    return {gpu["sm"]: gpu for gpu in found[name]["gpus"]}


def test_shows_the_code_for_each_gpu(site):
    units = ("first90.o", "second90_120.o", "collective_ptx.o")
    Package("kernels", {"kernels/_C.abi3.so": Library(units=units)}).write(site)
    Package("bound", {"bound/one.cubin": device("sm_100a.cubin")}).write(site)
    found, document = rows(site, "--for", "sm121,sm90,10.3")
    assert document["sms"] == ["sm_121", "sm_90", "sm_103"]
    spark, hopper, b300 = gpus(found, "kernels").values()
    counts = ("native", "same_major", "ptx", "none")
    assert [spark[count] for count in counts] == [0, 1, 1, 1]
    assert [hopper[count] for count in counts] == [2, 0, 1, 0]
    assert [b300[count] for count in counts] == [0, 0, 1, 2]
    [lacking] = spark["lacking"]
    assert (lacking["only_for"], lacking["kernels"]) == (["sm_90"], 1)
    assert "first" in lacking["first"][0]
    bound = gpus(found, "bound")["sm_103"]
    assert (bound["code"], bound["none"], bound["kept_by_suffix"]) == ("none", 1, 1)
    assert found["plain"]["gpus"][0]["code"] == "unknown"
    text = read_audit_text(site, "--for", "sm121")
    assert "kernels same family 1, PTX 1, none 1" in text
    assert "kernels on sm_121: 1 of 3 kernels 1 only for sm_90 first" in text
    assert "bound on sm_103: 1 of 1 kernels, 1 of them only because of the suffix of their SM" in read_audit_text(
        site, "--for", "sm103"
    )


def test_lists_a_single_wheel_as_a_row(tmp_path):
    found, _ = rows(wheel(CODE, tmp_path), "--for", "sm120")
    assert gpus(found, "code")["sm_120"]["native"] == 1


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("sm50", "sm_50"),
        ("sm_60", "sm_60"),
        ("sm72", "sm_72"),
        ("87", "sm_87"),
        ("8.7", "sm_87"),
        ("sm90a", "sm_90"),
        ("sm101", "sm_101"),
    ],
)
def test_accepts_gpu_name(site, name, sm):
    """Also GPUs that recipes/targets.json does not list. A suffix belongs to code, not to the GPU."""
    _, document = rows(site, "--for", name)
    assert document["sms"] == [sm]


@pytest.mark.parametrize("sms", ["gpu", "", "sm90,,sm80", "avx2"])
def test_refuses_an_invalid_gpu(site, sms):
    result = audit(site, "--for", sms)
    assert result.returncode == COULD_NOT_RUN
    assert "is not a GPU's SM: write sm121, or 12.1" in result.stderr


def test_finds_the_gpus_of_this_machine(site):
    host = json.loads(subprocess.run([PROGRAM, "host", "--format", "json"], capture_output=True, check=True).stdout)
    result = audit(site, "--for", "here", "--format", "json")
    if not host["gpus"]:
        assert (result.returncode, "no GPU found" in result.stderr) == (COULD_NOT_RUN, True)
    else:
        here = [f"sm_{gpu['capability'].replace('.', '')}" for gpu in host["gpus"]]
        assert json.loads(result.stdout)["sms"] == sorted(set(here), key=here.index)


def test_rejects_a_folder_without_packages(tmp_path):
    assert audit(tmp_path).returncode == COULD_NOT_RUN
    assert audit(tmp_path, "--distributions").returncode == COULD_NOT_RUN
