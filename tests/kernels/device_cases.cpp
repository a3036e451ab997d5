// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/device_cases.hpp"

#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/kernels/cases.hpp"
#include "tests/kernels/device_call.hpp"
#include "tests/kernels/device_speeds.hpp"

namespace pbprobe::test {
namespace {

void expect_exact(const Problem& problem, const Execute& execute) {
  const auto result = check(problem, Tier::exact, execute);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->passed) << result->what;
}

// Some tiles with rests in every direction.
Problem some_tiles(const Kernel& kernel, int64_t more = 0) {
  const auto type = list_types(kernel).front();
  return spaced(make_kernel_problem(kernel, limit_rows(kernel, kernel.tile.m + 3 + more), 2 * kernel.tile.n + 5,
                                    300 + more, type),
                1);
}

// More tiles than SMs, with an aligned C: persistent kernels compute several tiles in each block.
Problem many_tiles(const Kernel& kernel, int64_t k, DType c) {
  return make_kernel_problem(kernel, limit_rows(kernel, kernel.tile.m + 3), 70 * kernel.tile.n + 8, k,
                             list_types(kernel).front(), c);
}

class Stream {
 public:
  explicit Stream(const DriverApi& driver) : driver_(driver) {
    result_ = driver.cuStreamCreate(&stream_, kCuStreamNonBlocking);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }
  [[nodiscard]] Result<void> ready() const {
    if (result_ != kCudaSuccess) return driver_error(driver_, result_, "making a stream");
    return {};
  }
  [[nodiscard]] CuStream get() const { return stream_; }

 private:
  const DriverApi& driver_;
  CuStream stream_ = nullptr;
  CuResult result_ = kCudaSuccess;
};

struct OnStream {
  const DeviceCall& call;
  CuStream stream;
};

// Checks each GEMM inside the check of the previous one; the innermost call launches all of them.
Result<void> interleaved(const Kernel& kernel, Backend& backend, size_t left, std::vector<OnStream>& all) {
  const GpuKernels& kernels = *backend.gpu_kernels();
  if (left == 0) {
    for (int round = 0; round < 50; ++round) {
      for (const auto& one : all) PBPROBE_CHECK(one.call.launch(one.stream));
    }
    PBPROBE_CU(kernels.driver(), "waiting for all streams", cuCtxSynchronize());
    return {};
  }
  const auto execute = [&](const Problem& problem, CheckData& data) -> Result<void> {
    PBPROBE_TRY(const Plan plan, make_plan(kernel, backend, problem));
    const DeviceCall call(kernels, plan, data);
    const Stream stream(kernels.driver());
    PBPROBE_CHECK(stream.ready());
    all.push_back({call, stream.get()});
    const auto done = interleaved(kernel, backend, left - 1, all);
    all.pop_back();
    if (!done.ok()) return done;
    return call.fetch_c(data);
  };
  expect_exact(some_tiles(kernel, 40 * static_cast<int64_t>(left)), execute);
  return {};
}

// Driver functions that only tests use, found by name.
struct GraphApi {
  using Instantiate = CuResult (*)(void** executable, CuGraph graph, unsigned long long flags);
  using Launch = CuResult (*)(void* executable, CuStream stream);
  using Destroy = CuResult (*)(void* executable);
  Instantiate instantiate = nullptr;
  Launch launch = nullptr;
  Destroy destroy = nullptr;

  GraphApi() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return;
    instantiate = reinterpret_cast<Instantiate>(dlsym(library, "cuGraphInstantiateWithFlags"));
    launch = reinterpret_cast<Launch>(dlsym(library, "cuGraphLaunch"));
    destroy = reinterpret_cast<Destroy>(dlsym(library, "cuGraphExecDestroy"));
  }
  [[nodiscard]] bool whole() const { return instantiate != nullptr && launch != nullptr && destroy != nullptr; }
};

