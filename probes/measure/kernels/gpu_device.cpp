// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/gpu_device.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/host/host.hpp"

namespace pbprobe {
namespace {

// A write of this size lasts longer than it takes to queue kHeldCalls GEMMs.
constexpr size_t kHolderBytes = 512U << 20;
constexpr int64_t kHeldCalls = 10;

}  // namespace

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : driver_(other.driver_), address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver_->cuMemFree(address_);
}

Result<GpuDevice> GpuDevice::open(int32_t index) {
  const auto& loaded = driver_api();
  if (!loaded.ok()) {
    Error error = loaded.error();
    error.obstacle = Obstacle::missing;
    return error;
  }
  PBPROBE_CHECK(require_launch(*loaded));
  GpuDevice device;
  device.driver_ = &*loaded;
  PBPROBE_CHECK(device.start(index), "opening GPU {}", index);
  return device;
}

Result<void> GpuDevice::start(int32_t index) {
  index_ = index;
  PBPROBE_CU(*driver_, "cuInit", cuInit(0));
  PBPROBE_CU(*driver_, "cuDeviceGet", cuDeviceGet(&device_, index));
  PBPROBE_CU(*driver_, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context_, device_));
  retained_ = true;
  PBPROBE_CHECK(make_current());
  PBPROBE_CU(*driver_, "cuStreamCreate", cuStreamCreate(&stream_, kCuStreamNonBlocking));
  PBPROBE_CU(*driver_, "cuEventCreate", cuEventCreate(&begin_, 0));
  PBPROBE_CU(*driver_, "cuEventCreate", cuEventCreate(&end_, 0));
  PBPROBE_TRY(const size_t free, free_bytes());
  PBPROBE_TRY(holder_, allocate(std::clamp<size_t>(free / 16, 1, kHolderBytes)));
  return {};
}

Result<void> GpuDevice::make_current() const {
  PBPROBE_CU(*driver_, "cuCtxSetCurrent", cuCtxSetCurrent(context_));
  return {};
}

GpuDevice::GpuDevice(GpuDevice&& other) noexcept
    : driver_(other.driver_),
      device_(other.device_),
      index_(other.index_),
      context_(other.context_),
      retained_(std::exchange(other.retained_, false)),
      stream_(std::exchange(other.stream_, nullptr)),
      begin_(std::exchange(other.begin_, nullptr)),
      end_(std::exchange(other.end_, nullptr)),
      holder_(std::move(other.holder_)) {}

GpuDevice::~GpuDevice() {
  holder_ = DeviceBuffer();
  if (begin_ != nullptr) driver_->cuEventDestroy(begin_);
  if (end_ != nullptr) driver_->cuEventDestroy(end_);
  if (stream_ != nullptr) driver_->cuStreamDestroy(stream_);
  if (retained_) driver_->cuDevicePrimaryCtxRelease(device_);
}

int64_t GpuDevice::attribute(CuDeviceAttribute attribute) const {
  int value = 0;
  return driver_->cuDeviceGetAttribute(&value, attribute, device_) == kCudaSuccess ? value : 0;
}

Result<size_t> GpuDevice::free_bytes() const {
  size_t free = 0;
  size_t total = 0;
  PBPROBE_CU(*driver_, "cuMemGetInfo", cuMemGetInfo(&free, &total));
  const auto available = attribute(kCuIntegrated) != 0 ? available_memory_bytes({}) : std::nullopt;
  return available ? std::min(free, static_cast<size_t>(get_unified_share(*available))) : free;
}

Result<DeviceBuffer> GpuDevice::allocate(size_t bytes) const {
  if (attribute(kCuIntegrated) != 0) PBPROBE_CHECK(check_unified_room(bytes, available_memory_bytes({})));
  CuDevicePtr address = 0;
  PBPROBE_CU(*driver_, fmt::format("cuMemAlloc({} bytes)", bytes), cuMemAlloc(&address, std::max<size_t>(bytes, 1)));
  return DeviceBuffer(driver_, address, bytes);
}

// In the stream, and waited for: a plain copy from pageable memory may return before it has arrived, and our stream
// does not wait for the default one.
Result<void> GpuDevice::upload(const DeviceBuffer& to, size_t offset, const void* from, size_t bytes) const {
  const auto address = reinterpret_cast<CuDevicePtr>(to.data()) + offset;
  PBPROBE_CU(*driver_, "cuMemcpyHtoDAsync", cuMemcpyHtoDAsync(address, from, bytes, stream_));
  return synchronize();
}

Result<void> GpuDevice::download(void* to, const DeviceBuffer& from, size_t offset, size_t bytes) const {
  PBPROBE_CHECK(synchronize());
  const auto address = reinterpret_cast<CuDevicePtr>(from.data()) + offset;
  PBPROBE_CU(*driver_, "cuMemcpyDtoH", cuMemcpyDtoH(to, address, bytes));
  return {};
}

