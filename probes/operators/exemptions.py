# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tolerances, and operators of torch that are not compared or with wider ones, each with the reason."""

import dataclasses

FLOATS = ("float32", "float16", "bfloat16")
# Factor of the tolerances: gradients with 16 bits store intermediate results in their type.
GRADIENTS_OF_HALVES = 4

# Operators that return uninitialized memory: only the shape is compared.
UNINITIALIZED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
# Operators whose statistics torch leaves undefined in evaluation: empty on a CPU, of any size on a GPU.
UNDEFINED_STATISTICS = {"native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"}
# Strides in the arguments refer to the memory of the input, so that another layout gives another result.
STRIDES = {"as_strided", "as_strided_copy", "as_strided_scatter"}
# Dimensions are not reversed in memory. resize_ takes elements in the order of memory. The others read memory beside
# the input unless its last dimension is contiguous, which nn.functional.scaled_dot_product_attention provides.
ONE_ORDER = {
    "resize_",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
    "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward",
}
# Large values are not compared: approximations of oscillating functions lose accuracy with the argument in FP32,
# nan_to_num replaces infinities by the largest value of the type, and a GPU multiplies by powers of ten in FP16, which
# overflows.
LARGE_VALUES_LOSE = {
    "special.airy_ai", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1",
    "special.spherical_bessel_j0", "nan_to_num", "round decimals_3",
}  # fmt: skip
# Not called with empty inputs. For no rows, a GPU returns no elements, and a CPU a number; for no channels, a GPU
# divides by their number, which ends the process.
NO_EMPTY = {"nn.functional.multilabel_margin_loss", "native_batch_norm", "_native_batch_norm_legit"}


@dataclasses.dataclass(frozen=True)
class Exemption:
    """An accuracy loss of torch itself, on sound machines. `factor` widens the tolerances; 0 omits the comparison."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    ways: tuple[str, ...]  # empty: all
    factor: float
    reason: str


EXEMPTIONS = (
    Exemption(("as_strided partial_views",), FLOATS, (), 0, "reads memory beside its input, which a copy lacks"),
    Exemption(("fft.ihfftn",), (*FLOATS, "int64"), ("out=",), 0, "torch 2.11 does not write `out` for one dimension"),
    Exemption(("fmod", "remainder"), FLOATS[1:], ("backward",), 0, "torch rounds the quotient before it truncates it"),
    Exemption(("nn.functional.normalize", "corrcoef"), FLOATS[1:], ("backward",), 0, "adds large terms that cancel"),
    Exemption(("matrix_exp",), FLOATS[1:], (), 0, "squares in the type itself, which overflows"),
    # The absolute value of the result does not depend on the angle: the terms of its gradient cancel.
    Exemption(("polar",), FLOATS[1:], ("backward",), 4, "adds terms that cancel, in the type itself"),
    Exemption(("nn.functional.soft_margin_loss",), ("float16",), (), 0, "computes exponentials, which overflow"),
    Exemption(("logcumsumexp",), FLOATS, ("backward",), 0, "subtracts the result, so that large inputs cancel"),
    Exemption(("nn.functional.ctc_loss",), FLOATS, ("backward",), 20, "adds thousands of exponentials"),
    Exemption(
        (
            "nn.functional.scaled_dot_product_attention",
            "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
            "torch.ops.aten._flash_attention_forward",
            "torch.ops.aten._efficient_attention_forward",
        ),
        FLOATS[1:],
        ("backward",),
        4,
        "torch stores the probabilities in the tested type, and subtracts their mean",
    ),
    Exemption(
        ("grid_sampler_2d", "grid_sampler_3d", "nn.functional.grid_sample"),
        FLOATS[1:],
        (),
        0,
        "rounds coordinates after scaling them to the size of the image",
    ),
)


def title(operator):
    return " ".join(filter(None, (operator.name, operator.variant_test_name)))


def find_limits(operator, dtype, device):
    """Returns the relative and the absolute tolerance, the database's if that is wider."""
    rtol, atol = {"float32": (1e-5, 2e-6), "float16": (2e-3, 1e-4), "bfloat16": (1.6e-2, 1e-3)}.get(
        str(dtype).removeprefix("torch."), (1e-5, 2e-6)
    )
    for decorator in operator.decorators or ():
        for one in getattr(decorator, "decorators", [decorator]):
            wanted = getattr(one, "d", {}).get(dtype) if type(one).__name__ == "toleranceOverride" else None
            if wanted is not None and getattr(decorator, "device_type", None) in (None, device):
                rtol, atol = max(rtol, wanted.rtol), max(atol, wanted.atol)
    return rtol, atol


def find_factor(operator, dtype, way):
    """Returns the factor for the tolerances: EXEMPTIONS, and a general one for gradients with 16 bits."""
    name = str(dtype).removeprefix("torch.")
    general = GRADIENTS_OF_HALVES if way == "backward" and name in FLOATS[1:] else 1
    for one in EXEMPTIONS:
        if title(operator) in one.names and name in one.types and way in (one.ways or (way,)):
            return one.factor * general
    return general
