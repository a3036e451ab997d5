# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Would the loader take it? Each planted fault has its own finding, and a sound twin without any; and what is
unresolved in a file is what `ldd -r` lists, run as a part of the same Python."""

import json
import os
import pathlib
import re
import subprocess
import sys

import jsonschema
import pytest
from made import OUT, compiler, made, text
from packages import FAILED, MACHINE, PASSED, PROGRAM, SOURCE, Library, Package, read_audit_text, rows

TAG = f"cpython-{sys.version_info.major}{sys.version_info.minor}-{MACHINE}-linux-gnu"
MODULE = 'extern "C" void* PyInit__C() {{ {} return nullptr; }}\n'
FREE = "namespace c10 { void free_cpu(void*); }\n"  # in torch 2.8 to 2.15
USES_FREE = FREE + MODULE.format("c10::free_cpu(nullptr);")
FATAL = "namespace c10 { struct FatalSignalHandler { static void fatalSignalHandler(int); }; }\n"  # in 2.8 to 2.10
POOL = (  # in 2.9 only
    "namespace c10::cuda { namespace CUDACachingAllocator { struct CUDAAllocator; }\n"
    "struct MemPool { MemPool(CUDACachingAllocator::CUDAAllocator*, bool, bool); }; }\n"
)
COLLIDING = 'extern "C" int av_frame_alloc25810();\n' + MODULE.format("av_frame_alloc25810();")  # a digest of torch's
TO_TORCH = ("$ORIGIN/../torch/lib",)


def torch(version="2.11.0+cpu", exports=FREE + "void c10::free_cpu(void*) {}\n"):
    return Package(
        "torch",
        {
            "torch/lib/libc10.so": Library(code=exports),
            "torch/lib/libtorch_cpu.so": Library(needs=("libc10.so",)),
            "torch/lib/libtorch_python.so": Library(needs=("libtorch_cpu.so", "libc10.so")),
            f"torch/_C.{TAG}.so": Library(
                needs=("libtorch_python.so",), runpath=("$ORIGIN/lib",), code=MODULE.format("")
            ),
        },
        version=version,
    )


def extension(name="ext", code=USES_FREE, needs=("libc10.so",), runpath=(), **changes):
    library = Library(needs=needs, runpath=runpath, code=code, **changes)
    return Package(name, {f"{name}/_C.{TAG}.so": library})


def environment(folder, *packages):
    site = folder / f"venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    for package in packages:
        package.write(site)
    python = site.parents[2] / "bin/python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    for package in packages:
        if package.name == "torch":
            version = f"__version__ = '{package.version}'\ncuda = None\ngit_version = '70d99e9'\n"
            (site / "torch/version.py").write_text(version)
    return site


def audited(site, exit_code=PASSED, name="ext"):
    found, document = rows(site, "--distributions", exit_code=exit_code)
    jsonschema.validate(document, json.loads((SOURCE / "docs/environment.schema.json").read_text()))
    assert document["interpreter"] == os.path.realpath(sys.executable)
    return found[name], document


def only_finding(row):
    [finding] = [one for one in row["findings"] if one["id"].startswith("PB16")]
    return finding


def test_loads_an_extension_of_this_torch(tmp_path):
    row, _ = audited(environment(tmp_path, torch(), extension()))
    assert row["findings"] == []
    [loading] = row["loading"]
    faults = ("missing_libraries", "missing_versions", "unresolved", "assumed")
    assert [loading[key] for key in faults] == [[], [], [], []]
    assert row["torch_releases"] == ["2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15"]


@pytest.mark.parametrize(
    ("code", "symbol", "says"),
    [
        (FATAL + MODULE.format("c10::FatalSignalHandler::fatalSignalHandler(0);"),
         "c10::FatalSignalHandler::fatalSignalHandler(int)", "the package loads only with torch 2.8 to 2.10"),
        (POOL + MODULE.format("c10::cuda::MemPool pool(nullptr, true, true);"),
         "c10::cuda::MemPool::MemPool(c10::cuda::CUDACachingAllocator::CUDAAllocator*, bool, bool)",
         "the package loads only with torch 2.9"),
        ("namespace c10 { void nowhere(int); }\n" + MODULE.format("c10::nowhere(0);"),
         "c10::nowhere(int)", "none of torch 2.8 to 2.15 has all the symbols that the package needs"),
    ],
)  # fmt: skip
def test_names_a_missing_symbol_with_the_torch_that_has_it(tmp_path, code, symbol, says):
    row, _ = audited(environment(tmp_path, torch(), extension(code=code)), FAILED)
    finding = only_finding(row)
    assert (row["worst"], finding["id"]) == ("fail", "PB163")
    assert f"ext 1.0: _C.{TAG}.so needs {symbol}, which torch 2.11.0+cpu lacks: {says}" in finding["what"]
    assert [one["name"] for one in row["loading"][0]["unresolved"]]


def test_several_files_of_a_package_have_one_finding(tmp_path):
    code = FATAL + MODULE.format("c10::FatalSignalHandler::fatalSignalHandler(0);")
    package = extension(code=code)
    package.libraries["ext/_other.so"] = Library(needs=("libc10.so", "libcudart.so.7"), runpath=(), code=USES_FREE)
    finding = only_finding(audited(environment(tmp_path, torch(), package), FAILED)[0])
    assert finding["id"] == "PB163"
    assert finding["what"].endswith("the package loads only with torch 2.8 to 2.10; 1 more of its files does not load")


def test_torch_s_own_symbols_count_too(tmp_path):
    broken = torch(exports="namespace c10 { void other() {} }\n")
    broken.libraries["torch/lib/libtorch_cpu.so"] = Library(
        needs=("libc10.so",), code=FREE + "void f() { c10::free_cpu(nullptr); }\n"
    )
    site = environment(tmp_path, broken)
    row, _ = audited(site, FAILED, "torch")
    assert {one["needed_by"] for loading in row["loading"] for one in loading["unresolved"]} == {
        str(site / "torch/lib/libtorch_cpu.so")
    }
    assert "PB163" in [finding["id"] for finding in row["findings"]]


def test_warns_of_a_package_for_another_torch(tmp_path):
    site = environment(tmp_path, torch(), extension(), extension("twin"))
    for name, version in (("ext", "2.9.1"), ("twin", "2.11.0")):
        with (site / f"{name}-1.0.dist-info/METADATA").open("a") as metadata:
            metadata.write(f"Requires-Dist: torch (=={version})\n")
    row, document = audited(site)
    finding = only_finding(row)
    assert (finding["id"], finding["severity"]) == ("PB164", "warn")
    assert finding["what"] == "ext 1.0 requires torch==2.9.1, and torch 2.11.0+cpu is installed"
    assert {row["name"]: row["findings"] for row in document["distributions"]}["twin"] == []


def test_names_the_requested_torch_in_the_load_finding(tmp_path):
    code = FATAL + MODULE.format("c10::FatalSignalHandler::fatalSignalHandler(0);")
    site = environment(tmp_path, torch(), extension(code=code))
    with (site / "ext-1.0.dist-info/METADATA").open("a") as metadata:
        metadata.write("Requires-Dist: torch==2.9.1\n")
    finding = only_finding(audited(site, FAILED)[0])
    assert finding["what"].endswith(
        "the package loads only with torch 2.8 to 2.10; its METADATA requires "
        "torch==2.9.1, and torch 2.11.0+cpu is installed"
    )
    command = "pip install --upgrade ext torch==2.11.0"
    assert finding["remedy"].startswith(f"install the ext that is made for this torch: {command}")
    assert "the torch that this one requires: pip install ext==1.0 'torch==2.9.1'" in finding["remedy"]


def test_names_a_missing_library(tmp_path):
    package = extension(needs=("libc10.so", "libcudart.so.7"))
    finding = only_finding(audited(environment(tmp_path, torch(), package), FAILED)[0])
    assert finding["id"] == "PB161"
    assert "needs libcudart.so.7, which neither the environment nor the system has" in finding["what"]


def test_requires_another_build_for_another_cuda_major(tmp_path):
    ext = extension(needs=("libc10.so", "libcudart.so.12"), runpath=TO_TORCH)
    row, _ = audited(environment(tmp_path, torch(version="2.11.0+cu130"), ext), FAILED)
    finding = only_finding(row)
    assert finding["id"] == "PB161"
    assert finding["remedy"].startswith("install the build of the package for CUDA 13, which torch 2.11.0+cu130 uses")
    # A file that does not link torch may need the CUDA of its own package.
    own = extension(needs=("libcudart.so.12",), code=MODULE.format(""))
    row, _ = audited(environment(tmp_path / "own", torch(version="2.11.0+cu130"), own), FAILED)
    command = "pip install nvidia-cuda-runtime-cu12 torch==2.11.0 --extra-index-url"
    assert only_finding(row)["remedy"].startswith(f"{command} https://download.pytorch.org/whl/cu130, or")


@pytest.mark.parametrize(("suffix", "found"), [(".mpich.abi3.so", []), (".abi3.so", ["PB161"])])
def test_accepts_variants_of_which_a_package_opens_one(tmp_path, suffix, found):
    """mpi4py: a module for each MPI, with names that Python's own import does not find."""
    code = 'extern "C" void* PyInit_MPI() { return nullptr; }\n'
    lacking = Library(code=code, needs=("libmpi.so.12",))
    package = Package("ext", {f"ext/MPI{suffix}": lacking, "ext/MPI.openmpi.abi3.so": Library(code=code)})
    row, _ = audited(environment(tmp_path, torch(), package), FAILED if found else PASSED)
    assert [one["id"] for one in row["findings"]] == found


