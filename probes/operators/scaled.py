# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Scaled FP8 products. torch's database has them only in FP8, which cannot be compared; here their result is BF16."""

from packages import PackageOperator

NAME = "torch._scaled_mm"


def make_samples(torch, device, is_rowwise):
    """Returns FP8 matrices with a scale for each, or for each row of the first and each column of the second."""
    for rows, inner, columns in ((16, 32, 48), (17, 64, 32), (64, 256, 128)):
        # Multiples of 1/8 up to 2: FP8 represents each.
        a, b = (torch.randint(-16, 17, (size, inner), device=device) / 8 for size in (rows, columns))
        a, b = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
        shapes = ((rows, 1), (1, columns)) if is_rowwise else ((), ())
        scales = [torch.rand(shape, device=device) + 0.5 for shape in shapes]
        yield a, b.t(), *scales


def multiply(a, b, scale_a, scale_b):
    import torch

    return torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16)


def multiply_reference(a, b, scale_a, scale_b):
    return (a * scale_a) @ (b * scale_b)


def find_operators(torch, device):
    """Returns the scaled products that this torch has. A CPU supports one scale for each matrix."""
    if not hasattr(torch, "_scaled_mm"):
        return []
    found = []
    for variant in ("", "rowwise"):
        found.append(
            PackageOperator(
                NAME,
                "torch",
                multiply,
                multiply_reference,
                lambda torch, device, dtype, variant=variant: make_samples(torch, device, bool(variant)),
                ("bfloat16",) if device == "cuda" or not variant else (),
                variant_test_name=variant,
            )
        )
    return found
