# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Clock, power and temperature of a rank's device while it works, read twice a second and never set."""

import contextlib
import ctypes
import re
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVERY = 0.5  # seconds
MOST_POINTS = 240  # beyond it every second one is dropped, and half as many are taken
SM_CLOCK, CORE_TEMPERATURE = 1, 0  # of nvml.h
# nvmlClocksEventReason…: reasons that limit the clocks, by bit.
REASONS = {
    0x2: "clocks set by an application", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "another GPU of its group",
    0x20: "heat, by software", 0x40: "heat, by hardware", 0x80: "power brake", 0x100: "display",
}  # fmt: skip

Reading = dict[str, Any]


class Nvml:
    """One GPU in libnvidia-ml, a part of the driver. Errors: OSError (no such library, or it does not know the GPU)."""

    def __init__(self, uuid: str) -> None:
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._gpu = ctypes.c_void_p()
        if self._library.nvmlInit_v2() != 0:
            raise OSError("NVML does not start")
        if self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self._gpu)) != 0:
            raise OSError(f"NVML knows no {uuid}")

    def _number(self, function: str, *arguments: int) -> float | None:
        value = ctypes.c_uint()
        call = getattr(self._library, function)
        return float(value.value) if call(self._gpu, *arguments, ctypes.byref(value)) == 0 else None

    def read(self) -> Reading:
        """Reads the sensors; None for values that the driver does not report."""
        milliwatts = self._number("nvmlDeviceGetPowerUsage")
        return {
            "clock_mhz": self._number("nvmlDeviceGetClockInfo", SM_CLOCK),
            "power_watts": None if milliwatts is None else milliwatts / 1e3,
            "celsius": self._number("nvmlDeviceGetTemperature", CORE_TEMPERATURE),
        }

    def reasons(self) -> int | None:
        """Returns the bits of REASONS; None if the driver does not report them. Older drivers know the older name."""
        value = ctypes.c_ulonglong()
        for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
            call = getattr(self._library, name, None)
            if call is not None and call(self._gpu, ctypes.byref(value)) == 0:
                return int(value.value)
        return None


def read_cpu() -> Reading:
    """Returns the clock of the fastest core that the kernel reports. A virtual machine may have neither clock nor
    temperature.
    """
    try:
        clocks = re.findall(r"^cpu MHz\s*: ([\d.]+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        zones = [int(zone.read_text()) / 1e3 for zone in Path("/sys/class/thermal").glob("thermal_zone*/temp")]
    except (OSError, ValueError):
        return {"clock_mhz": None, "power_watts": None, "celsius": None}
    return {
        "clock_mhz": max(map(float, clocks), default=None),
        "power_watts": None,
        "celsius": max(zones, default=None),
    }


def make_reader(uuid: str | None) -> Callable[[], Reading]:
    """Returns a reader for a GPU, or for the CPU if `uuid` is None. A GPU that NVML does not show has no readings."""
    if uuid is None:
        return read_cpu
    try:
        return Nvml(uuid).read
    except (OSError, AttributeError):
        return lambda: {"clock_mhz": None, "power_watts": None, "celsius": None}


def make_reasons_reader(uuid: str | None) -> Callable[[], int | None]:
    """Returns a reader for the reasons that limit a GPU's clocks."""
    if uuid is not None:
        with contextlib.suppress(OSError, AttributeError):
            return Nvml(uuid).reasons
    return lambda: None


class Sampler:
    """A thread that reads; `with` it a rank does its work."""

    def __init__(self, read: Callable[[], Reading], reasons: Callable[[], int | None] = lambda: None) -> None:
        self._read, self._reasons, self._every = read, reasons, EVERY
        self._held: list[int] = []
        self._points: list[dict[str, Any]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "Sampler":
        """Begins to read."""
        self._begin = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends."""
        self._over.set()
        self._thread.join(1)  # a driver that does not answer is not waited for

    def _sample(self) -> None:
        while not self._over.is_set():
            reading, held = self._read(), self._reasons()
            if held is not None:
                self._held.append(held)
            if any(value is not None for value in reading.values()):
                self._points.append({"seconds": round(time.monotonic() - self._begin, 2), **reading})
            if len(self._points) > MOST_POINTS:
                self._points = self._points[::2]
                self._every *= 2
            self._over.wait(self._every)

    def points(self) -> list[dict[str, Any]] | None:
        """Returns the samples so far; None if no sensor is readable."""
        return list(self._points) or None

    def throttled(self) -> str | None:
        """Returns the reasons that limited the clocks, with their share of samples; None if not reported."""
        held = list(self._held)
        if not held:
            return None
        shares = {name: sum(bool(one & bit) for one in held) / len(held) for bit, name in REASONS.items()}
        return ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share) or "no"

    def median_clock(self) -> float | None:
        """Returns the median SM clock in MHz, without the first second, in which clocks rise; None without samples."""
        clocks = [point["clock_mhz"] for point in self.points() or [] if point["seconds"] >= 1 and point["clock_mhz"]]
        return statistics.median(clocks) if clocks else None
