# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Calls of operators without torch's dispatcher: taken for plain tensors, and for nothing else."""

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 10):
    pytest.skip("torch before 2.10 always takes the dispatcher", allow_module_level=True)

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, from its tracer and its compiler
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # of torch's sparse and quantized tensors
]

TYPES = [torch.float32, torch.bfloat16, torch.int8]


@pytest.fixture(autouse=True)
def _same_numbers():
    torch.manual_seed(11)


def draw(*sizes, dtype=torch.float32):
    return torch.randint(-100, 100, sizes, dtype=dtype) if dtype == torch.int8 else torch.randn(sizes).to(dtype)


def direct(a, b):
    return (ops._direct_int_mm if a.dtype == torch.int8 else ops._direct_mm)(a, b)


def dispatched(a, b):
    return (torch.ops.pbprobe.int_mm if a.dtype == torch.int8 else torch.ops.pbprobe.mm)(a, b)


def assert_same(result, expected):
    assert torch.equal(result, expected)
    for property_of in (
        lambda t: (type(t), t.dtype, t.shape, t.stride(), t.storage_offset(), t.is_inference(), t.requires_grad),
        lambda t: (t.is_leaf, t.grad_fn, t.untyped_storage().nbytes(), t.untyped_storage().resizable()),
    ):
        assert property_of(result) == property_of(expected)


def layouts(tensor):
    """Yields tensors of equal elements: contiguous, transposed, with strides, and shifted."""
    yield tensor
    yield tensor.transpose(-2, -1).contiguous().transpose(-2, -1)
    wide = tensor.new_zeros(*tensor.shape[:-1], 2 * tensor.shape[-1] + 1)
    yield wide[..., 1::2].copy_(tensor)
    yield wide[..., 1 : 1 + tensor.shape[-1]].copy_(tensor)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "m, n, k", [(1, 1, 1), (16, 16, 16), (2, 256, 64), (33, 70, 129), (0, 4, 3), (4, 0, 3), (4, 3, 0)]
)
def test_gives_the_bits_of_the_dispatcher(dtype, m, n, k):
    for batch in ((), (3,)):
        a, b = draw(*batch, m, k, dtype=dtype), draw(*batch, k, n, dtype=dtype)
        for left, right in itertools.product(layouts(a), layouts(b)):
            assert_same(direct(left, right), dispatched(left, right))


@pytest.mark.parametrize("dtype", TYPES[:2])
@pytest.mark.parametrize("shape", [(64,), (5, 64), (2, 3, 64), (2, 0, 64), (2, 3, 2, 64)])
def test_linear_gives_the_bits_of_the_dispatcher(dtype, shape):
    weight, wide = draw(48, 64, dtype=dtype), draw(96, dtype=dtype)
    x = draw(*shape, dtype=dtype)
    inputs = [x, *(list(layouts(x))[1:] if len(shape) > 1 else [])]
    for left, bias in itertools.product(inputs, (None, wide[:48].contiguous(), wide[::2], wide[:1].expand(48))):
        assert_same(ops._direct_linear(left, weight, bias), torch.ops.pbprobe.linear(left, weight, bias))
    assert_same(
        ops._direct_linear(draw(3, 0, dtype=dtype), draw(4, 0, dtype=dtype), wide[:4]),
        wide[:4].expand(3, 4).contiguous(),
    )


def test_takes_parameters_without_gradients():
    a, parameter = draw(4, 8), torch.nn.Parameter(draw(8, 4))
    assert direct(a, parameter) is None
    with torch.no_grad():
        assert_same(direct(a, parameter), dispatched(a, parameter))
    assert ops.mm(a, parameter).requires_grad
    assert direct(a, parameter.requires_grad_(False)) is not None


def test_follows_inference_mode():
    a, b = draw(4, 8), draw(8, 4)
    with torch.inference_mode():
        c = direct(a, b)
        assert c.is_inference()
        assert_same(c, dispatched(a, b))
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"), torch.inference_mode(False):
            c.add_(1)
    assert_same(direct(c, c), dispatched(c, c))
    assert not direct(c, c).is_inference()


