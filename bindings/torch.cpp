// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// torch.ops.pbprobe: our kernels as operators of torch, on CPU and CUDA.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/torch_operators.hpp"
#include "bindings/torch_tensors.hpp"

namespace pbprobe::ops {
namespace {

// Operands of a GEMM besides A and B: FP32, contiguous, on the same device.
struct Extras {
  std::optional<Bias> bias;
  std::optional<Tensor> scale_a;
  std::optional<Tensor> scale_b;
  std::optional<Tensor> blocks_a;
  std::optional<Tensor> blocks_b;
  Gemm options;  // without matrices and flags of the operands above
};

const float* get_floats(const std::optional<Tensor>& vector) {
  return vector ? static_cast<const float*>(vector->data_ptr()) : nullptr;
}

const void* get_data(const std::optional<Tensor>& vector) {
  return vector ? vector->data_ptr() : nullptr;
}

// Computes C = A · B into `c`, which is contiguous, on that GPU or on the CPU.
void multiply(const char* operation, const Matrix& a, const Matrix& b, void* c, DType c_type, const Extras& extras,
              std::optional<int32_t> gpu) {
  const Place place = get_place(gpu);
  Gemm gemm = extras.options;
  gemm.a = a;
  gemm.b = b;
  gemm.c = c_type;
  gemm.bias = extras.bias.has_value();
  gemm.scale_a = extras.scale_a.has_value();
  gemm.scale_b = extras.scale_b.has_value();
  const Slices& slices = *unwrap(plan_gemm(gemm, place), operation);
  const Workspace workspace(workspace_bytes(slices), gpu);
  const Operands operands{.a = a.data,
                          .b = b.data,
                          .c = c,
                          .bias = extras.bias ? extras.bias->data : nullptr,
                          .scale_a = get_floats(extras.scale_a),
                          .scale_b = get_floats(extras.scale_b),
                          .blocks_a = get_data(extras.blocks_a),
                          .blocks_b = get_data(extras.blocks_b)};
  void* const stream = gpu ? current_stream(*gpu) : nullptr;
  const auto done = run_gemm(slices, operands, place, workspace.data(), stream, torch_threads());
  if (!done.ok()) fail("pbprobe::{}: {}", operation, done.error().message);
}

void check_devices(const char* operation, const TensorView& a, const TensorView& b, const char* name) {
  if (a.gpu != b.gpu)
    fail(
        "pbprobe::{}: expected all tensors to be on the same device, but {} is on another device than the first tensor",
        operation, name);
}

void check_shapes(const char* operation, const TensorView& a, const TensorView& b) {
  const bool batches = a.sizes.size() == 3 && b.sizes.size() == 3 && a.sizes[0] == b.sizes[0];
  if (!batches && (a.sizes.size() != 2 || b.sizes.size() != 2))
    fail("pbprobe::{}: expected two matrices, or two batches with the same number of matrices: got {} and {}",
         operation, describe(a), describe(b));
  if (a.sizes.back() != b.sizes[b.sizes.size() - 2])
    fail("pbprobe::{}: a and b cannot be multiplied: {} and {}", operation, describe(a), describe(b));
  check_devices(operation, a, b, "b");
}

bool is_floating(ScalarType type) {
  return type == ScalarType::Float || type == ScalarType::BFloat16 || type == ScalarType::Half;
}

void check_floating(const char* operation, const TensorView& a, const TensorView& b) {
  if (!is_floating(a.type) || a.type != b.type)
    fail("pbprobe::{}: expected both to be torch.float32, torch.bfloat16 or torch.float16, and the same: got {} and {}",
         operation, describe(a), describe(b));
}

void check_integers(const char* operation, const TensorView& a, const TensorView& b) {
  if ((a.type != ScalarType::Char && a.type != ScalarType::Byte) || b.type != ScalarType::Char)
    fail("pbprobe::{}: expected a of torch.int8 or torch.uint8 and b of torch.int8: got {} and {}", operation,
         describe(a), describe(b));
}

Tensor gemm_of(const char* operation, const TensorView& a, const TensorView& b, ScalarType type,
               const Extras& extras = {}) {
  const ReadableMatrices left(a);
  const ReadableMatrices right(b);
  std::array<int64_t, 3> sizes{};
  std::copy(a.sizes.begin(), a.sizes.end(), sizes.begin());
  const size_t dims = a.sizes.size();
  sizes[dims - 1] = b.sizes.back();
  Tensor c = torch_abi::empty(std::span(sizes).first(dims), type, a.gpu);
  const DType c_type = *convert_dtype(type);
  const int64_t batches = dims == 3 ? sizes[0] : 1;
  const int64_t bytes = sizes[dims - 2] * sizes[dims - 1] * size_of(c_type);
  for (int64_t i = 0; i < batches; ++i)
    multiply(operation, left.get(i), right.get(i), static_cast<std::byte*>(c.data_ptr()) + i * bytes, c_type, extras,
             a.gpu);
  return c;
}

}  // namespace

Tensor mm(const TensorView& a, const TensorView& b) {
  check_shapes("mm", a, b);
  check_floating("mm", a, b);
  return gemm_of("mm", a, b, a.type, {.options = {.tf32 = may_round_to_tf32(a)}});
}

Tensor linear(const TensorView& x, const TensorView& weight, const TensorView* bias) {
  if (x.sizes.empty() || weight.sizes.size() != 2 || x.sizes.back() != weight.sizes[1])
    fail("pbprobe::linear: expected x [..., k] and weight [n, k]: got {} and {}", describe(x), describe(weight));
  check_floating("linear", x, weight);
  check_devices("linear", x, weight, "weight");
  Extras extras{.options = {.tf32 = may_round_to_tf32(x)}};
  const int64_t n = weight.sizes[0];
  if (bias != nullptr) {
    if (bias->sizes.size() != 1 || bias->sizes[0] != n || bias->type != x.type)
      fail("pbprobe::linear: expected bias [{}] {}: got {}", n, get_type_name(x.type), describe(*bias));
    check_devices("linear", x, *bias, "bias");
    extras.bias.emplace(*bias);
  }
  const FlatRows rows(x);
  const ReadableMatrices left(rows.view());
  const ReadableMatrices right(weight);
  std::vector<int64_t> sizes(x.sizes.begin(), x.sizes.end());
  sizes.back() = n;
  Tensor y = torch_abi::empty(sizes, x.type, x.gpu);
  multiply("linear", left.get(), right.get().transposed(), y.data_ptr(), *convert_dtype(x.type), extras, x.gpu);
  return y;
}

Tensor int_mm(const TensorView& a, const TensorView& b) {
  check_shapes("int_mm", a, b);
  check_integers("int_mm", a, b);
  return gemm_of("int_mm", a, b, ScalarType::Int);
}

namespace {

// The dispatcher calls these operators.
Tensor mm_operator(const Tensor& a, const Tensor& b) {
  return mm(a, b);
}
Tensor linear_operator(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (!bias) return linear(x, weight, nullptr);
  const TensorView view(*bias);
  return linear(x, weight, &view);
}
Tensor int_mm_operator(const Tensor& a, const Tensor& b) {
  return int_mm(a, b);
}

Tensor prepare_scale(const char* operation, const char* name, const Tensor& scale, int64_t count, const Tensor& a) {
  const int64_t elements = scale.numel();
  if (elements != count || torch_abi::get_type(scale) != ScalarType::Float)
    fail("pbprobe::{}: expected {} of {} elements of torch.float32: got {}", operation, name, count, describe(scale));
  check_devices(operation, a, scale, name);
  return torch_abi::contiguous(torch_abi::reshape(scale, {count}));
}

// Returns the longest k for which no sum can exceed INT32, with the largest |a| · |b|.
int64_t exact_k(ScalarType a) {
  const int64_t most = a == ScalarType::Byte ? 255 * 128 : 128 * 128;
  return INT32_MAX / most;
}

// Computes gemm_of() for a longer k: FP32 results of slices of k, added by an FP32 GEMM with ones.
Tensor scaled_sum_of_parts(const Tensor& a, const Tensor& b, ScalarType type, const Extras& extras) {
  constexpr const char* kOperation = "scaled_int_mm";
  const int64_t most = exact_k(torch_abi::get_type(a));
  const int64_t k = a.size(1);
  const int64_t parts = (k + most - 1) / most;
  const int64_t elements = a.size(0) * b.size(1);
  const std::optional<int32_t> gpu = torch_abi::get_gpu(a);
  const ReadableMatrices left(a);
  const ReadableMatrices right(b);
  const Tensor sums = torch_abi::empty(std::array{parts, elements}, ScalarType::Float, gpu);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = i * most;
    const int64_t depth = std::min(most, k - first);
    auto* const c = static_cast<float*>(sums.data_ptr()) + i * elements;
    multiply(kOperation, left.get().slice_columns(first, depth),
             right.get().transposed().slice_columns(first, depth).transposed(), c, DType::fp32, extras, gpu);
  }
  const Tensor ones = torch_abi::fill(torch_abi::empty(std::array{int64_t{1}, parts}, ScalarType::Float, gpu), 1);
  Tensor c = torch_abi::empty(std::array{a.size(0), b.size(1)}, type, gpu);
  multiply(kOperation, ReadableMatrices(ones).get(), ReadableMatrices(sums).get(), c.data_ptr(), *convert_dtype(type),
           {}, gpu);
  return c;
}

// scale_a[i] · scale_b[j] · Σ a[i,k] · b[k,j]; scales may also be [m,1] and [1,n].
Tensor scaled_int_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                     ScalarType out_dtype) {
  check_shapes("scaled_int_mm", a, b);
  if (a.dim() != 2) fail("pbprobe::scaled_int_mm: expected matrices: got {} and {}", describe(a), describe(b));
  check_integers("scaled_int_mm", a, b);
  if (!is_floating(out_dtype))
    fail("pbprobe::scaled_int_mm: expected out_dtype torch.bfloat16, torch.float16 or torch.float32: got {}",
         get_type_name(out_dtype));
  Extras extras;
  extras.scale_a = prepare_scale("scaled_int_mm", "scale_a", scale_a, a.size(0), a);
  extras.scale_b = prepare_scale("scaled_int_mm", "scale_b", scale_b, b.size(1), a);
  if (a.size(1) > exact_k(torch_abi::get_type(a))) return scaled_sum_of_parts(a, b, out_dtype, extras);
  return gemm_of("scaled_int_mm", a, b, out_dtype, extras);
}

