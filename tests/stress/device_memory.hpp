// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device memory of the stress suite, and the functions of the driver that only the suite calls.
#pragma once

#include <cstddef>

#include "core/driver/driver_api.hpp"
#include "core/result.hpp"
#include "kernels/gemm/checker.hpp"

namespace pbprobe::test {

// CUmemAllocationProp and CUmemAccessDesc (CUDA driver API, virtual memory management).
struct CuMemoryProperties {
  int type = 1;           // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;   // no handle is exported
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};
struct CuMemoryAccess {
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

// Graphs and virtual memory, by their names in libcuda.so.1.
struct StressApi {
  CuResult (*instantiate)(void** executable, CuGraph graph, unsigned long long flags) = nullptr;
  CuResult (*launch_graph)(void* executable, CuStream stream) = nullptr;
  CuResult (*destroy_graph)(void* executable) = nullptr;
  CuResult (*granularity)(size_t* bytes, const CuMemoryProperties* properties, int option) = nullptr;
  CuResult (*reserve)(CuDevicePtr* address, size_t bytes, size_t alignment, CuDevicePtr hint,
                      unsigned long long flags) = nullptr;
  CuResult (*free_address)(CuDevicePtr address, size_t bytes) = nullptr;
  CuResult (*create)(unsigned long long* handle, size_t bytes, const CuMemoryProperties* properties,
                     unsigned long long flags) = nullptr;
  CuResult (*release)(unsigned long long handle) = nullptr;
  CuResult (*map)(CuDevicePtr address, size_t bytes, size_t offset, unsigned long long handle,
                  unsigned long long flags) = nullptr;
  CuResult (*unmap)(CuDevicePtr address, size_t bytes) = nullptr;
  CuResult (*set_access)(CuDevicePtr address, size_t bytes, const CuMemoryAccess* access, size_t count) = nullptr;
};

// Loads the functions. Errors: unsupported (a function is missing: the driver is older than CUDA 12.0).
[[nodiscard]] Result<StressApi> load_stress_api();

// End of a buffer. Kernels read whole aligned vectors of 16 bytes that hold at least one element, so a padded
// buffer has a multiple of 16 bytes, as every allocator of device memory gives; its padding is filled with 0xff.
enum class BufferEnd { padded, at_unmapped_page };

// Device memory that a check's array is copied to. With BufferEnd::at_unmapped_page the page after the last element is
// not mapped, so that a read or write behind the array faults.
class StressBuffer {
 public:
  // `bytes` of device memory, uninitialized.
  StressBuffer(const DriverApi& driver, const StressApi& api, size_t bytes, BufferEnd end);
  StressBuffer(const StressBuffer&) = delete;
  StressBuffer& operator=(const StressBuffer&) = delete;
  ~StressBuffer();

  [[nodiscard]] CuResult result() const { return result_; }
  [[nodiscard]] CuDevicePtr address() const { return address_; }
  [[nodiscard]] void* data() const { return reinterpret_cast<void*>(address_); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  void map_before_unmapped_page();
  // Waits for the fill: streams that do not wait for the default stream may write the buffer next.
  void fill_padding(CuDevicePtr at, size_t bytes);

  const DriverApi& driver_;
  const StressApi& api_;
  size_t bytes_;
  CuDevicePtr address_ = 0;  // address of the first element
  CuDevicePtr range_ = 0;    // start of the reserved addresses; 0 for an ordinary allocation
  size_t mapped_bytes_ = 0;
  size_t range_bytes_ = 0;
  unsigned long long handle_ = 0;
  CuResult result_ = kCudaSuccess;
};

}  // namespace pbprobe::test
