// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Conversion of tensors, for torch.cpp only, which includes torch's headers.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "bindings/gemm.hpp"
#include "bindings/torch_abi.hpp"

namespace pbprobe::ops {

using torch_abi::ScalarType;
using torch_abi::Tensor;

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

inline std::vector<int64_t> get_sizes(const Tensor& tensor) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < tensor.dim(); ++i) sizes.push_back(tensor.size(i));
  return sizes;
}

// "[2, 3] torch.float32"
inline std::string describe(const Tensor& tensor) {
  return fmt::format("[{}] {}", fmt::join(get_sizes(tensor), ", "), get_type_name(torch_abi::get_type(tensor)));
}

// Returns the last two dimensions as a matrix; for a 3D tensor, at index `batch` of the first.
inline Matrix make_matrix(const Tensor& tensor, int64_t batch = 0) {
  const int64_t first = tensor.dim() - 2;
  const int64_t offset = first == 1 ? batch * tensor.stride(0) : 0;
  const DType type = *convert_dtype(torch_abi::get_type(tensor));
  return {static_cast<const std::byte*>(tensor.data_ptr()) + offset * size_of(type),
          tensor.size(first),
          tensor.size(first + 1),
          tensor.stride(first),
          tensor.stride(first + 1),
          type};
}

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
inline bool may_round_to_tf32(const Tensor& tensor) {
  return tensor.is_cuda() && torch_abi::get_type(tensor) == ScalarType::Float && allows_tf32();
}

inline Tensor readable(const Tensor& tensor) {
  return is_readable(make_matrix(tensor)) ? tensor : torch_abi::contiguous(tensor);
}

inline Place get_place(const Tensor& tensor) {
  if (tensor.is_cuda()) return {.gpu = torch_abi::device_index(tensor)};
  return {.gpu = std::nullopt, .threads = torch_abi::threads()};
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
