# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""PB1xx: what files, versions and packages say."""

import pytest
from builds import ANY, BESIDE, CPU, CUDA, HOST_CODE, NCCL, cpu, cuda, shared
from made import MACHINE, cuda_release
from rows import Row, ask
from small_builds import Build, Library, linked

MODULE = "torch/_C.cpython-{}-" + MACHINE + "-linux-gnu.so"
C10 = "torch/lib/libc10.so"
OLD_STRINGS = "#define _GLIBCXX_USE_CXX11_ABI 0\n#include <string>\n"
NEW_STRINGS = "#include <string>\n"
TAG = "cp311-cp311-{}"
OTHER = "aarch64" if MACHINE == "x86_64" else "x86_64"
LATER_GLIBC = (  # a symbol that is as new as the linker script says
    "#include <dlfcn.h>\nvoid* f(void) { return dlopen(0, 0); }\n"
)


def build_python_user(library: str) -> Build:
    """An extension module of torch that needs an interpreter's library."""
    module = "torch/_C.cpython-311-x86_64-linux-gnu.so"
    return cpu().but({module: Library(needs=(library,))})


def strings(head: str) -> str:
    functions = "".join(f"int f{i}(const std::string& s) {{ return (int)s.size() + {i}; }}\n" for i in range(12))
    return f"{head}namespace c10 {{ {functions} }}\n"


def names(prefix: str, count: int = 12) -> str:
    """C functions of a library that is linked in."""
    return "".join(f'extern "C" int {prefix}{i}(void) {{ return {i}; }}\n' for i in range(count))


def compiler(newest: str) -> Library:
    return Library(
        code=f'const char* const kTargets[] = {{"compute_75", "compute_90a", "{newest}", '
        '"Cuda compilation tools, release 12.8, V12.8.93"};\n'
        "const char* target(int i) { return kTargets[i]; }\n"
    )


def minor_sm_claim() -> str:
    return f"sm120,cuda={cuda_release()}"


# Packages of toolkit release 13.0.2, except cuFFT, as recipes/cuda_components.json lists them.
TOOLKIT_13_0 = ("nvidia_cublas-13.1.0.3", "nvidia_cuda_nvrtc-13.0.88", "nvidia_cufft-12.0.0.61")
MIXED = (*TOOLKIT_13_0[:2], "nvidia_cufft-11.4.1.4")
TOOLKIT_12_9 = ("nvidia_cublas_cu12-12.9.1.4", "nvidia_cuda_nvrtc_cu12-12.9.86", "nvidia_cufft_cu12-11.4.1.4")

CUDNN = "nvidia/cudnn/lib/libcudnn.so.9"
OPENS = Library(code='const char* part() { return "libcudnn_graph.so"; }\n')
PART = "nvidia/cudnn/lib/libcudnn_graph.so.9"

READING = [
    Row("PB101", "the file is truncated", lambda: cuda().but({CUDA: cut(cuda)}), cuda, ANY),
    Row(
        "PB102",
        "libnccl.so.2",
        lambda: cuda(nccl=["collective120.o"]).but({NCCL: Library(units=("collective120.o",), keeps=0.5)}),
        lambda: cuda(nccl=["collective120.o"]),
        ANY,
    ),
    Row("PB103", "holds no libtorch_cpu.so", lambda: cuda().but({CPU: None}), cuda, ANY),
]


NAMED = [
    Row(
        "PB132",
        "the recipe pytorch-python311-cpu-avx is claimed, and the name in the Nix store is "
        "python3.11-pytorch210-python311-cpu-avx2-2.10.0",
        lambda: named("avx2"),
        lambda: named("avx"),
        "pytorch-python311-cpu-avx",
    ),
    Row(
        "PB133",
        "libtorch_cpu.so looks for libraries in /build/source/build/lib, its build folder",
        lambda: cpu(Library(runpath=("$ORIGIN", "/build/source/build/lib"))),
        lambda: cpu(Library(runpath=("$ORIGIN", "/usr/lib/build-tools"))),
        ANY,
    ),
    Row(
        "PB149",
        "the file name is libc10.so, and its DT_SONAME says libtorch_cpu.so",
        lambda: cpu().but({C10: Library(ready=str(linked("libtorch_cpu.so", Library())))}),
        lambda: cpu().but({C10: Library()}),
        ANY,
    ),
]


