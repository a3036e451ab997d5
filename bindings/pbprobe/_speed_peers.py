# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The libraries beside which `python -m pbprobe.speed` measures: torch, or OpenBLAS as numpy's wheels contain it."""

from __future__ import annotations

import contextlib
import dataclasses
from contextlib import AbstractContextManager
from typing import Any, Union

import torch

from pbprobe._speed_cases import Case

_BUSY_WAIT_S = 0.005  # longer than idle threads of either side wait busily (_speed_options.prepare)


class Torch:
    """torch's own operator, in the threads of torch.set_num_threads()."""

    name = f"torch {torch.__version__}"

    def use(self, case: Case) -> Case:
        """Returns the case as it is."""
        return case

    def limit(self, threads: int) -> AbstractContextManager[Any]:
        """Returns a context that changes nothing, because torch has a setting for its threads."""
        return contextlib.nullcontext()


class OpenBlas:
    """numpy.matmul(), which calls SGEMM of OpenBLAS. It has its own threads.

    Raises RuntimeError, with the remedy, without numpy or threadpoolctl, or if numpy has another BLAS.
    """

    def __init__(self) -> None:
        remedy = "pip install numpy threadpoolctl, from PyPI"
        try:
            import numpy as np
            import threadpoolctl
        except ImportError as error:
            raise RuntimeError(
                f"OpenBLAS is measured through numpy, and {error.name} is not installed: {remedy}"
            ) from None
        self._matmul = np.matmul
        of_numpy = threadpoolctl.ThreadpoolController().select(internal_api="openblas")
        found = [each for each in of_numpy.info() if "numpy" in each["filepath"]]
        if not found:
            raise RuntimeError(f"numpy {np.__version__} here has no OpenBLAS: {remedy}")
        self._pools = of_numpy
        self.name = f"OpenBLAS {found[0]['version']} ({found[0]['architecture']}) of numpy {np.__version__}"

    def use(self, case: Case) -> Case:
        """Returns the case with numpy.matmul() of the same memory, in FP32. The result is contiguous."""
        a, b = case.a.numpy(), case.b.numpy()
        pause = 0.0 if torch.get_num_threads() == 1 else _BUSY_WAIT_S
        return dataclasses.replace(case, theirs=lambda: torch.from_numpy(self._matmul(a, b)), pause=pause)

    def limit(self, threads: int) -> AbstractContextManager[Any]:
        """Returns a context in which OpenBLAS has so many threads."""
        return self._pools.limit(limits=threads)


Peer = Union[Torch, OpenBlas]
PEERS: dict[str, type[Peer]] = {"torch": Torch, "openblas": OpenBlas}