Result<void> replay(const GraphApi& api, const DriverApi& driver, const DeviceCall& call, CheckData& data) {
  const Stream stream(driver);
  PBPROBE_CHECK(stream.ready());
  CuGraph graph = nullptr;
  void* executable = nullptr;
  PBPROBE_CU(driver, "beginning a capture", cuStreamBeginCapture(stream.get(), kCuCaptureRelaxed));
  const auto launched = call.launch(stream.get());
  PBPROBE_CU(driver, "ending the capture", cuStreamEndCapture(stream.get(), &graph));
  if (!launched.ok()) return launched;
  auto result = api.instantiate(&executable, graph, 0);
  driver.cuGraphDestroy(graph);
  if (result != kCudaSuccess) return driver_error(driver, result, "making the graph ready");
  const CheckData before = data;
  Result<void> right;
  for (int i = 0; i < 3 && right.ok(); ++i) {
    right = call.put_c(before);
    if (right.ok() && (result = api.launch(executable, stream.get())) != kCudaSuccess)
      right = driver_error(driver, result, "replaying the graph");
    driver.cuStreamSynchronize(stream.get());
    if (right.ok()) right = call.fetch_c(data);
  }
  api.destroy(executable);
  return right;
}

// Rows of a host's matrix, stored on the device at rows that are far apart.
class FarMatrix {
 public:
  FarMatrix(const DriverApi& driver, int64_t rows, int64_t near, int64_t far)
      : driver_(driver), rows_(rows), near_(near), far_(far) {
    result_ = driver.cuMemAlloc(&address_, static_cast<size_t>(rows * far));
  }
  FarMatrix(const FarMatrix&) = delete;
  FarMatrix& operator=(const FarMatrix&) = delete;
  ~FarMatrix() {
    if (address_ != 0) driver_.cuMemFree(address_);
  }
  [[nodiscard]] bool there() const { return result_ == kCudaSuccess; }
  [[nodiscard]] void* data() const { return reinterpret_cast<void*>(address_); }
  Result<void> put(const std::byte* from) const {
    for (int64_t row = 0; row < rows_; ++row) {
      PBPROBE_CU(driver_, "copying a row there",
                 cuMemcpyHtoD(address_ + static_cast<CuDevicePtr>(row * far_), from + row * near_,
                              static_cast<size_t>(near_)));
    }
    return {};
  }
  Result<void> fetch(std::byte* to) const {
    for (int64_t row = 0; row < rows_; ++row) {
      PBPROBE_CU(
          driver_, "copying a row back",
          cuMemcpyDtoH(to + row * near_, address_ + static_cast<CuDevicePtr>(row * far_), static_cast<size_t>(near_)));
    }
    return {};
  }

 private:
  const DriverApi& driver_;
  int64_t rows_, near_, far_;  // bytes from one row to the next
  CuDevicePtr address_ = 0;
  CuResult result_ = kCudaSuccess;
};

// The least multiple of 16 with which so many rows have more than 2^31 elements.
int64_t far_leading(int64_t rows) {
  constexpr int64_t kElements = (int64_t{1} << 31) + 4096;
  return (kElements / (rows - 1) + 16) / 16 * 16;
}

int64_t count_operand_bytes(const Problem& problem) {
  return (problem.m * problem.lda + problem.n * problem.ldb) * size_of(problem.a) +
         problem.m * problem.ldc * size_of(problem.c);
}

