# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Files that a process loads from other places than the environment's folder: LD_LIBRARY_PATH, sys.path, dlopen()."""

import json
import shutil
import subprocess
import sys

import pytest
from made import MACHINE, OUT, PROGRAM, SOURCE, compiler, made, text
from packages import FAILED, PASSED, Library, Package, audit
from test_loading import FATAL, MODULE, TAG, audited, environment, extension, only_finding, torch

# A small torch with CUDA lacks more than what is asked here.
LOADING = ("PB161", "PB162", "PB163", "PB180")


def find_torch_findings(site):
    """The findings on how torch's process loads."""
    document = json.loads(audit(site, "--distributions", "--format", "json").stdout)
    [row] = [one for one in document["distributions"] if one["name"] == "torch"]
    return [one for one in row["findings"] if one["id"] in LOADING]


OLD = "int old(void) { return 1; }\n"
NEW = OLD + "int fresh(void) { return 2; }\n"
USES_NEW = "int fresh(void);\nint use(void) { return fresh(); }\n"
SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def library(name, code, against=(), runpath="$ORIGIN"):
    """Makes a library in the form of CUDA's libraries: each symbol has the library's name as version."""
    script = text("script.map", f"{name} {{ global: *; }};\n")
    return made(
        name, compiler(MACHINE, "gcc"), "-shared", "-fPIC", "-Wl,--no-as-needed", f"-Wl,--version-script={script}",
        f"-Wl,-soname,{name}", "-Wl,--enable-new-dtags", f"-Wl,-rpath,{runpath}", "-o", OUT,
        text("code.c", code), *against,
    )  # fmt: skip


def torch_with_cuda(link_code=NEW):
    """libtorch_global_deps.so needs libcusparse, and that needs nvJitLink by DT_RUNPATH."""
    link = library("libnvJitLink.so.12", NEW)
    package = torch()
    package.libraries["torch/lib/libtorch_global_deps.so"] = Library(
        needs=("libcudart.so.12", "libcusparse.so.12"),
        runpath=("$ORIGIN/../../nvidia/cusparse/lib", "$ORIGIN/../../nvidia/cuda_runtime/lib"),
    )
    cuda = Package("nvidia-cuda", {
        "nvidia/cuda_runtime/lib/libcudart.so.12": Library(),
        "nvidia/cusparse/lib/libcusparse.so.12": library(
            "libcusparse.so.12", USES_NEW, [link], "$ORIGIN/../../nvjitlink/lib"
        ),
        "nvidia/nvjitlink/lib/libnvJitLink.so.12": library("libnvJitLink.so.12", link_code),
    })  # fmt: skip
    return package, cuda


