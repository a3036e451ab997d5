# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""References for INT64: the operator in double precision, or the function of NumPy that the database names."""

import numpy
from errors import REFUSALS
from exemptions import title

# Integers have other results than equal real numbers, because an argument or a quotient is truncated.
TRUNCATED = {
    "__rpow__", "addbmm", "addmm", "addmm decomposed", "addmv", "baddbmm", "index_reduce mean", "linspace",
    "nn.functional.avg_pool1d", "nn.functional.avg_pool2d", "nn.functional.avg_pool3d", "nn.functional.hardtanh",
    "scatter_reduce mean",
}  # fmt: skip
# Has no meaning for real numbers.
BITS = {"hash_tensor"}
# Computes in FP32, where its result for large integers loses more than a tolerance.
LOSSY = {"nn.functional.local_response_norm"}
EXCLUDED = TRUNCATED | BITS | LOSSY


def raise_integers(checker, one):
    """Returns the arguments in double precision, but indices as they are. Returns None if no sample shows which
    arguments are indices.
    """
    torch, tree = checker.torch, checker.tree
    if one.double is None:
        return None
    values, shape = tree.tree_flatten((one.sample.input, one.sample.args, one.sample.kwargs))
    doubles = tree.tree_flatten((one.double.input, one.double.args, one.double.kwargs))[0]
    if len(values) != len(doubles):
        return None

    def convert(value, double):
        if isinstance(value, torch.Tensor) and isinstance(double, torch.Tensor):
            is_data = value.dtype == torch.int64 and double.dtype == torch.float64
            return value.cpu().double() if is_data else value.cpu()
        if value is torch.int64 and double is torch.float64:
            return double
        return double if isinstance(value, (torch.device, str)) else value

    return tree.tree_unflatten([convert(*pair) for pair in zip(values, doubles)], shape)


def call_numpy(checker, operator, sample):
    """Returns the result of the database's function of NumPy. Raises an exception if NumPy cannot compute it."""
    arguments = sample.numpy()
    result = operator.ref(arguments.input, *arguments.args, **arguments.kwargs)
    results = result if isinstance(result, (tuple, list)) else [result]
    tensors = [checker.torch.as_tensor(numpy.asarray(value)) for value in results]
    return tensors if isinstance(result, (tuple, list)) else tensors[0]


def find_reference(checker, operator, one, arguments):
    """Returns a function and its arguments. The function is the operator itself in INT64 on the CPU, with `arguments`,
    if no other is known.
    """
    raised = None if title(operator) in EXCLUDED else raise_integers(checker, one)
    if raised is not None:
        try:
            checker.call(operator.op, checker.fresh(raised))
            checker.source = "double precision"
            return operator.op, raised
        except REFUSALS:
            pass
    try:
        result = call_numpy(checker, operator, one.sample)
        checker.source = "NumPy"
        return (lambda *_, **__: result), arguments
    except Exception:  # functions of NumPy for other arguments raise many kinds
        checker.source = "the operator on the CPU"
        return operator.op, arguments
