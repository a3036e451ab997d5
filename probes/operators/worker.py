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
import empties
import integers
import packages
import samples
import ties
from database import Request, load_operators
from errors import DEVICE_ERRORS, REFUSALS, LostError, WrongError, brief, check_device
from exemptions import ONE_ORDER, STRIDES, UNDEFINED_STATISTICS, UNINITIALIZED, find_factor, find_limits, title
from packages import get_reference

NEIGHBOURS = 6  # references with rounded inputs that are computed if the first one differs
ULPS = 4  # units in the last place by which their inputs differ


class Checker:
    def __init__(self, torch, request):
        from torch.utils import _pytree

        self.torch, self.request, self.tree = torch, request, _pytree
        self.source = "double precision"  # of the expected results
        self.skips_empty = False  # results that the reference leaves empty are not compared
        self.high = {
            torch.float32: torch.float64,
            torch.float16: torch.float64,
            torch.bfloat16: torch.float64,
            torch.complex64: torch.complex128,
            torch.float8_e4m3fn: torch.float64,
        }

    # ---- inputs ----------------------------------------------------------------------------------------------------

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
            if neighbour and higher != value.dtype and value.dtype.itemsize > 1:  # a unit of 8 bits is a large step
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
                    f"{int(outside.sum())} of {one.numel()} elements differ from {self.source}",
                    index=index,
                    shape=list(one.shape),
                    expected=f"{float(right.flatten()[at]):.9g}",
                    actual=f"{float(one.flatten()[at]):.9g}",
                    tolerances=f"{float(distance.flatten()[at]):.3g}" if one.is_floating_point() else None,
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
        inputs = samples.choose_inputs(self, operator, dtype)
        if not inputs:
            return {**facts, "state": "not_run", "reason": "torch's database of operators has no sample"}
        for one in inputs:
            try:
                state = self.check_input(operator, dtype, one, facts)
            except WrongError as wrong:
                wrong.sample = one.sample
                raise
            if state != "right":
                facts["state"] = state
        if not facts["calls"]:
            facts["state"] = "not_run"
        return facts

    def check_input(self, operator, dtype, one, facts):
        sample = one.sample
        arguments = (sample.input, sample.args, sample.kwargs)
        raised, reference = self.raised(arguments), get_reference(operator)
        self.source = "double precision"
        if is_integer := dtype == self.torch.int64:
            reference, raised = integers.find_reference(self, operator, one, raised)
        try:
            expected = self.call(reference, self.fresh(raised))
        except REFUSALS as error:
            check_device(error)
            facts["reason"] = f"no reference: {brief(error)}"
            return "right"
        is_empty = empties.is_empty(self, arguments)
        is_random = not is_empty and self.is_random(reference, raised, expected)
        if operator.name in UNINITIALIZED or is_random:
            actual = self.call(operator.op, self.fresh(arguments))
            facts["calls"] += 1
            if [one.shape for one in self.leaves(actual)] != [one.shape for one in self.leaves(expected)]:
                raise WrongError("call", "has another shape")
            return "random"
        limits = find_limits(operator, dtype, self.request.device)
        forms = empties.predict_forms(self, operator, arguments) if is_empty else None
        neighbours = self.find_neighbours(operator if is_integer else None, reference, arguments)
        for way, compute in self.ways(operator, sample, expected):
            try:
                actual = compute()
            except REFUSALS as error:
                check_device(error, is_empty)
                if way == "call":
                    facts["reason"] = brief(error)
                    return "right"
                if not is_integer:  # most results of integers in place would not be integers
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
                facts["reason"] = "exempted: pbprobe does not compare the results of this operator"
                continue
            facts["calls"] += 1
            if forms and way != "in place":  # the input keeps its type
                empties.compare_forms(self, way, actual, forms)
            try:
                self.compare(way, actual, expected, neighbours, [factor * limit for limit in limits])
            except WrongError as wrong:
                if ties.choose_equal(self, operator, sample, actual, expected):
                    continue
                self.compare_by_property(wrong, sample, actual, expected, limits)
        if one.has_gradients:
            self.check_gradients(operator, dtype, sample, facts, limits)
        return "right"

    def find_neighbours(self, integer_operator, reference, arguments):
        """Returns a function that returns more references. For integers it is only the operator itself on the CPU,
        unless the CPU is compared.
        """
        function = integer_operator.op if integer_operator else reference
        count = NEIGHBOURS if not integer_operator else int(self.request.device != "cpu")

        @functools.cache
        def compute():
            found = []
            for neighbour in range(1, count + 1):
                with contextlib.suppress(*REFUSALS):
                    found.append(self.call(function, self.raised(arguments, neighbour)))
            return found

        return compute

    def equal(self, one, other):
        """Returns True if all bits of the results are equal."""
        have, wanted = self.leaves(one), self.leaves(other)
        pairs = zip(have, wanted)
        return len(have) == len(wanted) and all(
            a.shape == b.shape and self.torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs
        )

    def describe(self, sample, index=None, shape=None):
        """Returns shapes and types of a sample's inputs, and the other arguments. Inputs of this shape also show the
        element at the index.
        """
        words = []
        for one in self.tree.tree_flatten((sample.input, sample.args, sample.kwargs))[0]:
            if not isinstance(one, self.torch.Tensor):
                words.append(str(one)[:40])
                continue
            has_element = index is not None and list(one.shape) == shape and one.layout is self.torch.strided
            element = f" (here {one[tuple(index)].item():.9g})" if has_element else ""
            words.append(f"{str(one.dtype).removeprefix('torch.')}{list(one.shape)}{element}")
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

    def is_random(self, reference, raised, expected):
        """Returns True if the result depends on the seed. Some operators of the database set their own seed."""
        manual_seed = self.torch.manual_seed
        try:
            for step in range(1, 5):  # a few random bits may be equal by chance
                self.torch.manual_seed = lambda seed, step=step: manual_seed(seed + step)
                if not self.equal(expected, self.call(reference, self.fresh(raised))):
                    return True
        except REFUSALS:
            return False
        finally:
            self.torch.manual_seed = manual_seed
        return False

    def ways(self, operator, sample, expected):
        torch, arguments = self.torch, (sample.input, sample.args, sample.kwargs)
        yield "call", lambda: self.call(operator.op, self.fresh(arguments))
        if operator.name not in STRIDES:
            yield "non-contiguous", lambda: self.call(operator.op, self.scatter(sample))
            has_order = any(one.dim() > 1 for one in samples.list_tensors(self, sample))
            if has_order and operator.name not in ONE_ORDER:
                yield "non-contiguous", lambda: self.call(operator.op, self.reverse(arguments))
        inplace = operator.get_inplace()
        if inplace is not None and isinstance(sample.input, torch.Tensor) and not sample.broadcasts_input:
            yield "in place", lambda: self.call(inplace, self.fresh(arguments))
        if operator.supports_out and isinstance(expected, torch.Tensor):

            def write_out():
                out = torch.empty_like(self.call(operator.op, self.fresh(arguments)))
                self.call(operator.op, self.fresh(arguments), out=out)
                return out

            yield "out=", write_out

    def scatter(self, sample):
        """Returns the arguments with gaps between the elements."""
        other = sample.noncontiguous()
        return other.input, other.args, other.kwargs

    def reverse(self, arguments):
        """Returns the arguments with the dimensions of each tensor in reverse order in memory."""

        def reverse(value):
            order = tuple(range(value.dim()))[::-1]
            return value.permute(order).clone(memory_format=self.torch.contiguous_format).permute(order)

        return self.map(arguments, reverse)

    def compare_by_property(self, wrong, sample, actual, expected, limits):
        """Compares results that are not unique, such as eigenvectors, in the form that the database differentiates.
        Raises `wrong` if that differs too.
        """
        process = sample.output_process_fn_grad
        try:
            self.compare(wrong.way, process(actual), process(expected), list, limits)
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
    types, check = functools.partial(samples.choose_types, torch, request.device), checker.check
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
                facts["input"] = checker.describe(wrong.sample, facts.get("index"), facts.pop("shape", None))
                if request.device == "cuda":
                    facts["kernels"] = checker.list_kernels(operator, wrong.sample)
            except (LostError, Exception) as error:
                if isinstance(error, LostError) or DEVICE_ERRORS.search(str(error)):
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