bool is_fp8(ScalarType type) {
  const auto known = convert_dtype(type);
  return known && pbprobe::is_fp8(*known);
}

void check_fp8(const char* operation, const Tensor& a, const Tensor& b) {
  const bool known = is_fp8(torch_abi::get_type(a)) || torch_abi::get_type(a) == kE2m1x2;
  if (!known || torch_abi::get_type(a) != torch_abi::get_type(b))
    fail(
        "pbprobe::{}: expected both to be torch.float8_e4m3fn, torch.float8_e5m2 or torch.float4_e2m1fn_x2, and the "
        "same: got {} and {}",
        operation, describe(a), describe(b));
}

// Returns the block scales that the scales' type implies, as torch._scaled_mm interprets it.
BlockScale choose_block_scale(const Tensor& a, const Tensor& scale_a, const Tensor& scale_b) {
  const ScalarType type = torch_abi::get_type(scale_a);
  const bool fp4 = torch_abi::get_type(a) == kE2m1x2;
  const BlockScale blocks = type == kE8m0                              ? BlockScale::mx
                            : fp4 && type == ScalarType::Float8_e4m3fn ? BlockScale::nvfp4
                                                                       : BlockScale::none;
  if (fp4 && blocks == BlockScale::none)
    fail(
        "pbprobe::scaled_mm: torch.float4_e2m1fn_x2 takes scales of blocks, torch.float8_e4m3fn (of 16: NVFP4) or "
        "torch.float8_e8m0fnu (of 32: MX): got scale_a {}",
        describe(scale_a));
  if (blocks != BlockScale::none && torch_abi::get_type(scale_b) != type)
    fail("pbprobe::scaled_mm: expected block scales of one type: got scale_a {} and scale_b {}", describe(scale_a),
         describe(scale_b));
  return blocks;
}

