# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Does this PyTorch build deliver the specialization that it claims, on this machine?

    import pbprobe
    pbprobe.report()

prints the verdict on the torch of this interpreter and returns it; audit(), gate(), host(), compare() and recommend()
do what the program's commands do. Nothing imports torch or opens a CUDA context in this process: all of it is done by
the program that the package ships.

pbprobe.ops holds the kernels as torch operators, and is imported when it is first asked for: it imports torch.
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
