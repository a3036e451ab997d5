# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Identity of a rank's hardware and software: its GPU according to the driver, and the libraries of its process."""

import contextlib
import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

# Fields of nvidia-smi that operators need first. A driver that does not know a field prints an error in its place.
GPU_FACTS = (
    "driver_version power.limit clocks.sm clocks.mem temperature.gpu clocks_event_reasons.active "
    "ecc.mode.current ecc.errors.uncorrected.volatile.total remapped_rows.uncorrectable remapped_rows.pending "
    "remapped_rows.failure pcie.link.gen.current pcie.link.gen.max pcie.link.width.current pcie.link.width.max "
    "pci.bus_id"
).split()
LIBRARIES = re.compile(
    r"lib(torch\w*|c10\w*|nccl|cudnn|cublas|cublasLt|cudart|nvrtc|gloo|mpi|cuda|stdc\+\+|c|gomp|python[\d.]*)"
    r"(-[0-9a-f]+)?\.so"
)


def get_uuid(device: torch.device) -> str | None:
    """Returns the UUID of a GPU in nvidia-smi, NVML and CUDA_VISIBLE_DEVICES; None for a CPU."""
    return f"GPU-{torch.cuda.get_device_properties(device).uuid}" if device.type == "cuda" else None


def gpu_facts(uuid: str, seconds: float) -> dict[str, str]:
    """Queries nvidia-smi, a part of the driver; returns {} if it does not answer in time. Uses the UUID, because a
    process that sees only some GPUs has other indices than nvidia-smi.
    """
    command = ["nvidia-smi", f"--id={uuid}", f"--query-gpu={','.join(GPU_FACTS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        links = subprocess.run(
            ["nvidia-smi", "nvlink", "-s", f"--id={uuid}"],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if done.returncode != 0:
        return {}
    facts = dict(zip(GPU_FACTS, (value.strip() for value in done.stdout.strip().split(",")), strict=False))
    rates = re.findall(r"[\d.]+ GB/s|<inactive>", links.stdout)
    facts["nvlink"] = ", ".join(f"{rates.count(rate)} x {rate}" for rate in sorted(set(rates))) or "none"
    node = _read_numa_node(facts.get("pci.bus_id", ""))
    return facts if node is None else facts | {"numa_node": node}


def _read_numa_node(bus_id: str) -> str | None:
    """Returns the NUMA node of a PCI device named as in nvidia-smi: "00000000:1B:00.0". The kernel uses four digits of
    the domain.
    """
    with contextlib.suppress(OSError):
        return Path(f"/sys/bus/pci/devices/{bus_id[-12:].lower()}/numa_node").read_text().strip()
    return None


def cpu_facts() -> dict[str, str]:
    """Returns the processor, and the CPUs that this process may use."""
    facts = {"cpus": ",".join(map(str, sorted(os.sched_getaffinity(0)))), "threads": str(torch.get_num_threads())}
    with contextlib.suppress(OSError):
        match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        facts["cpu"] = match.group(1) if match else "CPU"
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            facts["cpu_limit"] = f"{int(quota) / int(period):g}"
    with contextlib.suppress(OSError):
        facts["numa_nodes"] = Path("/sys/devices/system/node/online").read_text().strip()
    return facts


def versions() -> dict[str, str]:
    """Returns the versions of torch and its libraries."""
    found = {"torch": torch.__version__}
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
    if torch.cuda.is_available():
        found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        found["cudnn"] = str(torch.backends.cudnn.version())
    return found


def loaded_files() -> list[Path]:
    """Returns the shared objects of this process that affect its results."""
    paths = {
        line.split(maxsplit=5)[-1].rstrip()
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        if ".so" in line
    }
    found = [Path(path) for path in paths if path.startswith("/") and LIBRARIES.match(Path(path).name)]
    return sorted(found, key=lambda path: path.stat().st_size if path.exists() else 0)  # many before the deadline


def _digest(file: Path, folder: Path, deadline: float) -> str | None:
    """Returns the SHA-256 of a file. Each node reads a file once: ranks share the result by file identity."""
    stat = file.stat()
    known = folder / f"{stat.st_dev}-{stat.st_ino}-{stat.st_size}-{stat.st_mtime_ns}-{stat.st_ctime_ns}"
    with known.open("a+") as note:
        while True:
            try:
                fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return None
                time.sleep(0.1)
        note.seek(0)
        text = note.read()
        if len(text) == 64:
            return text
        digest = hashlib.sha256()
        with file.open("rb") as data:
            while piece := data.read(1 << 24):
                digest.update(piece)
                if time.monotonic() > deadline:
                    return None
        note.truncate(0)
        note.write(digest.hexdigest())
    return digest.hexdigest()


def libraries(deadline: float) -> dict[str, dict[str, Any]]:
    """Versions, and the digests that could be read by time.monotonic() == deadline."""
    found: dict[str, dict[str, Any]] = {
        name: {"version": version, "sha256": None} for name, version in versions().items()
    }
    folder = Path(tempfile.gettempdir()) / f"pbprobe-digests-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():  # another's folder: what is in it is another's word
            return found
        for file in loaded_files():
            row = found.setdefault(file.name, {"version": None, "sha256": None})
            with contextlib.suppress(OSError):
                row["sha256"] = _digest(file, folder, deadline)
    return found