// Scales of blocks, padded and swizzled as torch's SWIZZLE_32_4_4 has them.
Tensor prepare_block_scales(const char* name, const Tensor& scale, const Problem& problem, int64_t lines,
                            const Tensor& a) {
  const int64_t count = block_scale_bytes(problem, lines);
  if (scale.numel() != count)
    fail(
        "pbprobe::scaled_mm: expected {} of {} elements, for {} blocks of {} rows or columns, padded to 128 x 4 and "
        "swizzled (SwizzleType.SWIZZLE_32_4_4): got {}",
        name, count, blocks_along_k(problem), lines, describe(scale));
  check_devices("scaled_mm", a, scale, name);
  return torch_abi::contiguous(torch_abi::reshape(scale, {count}));
}

// Returns FP32 block scales of 128 along k by their sizes, as torch._scaled_mm does: for A [m, k / 128] or [m / 128, k
// / 128], for B [k / 128, n] or [k / 128, n / 128], rounded up. Returns `none` for other scales.
BlockScale choose_fp32_block_scale(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b) {
  const auto sizes = [](const Tensor& scale, int64_t rows, int64_t columns) {
    return scale.size(0) == rows && scale.size(1) == columns;
  };
  const auto up = [](int64_t size) { return (size + 127) / 128; };
  if (!is_fp8(torch_abi::get_type(a)) || scale_a.dim() != 2 || scale_b.dim() != 2) return BlockScale::none;
  const int64_t m = a.size(0);
  const int64_t n = b.size(1);
  const int64_t along = up(a.size(1));
  if (sizes(scale_a, m, 1) && sizes(scale_b, 1, n)) return BlockScale::none;  // a scale of each row
  if (scale_a.numel() == 1 && scale_b.numel() == 1) return BlockScale::none;  // one of each tensor
  const bool rows_a = sizes(scale_a, m, along);
  const bool rows_b = sizes(scale_b, along, n);
  const bool squares_a = sizes(scale_a, up(m), along);
  const bool squares_b = sizes(scale_b, along, up(n));
  if (rows_a && squares_b) return BlockScale::rows_squares;
  if (rows_a && rows_b) return BlockScale::rows_rows;
  if (squares_a && rows_b) return BlockScale::squares_rows;
  if (squares_a && squares_b)
    fail(
        "pbprobe::scaled_mm: only one operand may have scales of 128 x 128 blocks (scale_a {}, scale_b {}): give "
        "a scale of 1 x 128 for the other, scale_a [{}, {}] or scale_b [{}, {}]",
        describe(scale_a), describe(scale_b), m, along, along, n);
  return BlockScale::none;
}