def named(isa: str) -> Build:
    """A build for avx, with the name that Nix gives to a recipe's build."""
    store = f"python3.11-pytorch210-python311-cpu-{isa}-2.10.0"
    return Build({CPU: Library(ready="libavx.so")}, version="2.10.0", tag=None, store=store)


def cut(build) -> Library:
    library = build().libraries[CUDA]
    return Library(needs=library.needs, units=library.units, keeps=0.5)


def version_py(*lines: str) -> tuple[tuple[str, str], ...]:
    return (("torch/version.py", "\n".join((*lines, "git_version = '70d99e9'")) + "\n"),)


def answering(release: str) -> Library:
    """A libtorch_cpu.so that tells its release as torch's does (TORCH_ABI_VERSION)."""
    major, minor, patch = release.split(".")
    number = f"{major}ull << 56 | {minor}ull << 48 | {patch}ull << 40"
    return Library(code=f'extern "C" unsigned long aoti_torch_abi_version(void) {{ return {number}; }}\n')


def metadata(folder: str, version: str, name: str = "torch") -> tuple[tuple[str, str], ...]:
    return ((f"{folder}/METADATA", f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nName: other\n"),)


def looking(*folders: str) -> Build:
    return cpu(Library(runpath=folders))


ONE = "torch-2.11.0.dist-info"
CPU_VERSION = "__version__ = '2.11.0+cpu'"
IDENTITY = [
    Row(
        "PB105",
        "torch 2.11.0 is claimed, and the files state torch 2.11.0rc1",
        lambda: cpu(version="2.11.0rc1"),
        lambda: cpu(version="2.11.0"),
        ANY,
    ),
    Row(
        "PB105",
        "torch 2.11.0 is claimed, and the files state torch 2.11.0.dev20260101+cpu",
        lambda: cpu(version="2.11.0.dev20260101+cpu"),
        cpu,
        ANY,
    ),
    Row(
        "PB120",
        "METADATA says torch 2.9.1, and torch's files",
        lambda: cpu(texts=metadata(ONE, "2.9.1")),
        lambda: cpu(texts=metadata(ONE, "2.11.0")),
        ANY,
    ),
    Row(
        "PB120",
        "METADATA says torch 2.11.0rc1, and torch's files",
        lambda: cpu(texts=metadata(ONE, "2.11.0rc1")),
        lambda: cpu(texts=metadata(ONE, "2.11.0+cpu")),
        ANY,
    ),
    Row(
        "PB120",
        "METADATA says torch 2.11.0+cu130, and torch's files say 2.11.0+cpu",
        lambda: cpu(texts=metadata(ONE, "2.11.0+cu130")),
        lambda: cpu(texts=metadata(ONE, "2.11.0+CPU")),
        ANY,
    ),
    Row("PB120", "torch-2.11.0.post1.dist-info says torch 2.11.0.post1", lambda: cpu(package="2.11.0.post1"), cpu, ANY),
    Row(
        "PB134",
        "the files belong to torch, and the package's metadata names torchvision 2.11.0",
        lambda: cpu(texts=metadata(ONE, "2.11.0", "torchvision")),
        lambda: cpu(texts=metadata(ONE, "2.11.0", "Torch")),
        ANY,
    ),
    Row(
        "PB134",
        "and torch is one package: torch-2.11.0.dist-info (torch ?), torch-2.9.1.dist-info (torch 2.9.1)",
        lambda: cpu(texts=metadata("torch-2.9.1.dist-info", "2.9.1")),
        lambda: cpu(texts=metadata("torchvision-0.26.0.dist-info", "0.26.0", "torchvision")),
        ANY,
    ),
    Row(
        "PB134",
        "pytorch-2.11.0.dist-info (torch 2.11.0)",
        lambda: cpu(texts=metadata("pytorch-2.11.0.dist-info", "2.11.0")),
        lambda: cpu(texts=metadata("pytorch-2.11.0.dist-info", "2.11.0", "pytorch")),
        ANY,
    ),
    Row(
        "PB135",
        "torch/version.py:1 says torch 2.9.1, and torch/version.py:2 says 2.11.0+cpu",
        lambda: cpu(texts=version_py("__version__ = '2.9.1'", CPU_VERSION)),
        lambda: cpu(texts=version_py(f"{CPU_VERSION}  # __version__ = '2.9.1'", CPU_VERSION)),
        ANY,
    ),
    Row(
        "PB135",
        "torch/version.py:2 says CUDA 12.8, and torch/version.py:3 says no text",
        lambda: cpu(texts=version_py(CPU_VERSION, "cuda = '12.8'", "cuda = None")),
        lambda: cpu(texts=version_py(CPU_VERSION, '"""', "cuda = '12.8'", '"""', "cuda = None")),
        ANY,
    ),
    Row(
        "PB102",
        "version.py: line 2: the statement is more than an assignment of a constant",
        lambda: cpu(texts=version_py(CPU_VERSION, "__version__ = __version__.replace('11', '9')")),
        lambda: cpu(texts=version_py(CPU_VERSION, "debug = False")),
        ANY,
    ),
    Row(
        "PB136",
        "the code of libtorch_cpu.so returns the version torch 2.9.1, and the package states 2.11.0+cpu",
        lambda: cpu(answering("2.9.1")),
        lambda: cpu(answering("2.11.0")),
        ANY,
    ),
]

RUNPATHS = [
    Row(
        "PB137",
        '"", which means',
        lambda: looking("$ORIGIN", "", "/usr/lib"),
        lambda: looking("$ORIGIN", "/usr/lib"),
        ANY,
    ),
    Row("PB137", '"", which means', lambda: looking("$ORIGIN", ""), lambda: looking("${ORIGIN}"), ANY),
    Row("PB137", "in ., which begins where", lambda: looking("."), lambda: looking("$ORIGIN/."), ANY),
    Row("PB137", "in lib, which begins where", lambda: looking("lib", "$ORIGIN"), lambda: looking("/lib"), ANY),
    Row("PB137", "in /tmp/libs, which every", lambda: looking("/tmp/libs"), lambda: looking("/usr/lib64/libs"), ANY),
    Row(
        "PB137",
        "in /opt/../var/tmp, which every user",
        lambda: looking("/opt/../var/tmp"),
        lambda: looking("/opt/../usr/lib"),
        ANY,
    ),
    Row(
        "PB137",
        "which every user may write to",
        lambda: looking(shared("open", 0o777)),
        lambda: looking(shared("closed", 0o755)),
        ANY,
        beside_twin=frozenset({"PB139"}),
    ),
    Row(
        "PB138",
        "in /home/someone/pytorch/torch/lib, which is no place for installed software",
        lambda: looking("$ORIGIN", "/home/someone/pytorch/torch/lib"),
        lambda: looking("$ORIGIN", "$ORIGIN/../../nvidia/cu13/lib", "/usr/local/cuda/lib64"),
        ANY,
    ),
    Row(
        "PB138",
        "in $ORIGIN/../../../../../../lib, which is no",
        lambda: looking("$ORIGIN/../../../../../../lib"),
        lambda: looking("$ORIGIN/../../../../../lib"),
        ANY,
    ),
    Row(
        "PB139",
        "in /opt/intel/lib, which belongs neither",
        lambda: looking("/opt/intel/lib"),
        lambda: looking("/opt/cuda/lib"),
        ANY,
    ),
]


CLAIMED = [
    Row(
        "PB105",
        "torch 2.11.0 is claimed, and the files state torch 2.9.1+cpu",
        lambda: cpu(version="2.9.1+cpu"),
        lambda: cpu(version="2.11.0+cpu"),
        ANY,
    ),
    Row(
        "PB106",
        "CUDA 12.8 is claimed, and the files state CUDA ",
        lambda: cuda(),
        lambda: cuda(),
        "cuda=12.8",
        twin_claim=lambda: f"cuda={cuda_release()}",
    ),
    Row("PB106", "is claimed, and torch 2.11.0+cpu is a CPU build", cpu, cuda, lambda: f"cuda={cuda_release()}"),
    Row(
        "PB107",
        "Python 3.13 (cp313) is claimed, and torch's extension module is for cp311",
        lambda: cpu(libraries={CPU: Library(), MODULE.format("311"): Library()}),
        lambda: cpu(libraries={CPU: Library(), MODULE.format("313"): Library()}, tag=f"cp313-cp313-linux_{MACHINE}"),
        "python=3.13",
    ),
    Row(
        "PB108",
        "BLAS mkl is claimed, and libtorch_cpu.so has openblas",
        lambda: cpu(Library(needs=("libopenblas.so.0",))).but({"torch/lib/libopenblas.so.0": Library()}),
        lambda: cpu(Library(code=names("mkl_") + names("dnnl_"))),
        "blas=mkl",
    ),
    Row(
        "PB109",
        f"sm110 is claimed, which exists on aarch64-linux only, and this build is for {MACHINE}-linux",
        lambda: cuda(units=("sm110.fatbin",), magma="sm110.fatbin"),
        lambda: cuda(units=("sm110.fatbin",), magma="sm110.fatbin", machine="aarch64"),
        "sm110",
    ),
]

TOGETHER = [
    Row(
        "PB110",
        "it needs libraries of another release: libcudart.so.12 (there it is libcudart.so.13)",
        lambda: needing("libcudart.so.12"),
        lambda: needing("libcudart.so.13"),
        ANY,
    ),
    Row(
        "PB111",
        "most CUDA libraries belong to CUDA release 13.0, but these do not: cuFFT 11.4.1.4",
        lambda: cuda(installed=MIXED),
        lambda: cuda(installed=TOOLKIT_13_0),
        ANY,
    ),
    Row(
        "PB112",
        "and these libraries belong to no release of it: NVRTC 12.9.86, cuBLAS 12.9.1.4, cuFFT 11.4.1.4",
        lambda: cuda(installed=TOOLKIT_12_9, cuda="13.0", version="2.11.0+cu130"),
        lambda: cuda(installed=TOOLKIT_13_0, cuda="13.0", version="2.11.0+cu130"),
        "cuda=13.0",
    ),
    Row(
        "PB113",
        "ptxas 12.8.93 does not support 12.0",
        lambda: cuda().but({"torch/bin/ptxas": compiler("compute_100a")}),
        lambda: cuda().but({"torch/bin/ptxas": compiler("compute_120a")}),
        "sm120",
    ),
    Row(
        "PB115",
        "libtorch_cpu.so needs libmade-up.so.3",
        lambda: cpu(Library(needs=("libmade-up.so.3",))),
        lambda: cpu(Library(needs=("libmade-up.so.3",))).but({"torch/lib/libmade-up.so.3": Library()}),
        ANY,
    ),
    Row(
        "PB140",
        "libtorch_cpu.so needs libc10.so, a file of libtorch that is missing",
        lambda: cpu(Library(needs=("libc10.so",))),
        lambda: cpu(Library(needs=("libc10.so",))).but({C10: Library()}),
        ANY,
    ),
    Row(
        "PB116",
        "opens libcudnn_graph.so at run time",
        lambda: cpu().but({CUDNN: OPENS}),
        lambda: cpu().but({CUDNN: OPENS, PART: Library()}),
        ANY,
    ),
    Row(
        "PB117",
        "2 OpenMP libraries are loaded together",
        lambda: cpu(Library(needs=("libiomp5.so", "libgomp.so.1"))).but(
            {"torch/lib/libiomp5.so": Library(), "torch/lib/libgomp.so.1": Library()}
        ),
        lambda: cpu(Library(needs=("libgomp.so.1",))).but({"torch/lib/libgomp.so.1": Library()}),
        ANY,
    ),
    Row(
        "PB183",
        "_C.cpython-311-x86_64-linux-gnu.so is for cp311, and needs libpython3.12.so.1.0",
        lambda: build_python_user("libpython3.12.so.1.0"),
        lambda: build_python_user("libpython3.11.so.1.0"),
        ANY,
        beside=frozenset({"PB115"}),
        beside_twin=frozenset({"PB115"}),
    ),
    Row(
        "PB118",
        "which holds a stub of the driver",
        lambda: cpu(Library(runpath=("/opt/cuda/lib64/stubs",))),
        lambda: cpu(Library(runpath=("/opt/cuda/lib64",))),
        ANY,
    ),
    Row(
        "PB118",
        "the package ships a libcuda, which belongs to the driver",
        lambda: cpu().but({"torch/lib/libcuda.so.1": Library()}),
        lambda: cpu(Library(needs=("libcuda.so.1",))),
        ANY,
    ),
]

PACKAGES = [
    Row(
        "PB119",
        "torch's package requires cuDNN 9.19.0.56, and version 9.11.0.98 is installed",
        lambda: cpu(installed=("nvidia_cudnn_cu13-9.11.0.98",)),
        lambda: cpu(installed=("nvidia_cudnn_cu13-9.19.0.56",)),
        ANY,
    ),
    Row(
        "PB120",
        "the package's version 2.11.0+cu128 says CUDA 12.8, and torch is built without CUDA",
        lambda: cpu(version="2.11.0+cu128"),
        cpu,
        ANY,
    ),
    Row("PB120", "2.9.1", lambda: cpu(version="2.11.0+cpu", package="2.9.1"), cpu, ANY),
    Row(
        "PB121",
        "says linux_sparc64, and its files are built for",
        lambda: cpu(tag=TAG.format("linux_sparc64")),
        lambda: cpu(tag=TAG.format(f"linux_{MACHINE}")),
        ANY,
    ),
    Row(
        "PB121",
        "says cp311, and torch's extension module is for cp313",
        lambda: cpu(libraries={CPU: Library(), MODULE.format("313"): Library()}),
        lambda: cpu(libraries={CPU: Library(), MODULE.format("311"): Library()}),
        ANY,
    ),
    Row(
        "PB121",
        "promises to run with glibc 2.5, and libtorch needs glibc 2.",
        lambda: cpu(Library(code=LATER_GLIBC), tag=TAG.format(f"manylinux_2_5_{MACHINE}")),
        lambda: cpu(Library(code=LATER_GLIBC), tag=TAG.format(f"manylinux_2_99_{MACHINE}")),
        ANY,
    ),
    Row(
        "PB122",
        "symbols of this file use the std::string ABI before C++11",
        lambda: cpu(Library(code=strings(OLD_STRINGS))),
        lambda: cpu(Library(code=strings(NEW_STRINGS))),
        ANY,
    ),
    Row("PB123", "do not state the commit", lambda: cpu(commit="Unknown"), cpu, ANY),
    Row(
        "PB124",
        "libtorch_cpu.so has no oneDNN",
        lambda: cpu(Library(code=names("mkl_"))),
        lambda: cpu(Library(code=names("mkl_") + names("dnnl_"))),
        ANY,
    ),
    Row("PB125", "libtorch_cuda.so needs no cuDNN", lambda: without(BESIDE[0]), cuda, ANY),
    Row("PB126", "this torch has no MAGMA", lambda: without(BESIDE[1]), cuda, ANY),
    Row("PB127", "no file of libtorch needs NVSHMEM", lambda: without(BESIDE[2]), cuda, ANY),
    Row("PB128", "link leads to a missing shared object", lambda: cpu(links=("torch/lib/libtorch_old.so",)), cpu, ANY),
]


def levelled(level: str, name: str):
    """Beside the library for every CPU one for those of that level."""

    def build() -> Build:
        if not (HOST_CODE / f"lib{name}.so").exists():
            pytest.skip(f"lib{name}.so was not built: no cross compiler")
        best = {f"torch/lib/glibc-hwcaps/{level}/libtorch_cpu.so": Library(ready=f"lib{name}.so")}
        return Build({CPU: Library(ready="libgeneric.so"), **best}, tag=None)

    return build


def without(name: str):
    needs = tuple(other for other in BESIDE if other != name)
    return cuda().but({CUDA: Library(needs=needs, units=("first120.o", "second120.o"))})


def needing(runtime: str):
    library = Library(needs=(*BESIDE, runtime), units=("first120.o", "second120.o"))
    build = cuda(cuda="13.0", version="2.11.0+cu130")
    return build.but({CUDA: library, f"torch/lib/{runtime}": Library()})


HWCAPS = [
    Row(
        "PB150",
        "avx512f",
        levelled("x86-64-v3", "avx512"),
        levelled("x86-64-v4", "avx512"),
        ANY,
    ),
    Row("PB150", "its folder does not promise", levelled("x86-64-v2", "avx2"), levelled("x86-64-v3", "avx2"), ANY),
]
STACKS = [
    Row(
        "PB181",
        "libtorch_cpu.so asks for an executable stack",
        lambda: cpu(Library(linking=("-Wl,-z,execstack",))),
        lambda: cpu(Library(linking=("-Wl,-z,noexecstack",))),
        ANY,
    ),
]
ROWS = [*HWCAPS, *STACKS, *READING, *NAMED, *IDENTITY, *RUNPATHS, *CLAIMED, *TOGETHER, *PACKAGES]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_finds_planted_fault_and_accepts_twin(tmp_path, row):
    ask(row, tmp_path)