def elsewhere(folder, files, monkeypatch):
    """A folder of LD_LIBRARY_PATH."""
    folder.mkdir()
    for name, file in files.items():
        shutil.copyfile(file, folder / name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    return folder


def test_names_the_path_and_the_cause_of_a_redirected_library(tmp_path, monkeypatch):
    site = environment(tmp_path, *torch_with_cuda())
    assert find_torch_findings(site) == []
    old = elsewhere(tmp_path / "old", {"libnvJitLink.so.12": library("libnvJitLink.so.12", OLD)}, monkeypatch)
    [finding] = find_torch_findings(site)
    assert finding["id"] == "PB163"
    says = "needs fresh@libnvJitLink.so.12, which {}/libnvJitLink.so.12 (found by LD_LIBRARY_PATH) does not define"
    assert says.format(old) in finding["what"]
    assert finding["remedy"] == f"remove {old} from LD_LIBRARY_PATH"


def test_torch_opens_libraries_by_path_after_a_failed_start(tmp_path, monkeypatch):
    """torch/__init__.py opens nvJitLink before cuSPARSE, so that LD_LIBRARY_PATH does not matter."""
    site = environment(tmp_path, *torch_with_cuda())
    order = '"cuda_runtime": "libcudart.so.*[0-9]", "nvjitlink": "libnvJitLink.so.*[0-9]", "cusparse": "libcusparse.so"'
    (site / "torch/__init__.py").write_text(f"cuda_libs = {{{order}}}\n")
    elsewhere(tmp_path / "old", {"libnvJitLink.so.12": library("libnvJitLink.so.12", OLD)}, monkeypatch)
    assert find_torch_findings(site) == []


CALLS = {
    "2.5": 'cuda_libs = {"nvjitlink": "libnvJitLink.so.*[0-9]"}\n',
    "2.7": '_preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")\n',
    "2.11": "_preload_cuda_deps()\n",
}


@pytest.mark.parametrize("release", CALLS)
def test_torch_opens_libraries_by_path_after_the_start_from_2_6_on(tmp_path, monkeypatch, release):
    package, cuda = torch_with_cuda()
    start = package.libraries["torch/lib/libtorch_global_deps.so"]
    package.libraries["torch/lib/libtorch_global_deps.so"] = start.but(needs=("libcudart.so.12",))
    package.libraries[f"torch/_C.{TAG}.so"] = Library(
        needs=("libtorch_python.so", "libcusparse.so.12"),
        runpath=("$ORIGIN/lib", "$ORIGIN/../nvidia/cusparse/lib"),
        code=MODULE.format(""),
    )
    for name in ("cublas/lib/libcublasLt", "cublas/lib/libcublas", "cudnn/lib/libcudnn", "cuda_nvrtc/lib/libnvrtc",
                 "cuda_nvrtc/lib/libnvrtc-builtins", "cuda_cupti/lib/libcupti", "cufft/lib/libcufft",
                 "curand/lib/libcurand"):  # fmt: skip
        cuda.libraries[f"nvidia/{name}.so.12"] = Library()
    site = environment(tmp_path, package, cuda)
    (site / "torch/__init__.py").write_text(CALLS[release])
    elsewhere(tmp_path / "old", {"libnvJitLink.so.12": library("libnvJitLink.so.12", OLD)}, monkeypatch)
    assert [one["id"] for one in find_torch_findings(site)] == (["PB163"] if release == "2.5" else [])


def cudnn(names="libcudnn_ops.so.9"):
    code = f'const char* name(void) {{ static const char* const all[] = {{"{names}"}}; return all[0]; }}\n'
    package = torch()
    package.libraries[f"torch/_C.{TAG}.so"] = Library(
        needs=("libtorch_python.so", "libcudnn.so.9"),
        runpath=("$ORIGIN/lib", "$ORIGIN/../nvidia/cudnn/lib"),
        code=MODULE.format(""),
    )
    parts = {"libcudnn.so.9": library("libcudnn.so.9", code), "libcudnn_ops.so.9": library("libcudnn_ops.so.9", OLD)}
    return package, Package("nvidia-cudnn", {f"nvidia/cudnn/lib/{name}": file for name, file in parts.items()})


def test_reports_parts_of_another_cudnn(tmp_path, monkeypatch):
    site = environment(tmp_path, *cudnn())
    other = elsewhere(tmp_path / "other", {"libcudnn_ops.so.9": library("libcudnn_ops.so.9", NEW)}, monkeypatch)
    [finding] = find_torch_findings(site)
    assert (finding["id"], finding["severity"]) == ("PB180", "warn")
    assert f"libcudnn_ops.so.9 is taken from {other}/libcudnn_ops.so.9 (found by LD_LIBRARY_PATH)" in finding["what"]


def test_accepts_a_copy_of_the_same_cudnn(tmp_path, monkeypatch):
    elsewhere(tmp_path / "same", {"libcudnn_ops.so.9": library("libcudnn_ops.so.9", OLD)}, monkeypatch)
    assert find_torch_findings(environment(tmp_path, *cudnn())) == []


def test_accepts_another_profiler(tmp_path, monkeypatch):
    """torch opens CUPTI by its path, so that a toolkit in ld.so.cache has the parts that it opens."""
    code = 'const char* name(void) { static const char* const all[] = {"libnvperf_host.so"}; return all[0]; }\n'
    package = torch()
    package.libraries[f"torch/_C.{TAG}.so"] = Library(
        needs=("libtorch_python.so", "libcupti.so.12"),
        runpath=("$ORIGIN/lib", "$ORIGIN/../nvidia/cuda_cupti/lib"),
        code=MODULE.format(""),
    )
    parts = {"libcupti.so.12": library("libcupti.so.12", code), "libnvperf_host.so": library("libnvperf_host.so", OLD)}
    elsewhere(tmp_path / "other", {"libnvperf_host.so": library("libnvperf_host.so", NEW)}, monkeypatch)
    cuda = Package("nvidia-cuda-cupti", {f"nvidia/cuda_cupti/lib/{name}": file for name, file in parts.items()})
    assert find_torch_findings(environment(tmp_path, package, cuda)) == []


def test_accepts_another_unopened_library(tmp_path, monkeypatch):
    elsewhere(tmp_path / "other", {"libcudnn_ops.so.9": library("libcudnn_ops.so.9", NEW)}, monkeypatch)
    assert find_torch_findings(environment(tmp_path, *cudnn("libcudnn_cnn.so.9"))) == []


def base_and_venv(folder, *packages):
    """torch in a base Python, the packages in a virtual environment above it."""
    base = folder / "base" / SITE
    torch().write(base)
    (base / "torch/version.py").write_text("__version__ = '2.11.0+cpu'\ncuda = None\ngit_version = '70d99e9'\n")
    (folder / "base/bin").mkdir()
    return environment(folder, *packages), base


def see_base_by_config(site, base):
    home = base.parents[2] / "bin"
    (site.parents[2] / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = true\nversion = 3\n")


def see_base_by_pth(site, base):
    (site / "base.pth").write_text(f"# packages of the base\n{base}\nimport sys\n")


LACKING = extension(code=FATAL + MODULE.format("c10::FatalSignalHandler::fatalSignalHandler(0);"))


@pytest.mark.parametrize("see_base", [see_base_by_config, see_base_by_pth])
def test_judges_packages_above_a_torch_on_sys_path(tmp_path, see_base):
    site, base = base_and_venv(tmp_path, LACKING)
    see_base(site, base)
    row, document = audited(site, FAILED)
    assert "which torch 2.11.0+cpu lacks: the package loads only with torch 2.8 to 2.10" in only_finding(row)["what"]
    assert {one["name"] for one in document["distributions"]} == {"ext", "torch"}
    sound, base = base_and_venv(tmp_path / "sound", extension())
    see_base(sound, base)
    assert audited(sound)[0]["findings"] == []


@pytest.mark.parametrize("see_base", [see_base_by_config, see_base_by_pth])
@pytest.mark.parametrize("package", [LACKING, extension()])
def test_report_judges_packages_of_the_active_environment(tmp_path, see_base, package):
    site, base = base_and_venv(tmp_path, package)
    see_base(site, base)
    host = SOURCE / "tests/judge/recorded/xeon-without-gpu.json"
    variables = {"VIRTUAL_ENV": str(site.parents[2]), "PATH": "/nonexistent", "HOME": str(tmp_path)}
    done = subprocess.run(
        [PROGRAM, "report", "--host", host, "--format", "json"],
        capture_output=True, text=True, check=False, env=variables,
    )  # fmt: skip
    findings = json.loads(done.stdout)["verdict"]["findings"]
    found = {one["id"] for one in findings if one["distribution"] == "ext"}
    assert found == ({"PB163"} if package is LACKING else set()), done.stdout


@pytest.mark.parametrize("see_base", [see_base_by_config, see_base_by_pth])
def test_finds_the_torch_of_an_environment_on_sys_path(tmp_path, see_base):
    site, base = base_and_venv(tmp_path, extension())
    see_base(site, base)
    found = subprocess.run([PROGRAM, "audit", site.parents[2]], capture_output=True, text=True, check=False)
    assert (found.returncode, "2.11.0+cpu" in found.stdout) == (PASSED, True), found.stdout + found.stderr


def test_finds_no_torch_in_an_environment_without_its_base(tmp_path):
    site, base = base_and_venv(tmp_path, LACKING)
    home = base.parents[2] / "bin"
    (site.parents[2] / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    row, document = audited(site, FAILED)
    assert (only_finding(row)["id"], [one["name"] for one in document["distributions"]]) == ("PB161", ["ext"])


def test_prefers_a_package_of_the_environment_to_the_base(tmp_path):
    site, base = base_and_venv(tmp_path, extension())
    see_base_by_config(site, base)
    LACKING.but(version="0.9").write(base)
    row, document = audited(site)
    assert (row["version"], row["findings"], len(document["distributions"])) == ("1.0", [], 2)


def engine(code, installed):
    """A package that opens libengine.so by ctypes. `installed`: code of the installed cuBLASLt."""
    lt = library("libcublasLt.so.13", NEW)
    built = library("libengine.so", code, [lt], "$ORIGIN/../nvidia/cublas/lib")
    return (
        Package("ext", {"ext/libengine.so": built}),
        Package("nvidia-cublas", {"nvidia/cublas/lib/libcublasLt.so.13": library("libcublasLt.so.13", installed)}),
    )


def test_judges_a_library_that_ctypes_opens(tmp_path):
    finding = only_finding(audited(environment(tmp_path, torch(), *engine(USES_NEW, OLD)), FAILED)[0])
    assert finding["id"] == "PB163"
    assert "libengine.so needs fresh@libcublasLt.so.13, which" in finding["what"]
    assert audited(environment(tmp_path / "sound", torch(), *engine(USES_NEW, NEW)))[0]["findings"] == []


def test_treats_a_library_without_its_dependency_as_optional(tmp_path):
    plugin = Library(needs=("libnvinfer.so.10",), code="void build();\nvoid f() { build(); }\n")
    package = extension()
    package.libraries["ext/libplugin.so"] = plugin
    assert audited(environment(tmp_path, torch(), package))[0]["findings"] == []


def opening(folder, package=None, **needs):
    """A package that opens these libraries, beside the cuBLASLt of CUDA 13. `needs`: the library that each needs."""
    package = package or Package("ext", {})
    for name, needed in needs.items():
        package.libraries[f"ext/{name}.so"] = Library(needs=(needed,), code="void build();\nvoid f() { build(); }\n")
    lt = Package("nvidia-cublas", {"nvidia/cu13/lib/libcublasLt.so.13": library("libcublasLt.so.13", NEW)})
    return environment(folder, torch(version="2.11.0+cu130"), package, lt)


def test_judges_an_opened_library_for_another_cuda(tmp_path):
    """Without a module, nothing of the package computes on the CPU."""
    finding = only_finding(audited(opening(tmp_path, libprovider="libcublasLt.so.12"), FAILED)[0])
    assert (finding["id"], finding["severity"]) == ("PB161", "fail")
    assert "libprovider.so needs libcublasLt.so.12 (nvidia-cublas-cu12), which neither" in finding["what"]
    assert finding["remedy"].startswith("pip install nvidia-cublas-cu12 torch==2.11.0 ")
    for needed in ("libcublasLt.so.13", "libcudss.so.0"):  # only the small torch of this test is at fault
        assert audited(opening(tmp_path / needed, libprovider=needed), FAILED)[0]["findings"] == []


def test_warns_if_only_code_for_a_gpu_lacks_cuda(tmp_path):
    """microsoft/onnxruntime#21684: the provider for CUDA does not load, and the CPU works."""
    row, _ = audited(opening(tmp_path, extension(), libprovider="libcublasLt.so.12"), FAILED)
    [finding] = [one for one in row["findings"] if one["id"] in ("PB161", "PB186")]
    assert (finding["id"], finding["severity"]) == ("PB186", "warn")
    assert "libprovider.so needs libcublasLt.so.12 (nvidia-cublas-cu12), which neither" in finding["what"]
    assert finding["what"].endswith("its modules load, so that only its code for a GPU fails")
    broken = extension(needs=("libc10.so", "libgone.so.1"))
    row, _ = audited(opening(tmp_path / "broken", broken, libprovider="libcublasLt.so.12"), FAILED)
    assert only_finding(row)["id"] == "PB161"


def test_requires_one_variant_for_the_cuda_of_torch(tmp_path):
    """bitsandbytes-foundation/bitsandbytes#1848"""
    old = {"libext_cuda121": "libcublasLt.so.12", "libext_cuda126": "libcublasLt.so.12"}
    finding = only_finding(audited(opening(tmp_path, **old), FAILED)[0])
    assert finding["remedy"].startswith(
        "install a release of ext with a library for CUDA 13, which torch 2.11.0+cu130 uses: "
        "pip install --upgrade ext torch"
    )
    sound = opening(tmp_path / "sound", **old, libext_cuda130="libcublasLt.so.13")
    assert audited(sound, FAILED)[0]["findings"] == []


def test_symbols_of_a_host_process_are_not_decided(tmp_path):
    package = extension()
    package.libraries["ext/libplugin.so"] = Library(code="void host_call();\nvoid f() { host_call(); }\n")
    assert audited(environment(tmp_path, torch(), package))[0]["findings"] == []