// Returns the number of floats between stored rows of the scales. Requires adjacent neighbours along dimension `near`,
// as torch does.
int64_t get_scale_stride(const char* name, const Tensor& scale, int64_t near, const Tensor& a) {
  const int64_t far = 1 - near;
  const int64_t least = std::max<int64_t>(scale.size(near), 1);
  const bool together = scale.size(near) <= 1 || scale.stride(near) == 1;
  if (torch_abi::get_type(scale) != ScalarType::Float || !together ||
      (scale.size(far) > 1 && scale.stride(far) < least))
    fail(
        "pbprobe::scaled_mm: {} must be torch.float32, with stride 1 along dimension {} and rows that do not overlap: "
        "got {} with strides [{}, {}]: {}",
        name, near, describe(scale), scale.stride(0), scale.stride(1),
        near == 0 ? "use .float().t().contiguous().t()" : "use .float().contiguous()");
  check_devices("scaled_mm", a, scale, name);
  return scale.size(far) > 1 ? scale.stride(far) : least;
}

void add_fp32_blocks(Extras& extras, const Tensor& a, const Tensor& scale_a, const Tensor& scale_b) {
  extras.options.blocks_lda =
      get_scale_stride("scale_a", scale_a, extras.options.blocks == BlockScale::squares_rows ? 1 : 0, a);
  extras.options.blocks_ldb =
      get_scale_stride("scale_b", scale_b, extras.options.blocks == BlockScale::rows_squares ? 0 : 1, a);
  extras.blocks_a = scale_a;
  extras.blocks_b = scale_b;
}

