# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares torch.compile with double precision: about 60 operators that cover Inductor, Triton and its C++ back end."""

import functools
import random

import samples
import scaled
from errors import WrongError
from exemptions import find_factor, find_limits, title
from packages import get_reference

NAMES = frozenset(
    """add clamp div exp log masked_fill mul pow rsqrt sigmoid sin sqrt tanh where
    addbmm addmm addmv baddbmm bmm dot inner matmul mm mv nn.functional.bilinear nn.functional.linear
    amax argmax cumsum linalg.vector_norm logsumexp mean prod std sum var nn.functional.mse_loss
    log_softmax softmax nn.functional.cross_entropy nn.functional.batch_norm nn.functional.group_norm
    nn.functional.layer_norm nn.functional.rms_norm nn.functional.scaled_dot_product_attention
    cat flip gather index_add index_put index_select roll scatter scatter_add sort stack take_along_dim topk tril
    nn.functional.embedding nn.functional.pad
    nn.functional.avg_pool2d nn.functional.conv1d nn.functional.conv2d nn.functional.conv_transpose2d
    nn.functional.interpolate nn.functional.max_pool2d
    nn.functional.gelu nn.functional.leaky_relu nn.functional.silu torch._scaled_mm""".split()
)


def select(operators, is_all):
    """Returns the first variant of each operator, and each kind of scaled product; if `is_all`, only NAMES."""
    seen, chosen = set(), []
    for operator in operators:
        key = title(operator) if operator.name == scaled.NAME else operator.name
        if key not in seen and (operator.name in NAMES or not is_all):
            seen.add(key)
            chosen.append(operator)
    return chosen


def choose_types(checker, operator):
    """Returns one type, FP32 or BF16, which the seed decides: compilation takes seconds."""
    supported = samples.choose_types(checker.torch, checker.request.device, operator)
    names = [name for name in ("float32", "bfloat16") if name in supported]
    return [random.Random(f"{checker.request.seed} {operator.name}").choice(names)] if names else []


class CompiledComparison:
    """One operator in one type, with an epilogue that the compiler can fuse with it."""

    def __init__(self, checker, operator, name):
        self.checker, self.operator = checker, operator
        self.dtype = getattr(checker.torch, name)
        self.limits = find_limits(operator, self.dtype, checker.request.device)
        factor = find_factor(operator, self.dtype, "call")
        self.limits = [factor * limit for limit in self.limits]

    def function(self, first, args, kwargs):
        return self.finish(self.operator.op(first, *args, **kwargs))

    def reference(self, first, args, kwargs):
        return self.finish(get_reference(self.operator)(first, *args, **kwargs))

    def finish(self, result):
        """Returns the results after the epilogue."""

        def scale(value):
            is_float = isinstance(value, self.checker.torch.Tensor) and value.is_floating_point()
            return value * 0.5 + 0.25 if is_float else value

        return self.checker.tree.tree_map(scale, result)

    def run(self, function, arguments):
        self.checker.torch.manual_seed(self.checker.request.seed)
        return function(*self.checker.fresh(arguments))

    def find_sample(self):
        """Returns the largest sample, because the compiler vectorizes only long loops."""
        found = samples.choose_samples(self.checker, self.operator, self.dtype)[0]
        return max(found, key=functools.partial(samples.count_elements, self.checker), default=None)

    def check(self):
        """Returns the facts of a right result. Raises WrongError if the compiled function is wrong, whatever eager is;
        other exceptions say why it did not run.
        """
        torch, checker = self.checker.torch, self.checker
        sample = self.find_sample()
        if sample is None or not self.limits[0]:
            return {"state": "not_run", "reason": "no sample, or exempted"}
        arguments = (sample.input, sample.args, sample.kwargs)
        expected = self.run(self.reference, checker.raised(arguments))
        eager = self.run(self.function, arguments)
        torch._dynamo.reset()
        actual = self.run(torch.compile(self.function, dynamic=False), arguments)
        try:
            self.compare("compiled", actual, expected, arguments)
        except WrongError as wrong:
            wrong.sample = sample
            wrong.args = (f"{wrong}; eager is {self.judge_eager(eager, expected, arguments)}",)
            raise
        return {"state": "right", "calls": 1}

    def compare(self, way, actual, expected, arguments):
        def neighbours():
            return [self.run(self.reference, self.checker.raised(arguments, one)) for one in range(1, 7)]

        self.checker.compare(way, actual, expected, neighbours, self.limits)

    def judge_eager(self, eager, expected, arguments):
        try:
            self.compare("eager", eager, expected, arguments)
        except WrongError:
            return "wrong too"
        return "right"


def check_compiled(checker, operator, name):
    return CompiledComparison(checker, operator, name).check()