def test_requires_a_torch_with_cuda(tmp_path):
    """facebookresearch/xformers#982: a torch of the CPU index beside a package of the CUDA index."""
    ext = extension(needs=("libtorch_cuda.so", "libcudart.so.12"), runpath=TO_TORCH)
    finding = only_finding(audited(environment(tmp_path, torch(), ext), FAILED)[0])
    assert finding["remedy"].startswith("torch 2.11.0+cpu is a build without CUDA: install torch 2.11.0 for CUDA 12")


def test_does_not_blame_torch_for_a_colliding_name(tmp_path):
    """torchcodec without FFmpeg: av_frame_alloc25810 has the digest of a name in torch 2.8 to 2.10."""
    lacking = extension(code=COLLIDING, needs=("libc10.so", "libavutil.so.56"), runpath=TO_TORCH)
    row, _ = audited(environment(tmp_path / "library", torch(), lacking), FAILED)
    assert row["loading"][0]["unresolved"][0]["releases"] == ["2.8", "2.9", "2.10"]
    finding = only_finding(row)
    assert (finding["id"], "needs libavutil.so.56" in finding["what"]) == ("PB161", True)
    row, _ = audited(environment(tmp_path / "symbol", torch(), extension(code=COLLIDING, runpath=TO_TORCH)), FAILED)
    finding = only_finding(row)
    assert (finding["id"], "torch 2.11" in finding["what"]) == ("PB163", False)


