# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares torch's operators on one device with the same operators in higher precision on the CPU.

    python worker.py REQUEST     REQUEST is JSON; `Request` in database.py lists the keys

An operator is called in each of its types with a few samples, and again with non-contiguous inputs, in place, with
`out=` and for gradients, if it supports these. Standard output receives one JSON object a line (see `main`). A line
"start" without a "result" names the operator that ended the process: the caller starts a new process with the names
after it.
"""

import contextlib
import faulthandler
import functools
import json
import math
import os
import sys
import time
import warnings
from pathlib import Path

import compiled
import packages
import ties
from database import Request, get_reference, load_operators
from errors import REFUSALS, LostError, WrongError, brief, check_device
from exemptions import FLOATS, STRIDES, UNDEFINED_STATISTICS, UNINITIALIZED, find_factor, find_limits, title

OTHERS = ("int64", "uint8", "complex64", "bool", "int32")  # the first that an operator without FLOATS supports
SAMPLES = 3
ELEMENTS = 100_000  # of all inputs of a sample, if it has a smaller one
NEIGHBOURS = 6  # references with rounded inputs that are computed if the first one differs
ULPS = 4  # units in the last place by which their inputs differ


class Checker:
    def __init__(self, torch, request):
        from torch.utils import _pytree

        self.torch, self.request, self.tree = torch, request, _pytree
        self.skips_empty = False  # results that the reference leaves empty are not compared
        self.high = {
            torch.float32: torch.float64,
            torch.float16: torch.float64,
            torch.bfloat16: torch.float64,
            torch.complex64: torch.complex128,
        }

    # ---- inputs ----------------------------------------------------------------------------------------------------

    def dtypes(self, operator):
        supported = operator.supported_dtypes(self.request.device)
        names = [name for name in FLOATS if getattr(self.torch, name) in supported]
        return names or [name for name in OTHERS if getattr(self.torch, name) in supported][:1]

    def samples(self, operator, dtype):
        self.torch.manual_seed(self.request.seed)
        taken, large = [], []
        for sample in operator.sample_inputs(self.request.device, dtype, requires_grad=False):
            (taken if self.count_elements(sample) <= ELEMENTS else large).append(sample)
            if len(taken) == SAMPLES:
                break
        return taken or large[:1]

    def count_elements(self, sample):
        tensors = self.tree.tree_flatten((sample.input, sample.args, sample.kwargs))[0]
        return sum(one.numel() for one in tensors if isinstance(one, self.torch.Tensor))

    def raised(self, arguments, neighbour=0):
        """Returns arguments on the CPU in double precision; `neighbour` numbers other roundings of the same inputs."""
        torch = self.torch
        generator = torch.Generator().manual_seed(neighbour)

        def convert(value):
            if isinstance(value, torch.dtype):
                return self.high.get(value, value)
            if isinstance(value, torch.device) or value in ("cuda", "cuda:0"):
                return "cpu"
            return value

        def convert_tensor(value):
            higher = self.high.get(value.dtype, value.dtype)
            copy = value.detach().cpu().to(higher)
            if neighbour and higher != value.dtype:
                steps = torch.rand(copy.shape, generator=generator, dtype=torch.float64) * 2 - 1
                eps = torch.finfo(value.dtype).eps
                copy = copy * (1 + ULPS * eps * steps)
            return copy

        return self.map(arguments, convert_tensor, convert)

    def map(self, arguments, on_tensor, on_other=lambda value: value):
        torch = self.torch

        def convert(value):
            if isinstance(value, torch.Tensor):
                return on_tensor(value) if value.layout is torch.strided else value
            with contextlib.suppress(*REFUSALS):
                return on_other(value)
            return value

        return self.tree.tree_map(convert, arguments)

    def fresh(self, arguments):
        """Returns copies, which operators that write to their input may change."""
        return self.map(arguments, lambda value: value.clone())

    def call(self, function, arguments, **more):
        self.torch.manual_seed(self.request.seed)
        first, args, kwargs = arguments
        return function(first, *args, **kwargs, **more)

    # ---- comparison ------------------------------------------------------------------------------------------------

    def leaves(self, result):
        found = []
        for leaf in self.tree.tree_flatten(result)[0]:
            if isinstance(leaf, self.torch.Tensor):
                value = leaf.detach()
                value = value.to_dense() if value.layout is not self.torch.strided else value
                value = value.resolve_conj().resolve_neg().cpu()
                if value.is_quantized:
                    value = value.dequantize()
                if value.is_complex():
                    value = self.torch.view_as_real(value)
                found.append(value)
            elif isinstance(leaf, (bool, int, float)):
                found.append(self.torch.tensor(leaf))
            elif isinstance(leaf, complex):
                found.append(self.torch.tensor([leaf.real, leaf.imag]))
        return found

    def compare(self, way, actual, expected, neighbours, limits):
        """Raises WrongError unless each element is in the range of the references, widened by the tolerances.

        neighbours: a function that returns more references; called only if the first does not suffice.
        """
        torch = self.torch
        have, wanted = self.leaves(actual), self.leaves(expected)
        if len(have) != len(wanted):
            raise WrongError(way, f"{len(have)} results instead of {len(wanted)}")
        others = None
        for place, (one, right) in enumerate(zip(have, wanted)):
            if self.skips_empty and right.numel() == 0:
                continue
            if one.shape != right.shape:
                raise WrongError(way, f"shape {list(one.shape)} instead of {list(right.shape)}")
            if one.numel() == 0:
                continue
            outside, distance = self.find_outside(one, [right], limits)
            if not outside.any():
                continue
            if others is None:
                others = [self.leaves(other) for other in neighbours()]
            if any(len(other) != len(wanted) or other[place].shape != right.shape for other in others):
                continue  # the number of results depends on rounding
            outside, distance = self.find_outside(one, [right, *(other[place] for other in others)], limits)
            if outside.any():
                at = int(torch.argmax(torch.where(outside, distance, -1.0)))
                index = [int(i) for i in torch.unravel_index(torch.tensor(at), one.shape)]
                raise WrongError(
                    way,
                    f"{int(outside.sum())} of {one.numel()} elements differ",
                    index=index,
                    expected=f"{float(right.flatten()[at]):.9g}",
                    actual=f"{float(one.flatten()[at]):.9g}",
                    tolerances=f"{float(distance.flatten()[at]):.3g}",
                )

    def find_outside(self, value, references, limits):
        """Compares each element of `value` with the range of the references.

        Returns two tensors of the shape of `value`: whether the distance from the range exceeds one tolerance, and the
        distance in tolerances. limits: (rtol, atol).
        """
        torch = self.torch
        dtype, (rtol, atol) = value.dtype, limits
        if dtype.is_floating_point:  # what the type cannot represent becomes infinite
            references = [
                right.to(dtype).to(torch.float64) if right.is_floating_point() else right for right in references
            ]
        stack = torch.stack([right.to(torch.float64) for right in references])
        value = value.to(torch.float64)
        nan = stack.isnan()
        low = torch.where(nan, math.inf, stack).amin(0)
        high = torch.where(nan, -math.inf, stack).amax(0)
        finite = torch.where(stack.isfinite(), stack.abs(), 0.0)
        scale = finite.max()
        tolerance = rtol * (finite.amax(0) + scale / 4) + atol
        exact = torch.zeros_like(tolerance)
        tolerance = tolerance + torch.finfo(dtype).tiny if dtype.is_floating_point else exact
        excess = torch.maximum(low - value, value - high)
        excess = torch.where((value == low) | (value == high), 0.0, excess)
        excess = torch.where(excess.isnan(), math.inf, excess)
        ratio = torch.where(excess <= 0, 0.0, excess / torch.clamp(tolerance, min=1e-300))
        # Half types overflow in an intermediate result before the result itself does.
        near_limit = finite.amax(0) > torch.finfo(dtype).max / 16 if dtype.is_floating_point else nan.all(0)
        sometimes = nan.any(0)
        ratio = torch.where(
            value.isnan(), torch.where(sometimes, 0.0, math.inf), torch.where(nan.all(0), math.inf, ratio)
        )
        ratio = torch.where(near_limit & ~value.isfinite(), 0.0, ratio)
        return ratio > 1, ratio

    # ---- one operator ----------------------------------------------------------------------------------------------

    def check(self, operator, name):
        """Returns the state of an operator in a type: right, random, wrong or not run, with the details."""
        dtype = getattr(self.torch, name)
        facts = {"state": "right", "calls": 0}
        self.skips_empty = operator.name in UNDEFINED_STATISTICS
        samples = self.samples(operator, dtype)
        if not samples:
            return {**facts, "state": "not_run", "reason": "the database has no sample"}
        for sample in samples:
            try:
                state = self.check_sample(operator, dtype, sample, facts)
            except WrongError as wrong:
                wrong.sample = sample
                raise
            if state != "right":
                facts["state"] = state
        if not facts["calls"]:
            facts["state"] = "not_run"
        return facts

    def check_sample(self, operator, dtype, sample, facts):
        arguments = (sample.input, sample.args, sample.kwargs)
        raised = self.raised(arguments)
        reference = get_reference(operator)
        try:
            expected = self.call(reference, self.fresh(raised))
        except REFUSALS as error:
            check_device(error)
            facts["reason"] = f"no reference: {brief(error)}"
            return "right"
        if operator.name in UNINITIALIZED or self.is_random(operator, raised, expected):
            actual = self.call(operator.op, self.fresh(arguments))
            facts["calls"] += 1
            if [one.shape for one in self.leaves(actual)] != [one.shape for one in self.leaves(expected)]:
                raise WrongError("call", "has another shape")
            return "random"
        limits = find_limits(operator, dtype, self.request.device)
        cache = []

        def neighbours():
            if not cache:
                for neighbour in range(1, NEIGHBOURS + 1):
                    with contextlib.suppress(*REFUSALS):
                        cache.append(self.call(reference, self.raised(arguments, neighbour)))
            return cache

        for way, compute in self.ways(operator, sample, arguments, expected):
            try:
                actual = compute()
            except REFUSALS as error:
                check_device(error)
                if way == "call":
                    facts["reason"] = brief(error)
                    return "right"
                facts.setdefault("refused", {})[way] = brief(error)
                continue
            if way == "call":
                began = time.perf_counter()
                again = self.leaves(compute())
                facts["us"] = facts.get("us", 0) + (time.perf_counter() - began) * 1e6
                if not self.equal(actual, again):
                    facts["deterministic"] = False
            factor = find_factor(operator, dtype, way)
            if not factor:
                facts["reason"] = "exempted: its results are not compared"
                continue
            facts["calls"] += 1
            try:
                self.compare(way, actual, expected, neighbours, [factor * limit for limit in limits])
            except WrongError as wrong:
                if ties.choose_equal(self, operator, sample, actual, expected):
                    values = [self.leaves(result)[:1] for result in (actual, expected)]
                    if values[0][0].is_floating_point():
                        self.compare(way, *values, lambda: [one[:1] for one in map(self.leaves, neighbours())], limits)
                    continue
                self.compare_by_property(wrong, operator, sample, arguments, raised, actual, limits)
        self.check_gradients(operator, dtype, sample, facts, limits)
        return "right"

    def equal(self, one, other):
        """Returns True if all bits of the results are equal."""
        have, wanted = self.leaves(one), self.leaves(other)
        pairs = zip(have, wanted)
        return len(have) == len(wanted) and all(
            a.shape == b.shape and self.torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs
        )

    def describe(self, sample):
        """Returns shapes and types of a sample's inputs, and the other arguments."""
        words = []
        for one in self.tree.tree_flatten((sample.input, sample.args, sample.kwargs))[0]:
            is_tensor = isinstance(one, self.torch.Tensor)
            words.append(f"{str(one.dtype).removeprefix('torch.')}{list(one.shape)}" if is_tensor else str(one)[:40])
        return ", ".join(words)

    def list_kernels(self, operator, sample):
        """Returns the names of the GPU kernels of a call."""
        profiler = self.torch.profiler
        try:
            with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
                self.call(operator.op, self.fresh((sample.input, sample.args, sample.kwargs)))
                self.torch.cuda.synchronize()
            return sorted({event.name for event in profile.events() if event.device_type.name == "CUDA"})
        except Exception:
            return []

    def is_random(self, operator, raised, expected):
        """Returns True if the result depends on the seed. Some operators of the database set their own seed."""
        manual_seed = self.torch.manual_seed
        try:
            for step in range(1, 5):  # a few random bits may be equal by chance
                self.torch.manual_seed = lambda seed, step=step: manual_seed(seed + step)
                if not self.equal(expected, self.call(get_reference(operator), self.fresh(raised))):
                    return True
        except REFUSALS:
            return False
        finally:
            self.torch.manual_seed = manual_seed
        return False

    def ways(self, operator, sample, arguments, expected):
        torch = self.torch
        yield "call", lambda: self.call(operator.op, self.fresh(arguments))
        if operator.name not in STRIDES:
            yield "non-contiguous", lambda: self.call(operator.op, self.scattered(sample))
        inplace = operator.get_inplace()
        if inplace is not None and isinstance(sample.input, torch.Tensor) and not sample.broadcasts_input:
            yield "in place", lambda: self.call(inplace, self.fresh(arguments))
        if operator.supports_out and isinstance(expected, torch.Tensor):

            def write_out():
                out = torch.empty_like(self.call(operator.op, self.fresh(arguments)))
                self.call(operator.op, self.fresh(arguments), out=out)
                return out

            yield "out=", write_out

    def scattered(self, sample):
        other = sample.noncontiguous()
        return other.input, other.args, other.kwargs

    def compare_by_property(self, wrong, operator, sample, arguments, raised, actual, limits):
        """Compares results that are not unique, such as eigenvectors, in the form that the database differentiates.
        Raises `wrong` if that differs too.
        """
        process = sample.output_process_fn_grad
        try:
            expected = process(self.call(get_reference(operator), self.fresh(raised)))
            self.compare(wrong.way, process(actual), expected, list, limits)
        except REFUSALS as error:
            check_device(error)
            raise wrong from None

    def check_gradients(self, operator, dtype, sample, facts, limits):
        torch = self.torch
        if not operator.supports_autograd or dtype not in operator.supported_backward_dtypes(self.request.device):
            return

        def gradients(function, arguments):
            leaves = []

            def track(value):
                if value.is_floating_point() or value.is_complex():
                    leaves.append(value.detach().clone().requires_grad_())
                    return leaves[-1]
                return value

            result = sample.output_process_fn_grad(self.call(function, self.map(arguments, track)))
            parts = [one for one in self.tree.tree_flatten(result)[0] if isinstance(one, torch.Tensor)]
            parts = [one for one in parts if one.requires_grad]
            total = sum(self.weigh(abs(one) if one.is_complex() else one) for one in parts)
            return [one for one in torch.autograd.grad(total, leaves, allow_unused=True) if one is not None]

        def order(found):
            return ties.order_equal(torch, operator, sample, found)

        arguments = (sample.input, sample.args, sample.kwargs)
        reference = get_reference(operator)
        try:
            expected = gradients(reference, self.raised(arguments))
            actual = gradients(operator.op, arguments)
        except REFUSALS as error:
            check_device(error)
            facts["backward"] = brief(error)
            return
        factor = find_factor(operator, dtype, "backward")
        if factor:
            facts["calls"] += 1
            self.compare(
                "backward",
                order(actual),
                order(expected),
                lambda: [order(gradients(reference, self.raised(arguments, one))) for one in range(1, NEIGHBOURS + 1)],
                [factor * limit for limit in limits],
            )

    def weigh(self, values):
        """A sum with weights that all types represent: the gradient of a plain sum is zero for a softmax."""
        weights = (self.torch.arange(values.numel(), device=values.device) % 7 + 1) / 8
        return (values * weights.reshape(values.shape).to(values.dtype)).sum()


