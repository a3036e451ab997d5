// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/stress/stress_case.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/cuda/host/gpu.hpp"
#include "kernels/dispatch/run.hpp"

namespace pbprobe::test {
namespace {

constexpr int64_t kMaxCopies = 20;
constexpr int64_t kMaxCopyBytes = int64_t{192} << 20;  // limit for all Cs of a stream
constexpr int kStreams = 2;
constexpr unsigned char kPoisonByte = 0xff;  // NaN in every floating type

// Grid: x over the halfwords of an array, y over the arrays.
constexpr char kCountDifferences[] = R"(.version 7.0
.target sm_61
.address_size 64
.visible .entry count_differences(.param .u64 arrays, .param .u64 reference, .param .u64 halves, .param .u64 apart,
                                  .param .u64 differences)
{
  .reg .pred %p<3>;
  .reg .b16 %h<3>;
  .reg .b32 %r<6>;
  .reg .b64 %d<12>;
  ld.param.u64 %d0, [arrays];
  ld.param.u64 %d1, [reference];
  ld.param.u64 %d2, [halves];
  ld.param.u64 %d3, [apart];
  ld.param.u64 %d4, [differences];
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d4, %d4;
  mov.u32 %r0, %ctaid.y;
  cvt.u64.u32 %d5, %r0;
  mad.lo.u64 %d0, %d5, %d3, %d0;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r3, %r1, %r2, %r3;
  cvt.u64.u32 %d6, %r3;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %d7, %r4, %r2;
next:
  setp.ge.u64 %p0, %d6, %d2;
  @%p0 bra done;
  shl.b64 %d8, %d6, 1;
  add.u64 %d9, %d0, %d8;
  add.u64 %d10, %d1, %d8;
  ld.global.u16 %h0, [%d9];
  ld.global.u16 %h1, [%d10];
  add.u64 %d6, %d6, %d7;
  setp.eq.u16 %p1, %h0, %h1;
  @%p1 bra next;
  red.global.add.u32 [%d4], 1;
  bra next;
done:
  ret;
}
)";

}  // namespace

Result<DifferenceCounter> DifferenceCounter::load(const DriverApi& driver) {
  CuLibrary library = nullptr;
  CuKernel kernel = nullptr;
  PBPROBE_CU(driver, "compiling the comparison",
             cuLibraryLoadData(&library, kCountDifferences, nullptr, nullptr, 0, nullptr, nullptr, 0));
  PBPROBE_CU(driver, "finding the comparison", cuLibraryGetKernel(&kernel, library, "count_differences"));
  return DifferenceCounter(driver, kernel);
}

Result<void> DifferenceCounter::count(CuDevicePtr arrays, CuDevicePtr reference, uint64_t halves, uint64_t apart,
                                      unsigned copies, CuDevicePtr differences, CuStream stream) const {
  constexpr unsigned kThreads = 256;
  constexpr uint64_t kMaxBlocks = 64;
  const auto blocks = static_cast<unsigned>(std::clamp<uint64_t>(halves / kThreads, 1, kMaxBlocks));
  void* parameters[] = {&arrays, &reference, &halves, &apart, &differences};
  PBPROBE_CU(*driver_, "launching the comparison",
             cuLaunchKernel(reinterpret_cast<CuFunction>(kernel_), blocks, copies, 1, kThreads, 1, 1, 0, stream,
                            parameters, nullptr));
  return {};
}

// A stream with its Cs, a workspace of its own, and the graph of one sequence.
struct StressCase::Lane {
  explicit Lane(const StressTools& given) : tools(given) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    if (graph != nullptr) tools.api.destroy_graph(graph);
    if (stream != nullptr) tools.kernels.driver().cuStreamDestroy(stream);
  }
  const StressTools& tools;
  CuStream stream = nullptr;
  void* graph = nullptr;
  std::unique_ptr<StressBuffer> c;
  std::unique_ptr<StressBuffer> workspace;
};

StressCase::StressCase(const StressTools& tools, const Plan& plan, BufferEnd end)
    : tools_(tools), plan_(plan), end_(end) {}

StressCase::~StressCase() = default;