void add_block_scales(Extras& extras, const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                      const std::optional<Tensor>& tensor_scale_a, const std::optional<Tensor>& tensor_scale_b) {
  constexpr const char* kOperation = "scaled_mm";
  if (torch_abi::get_type(a) == kE2m1x2 && (a.stride(1) != 1 || b.stride(0) != 1))
    fail(
        "pbprobe::scaled_mm: two numbers of torch.float4_e2m1fn_x2 are neighbours along k: give a by rows and b as "
        "b.t()");
  Problem problem;
  problem.a = *convert_dtype(torch_abi::get_type(a));
  problem.k = a.size(1);
  problem.blocks = extras.options.blocks;
  extras.blocks_a = prepare_block_scales("scale_a", scale_a, problem, a.size(0), a);
  extras.blocks_b = prepare_block_scales("scale_b", scale_b, problem, b.size(1), a);
  if (tensor_scale_a) extras.scale_a = prepare_scale(kOperation, "tensor_scale_a", *tensor_scale_a, 1, a);
  if (tensor_scale_b) extras.scale_b = prepare_scale(kOperation, "tensor_scale_b", *tensor_scale_b, 1, a);
  extras.options.per_tensor = tensor_scale_a || tensor_scale_b;
}

// Reads the scales of scaled_mm(): one each, one of each row (scale_a [m,1]) and column (scale_b [1,n]), or one of each
// block along k; scales of MX and NVFP4 may have tensor_scale_a and tensor_scale_b besides.
Extras make_scale_extras(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                         const std::optional<Tensor>& tensor_scale_a, const std::optional<Tensor>& tensor_scale_b) {
  constexpr const char* kOperation = "scaled_mm";
  Extras extras;
  extras.options.blocks = choose_block_scale(a, scale_a, scale_b);
  if (extras.options.blocks == BlockScale::none && !tensor_scale_a && !tensor_scale_b)
    extras.options.blocks = choose_fp32_block_scale(a, b, scale_a, scale_b);
  if (are_fp32(extras.options.blocks)) {
    add_fp32_blocks(extras, a, scale_a, scale_b);
  } else if (extras.options.blocks != BlockScale::none) {
    add_block_scales(extras, a, b, scale_a, scale_b, tensor_scale_a, tensor_scale_b);
  } else {
    if (tensor_scale_a || tensor_scale_b)
      fail("pbprobe::scaled_mm: tensor_scale_a and tensor_scale_b go with scales of MX and NVFP4: got scale_a {}",
           describe(scale_a));
    extras.options.per_tensor = scale_a.numel() == 1 && scale_b.numel() == 1;
    extras.scale_a = prepare_scale(kOperation, "scale_a", scale_a, extras.options.per_tensor ? 1 : a.size(0), a);
    extras.scale_b = prepare_scale(kOperation, "scale_b", scale_b, extras.options.per_tensor ? 1 : b.size(1), a);
  }
  return extras;
}

