# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""torch.ops.pbprobe in this interpreter's torch: right, and at home in what torch does with operators."""

import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
ops = pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Failed to initialize NumPy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, from its compiler
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),  # 2.15's, in its opcheck
]

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
SHAPES = [
    (1, 1, 1),
    (3, 5, 7),
    (33, 17, 65),
    (64, 64, 64),
    (1, 300, 129),
    (130, 70, 256),
    (0, 4, 3),
    (4, 0, 3),
    (4, 3, 0),
]


def floating_types(device):
    types = [torch.float32, torch.bfloat16]
    return [*types, torch.float16] if device == "cuda" else types


CASES = [(device, dtype) for device in DEVICES for dtype in floating_types(device)]


def exact(rows, columns, dtype, device):
    """Small integers: every product and sum is exact in all types that hold the result."""
    return torch.randint(-2, 3, (rows, columns), device=device).to(dtype)


def integers(rows, columns, device, low=-128):
    return torch.randint(low, low + 256, (rows, columns), device=device).to(torch.int8 if low else torch.uint8)


@pytest.fixture(autouse=True)
def _same_numbers():
    torch.manual_seed(5)


@pytest.mark.parametrize("device, dtype", CASES)
@pytest.mark.parametrize("m, n, k", SHAPES)
def test_mm_is_right_in_all_layouts(device, dtype, m, n, k):
    a, b = exact(m, k, dtype, device), exact(k, n, dtype, device)
    expected = (a.double() @ b.double()).to(dtype)
    for left in (a, a.t().contiguous().t(), torch.empty(m, 2 * k, dtype=dtype, device=device)[:, ::2].copy_(a)):
        for right in (b, b.t().contiguous().t()):
            assert torch.equal(ops.mm(left, right), expected)


@pytest.mark.parametrize("device, dtype", CASES)
def test_mm_multiplies_batches(device, dtype):
    a = torch.stack([exact(5, 9, dtype, device) for _ in range(3)])
    b = torch.stack([exact(9, 4, dtype, device) for _ in range(3)])
    expected = (a.double() @ b.double()).to(dtype)
    assert torch.equal(ops.mm(a, b), expected)
    assert torch.equal(ops.mm(a.transpose(0, 1).contiguous().transpose(0, 1), b), expected)
    assert ops.mm(a[:0], b[:0]).shape == (0, 5, 4)