def main():
    """Prints {"operators": n, "torch": version, "packages": names}, then for each operator and type {"start": [name,
    type]} and {"result": …}, and at last {"end": n of the operators that were asked}."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**line):
        lines.write(json.dumps(line) + "\n")
        lines.flush()

    request = Request(**json.loads(sys.argv[1]))
    warnings.simplefilter("ignore")
    started = time.monotonic()
    try:
        torch, operators = load_operators(request)
    except Exception as error:
        tell(problem=f"torch's database of operators could not be read: {brief(error)}")
        return
    if request.plant:
        exec(Path(request.plant).read_text(), {"torch": torch})
    if unknown := sorted(set(request.only) - {operator.name for operator in operators}):
        tell(problem=f"torch {torch.__version__} has no operator {', '.join(unknown)}")
        return
    checker = Checker(torch, request)
    types, check = checker.dtypes, checker.check
    if request.compile:
        types = functools.partial(compiled.choose_types, checker)
        check = functools.partial(compiled.check_compiled, checker)
    tell(operators=len(operators), torch=torch.__version__, packages=packages.list_packages(operators))
    for number, operator in enumerate(operators):
        if number < request.skip:
            continue
        if time.monotonic() - started > request.seconds:
            tell(omitted=[title(one) for one in operators[number:]])
            break
        for name in types(operator) or ["none"]:
            tell(start=[title(operator), name], number=number)
            faulthandler.dump_traceback_later(request.operator_seconds, exit=True)
            before = time.monotonic()
            try:
                facts = (
                    {"state": "not_run", "reason": "no type on this device"}
                    if name == "none"
                    else check(operator, name)
                )
            except WrongError as wrong:
                facts = {"state": "wrong", "way": wrong.way, "reason": str(wrong), **wrong.figures}
                facts["input"] = checker.describe(wrong.sample)
                if request.device == "cuda":
                    facts["kernels"] = checker.list_kernels(operator, wrong.sample)
            except (LostError, Exception) as error:
                if isinstance(error, LostError) or "CUDA error" in str(error):
                    tell(lost=str(error))
                    os._exit(3)
                facts = {"state": "not_run", "reason": brief(error)}
            tell(
                result={"name": title(operator), "type": name, "seconds": round(time.monotonic() - before, 4), **facts}
            )
    faulthandler.cancel_dump_traceback_later()
    tell(end=True)


if __name__ == "__main__":
    main()
