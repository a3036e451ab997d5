// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/device_call.hpp"

namespace pbprobe::test {

Guarded poisoned(int64_t bytes) {
  Guarded space;
  space.bytes.resize(static_cast<size_t>(bytes), std::byte{kPoison});
  return space;
}

DeviceCall::DeviceCall(const GpuKernels& kernels, const Plan& plan, const CheckData& data)
    : kernels_(kernels),
      plan_(plan),
      a_(kernels.driver(), data.a),
      b_(kernels.driver(), data.b),
      c_(kernels.driver(), data.c),
      bias_(kernels.driver(), data.bias),
      scale_a_(kernels.driver(), data.scale_a),
      scale_b_(kernels.driver(), data.scale_b),
      blocks_a_(kernels.driver(), data.blocks_a),
      blocks_b_(kernels.driver(), data.blocks_b),
      workspace_(kernels.driver(), poisoned(plan.workspace_bytes)) {}

Result<void> DeviceCall::launch(CuStream stream) const {
  for (const auto* array : {&a_, &b_, &c_, &bias_, &scale_a_, &scale_b_, &blocks_a_, &blocks_b_, &workspace_}) {
    if (array->result() != kCudaSuccess)
      return driver_error(kernels_.driver(), array->result(), "copying an operand there");
  }
  Operands operands;
  operands.a = a_.data();
  operands.b = b_.data();
  operands.c = c_.data();
  operands.bias = static_cast<const float*>(bias_.data());
  operands.scale_a = static_cast<const float*>(scale_a_.data());
  operands.scale_b = static_cast<const float*>(scale_b_.data());
  operands.blocks_a = blocks_a_.data();
  operands.blocks_b = blocks_b_.data();
  Context context;
  context.workspace = workspace_.data();
  context.workspace_bytes = plan_.workspace_bytes;
  context.stream = stream;
  context.gpu = &kernels_;
  return run(plan_, operands, context);
}

Result<void> DeviceCall::put_c(const CheckData& data) const {
  if (const auto result = c_.upload(data.c); result != kCudaSuccess)
    return driver_error(kernels_.driver(), result, "copying C there");
  return {};
}

Result<void> DeviceCall::fetch_c(CheckData& data) const {
  if (const auto result = c_.download(data.c); result != kCudaSuccess)
    return driver_error(kernels_.driver(), result, "copying C back");
  return {};
}

}  // namespace pbprobe::test
