# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Exceptions of the comparison, and which exceptions of torch are refusals."""

import re

# Exceptions of torch for arguments, types and devices that an operator does not support.
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)
# CUDA or one of its libraries failed; it did not refuse the arguments. Some messages name only the library:
# "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED". torch also reports a CUDA error if cuBLAS has no algorithm for a layout.
DEVICE_ERRORS = re.compile(
    "CUDA error(?!: CUBLAS_STATUS_NOT_SUPPORTED)|CUDA driver error"
    "|CU[A-Z]+_STATUS_(EXECUTION_FAILED|INTERNAL_ERROR|ARCH_MISMATCH|MAPPING_ERROR)"
    "|CUFFT_(EXEC_FAILED|INTERNAL_ERROR)"
)
# torch launched a kernel with no blocks, for an input without elements. Later calls are not affected.
NO_BLOCKS = re.compile("CUDA error: invalid (configuration )?argument")


class WrongError(Exception):
    """A result outside of its limits. sample: set by the caller that knows it."""

    sample = None

    def __init__(self, way, text, **figures):
        super().__init__(text)
        self.way, self.figures = way, figures


class LostError(BaseException):
    """An error that DEVICE_ERRORS describes: no kernel for this GPU, an illegal access. It ends the process,
    because later calls may fail for the same reason.
    """


def check_device(error, is_empty=False):
    """Raises LostError if the exception of torch is an error of CUDA, not a refusal. is_empty: an input is."""
    if is_empty and NO_BLOCKS.search(str(error)):
        return
    if DEVICE_ERRORS.search(str(error)) and "out of memory" not in str(error):
        raise LostError(brief(error)) from error


def brief(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"
