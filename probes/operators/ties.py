# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators that return indices: any one of several equal elements is a right choice."""

# Position of `dim` among the arguments after the input. Without `dim`, POSITIONS_OF_ALL look at the flattened input.
POSITIONS = {
    "argmax": 0, "argmin": 0, "argsort": 0, "cummax": 0, "cummin": 0, "kthvalue": 1, "max": 0, "median": 0, "min": 0,
    "mode": 0, "nanmedian": 0, "sort": 0, "topk": 1,
}  # fmt: skip
POSITIONS_OF_ALL = ("argmax", "argmin")
DIMS = {"msort": 0}  # operators without indices and the argument
# Any one of several values that are equally frequent is a right choice.
MOST_FREQUENT = ("mode",)
# Without `dim`, these reduce the flattened input.
REDUCE_ALL = ("max", "median", "min", "nanmedian")


def find_dim(operator, sample):
    """Returns the argument `dim`, or None without one."""
    position = POSITIONS[operator.name]
    return sample.kwargs.get("dim", sample.args[position] if len(sample.args) > position else None)


def order_equal(torch, operator, sample, gradients):
    """Returns the gradients, in ascending order for equal elements of the input: the choice between these elements is
    undefined, and differs between devices.
    """
    if operator.name not in (*POSITIONS, *DIMS) or not gradients:
        return gradients
    values, gradient = sample.input.detach().cpu(), gradients[0].cpu()
    dim = DIMS[operator.name] if operator.name in DIMS else find_dim(operator, sample)
    # `dim` is a tensor for max and min of two tensors.
    if isinstance(dim, torch.Tensor) or not values.dim() or gradient.shape != values.shape:
        return gradients
    if dim is None and operator.name in REDUCE_ALL:
        values, gradient = values.flatten(), gradient.flatten()
    dim = -1 if dim is None else dim
    by_gradient = gradient.argsort(dim=dim)
    by_value = values.gather(dim, by_gradient).argsort(dim=dim, stable=True)
    return [gradient.gather(dim, by_gradient.gather(dim, by_value)), *gradients[1:]]


def choose(torch, operator, sample, index):
    """Returns the elements of the input that `index` chooses, and how often the input has each along the dimension."""
    dim = find_dim(operator, sample)
    values = sample.input.detach().cpu()
    if dim is None and operator.name in POSITIONS_OF_ALL:
        return values.flatten()[index.flatten()], None
    dim = -1 if dim is None else dim
    if values.dim() == 0:
        return values, None
    index = index.unsqueeze(dim) if index.dim() < values.dim() else index
    chosen = torch.gather(values, dim, index)
    return chosen, (values == chosen).sum(dim) if operator.name in MOST_FREQUENT else None


def choose_equal(checker, operator, sample, actual, expected):
    """Returns True if the operator returns indices, both results choose equal elements, and the actual values, if it
    returns values too, are those elements.
    """
    if operator.name not in POSITIONS:
        return False
    torch, found = checker.torch, []
    for result in (actual, expected):
        leaves = checker.leaves(result)
        indices = [leaf for leaf in leaves if leaf.dtype == torch.int64]
        if not indices:
            return False
        try:
            chosen, counts = choose(torch, operator, sample, indices[-1])
        except (RuntimeError, IndexError):  # an index outside of the input
            return False
        if result is actual and len(leaves) > 1 and not are_equal(torch, leaves[0].reshape(chosen.shape), chosen):
            return False
        found.append(chosen if counts is None else counts)
    return are_equal(torch, *found)


def are_equal(torch, one, other):
    return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())
