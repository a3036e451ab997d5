# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Sampling during the work: clocks from a fake of NVML, losses from real sockets."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")
from pbprobe.fleet import identity, sampling, sockets

# Answers of the driver for one GPU; -D selects values that it does not report.
NVML = """
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** gpu) {
  const char* known = "GPU-1234";
  for (int i = 0; i < 9; ++i) if (uuid[i] != known[i]) return 6;
  *gpu = (void*)0x77;
  return 0;
}
int nvmlDeviceGetClockInfo(void* gpu, unsigned kind, unsigned* mhz) {
  *mhz = 1980 + kind;
  return gpu == (void*)0x77 ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(void* gpu, unsigned* milliwatts) { *milliwatts = 512500; return NO_POWER; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void* gpu, unsigned long long* bits) { *bits = 0x44; return 0; }
int nvmlDeviceGetTemperature(void* gpu, unsigned sensor, unsigned* celsius) { *celsius = 61 + sensor; return 0; }
"""
READ = """
import json, sys
from pbprobe.fleet import sampling
print(json.dumps(sampling.make_reader(sys.argv[1])() | {"reasons": sampling.make_reasons_reader(sys.argv[1])()}))
"""


def read_with_driver(folder, uuid, no_power=0):
    """In a process of its own: a library is loaded once."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = folder / "nvml.c"
    source.write_text(NVML)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", f"-DNO_POWER={no_power}", "-o", library, source], check=True)
    env = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    return json.loads(
        subprocess.run([sys.executable, "-c", READ, uuid], env=env, capture_output=True, check=True).stdout
    )


def test_reads_clock_power_and_temperature(tmp_path):
    assert read_with_driver(tmp_path, "GPU-1234") == {
        "clock_mhz": 1981.0, "power_watts": 512.5, "celsius": 61.0, "reasons": 0x44,
    }  # fmt: skip


def test_unreported_values_are_null(tmp_path):
    assert read_with_driver(tmp_path, "GPU-1234", no_power=3)["power_watts"] is None


def test_reads_nothing_of_gpu_unknown_to_nvml(tmp_path):
    assert set(read_with_driver(tmp_path, "GPU-9999").values()) == {None}


def test_samples_during_work_and_thins_many_samples(monkeypatch):
    monkeypatch.setattr(sampling, "EVERY", 0.001)
    monkeypatch.setattr(sampling, "MOST_POINTS", 20)
    with sampling.Sampler(lambda: {"clock_mhz": 1000.0, "power_watts": None, "celsius": None}) as sampler:
        until = time.monotonic() + 10
        while (sampler.median_clock() is None) and time.monotonic() < until:
            time.sleep(0.05)
    points = sampler.points()
    assert 2 <= len(points) <= 20 and points == sorted(points, key=lambda point: point["seconds"])
    assert sampler.median_clock() == 1000.0
    with sampling.Sampler(lambda: {"clock_mhz": None, "power_watts": None, "celsius": None}) as nothing:
        time.sleep(0.05)
    assert nothing.points() is None and nothing.median_clock() is None


def test_names_throttle_reasons_with_share(monkeypatch):
    monkeypatch.setattr(sampling, "EVERY", 0.001)
    bits = iter([0x4, 0x44, 0x4, 0x0])
    with sampling.Sampler(sampling.read_cpu, lambda: next(bits, None)) as sampler:
        until = time.monotonic() + 10
        while len(sampler._held) < 4 and time.monotonic() < until:
            time.sleep(0.01)
    assert sampler.throttled() == "power cap 75%, heat, by hardware 25%"
    with sampling.Sampler(sampling.read_cpu) as nobody:
        time.sleep(0.02)
    assert nobody.throttled() is None
    with sampling.Sampler(sampling.read_cpu, lambda: 0x1) as idle:  # that nothing is to be done holds nothing down
        time.sleep(0.05)
    assert idle.throttled() == "no"


NVIDIA_SMI = """#!/bin/sh
case "$*" in
  nvlink*--id=GPU-1234) for line in "GPU 0: H100" "Link 0: 26.562 GB/s" "Link 1: 26.562 GB/s" "Link 2: <inactive>"
    do echo "$line"; done ;;
  --id=GPU-1234*) echo "$2" | sed -e 's/--query-gpu=//' -e 's/pci.bus_id/00000000:1B:00.0/' ;;
  *) exit 6 ;;
esac
"""


def test_finds_gpu_by_uuid(tmp_path, monkeypatch):
    """The GPU's index differs in a process that sees only some of the GPUs."""
    program = tmp_path / "nvidia-smi"
    program.write_text(NVIDIA_SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    facts = identity.gpu_facts("GPU-1234", 10)
    assert {name: facts[name] for name in identity.GPU_FACTS if name != "pci.bus_id"} == {
        name: name for name in identity.GPU_FACTS if name != "pci.bus_id"
    }
    assert facts["pci.bus_id"] == "00000000:1B:00.0"
    assert facts["nvlink"] == "2 x 26.562 GB/s, 1 x <inactive>"
    assert identity.gpu_facts("0", 10) == {}


def test_counts_segments_of_own_connections():
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        one = stack.enter_context(socket.create_connection(listener.getsockname()))
        other = stack.enter_context(listener.accept()[0])
        before = sockets.segments()
        for _ in range(600):
            one.sendall(b"x")
            assert other.recv(1) == b"x"
        after = sockets.segments()
    name = str(pathlib.Path("socket:"))  # by inode
    assert all(key.startswith(name) for key in after) and len(after) >= 2
    assert sockets.resent_between(before, after) < 0.05
    assert sockets.resent_between(after, after) is None, "nothing was sent"
    assert sockets.resent_between({"a": (1000, 10)}, {"a": (2000, 30), "b": (1000, 0)}) == 0.01
