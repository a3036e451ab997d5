# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ops.scaled_mm, of FP8: right by FP64, as torch._scaled_mm where that computes the same, and its refusals."""

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9), reason="no GPU with FP8"
)
blackwell = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() not in ((12, 0), (12, 1)),
    reason="no GPU with block-scaled mma.sync",
)
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
E8M0 = getattr(torch, "float8_e8m0fnu", None)
E2M1 = getattr(torch, "float4_e2m1fn_x2", None)
no_fp4 = pytest.mark.skipif(E8M0 is None or E2M1 is None, reason="this torch has no float4_e2m1fn_x2")
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


def swizzled(scales):
    """Scales of [rows, blocks], padded to 128 x 4 with what must not matter, as SWIZZLE_32_4_4 has them."""
    rows, blocks = scales.shape
    padded = torch.full((-(-rows // 128) * 128, -(-blocks // 4) * 4), 0x7F, dtype=torch.uint8, device=scales.device)
    padded[:rows, :blocks] = scales
    tiles = padded.view(padded.shape[0] // 128, 4, 32, padded.shape[1] // 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).reshape(-1).contiguous()


def block_scaled(rows, k, fp4, block, seed):
    """Bytes of elements, bytes of scales, and the numbers that they stand for."""
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, 16 if fp4 else 0x78, (rows, k), generator=generator, dtype=torch.uint8)
    scales = torch.randint(0x30, 0x48, (rows, k // block), generator=generator, dtype=torch.uint8)
    if block == 32:
        scales = scales - 0x30 + 124
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)
    numbers = values[codes.long()] if fp4 else codes.view(E4M3).double()
    factors = torch.exp2(scales.double() - 127) if block == 32 else scales.view(E4M3).double()
    elements = codes[:, ::2] | codes[:, 1::2] << 4 if fp4 else codes
    return elements.contiguous(), scales, numbers * factors.repeat_interleave(block, 1)


@blackwell
@no_fp4
@pytest.mark.parametrize(("fp4", "block"), [(False, 32), (True, 32), (True, 16)], ids=["mxfp8", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("shape", [(16, 64, 128), (128, 128, 256), (300, 272, 1024)], ids=str)
def test_block_scaled(fp4, block, shape):
    m, n, k = shape
    element, scale = E2M1 if fp4 else E4M3, E8M0 if block == 32 else E4M3
    (a, a_scales, left), (b, b_scales, right) = block_scaled(m, k, fp4, block, 1), block_scaled(n, k, fp4, block, 2)
    a, b = a.cuda().view(element), b.cuda().view(element)
    scale_a, scale_b = (swizzled(s).cuda().view(scale) for s in (a_scales, b_scales))
    c = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.float32)
    most = (left.abs() @ right.t().abs()).max().item()
    torch.testing.assert_close(c.double().cpu(), left @ right.t(), rtol=1e-2, atol=1e-2 * most)
    two = torch.tensor(2.0, device="cuda")
    twice = ops.scaled_mm(a, b.t(), [scale_a, two], [scale_b, two], out_dtype=torch.float32)
    assert torch.equal(twice, 4 * c)


@no_fp4
def test_refuses_block_scales_with_a_reason():
    a = torch.zeros(16, 64, dtype=torch.uint8).view(E4M3)
    four = torch.zeros(16, 64, dtype=torch.uint8).view(E2M1)
    mx, nv = (torch.full((512,), code, dtype=torch.uint8).view(t) for code, t in ((127, E8M0), (0x38, E4M3)))
    one, bf16 = torch.ones(()), {"out_dtype": torch.bfloat16}
    assert "no kernel for m 16, n 16, k 64, nt, e4m3" in refusal(a, a.t(), mx, mx, **bf16)
    assert "mx blocks" in refusal(a, a.t(), mx, mx, **bf16)
    assert "nvfp4 blocks" in refusal(four, four.t(), nv.repeat(2), nv.repeat(2), **bf16)
    assert "scale_a of 512 elements, for 2 blocks of 16 rows" in refusal(a, a.t(), mx[:32], mx, **bf16)
    assert "takes scales of blocks" in refusal(four, four.t(), one, one, **bf16)
    assert "of one type" in refusal(a, a.t(), mx, one, **bf16)
    assert "neighbours along k" in refusal(four, four.t().contiguous(), nv, nv, **bf16)
    assert "go with scales of blocks" in refusal(a, a.t(), one, one, tensor_scale_a=one, **bf16)
    wide = torch.zeros(256, 256, dtype=torch.uint8).view(E4M3)
    assert "1 x 128 or 128 x 128" in refusal(wide, wide.t(), torch.ones(256, 2), torch.ones(2, 2), **bf16)
    assert "1 x 128 or 128 x 128" in refusal(wide, wide.t(), torch.ones(2, 2), torch.ones(2, 2), **bf16)
    with pytest.raises(RuntimeError, match="of one tensor, or of two"):
        ops.scaled_mm(a, a.t(), [mx, one, one], mx, **bf16)
