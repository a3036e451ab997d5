# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ops.scaled_mm and scaled_mm_v2 with FP8: compared with FP64, and with torch if torch supports the call; refusals."""

import re

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9), reason="no GPU with FP8"
)
blackwell = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (10, 0),
    reason="no GPU with block-scaled instructions",
)
blocks_of_fp32 = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() not in ((8, 9), (9, 0), (12, 0), (12, 1)),
    reason="no GPU with kernels of FP32 scales of blocks",
)
hopper = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
    reason="no GPU on which torch takes FP32 scales of blocks",
)
functional = torch.nn.functional
no_recipes = pytest.mark.skipif(not hasattr(functional, "ScalingType"), reason="this torch has no scaling recipes")
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
def test_matches_fp64(shape, per_row, dtype):
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
def test_computes_like_torch(per_row):
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("torch scales by rows from 9.0 on")
    m, n, k = 384, 512, 4096
    a, b = normal(m, k, E4M3, 3), normal(n, k, E4M3, 4)
    scale_a, scale_b = scales(m, n, per_row)
    theirs = torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
    ours = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
    torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=0.1)
    theirs = torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True)
    fast = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True)
    torch.testing.assert_close(fast, theirs, rtol=1e-2, atol=0.02 * k**0.5)


@gpu
@pytest.mark.parametrize("n", [256, 8192])
def test_applies_scale_of_tensor_to_parts_of_k(n):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no GPU of these kernels")
    k = 16384
    a, b = normal(16, k, E4M3, 8), normal(n, k, E4M3, 9)
    scale_a, scale_b = scales(16, n, False)
    reference = (a.double() @ b.double().t()) * scale_a.double() * scale_b.double()
    for name in [name for name in ops.kernels() if re.search(r"_e4m3_(\d+x\d+|cluster_\d+x\d+)_sm90$", name)]:
        for parts in (1, 4):
            with ops.use(name, parts):
                c = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.float32)
            assert furthest(c, reference, k) < 2e-2, (name, parts)


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
def test_runs_in_a_graph_and_compiled():
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


RECIPES = ["1x128_128x128", "128x128_1x128", "1x128_1x128"]


