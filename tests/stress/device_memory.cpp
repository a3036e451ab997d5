// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/stress/device_memory.hpp"

#include <algorithm>

#include <dlfcn.h>

namespace pbprobe::test {
namespace {

constexpr unsigned char kPadding = 0xff;  // NaN in every floating type

}  // namespace

Result<StressApi> load_stress_api() {
  StressApi api;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const char* missing = library == nullptr ? "libcuda.so.1" : nullptr;
  const auto load = [&](auto& function, const char* name) {
    if (missing != nullptr) return;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing = name;
  };
  load(api.instantiate, "cuGraphInstantiateWithFlags");
  load(api.launch_graph, "cuGraphLaunch");
  load(api.destroy_graph, "cuGraphExecDestroy");
  load(api.granularity, "cuMemGetAllocationGranularity");
  load(api.reserve, "cuMemAddressReserve");
  load(api.free_address, "cuMemAddressFree");
  load(api.create, "cuMemCreate");
  load(api.release, "cuMemRelease");
  load(api.map, "cuMemMap");
  load(api.unmap, "cuMemUnmap");
  load(api.set_access, "cuMemSetAccess");
  if (missing != nullptr)
    return make_error(ErrorCode::unsupported, "the driver lacks {}: install a driver for CUDA 12.0 or newer", missing);
  return api;
}

StressBuffer::StressBuffer(const DriverApi& driver, const StressApi& api, size_t bytes, BufferEnd end)
    : driver_(driver), api_(api), bytes_(bytes) {
  if (bytes == 0) return;
  if (end == BufferEnd::padded) {
    const size_t padded = (bytes + 15) / 16 * 16;
    result_ = driver.cuMemAlloc(&address_, padded);
    if (result_ == kCudaSuccess && padded > bytes) fill_padding(address_ + bytes, padded - bytes);
  } else {
    map_before_unmapped_page();
  }
}

void StressBuffer::fill_padding(CuDevicePtr at, size_t bytes) {
  result_ = driver_.cuMemsetD8(at, kPadding, bytes);
  if (result_ == kCudaSuccess) result_ = driver_.cuCtxSynchronize();
}

void StressBuffer::map_before_unmapped_page() {
  CuMemoryProperties properties;
  CuDevice device = 0;
  size_t page = 0;
  if ((result_ = driver_.cuCtxGetDevice(&device)) != kCudaSuccess) return;
  properties.location_id = device;
  if ((result_ = api_.granularity(&page, &properties, 0)) != kCudaSuccess) return;
  const size_t mapped = (bytes_ + page - 1) / page * page;
  if ((result_ = api_.create(&handle_, mapped, &properties, 0)) != kCudaSuccess) return;
  if ((result_ = api_.reserve(&range_, mapped + page, page, 0, 0)) != kCudaSuccess) return;
  range_bytes_ = mapped + page;
  if ((result_ = api_.map(range_, mapped, 0, handle_, 0)) != kCudaSuccess) return;
  mapped_bytes_ = mapped;
  CuMemoryAccess access;
  access.location_id = device;
  if ((result_ = api_.set_access(range_, mapped, &access, 1)) != kCudaSuccess) return;
  // The first vector may begin before the array.
  fill_padding(range_, mapped);
  if (result_ != kCudaSuccess) return;
  address_ = range_ + mapped - bytes_;
}

StressBuffer::~StressBuffer() {
  if (range_ == 0 && handle_ == 0) {
    if (address_ != 0) driver_.cuMemFree(address_);
    return;
  }
  if (mapped_bytes_ != 0) api_.unmap(range_, mapped_bytes_);
  if (range_bytes_ != 0) api_.free_address(range_, range_bytes_);
  if (handle_ != 0) api_.release(handle_);
}

}  // namespace pbprobe::test