Result<void> GpuDevice::fill(const DeviceBuffer& buffer, unsigned char byte) const {
  if (buffer.bytes() == 0) return {};
  PBPROBE_CU(*driver_, "cuMemsetD8Async",
             cuMemsetD8Async(reinterpret_cast<CuDevicePtr>(buffer.data()), byte, buffer.bytes(), stream_));
  return {};
}

Result<void> GpuDevice::synchronize() const {
  PBPROBE_CU(*driver_, "cuStreamSynchronize", cuStreamSynchronize(stream_));
  return {};
}

Result<double> GpuDevice::time_us(const std::function<Result<void>()>& enqueue, int64_t repeats) const {
  for (int64_t i = 0; i <= repeats / kHeldCalls; ++i) PBPROBE_CHECK(fill(holder_, 0));
  PBPROBE_CU(*driver_, "cuEventRecord", cuEventRecord(begin_, stream_));
  for (int64_t i = 0; i < repeats; ++i) PBPROBE_CHECK(enqueue());
  PBPROBE_CU(*driver_, "cuEventRecord", cuEventRecord(end_, stream_));
  PBPROBE_CU(*driver_, "cuEventSynchronize", cuEventSynchronize(end_));
  float milliseconds = 0;
  PBPROBE_CU(*driver_, "cuEventElapsedTime", cuEventElapsedTime(&milliseconds, begin_, end_));
  return static_cast<double>(milliseconds) * 1e3 / static_cast<double>(repeats);
}

namespace {

// Reads the kernel of a node in a captured graph.
Result<GpuDevice::QueuedKernel> read_kernel(const DriverApi& driver, CuGraphNode node) {
  CuKernelNode parameters;
  PBPROBE_CU(driver, "cuGraphKernelNodeGetParams", cuGraphKernelNodeGetParams(node, &parameters));
  CuFunction function = parameters.function;
  if (function == nullptr) PBPROBE_CU(driver, "cuKernelGetFunction", cuKernelGetFunction(&function, parameters.kernel));
  GpuDevice::QueuedKernel kernel;
  const char* name = nullptr;
  PBPROBE_CU(driver, "cuFuncGetName", cuFuncGetName(&name, function));
  kernel.name = name == nullptr ? "" : name;
  PBPROBE_CU(driver, "cuFuncGetAttribute", cuFuncGetAttribute(&kernel.binary, kCuFuncBinaryVersion, function));
  PBPROBE_CU(driver, "cuFuncGetAttribute", cuFuncGetAttribute(&kernel.ptx, kCuFuncPtxVersion, function));
  return kernel;
}

Result<std::vector<GpuDevice::QueuedKernel>> list_kernels(const DriverApi& driver, CuGraph graph) {
  size_t count = 0;
  PBPROBE_CU(driver, "cuGraphGetNodes", cuGraphGetNodes(graph, nullptr, &count));
  std::vector<CuGraphNode> nodes(count);
  PBPROBE_CU(driver, "cuGraphGetNodes", cuGraphGetNodes(graph, nodes.data(), &count));
  std::vector<GpuDevice::QueuedKernel> kernels;
  for (const CuGraphNode node : nodes) {
    int type = -1;
    PBPROBE_CU(driver, "cuGraphNodeGetType", cuGraphNodeGetType(node, &type));
    if (type != kCuNodeKernel) continue;
    PBPROBE_TRY(auto kernel, read_kernel(driver, node));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

Result<std::vector<GpuDevice::QueuedKernel>> GpuDevice::queued_kernels(
    const std::function<Result<void>()>& enqueue) const {
  const DriverApi& driver = *driver_;
  if (driver.cuFuncGetName == nullptr || driver.cuStreamBeginCapture == nullptr || driver.cuGraphGetNodes == nullptr ||
      driver.cuGraphKernelNodeGetParams == nullptr)
    return make_error(ErrorCode::unsupported,
                      "the driver is older than CUDA 12.3, and does not report the names of launched kernels");
  PBPROBE_CU(driver, "cuStreamBeginCapture", cuStreamBeginCapture(stream_, kCuCaptureRelaxed));
  const auto queued = enqueue();
  CuGraph graph = nullptr;
  const CuResult ended = driver.cuStreamEndCapture(stream_, &graph);
  if (!queued.ok()) {
    if (graph != nullptr) driver.cuGraphDestroy(graph);
    return queued.error();
  }
  if (ended != kCudaSuccess) return driver_error(driver, ended, "cuStreamEndCapture");
  auto kernels = list_kernels(driver, graph);
  driver.cuGraphDestroy(graph);
  return kernels;
}

double busiest_clocks(std::span<const GpuPeakSample> samples) {
  std::map<unsigned, std::pair<unsigned long long, unsigned long long>> spans;  // per SM: first begin, last end
  for (const GpuPeakSample& sample : samples) {
    auto& [begin, end] = spans.try_emplace(sample.sm, sample.begin, sample.end).first->second;
    begin = std::min(begin, sample.begin);
    end = std::max(end, sample.end);
  }
  unsigned long long clocks = 0;
  for (const auto& [sm, span] : spans) clocks = std::max(clocks, span.second - span.first);
  return static_cast<double>(clocks);
}

}  // namespace pbprobe
