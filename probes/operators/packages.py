# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators of installed packages, each with an independent reference, in the form of torch's database of operators."""

import dataclasses
import importlib
import importlib.metadata
import importlib.util
import math
from collections.abc import Callable

from exemptions import FLOATS

HALVES = FLOATS[1:]


@dataclasses.dataclass
class PackageOperator:
    """Offers the members of torch's OpInfo that the comparison uses."""

    name: str  # "torchvision.ops.nms"
    module: str  # that contains it
    op: Callable
    reference: Callable  # called with the same arguments, on the CPU in double precision
    make_samples: Callable  # (torch, device, dtype) -> tuples of positional arguments
    types: tuple[str, ...] = FLOATS
    supports_autograd: bool = False
    variant_test_name: str = ""
    decorators: tuple = ()
    supports_out: bool = False

    def sample_inputs(self, device, dtype, requires_grad=False):
        import torch
        from torch.testing._internal.opinfo.core import SampleInput

        for first, *args in self.make_samples(torch, device, dtype):
            yield SampleInput(first, args=tuple(args))

    def supported_dtypes(self, device):
        import torch

        return {getattr(torch, name) for name in self.types}

    def supported_backward_dtypes(self, device):
        return self.supported_dtypes(device)

    def get_inplace(self):
        return None


def get_reference(operator):
    """Returns the function that computes the operator on the CPU in double precision."""
    return getattr(operator, "reference", operator.op)


def fetch(path):
    """Returns the function `path` of its package when it is called: an import may fail or end the process."""
    module, name = path.rsplit(".", 1)
    return lambda *args, **kwargs: getattr(importlib.import_module(module), name)(*args, **kwargs)


# ---- torchvision ---------------------------------------------------------------------------------------------------
# All types represent the coordinates, overlaps differ clearly from the threshold, and shifts are not integers, because
# their gradient is not unique there.


def sample_nms(torch, device, dtype):
    corner = torch.arange(24, dtype=torch.float32) * 3 % 29
    boxes = torch.stack([corner, corner * 5 % 17, corner + 8, corner * 5 % 17 + 8], 1)
    for count in (1, 24):
        scores = (torch.arange(count) * 7 % 31).float() / 32
        yield boxes[:count].to(device, dtype), scores.to(device, dtype), 0.375


def reference_nms(boxes, scores, threshold):
    """Keeps a box unless a better one that was kept overlaps it by more than `threshold` (intersection over union)."""
    import torch

    kept = []
    for one in scores.argsort(descending=True, stable=True).tolist():
        for other in kept:
            low = torch.maximum(boxes[one, :2], boxes[other, :2])
            common = (torch.minimum(boxes[one, 2:], boxes[other, 2:]) - low).clamp(min=0).prod()
            areas = sum((boxes[i, 2:] - boxes[i, :2]).prod() for i in (one, other))
            if common / (areas - common) > threshold:
                break
        else:
            kept.append(one)
    return torch.tensor(kept, dtype=torch.int64)


def sample_roi_align(torch, device, dtype):
    image = torch.randn(2, 3, 16, 16, device=device).to(dtype)
    boxes = torch.tensor([[0, 1.5, 2, 9.5, 10], [1, 0, 0.25, 15, 12.25], [1, 4, 4, 6, 7.5]], device=device).to(dtype)
    for ratio, aligned in ((2, False), (2, True), (-1, True)):
        yield image, boxes, (4, 4), 0.5, ratio, aligned


def interpolate(image, y, x):
    """Returns bilinear samples of image [c, h, w] at y and x, of one shape; zeros surround the image."""
    import torch

    height, width = image.shape[1:]
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    y, x = (torch.where(inside, place, 0.0) + 1 for place in (y, x))
    image = torch.nn.functional.pad(image, (1, 2, 1, 2))
    top, left = y.floor().long(), x.floor().long()
    dy, dx = y - top, x - left
    upper = image[:, top, left] * (1 - dx) + image[:, top, left + 1] * dx
    lower = image[:, top + 1, left] * (1 - dx) + image[:, top + 1, left + 1] * dx
    return (upper * (1 - dy) + lower * dy) * inside


