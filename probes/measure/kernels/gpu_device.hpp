// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One GPU by the driver API: the primary context (the one that libtorch uses too), a stream, memory, and time by
// device events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/driver/driver_api.hpp"
#include "core/result.hpp"
#include "kernels/cuda/call.hpp"

namespace pbprobe {

// Device memory, freed with it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const DriverApi* driver, CuDevicePtr address, size_t bytes)
      : driver_(driver), address_(address), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  [[nodiscard]] void* data() const { return reinterpret_cast<void*>(address_); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  const DriverApi* driver_ = nullptr;
  CuDevicePtr address_ = 0;
  size_t bytes_ = 0;
};

class GpuDevice {
 public:
  // Makes the primary context of this GPU current in the calling thread, as make_current() does again later. Errors:
  // device, unsupported (old driver).
  [[nodiscard]] static Result<GpuDevice> open(int32_t index);
  GpuDevice(GpuDevice&& other) noexcept;
  GpuDevice& operator=(GpuDevice&&) = delete;
  ~GpuDevice();

  [[nodiscard]] Result<void> make_current() const;
  [[nodiscard]] const DriverApi& driver() const { return *driver_; }
  [[nodiscard]] int32_t index() const { return index_; }
  [[nodiscard]] CuStream stream() const { return stream_; }
  [[nodiscard]] int64_t attribute(CuDeviceAttribute attribute) const;  // 0 if the driver does not report it

  // Allocates memory. Errors: device (out of memory), limit (above the share of unified memory).
  [[nodiscard]] Result<DeviceBuffer> allocate(size_t bytes) const;
  // Returns the free memory; with unified memory, at most the share that one allocation may take.
  [[nodiscard]] Result<size_t> free_bytes() const;
  [[nodiscard]] Result<void> upload(const DeviceBuffer& to, size_t offset, const void* from, size_t bytes) const;
  [[nodiscard]] Result<void> download(void* to, const DeviceBuffer& from, size_t offset, size_t bytes) const;
  [[nodiscard]] Result<void> fill(const DeviceBuffer& buffer, unsigned char byte) const;
  [[nodiscard]] Result<void> synchronize() const;

  // Microseconds of one of `repeats` calls, by events around them. The stream stays busy until all calls are queued,
  // so that the events measure the device and not the host.
  [[nodiscard]] Result<double> time_us(const std::function<Result<void>()>& enqueue, int64_t repeats) const;

  // Returns the kernels that such a call queues: the call is captured, not run. Errors: unsupported (a driver before
  // CUDA 12.3), device (the call cannot be captured).
  struct QueuedKernel {
    std::string name;  // mangled
    int binary = 0;    // 90: made for sm_90
    int ptx = 0;       // 90: from PTX of compute_90
  };
  [[nodiscard]] Result<std::vector<QueuedKernel>> queued_kernels(const std::function<Result<void>()>& enqueue) const;

 private:
  GpuDevice() = default;
  [[nodiscard]] Result<void> start(int32_t index);
  const DriverApi* driver_ = nullptr;
  CuDevice device_ = 0;
  int32_t index_ = 0;
  CuContext context_ = nullptr;
  bool retained_ = false;
  CuStream stream_ = nullptr;
  CuEvent begin_ = nullptr;
  CuEvent end_ = nullptr;
  DeviceBuffer holder_;  // writing it keeps the stream busy, and empties the cache
};

// Clocks of the SM whose blocks took longest, from the first begin to the last end on each.
[[nodiscard]] double busiest_clocks(std::span<const GpuPeakSample> samples);

}  // namespace pbprobe
