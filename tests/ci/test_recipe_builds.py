# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/recipe-builds where what it builds of is missing, or another: it could not run (2), and names the way out."""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "ci/recipe-builds"
RELEASE = json.loads((ROOT / "recipes/nix/stand-in/torch/aten.json").read_text())["release"]


@pytest.fixture
def builds(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    loader = importlib.machinery.SourceFileLoader("recipe_builds", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    monkeypatch.setitem(sys.modules, loader.name, module)  # dataclasses look their module up
    loader.exec_module(module)
    monkeypatch.setattr(module, "SOURCE", tmp_path / "torch-source")
    return module


@pytest.fixture
def stand_in(builds):
    return sys.modules["stand_in"]


def fetched(builds, version):
    folder = builds.SOURCE / f"source/pytorch-{version}"
    folder.mkdir(parents=True)
    (folder / "version.txt").write_text(f"{version}a0\n")
    for architecture in ("amd64", "arm64"):
        generated = builds.SOURCE / architecture / "usr/include/ATen/Config.h"
        generated.parent.mkdir(parents=True)
        generated.touch()


def test_names_fetch_command_without_torch_source(builds):
    with pytest.raises(RuntimeError, match="ci/torch-source fetches it"):
        builds.check_source()


def test_rejects_source_of_another_release(builds):
    fetched(builds, "2.6.0")
    with pytest.raises(RuntimeError, match=f"built as torch {RELEASE} is, and .* holds 2.6.0"):
        builds.check_source()


def test_rejects_incomplete_source(builds):
    fetched(builds, f"{RELEASE}.1")
    shutil.rmtree(builds.SOURCE / "arm64")
    with pytest.raises(RuntimeError, match="or not whole: ci/torch-source"):
        builds.check_source()


def test_accepts_source_of_that_release(builds):
    fetched(builds, f"{RELEASE}.1")
    builds.check_source()


@pytest.mark.skipif(not shutil.which("nix-build"), reason="no nix-build")
def test_exits_with_2_without_source(tmp_path):
    (tmp_path / "ci").mkdir()
    for file in (PROGRAM, *PROGRAM.parent.glob("*.py")):
        shutil.copy(file, tmp_path / "ci")
    facts = tmp_path / "recipes/nix/stand-in/torch/aten.json"
    facts.parent.mkdir(parents=True)
    shutil.copy(ROOT / facts.relative_to(tmp_path), facts)
    done = subprocess.run([sys.executable, tmp_path / "ci/recipe-builds"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("recipe-builds: torch's source is not in")


def test_uses_configured_nvcc(stand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(stand_in, "ROOT", tmp_path)
    for place in ("wheels/bin", "toolkit/bin"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "nvcc").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "toolkit/bin"))
    assert stand_in.nvcc() == tmp_path / "toolkit/bin/nvcc"
    (tmp_path / "build/setup").mkdir(parents=True)
    # On a machine without a toolkit, set-up installs nvcc from PyPI.
    (tmp_path / "build/setup/configured").write_text(f"--preset=dev\n-DPBPROBE_TEST_NVCC={tmp_path}/wheels/bin/nvcc\n")
    assert stand_in.nvcc() == tmp_path / "wheels/bin/nvcc"


def build_phases(tmp_path, **variables):
    """recipes/nix/stand-in/setup.sh on a source of one file."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/version.txt").write_text("one\n")
    shown = "cat version.txt > $out"
    environment = {
        "PATH": os.environ["PATH"],
        "NIX_BUILD_TOP": str(tmp_path),
        "NIX_BUILD_CORES": "1",
        "out": str(tmp_path / "out"),
    }
    environment |= {
        "src": str(tmp_path / "src"),
        "dontUseCmakeConfigure": "1",
        "buildPhase": ":",
        "installPhase": shown,
    }
    setup = ROOT / "recipes/nix/stand-in/setup.sh"
    return subprocess.run(["bash", setup], env=environment | variables, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("patch"), reason="no patch program")
def test_model_applies_patches_before_hook(tmp_path):
    (tmp_path / "a.patch").write_text("--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-one\n+two\n")
    done = build_phases(tmp_path, patches=str(tmp_path / "a.patch"), postPatch="echo three >> version.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_text() == "two\nthree\n"


@pytest.mark.skipif(not shutil.which("patch"), reason="no patch program")
def test_build_fails_if_patch_does_not_apply(tmp_path):
    (tmp_path / "a.patch").write_text("--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-another\n+two\n")
    done = build_phases(tmp_path, patches=str(tmp_path / "a.patch"))
    assert done.returncode != 0
    assert not (tmp_path / "out").exists()
    assert "1 out of 1 hunk FAILED" in done.stdout


@pytest.mark.parametrize("handed_over", [True, False])
def test_stub_finds_cuda(tmp_path, handed_over, stand_in):
    """Tests the stub in recipes/nix/torch.nix: with it CMake finds the toolkit; with an empty file it does not."""
    try:
        toolkit = stand_in.nvcc().parents[1]
    except RuntimeError as error:
        pytest.skip(str(error))
    [stub] = re.findall(r"echo '(.+)' > cmake/Modules/FindCUDAToolkit", (ROOT / "recipes/nix/torch.nix").read_text())
    (tmp_path / "FindCUDAToolkit.cmake").write_text(stub.replace("''${", "${") if handed_over else "")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(torch LANGUAGES CXX)\n"
        "list(PREPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR})\nfind_package(CUDAToolkit)\n"
        'message(STATUS "found <${CUDAToolkit_VERSION_MAJOR}>")\n'
    )
    cmake = os.environ.get("PBPROBE_TEST_CMAKE", "cmake")
    command = [cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCUDAToolkit_ROOT={toolkit}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("found <13>" in done.stdout, "found <>" in done.stdout) == (handed_over, not handed_over)


@pytest.mark.parametrize(
    "given, own, expected",
    [(["all"], True, True), (["all"], False, True), (["pytorch-a"], True, True), (["pytorch-b"], True, False)],
)
def test_all_selects_each_built_recipe(builds, monkeypatch, given, own, expected):
    monkeypatch.setattr(builds, "build_recipe", lambda facts, folder, with_pbprobe, missing: with_pbprobe)
    monkeypatch.setattr(builds, "written", lambda line, with_pbprobe: ROOT)
    options = argparse.Namespace(with_pbprobe=given, without="")
    assert builds.build_one({"name": "pytorch-a" if own else "pytorch-python313-line"}, own, options) is expected


def test_faults_change_their_recipes_differently(builds):
    for fault in builds.FAULTS:
        sound = (ROOT / f".flox/pkgs/{fault.recipe}.nix").read_text()
        assert sound.count(fault.old) == 1, fault.what
        assert fault.new not in sound or not fault.new, fault.what
    folders = [fault.folder for fault in builds.FAULTS]
    assert len(set(folders)) == len(folders)
    assert all(re.fullmatch("[A-Za-z0-9-]+", folder) for folder in folders)  # Nix takes no other in a path


FAILS = ("a fault", "pytorch-python313-cpu-avx2", "-mf16c", "-mno-avx2", frozenset({"PB208"}))


@pytest.mark.parametrize(
    "fails, answer, right",
    [
        (True, (1, {"PB208", "claim"}, set()), True),
        (True, (1, {"PB208", "claim"}, {"PB209"}), True),  # it failed by what was wanted
        (True, (0, set(), {"PB208"}), False),  # a warning does not fail it
        (True, (0, set(), set()), False),
        (True, (1, {"PB208", "PB105", "claim"}, set()), False),
        (True, (1, {"claim"}, set()), False),
        (False, (0, set(), {"PB208"}), True),
        (False, (0, set(), {"PB208", "PB209"}), False),
        (False, (0, set(), set()), False),
        (False, (1, {"PB208", "claim"}, set()), False),
    ],
)
def test_accepts_fault_only_if_gate_names_it_alone(builds, tmp_path, monkeypatch, fails, answer, right):
    monkeypatch.setattr(builds, "SCRATCH", tmp_path)
    monkeypatch.setattr(builds, "nix_build", lambda *arguments: (0, ""))
    monkeypatch.setattr(builds, "gate", lambda link, claim: answer)
    listed = [{"name": FAILS[1], "platforms": ["x86_64-linux"]}]
    assert builds.planted(builds.Fault(*FAILS, fails=fails), listed)[0] is right
    changed = (tmp_path / f"pkgs/a-fault/{FAILS[1]}.nix").read_text()
    assert "-mno-avx2" in changed and "-mf16c" not in changed


def test_rejects_fault_whose_recipe_does_not_build(builds, tmp_path, monkeypatch):
    monkeypatch.setattr(builds, "SCRATCH", tmp_path)
    monkeypatch.setattr(builds, "nix_build", lambda *arguments: (1, "error: no"))
    listed = [{"name": FAILS[1], "platforms": ["x86_64-linux"]}]
    right, seen = builds.planted(builds.Fault(*FAILS), listed)
    assert not right
    assert seen.startswith("not built, so no gate was asked")


def shared_object(file, code, *options):
    file.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", *options, "-o", file]
    subprocess.run(list(map(str, command)), input=code, text=True, check=True)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.parametrize("shim, expected", [("shim", "loaded"), ("another", "no")])
def test_operators_load_with_that_torch(builds, tmp_path, monkeypatch, shim, expected):
    monkeypatch.setattr(builds, "SCRATCH", tmp_path)
    lib = tmp_path / "torch/lib/python3.13/site-packages/torch/lib"
    shared_object(lib / "libtorch_cpu.so", f"int {shim}(void) {{ return 1; }}", "-Wl,-soname,libtorch_cpu.so")
    operators = tmp_path / "own/lib/python3.13/site-packages/pbprobe/libpbprobe_ops.so"
    shared_object(operators, "int shim(void); int call(void) { return shim(); }", f"-L{lib}", "-ltorch_cpu")
    loaded, why = builds.operators_load(tmp_path / "torch", tmp_path / "own", builds.MACHINE)
    assert loaded == expected
    assert ("undefined symbol: shim" in why) == (expected == "no")
    ended = {"kill(getpid(), SIGILL)": ("other CPU", ""), "kill(getpid(), SIGSEGV)": ("no", "it crashed")}
    for call, outcome in ended.items():
        code = f"#include <signal.h>\n#include <unistd.h>\n__attribute__((constructor)) void start(void) {{ {call}; }}"
        shared_object(operators, code)
        assert builds.operators_load(tmp_path / "torch", tmp_path / "own", builds.MACHINE) == outcome
    operators.unlink()
    why = "no libtorch_cpu.so, or no operators"
    assert builds.operators_load(tmp_path / "torch", tmp_path / "own", builds.MACHINE) == ("no", why)


def test_uses_sysroot_packages_for_another_processor(stand_in, tmp_path, monkeypatch):
    own = f"/usr/lib/{stand_in.MACHINE}-linux-gnu"
    listed = f"/usr/include/zlib.h\n{own}/libz.so\n{own}/libz.a\n/lib/{stand_in.MACHINE}-linux-gnu/libz.so.1\n"
    monkeypatch.setattr(stand_in, "output", lambda *command: listed)
    monkeypatch.setattr(stand_in, "SYSROOT", tmp_path)
    with pytest.raises(RuntimeError, match="holds nothing of zlib1g"):
        stand_in.list_debian_files("zlib", "zlib1g", "riscv64")
    # Debian's libz.so links to an absolute path, and the library is in /lib.
    usual, root = "usr/lib/riscv64-linux-gnu", "lib/riscv64-linux-gnu"
    for file in ("usr/include/zlib.h", f"{root}/libz.so.1", f"{usual}/libz.a", f"{root}/libz.a"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "usr/lib/riscv64-linux-gnu/libz.so").symlink_to("/lib/riscv64-linux-gnu/libz.so.1")
    found = stand_in.list_debian_files("zlib", "zlib1g", "riscv64").split()
    kept = ["usr/include/zlib.h", "usr/lib/riscv64-linux-gnu/libz.so", "lib/riscv64-linux-gnu/libz.so.1"]
    assert sorted(found) == sorted(str(tmp_path / file) for file in kept)
    # GoogleTest is its archives; each is taken from one place.
    of_gtest = stand_in.list_debian_files("gtest", "libgtest-dev", "riscv64").split()
    assert [file for file in of_gtest if file.endswith(".a")] == [str(tmp_path / f"{usual}/libz.a")]


@pytest.mark.skipif(not pathlib.Path("/usr/include/zlib.h").is_file(), reason="no zlib.h of the system")
def test_ignores_paths_in_compiler_output(tmp_path):
    """So that ccache knows in Nix's build what the ordinary one compiled: the same text, and the same object."""
    include = tmp_path / "store/abc-zlib-0/include"
    include.mkdir(parents=True)
    headers = subprocess.run(["c++", "-M", "/usr/include/zlib.h"], capture_output=True, text=True, check=True).stdout
    for file in [word for word in headers.split() if pathlib.Path(word).name in ("zlib.h", "zconf.h")]:
        shutil.copy(file, include)
    with (include / "zlib.h").open("a") as file:
        file.write("inline auto at = __FILE__;\n")
    (tmp_path / "a.cpp").write_text("#include <zlib.h>\n#include <cstdio>\nint main() { return std::puts(at); }\n")
    prefix = ROOT / "recipes/nix/stand-in/compiler-paths"
    environment = {**os.environ, "NIX_STORE": str(tmp_path / "store"), "CPLUS_INCLUDE_PATH": str(include)}
    environment |= {"ownHeaders": "/usr/include"}
    command = [prefix, "c++", "-E", "a.cpp", "-o", "a.ii"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    seen = (tmp_path / "a.ii").read_text()
    assert str(include) not in seen
    assert '# 1 "/usr/include/zlib.h" 1 3 4\n' in seen
    assert '"/usr/include/zconf.h"' in seen
    ordinary = subprocess.run(["c++", "-E", "a.cpp"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    def filter_system_lines(text):
        return [line for line in text.splitlines() if re.match(r'# \d+ "/usr/include/(?!z)', line)]

    assert filter_system_lines(seen) == filter_system_lines(ordinary)
    subprocess.run([prefix, "c++", "-g", "-c", "a.cpp", "-o", "a.o"], cwd=tmp_path, env=environment, check=True)
    assert str(include).encode() not in (tmp_path / "a.o").read_bytes()
    assert b"/usr/include/zlib.h" in (tmp_path / "a.o").read_bytes()


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_prints_lines_as_with_sysroot_headers(tmp_path):
    """Simulates the cross build, which passes headers by -isystem: keeps each line, also of headers marked as system
    headers.
    """
    headers = {
        "outer.h": "#include <inner.h>\n#include <cstddef>\n#define OUTER outer\nextern int outer;\n",
        "inner.h": "extern int inner;\n#pragma GCC system_header\n#include <last.h>\nextern int more;\n",
        "last.h": "#include <cstdint>\nextern int last;\n",
    }
    own = {
        "own.h": 'extern int own;\n#pragma GCC system_header\n#include "third.h"\n#include <last.h>\nextern int end;\n',
        "third.h": "extern int third;\n\n   \nextern int fourth;\n",
        "a.cpp": '#include <outer.h>\n#include <cerrno>\n#include "own.h"\n#include "third.h"\n'
        "int main() { return errno + OUTER; }\n",  # macros of the system's are marked where they stand
    }
    sysroot, include = tmp_path / "sysroot/usr/include", tmp_path / "store/abc-outer-0/include"
    for folder, files in ((sysroot, headers), (include, headers), (tmp_path, own)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
    ordinary = subprocess.run(
        ["c++", "-E", "-isystem", sysroot, "a.cpp"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    environment = {**os.environ, "NIX_STORE": str(tmp_path / "store"), "CPLUS_INCLUDE_PATH": str(include)}
    environment |= {"ownHeaders": str(sysroot)}
    command = [ROOT / "recipes/nix/stand-in/compiler-paths", "c++", "-E", "a.cpp", "-o", "a.ii"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "a.ii").read_text() == ordinary.stdout