def test_recommends_installing_a_missing_torch(tmp_path):
    row, _ = audited(environment(tmp_path, extension()), FAILED)
    finding = only_finding(row)
    assert (finding["id"], finding["remedy"]) == ("PB161", "install torch beside it")


def test_requires_a_system_library_before_torch(tmp_path):
    """open3d: its module needs libusb; it also has operators for torch, which it does not require."""
    module = Library(code=MODULE.format(""), needs=("libmade-up-1.0.so.0",))
    operators = Library(code=USES_FREE, needs=("libc10.so",))
    package = Package("ext", {"ext/_A_ops.so": operators, f"ext/_C.{TAG}.so": module})
    finding = only_finding(audited(environment(tmp_path, package), FAILED)[0])
    assert (finding["id"], finding["where"]) == ("PB161", f"ext/_C.{TAG}.so")
    assert f"_C.{TAG}.so needs libmade-up-1.0.so.0, which neither" in finding["what"]
    assert finding["remedy"].startswith("install the system's packages that contain libmade-up-1.0.so.0, or the build")


@pytest.mark.parametrize("beside", [False, True])
def test_names_a_requirement_that_is_not_installed(tmp_path, beside):
    """usearch finds its functions in numkong, which METADATA requires."""
    code = 'extern "C" int kong_add();\n' + MODULE.format("kong_add();")
    wanted = ("Num.Kong>=7.8", "tqdm; sys_platform == 'win32'", "plots; extra == 'all'")
    package = Package("ext", {f"ext/_C.{TAG}.so": Library(code=code)}, requirements=wanted)
    others = (Package("num_kong", {}),) if beside else ()
    finding = only_finding(audited(environment(tmp_path, package, *others), FAILED)[0])
    assert finding["id"] == "PB163"
    explained = "; its METADATA requires num-kong>=7.8, which is not installed" in finding["what"]
    assert (explained, finding["remedy"] == "pip install 'num-kong>=7.8'") == (not beside, not beside)