Result<void> StressCase::upload(const Guarded& from, std::unique_ptr<StressBuffer>& to) {
  const DriverApi& driver = tools_.kernels.driver();
  const auto bytes = from.bytes.empty() ? size_t{0} : static_cast<size_t>(from.length_bytes);
  to = std::make_unique<StressBuffer>(driver, tools_.api, bytes, end_);
  if (to->result() != kCudaSuccess) return driver_error(driver, to->result(), "allocating an operand");
  if (bytes > 0) PBPROBE_CU(driver, "uploading an operand", cuMemcpyHtoD(to->address(), from.data(), bytes));
  return {};
}

Result<void> StressCase::begin(CheckData& data) {
  const DriverApi& driver = tools_.kernels.driver();
  PBPROBE_CHECK(upload(data.a, a_));
  PBPROBE_CHECK(upload(data.b, b_));
  PBPROBE_CHECK(upload(data.bias, bias_));
  PBPROBE_CHECK(upload(data.scale_a, scale_a_));
  PBPROBE_CHECK(upload(data.scale_b, scale_b_));
  PBPROBE_CHECK(upload(data.blocks_a, blocks_a_));
  PBPROBE_CHECK(upload(data.blocks_b, blocks_b_));
  const auto elements = data.c.length_bytes;
  c_elements_ = static_cast<size_t>(elements);
  c_bytes_ = (c_elements_ + 255) / 256 * 256;
  copies_ = std::clamp<int64_t>(kMaxCopyBytes / std::max<int64_t>(static_cast<int64_t>(c_bytes_), 1), 2, kMaxCopies);
  const size_t all = static_cast<size_t>(copies_ - 1) * c_bytes_ + c_elements_;
  const auto make = [&](size_t bytes, BufferEnd end) {
    return std::make_unique<StressBuffer>(driver, tools_.api, bytes, end);
  };
  poison_ = make(all, BufferEnd::padded);
  reference_ = make(c_elements_, BufferEnd::padded);
  differences_ = make(sizeof(uint32_t), BufferEnd::padded);
  for (const auto* buffer : {&poison_, &reference_, &differences_}) {
    if ((*buffer)->result() != kCudaSuccess) return driver_error(driver, (*buffer)->result(), "allocating C");
  }
  // The host's C is poisoned, with sentinels between its rows.
  PBPROBE_CU(driver, "poisoning C", cuMemsetD8(poison_->address(), kPoisonByte, all));
  for (int64_t copy = 0; copy < copies_; ++copy) {
    const CuDevicePtr to = poison_->address() + static_cast<size_t>(copy) * c_bytes_;
    PBPROBE_CU(driver, "uploading C", cuMemcpyHtoD(to, data.c.data(), c_elements_));
  }
  PBPROBE_CU(driver, "clearing the count", cuMemsetD8(differences_->address(), 0, sizeof(uint32_t)));
  for (int i = 0; i < kStreams; ++i) {
    auto& lane = *lanes_.emplace_back(std::make_unique<Lane>(tools_));
    PBPROBE_CU(driver, "making a stream", cuStreamCreate(&lane.stream, kCuStreamNonBlocking));
    lane.c = make(all, end_);
    lane.workspace = make(static_cast<size_t>(plan_.workspace_bytes), BufferEnd::padded);
    if (lane.c->result() != kCudaSuccess) return driver_error(driver, lane.c->result(), "allocating C");
    if (lane.workspace->result() != kCudaSuccess)
      return driver_error(driver, lane.workspace->result(), "allocating the workspace");
    if (plan_.workspace_bytes > 0)
      PBPROBE_CU(driver, "poisoning the workspace",
                 cuMemsetD8(lane.workspace->address(), kPoisonByte, lane.workspace->bytes()));
    PBPROBE_CU(driver, "poisoning C", cuMemcpyDtoDAsync(lane.c->address(), poison_->address(), all, lane.stream));
    PBPROBE_CU(driver, "waiting for the poison", cuStreamSynchronize(lane.stream));
  }
  const Lane& first = *lanes_.front();
  PBPROBE_CHECK(launch_into(first, 0));
  PBPROBE_CU(driver, "waiting for the first launch", cuCtxSynchronize());
  PBPROBE_CU(driver, "downloading C", cuMemcpyDtoH(data.c.data(), first.c->address(), c_elements_));
  PBPROBE_CU(driver, "keeping the first result", cuMemcpyHtoD(reference_->address(), data.c.data(), c_elements_));
  return {};
}

