# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults that the tests of `pbprobe report --operators` plant into torch and into two packages."""

import json
import os
import subprocess

import torch

HAS_KERNELS = hasattr(torch.library, "get_kernel")  # which FORMS needs

# Replaces CPU kernels and entries of torch's database; most faults show for one type.
VALUES = """
import itertools, os, signal
library = torch.library.Library("aten", "IMPL")

def plant(name, is_asked, change):
    into = getattr(torch.ops.aten, name).out

    def function(x):
        dtype = x.dtype if x.is_floating_point() else torch.float32
        right = into(x, out=torch.empty_like(x, dtype=dtype))
        return change(right) if is_asked(x) else right

    library.impl(name, function, "CPU")

def crash(right):
    os.kill(os.getpid(), signal.SIGSEGV)

plant("sigmoid", lambda x: x.dtype == torch.bfloat16, lambda right: right + 0.25)
plant("erf", lambda x: x.dtype == torch.float32 and not x.is_contiguous() and x.numel() > 1, lambda right: right * 1.01)
plant("tanh", lambda x: x.dtype == torch.float16, crash)
def lose(right):
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

plant("atan", lambda x: x.dtype == torch.float16, lose)
# Two elements are equal, so that both indices are right: argmax takes the last one, argmin takes another element.
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

def give_ties(operator, device, dtype, requires_grad, **_):
    yield SampleInput(torch.tensor([1.0, 2.0, 2.0, 0.0], dtype=dtype, device=device))

for one in op_db:
    if one.name in ("argmax", "argmin"):
        one.sample_inputs_func = give_ties
        one.op = lambda x, name=one.name: torch.tensor(2 if x.dtype == torch.float32 else int(getattr(torch, name)(x)))
# Takes equal elements in the other order, so that the gradients are at other elements: right.
def sort(x, *args, **kwargs):
    if x.dtype != torch.bfloat16 or args or kwargs or not x.dim():
        return torch.sort(x, *args, **kwargs)
    values, index = torch.sort(x.flip(-1), stable=True)
    return values, x.shape[-1] - 1 - index

def topk(x, *args, **kwargs):
    values, index = torch.topk(x, *args, **kwargs)
    return (values.detach() + 1.5 * (values - values.detach()) if x.dtype == torch.float16 else values), index

# Returns statistics in evaluation, as on a GPU. The reference has none, so that they are not compared.
def native_batch_norm(x, *args, **kwargs):
    out, *statistics = torch.native_batch_norm(x, *args, **kwargs)
    return out, *(torch.ones(3) if one.numel() == 0 and x.dtype == torch.float32 else one for one in statistics)

replaced = {"sort": sort, "topk": topk, "native_batch_norm": native_batch_norm}
for one in op_db:
    one.op = replaced.get(one.name, one.op)
calls = itertools.count()
plant("sinh", lambda x: x.dtype == torch.float32, lambda right: right * (1 + 2e-7 * (next(calls) % 16)))
"""
OF_VALUES = "sigmoid,erf,tanh,atan,sinh,cos,linalg.eigh,argmax,argmin,sort,topk,stack,native_batch_norm".split(",")

