# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Selects the inputs of an operator: samples of torch's database, an empty one, and one with large values."""

import dataclasses
import itertools
import random

import empties
from errors import REFUSALS
from exemptions import FLOATS, LARGE_VALUES_LOSE, NO_EMPTY, title

# An operator also runs in INT64, or, without FLOATS, in the first other type that it supports.
OTHERS = ("int64", "uint8", "complex64", "bool", "int32")
COUNT = 3
MAX_ELEMENTS = 100_000  # of all inputs of a sample, if the operator has a smaller one
SEARCHED = 30  # leading samples of the database among which an empty one is searched
# Overflow of exponentials and of FP16, and arguments that periodic functions must reduce.
LARGE_VALUES = (10.0, 30.0, 88.0, 501.0, 1001.2, 13437.7, 60000.0)
# torch 2.8 divides by zero for integers in place, which ends the process.
NO_INTEGERS = {"mvlgamma"}


@dataclasses.dataclass
class Input:
    """Arguments of a call."""

    sample: object  # SampleInput of the database
    double: object = None  # the sample in double precision; None unless the type is an integer
    has_gradients: bool = True  # gradients are compared


def choose_types(torch, device, operator):
    """Returns names of types: FLOATS, and one other."""
    supported = operator.supported_dtypes(device)
    names = [name for name in FLOATS if getattr(torch, name) in supported]
    others = [name for name in OTHERS if getattr(torch, name) in supported]
    has_integers = others[:1] == ["int64"] and operator.name not in NO_INTEGERS
    return names + (others[:1] if has_integers or not names else [])


def count_elements(checker, sample):
    return sum(one.numel() for one in list_tensors(checker, sample))


def list_tensors(checker, sample):
    leaves = checker.tree.tree_flatten((sample.input, sample.args, sample.kwargs))[0]
    return [one for one in leaves if isinstance(one, checker.torch.Tensor)]


def generate(checker, operator, dtype):
    checker.torch.manual_seed(checker.request.seed)
    random.seed(checker.request.seed)  # the database takes some scales from it
    return operator.sample_inputs(checker.request.device, dtype, requires_grad=False)


def choose_samples(checker, operator, dtype):
    """Returns COUNT samples of the database, its first empty one, and small ones to make an empty one of."""
    taken, large, empty, others = [], [], [], []
    for number, sample in enumerate(generate(checker, operator, dtype)):
        tensors = list_tensors(checker, sample)
        if any(one.numel() == 0 for one in tensors) and len(taken) >= COUNT:
            empty.append(sample)
        elif len(taken) < COUNT:
            (taken if count_elements(checker, sample) <= MAX_ELEMENTS else large).append(sample)
        elif count_elements(checker, sample) <= MAX_ELEMENTS:
            others.append(sample)
        if empty or (number >= SEARCHED and (taken or large)):
            break
    return taken or large[:1], empty, taken + others


def choose_inputs(checker, operator, dtype):
    """Returns the inputs of an operator in a type."""
    taken, empty, small = choose_samples(checker, operator, dtype)
    inputs = [Input(sample) for sample in taken]
    if dtype == checker.torch.int64:
        for one, double in zip(inputs, find_doubles(checker, operator)):
            one.double = double
        return inputs
    if operator.name in NO_EMPTY:
        empty = []
    elif not empty:
        empty = empties.make_empty(checker, operator, small)
    inputs += [Input(sample, has_gradients=False) for sample in empty]
    if dtype.is_floating_point and hasattr(operator, "domain") and title(operator) not in LARGE_VALUES_LOSE:
        inputs.append(Input(make_large(checker, operator, dtype), has_gradients=False))
    return inputs


def find_doubles(checker, operator):
    """Returns the first samples in double precision, in which indices remain integers."""
    torch = checker.torch
    if torch.float64 not in operator.supported_dtypes("cpu"):
        return []
    torch.manual_seed(checker.request.seed)
    try:
        return list(itertools.islice(operator.sample_inputs("cpu", torch.float64, requires_grad=False), COUNT))
    except REFUSALS:
        return []


def make_large(checker, operator, dtype):
    """Returns a sample for an operator of one tensor: large values that are in its domain."""
    low, high = operator.domain
    values = [sign * value for value in LARGE_VALUES for sign in (1, -1)]
    values = [one for one in values if (low is None or one > low) and (high is None or one < high)]
    tensor = checker.torch.tensor(values or [0.5], dtype=dtype, device=checker.request.device)
    from torch.testing._internal.opinfo.core import SampleInput

    return SampleInput(tensor, kwargs=operator.sample_kwargs(checker.request.device, dtype, tensor)[0])