def test_accepts_a_missing_driver(tmp_path):
    code = 'extern "C" int cuInit(unsigned);\n' + FREE + MODULE.format("c10::free_cpu(nullptr); cuInit(0);")
    package = extension(code=code, needs=("libc10.so", "libcuda.so.1"))
    assert audited(environment(tmp_path, torch(), package))[0]["findings"] == []


def test_assumes_that_another_package_loaded_its_library(tmp_path):
    cuda = Package("nvidia-cuda", {"nvidia/cuda/lib/libcudart.so.7": Library()})
    site = environment(tmp_path, torch(), cuda, extension(needs=("libc10.so", "libcudart.so.7")))
    row, _ = audited(site)
    assert row["findings"] == []
    assert row["loading"][0]["assumed"] == ["libcudart.so.7"]


def test_accepts_symbols_of_the_same_package(tmp_path):
    package = extension(code="void own();\n" + MODULE.format("own();"), needs=())
    package.libraries["ext/libown.so"] = Library(code="void own() {}\n")
    row, _ = audited(environment(tmp_path, torch(), package))
    assert row["findings"] == []
    assert row["loading"][0]["assumed"] == ["ext/libown.so"]


# cuda-core's _tensor_bridge links no torch: its package first opens torch's libraries with RTLD_GLOBAL.
def test_accepts_torch_symbols_in_a_file_without_torch(tmp_path):
    row, _ = audited(environment(tmp_path, torch(), extension(needs=())))
    assert row["findings"] == []
    assert row["loading"][0]["assumed"] == ["libc10.so"]
    lacking = extension(code=FATAL + MODULE.format("c10::FatalSignalHandler::fatalSignalHandler(0);"), needs=())
    row, _ = audited(environment(tmp_path / "lacking", torch(), lacking), FAILED)
    assert "which torch 2.11.0+cpu lacks: the package loads only with torch 2.8 to 2.10" in only_finding(row)["what"]


@pytest.mark.parametrize(
    ("requires", "code", "found"),
    [("numpy", USES_FREE, []), ("torch>=2.10", USES_FREE, ["PB163"]), ("numpy", COLLIDING, ["PB163"])],
    ids=["no torch required", "torch required", "another library's symbol"],
)
def test_accepts_a_bridge_to_a_torch_that_is_not_installed(tmp_path, requires, code, found):
    site = environment(tmp_path, extension(code=code, needs=()))
    with (site / "ext-1.0.dist-info/METADATA").open("a") as metadata:
        metadata.write(f"Requires-Dist: {requires}\n")
    row, _ = audited(site, FAILED if found else PASSED)
    assert [one["id"] for one in row["findings"]] == found
    assert row["loading"][0]["assumed"] == ([] if found else ["libtorch_cpu.so"])


