# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Messages of a package about missing parts: kernels for a GPU, operators."""

import json

import pytest

from pbprobe import _built, _functions, _package

WAY_OUT = "no GPU kernels in this package: reinstall with PBPROBE_TARGETS=cpu,"


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setattr(_built, "GPU_KERNELS", ())
    monkeypatch.setattr(_built, "NO_OPERATORS", "it was built without a torch")


def test_names_the_gpus_of_the_machine_in_the_remedy(without):
    assert _package.no_gpu_kernels(["sm121", "sm90", "sm121"]).startswith(f"{WAY_OUT}sm121,sm90 ")
    assert _package.no_gpu_kernels().startswith(WAY_OUT)


def test_prints_nothing_for_a_package_with_kernels(monkeypatch):
    monkeypatch.setattr(_built, "GPU_KERNELS", ("sm90",))
    assert _package.no_gpu_kernels(["sm121"]) is None


def test_finds_a_gpu_without_the_driver(tmp_path):
    gpus, device = tmp_path / "gpus", tmp_path / "nvidia0"
    places = (str(gpus), str(device))
    assert not _package.has_gpu(places)
    gpus.mkdir()
    assert not _package.has_gpu(places)
    device.touch()
    assert _package.has_gpu(places)
    device.unlink()
    (gpus / "0000:01:00.0").mkdir()
    assert _package.has_gpu(places)


def test_warns_in_the_report_of_a_machine_with_a_gpu(without):
    document = {"host": {"gpus": [{"target": "sm90"}]}, "problems": []}
    assert _functions._with_missing_kernels(document)["problems"] == [f"{WAY_OUT}sm90 (it takes nvcc)"]
    unknown = {"host": {"gpus": [{"target": None}]}}
    assert _functions._with_missing_kernels(unknown)["problems"][0].startswith(WAY_OUT)


@pytest.mark.parametrize("host", [None, {"gpus": []}])
def test_does_not_warn_in_the_report_without_a_gpu(without, host):
    assert _functions._with_missing_kernels({"host": host, "problems": []})["problems"] == []


def test_warns_at_import_on_a_machine_with_a_gpu(python, tmp_path):
    code = (
        "import sys, types; sys.modules['pbprobe._built'] = built = types.ModuleType('pbprobe._built');"
        "built.GPU_KERNELS, built.NO_OPERATORS = (), '';"
        "import pathlib; real = pathlib.Path.exists;"
        "pathlib.Path.exists = lambda self: str(self) == '/dev/nvidia0' and GPU or real(self);"
        "import pbprobe"
    )
    with_gpu = python("-c", f"GPU = True; {code}")
    assert with_gpu.returncode == 0, with_gpu.stderr
    assert f"RuntimeWarning: pbprobe: {WAY_OUT}" in with_gpu.stderr
    if not _package.has_gpu():
        assert python("-c", f"GPU = False; {code}").stderr == ""


def test_why_there_are_no_operators(without):
    assert "it was built without a torch" in _package.no_operators()
    assert "PBPROBE_TORCH=" in _package.no_operators()


def test_prints_the_contents_of_the_build(build):
    shown = json.loads(json.dumps(_built.GPU_KERNELS))
    assert all(name.startswith("sm") for name in shown)
    assert (build / "python/pbprobe/libpbprobe_ops.so").exists() == (_built.NO_OPERATORS == "")
