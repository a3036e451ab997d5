# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares the operators with torch on random operands: sizes with zeros, views, expanded dimensions, types, requested
gradients. Values are small integers: every sum is exact, and results are equal bit for bit."""

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)
hypothesis = pytest.importorskip("hypothesis", reason="`make setup` installs it")

from hypothesis import strategies as st  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Failed to initialize NumPy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
SIZES = st.one_of(st.integers(0, 3), st.integers(4, 40), st.sampled_from([63, 64, 65, 127, 129]))
VIEWS = ["plain", "transposed", "every second column", "every second row", "reversed storage", "one row", "inside"]
property_test = hypothesis.settings(
    deadline=None, max_examples=150, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)


def draw_matrix(draw, rows, columns, dtype, device):
    """Values of -2 to 2, seen through a view; an expanded one has a stride of 0."""
    seed = draw(st.integers(0, 2**31 - 1))
    generator = torch.Generator().manual_seed(seed)
    low = 0 if dtype == torch.uint8 else -2

    def values(*shape):
        return torch.randint(low, 3, shape, generator=generator).to(dtype).to(device)

    view = draw(st.sampled_from(VIEWS))
    if view == "transposed":
        return values(columns, rows).t()
    if view == "every second column":
        return values(rows, 2 * columns)[:, ::2]
    if view == "every second row":
        return values(2 * rows, columns)[::2]
    if view == "one row":
        return values(1, columns).expand(rows, columns)
    if view == "inside":
        return values(rows + 3, columns + 5)[2 : 2 + rows, 1 : 1 + columns]
    if view == "reversed storage":
        return values(columns + 1, rows + 2)[1:, 2:].t()
    return values(rows, columns)


def reference(a, b, dtype):
    return (a.cpu().double() @ b.cpu().double()).to(dtype)


@property_test
@hypothesis.given(st.data())
def test_mm_matches_torch(data):
    device = data.draw(st.sampled_from(DEVICES))
    dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16]))
    m, n, k = (data.draw(SIZES) for _ in range(3))
    a, b = draw_matrix(data.draw, m, k, dtype, device), draw_matrix(data.draw, k, n, dtype, device)
    product = ops.mm(a, b)
    assert product.shape == (m, n) and product.dtype == dtype and product.is_contiguous()
    assert torch.equal(product.cpu(), reference(a, b, dtype))


@property_test
@hypothesis.given(st.data())
def test_integers_match_torch(data):
    device = data.draw(st.sampled_from(DEVICES))
    unsigned = [torch.uint8] if device == "cpu" else []  # no GPU kernel takes it
    dtype = data.draw(st.sampled_from([torch.int8, *unsigned]))
    m, n, k = (data.draw(SIZES) for _ in range(3))
    a, b = draw_matrix(data.draw, m, k, dtype, device), draw_matrix(data.draw, k, n, torch.int8, device)
    assert torch.equal(ops.int_mm(a, b).cpu(), reference(a, b, torch.int32))
    scale_a, scale_b = 2.0 ** torch.arange(m, device=device).remainder(5), torch.full((n,), 0.5, device=device)
    scaled = ops.scaled_int_mm(a, b, scale_a, scale_b, torch.float32)
    expected = a.cpu().double() @ b.cpu().double() * scale_a.cpu()[:, None].double() * 0.5
    assert torch.equal(scaled.cpu(), expected.float())


@property_test
@hypothesis.given(st.data())
def test_linear_and_gradients_match_torch(data):
    """Also after an operand is changed in place, where F.linear allows it."""
    device = data.draw(st.sampled_from(DEVICES))
    leading = data.draw(st.lists(st.integers(0, 4), max_size=2))
    rows, n, k = (data.draw(SIZES) for _ in range(3))
    wants = [data.draw(st.booleans()) for _ in range(3)]
    with_bias = data.draw(st.booleans())
    x = draw_matrix(data.draw, rows, k, torch.float32, device).expand(*leading, rows, k)
    weight = draw_matrix(data.draw, n, k, torch.float32, device)
    bias = draw_matrix(data.draw, 1, n, torch.float32, device)[0] if with_bias else None
    # F.linear may keep a copy of an x with more than two dimensions; the original may then be changed.
    changed = data.draw(st.sampled_from(["nothing", "weight", "bias", *(["x"] if not leading else [])]))

    def run(linear):
        operands = {
            name: t if t is None else t.detach().clone().requires_grad_(wanted)
            for name, t, wanted in zip(("x", "weight", "bias"), (x, weight, bias), wants, strict=True)
        }
        y = linear(*operands.values())
        if operands.get(changed) is not None:
            with torch.no_grad():
                operands[changed].mul_(2)
        if not y.requires_grad:
            return y, None
        try:
            y.sum().backward()
        except RuntimeError as error:  # torch's own: "has been modified by an inplace operation"
            return y, "inplace" if "inplace" in str(error) else str(error)
        return y, [None if t is None else t.grad for t in operands.values()]

    ours, theirs = run(ops.linear), run(torch.nn.functional.linear)
    assert torch.equal(ours[0], theirs[0])
    if isinstance(theirs[1], list):
        assert isinstance(ours[1], list), ours[1]
        for mine, other in zip(ours[1], theirs[1], strict=True):
            assert (mine is None) == (other is None)
            assert mine is None or torch.equal(mine, other)
    elif theirs[1] is None:
        assert ours[1] is None