def test_takes_direct_call_in_autocast():
    a, b = draw(4, 8), draw(8, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same(direct(a, b), dispatched(a, b))


def test_ops_take_the_direct_call(monkeypatch):
    def refuse(*_):
        pytest.fail("the dispatcher was called")

    a, b, bias = draw(4, 8), draw(8, 4), draw(4)
    whole = a.to(torch.int8), b.to(torch.int8)
    expected = dispatched(a, b), torch.ops.pbprobe.linear(a, b.t(), bias), dispatched(*whole)
    for name in ("mm", "linear", "int_mm"):
        monkeypatch.setattr(getattr(torch.ops.pbprobe, name), "default", refuse)
    for result, same in zip((ops.mm(a, b), ops.linear(a, b.t(), bias), ops.int_mm(*whole)), expected, strict=True):
        assert torch.equal(result, same)


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def execution_trace(folder):
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(folder / "trace.json"))
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.unregister_callback()


MODES = {
    "dispatch mode": lambda _: Operators(),
    "function mode": lambda _: Functions(),
    "device": lambda _: torch.device("cpu"),
    "fake tensors": lambda _: FakeTensorMode(allow_non_fake_inputs=True),
    "profiler": lambda _: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]),
    "autograd profiler": lambda _: torch.autograd.profiler.profile(),
    "execution trace": execution_trace,
    "forward gradients": lambda _: forward_ad.dual_level(),
}


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("name", MODES)
def test_dispatcher_takes_calls_in_modes(name, inference, tmp_path):
    a, b = draw(4, 8), draw(8, 4)
    whole = a.to(torch.int8), b.to(torch.int8)
    with torch.inference_mode(inference):
        with MODES[name](tmp_path):
            assert ops._direct_mm(a, b) is None
            assert ops._direct_linear(a, b.t(), None) is None
            assert ops._direct_int_mm(*whole) is None
            c = ops.mm(a, b)
        assert_same(direct(a, b), dispatched(a, b))
    assert name == "fake tensors" or torch.equal(c, direct(a, b))


def test_profiler_sees_the_operator():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        ops.mm(draw(4, 8), draw(8, 4))
    assert "pbprobe::mm" in {event.key for event in profiler.key_averages()}


def test_takes_direct_call_beside_modes_of_other_threads():
    a, b, seen = draw(4, 8), draw(8, 4), []
    with Operators():
        thread = threading.Thread(target=lambda: seen.append(direct(a, b)))
        thread.start()
        thread.join()
    assert_same(seen[0], dispatched(a, b))


def test_dispatcher_takes_calls_in_transforms():
    a, b = draw(4, 8), draw(8, 4)
    calls = []

    def product(left, right):
        calls.append(direct(left, right))
        return ops.mm(left, right)

    expected = a @ b
    torch.testing.assert_close(
        torch.func.vmap(product, in_dims=(0, None))(a.reshape(2, 2, 8), b).reshape(4, 4), expected
    )
    torch.testing.assert_close(torch.func.grad(lambda left: product(left, b).sum())(a), b.sum(1).expand(4, 8))
    torch.testing.assert_close(torch.func.functionalize(product)(a, b), expected)
    torch.testing.assert_close(make_fx(product)(a, b)(a, b), expected)
    torch.testing.assert_close(torch.jit.trace(product, (a, b))(a, b), expected)
    assert len(calls) > 5 and not any(call is not None for call in calls[:-1]), calls


def test_graphs_of_torch_compile_hold_the_operators():
    held = []

    def keep(graph, _):
        held.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    @torch.compile(fullgraph=True, backend=keep)
    def all_three(a, b, whole):
        return ops.mm(a, b), ops.linear(a, b.t()), ops.int_mm(whole, whole)

    def name_operators(a):
        held.clear()
        all_three(a, draw(8, 4), draw(6, 6, dtype=torch.int8))
        return [name for name in map(str, held) if name.startswith("pbprobe.")]

    without = ["pbprobe.mm.no_grad", "pbprobe.linear.no_grad", "pbprobe.int_mm.default"]
    assert name_operators(draw(4, 8)) == without
    with_gradient = draw(4, 8).requires_grad_()
    assert name_operators(with_gradient) == ["pbprobe.mm.default", "pbprobe.linear.default", "pbprobe.int_mm.default"]
    with torch.no_grad():
        assert name_operators(with_gradient) == without


class Subclass(torch.Tensor):
    pass


def dual(tensor):
    with forward_ad.dual_level():
        return forward_ad.make_dual(tensor, tensor)