// `near`: the problem on the host; plan.problem: the problem on the device.
Result<void> run_far(const Plan& plan, const Problem& near, const GpuKernels& kernels, CheckData& data) {
  const DriverApi& driver = kernels.driver();
  const Problem& far = plan.problem;
  const int64_t of_ab = size_of(far.a);
  const int64_t of_c = size_of(far.c);
  const FarMatrix a(driver, far.m, near.lda * of_ab, far.lda * of_ab);
  const FarMatrix b(driver, far.n, near.ldb * of_ab, far.ldb * of_ab);
  const FarMatrix c(driver, far.m, near.ldc * of_c, far.ldc * of_c);
  if (!a.there() || !b.there() || !c.there()) return make_error(ErrorCode::device, "not enough memory");
  PBPROBE_CHECK(a.put(data.a.data()));
  PBPROBE_CHECK(b.put(data.b.data()));
  PBPROBE_CHECK(c.put(data.c.data()));
  const DeviceArray workspace(driver, poisoned(plan.workspace_bytes));
  const DeviceArray blocks_a(driver, data.blocks_a);
  const DeviceArray blocks_b(driver, data.blocks_b);
  for (const auto* array : {&workspace, &blocks_a, &blocks_b}) {
    if (array->result() != kCudaSuccess) return driver_error(driver, array->result(), "copying an operand there");
  }
  Operands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.c = c.data();
  operands.blocks_a = blocks_a.data();
  operands.blocks_b = blocks_b.data();
  Context context;
  context.workspace = workspace.data();
  context.workspace_bytes = plan.workspace_bytes;
  context.gpu = &kernels;
  PBPROBE_CHECK(run(plan, operands, context));
  PBPROBE_CU(driver, "waiting for the kernel", cuCtxSynchronize());
  return c.fetch(data.c.data());
}

void launch_often(const Problem& often, const Kernel& kernel, Backend& backend) {
  constexpr int kBatch = 1000;
  const GpuKernels& kernels = *backend.gpu_kernels();
  expect_exact(often, [&](const Problem& problem, CheckData& data) -> Result<void> {
    PBPROBE_TRY(const Plan plan, make_plan(kernel, backend, problem));
    const DeviceCall call(kernels, plan, data);
    const CheckData before = data;
    for (int batch = 0; batch < 10; ++batch) {
      PBPROBE_CHECK(call.put_c(before));
      for (int i = 0; i < kBatch; ++i) PBPROBE_CHECK(call.launch());
      PBPROBE_CU(kernels.driver(), "waiting for a thousand launches", cuCtxSynchronize());
      CheckData after = before;
      PBPROBE_CHECK(call.fetch_c(after));
      if (batch > 0 && after.c.bytes != data.c.bytes)
        return make_error(ErrorCode::device, "launches {} to {} gave other bits", batch * kBatch, (batch + 1) * kBatch);
      data.c = std::move(after.c);
    }
    return {};
  });
}

// 10,000 launches without waiting between them, each thousand of them with the bits of the first.
void many_launches(const Kernel& kernel, Backend& backend) {
  launch_often(some_tiles(kernel), kernel, backend);
  if (kernel.work != GpuWork::blocks && kernel.c.has(DType::bf16))
    launch_often(many_tiles(kernel, 300, DType::bf16), kernel, backend);
  if (!is_fp8(kernel.dtype) || !reads_one_scale(kernel)) return;
  Problem fast = many_tiles(kernel, 300, DType::bf16);
  fast.fast_sums = true;
  launch_often(fast, kernel, backend);
}

