// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The little that operators need of torch, by one of two ABIs: LibTorch's stable one (torch ≥ 2.10,
// PBPROBE_STABLE_ABI), so that one shared object serves them all, or the C++ API of one torch (2.8, 2.9).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#ifdef PBPROBE_STABLE_ABI
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include "bindings/torch_allocator.hpp"
#else
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>
#endif

namespace pbprobe::ops::torch_abi {

#ifdef PBPROBE_STABLE_ABI

using Tensor = torch::stable::Tensor;
using ScalarType = torch::headeronly::ScalarType;

// Not scalar_type(), which refuses types that are newer than the ABI's version: E8M0 and E2M1.
inline ScalarType get_type(const Tensor& tensor) {
  int32_t type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &type));
  return static_cast<ScalarType>(type);
}
inline int64_t get_byte_size(const Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}
// Returns the GPU that holds the tensor; nullopt if CPU memory does.
inline std::optional<int32_t> get_gpu(AtenTensorHandle tensor) {
  int32_t type = 0;
  int32_t index = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor, &type));
  if (type == aoti_torch_device_type_cpu()) return std::nullopt;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(tensor, &index));
  return index;
}
inline std::optional<int32_t> get_gpu(const Tensor& tensor) {
  return get_gpu(tensor.get());
}

// Properties of a tensor, each queried once, because a query is a call into libtorch. Owns nothing.
struct TensorView {
  TensorView(const Tensor& tensor) : TensorView(tensor.get()) {}
  explicit TensorView(AtenTensorHandle tensor) : handle(tensor), gpu(get_gpu(tensor)) {
    int64_t dim = 0;
    int64_t* all_sizes = nullptr;
    int64_t* all_strides = nullptr;
    int32_t number = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(tensor, &dim));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(tensor, &all_sizes));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_strides(tensor, &all_strides));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor, &number));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(tensor, &data));
    sizes = {all_sizes, static_cast<size_t>(dim)};
    strides = {all_strides, static_cast<size_t>(dim)};
    type = static_cast<ScalarType>(number);
  }
  // Returns an owner of the same tensor.
  [[nodiscard]] Tensor share() const {
    AtenTensorHandle shared = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(handle, &shared));
    return Tensor(shared);
  }

  AtenTensorHandle handle;
  std::optional<int32_t> gpu;  // index; nullopt in CPU memory
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;
  ScalarType type{};
  void* data = nullptr;
};

// On that GPU, or in CPU memory; uninitialized.
inline Tensor empty(std::span<const int64_t> sizes, ScalarType type, std::optional<int32_t> gpu) {
  auto bytes = static_cast<int64_t>(aoti_torch_dtype_element_size(static_cast<int32_t>(type)));
  for (const int64_t size : sizes) bytes *= size;
  // Not new_empty(), which boxes its arguments for the dispatcher.
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= std::max<int64_t>(sizes[i], 1)) strides[i] = stride;
  const int32_t device = gpu ? aoti_torch_device_type_cuda() : aoti_torch_device_type_cpu();
  return allocating(bytes, gpu, [&] {
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                                    static_cast<int32_t>(type), device, gpu.value_or(-1), &handle));
    return Tensor(handle);
  });
}
inline Tensor fill(const Tensor& tensor, double value) {
  return torch::stable::fill_(tensor, value);
}
inline Tensor contiguous(const Tensor& tensor) {
  return allocating(get_byte_size(tensor), get_gpu(tensor), [&] { return torch::stable::contiguous(tensor); });
}
inline Tensor reshape(const Tensor& tensor, const std::vector<int64_t>& sizes) {
  return allocating(get_byte_size(tensor), get_gpu(tensor), [&] { return torch::stable::reshape(tensor, sizes); });
}
inline Tensor convert_to_fp32(const Tensor& tensor) {
  const auto bytes = tensor.numel() * static_cast<int64_t>(sizeof(float));
  return allocating(bytes, get_gpu(tensor), [&] { return torch::stable::to(tensor, ScalarType::Float); });
}
inline int64_t threads() {
  return torch::stable::get_num_threads();
}
// Calls function(begin, end) for parts of [0, count), on torch's threads.
template <class Function>
void parallel_for(int64_t count, const Function& function) {
  torch::stable::parallel_for(0, count, 1, function);
}

#define PBPROBE_OPERATORS(m) STABLE_TORCH_LIBRARY(pbprobe, m)
#define PBPROBE_OPERATORS_ON(device, m) STABLE_TORCH_LIBRARY_IMPL(pbprobe, device, m)
#define PBPROBE_OPERATOR(function) TORCH_BOX(&function)

#else

using Tensor = at::Tensor;
using ScalarType = at::ScalarType;

inline ScalarType get_type(const Tensor& tensor) {
  return tensor.scalar_type();
}
inline std::optional<int32_t> get_gpu(const Tensor& tensor) {
  return tensor.is_cuda() ? std::optional<int32_t>(tensor.get_device()) : std::nullopt;
}

struct TensorView {
  TensorView(const Tensor& tensor)
      : handle(&tensor),
        gpu(get_gpu(tensor)),
        sizes(tensor.sizes().data(), tensor.sizes().size()),
        strides(tensor.strides().data(), tensor.strides().size()),
        type(tensor.scalar_type()),
        data(tensor.data_ptr()) {}
  [[nodiscard]] Tensor share() const { return *handle; }

  const Tensor* handle;
  std::optional<int32_t> gpu;
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;
  ScalarType type;
  void* data;
};

inline Tensor empty(std::span<const int64_t> sizes, ScalarType type, std::optional<int32_t> gpu) {
  const auto device = gpu ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(*gpu)) : at::Device(at::kCPU);
  return at::empty(at::IntArrayRef(sizes.data(), sizes.size()), at::TensorOptions(device).dtype(type));
}
inline Tensor fill(const Tensor& tensor, double value) {
  return tensor.fill_(value);
}
inline Tensor contiguous(const Tensor& tensor) {
  return tensor.contiguous();
}
inline Tensor reshape(const Tensor& tensor, const std::vector<int64_t>& sizes) {
  return tensor.reshape(sizes);
}
inline Tensor convert_to_fp32(const Tensor& tensor) {
  return tensor.to(ScalarType::Float);
}
inline int64_t threads() {
  return at::get_num_threads();
}
// Calls function(begin, end) for parts of [0, count), on torch's threads.
template <class Function>
void parallel_for(int64_t count, const Function& function) {
  at::parallel_for(0, count, 1, function);
}

#define PBPROBE_OPERATORS(m) TORCH_LIBRARY(pbprobe, m)
#define PBPROBE_OPERATORS_ON(device, m) TORCH_LIBRARY_IMPL(pbprobe, device, m)
#define PBPROBE_OPERATOR(function) TORCH_FN(function)

#endif

}  // namespace pbprobe::ops::torch_abi
