// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/ptx/launches.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <sstream>

#include "kernels/cuda/host/probes.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/reference.hpp"
#include "paths.hpp"
#include "tests/kernels/loading_driver.hpp"
#include "tests/kernels/ptx/tensor_map.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe::ptx {

Machine machine;

namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The passes around the kernels ran on GPUs: here their meaning is enough.
void repack(const GpuRepack& pass, int64_t element) {
  for (int64_t i = 0; i < pass.rows; ++i) {
    for (int64_t j = 0; j < pass.columns; ++j) {
      const int64_t from = pass.transpose ? j * pass.from_leading + i : i * pass.from_leading + j;
      std::memcpy(static_cast<char*>(pass.to) + (i * pass.to_leading + j) * element,
                  static_cast<const char*>(pass.from) + from * element, static_cast<size_t>(element));
    }
  }
}

void reduce(const GpuCall& call) {
  const DType type = call.c_type == kGpuBf16 ? DType::bf16 : call.c_type == kGpuFp16 ? DType::fp16 : DType::fp32;
  for (int64_t i = 0; i < call.m; ++i) {
    for (int64_t j = 0; j < call.n; ++j) {
      float sum = 0;
      for (int64_t part = 0; part < call.split; ++part)
        sum += static_cast<const float*>(call.partials)[(part * call.m + i) * call.n + j];
      if (call.scale_a != nullptr) sum *= call.scale_a[i];
      if (call.scale_b != nullptr) sum *= call.scale_b[j];
      if (call.bias != nullptr) sum += call.bias[j];
      set_element(call.c, type, i * call.ldc + j, static_cast<double>(sum));
    }
  }
}

Result<void> launch_here(const std::string& symbol, LaunchOf launch, void** parameters) {
  machine.launched.push_back(symbol);
  if (symbol.starts_with("repack_")) {
    const auto* passes = static_cast<const GpuRepacks*>(parameters[0]);
    for (const GpuRepack* pass : {&passes->first, &passes->second}) repack(*pass, std::stoll(symbol.substr(7)));
    return {};
  }
  if (symbol == "reduce_fp32") {
    reduce(*static_cast<const GpuCall*>(parameters[0]));
    return {};
  }
  auto found = machine.programs.find(symbol);
  if (found == machine.programs.end()) {
    PBPROBE_TRY(auto program, read_program(machine.text, symbol));
    found = machine.programs.emplace(symbol, std::move(program)).first;
  }
  const Program& program = found->second;
  for (size_t i = 0; i < program.parameter_bytes.size(); ++i)
    launch.parameters.emplace_back(static_cast<const std::byte*>(parameters[i]), program.parameter_bytes[i]);
  launch.memory = machine.memory;
  return run_program(program, launch);
}

int convert_result(const Result<void>& done) {
  if (done.ok()) return 0;
  machine.fault = done.error().message;
  return int{kCudaErrorLaunchFailed};
}

int capability[2];

}  // namespace

DriverApi interpreting_driver(int major, int minor) {
  capability[0] = major;
  capability[1] = minor;
  DriverApi driver = test::loading_driver();
  driver.cuDeviceGetAttribute = [](int* value, int attribute, CuDevice) {
    *value = capability[attribute == kCuCapabilityMajor ? 0 : 1];
    return 0;
  };
  driver.cuGetErrorName = driver.cuGetErrorString = [](CuResult, const char** text) {
    *text = machine.fault.c_str();
    return 0;
  };
  driver.cuLaunchKernel = [](CuFunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                             unsigned, unsigned shared, CuStream, void** parameters, void**) {
    const LaunchOf launch{.blocks_x = x, .blocks_y = y, .blocks_z = z, .threads = threads, .shared_bytes = shared};
    return convert_result(launch_here(test::name_of_function(function), launch, parameters));
  };
  driver.cuLaunchKernelEx = [](const CuLaunchConfig* config, CuFunction function, void** parameters, void**) {
    LaunchOf launch{.blocks_x = config->grid[0],
                    .blocks_y = config->grid[1],
                    .blocks_z = config->grid[2],
                    .threads = config->block[0],
                    .shared_bytes = config->shared_bytes};
    for (unsigned i = 0; i < config->attribute_count; ++i) {
      const auto& attribute = config->attributes[i];
      if (attribute.id == kCuLaunchClusterDimension) launch.cluster = attribute.value.dims[0];
    }
    return convert_result(launch_here(test::name_of_function(function), launch, parameters));
  };
  driver.cuTensorMapEncodeTiled = encode_tensor_map;
  return driver;
}

std::vector<Range> list_ranges(CheckData& data, std::vector<std::byte>& workspace) {
  std::vector<Range> ranges;
  const auto add = [&](const std::byte* begin, int64_t bytes, bool written) {
    const auto at = reinterpret_cast<uint64_t>(begin);
    ranges.push_back({at, at + static_cast<uint64_t>(bytes), written});
  };
  for (Guarded* array : {&data.a, &data.b, &data.bias, &data.scale_a, &data.scale_b, &data.blocks_a, &data.blocks_b})
    add(array->data(), array->length_bytes, false);
  add(data.c.data(), data.c.length_bytes, true);
  add(workspace.data(), static_cast<int64_t>(workspace.size()), true);
  return ranges;
}

