// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The little that torch.cpp needs of torch, by one of two ABIs: LibTorch's stable one (torch ≥ 2.10,
// PBPROBE_STABLE_ABI), so that one shared object serves them all, or the C++ API of one torch (2.8, 2.9).
#pragma once

#include <algorithm>
#include <cstdint>
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

inline int32_t device_index(const Tensor& tensor) {
  return tensor.get_device_index();
}
// Not scalar_type(), which refuses types that are newer than the ABI's version: E8M0 and E2M1.
inline ScalarType get_type(const Tensor& tensor) {
  int32_t type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &type));
  return static_cast<ScalarType>(type);
}
inline int64_t get_byte_size(const Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}
// On the device of `like`, uninitialized.
inline Tensor empty(const std::vector<int64_t>& sizes, ScalarType type, const Tensor& like) {
  auto bytes = static_cast<int64_t>(aoti_torch_dtype_element_size(static_cast<int32_t>(type)));
  for (const int64_t size : sizes) bytes *= size;
  // Not new_empty(), which boxes its arguments for the dispatcher.
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= std::max<int64_t>(sizes[i], 1)) strides[i] = stride;
  const int32_t device = like.is_cuda() ? aoti_torch_device_type_cuda() : aoti_torch_device_type_cpu();
  return allocating(bytes, like, [&] {
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                                    static_cast<int32_t>(type), device, like.get_device_index(),
                                                    &handle));
    return Tensor(handle);
  });
}
inline Tensor fill(const Tensor& tensor, double value) {
  return torch::stable::fill_(tensor, value);
}
inline Tensor contiguous(const Tensor& tensor) {
  return allocating(get_byte_size(tensor), tensor, [&] { return torch::stable::contiguous(tensor); });
}
inline Tensor reshape(const Tensor& tensor, const std::vector<int64_t>& sizes) {
  return allocating(get_byte_size(tensor), tensor, [&] { return torch::stable::reshape(tensor, sizes); });
}
inline Tensor convert_to_fp32(const Tensor& tensor) {
  const auto bytes = tensor.numel() * static_cast<int64_t>(sizeof(float));
  return allocating(bytes, tensor, [&] { return torch::stable::to(tensor, ScalarType::Float); });
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
inline int32_t device_index(const Tensor& tensor) {
  return tensor.get_device();
}
inline Tensor empty(const std::vector<int64_t>& sizes, ScalarType type, const Tensor& like) {
  return at::empty(sizes, like.options().dtype(type));
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
