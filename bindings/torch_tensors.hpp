// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Conversion of tensors, for the files that include torch's headers.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "bindings/gemm.hpp"
#include "bindings/torch_abi.hpp"

namespace pbprobe::ops {

using torch_abi::ScalarType;
using torch_abi::Tensor;
using torch_abi::TensorView;

// torch converts it to RuntimeError, the type that its own operators raise for shapes and types.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

template <class T>
T unwrap(Result<T> result, const char* operation) {
  if (!result.ok()) fail("pbprobe::{}: {}", operation, result.error().message);
  return std::move(result).value();
}

// Numbers, because torch before 2.8 has no names for them.
constexpr auto kE8m0 = static_cast<ScalarType>(44);
constexpr auto kE2m1x2 = static_cast<ScalarType>(45);

inline std::optional<DType> convert_dtype(ScalarType type) {
  if (type == kE2m1x2) return DType::e2m1x2;
  switch (type) {
    case ScalarType::Float: return DType::fp32;
    case ScalarType::Half: return DType::fp16;
    case ScalarType::BFloat16: return DType::bf16;
    case ScalarType::Char: return DType::int8;
    case ScalarType::Byte: return DType::uint8;
    case ScalarType::Int: return DType::int32;
    case ScalarType::Float8_e4m3fn: return DType::e4m3;
    case ScalarType::Float8_e5m2: return DType::e5m2;
    default: return std::nullopt;
  }
}

// Returns the type's name in Python.
inline std::string get_type_name(ScalarType type) {
  if (type == kE8m0) return "torch.float8_e8m0fnu";
  if (type == kE2m1x2) return "torch.float4_e2m1fn_x2";
  switch (type) {
    case ScalarType::Float: return "torch.float32";
    case ScalarType::Double: return "torch.float64";
    case ScalarType::Half: return "torch.float16";
    case ScalarType::BFloat16: return "torch.bfloat16";
    case ScalarType::Char: return "torch.int8";
    case ScalarType::Byte: return "torch.uint8";
    case ScalarType::Int: return "torch.int32";
    case ScalarType::Long: return "torch.int64";
    case ScalarType::Bool: return "torch.bool";
    case ScalarType::Float8_e4m3fn: return "torch.float8_e4m3fn";
    case ScalarType::Float8_e5m2: return "torch.float8_e5m2";
    default: return fmt::format("scalar type {}", static_cast<int>(type));
  }
}

// "[2, 3] torch.float32"
inline std::string describe(const TensorView& tensor) {
  return fmt::format("[{}] {}", fmt::join(tensor.sizes, ", "), get_type_name(tensor.type));
}

// The last two dimensions of a tensor as matrices that kernels can read: in place, or of a copy if its strides fit no
// kernel. The tensor must outlive it.
class ReadableMatrices {
 public:
  explicit ReadableMatrices(const TensorView& tensor) : first_(make_matrix(tensor)) {
    if (is_readable(first_)) {
      step_ = tensor.sizes.size() > 2 ? tensor.strides[0] : 0;
      return;
    }
    copy_ = torch_abi::contiguous(tensor.share());
    first_ = make_matrix(*copy_);
    step_ = first_.rows * first_.columns;
  }

  // Returns the matrix at an index of the first of three dimensions.
  [[nodiscard]] Matrix get(int64_t batch = 0) const {
    Matrix matrix = first_;
    matrix.data = static_cast<const std::byte*>(first_.data) + batch * step_ * size_of(first_.type);
    return matrix;
  }

 private:
  static Matrix make_matrix(const TensorView& tensor) {
    const size_t rows = tensor.sizes.size() - 2;
    return {tensor.data,          tensor.sizes[rows],       tensor.sizes[rows + 1],
            tensor.strides[rows], tensor.strides[rows + 1], *convert_dtype(tensor.type)};
  }

  Matrix first_;
  int64_t step_ = 0;  // elements between matrices
  std::optional<Tensor> copy_;
};

// A tensor as [rows, k], k its last dimension: in place if all dimensions can be joined, else reshaped by torch. The
// tensor must outlive it.
class FlatRows {
 public:
  explicit FlatRows(const TensorView& tensor) : view_(tensor) {
    if (tensor.sizes.size() == 2) return;
    for (const int64_t size : tensor.sizes.first(tensor.sizes.size() - 1)) sizes_[0] *= size;
    sizes_[1] = tensor.sizes.back();
    if (!is_contiguous(tensor)) {
      reshaped_ = torch_abi::reshape(tensor.share(), {sizes_[0], sizes_[1]});
      view_ = TensorView(*reshaped_);
      return;
    }
    strides_[0] = std::max<int64_t>(sizes_[1], 1);
    view_.sizes = sizes_;
    view_.strides = strides_;
  }
  FlatRows(const FlatRows&) = delete;
  FlatRows& operator=(const FlatRows&) = delete;

  [[nodiscard]] const TensorView& view() const { return view_; }

 private:
  static bool is_contiguous(const TensorView& tensor) {
    int64_t expected = 1;
    for (size_t i = tensor.sizes.size(); i-- > 0; expected *= tensor.sizes[i])
      if (tensor.sizes[i] != 1 && tensor.strides[i] != expected) return false;
    return true;
  }

