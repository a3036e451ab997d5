# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Selects the operators to compare. torch.testing._internal, which every wheel of torch contains, has torch's operators
with sample inputs and supported types; packages.py has operators of other packages.
"""

import dataclasses
import random

import compiled
import packages
import scaled


@dataclasses.dataclass
class Request:
    device: str = "cpu"  # "cpu" or "cuda"
    seconds: float = 90  # of all operators
    operator_seconds: float = 20  # of one operator and type: then the process ends
    seed: int = 1  # of the order and the samples
    skip: int = 0  # leading operators of that order that have been asked
    only: tuple[str, ...] = ()  # names; empty: all
    plant: str = ""  # a Python file that changes torch, for tests
    compile: bool = False  # compare compiled functions instead
    memory_bytes: int = 0  # of a GPU with unified memory that torch may take; 0: no limit


def load_operators(request):
    """Imports torch, and returns it with the operators that the request selects, shuffled by its seed.

    Also turns TF32 off and applies the memory limit of the request.
    """
    import torch

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # convolutions use it by default
    if request.device == "cuda" and request.memory_bytes:  # an allocation that does not fit hangs the machine
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, request.memory_bytes / total))
    from torch.testing._internal.common_methods_invocations import op_db

    operators = [one for one in op_db if one.name != scaled.NAME] + scaled.find_operators(torch, request.device)
    operators.sort(key=lambda one: (one.name, one.variant_test_name))
    if not request.compile:
        operators += packages.find_operators()
    if request.only:
        operators = [one for one in operators if one.name in request.only]
    if request.compile:
        operators = compiled.select(operators, is_all=not request.only)
    random.Random(request.seed).shuffle(operators)
    return torch, operators
