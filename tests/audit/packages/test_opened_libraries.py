# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Libraries of CUDA that a package opens by dlopen(), as ctranslate2 opens the parts of its cuDNN, and cuBLAS."""

import pytest
from packages import FAILED, Library, Package
from test_loading import MODULE, TAG, audited, environment, torch
from test_sys_path import OLD, elsewhere, library

OWN_CUDNN = "libcudnn-1a2b3c4d.so.8.9.7"


def naming(*names):
    """Code with these names among its constants."""
    words = ", ".join(f'"{name}"' for name in names)
    return f"const char* const all[] = {{{words}}};\nconst char* name(int i) {{ return all[i]; }}\n"


def translator(parts=("libcudnn_ops_infer.so.8",), number="8.9.7", engine=()):
    """A package with the main library of cuDNN, renamed by auditwheel, and with an engine that names more libraries."""
    own = f"libcudnn-1a2b3c4d.so.{number}"
    run = {"needs": (own,), "runpath": ("$ORIGIN/../ext.libs",)}
    return Package("ext", {
        f"ext/_C.{TAG}.so": Library(code=MODULE.format("") + naming(*engine), **run),
        f"ext.libs/{own}": Library(code=naming(*parts)),
    })  # fmt: skip


def install_cudnn(*names):
    files = {f"nvidia/cudnn/lib/{name}": library(name, OLD) for name in names}
    return Package("nvidia-cudnn-cu12", files, version="9.1.0.70")


def find_unopened(site):
    row, _ = audited(site, FAILED)  # the small torch lacks CUDA's libraries
    return [one for one in row["findings"] if one["id"] == "PB186"]


def make_site(folder, *packages, version="2.11.0+cu128"):
    return environment(folder, torch(version=version), *packages)


def test_names_parts_of_another_cudnn(tmp_path):
    """SYSTRAN/faster-whisper#516"""
    [finding] = find_unopened(make_site(tmp_path, translator(), install_cudnn("libcudnn.so.9", "libcudnn_ops.so.9")))
    assert finding["severity"] == "warn"
    assert f"{OWN_CUDNN} opens libcudnn_ops_infer.so.8 (nvidia-cudnn-cu12), and the environment has" in finding["what"]
    assert "install a release of ext for libcudnn.so.9: pip install --upgrade ext torch==2.11.0" in finding["remedy"]
    assert "pip install --target FOLDER --no-deps 'nvidia-cudnn-cu12==8.*'" in finding["remedy"]


def test_names_parts_that_nothing_installs(tmp_path):
    [finding] = find_unopened(make_site(tmp_path, translator()))
    assert "which neither the environment nor the system has" in finding["what"]
    assert finding["remedy"].startswith("pip install --target FOLDER --no-deps 'nvidia-cudnn-cu12==8.*'")


def test_names_the_folder_of_parts_that_are_installed(tmp_path, monkeypatch):
    """SYSTRAN/faster-whisper#1182: cuDNN 9 appends its number to the name. No system has this part of cuDNN 9."""
    parts = install_cudnn("libcudnn.so.9", "libcudnn_ops_infer.so.9")
    site = make_site(tmp_path, translator(("libcudnn_ops_infer.so",), "9.1.0"), parts)
    [finding] = find_unopened(site)
    folder = site / "nvidia/cudnn/lib"
    assert (
        f"opens libcudnn_ops_infer.so.9 (nvidia-cudnn-cu12), which is in {folder}, where the loader" in finding["what"]
    )
    assert finding["remedy"] == f"before Python starts: export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    assert find_unopened(site) == []


def test_names_a_library_of_another_cuda(tmp_path):
    """SYSTRAN/faster-whisper#1431"""
    installed = Package("nvidia-cublas", {"nvidia/cu13/lib/libcublas.so.13": library("libcublas.so.13", OLD)})
    engine = Package("ext", {f"ext/_C.{TAG}.so": Library(code=MODULE.format("") + naming("libcublas.so.12"))})
    [finding] = find_unopened(make_site(tmp_path, engine, installed, version="2.11.0+cu130"))
    assert "opens libcublas.so.12 (nvidia-cublas-cu12), and the environment has libcublas.so.13" in finding["what"]
    both = Package("ext", {
        f"ext/_C.{TAG}.so": Library(code=MODULE.format("") + naming("libcublas.so.12", "libcublas.so.13"))
    })  # fmt: skip
    assert find_unopened(make_site(tmp_path / "both", both, installed, version="2.11.0+cu130")) == []
    # libonnxruntime_providers_cuda.so 1.31.1 needs libcudart.so.13, and names libcudart.so.12 too.
    run = {"needs": ("libcublas.so.13",), "runpath": ("$ORIGIN/../nvidia/cu13/lib",)}
    needed = Package("ext", {f"ext/_C.{TAG}.so": Library(code=MODULE.format("") + naming("libcublas.so.12"), **run)})
    assert find_unopened(make_site(tmp_path / "needed", needed, installed, version="2.11.0+cu130")) == []


@pytest.mark.parametrize("name", ["libcublas.so.12", "libcufile.so.0", "libopus.so.0"])
def test_accepts_an_optional_library(tmp_path, name):
    engine = Package("ext", {f"ext/_C.{TAG}.so": Library(code=MODULE.format("") + naming(name))})
    assert find_unopened(make_site(tmp_path, engine)) == []


def test_accepts_parts_in_the_package_and_on_the_search_path(tmp_path, monkeypatch):
    with_part = translator()
    with_part.libraries["ext.libs/libcudnn_ops_infer.so.8"] = Library()
    assert find_unopened(make_site(tmp_path / "own", with_part)) == []
    elsewhere(tmp_path / "system", {"libcudnn_ops_infer.so.8": library("libcudnn_ops_infer.so.8", OLD)}, monkeypatch)
    assert find_unopened(make_site(tmp_path / "path", translator())) == []


def test_accepts_a_torch_without_cuda(tmp_path):
    row, _ = audited(environment(tmp_path, torch(), translator()))
    assert row["findings"] == []