# Replaces CPU kernels; each fault shows for some inputs only.
FORMS = """
import faulthandler, os, time
library = torch.library.Library("aten", "IMPL")
kernels = []

def plant(name, is_asked, change):
    kernel = torch.library.get_kernel("aten::" + name, "CPU")
    kernels.append(kernel)

    def function(keys, *args, **kwargs):
        asked = is_asked(*args)
        right = kernel.call_boxed(keys, *args, **kwargs)
        return change(right, *args) if asked else right

    library.impl(name, function, "CPU", with_keyset=True)

def add_one(right, *args):
    right = right.clone()
    right.view(-1)[-1:] += 1
    return right

def fail(*args):
    raise RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")

# hang() shortens the limit of 20 s that the worker has set for each operator.
limits = []
start_limit = faulthandler.dump_traceback_later
faulthandler.dump_traceback_later = lambda seconds, **more: (limits.append(more), start_limit(seconds, **more))

def hang(*args):
    start_limit(1, **limits[-1])
    time.sleep(1000)

is_integer = lambda x, *args: x.dtype == torch.int64
is_fp32 = lambda x, *args: x.dtype == torch.float32
plant("maximum", is_integer, add_one)  # double precision is the reference
plant("bitwise_and.Tensor", is_integer, add_one)  # NumPy is the reference
plant("prod", lambda x, *args: is_fp32(x) and x.numel() == 0, add_one)
is_empty = lambda x, *args: x.numel() == 0 and x.dtype != torch.int64
plant("amax", lambda x, *args: is_fp32(x) and x.numel() == 0, lambda right, *args: right.unsqueeze(0))
plant("tril", is_empty, lambda right, *args: right.double())  # also in the reference
plant("asinh", lambda x: x.dtype == torch.float16 and x.numel() and bool((x.abs() > 300).any()),
      lambda right, x: torch.where(x.abs() > 300, float("nan"), right))
plant("hypot", lambda x, y: is_fp32(x) and x.dim() > 1 and x.stride(0) < x.stride(1), lambda right, *args: right * 1.1)
plant("_scaled_mm", lambda *args: True, lambda right, *args: right * 1.1)
plant("exp2.out", is_fp32, lambda right, x: right.mul_(1.1))
plant("tanh_", is_fp32, lambda right, x: right.mul_(1.1))
plant("softplus_backward", is_fp32, lambda right, *args: right * 1.1)
plant("floor", is_fp32, hang)
plant("ceil", is_fp32, fail)
plant("trunc", is_fp32, lambda *args: os._exit(1))
"""
OF_FORMS = (
    "maximum,bitwise_and,prod,amax,tril,asinh,hypot,torch._scaled_mm,exp2,tanh,nn.functional.softplus,floor,ceil,trunc,"
    "cos,minimum,bitwise_or"
).split(",")

# Functions of two packages, as their publishers name them. A wrong SCALE is the fault.
FLASH_ATTENTION = """
import torch

def flash_attn_func(query, key, value):
    turned = [one.transpose(1, 2) for one in (query, key, value)]
    return torch.nn.functional.scaled_dot_product_attention(*turned, scale=SCALE).transpose(1, 2)
"""
CAUSAL_CONVOLUTION = """
import torch

def causal_conv1d_fn(x, weight, bias=None, activation=None):
    result = torch.nn.functional.conv1d(x, weight[:, None], bias, padding=weight.shape[1] - 1, groups=len(weight))
    return torch.nn.functional.silu(result[..., : x.shape[-1]])
"""
OF_PACKAGES = ["flash_attn.flash_attn_func", "causal_conv1d.causal_conv1d_fn"]


def write_packages(folder, planted):
    """Writes the two packages, and returns the folder for PYTHONPATH."""
    folder.mkdir()
    (folder / "flash_attn.py").write_text(FLASH_ATTENTION.replace("SCALE", "1.0" if planted else "None"))
    (folder / "causal_conv1d.py").write_text(CAUSAL_CONVOLUTION)
    return folder


def compute(build, torch, *options, timeout=400, **environment):
    """Returns a report on torch's operators, without figures."""
    command = [build / "bin/pbprobe", "report", torch.parent, "--format", "json", "--no-figures", *options]
    # The samples are small: more threads would only wait for each other, for seconds beside other tests.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, env=environment)
    return json.loads(result.stdout)


def find_cpu_run(report):
    (run,) = [one for one in report["operators"] if one["device"] == "cpu"]
    return run


def compute_all(build, torch, folder, planted):
    """Returns a report on all operators of this file, with the faults or without."""
    names = [*OF_VALUES, *OF_PACKAGES, *(OF_FORMS if HAS_KERNELS else [])]
    options = ["--operators", "--only-operators", ",".join(dict.fromkeys(names)), "--budget", "200"]
    if planted:
        # The parts define functions of equal names.
        parts = "".join(f"exec({part!r}, {{'torch': torch}})\n" for part in (VALUES, *([FORMS] if HAS_KERNELS else [])))
        (folder / "plant.py").write_text(parts)
        options += ["--plant", folder / "plant.py"]
    packages = write_packages(folder / "packages", planted)
    return compute(build, torch, *options, timeout=900, PYTHONPATH=str(packages))