Result<void> StressCase::launch_into(const Lane& lane, int64_t copy) const {
  Operands operands;
  operands.a = a_->data();
  operands.b = b_->data();
  operands.c = reinterpret_cast<void*>(lane.c->address() + static_cast<size_t>(copy) * c_bytes_);
  operands.bias = static_cast<const float*>(bias_->data());
  operands.scale_a = static_cast<const float*>(scale_a_->data());
  operands.scale_b = static_cast<const float*>(scale_b_->data());
  operands.blocks_a = blocks_a_->data();
  operands.blocks_b = blocks_b_->data();
  Context context;
  context.workspace = lane.workspace->data();
  context.workspace_bytes = plan_.workspace_bytes;
  context.stream = lane.stream;
  context.gpu = &tools_.kernels;
  return run(plan_, operands, context);
}

// Poisons the lane's Cs, launches into each without waiting, and counts what differs.
Result<void> StressCase::enqueue(const Lane& lane) const {
  const DriverApi& driver = tools_.kernels.driver();
  PBPROBE_CU(driver, "poisoning C",
             cuMemcpyDtoDAsync(lane.c->address(), poison_->address(), poison_->bytes(), lane.stream));
  for (int64_t copy = 0; copy < copies_; ++copy) PBPROBE_CHECK(launch_into(lane, copy));
  return tools_.counter.count(lane.c->address(), reference_->address(), c_elements_ / 2, c_bytes_,
                              static_cast<unsigned>(copies_), differences_->address(), lane.stream);
}

Result<void> StressCase::capture(Lane& lane) const {
  const DriverApi& driver = tools_.kernels.driver();
  CuGraph graph = nullptr;
  PBPROBE_CU(driver, "beginning a capture", cuStreamBeginCapture(lane.stream, kCuCaptureRelaxed));
  const auto enqueued = enqueue(lane);
  PBPROBE_CU(driver, "ending the capture", cuStreamEndCapture(lane.stream, &graph));
  if (!enqueued.ok()) return enqueued;
  const CuResult result = tools_.api.instantiate(&lane.graph, graph, 0);
  driver.cuGraphDestroy(graph);
  if (result != kCudaSuccess) return driver_error(driver, result, "making the graph ready");
  return {};
}

Result<StressCount> StressCase::repeat(double seconds, LaunchMode mode) {
  constexpr int64_t kQueued = 8;  // sequences of a stream that may wait in its queue
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const DriverApi& driver = tools_.kernels.driver();
  StressCount count;
  if (c_elements_ == 0) return count;
  for (const auto& lane : lanes_) {
    if (mode == LaunchMode::graph && lane->graph == nullptr) PBPROBE_CHECK(capture(*lane));
  }
  for (int64_t sequence = 0; sequence == 0 || std::chrono::steady_clock::now() < end; ++sequence) {
    for (const auto& lane : lanes_) {
      if (mode == LaunchMode::eager) {
        PBPROBE_CHECK(enqueue(*lane));
      } else if (const auto result = tools_.api.launch_graph(lane->graph, lane->stream); result != kCudaSuccess) {
        return driver_error(driver, result, "replaying the graph");
      }
      count.launches += copies_;
    }
    if (sequence % kQueued == kQueued - 1) PBPROBE_CU(driver, "waiting for the launches", cuCtxSynchronize());
  }
  PBPROBE_CU(driver, "waiting for the launches", cuCtxSynchronize());
  uint32_t differences = 0;
  PBPROBE_CU(driver, "reading the count", cuMemcpyDtoH(&differences, differences_->address(), sizeof differences));
  PBPROBE_CU(driver, "clearing the count", cuMemsetD8(differences_->address(), 0, sizeof differences));
  count.differences = differences;
  return count;
}

}  // namespace pbprobe::test
