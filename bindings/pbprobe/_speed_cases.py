# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Layers of real models as products: their shapes, operands, both calls, and the reference that both must match."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from pbprobe import ops
from pbprobe._speed_options import CPU_TYPES, GPU_TYPES, load_layers

__all__ = [
    "CPU_TYPES",
    "GPU_TYPES",
    "Call",
    "Case",
    "Operands",
    "Shape",
    "draw_shapes",
    "load_layers",
    "make_case",
    "needed_bytes",
    "torch_settings",
]

_FLOATS = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_BLOCK = 128  # elements along k that share a scale
_EDGE = 16  # first and last rows and columns that are compared

Call = Callable[[], torch.Tensor]


@dataclass(frozen=True)
class Shape:
    """One product: y[m,n] = x[m,k] · w[n,k]ᵀ of a layer."""

    layer: str
    m: int
    n: int
    k: int

    @property
    def flop(self) -> int:
        """Multiplications and additions."""
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True)
class Case:
    """Operands of one product, the calls of pbprobe and of its peer, and the check that accepts their results."""

    a: torch.Tensor
    b: torch.Tensor  # [k,n]: a view of the weight [n,k]
    scales: tuple[torch.Tensor, ...]
    ours: Call
    theirs: Call
    check: Callable[[torch.Tensor], bool]
    pause: float = 0.0  # seconds before each sample, in which threads of the other side end their busy waiting


def draw_shapes(
    layers: list[tuple[str, int, int]], count: int, seed: int, most_m: int, most_flop: float
) -> Iterator[Shape]:
    """Yields `count` shapes of the layers, m log-uniform from 1 to most_m. The same arguments give the same shapes.

    A shape above most_flop is drawn again. Raises ValueError if no layer is below it even with one row.
    """
    if min(2 * n * k for _, n, k in layers) > most_flop:
        raise ValueError(f"a single row of every layer takes more than {most_flop:g} operations: raise --most-flop")
    generator = random.Random(seed)
    drawn = 0
    while drawn < count:
        name, n, k = generator.choice(layers)
        shape = Shape(name, max(1, int(2 ** generator.uniform(0, math.log2(most_m)))), n, k)
        if shape.flop <= most_flop:
            drawn += 1
            yield shape


class Operands:
    """Random operands on a device. Each name has one buffer, of which all shapes read the beginning."""

    def __init__(self, device: str, seed: int) -> None:
        self._device = device
        self._generator = torch.Generator(device).manual_seed(seed)
        self._buffers: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def take(self, name: str, dtype: torch.dtype, rows: int, columns: int) -> torch.Tensor:
        """Returns a contiguous matrix, valid until the next call of the same name and type that is larger."""
        buffer = self._buffers.get((name, dtype))
        if buffer is None or buffer.numel() < rows * columns:
            self._buffers.pop((name, dtype), None)  # before the new one is made: both may not fit
            buffer = self._buffers[name, dtype] = self._draw(dtype, rows * columns)
        return buffer[: rows * columns].view(rows, columns)

    def uniform(self, *sizes: int) -> torch.Tensor:
        """Returns scales from 0.5 to 1.5 in FP32."""
        return torch.rand(sizes, device=self._device, generator=self._generator) + 0.5

    def _draw(self, dtype: torch.dtype, count: int) -> torch.Tensor:
        if dtype == torch.int8:
            return torch.randint(-128, 128, (count,), dtype=dtype, device=self._device, generator=self._generator)
        drawn = torch.bfloat16 if dtype.itemsize == 1 else dtype
        return torch.randn(count, dtype=drawn, device=self._device, generator=self._generator).to(dtype)


