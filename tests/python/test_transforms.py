# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares derivatives and traces of torch.ops.pbprobe with torch's own operators."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

from torch.autograd import forward_ad  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Failed to initialize NumPy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, from its compiler
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # vmap takes an operator in a loop
]

PRODUCTS = {
    "mm": (ops.mm, torch.mm, [(3, 4), (4, 5)]),
    "torch.ops mm": (torch.ops.pbprobe.mm, torch.mm, [(3, 4), (4, 5)]),
    "batches": (ops.mm, torch.bmm, [(2, 3, 4), (2, 4, 5)]),
    "linear": (ops.linear, torch.nn.functional.linear, [(2, 3, 4), (5, 4), (5,)]),
    "torch.ops linear": (torch.ops.pbprobe.linear, torch.nn.functional.linear, [(3, 4), (5, 4), (5,)]),
    "linear without bias": (ops.linear, torch.nn.functional.linear, [(4,), (5, 4)]),
}


@pytest.fixture(autouse=True)
def _no_earlier_graphs():
    torch.compiler.reset()


def forward(product, operands, tangents):
    with forward_ad.dual_level():
        pairs = zip(operands, tangents)
        duals = [tensor if other is None else forward_ad.make_dual(tensor, other) for tensor, other in pairs]
        return forward_ad.unpack_dual(product(*duals)).tangent


def square(product):
    return lambda *operands: product(*operands).square().sum()


def without_gradient(product):
    """A second derivative of what torch.no_grad() takes from the first one only."""

    def inner(a, *others):
        with torch.no_grad():
            c = product(a, *others)
        return (c.sum() * a.square()).sum()

    return lambda a, *others: grad(lambda a: grad(inner)(a, *others).square().sum())(a)


ALL = (0, 1)
TRANSFORMS = {
    "jvp": lambda product, operands, tangents: jvp(product, operands, tangents)[1],
    "forward": forward,
    "forward of the first": lambda product, operands, tangents: forward(product, operands, (tangents[0], None, None)),
    "forward of the last": lambda product, operands, tangents: forward(
        product, operands, (*(None for _ in operands[1:]), tangents[-1])
    ),
    "forward without gradients": lambda *given: torch.no_grad()(forward)(*given),
    "vjp": lambda product, operands, _: vjp(product, *operands)[1](product(*operands)),
    "grad": lambda product, operands, _: grad(square(product), ALL)(*operands),
    "jacrev": lambda product, operands, _: jacrev(product, ALL)(*operands),
    "jacfwd": lambda product, operands, _: jacfwd(product, ALL)(*operands),
    "hessian": lambda product, operands, _: hessian(square(product), ALL)(*operands),
    "jacrev of jacfwd": lambda product, operands, _: jacrev(jacfwd(square(product), ALL), ALL)(*operands),
    "grad of grad": lambda product, operands, _: grad(square(grad(square(product))))(*operands),
    "grad of no_grad": lambda product, operands, _: without_gradient(product)(*operands),
    "vmap of grad": lambda product, operands, tangents: vmap(grad(square(product), ALL))(
        *(torch.stack(pair) for pair in zip(operands, tangents))
    ),
    "vmap of jvp": lambda product, operands, tangents: vmap(lambda *them: jvp(product, operands, them)[1])(
        *(torch.stack([tangent, 2 * tangent]) for tangent in tangents)
    ),
    "compiled grad": lambda product, operands, _: torch.compile(
        grad(square(product), ALL), backend="aot_eager", fullgraph=True
    )(*operands),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_transforms_are_those_of_torch(name, transform):
    torch.manual_seed(3)
    ours, theirs, shapes = PRODUCTS[name]
    operands, tangents = (tuple(torch.randn(shape) for shape in shapes) for _ in range(2))
    results = [TRANSFORMS[transform](product, operands, tangents) for product in (ours, theirs)]
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-3)


def test_forward_gradients_reach_only_operands_that_have_them():
    """Because infinity times a tangent of zeros would be NaN."""
    a, b = torch.ones(2, 2), torch.full((2, 2), torch.inf)
    assert torch.equal(forward(ops.mm, (b, a), (None, a)), forward(torch.mm, (b, a), (None, a)))
    assert torch.equal(forward(ops.linear, (b, a), (None, a)), forward(torch.mm, (b, a), (None, a)))


def scaled(scale_a):
    whole = torch.ones(2, 2, dtype=torch.int8)
    return ops.scaled_int_mm(whole, whole, scale_a, torch.ones(2), torch.float32)


@pytest.mark.parametrize(
    "derive",
    [
        lambda: scaled(torch.ones(2, requires_grad=True)).sum().backward(),
        lambda: grad(lambda scale: scaled(scale).sum())(torch.ones(2)),
        lambda: forward(scaled, (torch.ones(2),), (torch.ones(2),)),
    ],
)
def test_scaled_products_have_no_derivative(derive):
    assert torch.equal(scaled(torch.ones(2, requires_grad=True)), torch.full((2, 2), 2.0))
    with pytest.raises(NotImplementedError, match="scaled_int_mm and scaled_mm are not differentiable: detach"):
        derive()


