# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The kernels as torch operators: torch.ops.pbprobe.mm, linear, int_mm, scaled_int_mm and scaled_mm, on CPU and CUDA
(scaled_mm, of FP8: on CUDA; scaled_mm_v2 is the same with torch.nn.functional.scaled_mm's arguments).

    import torch
    from pbprobe import ops

    y = ops.linear(x, weight, bias)           # or torch.ops.pbprobe.linear
    print(ops.which(x, weight.t()))           # gemm_bf16_14x32_avx512bf16
    with ops.use("gemm_fp32_6x16_avx2"):      # this kernel and no other, or an error that says why not
        z = ops.mm(a, b)

They work under torch.compile, torch.export, autograd and torch.func (mm, linear) and CUDA graphs, and give the same
bits every time. Errors are RuntimeError, as torch's own operators raise, and TypeError for what is no tensor.

int_mm's INT32 wraps around as torch._int_mm's does: for operands of -128, from a k of 131072 on (uint8: 65794);
scaled_int_mm adds parts of such a k in FP32.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx, _SingleLevelFunction
from torch.compiler import is_dynamo_compiling

from pbprobe import _fakes
from pbprobe._package import no_operators

__all__ = [
    "calibrate",
    "int_mm",
    "kernels",
    "linear",
    "mm",
    "scaled_int_mm",
    "scaled_mm",
    "scaled_mm_v2",
    "use",
    "which",
]

_LIBRARY = Path(__file__).parent / "libpbprobe_ops.so"


def _load() -> ctypes.CDLL:
    if not _LIBRARY.exists():
        raise ImportError(no_operators())
    try:
        torch.ops.load_library(str(_LIBRARY))
    except OSError as error:
        raise ImportError(
            f"pbprobe.ops: {_LIBRARY} does not load in torch {torch.__version__}: {error}: the package was built "
            "for another torch; install it again from source for this torch"
        ) from error
    library = ctypes.CDLL(str(_LIBRARY))
    library.pbprobe_force_kernel.argtypes = [ctypes.c_char_p, *3 * [ctypes.c_int64]]
    library.pbprobe_force_kernel.restype = ctypes.c_char_p
    library.pbprobe_forced_kernel.restype = ctypes.c_char_p
    library.pbprobe_forced_cut.restype = None
    library.pbprobe_calibrate.restype = ctypes.c_char_p
    library.pbprobe_kernel_name.argtypes = [ctypes.c_int64]
    library.pbprobe_kernel_name.restype = ctypes.c_char_p
    return library


_library = _load()


def _load_direct_calls() -> Sequence[Callable[..., torch.Tensor | None]]:
    """Returns mm, linear and int_mm as calls without torch's dispatcher. Each computes a product of plain tensors in
    CPU memory, and returns None if the dispatcher has to be called: for other tensors, in a mode, to raise an error.
    """
    load = getattr(ctypes.PyDLL(str(_LIBRARY)), "pbprobe_load_direct_calls", None)  # missing for torch before 2.10
    functions = (ctypes.py_object * 3)()
    if load is not None:
        load.argtypes = [ctypes.POINTER(ctypes.py_object), *4 * [ctypes.py_object]]
        load.restype = ctypes.c_bool
        with torch.inference_mode():
            if load(functions, None, torch.Tensor, torch.nn.Parameter, forward_ad):
                return tuple(functions)
    return 3 * (lambda *_: None,)


_direct_mm, _direct_linear, _direct_int_mm = _load_direct_calls()


_PLAIN = (torch.Tensor, torch.nn.Parameter, type(None), bool, torch.dtype)  # not what brings a dispatch of its own


def _needs_autograd(*arguments: object) -> bool:
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return True
    return torch.is_grad_enabled() and any(getattr(each, "requires_grad", False) for each in arguments)


def _call(operator: torch._ops.OpOverloadPacket, *arguments: object) -> torch.Tensor:
    """Calls an operator, if possible without its derivatives: their Python part takes time even without a gradient.

    A graph of torch.export has no guards, and may be trained later: it keeps the derivatives.
    """
    if torch.compiler.is_compiling():
        keeps = torch.compiler._is_exporting_flag or _needs_autograd(*arguments)
        return (operator.default if keeps else operator.no_grad)(*arguments)
    if all(type(value) in _PLAIN for value in arguments) and not _needs_autograd(*arguments):
        with torch._C._AutoDispatchBelowAutograd():
            return operator.default(*arguments)
    return operator.default(*arguments)


def _require_tensors(operator: str, **operands: object) -> None:
    for name, operand in operands.items():
        if not hasattr(type(operand), "__torch_function__"):  # torch.Tensor, and what stands for it in a trace
            raise TypeError(f"pbprobe::{operator}: {name} must be a torch.Tensor: got {type(operand).__name__}")


def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns a[m,k] · b[k,n] as c[m,n], or for a batch: [b,m,k] · [b,k,n].

    Types: both torch.float32 or torch.bfloat16, on CUDA torch.float16 too. c has the same type; its sums are FP32. On
    CUDA, torch.float32 operands are rounded to TF32 if torch's settings allow it (torch.backends.cuda.matmul).
    Errors: RuntimeError for other shapes and types, and if this machine has no kernel for them.
    """
    if not is_dynamo_compiling() and (done := _direct_mm(a, b)) is not None:
        return done
    _require_tensors("mm", a=a, b=b)
    return _call(torch.ops.pbprobe.mm, a, b)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns x[…,k] · weight[n,k]ᵀ + bias[n] as y[…,n], as torch.nn.functional.linear does.

    Types and errors: as for mm(). The bias has the type of the operands.
    """
    if not is_dynamo_compiling() and (done := _direct_linear(x, weight, bias)) is not None:
        return done
    _require_tensors("linear", x=x, weight=weight)
    return _call(torch.ops.pbprobe.linear, x, weight, bias)


def int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a[m,k] · b[k,n] of torch.int8 (a: or torch.uint8) as c[m,n] of torch.int32, or a batch of as many.

    Exact modulo 2^32, as torch._int_mm is. Errors: RuntimeError for other shapes and types.
    """
    if not is_dynamo_compiling() and (done := _direct_int_mm(a, b)) is not None:
        return done
    _require_tensors("int_mm", a=a, b=b)
    return torch.ops.pbprobe.int_mm.default(a, b)


def scaled_int_mm(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, out_dtype: torch.dtype
) -> torch.Tensor:
    """Returns scale_a[i] · scale_b[j] · Σ a[i,k] · b[k,j] as c[m,n] of out_dtype: torch.bfloat16, float16 or float32.

    scale_a has m elements of torch.float32, or is [m,1]; scale_b n, or is [1,n]. Errors: as for int_mm(), and
    NotImplementedError for a derivative.
    """
    _require_tensors("scaled_int_mm", a=a, b=b, scale_a=scale_a, scale_b=scale_b)
    return _call(torch.ops.pbprobe.scaled_int_mm, a, b, scale_a, scale_b, out_dtype)


def scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | Sequence[torch.Tensor],
    scale_b: torch.Tensor | Sequence[torch.Tensor],
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """Returns scale_a · scale_b · Σ a[i,k] · b[k,j] + bias[j] as c[m,n] of out_dtype, as torch._scaled_mm on CUDA.

    a, b: both torch.float8_e4m3fn or both torch.float8_e5m2, of any size and layout. The scales are torch.float32: one
    element each (per tensor), or scale_a [m,1] and scale_b [1,n] (per row). out_dtype: torch.bfloat16, float16 or
    float32; FP8 results, and so scale_result, are not supported. The sums keep the precision of FP32 even if the tensor
    core's accumulator has fewer digits. With use_fast_accum, kernels of 9.0 may use that accumulator for all of k, if
    the scales are not of blocks. Errors: RuntimeError for anything else.

    FP32 scales of blocks of 128 along k (DeepSeek's recipe), on GPUs of 8.9, 9.0, 12.0 and 12.1, have the
    layout of torch._scaled_mm on 9.0: scale_a [m, k / 128], and scale_b [k / 128, n / 128] of 128 x 128, rounded up, or
    [k / 128, n] of 1 x 128; or scale_a [m / 128, k / 128] with scale_b [k / 128, n]. Scales of 1 x 128 have a stride
    of 1 along m or n, scales of 128 x 128 along k. k need not be a multiple of 128.

    Scales of blocks along k, on GPUs of 10.0 and later: torch.float8_e8m0fnu of each 32 (MX), with a and b of FP8 or
    torch.float4_e2m1fn_x2; torch.float8_e4m3fn of each 16 (NVFP4), with torch.float4_e2m1fn_x2. Their layout is
    torch's SwizzleType.SWIZZLE_32_4_4. NVFP4's scales of the tensors come second in a list: scale_a=[blocks, tensor].
    """
    blocks_a, tensor_a = _one_or_two("scale_a", scale_a)
    blocks_b, tensor_b = _one_or_two("scale_b", scale_b)
    _require_tensors("scaled_mm", a=a, b=b, scale_a=blocks_a, scale_b=blocks_b)
    more = bias, scale_result, out_dtype, use_fast_accum, tensor_a, tensor_b
    return _call(torch.ops.pbprobe.scaled_mm, a, b, blocks_a, blocks_b, *more)


def _one_or_two(name: str, scale: torch.Tensor | Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor | None]:
    if not isinstance(scale, Sequence):
        return scale, None
    if len(scale) not in (1, 2):
        raise RuntimeError(f"pbprobe::scaled_mm: expected {name} of one tensor, or of two: got {len(scale)}")
    return scale[0], scale[1] if len(scale) == 2 else None


class _Member(Protocol):
    """Member of an enumeration that torch before 2.10 lacks."""

    @property
    def name(self) -> str: ...


def scaled_mm_v2(
    mat_a: torch.Tensor,
    mat_b: torch.Tensor,
    scale_a: torch.Tensor | list[torch.Tensor],
    scale_recipe_a: _Member | Sequence[_Member],
    scale_b: torch.Tensor | list[torch.Tensor],
    scale_recipe_b: _Member | Sequence[_Member],
    swizzle_a: _Member | Sequence[_Member] | None = None,
    swizzle_b: _Member | Sequence[_Member] | None = None,
    bias: torch.Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """scaled_mm() with the arguments of torch.nn.functional.scaled_mm (torch 2.10 and later).

    Recipes are torch.nn.functional.ScalingType, swizzles SwizzleType, or lists of them. Both operands need the same
    recipe: TensorWise, RowWise, BlockWise1x128, BlockWise1x32 (MX), BlockWise1x16 (NVFP4), or
    [BlockWise1x16, TensorWise]; BlockWise1x128 also goes with BlockWise128x128. Requires contraction_dim () or
    (1, 0). The scales have torch's layout. Errors: as for scaled_mm().
    """
    if mat_a.dim() != 2 or mat_b.dim() != 2:
        raise RuntimeError(f"pbprobe::scaled_mm: expected matrices: got {list(mat_a.shape)} and {list(mat_b.shape)}")
    if tuple(contraction_dim or ()) not in ((), (1, 0), (-1, 0), (1, -2), (-1, -2)):
        raise RuntimeError(
            "pbprobe::scaled_mm: mat_a's dimension 1 and mat_b's 0 are contracted: use (1, 0) or (): "
            f"got contraction_dim {contraction_dim}"
        )
    recipe_a, recipe_b = _names(scale_recipe_a), _names(scale_recipe_b)
    if (recipe_a, recipe_b) not in _SWIZZLES:
        known = "; ".join(f"{' + '.join(a)} with {' + '.join(b)}" for a, b in _SWIZZLES)
        raise RuntimeError(
            f"pbprobe::scaled_mm: no kernel supports scales of {' + '.join(recipe_a)} with {' + '.join(recipe_b)}: "
            f"use one of {known}"
        )
    for name, swizzle in (("swizzle_a", _names(swizzle_a)), ("swizzle_b", _names(swizzle_b))):
        first, *more = swizzle or ("NO_SWIZZLE",)
        if first != _SWIZZLES[recipe_a, recipe_b] or any(other != "NO_SWIZZLE" for other in more):
            raise RuntimeError(
                f"pbprobe::scaled_mm: scales of {' + '.join(recipe_a)} need SwizzleType."
                f"{_SWIZZLES[recipe_a, recipe_b]}: got {name} {', '.join(swizzle) or None}"
            )
    if recipe_a[0] == _NVFP4[0] and str(mat_a.dtype) != "torch.float4_e2m1fn_x2":
        raise RuntimeError(
            f"pbprobe::scaled_mm: scales of {_NVFP4[0]} are of torch.float4_e2m1fn_x2: got {mat_a.dtype}"
        )
    lines = mat_a.shape[0], mat_b.shape[1]
    k = mat_a.shape[1]
    of_a = _scales("scale_a", scale_a, recipe_a, lines[0], k)
    of_b = _scales("scale_b", scale_b, recipe_b, lines[1], k)
    if recipe_b in (("RowWise",), _BLOCKS, _SQUARES):
        of_b[0] = of_b[0].t()
    return scaled_mm(mat_a, mat_b, of_a, of_b, bias, None, output_dtype, use_fast_accum)


# Recipes of both operands, and how their first scales are swizzled.
_BLOCKS, _SQUARES, _NVFP4 = ("BlockWise1x128",), ("BlockWise128x128",), ("BlockWise1x16",)
_SWIZZLES = {
    (("TensorWise",), ("TensorWise",)): "NO_SWIZZLE",
    (("RowWise",), ("RowWise",)): "NO_SWIZZLE",
    (_BLOCKS, _SQUARES): "NO_SWIZZLE",
    (_SQUARES, _BLOCKS): "NO_SWIZZLE",
    (_BLOCKS, _BLOCKS): "NO_SWIZZLE",
    (("BlockWise1x32",), ("BlockWise1x32",)): "SWIZZLE_32_4_4",
    (_NVFP4, _NVFP4): "SWIZZLE_32_4_4",
    ((*_NVFP4, "TensorWise"), (*_NVFP4, "TensorWise")): "SWIZZLE_32_4_4",
}
_SCALE_TYPES = {"BlockWise1x32": "torch.float8_e8m0fnu", "BlockWise1x16": "torch.float8_e4m3fn"}  # others: FP32


def _names(members: _Member | Sequence[_Member] | None) -> tuple[str, ...]:
    if members is None:
        return ()
    return tuple(member.name for member in (members if isinstance(members, Sequence) else [members]))


def _scales(
    name: str, scales: torch.Tensor | list[torch.Tensor], recipe: tuple[str, ...], lines: int, k: int
) -> list[torch.Tensor]:
    """Converts scales to the layout of scaled_mm() for A: FP32, [lines, k / 128] per recipe. In torch, scales of
    128 x 128 are transposed, with k / 128 rounded up to a multiple of 4.
    """
    given = list(scales) if isinstance(scales, (list, tuple)) else [scales]
    if len(given) != len(recipe):
        raise RuntimeError(f"pbprobe::scaled_mm: expected as many {name} as recipes, {len(recipe)}: got {len(given)}")
    first, along, squares = given[0], -(-k // 128), -(-lines // 128)
    shape, right = list(first.shape), True
    wanted = ""
    if recipe == ("TensorWise",):
        wanted, right = "one element", first.numel() == 1
    elif recipe == ("RowWise",):
        wanted, right = f"{lines} elements", first.numel() == lines
        first = first.reshape(lines, 1) if right else first
    elif recipe == _BLOCKS:
        wanted, right = f"[{lines}, {along}]", shape == [lines, along]
    elif recipe == _SQUARES:
        padded = -(-along // 4) * 4
        wanted, right = f"[{padded}, {squares}]", shape in ([padded, squares], [along, squares])
        first = first[:along].t() if right else first
    if not right:
        raise RuntimeError(f"pbprobe::scaled_mm: expected {name} of {wanted} for {recipe[0]}: got {shape}")
    dtype = _SCALE_TYPES.get(recipe[0], "torch.float32")
    if str(first.dtype) != dtype:
        raise RuntimeError(f"pbprobe::scaled_mm: expected {name} of {dtype} for {recipe[0]}: got {first.dtype}")
    return [first, *given[1:]]


def which(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None
) -> str:
    """Returns the public name of the kernel that mm(a, b) takes for these tensors on this machine: int_mm for integers,
    scaled_mm (to BF16) for FP8, by default with a scale of each row and column.
    """
    _require_tensors("which", a=a, b=b)
    return _library.pbprobe_kernel_name(torch.ops.pbprobe.which(a, b, scale_a, scale_b)).decode()


def kernels() -> list[str]:
    """Returns the public names that use() takes, in the order of the kernel table."""
    names: list[str] = []
    while (name := _library.pbprobe_kernel_name(len(names))) is not None:
        names.append(name.decode())
    return names


def calibrate() -> dict[str, float]:
    """Measures this CPU's instruction paths (some 20 ms each), and uses the fastest from then on.

    Without calibration, and on GPUs, the order of the kernel table decides, so that results repeat across processes.
    After calibration, the next process may use another kernel with other rounding. Call this while the machine is idle.

    Returns billions of operations per second per core, by the name of the loop ("peak_bf16_avx512bf16").
    Errors: RuntimeError if the features of this machine cannot be read.
    """
    reported = _library.pbprobe_calibrate().decode()
    if reported.startswith("error: "):
        raise RuntimeError(reported.removeprefix("error: "))
    return {name: float(rate) for rate, name in (line.split() for line in reported.splitlines())}


@contextlib.contextmanager
def use(kernel: str, parts: int | None = None, cluster: tuple[int, int] = (1, 1)) -> Iterator[None]:
    """Forces a kernel, by public name, for the operators that this thread calls. No other kernel ever replaces it.

    parts: parts of split-K on a GPU, at most what the kernel can; by default the model decides.
    cluster: if `parts` are given, tiles of a cluster one below the other and side by side, where the kernel can do so.
    A backward pass on a GPU runs in a thread of torch, for which the table decides.
    Errors: ValueError for a name that the table lacks, negative parts, or a cluster that is not of 1 to 8 tiles in each
    direction. An operator whose problem the kernel cannot solve raises RuntimeError.
    """
    if not kernel:
        raise ValueError("ops.use: the kernel name is empty: give a name that ops.which(a, b) returns")
    before, cut = _library.pbprobe_forced_kernel(), (ctypes.c_int64 * 3)()
    _library.pbprobe_forced_cut(cut)
    why = _library.pbprobe_force_kernel(kernel.encode(), parts or 0, *cluster)
    if why is not None:
        raise ValueError(why.decode())
    try:
        yield
    finally:
        _library.pbprobe_force_kernel(before, *cut)


for _name in ("mm", "linear", "int_mm", "scaled_int_mm", "scaled_mm"):
    for _overload in ("",) if _name == "int_mm" else ("", ".no_grad"):
        torch.library.register_fake(f"pbprobe::{_name}{_overload}", getattr(_fakes, f"fake_{_name}"))


class _Operator(_SingleLevelFunction):
    """An operator at one level of torch.func's transforms: forward() calls it at the next level, below autograd.

    Inputs: that call; whether gradients and forward gradients are enabled; the operator's arguments.
    """

    @staticmethod
    def forward(call: Callable[..., torch.Tensor], enabled: tuple[bool, bool], *arguments: object) -> torch.Tensor:
        backward, forward = enabled  # torch disables both here, and the next levels may need them
        with torch.set_grad_enabled(backward), forward_ad._set_fwd_grad_enabled(forward):
            return call(*arguments)


class _Product(_Operator):
    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: torch.Tensor) -> None:
        """Keeps each operand only for the gradient of the other one: frozen weights keep no activations in memory."""
        a, b = inputs[2:4]
        need_a, need_b = ctx.needs_input_grad[2:4]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(a if need_b else None, b if need_a else None)
        ctx.save_for_forward(a, b)  # until the call ends
        ctx.shapes = a.shape, b.shape


class _Mm(_Product):
    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        a, b = ctx.saved_tensors
        need_a, need_b = (need and grad is not None for need in ctx.needs_input_grad[2:])
        return (
            None,
            None,
            mm(grad, b.transpose(-2, -1)) if need_a else None,
            mm(a.transpose(-2, -1), grad) if need_b else None,
        )

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: torch.Tensor | None) -> torch.Tensor:
        a, b = ctx.saved_tensors
        of_a, of_b = tangents[2:]
        terms = [mm(of_a, b)] if of_a is not None else []
        terms += [mm(a, of_b)] if of_b is not None else []
        return functools.reduce(torch.add, terms)


class _Linear(_Product):
    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        needs = ctx.needs_input_grad[2:]  # a bias that was not given is not an input
        if grad is None:
            return None, None, *(None for _ in needs)
        x, weight = ctx.saved_tensors
        x_shape, (n, k) = ctx.shapes
        need_x, need_weight, *need_bias = needs
        count = math.prod(x_shape[:-1])  # -1 is ambiguous where n or k is 0
        rows = grad.reshape(count, n)
        return (
            None,
            None,
            mm(rows, weight).reshape(x_shape) if need_x else None,
            mm(rows.t(), x.reshape(count, k)) if need_weight else None,
            *(rows.sum(0) if need else None for need in need_bias),
        )

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: torch.Tensor | None) -> torch.Tensor:
        x, weight = ctx.saved_tensors
        of_x, of_weight, *of_bias = tangents[2:]
        terms = [linear(of_x, weight)] if of_x is not None else []
        terms += [linear(x, of_weight)] if of_weight is not None else []
        terms += [tangent.expand(*x.shape[:-1], -1) for tangent in of_bias if tangent is not None]
        return functools.reduce(torch.add, terms)


class _NotDifferentiable(_Operator):
    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: torch.Tensor) -> None:
        """Keeps nothing."""

    @staticmethod
    def backward(*_: object) -> None:
        raise NotImplementedError("pbprobe::scaled_int_mm and scaled_mm are not differentiable: detach their operands")

    jvp = backward


def _add_derivatives(name: str, function: type[_Operator]) -> None:
    operator = getattr(torch.ops.pbprobe, name).default

    def differentiate(keys: torch._C.DispatchKeySet, *arguments: object) -> torch.Tensor:
        def call(*arguments: object) -> torch.Tensor:
            with torch._C._AutoDispatchBelowAutograd():
                return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)

        if not _needs_autograd(*arguments):
            return call(*arguments)
        with enable_single_level_autograd_function():
            return function.apply(call, (torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()), *arguments)

    _autograd.impl(name, differentiate, "Autograd", with_keyset=True)


_autograd = torch.library.Library("pbprobe", "IMPL")
_add_derivatives("mm", _Mm)
_add_derivatives("linear", _Linear)
_add_derivatives("scaled_int_mm", _NotDifferentiable)
_add_derivatives("scaled_mm", _NotDifferentiable)
