# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Roots of Alpine and similar systems, whose loader is musl's libc. Loading follows the rules of musl, and a file for
glibc is reported once."""

import shutil
import sys

import pytest
from made import OUT, compiler, made, text
from packages import FAILED, MACHINE, Library, Package, rows

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
TAG = f"cpython-{sys.version_info.major}{sys.version_info.minor}-{MACHINE}-linux-musl"
LOADER = f"ld-musl-{MACHINE}.so.1"
LIBC = f"libc.musl-{MACHINE}.so.1"  # as Alpine calls it
FREE = ("-nostdlib", "-fno-stack-protector", "-fno-asynchronous-unwind-tables")
MODULE = 'extern "C" void* PyInit_{}() {{ {} return nullptr; }}\n'


def built(name, code, *flags):
    return made(name, compiler(MACHINE), "-shared", "-fPIC", *FREE, f"-Wl,-soname,{name}", "-Wl,--no-as-needed",
                "-o", OUT, text("code.cpp", code), *flags)  # fmt: skip


def libc(versions=""):
    """Builds musl's libc, which is also its loader, with one function."""
    flags = [f"-Wl,--version-script={text('versions', versions)}"] if versions else []
    return built(LIBC, 'extern "C" int getpid() { return 1; }\n', *flags)


def module(name="_C", code="", needs=(), runpath=(), declared="", with_libc=True):
    """An extension module as a compiler in Alpine links it."""
    stubs = [built(one, "") for one in needs]
    ways = (f"-Wl,-rpath,{':'.join(runpath)}",) if runpath else ()
    return built(
        f"{name}.{TAG}.so", declared + MODULE.format(name, code), *([libc()] if with_libc else []), *stubs, *ways
    )


def package(name="ext", **module_options):
    return Package(name, {f"{name}/_C.{TAG}.so": module(**module_options)}, tag=f"cp311-cp311-musllinux_1_2_{MACHINE}")


def glibc_package(name="foreign"):
    """A manylinux wheel: its own module, and a library that it brings."""
    tag = TAG.replace("musl", "gnu")
    code = '#include <stdlib.h>\nextern "C" void* PyInit__C() { return getenv("A"); }\n'
    libraries = {f"{name}/_C.{tag}.so": Library(code=code), f"{name}.libs/libone.so": Library(code=code)}
    return Package(name, libraries, tag=f"cp311-cp311-manylinux_2_28_{MACHINE}")


def alpine(folder, *packages, folders=None):
    root = folder / "root"
    site = root / f"usr/lib/{PYTHON}/site-packages"
    for one in packages:
        one.write(site)
    for place in ("lib", "etc", "usr/bin", "usr/local/lib"):
        (root / place).mkdir(parents=True, exist_ok=True)
    (root / "etc/os-release").write_text("ID=alpine\n")
    shutil.copy(libc(), root / f"lib/{LOADER}")
    (root / f"lib/{LIBC}").symlink_to(LOADER)
    program = made("python", compiler(MACHINE, "gcc"), *FREE, "-pie", "-fPIE", f"-Wl,--dynamic-linker=/lib/{LOADER}",
                   "-Wl,--no-as-needed", "-o", OUT, text("main.c", "void _start(void) {}\n"), libc())  # fmt: skip
    shutil.copy(program, root / f"usr/bin/{PYTHON}")
    (root / "usr/bin/python3").symlink_to(PYTHON)
    if folders is not None:
        (root / f"etc/ld-musl-{MACHINE}.path").write_text(folders)
    return root


def list_row_findings(row):
    return [(one["id"], one["what"]) for one in row["findings"]]


def test_follows_the_modules_of_a_sound_root(tmp_path):
    ext = package(code="getpid();", declared='extern "C" int getpid();\n')
    found, document = rows(alpine(tmp_path, ext), "--distributions")
    assert list_row_findings(found["ext"]) == []
    assert [(one["unresolved"], one["missing_libraries"]) for one in found["ext"]["loading"]] == [([], [])]
    assert document["interpreter"].endswith(f"/usr/bin/{PYTHON}")


def test_names_files_linked_with_glibc_once(tmp_path):
    root = alpine(tmp_path, package(), glibc_package())
    found, document = rows(root, "--distributions", exit_code=FAILED)
    assert list_row_findings(found["ext"]) == []
    assert list_row_findings(found["foreign"]) == [
        ("PB178", "foreign 1.0 is built for glibc, and the environment's Python for musl")
    ]
    assert "musllinux wheel" in found["foreign"]["findings"][0]["remedy"]
    assert document["reinstall"] is None  # the same wheel would come again
    # Alpine's gcompat is there to load such files: whether it can is not known.
    (root / "lib/libgcompat.so.0").write_text("")
    found, _ = rows(root, "--distributions")
    assert (list_row_findings(found["foreign"]), found["foreign"]["loading"]) == ([], [])