// scale_a · scale_b · Σ a[i,k] · b[k,j] + bias[j]. As torch._scaled_mm.
Tensor scaled_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                 const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result,
                 std::optional<ScalarType> out_dtype, bool use_fast_accum, const std::optional<Tensor>& tensor_scale_a,
                 const std::optional<Tensor>& tensor_scale_b) {
  constexpr const char* kOperation = "scaled_mm";
  check_shapes(kOperation, a, b);
  if (a.dim() != 2) fail("pbprobe::scaled_mm: expected matrices: got {} and {}", describe(a), describe(b));
  check_fp8(kOperation, a, b);
  if (!out_dtype || !is_floating(*out_dtype))
    fail("pbprobe::scaled_mm: expected out_dtype torch.bfloat16, torch.float16 or torch.float32: got {}",
         out_dtype ? get_type_name(*out_dtype)
                   : "none, which asks for a result of " + get_type_name(torch_abi::get_type(a)));
  if (scale_result)
    fail("pbprobe::scaled_mm: scale_result is for results of FP8, and this one is {}", get_type_name(*out_dtype));
  Extras extras = make_scale_extras(a, b, scale_a, scale_b, tensor_scale_a, tensor_scale_b);
  extras.options.fast_sums = use_fast_accum && extras.options.blocks == BlockScale::none;
  if (bias) {
    const int64_t n = b.size(1);
    if (bias->dim() != 1 || bias->size(0) != n || !is_floating(torch_abi::get_type(*bias)))
      fail("pbprobe::scaled_mm: expected bias [{}] of torch.bfloat16, torch.float16 or torch.float32: got {}", n,
           describe(*bias));
    check_devices(kOperation, a, *bias, "bias");
    extras.bias.emplace(*bias);
  }
  return gemm_of(kOperation, a, b, *out_dtype, extras);
}

// Returns the place in the kernel table of the kernel that mm, int_mm or scaled_mm (to torch.bfloat16) takes here. FP8
// without scales is planned with a scale of each row and column. Returns no string: the stable ABI leaks its memory.
int64_t which(const Tensor& a, const Tensor& b, const std::optional<Tensor>& scale_a,
              const std::optional<Tensor>& scale_b) {
  check_shapes("which", a, b);
  const bool floating = is_floating(torch_abi::get_type(a));
  const bool fp8 = is_fp8(torch_abi::get_type(a));
  Extras extras;
  if (floating) {
    check_floating("which", a, b);
  } else if (fp8) {
    check_fp8("which", a, b);
    if (scale_a && scale_b) extras = make_scale_extras(a, b, *scale_a, *scale_b, std::nullopt, std::nullopt);
  } else {
    check_integers("which", a, b);
  }
  const ReadableMatrices left(a);
  const ReadableMatrices right(b);
  Gemm gemm = extras.options;
  gemm.a = left.get();
  gemm.b = right.get();
  gemm.c = floating ? *convert_dtype(torch_abi::get_type(a)) : fp8 ? DType::bf16 : DType::int32;
  gemm.scale_a = gemm.scale_b = fp8 && gemm.blocks == BlockScale::none;
  gemm.tf32 = may_round_to_tf32(a);
  const Slices* const slices = unwrap(plan_gemm(gemm, get_place(torch_abi::get_gpu(a))), "which");
  return slices->front().plan.kernel - kernel_table().data();
}

}  // namespace
}  // namespace pbprobe::ops

// Overload no_grad: the same kernels without derivatives. The others' derivatives are written in Python, and cost time
// in each call of a compiled graph.
PBPROBE_OPERATORS(library) {
  library.def("mm(Tensor a, Tensor b) -> Tensor");
  library.def("mm.no_grad(Tensor a, Tensor b) -> Tensor");
  library.def("linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor");
  library.def("linear.no_grad(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor");
  library.def("int_mm(Tensor a, Tensor b) -> Tensor");
#define PBPROBE_SCALED_INT_MM "(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, ScalarType out_dtype) -> Tensor"
  library.def("scaled_int_mm" PBPROBE_SCALED_INT_MM);
  library.def("scaled_int_mm.no_grad" PBPROBE_SCALED_INT_MM);
#define PBPROBE_SCALED_MM                                                                                      \
  "(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, "  \
  "ScalarType? out_dtype=None, bool use_fast_accum=False, Tensor? tensor_scale_a=None, Tensor? tensor_scale_b" \
  "=None) -> Tensor"
  library.def("scaled_mm" PBPROBE_SCALED_MM);
  library.def("scaled_mm.no_grad" PBPROBE_SCALED_MM);
  library.def("which(Tensor a, Tensor b, Tensor? scale_a=None, Tensor? scale_b=None) -> int");
}

