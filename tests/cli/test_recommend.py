# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe recommend`: variant and wheel for machines of every kind, held against the table of wheels."""

import json

import pytest
from test_cli import SOURCE, run

HOST = json.loads((SOURCE / "tests/report/golden/h200.json").read_text())["host"]
TABLE = json.loads((SOURCE / "recipes/public_wheels.json").read_text())
ARM = [
    "fp",
    "asimd",
    "atomics",
    "fphp",
    "asimdhp",
    "asimddp",
    "sve",
    "sve2",
    "bf16",
    "i8mm",
    "svebf16",
    "svei8mm",
    "lrcpc",
]


def machine(tmp_path, capability, name="a GPU", cuda="13.0", arm=False):
    host = json.loads(json.dumps(HOST))
    host["gpus"] = [host["gpus"][0] | {"name": name, "capability": capability, "target": None}] if capability else []
    host["driver"] |= {"cuda_version": cuda, "version": "580.1" if cuda and cuda >= "13" else "550.1"}
    if arm:
        host["cpu"] |= {"architecture": "aarch64", "name": "an Arm", "features": ARM}
    file = tmp_path / "host.json"
    file.write_text(json.dumps(host))
    return file


def advice(file, *more):
    done = run("recommend", "--host", file, "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def text(file):
    return " ".join(run("recommend", "--host", file).stdout.split())


def torches(platform, sm=None):
    """Oldest first; with `sm` those that hold it in most of their units."""
    rows = [row for row in TABLE["wheels"] if row["package"] == "torch" and row["platform"] == platform]
    return [row for row in rows if sm is None or sm in row["sms"]]


def test_lists_a_native_wheel_first_with_its_command(tmp_path):
    answer = advice(machine(tmp_path, "9.0", "NVIDIA H200"))
    newest = torches("x86_64-linux", "sm_90")[-1]
    torch = answer["wheels"]["wheels"][0]
    assert (torch["version"], torch["code"], torch["min_driver"]) == (newest["version"], "native", newest["min_driver"])
    assert answer["wheel_first"]
    vision = [row["version"] for row in TABLE["wheels"] if row["package"] == "torchvision"][-1]
    requirements = f"torch=={newest['version']} torchvision=={vision}"
    assert answer["wheels"]["commands"] == [f"pip install {requirements}", f"uv pip install {requirements}"]
    assert answer["variant"].startswith("pytorch-python313-cuda13_0-sm90-")
    assert text(machine(tmp_path, "9.0")).startswith(f"torch {newest['version']} of pip sm_90 machine code, native")


def test_lists_the_variant_before_a_wheel_of_the_same_family(tmp_path):
    file = machine(tmp_path, "12.1", "NVIDIA GB10", arm=True)
    answer = advice(file)
    assert not answer["wheel_first"]
    assert answer["commands"] == [f"flox build {answer['variant']}"]
    assert text(file).startswith("pytorch-python313-cuda13_0-sm121-armv9 ")
    torch = answer["wheels"]["wheels"][0]
    assert (torch["code"], torch["sentence"]) == ("same_major", "sm_120 machine code, which runs on 12.1 as it is")
    assert answer["wheels"]["warning"].startswith(
        'torch\'s warning "sm_121 is not compatible with the current PyTorch installation", or'
    )
    assert " is not true of torch " in answer["wheels"]["warning"]


@pytest.mark.parametrize(("capability", "code"), [("6.1", "same_major"), ("6.0", "native"), ("5.2", "same_major")])
def test_old_gpu_gets_last_torch_with_its_code(tmp_path, capability, code):
    """torch 2.7.1 of PyPI contains sm_50 and sm_60: a GTX 1080 and a P100 run the code of sm_60."""
    answer = advice(machine(tmp_path, capability, "NVIDIA GeForce GTX 1080 Ti"))["wheels"]
    torch = answer["wheels"][0]
    assert (torch["version"], torch["code"]) == ("2.7.1", code)
    assert answer["commands"][0] == "pip install torch==2.7.1 torchvision==0.22.1"
    assert "the last that was read with code for it is torch 2.7.1 (CUDA 12.6)" in " ".join(answer["not_possible"])
    assert " is true " not in answer["warning"]


def test_pascal_keeps_its_variant(tmp_path):
    answer = advice(machine(tmp_path, "6.1", "NVIDIA GeForce GTX 1080 Ti"))
    assert answer["variant"] == "pytorch-python313-cuda12_9-sm61-avx2"
    assert "CUDA 13 has dropped Pascal and Volta" in " ".join(answer["wheels"]["not_possible"])


def test_kepler_has_no_wheel(tmp_path):
    answer = advice(machine(tmp_path, "3.7", "Tesla K80"))
    assert (answer["wheel_first"], answer["wheels"]["wheels"]) == (False, [])
    assert "no wheel of pip from torch 2.1.2 on has any" in " ".join(answer["wheels"]["not_possible"])
    assert " is true " in answer["wheels"]["warning"]


def test_volta_has_old_wheels_only(tmp_path):
    answer = advice(machine(tmp_path, "7.0", "Tesla V100"))
    assert answer["variant"].startswith("pytorch-python313-cpu-")
    assert "Tesla V100 has compute capability 7.0, which is not an SM of the matrix" in answer["not_possible"]
    last = torches("x86_64-linux", "sm_70")[-1]
    newest = torches("x86_64-linux")[-1]
    assert last["version"] != newest["version"]
    assert answer["wheels"]["wheels"][0]["version"] == last["version"]
    assert any(
        line.startswith(f"torch {newest['version']} of pip") and f"torch {last['version']} (CUDA" in line
        for line in answer["wheels"]["not_possible"]
    )


def test_recommends_the_last_torch_for_an_old_driver(tmp_path):
    answer = advice(machine(tmp_path, "9.0", cuda="12.4"))
    taken = [row for row in torches("x86_64-linux", "sm_90") if row["cuda"][0].startswith("12.")][-1]
    assert answer["wheels"]["wheels"][0]["version"] == taken["version"]
    assert any("install driver 580 or later" in line for line in answer["wheels"]["not_possible"])


def test_blames_only_the_driver_that_is_too_old(tmp_path):
    answer = advice(machine(tmp_path, "7.5", cuda="11.8"))["wheels"]
    assert answer["wheels"] == []
    assert "is not true of torch" in answer["warning"]
    assert "this driver does not take" in answer["warning"]
    assert any("install driver 580 or later" in line for line in answer["not_possible"])


def test_does_not_advise_a_driver_for_a_gpu_without_wheels(tmp_path):
    answer = advice(machine(tmp_path, "3.7", cuda="11.4"))["wheels"]
    assert "is true of the wheels of pip" in answer["warning"]
    assert not any("install driver" in line for line in answer["not_possible"])


@pytest.mark.parametrize("capability", ["7.5", "8.0", "8.6", "8.9", "10.0", "12.0"])
def test_recommends_the_code_of_the_table_for_each_gpu(tmp_path, capability):
    major, minor = capability.split(".")
    newest = torches("x86_64-linux")[-1]
    torch = advice(machine(tmp_path, capability))["wheels"]["wheels"][0]
    assert torch["version"] == newest["version"]
    assert torch["code"] == ("native" if f"sm_{major}{minor}" in newest["sms"] else "same_major")


def test_packages_that_ask_for_another_torch_say_so(tmp_path):
    wheels = {row["package"]: row for row in advice(machine(tmp_path, "9.0"))["wheels"]["wheels"]}
    asked = {row["package"]: row["torch"] for row in TABLE["wheels"] if row["platform"] == "x86_64-linux"}
    assert f"it asks for torch {asked['vllm']}" in wheels["vllm"]["sentence"]
    assert "asks for" not in wheels["bitsandbytes"]["sentence"]
    absent = {row["package"] for row in TABLE["absent"]}
    assert "flash-attn" in absent
    assert any("flash-attn" in line for line in advice(machine(tmp_path, "9.0"))["wheels"]["not_possible"])


def test_does_not_warn_without_a_gpu(tmp_path):
    answer = advice(machine(tmp_path, None, cuda=None))
    assert answer["wheels"]["warning"] is None
    assert answer["wheels"]["wheels"][0]["version"] == torches("x86_64-linux")[-1]["version"]


def test_it_is_of_recipes_too(tmp_path):
    file = machine(tmp_path, "9.0")
    assert run("recipes", "recommend", "--host", file).stdout == run("recommend", "--host", file).stdout