@pytest.mark.parametrize("device, dtype", CASES)
@pytest.mark.parametrize("shape", [(64,), (9, 64), (2, 3, 64), (2, 0, 64), (2, 3, 4, 64)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_is_right_for_any_leading_dimensions(device, dtype, shape, with_bias):
    x = torch.randint(-2, 3, shape, device=device).to(dtype)
    weight, bias = exact(32, 64, dtype, device), exact(1, 32, dtype, device)[0] if with_bias else None
    expected = x.double() @ weight.double().t() + (bias.double() if with_bias else 0)
    y = ops.linear(x, weight, bias)
    assert y.shape == (*shape[:-1], 32)
    assert torch.equal(y, expected.to(dtype))


@pytest.mark.parametrize("device, dtype", CASES)
def test_random_values_stay_within_the_rounding_of_the_type(device, dtype):
    a, b = torch.randn(200, 300, device=device).to(dtype), torch.randn(300, 100, device=device).to(dtype)
    expected = a.double() @ b.double()
    scale = a.double().abs() @ b.double().abs()
    bound = 300 * 2.0**-24 * scale + torch.finfo(dtype).eps * expected.abs()
    assert ((ops.mm(a, b).double() - expected).abs() <= bound).all()


@pytest.mark.parametrize("device, low", [("cpu", -128), ("cpu", 0), *((device, -128) for device in DEVICES[1:])])
@pytest.mark.parametrize("m, n, k", SHAPES)
def test_int_mm_is_exact(device, low, m, n, k):
    a, b = integers(m, k, device, low), integers(k, n, device)
    expected = (a.cpu().long() @ b.cpu().long()).int()
    assert torch.equal(ops.int_mm(a, b).cpu(), expected)
    assert torch.equal(ops.int_mm(a, b.t().contiguous().t()).cpu(), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scaled_int_mm_scales_rows_and_columns(device, dtype):
    a, b = integers(20, 64, device), integers(64, 24, device)
    scale_a = 2.0 ** torch.randint(-4, 4, (20, 1), device=device)
    scale_b = 2.0 ** torch.randint(-4, 4, (1, 24), device=device)
    expected = ((a.cpu().double() @ b.cpu().double()) * scale_a.cpu() * scale_b.cpu()).to(dtype)
    assert torch.equal(ops.scaled_int_mm(a, b, scale_a, scale_b, dtype).cpu(), expected)
    assert torch.equal(ops.scaled_int_mm(a, b, scale_a[:, 0], scale_b[0], dtype).cpu(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_opcheck_passes_for_every_operator(device):
    a, b = torch.randn(6, 8, device=device, requires_grad=True), torch.randn(8, 4, device=device, requires_grad=True)
    weight = torch.randn(4, 8, device=device, requires_grad=True)
    bias = torch.randn(4, device=device, requires_grad=True)
    whole, other = integers(6, 8, device), integers(8, 4, device)
    scales = torch.rand(6, device=device), torch.rand(4, device=device)
    for operator, arguments in [
        (torch.ops.pbprobe.mm, (a, b)),
        (torch.ops.pbprobe.linear, (a, weight, bias)),
        (torch.ops.pbprobe.linear, (a, weight)),
        (torch.ops.pbprobe.int_mm, (whole, other)),
        (torch.ops.pbprobe.scaled_int_mm, (whole, other, *scales, torch.bfloat16)),
    ]:
        results = torch.library.opcheck(operator.default, arguments)
        assert set(results.values()) == {"SUCCESS"}


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_those_of_torch(device):
    def gradients(mm, linear):
        torch.manual_seed(7)
        x = torch.randn(2, 3, 8, device=device, requires_grad=True)
        weight = torch.randn(5, 8, device=device, requires_grad=True)
        bias = torch.randn(5, device=device, requires_grad=True)
        b = torch.randn(2, 5, 4, device=device, requires_grad=True)
        mm(linear(x, weight, bias), b).square().sum().backward()
        return [tensor.grad for tensor in (x, weight, bias, b)]

    theirs = gradients(torch.bmm, torch.nn.functional.linear)
    for ours, reference in zip(gradients(ops.mm, ops.linear), theirs, strict=True):
        torch.testing.assert_close(ours, reference, rtol=1e-5, atol=1e-4)  # sums in another order


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows, n, k", [(3, 0, 4), (3, 5, 0), (0, 5, 4), (0, 0, 0), (3, 0, 0)])
def test_gradients_of_empty_layers_are_those_of_torch(device, rows, n, k):
    def gradients(linear):
        x = torch.ones(2, rows, k, device=device, requires_grad=True)
        weight = torch.ones(n, k, device=device, requires_grad=True)
        bias = torch.ones(n, device=device, requires_grad=True)
        linear(x, weight, bias).sum().backward()
        return [tensor.grad for tensor in (x, weight, bias)]

    for ours, theirs in zip(gradients(ops.linear), gradients(torch.nn.functional.linear), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("needs_x, needs_weight", [(True, True), (True, False), (False, True), (False, False)])
def test_keeps_only_tensors_for_the_gradient(needs_x, needs_weight):
    x = torch.randn(6, 8, requires_grad=needs_x)
    weight = torch.randn(4, 8, requires_grad=needs_weight)
    bias = torch.randn(4, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(tuple(t.shape)) or t, lambda t: t):
        y = ops.linear(x, weight, bias)
    assert sorted(kept) == sorted([(6, 8)] * needs_weight + [(4, 8)] * needs_x)
    if not needs_x:
        with torch.no_grad():
            weight.mul_(2)  # no gradient asks for it
    y.sum().backward()
    assert torch.equal(bias.grad, torch.full((4,), 6.0))
    if needs_weight:
        torch.testing.assert_close(weight.grad, x.sum(0).expand(4, 8))


def test_works_in_graphs_of_torch_compile_and_export():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(16, 8)

        def forward(self, x):
            return torch.relu(ops.linear(x, self.inner.weight, self.inner.bias))

    layer, x = Layer(), torch.randn(5, 16)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    exported = torch.export.export(layer, (x,)).module()
    for run in (compiled, exported):
        assert torch.equal(run(x), layer(x))
    with torch.inference_mode():
        assert torch.equal(compiled(x), layer(x))


@pytest.mark.parametrize("strict", [True, False])
def test_exported_graphs_can_be_trained(strict):
    """Also if they were exported without gradients: no guard exports them again."""

    class Layer(torch.nn.Module):
        def forward(self, x, weight):
            return ops.linear(x, weight)

    x, weight = torch.randn(4, 8), torch.randn(4, 8)
    with torch.no_grad():
        exported = torch.export.export(Layer(), (x, weight), strict=strict).module()
    weight.requires_grad_()
    exported(x, weight).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(0).expand(4, 8))


def test_results_repeat_bit_for_bit_with_deterministic_algorithms():
    a, b = torch.randn(300, 500), torch.randn(500, 200)
    torch.use_deterministic_algorithms(True)
    try:
        first = ops.mm(a, b)
        assert all(torch.equal(first, ops.mm(a, b)) for _ in range(3))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (
            lambda: ops.mm(torch.ones(2, 3), torch.ones(4, 5)),
            r"cannot be multiplied: \[2, 3\] torch.float32 and \[4, 5\]",
        ),
        (lambda: ops.mm(torch.ones(2, 3), torch.ones(3, 4).double()), r"and \[3, 4\] torch.float64"),
        (lambda: ops.mm(torch.ones(3), torch.ones(3, 4)), "expected two matrices, or two batches"),
        (lambda: ops.mm(torch.ones(2, 2, 3), torch.ones(3, 3, 4)), "expected two matrices, or two batches"),
        (lambda: ops.mm(torch.ones(2, 3).half(), torch.ones(3, 4).half()), "no kernel for .*fp16"),
        (lambda: ops.int_mm(torch.ones(2, 3), torch.ones(3, 4)), "expected a of torch.int8 or torch.uint8"),
        (lambda: ops.linear(torch.ones(2, 3), torch.ones(4, 5)), r"expected x \[..., k\] and weight \[n, k\]"),
        (lambda: ops.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(5)), r"expected bias \[4\] torch.float32"),
        (
            lambda: ops.scaled_int_mm(
                torch.ones(2, 3).char(), torch.ones(3, 4).char(), torch.ones(3), torch.ones(4), torch.float32
            ),
            "expected scale_a of 2 elements",
        ),
        (
            lambda: ops.scaled_int_mm(
                torch.ones(2, 3).char(), torch.ones(3, 4).char(), torch.ones(2), torch.ones(4), torch.int32
            ),
            "expected out_dtype",
        ),
    ],
)
def test_bad_input_is_refused_with_shapes_and_types(call, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        call()


def test_scaled_int_mm_is_right_where_int32_would_wrap():
    """-128 · -128 leaves INT32 from k = 131072 on, 255 · -128 from 65794 on."""
    for k, low, value in [(131072, -128, -128), (300001, -128, -128), (65794, 0, 255)]:
        a = torch.full((2, k), value, dtype=torch.int8 if low else torch.uint8)
        b = torch.full((k, 3), -128, dtype=torch.int8)
        scales = torch.tensor([1.0, 0.5]), torch.tensor([1.0, 2.0, 4.0])
        expected = scales[0][:, None].double() * scales[1][None, :].double() * (k * value * -128)
        for right in (b, b.t().contiguous().t()):
            for dtype in (torch.float32, torch.bfloat16):
                got = ops.scaled_int_mm(a, right, *scales, dtype)
                assert got.dtype == dtype
                torch.testing.assert_close(got.double(), expected, rtol=torch.finfo(dtype).eps, atol=0)


def test_int_mm_wraps_as_torch_does():
    a, b = torch.full((17, 131072), -128, dtype=torch.int8), torch.full((131072, 8), -128, dtype=torch.int8)
    assert torch.equal(ops.int_mm(a, b), torch.full((17, 8), -(2**31), dtype=torch.int32))
    assert torch.equal(ops.int_mm(a, b), torch._int_mm(a, b))


def test_keeps_no_memory_of_tensors():
    a, b = torch.ones(2, 2), torch.ones(2, 2)

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(2000):
        ops.which(a, b)
    before = resident()
    for _ in range(40_000):
        ops.which(a, b)
    assert resident() - before < 1 << 20  # a string through the stable ABI left 78 bytes a call: 3 MB


def fill_result(device):  # 256 TiB: less is given where memory is overcommitted
    ops.mm(torch.ones(1 << 23, 1, device=device), torch.ones(1, 1 << 23, device=device))


def fill_copy(device):  # as much, of an operand whose strides no kernel reads
    ops.linear(torch.ones(1, device=device).expand(1 << 26, 1 << 20), torch.ones(1, 1 << 20, device=device))


@pytest.mark.parametrize("asked", [fill_result, fill_copy])
def test_raises_the_error_of_torch_for_a_failed_allocation(asked):
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory: you tried to") as caught:
        asked("cpu")
    assert len(str(caught.value).splitlines()) < 5
    assert "API call failed" not in str(caught.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: the GPU allocator raises torch.OutOfMemoryError")
def test_raises_the_error_of_torch_for_a_failed_gpu_allocation():
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        fill_result("cuda")
    assert torch.equal(ops.mm(torch.ones(2, 2, device="cuda"), torch.eye(2, device="cuda")).cpu(), torch.ones(2, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_is_right_or_out_of_memory_on_a_full_gpu():
    """Room for less and less, so that each allocation of a call fails in its turn: results, copies, workspaces."""
    shapes = [(33, 4097, 65), (1, 8193, 4099), (512, 3000, 1023), (130, 130, 20011)]
    total = torch.cuda.get_device_properties(0).total_memory
    outcomes = {"right": 0, "out of memory": 0}
    for m, n, k in shapes:
        a, b = exact(m, k, torch.bfloat16, "cuda"), exact(n, k, torch.bfloat16, "cuda").t()
        expected = (a.float() @ b.float()).bfloat16()
        step = max(expected.nbytes, a.nbytes, b.nbytes) // 16
        for room in range(48):
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room * step) / total)
            try:
                assert torch.equal(ops.mm(a, b), expected)
                outcomes["right"] += 1
            except torch.OutOfMemoryError:
                outcomes["out of memory"] += 1
            finally:
                torch.cuda.set_per_process_memory_fraction(1.0)
        assert torch.equal(ops.mm(a, b), expected)
    assert min(outcomes.values()) > 20, outcomes


def test_names_no_folder_of_the_machine_that_built_it(build):
    """In debugging information neither."""
    package = build / "python" / "pbprobe"
    shipped = [build / "bin" / "pbprobe", *package.glob("*.so"), *(build / "lib").glob("*.so*")]
    assert len(shipped) >= 3
    folders = [str(Path(torch.__file__).parent / "include"), f"{Path(__file__).resolve().parents[2]}/"]
    named = [(file.name, folder) for file in shipped for folder in folders if folder.encode() in file.read_bytes()]
    assert named == []


def test_names_the_kernel_by_which_and_forces_it_by_use():
    a, b = torch.randn(40, 50), torch.randn(50, 60)
    chosen = ops.which(a, b)
    forced = {"x86_64": "gemm_fp32_5x16_avx", "aarch64": "gemm_fp32_8x12_armv8_2"}[platform.machine()]
    with ops.use(forced):
        assert ops.which(a, b) == forced
        torch.testing.assert_close(ops.mm(a, b), a @ b)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(ops.which(a, b)))
        thread.start()
        thread.join()
        assert seen == [chosen]
        with pytest.raises(RuntimeError, match=forced):
            ops.int_mm(integers(4, 4, "cpu"), integers(4, 4, "cpu"))
    assert ops.which(a, b) == chosen
    with pytest.raises(ValueError, match='unknown kernel "nothing"'), ops.use("nothing"):
        pass
    with ops.use(forced):
        for cut in ((-1, (1, 1)), (1, (0, 1)), (1, (1, -2)), (1, (1, 2**60))):
            with pytest.raises(ValueError, match=r"and cluster=\("), ops.use(forced, *cut):
                pytest.fail("it is no cut of a kernel")
        assert ops.which(torch.ones(2, 3), torch.ones(3, 2)) == forced
        with pytest.raises(ValueError, match="empty"), ops.use(""):
            pass
        assert ops.which(a, b) == forced


CALIBRATED = """
import torch
from pbprobe import ops
a, b = torch.randn(300, 200).bfloat16(), torch.randn(200, 100).bfloat16()
before = ops.which(a, b)
rates = ops.calibrate()
assert rates and all(name.startswith("peak_") and 0.1 < rate < 1e5 for name, rate in rates.items()), rates
after = ops.which(a, b)
with ops.use(after):
    forced = ops.mm(a, b)
assert torch.equal(ops.mm(a, b), forced)
assert torch.allclose(forced.float(), a.float() @ b.float(), rtol=0.02, atol=0.2)
print(before, after, rates)
"""


def test_calibrate_takes_the_fastest_path_from_then_on():
    """In a process of its own: the other tests are to see the table's order."""
    done = subprocess.run([sys.executable, "-c", CALIBRATED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_needs_nothing_but_libtorch_cpu_and_libc(build):
    reported = subprocess.run(
        ["readelf", "-dW", build / "python" / "pbprobe" / "libpbprobe_ops.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in reported.splitlines() if "(NEEDED)" in line}
    allowed = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libdl.so.2", "libpthread.so.0"}
    loader = {name for name in needed if name.startswith("ld-linux")}
    # Before 2.10 torch's types are C++ types of libc10.
    stable = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 10)
    assert needed - allowed - loader == ({"libtorch_cpu.so"} if stable else {"libtorch_cpu.so", "libc10.so"})
    assert "RPATH" not in reported and "RUNPATH" not in reported


def test_plans_are_kept_by_all_that_they_depend_on():
    a, b = exact(40, 56, torch.float32, "cpu"), exact(56, 24, torch.float32, "cpu")
    narrow = b.repeat(1, 2)[:, :24]  # the same shape, with other strides
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 1):
            torch.set_num_threads(count)
            for other in (b, narrow, b.t().contiguous().t()):
                assert torch.equal(ops.mm(a, other), a @ other)
            assert torch.equal(ops.linear(a, b.t(), torch.ones(24)), a @ b + 1)
            assert torch.equal(ops.linear(a, b.t()), a @ b)
    finally:
        torch.set_num_threads(threads)


def test_who_looks_at_operators_sees_them():
    """Without a requested gradient, only autograd is skipped."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Listing(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    a, b = torch.randn(4, 5), torch.randn(5, 6)
    with Listing():
        ops.mm(a, b)
        ops.linear(a, b.t())
    assert seen[0] == "pbprobe.mm.default" and seen[-1] == "pbprobe.linear.default"
