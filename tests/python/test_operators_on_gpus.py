# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""torch.ops.pbprobe on a GPU: streams, graphs, TF32, memory."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Failed to initialize NumPy"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU for this torch"),
]


def exact(rows, columns, dtype, device="cuda"):
    """Small integers: every product and sum is exact in all types that hold the result."""
    return torch.randint(-2, 3, (rows, columns), device=device).to(dtype)


@pytest.fixture(autouse=True)
def _same_numbers():
    torch.manual_seed(5)


def test_works_in_the_current_stream():
    a, b = exact(512, 512, torch.bfloat16), exact(512, 512, torch.bfloat16)
    expected = (a.double() @ b.double()).bfloat16()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        late = a.clone()
        torch.cuda._sleep(50_000_000)
        late.mul_(2)
        product = ops.mm(late, b)
    torch.cuda.current_stream().wait_stream(side)
    assert torch.equal(product, (2 * expected.double()).bfloat16())


def test_fp32_is_rounded_to_tf32_only_if_torch_allows_it(monkeypatch):
    a, b = torch.randn(300, 512, device="cuda"), torch.randn(200, 512, device="cuda").t()
    exact = a.double() @ b.double()
    for allowed in (False, True):
        monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", allowed)
        assert ("tf32" in ops.which(a, b)) is allowed
        for c in (ops.mm(a, b), ops.linear(a, b.t())):
            error = ((c.double() - exact).abs().max() / exact.abs().max()).item()
            assert (error > 1e-5) is allowed
            assert error < 2e-3
        with ops.use("gemm_fp32_64x64_" + ops.which(a, b).rsplit("_", 1)[1]):
            assert ((ops.mm(a, b).double() - exact).abs().max() / exact.abs().max()).item() < 1e-5


def test_first_call_of_a_process_can_be_captured():
    code = """
import torch
from pbprobe import ops
a, b = (torch.randint(-2, 3, (256, 256), device="cuda").bfloat16() for _ in range(2))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    c = ops.mm(a, b)
graph.replay()
torch.cuda.synchronize()
assert torch.equal(c, (a.double() @ b.double()).bfloat16())
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_is_captured_in_a_graph():
    a, b = exact(256, 300, torch.float32), exact(300, 128, torch.float32)
    ops.mm(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product = ops.mm(a, b)
    a.copy_(exact(256, 300, torch.float32))
    graph.replay()
    assert torch.equal(product, (a.double() @ b.double()).float())


def test_operands_on_two_devices_are_refused():
    with pytest.raises(RuntimeError, match="same device"):
        ops.mm(torch.ones(2, 2), torch.ones(2, 2, device="cuda"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("turned", [False, True])
def test_computes_rows_of_more_than_two_gigabytes(dtype, turned):
    """2^30 + 4096 elements of a row: their bytes pass 32 bits."""
    size = 2**30 + 4096
    if torch.cuda.mem_get_info()[0] < 12 * size:
        pytest.skip("less than 13 GB free")
    one, long = torch.ones(1, 1, device="cuda", dtype=dtype), torch.ones(1, size, device="cuda", dtype=dtype)
    product = ops.mm(long.t(), one).t() if turned else ops.mm(one, long)
    assert product.shape == (1, size)
    assert int((product != 1).sum()) == 0


def test_refuses_a_row_without_a_gpu_kernel():
    size = 2**30 + 4096
    if torch.cuda.mem_get_info()[0] < 6 * size:
        pytest.skip("less than 7 GB free")
    long = torch.ones(1, size, device="cuda", dtype=torch.float16)
    with pytest.raises(RuntimeError, match="rows of up to 2147482623 bytes"):
        ops.mm(long, long.t())


def test_uses_the_gpu_of_the_tensors():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    a, b = exact(64, 64, torch.float32, "cuda:1"), exact(64, 64, torch.float32, "cuda:1")
    product = ops.mm(a, b)
    assert product.device == a.device and torch.cuda.current_device() == 0
    assert torch.equal(product, (a.double() @ b.double()).float())