OTHERS = {
    "subclass": lambda: draw(8, 8).as_subclass(Subclass),
    "gradient": lambda: draw(8, 8).requires_grad_(),
    "part of a graph": lambda: draw(8, 8).requires_grad_() * 2,
    "negated": lambda: torch.complex(draw(8, 8), draw(8, 8)).conj().imag,
    "zeros without memory": lambda: torch._efficientzerotensor((8, 8)),
    "functional": lambda: torch._to_functional_tensor(draw(8, 8)),
    "fake": lambda: FakeTensorMode().from_tensor(draw(8, 8)),
    "double": lambda: draw(8, 8).double(),
    "half": lambda: draw(8, 8).half(),
    "complex": lambda: torch.complex(draw(8, 8), draw(8, 8)),
    "meta": lambda: torch.empty(8, 8, device="meta"),
    "sparse": lambda: draw(8, 8).to_sparse(),
    "sparse rows": lambda: draw(8, 8).to_sparse_csr(),
    "mkldnn": lambda: draw(8, 8).to_mkldnn(),
    "quantized": lambda: torch.quantize_per_tensor(draw(8, 8), 0.1, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([draw(8, 8), draw(8, 8)]),
    "without elements": lambda: empty_storage(draw(8, 8)),
    "scalar": lambda: torch.tensor(1.0),
    "short vector": lambda: draw(5),
}


def empty_storage(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


def outcome(call, *arguments):
    """Returns what a call returns, as text, or its exception. Results for meta tensors have no elements."""
    try:
        result = call(*arguments)
    except Exception as error:
        return type(error), str(error)
    return type(result), result.shape if any(map(is_meta, arguments)) else str(result)


def is_meta(operand):
    return isinstance(operand, torch.Tensor) and operand.is_meta


@pytest.mark.parametrize("name", OTHERS)
def test_dispatcher_takes_unusual_operands(name):
    """And have its results and errors."""
    other, plain = OTHERS[name](), draw(8, 8)
    for arguments in ((other, plain), (plain, other), (other, other)):
        assert ops._direct_mm(*arguments) is None
        assert ops._direct_int_mm(*arguments) is None
        assert ops._direct_linear(*arguments, None) is None
        assert outcome(ops.mm, *arguments) == outcome(torch.ops.pbprobe.mm, *arguments)
        assert outcome(ops.linear, *arguments) == outcome(torch.ops.pbprobe.linear, *arguments)
        assert outcome(ops.int_mm, *arguments) == outcome(torch.ops.pbprobe.int_mm, *arguments)
    assert ops._direct_linear(plain, plain, other) is None


def test_keeps_references_and_memory():
    a, b, bias = draw(16, 16), draw(16, 16), draw(16)
    failing = draw(3, 3)

    def call(count):
        for _ in range(count):
            ops._direct_mm(a, b)
            ops._direct_linear(a, b, bias)
            ops._direct_mm(a, failing)

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    call(1000)
    before, references = resident(), [sys.getrefcount(held) for held in (a, b, bias, failing, None)]
    call(100_000)
    assert resident() - before < 1 << 20
    after = [sys.getrefcount(held) for held in (a, b, bias, failing, None)]
    assert all(abs(new - old) < 50 for new, old in zip(after, references, strict=True)), (references, after)


def test_threads_compute_at_the_same_time():
    cases = [(draw(m, 64), draw(64, n)) for m, n in ((1, 8), (16, 16), (33, 70), (64, 300))]
    expected = [dispatched(a, b) for a, b in cases]
    wrong = []

    def repeat(first):
        for i in range(2000):
            at = (first + i) % len(cases)
            if not torch.equal(direct(*cases[at]), expected[at]):
                wrong.append(at)

    threads = [threading.Thread(target=repeat, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_lets_other_threads_run():
    a, done, times = draw(1500, 1500), threading.Event(), []

    def multiply():
        times.append(time.perf_counter())
        ops._direct_mm(a, a)
        times.append(time.perf_counter())
        done.set()

    thread = threading.Thread(target=multiply)
    longest, last = 0.0, time.perf_counter()
    thread.start()  # waits for the thread, which may be in its product by then
    while not done.is_set():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    longest = max(longest, time.perf_counter() - last)
    thread.join()
    begin, end = times
    assert longest < (end - begin) / 2


UNUSUAL = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode
class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
with Operators():
    from pbprobe import ops
a = torch.randn(4, 4)
with Operators(), torch.inference_mode():
    assert ops._direct_mm(a, a) is None
assert torch.equal(ops.mm(a, a), torch.ops.pbprobe.mm(a, a))
"""


def test_import_in_a_mode_takes_the_dispatcher_in_it():
    done = subprocess.run([sys.executable, "-c", UNUSUAL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