def test_reports_wheels_for_glibc(tmp_path):
    found, _ = rows(alpine(tmp_path, glibc_package("one"), glibc_package("two")), "--distributions", exit_code=FAILED)
    assert [[name for name, _ in list_row_findings(found[one])] for one in ("one", "two")] == [["PB178"], ["PB178"]]


def test_finds_a_symbol_that_musl_lacks(tmp_path):
    ext = package(code="getpid(); gnu_get_libc_version();",
                  declared='extern "C" int getpid(); extern "C" int gnu_get_libc_version();\n')  # fmt: skip
    found, _ = rows(alpine(tmp_path, ext), "--distributions", exit_code=FAILED)
    [(name, what)] = list_row_findings(found["ext"])
    assert (name, "needs gnu_get_libc_version, which nothing defines" in what) == ("PB163", True)


@pytest.mark.parametrize(
    ("folders", "place", "loads"),
    [
        (None, "lib", True),
        (None, "usr/local/lib", True),
        (None, "opt/lib", False),
        ("/lib:/usr/lib\n/opt/lib\n", "opt/lib", True),
        ("/lib:/usr/lib", "usr/local/lib", False),
    ],
)
def test_libraries_are_looked_for_where_musl_s_loader_looks(tmp_path, folders, place, loads):
    root = alpine(tmp_path, package(needs=("libone.so.1",)), folders=folders)
    (root / place).mkdir(parents=True, exist_ok=True)
    shutil.copy(built("libone.so.1", ""), root / place / "libone.so.1")
    found, _ = rows(root, "--distributions", exit_code=0 if loads else FAILED)
    assert [name for name, _ in list_row_findings(found["ext"])] == ([] if loads else ["PB161"])


def test_inherits_run_paths_and_compares_no_sonames(tmp_path):
    """The module's RUNPATH leads to what its library needs too, which glibc's loader would not follow."""
    root = alpine(tmp_path, package(needs=("libone.so.1",), runpath=("/opt/lib",)))
    (root / "opt/lib").mkdir(parents=True)
    shutil.copy(built("libone.so.1", "", built("libtwo.so.1", "")), root / "opt/lib/libone.so.1")
    shutil.copy(built("libtwo.so.1", ""), root / "opt/lib/libtwo.so.1")
    assert list_row_findings(rows(root, "--distributions")[0]["ext"]) == []
    (root / "opt/lib/libtwo.so.1").rename(root / "opt/lib/libtwo.so.1.0")
    [(name, what)] = list_row_findings(rows(root, "--distributions", exit_code=FAILED)[0]["ext"])
    assert (name, "libtwo.so.1" in what) == ("PB161", True)


def test_versions_of_symbols_are_not_asked_for_but_hidden_ones_are_not_taken(tmp_path):
    asking = built("libasked.so.1", "extern \"C\" int f() { return 1; }",
                   f"-Wl,--version-script={text('v2', 'V2 { f; };')}")  # fmt: skip
    ext = Package("ext", {f"ext/_C.{TAG}.so": built(
        f"_C.{TAG}.so", 'extern "C" int f();\n' + MODULE.format("_C", "f();"), libc(), asking)})  # fmt: skip
    root = alpine(tmp_path, ext)
    other = built("libasked.so.1", "extern \"C\" int f() { return 1; }",
                  f"-Wl,--version-script={text('v1', 'V1 { f; };')}")  # fmt: skip
    shutil.copy(other, root / "lib/libasked.so.1")
    assert list_row_findings(rows(root, "--distributions")[0]["ext"]) == []
    hidden = 'extern "C" int g() { return 1; }\n__asm__(".symver g, f@V1");'
    shutil.copy(built("libasked.so.1", hidden, f"-Wl,--version-script={text('vh', 'V1 { g; };')}"),
                root / "lib/libasked.so.1")  # fmt: skip
    [(name, what)] = list_row_findings(rows(root, "--distributions", exit_code=FAILED)[0]["ext"])
    assert (name, "needs f" in what) == ("PB163", True)


def test_does_not_judge_a_root_without_its_loader(tmp_path):
    """A layer of an image: whether its modules load is not known, and no fault of theirs."""
    root = alpine(tmp_path, package(code="getpid();", declared='extern "C" int getpid();\n'))
    (root / f"lib/{LOADER}").unlink()
    found, document = rows(root, "--distributions")
    assert (list_row_findings(found["ext"]), found["ext"]["loading"]) == ([], None)
    assert f"itself needs {LIBC}, which is missing" in " ".join(document["notes"])


def test_finds_a_musl_wheel_for_a_glibc_python(tmp_path):
    site = tmp_path / f"venv/lib/{PYTHON}/site-packages"
    package().write(site)
    python = site.parents[2] / "bin/python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    found, _ = rows(site, "--distributions", exit_code=FAILED)
    assert list_row_findings(found["ext"]) == [
        ("PB178", "ext 1.0 is built for musl, and the environment's Python for glibc")
    ]
    assert "--force-reinstall" in found["ext"]["findings"][0]["remedy"]