def blocks_of_128(lines, k, squares, seed):
    """Scales as they are stored, [k / 128, lines] or [lines / 128, k / 128], and [lines, k] of them."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    along = -(-k // 128)
    sizes = (-(-lines // 128), along) if squares else (along, lines)
    stored = torch.rand(sizes, device="cuda", generator=generator) + 0.5
    whole = stored.double().repeat_interleave(128, 0) if squares else stored.double().t()
    return stored, whole.repeat_interleave(128, 1)[:lines, :k]


def deepseek(m, n, k, recipe, dtype=E4M3):
    """a, b [n, k], scale_a and scale_b as torch._scaled_mm takes them, and the result in FP64."""
    of_a, of_b = (part == "128x128" for part in recipe.split("_"))
    a, b = normal(m, k, dtype, 11), normal(n, k, dtype, 12)
    (scale_a, whole_a), (scale_b, whole_b) = blocks_of_128(m, k, of_a, 13), blocks_of_128(n, k, of_b, 14)
    reference = (a.double() * whole_a) @ (b.double() * whole_b).t()
    return a, b, scale_a if of_a else scale_a.t(), scale_b.t() if of_b else scale_b, reference


@blocks_of_fp32
@pytest.mark.parametrize("shape", [*SHAPES, (257, 129, 4096), (4096, 1024, 640)], ids=str)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_blocks_of_128_right_by_fp64(shape, recipe, dtype):
    m, n, k = shape
    a, b, scale_a, scale_b, reference = deepseek(m, n, k, recipe, dtype)
    for right in (b.t(), b.t().contiguous()):
        c = ops.scaled_mm(a, right, scale_a, scale_b, out_dtype=torch.float32)
        assert furthest(c, reference, k) < 2e-2
    bias = torch.randn(n, device="cuda", dtype=torch.bfloat16)
    c = ops.scaled_mm(a, b.t(), scale_a, scale_b, bias, out_dtype=torch.bfloat16)
    torch.testing.assert_close(c.double(), reference + bias.double(), rtol=1e-2, atol=2e-2 * k**0.5)


@blocks_of_fp32
def test_applies_the_scale_of_each_block():
    m, n, k = 300, 300, 500
    one = torch.ones(m, k, device="cuda").to(E4M3)
    for recipe in RECIPES:
        *_, scale_a, scale_b, _ = deepseek(m, n, k, recipe)
        for scale in (scale_a, scale_b):
            for place in ((0, 0), (-1, -1), (-1, 0)):
                scale_a.fill_(1)
                scale_b.fill_(1)
                scale[place] = 3
                c = ops.scaled_mm(one, one.t(), scale_a, scale_b, out_dtype=torch.float32)
                along = place[1] if scale is scale_a else place[0]  # of A [lines, k], of B [k, lines]
                block = 128 if along == 0 else k - 3 * 128
                assert c.unique().tolist() == [k, k + 2 * block], (recipe, place)


@hopper
@no_recipes
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("shape", [(128, 512, 512), (384, 512, 4096), (1024, 1536, 7168)], ids=str)
def test_blocks_of_128_as_torch(shape, recipe):
    m, n, k = shape
    a, b, scale_a, scale_b, reference = deepseek(m, n, k, recipe)
    ours = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
    theirs = torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
    torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=2e-2 * k**0.5)
    assert furthest(ours, reference, k) <= 1.5 * furthest(theirs, reference, k) + 1e-3
    # The recipe's layout for both operands: 128 x 128 scales are [k / 128, lines / 128], 1 x 128 are [lines, k / 128].
    names = {"1x128": "BlockWise1x128", "128x128": "BlockWise128x128"}
    of_a, of_b = (getattr(functional.ScalingType, names[part]) for part in recipe.split("_"))
    v2_a = scale_a.t() if recipe.startswith("128x128") else scale_a
    v2_b = scale_b if recipe.endswith("_128x128") else scale_b.t()
    arguments = (a, b.t(), v2_a, of_a, v2_b, of_b)
    assert torch.equal(ops.scaled_mm_v2(*arguments), ours)
    torch.testing.assert_close(functional.scaled_mm(*arguments), theirs)


@hopper
@no_recipes
def test_recipes_of_scales_that_are_not_of_blocks():
    a, b = normal(64, 256, E4M3, 6), normal(96, 256, E4M3, 7)
    kinds = functional.ScalingType
    for kind, per_row in ((kinds.TensorWise, False), (kinds.RowWise, True)):
        scale_a, scale_b = scales(64, 96, per_row)
        expected = ops.scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)
        c = ops.scaled_mm_v2(a, b.t(), scale_a, kind, [scale_b], [kind], contraction_dim=(1, 0))
        assert torch.equal(c, expected)
        bias = torch.randn(96, device="cuda", dtype=torch.bfloat16)
        c = ops.scaled_mm_v2(a, b.t(), scale_a, kind, scale_b, kind, bias=bias)
        theirs = functional.scaled_mm(a, b.t(), scale_a, kind, scale_b, kind, bias=bias)
        torch.testing.assert_close(c, theirs, rtol=1e-2, atol=0.1)


@no_recipes
def test_recipes_are_refused_with_a_reason():
    kinds, swizzles = functional.ScalingType, functional.SwizzleType
    a, one = torch.zeros(256, 300, dtype=torch.uint8).view(E4M3), torch.ones(())
    rows, squares = torch.ones(3, 256).t(), torch.ones(2, 4).t()

    def refused(*arguments, **more):
        with pytest.raises(RuntimeError) as raised:
            ops.scaled_mm_v2(a, a.t(), *arguments, **more)
        return str(raised.value)

    row, square, tensor = kinds.BlockWise1x128, kinds.BlockWise128x128, kinds.TensorWise
    assert "1x128_128x128 blocks" in refused(rows, row, squares, square)  # no kernel of a CPU
    assert "128x128_1x128 blocks" in refused(squares, square, rows, row)
    assert "1x128_1x128 blocks" in refused(rows, [row], [rows], row, swizzles.NO_SWIZZLE)
    assert " BlockWise128x128 with BlockWise128x128: use one of" in refused(squares, square, squares, square)
    assert "expected scale_b of [4, 2] for BlockWise128x128: got [256, 3]" in refused(rows, row, rows, square)
    assert "expected scale_a of [256, 3] for BlockWise1x128: got [4, 2]" in refused(squares, row, rows, row)
    assert "need SwizzleType.NO_SWIZZLE: got swizzle_a SWIZZLE_32_4_4" in refused(
        rows, row, rows, row, swizzles.SWIZZLE_32_4_4
    )
    assert "need SwizzleType.SWIZZLE_32_4_4: got swizzle_a None" in refused(
        one, kinds.BlockWise1x32, one, kinds.BlockWise1x32
    )
    assert "as many scale_a as recipes, 1: got 2" in refused([rows, rows], row, rows, row)
    assert "scale_a of one element" in refused(rows, tensor, one, tensor)
    assert "scale_b of 256 elements" in refused(rows[:, :1], kinds.RowWise, one, kinds.RowWise)
    for dims in ((0, 1), (3, 0), (1,)):
        assert "contraction_dim" in refused(rows, row, rows, row, contraction_dim=dims)
    with pytest.raises(RuntimeError, match="expected matrices"):
        ops.scaled_mm_v2(a[0], a.t(), one, tensor, one, tensor)
    # Never another recipe than the one that is named.
    mx, nv, swizzle = kinds.BlockWise1x32, kinds.BlockWise1x16, [swizzles.SWIZZLE_32_4_4] * 2
    assert "scale_a of torch.float8_e8m0fnu for BlockWise1x32: got torch.float32" in refused(one, mx, one, mx, *swizzle)
    assert "BlockWise1x16 are of torch.float4_e2m1fn_x2: got torch.float8_e4m3fn" in refused(one, nv, one, nv, *swizzle)
    assert "scale_b of torch.float32 for RowWise" in refused(
        rows[:, :1].reshape(256), kinds.RowWise, torch.ones(256).half(), kinds.RowWise
    )


def test_is_refused_before_it_runs():
    """Meta tensors: torch.compile and torch.export see the refusals and the result type."""
    a, one = torch.zeros(16, 32, dtype=torch.uint8, device="meta").view(E4M3), torch.ones((), device="meta")
    for out_dtype in (None, E4M3, torch.int32):
        assert "out_dtype" in refusal(a, a.t(), one, one, out_dtype=out_dtype)
    assert "expected matrices" in refusal(a[None], a.t()[None], one, one, out_dtype=torch.bfloat16)
    assert torch.ops.pbprobe.scaled_mm(a, a.t(), one, one, out_dtype=torch.float16).shape == (16, 16)


def test_blocks_of_128_are_refused_with_a_reason():
    a = torch.zeros(256, 300, dtype=torch.uint8).view(E4M3)
    rows, squares, bf16 = torch.ones(3, 256).t(), torch.ones(2, 3), {"out_dtype": torch.bfloat16}
    assert "no kernel for m 256, n 256, k 300, nt, e4m3" in refusal(a, a.t(), rows, squares.t(), **bf16)
    assert "1x128_128x128 blocks" in refusal(a, a.t(), rows, squares.t(), **bf16)
    assert "128x128_1x128 blocks" in refusal(a, a.t(), squares, rows.t(), **bf16)
    assert "1x128_1x128 blocks" in refusal(a, a.t(), rows, rows.t(), **bf16)
    assert "only one operand may" in refusal(a, a.t(), squares, squares.t(), **bf16)
    assert "use .float().t().contiguous().t()" in refusal(a, a.t(), rows.contiguous(), rows.t(), **bf16)
    assert "use .float().contiguous()" in refusal(a, a.t(), rows, rows.contiguous().t(), **bf16)
    assert "scale_a must be torch.float32" in refusal(a, a.t(), rows.double(), rows.t(), **bf16)


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
        assert "not one for the whole matrix" in refusal(a, b.t(), one, one, **bf16)


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
    assert " of one type" in refusal(a, a.t(), mx, one, **bf16)
    assert "neighbours along k" in refusal(four, four.t().contiguous(), nv, nv, **bf16)
    assert "go with scales of MX and NVFP4" in refusal(a, a.t(), one, one, tensor_scale_a=one, **bf16)
    with pytest.raises(RuntimeError, match=" of one tensor, or of two"):
        ops.scaled_mm(a, a.t(), [mx, one, one], mx, **bf16)