@contextlib.contextmanager
def torch_settings(dtype: str) -> Iterator[None]:
    """Lets both sides compute FP32 in TF32 for "tf32", and in FP32 otherwise."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _blocks(size: int) -> int:
    return -(-size // _BLOCK)


def _edges(size: int) -> torch.Tensor:
    return torch.cat([torch.arange(min(_EDGE, size)), torch.arange(max(size - _EDGE, min(_EDGE, size)), size)])


def _edge_rows(matrix: torch.Tensor) -> torch.Tensor:
    """Returns the rows of _edges() in FP64 on the CPU, by slices: index_select has no FP8."""
    size = matrix.shape[0]
    parts = matrix[:_EDGE], matrix[max(size - _EDGE, min(_EDGE, size)) :]
    return torch.cat([part.cpu().double() for part in parts])


def _make_check(
    a: torch.Tensor,
    w: torch.Tensor,
    row_scales: torch.Tensor | float,
    column_scales: torch.Tensor | float,
    slack: float,
) -> Callable[[torch.Tensor], bool]:
    """Returns a comparison with FP64 of the first and last rows and columns.

    row_scales and column_scales: the scales of those rows of `a` and `w`, of each element along k or of all.
    slack: the relative error that the type's products may have besides the FP32 sums.
    """
    columns = _edges(w.shape[0])
    left, right = _edge_rows(a) * row_scales, _edge_rows(w) * column_scales
    expected = left @ right.t()
    k = a.shape[1]
    unit = k * 2.0**-23
    exact = a.dtype == torch.int8
    bound = 0 if exact else (left.abs() @ right.abs().t()) * (unit / (1 - unit) + slack)

    def check(c: torch.Tensor) -> bool:
        seen = _edge_rows(c).index_select(1, columns)
        rounding = 0 if exact else torch.finfo(c.dtype).eps * expected.abs()
        return bool(((seen - expected).abs() <= bound + rounding).all())

    return check


def _spread(scales: torch.Tensor, k: int) -> torch.Tensor:
    return scales.double().cpu().repeat_interleave(_BLOCK, 1)[:, :k]


def _make_fp8(dtype: str, a: torch.Tensor, w: torch.Tensor, operands: Operands) -> Case:
    (m, k), n = a.shape, w.shape[0]
    rows, columns, along = _edges(m), _edges(n), _blocks(k)
    fast = dtype == "fp8-tensor-fast"  # use_fast_accum: sums of fewer digits
    if dtype.startswith("fp8-tensor"):
        scale_a, scale_b = operands.uniform(), operands.uniform()
        of_rows: torch.Tensor | float = float(scale_a)
        of_columns: torch.Tensor | float = float(scale_b)
    elif dtype == "fp8-row":
        scale_a, scale_b = operands.uniform(m, 1), operands.uniform(1, n)
        of_rows, of_columns = scale_a.cpu()[rows].double(), scale_b.t().cpu()[columns].double()
    else:
        scale_a = operands.uniform(along, m).t()
        of_rows = _spread(scale_a.cpu()[rows], k)
        if dtype == "fp8-1x128":
            scale_b = operands.uniform(_blocks(n), along).t()
            of_columns = _spread(scale_b.t().cpu()[columns // _BLOCK], k)
        else:
            scale_b = operands.uniform(along, n)
            of_columns = _spread(scale_b.t().cpu()[columns], k)
    b = w.t()
    return Case(
        a,
        b,
        (scale_a, scale_b),
        lambda: ops.scaled_mm(a, b, scale_a, scale_b, None, None, torch.bfloat16, fast),
        lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast),
        _make_check(a, w, of_rows, of_columns, 2.0**-8 if fast else 2.0**-10),
    )


def make_case(dtype: str, shape: Shape, operands: Operands) -> Case:
    """Returns the operands and calls of a shape. Raises the errors of torch, for example if memory does not suffice."""
    stored = torch.int8 if dtype == "int8" else _FLOATS.get(dtype, torch.float8_e4m3fn)
    a = operands.take("x", stored, shape.m, shape.k)
    w = operands.take("weight", stored, shape.n, shape.k)
    b = w.t()
    if dtype.startswith("fp8"):
        return _make_fp8(dtype, a, w, operands)
    if dtype == "int8":
        ours, theirs = (lambda: ops.int_mm(a, b)), (lambda: torch._int_mm(a, b))
    else:
        ours, theirs = (lambda: ops.mm(a, b)), (lambda: torch.mm(a, b))
    return Case(a, b, (), ours, theirs, _make_check(a, w, 1.0, 1.0, 2.0**-9 if dtype == "tf32" else 0.0))


def needed_bytes(dtype: str, shape: Shape) -> int:
    """Returns the bytes of the operands, of three results (pbprobe, torch, comparison), and of drawing the operands."""
    size, result = {"fp32": (4, 4), "tf32": (4, 4), "bf16": (2, 2), "fp16": (2, 2), "int8": (1, 4)}.get(dtype, (3, 2))
    return (shape.m + shape.n) * shape.k * size + 3 * shape.m * shape.n * result
