# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Samples without elements, and the shape and the type of their results.

An empty result has no value to compare, and the reference in double precision is computed by the same code. The shape
and the type that torch's FakeTensorMode predicts come from code that computes nothing.
"""

from errors import REFUSALS, WrongError, check_device
from packages import get_reference

# Classes of the database whose operators torch itself tests with empty inputs: values of results are compared too.
TAKE_EMPTY = ("UnaryUfuncInfo", "BinaryUfuncInfo", "ReductionOpInfo")

# torch reads beyond the input if lengths in the arguments differ from its own: the process or the context ends.
UNCHECKED = {
    "_segment_reduce", "torch.ops.aten._efficient_attention_forward", "torch.ops.aten._flash_attention_forward",
}  # fmt: skip


def is_empty(checker, arguments):
    leaves = checker.tree.tree_flatten(arguments)[0]
    return any(isinstance(one, checker.torch.Tensor) and one.numel() == 0 for one in leaves)


def make_empty(checker, operator, samples):
    """Returns the first sample that the operator takes after its first or last dimension was cut to no elements, in all
    tensors that have this size there; [] if none is taken. The reference must take it first: an index outside of what
    was cut is a refusal on a CPU, and ends the context of a GPU. Operators that torch does not test with empty inputs
    must return no elements: some return uninitialized memory.
    """
    torch = checker.torch
    if operator.name in UNCHECKED:
        return []
    has_values = type(operator).__name__ in TAKE_EMPTY
    for sample in samples:
        if not isinstance(sample.input, torch.Tensor) or sample.input.layout is not torch.strided:
            continue
        for dim in (0, -1)[: sample.input.dim()]:
            size = sample.input.shape[dim]

            def cut(value, dim=dim, size=size):
                has_size = isinstance(value, torch.Tensor) and value.dim() and value.shape[dim] == size
                return value.narrow(dim, 0, 0).clone() if has_size else value

            empty = sample.transform(cut)
            arguments = (empty.input, empty.args, empty.kwargs)
            try:
                checker.call(get_reference(operator), checker.fresh(checker.raised(arguments)))
                result = checker.call(operator.op, checker.fresh(arguments))
            except REFUSALS as error:
                check_device(error, is_empty=True)
                continue
            if has_values or not any(one.numel() for one in checker.leaves(result)):
                return [empty]
    return []


def list_forms(checker, result):
    """Returns shape and type of each tensor of a result."""
    leaves = checker.tree.tree_flatten(result)[0]
    return [(list(one.shape), one.dtype) for one in leaves if isinstance(one, checker.torch.Tensor)]


def predict_forms(checker, operator, arguments):
    """Returns shape and type of each result, or None if they depend on values, or torch cannot predict them."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with FakeTensorMode() as mode:
            return list_forms(checker, checker.call(operator.op, checker.map(arguments, mode.from_tensor)))
    except Exception:  # predictions raise many kinds
        return None


def compare_forms(checker, way, actual, predicted):
    """Raises WrongError if a result has another shape or type than predicted."""
    forms = list_forms(checker, actual)
    for (shape, dtype), (right_shape, right_dtype) in zip(forms, predicted):
        if shape != right_shape:
            raise WrongError(way, f"with empty inputs, the shape is {shape} instead of {right_shape}")
        if dtype != right_dtype:
            raise WrongError(way, f"with empty inputs, the type is {dtype} instead of {right_dtype}")
