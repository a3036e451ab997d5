# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Fake (meta) kernels of the operators, for the tracing of torch.compile: they compute nothing. They raise the errors
of bindings/torch.cpp for arguments that no machine supports.
"""

from __future__ import annotations

import torch

_FLOATING = (torch.float32, torch.bfloat16, torch.float16)


def _check(right: bool | torch.SymBool, operator: str, expected: str, *got: torch.Tensor | torch.dtype | None) -> None:
    def describe(value: torch.Tensor | torch.dtype | None) -> str:
        return f"{list(value.shape)} {value.dtype}" if isinstance(value, torch.Tensor) else str(value)

    torch._check(right, lambda: f"pbprobe::{operator}: {expected}{' and '.join(map(describe, got))}")


def _check_device(operator: str, first: torch.Tensor, other: torch.Tensor, name: str) -> None:
    same = "expected all tensors to be on the same device"
    _check(first.device == other.device, operator, f"{same}, but {name} is on another device than the first tensor")


def _check_floating(operator: str, a: torch.Tensor, b: torch.Tensor) -> None:
    types = "expected both to be torch.float32, torch.bfloat16 or torch.float16, and the same: got "
    _check(a.dtype in _FLOATING and a.dtype == b.dtype, operator, types, a, b)


def _check_integers(operator: str, a: torch.Tensor, b: torch.Tensor) -> None:
    types = "expected a of torch.int8 or torch.uint8 and b of torch.int8: got "
    _check(a.dtype in (torch.int8, torch.uint8) and b.dtype == torch.int8, operator, types, a, b)


def _get_shape(operator: str, a: torch.Tensor, b: torch.Tensor, most: int = 3) -> list[int]:
    shapes = "expected two matrices, or two batches with the same number of matrices: got "
    _check(a.dim() == b.dim() and a.dim() in (2, 3), operator, shapes, a, b)
    _check(a.dim() == 2 or a.shape[0] == b.shape[0], operator, shapes, a, b)
    _check(a.shape[-1] == b.shape[-2], operator, "a and b cannot be multiplied: ", a, b)
    _check_device(operator, a, b, "b")
    _check(a.dim() <= most, operator, "expected matrices: got ", a, b)
    return [*a.shape[:-1], b.shape[-1]]


def fake_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns an uninitialized tensor with shape and type of the result of pbprobe::mm."""
    shape = _get_shape("mm", a, b)
    _check_floating("mm", a, b)
    return a.new_empty(shape)


def fake_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns an uninitialized tensor with shape and type of the result of pbprobe::linear."""
    shapes = "expected x [..., k] and weight [n, k]: got "
    _check(x.dim() > 0 and weight.dim() == 2, "linear", shapes, x, weight)
    _check(x.shape[-1] == weight.shape[1], "linear", shapes, x, weight)
    _check_floating("linear", x, weight)
    _check_device("linear", x, weight, "weight")
    n = weight.shape[0]
    if bias is not None:
        expected = f"expected bias [{n}] {x.dtype}: got "
        _check(bias.dim() == 1 and bias.dtype == x.dtype, "linear", expected, bias)
        _check(bias.shape[0] == n, "linear", expected, bias)
        _check_device("linear", x, bias, "bias")
    return x.new_empty([*x.shape[:-1], n])


def fake_int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns an uninitialized tensor with shape and type of the result of pbprobe::int_mm."""
    shape = _get_shape("int_mm", a, b)
    _check_integers("int_mm", a, b)
    return a.new_empty(shape, dtype=torch.int32)


def fake_scaled_int_mm(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, out_dtype: torch.dtype
) -> torch.Tensor:
    """Returns an uninitialized tensor with shape and type of the result of pbprobe::scaled_int_mm."""
    m, n = _get_shape("scaled_int_mm", a, b, most=2)
    _check_integers("scaled_int_mm", a, b)
    _check_result("scaled_int_mm", out_dtype)
    for name, scale, count in (("scale_a", scale_a, m), ("scale_b", scale_b, n)):
        expected = f"expected {name} of {count} elements of torch.float32: got "
        _check(scale.dtype == torch.float32, "scaled_int_mm", expected, scale)
        _check(scale.numel() == count, "scaled_int_mm", expected, scale)
        _check_device("scaled_int_mm", a, scale, name)
    return a.new_empty([m, n], dtype=out_dtype)


def _check_result(operator: str, out_dtype: torch.dtype | None) -> None:
    types = "expected out_dtype torch.bfloat16, torch.float16 or torch.float32: got "
    _check(out_dtype in _FLOATING, operator, types, out_dtype)


def fake_scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
    tensor_scale_a: torch.Tensor | None = None,
    tensor_scale_b: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns an uninitialized tensor with shape and type of the result of pbprobe::scaled_mm. The operator checks
    scales and bias itself.
    """
    shape = _get_shape("scaled_mm", a, b, most=2)
    types = ("torch.float8_e4m3fn", "torch.float8_e5m2", "torch.float4_e2m1fn_x2")
    expected = f"expected both to be {types[0]}, {types[1]} or {types[2]}, and the same: got "
    _check(str(a.dtype) in types and a.dtype == b.dtype, "scaled_mm", expected, a, b)
    _check_result("scaled_mm", out_dtype)
    return a.new_empty(shape, dtype=out_dtype)