// Three parts of k, if the kernel can, with scales of rows and of whole operands; and FP8 with fast sums, of one part
// and of several.
void several_parts(const Kernel& kernel, Backend& backend) {
  constexpr int64_t kParts = 3;
  const DType type = list_types(kernel).front();
  const DType c = kernel.c.has(DType::bf16) ? DType::bf16 : kernel.accumulator;
  Problem problem = make_kernel_problem(kernel, limit_rows(kernel, kernel.tile.m + 3), kernel.tile.n + 8,
                                        13 * kernel.tile.k + 8, type, c);
  problem.scale_a = problem.scale_b = c != DType::int32;
  ChooseOptions options = backend.options();
  options.kernel = std::string(kernel.name);
  options.parts = kParts;
  for (const bool per_tensor : {false, problem.scale_a}) {
    problem.per_tensor = per_tensor;
    const auto result = check(problem, [&](const Problem& checked, CheckData& data) -> Result<void> {
      PBPROBE_TRY(const Plan plan, choose(checked, this_host(), {}, options));
      if (kernel.work == GpuWork::warpgroups && kernel.instruction == "wgmma") {
        EXPECT_GT(plan.split, 1) << kernel.name;
      }
      return backend.run(plan, data);
    });
    ASSERT_TRUE(result.ok()) << kernel.name << ": " << result.error().message;
    EXPECT_TRUE(result->passed) << kernel.name << ": " << result->what;
  }
  if (!is_fp8(type)) return;
  for (const int64_t lines : {1, 3, 9}) {
    problem = spaced(make_kernel_problem(kernel, problem.m, problem.n, lines * kernel.tile.k - 7, type, c), 1);
    problem.fast_sums = true;
    expect_right(kernel, backend, problem);
  }
}

// GEMMs of several shapes interleaved on streams of their own: none has state that another could meet.
void concurrent_streams(const Kernel& kernel, Backend& backend) {
  std::vector<OnStream> all;
  const auto result = interleaved(kernel, backend, 4, all);
  EXPECT_TRUE(result.ok()) << result.error().message;
}

// Captured in a graph and replayed: what a launch encodes is in the graph, and nothing waits or allocates.
void captured(const Kernel& kernel, Backend& backend) {
  static const GraphApi api;
  const GpuKernels& kernels = *backend.gpu_kernels();
  if (!api.whole() || kernels.driver().cuStreamBeginCapture == nullptr) GTEST_SKIP() << "this driver has no graphs";
  expect_exact(some_tiles(kernel), [&](const Problem& problem, CheckData& data) -> Result<void> {
    PBPROBE_TRY(const Plan plan, make_plan(kernel, backend, problem));
    const DeviceCall call(kernels, plan, data);
    return replay(api, kernels.driver(), call, data);
  });
}

}  // namespace

void launches(const Kernel& kernel, Backend& backend) {
  many_launches(kernel, backend);
  several_parts(kernel, backend);
  concurrent_streams(kernel, backend);
  captured(kernel, backend);
}

void several_tiles(const Kernel& kernel, Backend& backend) {
  for (const DType c : {DType::bf16, DType::fp16}) {
    if (!kernel.c.has(c)) continue;
    for (int vectors = 0; vectors < 4; ++vectors) {
      constexpr int64_t kLengths[] = {136, 40, 0};
      Problem problem = many_tiles(kernel, kLengths[vectors % 3], c);
      problem.bias = (vectors & 1) != 0;
      problem.scale_a = problem.scale_b = (vectors & 2) != 0;
      expect_right(kernel, backend, problem);
      problem.per_tensor = vectors > 1;
      problem.fast_sums = is_fp8(kernel.dtype);
      if (vectors > 1) expect_right(kernel, backend, problem);
      if (testing::Test::HasFailure()) return;
    }
  }
}

void far_apart(const Kernel& kernel, Backend& backend) {
  const auto near = make_kernel_problem(kernel, limit_rows(kernel, 70), 300, 40, list_types(kernel).front());
  std::string no_room;
  const auto result = check(near, Tier::exact, [&](const Problem& problem, CheckData& data) -> Result<void> {
    Problem far = problem;
    far.lda = far_leading(problem.m);
    far.ldb = far_leading(problem.n);
    far.ldc = far_leading(problem.m);
    PBPROBE_TRY(const Plan plan, make_plan(kernel, backend, far));
    no_room = explain_missing_memory(backend, count_operand_bytes(far));
    if (!no_room.empty()) return make_error(ErrorCode::device, "{}", no_room);
    return run_far(plan, problem, *backend.gpu_kernels(), data);
  });
  if (!no_room.empty()) GTEST_SKIP() << no_room;
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->passed) << result->what;
}

}  // namespace pbprobe::test
