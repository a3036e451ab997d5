// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device memory of one GEMM. The driver must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/driver/driver_api.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/checker.hpp"

namespace pbprobe::test {

constexpr unsigned char kPoison = 0xff;  // NaN in every floating type

// Space for what a kernel keeps between its passes.
Guarded poisoned(int64_t bytes);

// Copy of a guarded host array on the device.
class DeviceArray {
 public:
  DeviceArray(const DriverApi& driver, const Guarded& from) : driver_(driver) {
    if (from.bytes.empty()) return;
    // The device's base has 256 bytes alignment; the first element keeps its offset within 64.
    shift_ = static_cast<size_t>((reinterpret_cast<uintptr_t>(from.data()) - static_cast<uintptr_t>(from.offset)) % 64);
    result_ = driver.cuMemAlloc(&address_, from.bytes.size() + 64);
    if (result_ == kCudaSuccess) result_ = upload(from);
    offset_ = shift_ + static_cast<size_t>(from.offset);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() {
    if (address_ != 0) driver_.cuMemFree(address_);
  }
  [[nodiscard]] CuResult result() const { return result_; }
  [[nodiscard]] void* data() const { return address_ == 0 ? nullptr : reinterpret_cast<void*>(address_ + offset_); }
  // Whole when it returns: a copy from pageable memory may still be on its way after the call, and streams that do not
  // wait for the default one would be overtaken by it.
  [[nodiscard]] CuResult upload(const Guarded& from) const {
    const CuResult result = driver_.cuMemcpyHtoD(address_ + shift_, from.bytes.data(), from.bytes.size());
    return result == kCudaSuccess ? driver_.cuCtxSynchronize() : result;
  }
  [[nodiscard]] CuResult download(Guarded& to) const {
    return driver_.cuMemcpyDtoH(to.bytes.data(), address_ + shift_, to.bytes.size());
  }

 private:
  const DriverApi& driver_;
  CuDevicePtr address_ = 0;
  size_t offset_ = 0;
  size_t shift_ = 0;
  CuResult result_ = kCudaSuccess;
};

// Memory of one GEMM on a device: operands, C as on the host, and a workspace full of NaNs.
class DeviceCall {
 public:
  DeviceCall(const GpuKernels& kernels, const Plan& plan, const CheckData& data);
  // Launches and does not wait. Errors (device): no memory, or the launch was refused.
  [[nodiscard]] Result<void> launch(CuStream stream = nullptr) const;
  // C as the host has it.
  [[nodiscard]] Result<void> put_c(const CheckData& data) const;
  [[nodiscard]] Result<void> fetch_c(CheckData& data) const;

 private:
  const GpuKernels& kernels_;
  const Plan& plan_;
  DeviceArray a_, b_, c_, bias_, scale_a_, scale_b_, blocks_a_, blocks_b_, workspace_;
};

}  // namespace pbprobe::test