def test_notes_that_a_folder_belongs_to_no_python(tmp_path):
    """pip install --target"""
    extension(needs=("libgone.so.7",)).write(tmp_path / "target")
    found, document = rows(tmp_path / "target", "--distributions")
    assert (document["interpreter"], found["ext"]["findings"]) == (None, [])
    assert [note for note in document["notes"] if "belongs to no Python, as after pip install --target" in note]
    site = environment(tmp_path, torch(), extension())
    assert rows(site, "--distributions")[1]["notes"] == []


def test_accepts_symbols_of_another_torch_library(tmp_path):
    package = torch(exports="namespace c10 { void other() {} }\n")
    package.libraries["torch/lib/libtorch_python.so"] = Library(
        needs=("libtorch_cpu.so", "libc10.so"), code=FREE + "void c10::free_cpu(void*) {}\n"
    )
    row, _ = audited(environment(tmp_path, package, extension()), FAILED)
    what = only_finding(row)["what"]
    assert "needs c10::free_cpu(void*), which nothing defines that is loaded with it: this release of torch has" in what


def test_requires_one_file_of_several_releases_to_load(tmp_path):
    good, bad = Library(code=MODULE.format("")), Library(code=MODULE.format(""), needs=("libav.so.58",))
    names = [f"ext/core{number}.abi3.so" for number in (4, 5)]
    code = 'extern "C" void* PyInit_core{}() {{ return nullptr; }}\n'
    sound = [good.but(code=code.format(4)), bad.but(code=code.format(5))]
    site = environment(tmp_path, torch(), Package("ext", dict(zip(names, sound, strict=True))))
    assert audited(site)[0]["findings"] == []
    other = environment(tmp_path / "other", torch(), Package("ext", {names[1]: sound[1]}))
    assert only_finding(audited(other, FAILED)[0])["id"] == "PB161"


def versioned(version):
    """A library that defines a symbol of that version."""
    script = text("script.map", f"{version} {{ global: *; }};\n")
    source = text("versioned.c", "int versioned(void) { return 1; }\n")
    return made(
        "libversioned.so", compiler(MACHINE, "gcc"), "-shared", "-fPIC", f"-Wl,--version-script={script}",
        "-Wl,-soname,libversioned.so", "-o", OUT, source,
    )  # fmt: skip


def test_names_a_version_that_the_library_lacks(tmp_path):
    source = text("user.c", "int versioned(void);\nvoid* PyInit__C(void) { versioned(); return 0; }\n")
    module = made(
        "_C.abi3.so", compiler(MACHINE, "gcc"), "-shared", "-fPIC", "-Wl,-rpath,$ORIGIN", "-o", OUT, source,
        versioned("V_2"),
    )  # fmt: skip
    package = Package("ext", {"ext/_C.abi3.so": module, "ext/libversioned.so": versioned("V_2")})
    assert audited(environment(tmp_path, torch(), package))[0]["findings"] == []
    old = package.but(libraries={**package.libraries, "ext/libversioned.so": versioned("V_1")})
    finding = only_finding(audited(environment(tmp_path / "old", torch(), old), FAILED)[0])
    assert finding["id"] == "PB162"
    assert "needs symbol version V_2, but" in finding["what"]