def reference_roi_align(image, boxes, size, scale, ratio, aligned):
    """Averages bilinear samples of each bin (He et al., Mask R-CNN, section 3)."""
    import torch

    def place(start, end, bins):
        """Returns the positions of the samples along one axis, [bins, samples of a bin]."""
        extent = end - start if aligned else max(end - start, 1.0)
        count = ratio if ratio > 0 else math.ceil(extent / bins)
        return start + extent / bins * (
            torch.arange(bins)[:, None] + (torch.arange(count, dtype=torch.float64) + 0.5) / count
        )

    bins = []
    for number, *box in boxes.tolist():
        x1, y1, x2, y2 = (value * scale - (0.5 if aligned else 0) for value in box)
        y, x = place(y1, y2, size[0])[:, None, :, None], place(x1, x2, size[1])[None, :, None, :]
        height, width = image.shape[2:]
        inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
        y, x = torch.broadcast_tensors(y.clamp(0, height - 1), x.clamp(0, width - 1))
        bins.append((interpolate(image[int(number)], y, x) * inside).mean((-2, -1)))
    return torch.stack(bins)


def sample_deform_conv(torch, device, dtype):
    for stride, padding in ((1, 1), (2, 0)):
        image = torch.randn(2, 4, 9, 9, device=device).to(dtype)
        weight = torch.randn(6, 4, 3, 3, device=device).to(dtype)
        bias = torch.randn(6, device=device).to(dtype)
        side = (9 + 2 * padding - 3) // stride + 1
        offset = ((torch.randint(-6, 6, (2, 18, side, side), device=device) + 0.5) / 4).to(dtype)
        mask = torch.rand(2, 9, side, side, device=device).to(dtype)
        yield image, offset, weight, bias, (stride, stride), (padding, padding), (1, 1), mask


def reference_deform_conv(image, offset, weight, bias, stride, padding, dilation, mask):
    """Multiplies samples at shifted positions by the mask and the weights (Zhu et al., Deformable ConvNets v2)."""
    import torch

    height, width = offset.shape[2:]
    columns = weight.shape[3]
    y, x = (torch.arange(side, dtype=torch.float64) * step for side, step in zip((height, width), stride))
    results = []
    for one, shifts, factors in zip(image, offset, mask):
        total = bias[:, None, None]
        for tap, factor in enumerate(factors):
            row, column = divmod(tap, columns)
            at_y = y[:, None] - padding[0] + row * dilation[0] + shifts[2 * tap]
            at_x = x[None, :] - padding[1] + column * dilation[1] + shifts[2 * tap + 1]
            values = interpolate(one, at_y, at_x) * factor
            total = total + torch.einsum("oc,chw->ohw", weight[:, :, row, column], values)
        results.append(total)
    return torch.stack(results)


# ---- attention -----------------------------------------------------------------------------------------------------


def sample_attention(torch, device, dtype):
    for rows, keys, width in ((64, 64, 64), (33, 70, 32), (1, 128, 128)):
        shapes = [(2, rows, 3, width), (2, keys, 3, width), (2, keys, 3, width)]
        yield tuple(torch.randn(shape, device=device).to(dtype) for shape in shapes)


def reference_attention(query, key, value):
    """Attention of [batch, rows, heads, width] without a mask."""
    scores = query.permute(0, 2, 1, 3) @ key.permute(0, 2, 3, 1) / query.shape[-1] ** 0.5
    return (scores.softmax(-1) @ value.permute(0, 2, 1, 3)).permute(0, 2, 1, 3)


# ---- causal-conv1d -------------------------------------------------------------------------------------------------


def sample_causal_conv(torch, device, dtype):
    for width, length in ((4, 64), (2, 37)):
        x = torch.randn(2, 16, length, device=device).to(dtype)
        weight = torch.randn(16, width, device=device).to(dtype)
        yield x, weight, torch.randn(16, device=device).to(dtype)


def causal_conv(x, weight, bias):
    return fetch("causal_conv1d.causal_conv1d_fn")(x, weight, bias, activation="silu")


def reference_causal_conv(x, weight, bias):
    """Returns the SiLU of a causal depthwise convolution: x[batch, channel, time], weight[channel, tap]."""
    import torch

    functional = torch.nn.functional
    padded = functional.pad(x, (weight.shape[1] - 1, 0))
    return functional.silu(functional.conv1d(padded, weight[:, None], bias, groups=len(weight)))


# ---- quantized products --------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    """A linear layer with quantized weights, and the weights and bias that it represents."""

    call: Callable
    weight: object  # double precision, on the CPU
    bias: object = 0

    def __repr__(self):
        return f"quantized{list(self.weight.shape)}"


def run_layer(x, layer):
    return layer.call(x)