#define PBPROBE_IMPLEMENT_BOTH(library, name, function) \
  library.impl(name, PBPROBE_OPERATOR(function));       \
  library.impl(name ".no_grad", PBPROBE_OPERATOR(function))
#define PBPROBE_IMPLEMENT(library)                                               \
  PBPROBE_IMPLEMENT_BOTH(library, "mm", pbprobe::ops::mm_operator);              \
  PBPROBE_IMPLEMENT_BOTH(library, "linear", pbprobe::ops::linear_operator);      \
  PBPROBE_IMPLEMENT_BOTH(library, "scaled_int_mm", pbprobe::ops::scaled_int_mm); \
  PBPROBE_IMPLEMENT_BOTH(library, "scaled_mm", pbprobe::ops::scaled_mm);         \
  library.impl("int_mm", PBPROBE_OPERATOR(pbprobe::ops::int_mm_operator));       \
  library.impl("which", PBPROBE_OPERATOR(pbprobe::ops::which))

PBPROBE_OPERATORS_ON(CPU, library) {
  PBPROBE_IMPLEMENT(library);
}
PBPROBE_OPERATORS_ON(CUDA, library) {
  PBPROBE_IMPLEMENT(library);
}

// Forces a kernel, and on a GPU its parts of split-K (0: the model decides) and the shape
// of its clusters. Called by ctypes, because torch.compile would trace an operator without tensors into graphs. Returns
// null on success, else the reason, valid until the thread's next call.
extern "C" __attribute__((visibility("default"))) const char* pbprobe_force_kernel(const char* name, int64_t parts,
                                                                                   int64_t down, int64_t across) {
  static thread_local std::string why;
  const auto done = pbprobe::ops::force_kernel({name, parts, {down, across}});
  if (done.ok()) return nullptr;
  why = done.error().message;
  return why.c_str();
}

// For each loop its rate and its name, a line each; or "error: " and why not. Valid until the thread's next call.
extern "C" __attribute__((visibility("default"))) const char* pbprobe_calibrate() {
  static thread_local std::string reported;
  const auto rates = pbprobe::ops::calibrate();
  reported = rates.ok() ? "" : "error: " + rates.error().message;
  if (rates.ok()) {
    for (const auto& [name, rate] : *rates) reported += fmt::format("{} {}\n", rate, name);
  }
  return reported.c_str();
}

// Returns the name of the kernel at this place of the table, valid until the thread's next call; null beyond its end.
extern "C" __attribute__((visibility("default"))) const char* pbprobe_kernel_name(int64_t place) {
  static thread_local std::string name;
  if (place < 0 || static_cast<size_t>(place) >= pbprobe::kernel_table().size()) return nullptr;
  name = pbprobe::kernel_table()[static_cast<size_t>(place)].name;
  return name.c_str();
}

extern "C" __attribute__((visibility("default"))) const char* pbprobe_forced_kernel() {
  return pbprobe::ops::forced_kernel().name.c_str();
}

// Writes the forced parts, down and across.
extern "C" __attribute__((visibility("default"))) void pbprobe_forced_cut(int64_t* cut) {
  const auto& forced = pbprobe::ops::forced_kernel();
  cut[0] = forced.parts;
  cut[1] = forced.cluster.down;
  cut[2] = forced.cluster.across;
}