def test_ld_library_path_comes_before_runpath_and_the_one_that_wins_is_named(tmp_path, monkeypatch):
    module = Library(needs=("libtorch_python.so",), runpath=("$ORIGIN/lib", "$ORIGIN/../nvidia/lib"),
                     code=MODULE.format(""))  # fmt: skip
    package = torch()
    package.libraries[f"torch/_C.{TAG}.so"] = module.but(needs=("libtorch_python.so", "libcudnn.so.9"))
    cudnn = Package("nvidia-cudnn", {"nvidia/lib/libcudnn.so.9": Library()})
    site = environment(tmp_path, package, cudnn)
    assert audited(site, name="torch")[1]["shared_libraries"] == []
    elsewhere = tmp_path / "elsewhere"
    Package("cudnn", {"libcudnn.so.9": Library(code="int other() { return 9; }\n")}).write(elsewhere)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(elsewhere))
    [shared] = audited(site, name="torch")[1]["shared_libraries"]
    assert shared == {
        "name": "libcudnn.so.9",
        "taken": str(elsewhere / "libcudnn.so.9"),
        "how": "LD_LIBRARY_PATH",
        "passed_over": [str(site / "nvidia/lib/libcudnn.so.9")],
        "beside": [],
    }
    assert f"{elsewhere}/libcudnn.so.9, by LD_LIBRARY_PATH; not" in read_audit_text(site, "--distributions")


def test_accepts_two_modules_of_one_name(tmp_path):
    """vllm brings the `_C` of DeepGEMM beside torch's `_C`."""
    site = environment(tmp_path, torch(), extension())
    assert audited(site)[1]["shared_libraries"] == []


REAL = pathlib.Path(os.environ.get("PBPROBE_TEST_TORCH", "."))
ONLY_TORCH = pytest.mark.skipif(not (REAL / "torch/lib").is_dir(), reason="PBPROBE_TEST_TORCH names no torch")


def exports(file):
    listed = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def ldd_r(file, python, libraries):
    """Undefined symbols as ld.so itself says them, of the file as a part of this Python's process."""
    traced = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes", "LD_BIND_NOW": "yes", "LD_VERBOSE": ""}
    traced |= {"LD_PRELOAD": str(file), "LD_LIBRARY_PATH": ":".join(map(str, libraries))}
    done = subprocess.run([python], env=traced, capture_output=True, text=True, check=False)
    return set(re.findall(r"undefined symbol: (\S+?),?\s", done.stdout + done.stderr))


@pytest.mark.parametrize("code", [USES_FREE, FATAL + MODULE.format("c10::FatalSignalHandler::fatalSignalHandler(0);")])
def test_unresolved_symbols_are_those_of_ldd(tmp_path, code):
    more = "void one(); int two(long); extern int three;\n" + code.replace(
        "return nullptr;", "one(); two(1); three = 2; return nullptr;"
    )
    site = environment(tmp_path, torch(), extension(code=more))
    row, _ = audited(site, FAILED)
    ours = {one["name"] for one in row["loading"][0]["unresolved"]}
    assert {"_Z3onev", "_Z3twol", "three"} <= ours
    assert ours == ldd_r(site / f"ext/_C.{TAG}.so", os.path.realpath(sys.executable), [site / "torch/lib"])


@ONLY_TORCH
def test_resolves_a_real_torch_like_ldd():
    # A report has the same rows as an audit, and takes the files from the cache: reading them takes half a minute.
    result = subprocess.run([PROGRAM, "report", REAL, "--no-figures", "--format", "json"], capture_output=True,
                            text=True, check=False)  # fmt: skip
    document = json.loads(result.stdout)["environment"]
    python = document["interpreter"]
    if python is None:
        pytest.skip("the environment of this torch has no interpreter of its own")
    cuda = sorted({file.parent for file in REAL.glob("nvidia/**/lib/*.so*")})
    checked = 0
    for row in document["distributions"]:
        if row["name"] != "torch":
            continue
        for loading in row["loading"]:
            ours = {one["name"] for one in loading["unresolved"]}
            theirs = ldd_r(REAL / loading["path"], python, [REAL / "torch/lib", *cuda])
            for library in loading["assumed"]:
                theirs -= exports(REAL / library)
            assert ours == {name for name in theirs if not re.match(r"cu[A-Z]|nvml", name)}, loading["path"]
            checked += 1
    assert checked > 5
