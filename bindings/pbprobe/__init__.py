# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests whether a PyTorch build delivers its claimed specialization on this machine.

    import pbprobe
    pbprobe.report()

prints the verdict on the torch of this interpreter and returns it; audit(), gate(), host(), compare() and recommend()
run the commands of the program that the package ships. This process imports no torch and opens no CUDA context.

pbprobe.ops has the kernels as torch operators. It is imported on first use, because it imports torch.
"""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

from pbprobe._errors import Error, VerdictError
from pbprobe._functions import audit, compare, gate, host, recommend, report
from pbprobe._package import has_gpu, no_gpu_kernels
from pbprobe._program import version_and_commit
from pbprobe._report import Comparison, Finding, Report

__all__ = [
    "Comparison",
    "Error",
    "Finding",
    "Report",
    "VerdictError",
    "__commit__",
    "__version__",
    "audit",
    "compare",
    "gate",
    "host",
    "recommend",
    "report",
]


if (_missing := no_gpu_kernels()) and has_gpu():
    warnings.warn(f"pbprobe: {_missing}", RuntimeWarning, stacklevel=2)


def __getattr__(name: str) -> ModuleType | str:
    if name == "ops":
        return importlib.import_module("pbprobe.ops")
    if name in ("__version__", "__commit__"):  # the program knows them
        globals()["__version__"], globals()["__commit__"] = version_and_commit()
        return str(globals()[name])
    raise AttributeError(f"module 'pbprobe' has no attribute {name!r}")
