// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Allocation errors of torch. The stable ABI drops the type and message of an exception. After a failed allocation
// this code calls torch's allocator, which fails again with torch's own exception: torch.OutOfMemoryError on a GPU.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/tensor.h>

namespace pbprobe::ops::torch_abi {

// c10::DataPtr and the beginning of c10::Allocator, equal in every torch that the stable ABI supports.
struct DataPtr {
  void* data;
  std::unique_ptr<void, void (*)(void*)> owner;
  int8_t device_type;
  int8_t device_index;
};
struct Allocator {
  virtual ~Allocator() = default;
  virtual DataPtr allocate(size_t bytes) = 0;
};

// Raises torch's error for an allocation of this size. Returns if the allocation no longer fails.
inline void fail_as_torch_does(int64_t bytes, std::optional<int32_t> gpu) {
  using Get = Allocator* (*)(const int8_t& device_type);  // c10::GetAllocator
  static const auto get = reinterpret_cast<Get>(::dlsym(RTLD_DEFAULT, "_ZN3c1012GetAllocatorERKNS_10DeviceTypeE"));
  if (get == nullptr) return;
  const auto type = static_cast<int8_t>(gpu ? aoti_torch_device_type_cuda() : aoti_torch_device_type_cpu());
  std::optional<torch::stable::accelerator::DeviceGuard> guard;
  if (gpu) guard.emplace(*gpu);
  const DataPtr memory = get(type)->allocate(static_cast<size_t>(bytes));
}

// Returns the result of `call`, which allocates `bytes` on a GPU, or in CPU memory if `gpu` is null.
template <class Call>
torch::stable::Tensor allocating(int64_t bytes, std::optional<int32_t> gpu, Call&& call) {
  try {
    return call();
  } catch (const std::exception&) {
    fail_as_torch_does(bytes, gpu);
  }
  return call();
}

}  // namespace pbprobe::ops::torch_abi