  std::array<int64_t, 2> sizes_{1, 1};
  std::array<int64_t, 2> strides_{1, 1};
  std::optional<Tensor> reshaped_;
  TensorView view_;
};

// A bias [n] as kernels read it: contiguous FP32, in place or a copy. The tensor must outlive it.
struct Bias {
  explicit Bias(const TensorView& bias) {
    const bool together = bias.strides[0] == 1 || bias.sizes[0] <= 1;
    if (bias.type == ScalarType::Float && together) {
      data = static_cast<const float*>(bias.data);
      return;
    }
    copy = !bias.gpu && bias.type == ScalarType::BFloat16 && bias.data != nullptr
               ? widen(bias)
               : torch_abi::contiguous(torch_abi::convert_to_fp32(bias.share()));
    data = static_cast<const float*>(copy->data_ptr());
  }

  // Converts BF16 in CPU memory; torch would call its dispatcher, which takes as long as a small GEMM.
  static Tensor widen(const TensorView& bias) {
    Tensor wide = torch_abi::empty(bias.sizes, ScalarType::Float, std::nullopt);
    const auto* const from = static_cast<const uint16_t*>(bias.data);
    auto* const to = static_cast<float*>(wide.data_ptr());
    for (int64_t i = 0; i < bias.sizes[0]; ++i)
      to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i * bias.strides[0]]) << 16);
    return wide;
  }

  std::optional<Tensor> copy;
  const float* data = nullptr;
};

// Memory for run_gemm(). On a GPU torch frees it in the order of the stream, so it may go back before the kernel has
// run. On the CPU, each thread keeps what its calls needed, up to kKeptWorkspace: new memory has pages that the kernel
// clears first, which takes as long as a small GEMM.
class Workspace {
 public:
  Workspace(int64_t bytes, std::optional<int32_t> gpu) {
    constexpr int64_t kLeast = 256 << 10;
    if (bytes == 0) return;
    if (gpu || bytes > kKeptWorkspace) {
      tensor_ = torch_abi::empty(std::array{bytes}, ScalarType::Byte, gpu);
      data_ = tensor_->data_ptr();
      return;
    }
    thread_local std::unique_ptr<std::byte[]> kept;
    thread_local int64_t size = 0;
    if (bytes > size) {
      const auto wanted = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(bytes, kLeast))));
      size = 0;
      kept.reset();
      kept.reset(new std::byte[static_cast<size_t>(wanted)]);  // not make_unique(), which writes zeros
      size = wanted;
    }
    data_ = kept.get();
  }

  [[nodiscard]] void* data() const { return data_; }

 private:
  std::optional<Tensor> tensor_;
  void* data_ = nullptr;
};

// Reports whether torch lets FP32 products on a GPU round their operands to TF32 (torch.backends.cuda.matmul,
// torch.set_float32_matmul_precision). Finds torch's own functions at run time, since the stable ABI lacks them. torch
// before 2.9 has only the last one.
inline bool allows_tf32() {
  using Context = const void* (*)();                       // at::globalContext
  using Precision = int (*)(const void*, int op, int of);  // at::Context::float32Precision
  using Allows = bool (*)(const void*);                    // at::Context::allowTF32CuBLAS
  constexpr int kCuda = 1;                                 // at::Float32Backend
  constexpr int kMatmul = 3;                               // at::Float32Op
  constexpr int kTf32 = 2;                                 // at::Float32Precision
  const auto look_up = [](const char* symbol) { return ::dlsym(RTLD_DEFAULT, symbol); };
  static const auto context = reinterpret_cast<Context>(look_up("_ZN2at13globalContextEv"));
  static const auto precision =
      reinterpret_cast<Precision>(look_up("_ZNK2at7Context16float32PrecisionENS_14Float32BackendENS_9Float32OpE"));
  static const auto allows = reinterpret_cast<Allows>(look_up("_ZNK2at7Context15allowTF32CuBLASEv"));
  if (context == nullptr) return false;
  if (precision != nullptr) return precision(context(), kCuda, kMatmul) == kTf32;
  return allows != nullptr && allows(context());
}

// Returns whether operands like this one may be rounded to TF32.
inline bool may_round_to_tf32(const TensorView& tensor) {
  return tensor.gpu && tensor.type == ScalarType::Float && allows_tf32();
}

inline Place get_place(std::optional<int32_t> gpu) {
  return {.gpu = gpu, .threads = gpu ? 1 : torch_abi::threads()};
}

// Returns torch's current stream on this GPU. Looks up the function at run time, because a CPU torch lacks its library
// and pbprobe's operators must load in it too.
inline void* current_stream(int32_t gpu) {
  using Function = int32_t (*)(int32_t, void**);
  static const auto function = [] {
    void* const library = ::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    return library == nullptr ? nullptr
                              : reinterpret_cast<Function>(::dlsym(library, "aoti_torch_get_current_cuda_stream"));
  }();
  void* stream = nullptr;
  if (function == nullptr || function(gpu, &stream) != 0)
    fail("pbprobe: this torch does not say its current stream on cuda:{}: use torch 2.8 or newer, with CUDA", gpu);
  return stream;
}

inline ParallelFor torch_threads() {
  return {.call = [](void*, int64_t count, ParallelFor::Task task, void* state) {
    torch_abi::parallel_for(count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) task(state, i);
    });
  }};
}

}  // namespace pbprobe::ops