def draw(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


WHOLE = draw(2, 3, dtype=torch.int8), draw(3, 4, dtype=torch.int8)
SCALED = torch.ops.pbprobe.scaled_int_mm
REFUSED = [
    *((torch.ops.pbprobe.mm, (draw(2, 3, dtype=d), draw(3, 4, dtype=d))) for d in (torch.float64, torch.complex64)),
    (torch.ops.pbprobe.mm, (draw(2, 3, dtype=torch.int32), draw(3, 4, dtype=torch.int32))),
    (torch.ops.pbprobe.mm, (draw(2, 3), draw(3, 4, dtype=torch.bfloat16))),
    (torch.ops.pbprobe.mm, (draw(2, 3), draw(4, 5))),
    (torch.ops.pbprobe.mm, (draw(3), draw(3, 4))),
    (torch.ops.pbprobe.mm, (draw(2, 2, 3), draw(3, 3, 4))),
    (torch.ops.pbprobe.linear, (draw(2, 3, dtype=torch.float64), draw(4, 3, dtype=torch.float64))),
    (torch.ops.pbprobe.linear, (draw(2, 3), draw(4, 3, dtype=torch.bfloat16))),
    (torch.ops.pbprobe.linear, (draw(2, 3), draw(4, 5))),
    (torch.ops.pbprobe.linear, (torch.tensor(1.0), draw(4, 5))),
    (torch.ops.pbprobe.linear, (draw(2, 3), draw(4, 3), draw(5))),
    (torch.ops.pbprobe.linear, (draw(2, 3), draw(4, 3), draw(1, 4))),
    (torch.ops.pbprobe.linear, (draw(2, 3), draw(4, 3), draw(4, dtype=torch.bfloat16))),
    (torch.ops.pbprobe.int_mm, (draw(2, 3), draw(3, 4))),
    (SCALED, (*WHOLE, draw(3), draw(4), torch.float32)),
    (SCALED, (*WHOLE, draw(2), draw(1, 3), torch.float32)),
    (SCALED, (*WHOLE, draw(2, dtype=torch.float64), draw(4), torch.float32)),
    (SCALED, (*WHOLE, draw(2), draw(4), torch.float64)),
    (SCALED, (draw(2, 3), draw(3, 4), draw(2), draw(4), torch.float32)),
    (SCALED, (*(whole[None] for whole in WHOLE), draw(2), draw(4), torch.float32)),
]


@pytest.mark.parametrize("operator, arguments", REFUSED)
def test_traces_refuse_what_the_cpu_refuses(operator, arguments):
    """In the same sentence."""
    with pytest.raises(RuntimeError, match=r"^pbprobe::") as caught:
        operator(*arguments)
    sentence = str(caught.value).splitlines()[0].replace("scalar type 9", "torch.complex64")
    with pytest.raises(RuntimeError) as of_meta:
        operator(*(each.to("meta") if isinstance(each, torch.Tensor) else each for each in arguments))
    assert str(of_meta.value).splitlines()[0] == sentence
    with pytest.raises(RuntimeError) as of_trace:
        torch.compile(lambda *them: operator(*them), backend="eager", fullgraph=True)(*arguments)
    assert sentence in str(of_trace.value)


def test_traces_take_scales_of_rows_and_columns():
    whole = [each.to("meta") for each in WHOLE]
    for scales in ((draw(2), draw(4)), (draw(2, 1), draw(1, 4))):
        c = ops.scaled_int_mm(*whole, *(scale.to("meta") for scale in scales), torch.bfloat16)
        assert (c.shape, c.dtype) == ((2, 4), torch.bfloat16)


NO_TENSORS = [
    (lambda: ops.mm(None, draw(2, 2)), "mm: a must be a torch.Tensor: got NoneType"),
    (lambda: ops.mm(draw(2, 2), [[1.0]]), "mm: b must be a torch.Tensor: got list"),
    (lambda: ops.linear(None, draw(2, 2)), "linear: x must be a torch.Tensor: got NoneType"),
    (lambda: ops.linear(draw(2, 2), None), "linear: weight must be a torch.Tensor: got NoneType"),
    (lambda: ops.int_mm(None, None), "int_mm: a must be a torch.Tensor: got NoneType"),
    (lambda: ops.scaled_int_mm(*WHOLE, None, None, torch.float32), "scaled_int_mm: scale_a must be a torch.Tensor"),
    (lambda: ops.scaled_mm(*WHOLE, draw(1), None), "scaled_mm: scale_b must be a torch.Tensor: got NoneType"),
    (lambda: ops.which(None, None), "which: a must be a torch.Tensor: got NoneType"),
]


@pytest.mark.parametrize("call, sentence", NO_TENSORS)
def test_names_the_operand_that_is_no_tensor(call, sentence):
    with pytest.raises(TypeError, match=f"^pbprobe::{sentence}") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_symbolic_traces_hold_the_operators():
    """Their operands are no tensors, but stand for them."""
    traced = torch.fx.symbolic_trace(lambda a, b: ops.mm(a, b))
    assert torch.equal(traced(draw(2, 3), draw(3, 4)), draw(2, 4) * 3)


FREED = """
import gc, weakref, torch
from pbprobe import ops
x = torch.ones(2, 2, requires_grad=True) * 2
y, kept = ops.mm(x, torch.ones(2, 2)), weakref.ref(x)
del x
gc.collect()
assert kept() is None
"""


def test_operands_for_forward_gradients_are_not_kept():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