def run_reference_layer(x, layer):
    return x @ layer.weight.t() + layer.bias


def sample_four_bits(torch, device, dtype):
    """NF4 (Dettmers et al., QLoRA): two indices into `code` in a byte, the first one above; a scale for 64 elements."""
    package = importlib.import_module("bitsandbytes")
    code = package.functional.get_4bit_type("nf4", device="cpu")
    packed = torch.randint(0, 256, (96 * 128 // 2, 1), dtype=torch.uint8)
    scales = torch.rand(96 * 128 // 64) + 0.5
    indices = torch.stack([packed.flatten() >> 4, packed.flatten() & 15], 1).flatten().long()
    weight = (code.double()[indices].reshape(-1, 64) * scales.double()[:, None]).reshape(96, 128)
    state = package.functional.QuantState(scales.to(device), (96, 128), code.to(device), 64, "nf4", dtype)
    on_device = packed.to(device)
    for rows in (1, 5):
        x = torch.randn(rows, 128, device=device).to(dtype)
        yield x, Layer(lambda x: package.matmul_4bit(x, on_device.t(), state), weight)


def sample_int8_weights(torch, device, dtype):
    package = importlib.import_module("torchao.quantization")
    linear = torch.nn.Linear(64, 96, device=device, dtype=dtype).requires_grad_(False)
    package.quantize_(linear, package.Int8WeightOnlyConfig())
    layer = Layer(linear, linear.weight.dequantize().cpu().double(), linear.bias.cpu().double())
    for rows in (1, 17):
        yield torch.randn(rows, 64, device=device).to(dtype), layer


def sample_integers(torch, device, dtype):
    for rows, columns in ((16, 32), (5, 64)):
        yield tuple(torch.randint(-8, 9, (size, 64), device=device).to(dtype) for size in (rows, columns))


def multiply_integers(x, weight):
    import torch

    functional = importlib.import_module("bitsandbytes.functional")
    return functional.int8_linear_matmul(x.to(torch.int8), weight.to(torch.int8))


def reference_integers(x, weight):
    import torch

    return (x @ weight.t()).to(torch.int32)


OPERATORS = (
    PackageOperator("torchvision.ops.nms", "torchvision", fetch("torchvision.ops.nms"), reference_nms, sample_nms),
    PackageOperator(
        "torchvision.ops.roi_align",
        "torchvision",
        fetch("torchvision.ops.roi_align"),
        reference_roi_align,
        sample_roi_align,
        supports_autograd=True,
    ),
    PackageOperator(
        "torchvision.ops.deform_conv2d",
        "torchvision",
        fetch("torchvision.ops.deform_conv2d"),
        reference_deform_conv,
        sample_deform_conv,
        supports_autograd=True,
    ),
    PackageOperator(
        "xformers.ops.memory_efficient_attention",
        "xformers",
        fetch("xformers.ops.memory_efficient_attention"),
        reference_attention,
        sample_attention,
        supports_autograd=True,
    ),
    PackageOperator(
        "flash_attn.flash_attn_func",
        "flash_attn",
        fetch("flash_attn.flash_attn_func"),
        reference_attention,
        sample_attention,
        HALVES,
        supports_autograd=True,
    ),
    PackageOperator(
        "causal_conv1d.causal_conv1d_fn",
        "causal_conv1d",
        causal_conv,
        reference_causal_conv,
        sample_causal_conv,
        supports_autograd=True,
    ),
    PackageOperator(
        "bitsandbytes.matmul_4bit", "bitsandbytes", run_layer, run_reference_layer, sample_four_bits, HALVES
    ),
    PackageOperator(
        "bitsandbytes.functional.int8_linear_matmul",
        "bitsandbytes",
        multiply_integers,
        reference_integers,
        sample_integers,
        ("float16",),
    ),
    PackageOperator(
        "torchao.Int8WeightOnlyConfig",
        "torchao",
        run_layer,
        run_reference_layer,
        sample_int8_weights,
    ),
)


def find_operators():
    """Returns the operators of the packages that are installed."""
    return [one for one in OPERATORS if importlib.util.find_spec(one.module)]


def list_packages(operators):
    """Returns names and versions of the packages of these operators: "torchvision 0.26.0"."""
    names = []
    for module in sorted({one.module for one in operators if isinstance(one, PackageOperator)} - {"torch"}):
        try:
            names.append(f"{module} {importlib.metadata.version(module)}")
        except importlib.metadata.PackageNotFoundError:
            names.append(module)
    return names