void InterpretedKernels::load(const std::string& target, const std::string& part, int major, int minor) {
  target_ = target;
  part_ = part;
  machine = {};
  machine.text = read_text(std::string(PBPROBE_KERNEL_CUBINS) + "/" + target_ + "_" + part_ + ".ptx");
  if (machine.text.empty()) GTEST_SKIP() << "the PTX of " << target_ << "'s " << part_ << " kernels is not built";
  driver_ = interpreting_driver(major, minor);
  auto loaded = GpuKernels::load(driver_, target_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  kernels_.emplace(std::move(*loaded));
}

std::vector<const Kernel*> InterpretedKernels::kernels() const {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernel_table()) {
    if (kernel.target == target_ && kernel.part == part_ && kernel.block_scale != BlockScale::none)
      found.push_back(&kernel);
  }
  return found;
}

Problem InterpretedKernels::make_launch_problem(const Kernel& kernel, int64_t m, int64_t n, int64_t k, DType c) {
  Problem problem = make_problem(std::min(m, kernel.max_m), n, k, kernel.dtype, c);
  problem.blocks = kernel.block_scale;
  return problem;
}

Result<CheckResult> InterpretedKernels::checked(const Kernel& kernel, const Problem& problem, int64_t parts,
                                                int64_t misalign) {
  ChooseOptions options{.gpu = 0, .parts = parts};
  options.kernel = std::string(kernel.name);
  const auto execute = [&](const Problem& p, CheckData& data) -> Result<void> {
    PBPROBE_TRY(const Plan plan, choose(p, test::make_tcgen05_host(target_), {}, options));
    std::vector<std::byte> workspace(static_cast<size_t>(plan.workspace_bytes), std::byte{0x7f});
    machine.memory = list_ranges(data, workspace);
    Context context;
    context.workspace = workspace.data();
    context.workspace_bytes = plan.workspace_bytes;
    context.gpu = &*kernels_;
    const auto done = run(plan, data.operands(), context);
    if (!done.ok() && !machine.fault.empty()) return make_error(ErrorCode::malformed, "{}", machine.fault);
    return done;
  };
  CheckOptions check_options;
  check_options.misalign = misalign;
  return check(problem, execute, check_options);
}

void InterpretedKernels::expect_right(const Kernel& kernel, const Problem& problem, int64_t parts, int64_t misalign) {
  const auto result = checked(kernel, problem, parts, misalign);
  ASSERT_TRUE(result.ok()) << kernel.name << ", " << describe(problem) << ": " << result.error().message;
  EXPECT_TRUE(result->passed) << kernel.name << ", " << describe(problem) << ": " << result->what;
}

void InterpretedKernels::expect_right_at_edges(int64_t stages) {
  for (const Kernel* kernel : kernels()) {
    const auto& t = kernel->tile;
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{t.m, t.n, t.k},
                                  {t.m + 1, t.n + 1, 3 * t.k + 48},
                                  {1, 1, 1},
                                  {13, 31, 61},
                                  {t.m - 1, t.n - 1, 16},
                                  {5, 2 * t.n + 5, stages * t.k},
                                  {3, 3, 400},
                                  {4, 4, 0}}) {
      expect_right(*kernel, make_launch_problem(*kernel, m, n, k));
      if (HasFailure()) return;
    }
  }
}

bool InterpretedKernels::passes_after_edit(const std::string& what, const std::string& instead,
                                           const std::string& symbol, const Kernel& kernel, const Problem& problem) {
  const std::string whole = machine.text;
  machine.programs.clear();
  const auto begin = whole.find(".entry " + symbol + "(");
  const auto end = std::min(whole.find(".entry ", begin + 1), whole.size());
  const std::string before = whole.substr(begin, end - begin);
  const std::string changed = std::regex_replace(before, std::regex(what), instead);
  EXPECT_NE(changed, before) << symbol << " has no " << what;
  machine.text = whole.substr(0, begin) + changed + whole.substr(end);
  const auto result = checked(kernel, problem);
  machine.text = whole;
  machine.programs.clear();
  machine.fault.clear();
  return result.ok() && result->passed;
}

int InterpretedKernels::expect_proofs() {
  int proofs = 0;
  for (const Peak& peak : peak_table()) {
    if (peak.target != target_ || peak.part != part_) continue;
    auto proof = make_proof(peak);
    EXPECT_TRUE(proof.ok()) << peak.name;
    if (!proof.ok()) continue;
    std::vector<uint32_t> sums = proof->c;
    const auto add = [](std::vector<uint32_t>& words, bool written) {
      const auto at = reinterpret_cast<uint64_t>(words.data());
      machine.memory.push_back({at, at + 4 * words.size(), written});
    };
    machine.memory.clear();
    add(proof->a, false);
    add(proof->b, false);
    add(sums, true);
    Context context;
    context.gpu = &*kernels_;
    for (const bool broken : {false, true}) {
      sums = proof->c;
      if (broken) proof->a[0] ^= 0x400000U;
      const auto done = run_proof(peak, proof->a.data(), proof->b.data(), sums.data(), context);
      EXPECT_TRUE(done.ok()) << peak.name << ": " << machine.fault;
      EXPECT_EQ(proof_differs(*proof, sums).empty(), !broken) << peak.name << ": " << proof_differs(*proof, sums);
    }
    ++proofs;
  }
  return proofs;
}

}  // namespace pbprobe::ptx
