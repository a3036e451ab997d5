# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ops.scaled_mm, of FP8: right by FP64, as torch._scaled_mm where that computes the same, and its refusals."""

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9), reason="no GPU with FP8"
)
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
SHAPES = [(1, 16, 32), (3, 5, 7), (17, 300, 129), (64, 96, 256), (128, 128, 128), (300, 272, 1040), (1000, 513, 777)]


def normal(rows, columns, dtype, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(rows, columns, device="cuda", generator=generator).to(dtype)


def scales(m, n, per_row):
    generator = torch.Generator(device="cuda").manual_seed(5)
    sizes = ((m, 1), (1, n)) if per_row else ((), ())
    return [torch.rand(size, device="cuda", generator=generator) + 0.5 for size in sizes]


def furthest(c, reference, k):
    """The greatest error, of what results of normal numbers are like."""
    return ((c.double() - reference).abs().max() / k**0.5).item()


@gpu
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("per_row", [False, True], ids=["per tensor", "per row"])
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_right_by_fp64(shape, per_row, dtype):
    m, n, k = shape
    a, b = normal(m, k, dtype, 1), normal(n, k, dtype, 2)
    scale_a, scale_b = scales(m, n, per_row)
    bias = torch.randn(n, device="cuda", dtype=torch.bfloat16)
    reference = (a.double() @ b.double().t()) * scale_a.double() * scale_b.double()
    for right in (b.t(), b.t().contiguous()):  # along k, and across
        c = ops.scaled_mm(a, right, scale_a, scale_b, out_dtype=torch.float32)
        assert furthest(c, reference, k) < 2e-2, "the sums of 128 products are added in FP32"
    for out_dtype in (torch.bfloat16, torch.float16):
        c = ops.scaled_mm(a, b.t(), scale_a, scale_b, bias, out_dtype=out_dtype)
        assert c.dtype == out_dtype
        torch.testing.assert_close(c.double(), reference + bias.double(), rtol=1e-2, atol=2e-2 * k**0.5)


@gpu
@pytest.mark.parametrize("per_row", [False, True], ids=["per tensor", "per row"])
def test_as_torch(per_row):
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("torch scales by rows from 9.0 on")
    m, n, k = 384, 512, 4096
    a, b = normal(m, k, E4M3, 3), normal(n, k, E4M3, 4)
    scale_a, scale_b = scales(m, n, per_row)
    theirs = torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
    ours = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
    torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=0.1)
    fast = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True)
    assert torch.equal(fast, ours), "fast accumulation changes nothing"


@gpu
def test_keeps_the_digits_that_a_narrow_accumulator_loses():
    k = 16384
    ones = torch.ones(16, k, device="cuda").to(E4M3)
    a = ones.clone()
    a[:, 0] = torch.tensor(0.5, device="cuda").to(E4M3)  # 16383.5 takes 15 bits
    one = torch.ones((), device="cuda")
    c = ops.scaled_mm(a, ones.t(), one, one, out_dtype=torch.float32)
    assert c.unique().tolist() == [k - 0.5]


@gpu
def test_in_a_graph_and_compiled():
    a, b = normal(64, 128, E4M3, 6), normal(96, 128, E4M3, 7)
    scale_a, scale_b = scales(64, 96, False)

    def f(a, b):
        return ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)

    expected = f(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = f(a, b)
    c.zero_()
    graph.replay()
    assert torch.equal(c, expected)
    meta = [t.to("meta") for t in (a, b.t(), scale_a, scale_b)]
    assert torch.ops.pbprobe.scaled_mm(*meta, out_dtype=torch.float16).shape == (64, 96)


@gpu
def test_names_its_kernel():
    a, b = normal(64, 128, E4M3, 6), normal(96, 128, E4M3, 7)
    assert "e4m3" in ops.which(a, b.t())


def refusal(*args, **more):
    with pytest.raises(RuntimeError) as raised:
        torch.ops.pbprobe.scaled_mm(*args, **more)
    return str(raised.value)


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def test_refuses_with_a_reason(device):
    a, b = (torch.ones(16, 32, device=device).to(E4M3) for _ in range(2))
    one, many = torch.ones((), device=device), torch.ones(16, 1, device=device)
    bf16 = {"out_dtype": torch.bfloat16}
    assert "out_dtype" in refusal(a, b.t(), one, one)
    assert "out_dtype" in refusal(a, b.t(), one, one, out_dtype=E4M3)
    assert "the same" in refusal(a, b.t().to(E5M2), one, one, **bf16)
    assert "float8" in refusal(a.float(), b.t().float(), one, one, **bf16)
    assert "cannot be multiplied" in refusal(a, b, one, one, **bf16)
    assert "scale_b of 16 elements" in refusal(a, b.t(), many, one, **bf16)
    assert "scale_a of 16 elements" in refusal(a, b.t(), many[:3], many, **bf16)
    assert "torch.float32" in refusal(a, b.t(), one.half(), one, **bf16)
    assert "scale_result" in refusal(a, b.t(), one, one, scale_result=one, **bf16)
    assert "bias [16]" in refusal(a, b.t(), one, one, torch.ones(3, device=device), **bf16)
    if device == "cpu":
        assert "no kernel" in refusal(a, b.t(), many, many, **bf16)
        assert "not one of all" in refusal(a, b.t(), one, one, **bf16)
