// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/cutlass.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "probes/measure/cutlass_peer.h"
#include "probes/measure/dlopen.hpp"
#include "probes/measure/timing.hpp"

namespace pbprobe {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr const char* kFile = "libpbprobe_cutlass.so";

// The type of a problem that the library's kernels take: A and B as they are, C as they write it.
std::optional<int> type_of(const Problem& p) {
  if (p.a == DType::bf16 && p.b == DType::bf16 && p.c == DType::bf16) return kPbprobeCutlassBf16;
  if (p.a == DType::int8 && p.b == DType::int8 && p.c == DType::int32) return kPbprobeCutlassInt8;
  if (p.a == DType::tf32 && p.b == DType::tf32 && p.c == DType::fp32) return kPbprobeCutlassTf32;
  return std::nullopt;
}

bool packed(const Problem& p) {
  return p.layout == Layout::nt && p.lda == p.k && p.ldb == p.k && p.ldc == p.n && !p.bias && !p.scale_a && !p.scale_b;
}

}  // namespace

struct Cutlass::Functions {
  int (*count)() = nullptr;
  const PbprobeCutlassKernel* (*kernel)(int index) = nullptr;
  int (*run)(int index, const PbprobeCutlassCall* call) = nullptr;
};

struct Cutlass::Gemm::State {
  const Functions* functions = nullptr;
  int index = 0;
  PbprobeCutlassCall call = {};
  std::string name;
  DeviceBuffer workspace;
};

std::vector<std::string> cutlass_places() {
  if (const char* const named = std::getenv("PBPROBE_CUTLASS_PEER"); named != nullptr && *named != '\0') return {named};
  std::vector<std::string> places;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) places.push_back((program.parent_path().parent_path() / "lib" / kFile).string());
  places.emplace_back(kFile);
  return places;
}

Result<Cutlass> Cutlass::load(const std::vector<std::string>& places) {
  Cutlass library;
  PBPROBE_TRY(OpenedLibrary opened,
              open_first(places, fmt::format("{} was not found: build it with `make cutlass`, or name it in "
                                             "PBPROBE_CUTLASS_PEER",
                                             kFile)));
  library.path_ = std::move(opened.place);
  auto functions = std::make_unique<Functions>();
  Symbols find{opened.handle, {}};
  find(functions->count, "pbprobe_cutlass_count");
  find(functions->kernel, "pbprobe_cutlass_kernel");
  find(functions->run, "pbprobe_cutlass_run");
  if (!find.missing.empty()) return make_error(ErrorCode::unsupported, "{} has no {}", library.path_, find.missing);
  library.functions_ = std::move(functions);
  return library;
}

Cutlass::Cutlass(Cutlass&&) noexcept = default;
Cutlass::~Cutlass() = default;
Cutlass::Gemm::Gemm(Gemm&&) noexcept = default;
Cutlass::Gemm::~Gemm() = default;

const std::string& Cutlass::Gemm::name() const {
  return state_->name;
}

std::vector<std::string> Cutlass::families() const {
  std::vector<std::string> all;
  for (int i = 0; i < functions_->count(); ++i) {
    const std::string family = functions_->kernel(i)->family;
    if (std::find(all.begin(), all.end(), family) == all.end()) all.push_back(family);
  }
  return all;
}

Result<Cutlass::Gemm> Cutlass::plan(const Problem& p, std::string_view family, const Operands& operands,
                                    GpuDevice& device) const {
  const auto type = type_of(p);
  if (!type || !packed(p) || std::max({p.m, p.n, p.k}) > INT32_MAX)
    return make_error(ErrorCode::unsupported,
                      "CUTLASS's peers multiply packed A[m,k] by B[n,k]: bf16 to bf16, int8 to int32, tf32 to fp32; "
                      "not {}",
                      describe(p));
  Gemm gemm;
  gemm.state_ = std::make_unique<Gemm::State>();
  Gemm::State& state = *gemm.state_;
  state.functions = functions_.get();
  PBPROBE_TRY(state.workspace, device.allocate(kWorkspaceBytes));
  state.call.m = static_cast<int>(p.m);
  state.call.n = static_cast<int>(p.n);
  state.call.k = static_cast<int>(p.k);
  state.call.workspace = state.workspace.data();
  state.call.workspace_bytes = kWorkspaceBytes;
  std::vector<int> candidates;
  for (int i = 0; i < functions_->count(); ++i) {
    const PbprobeCutlassKernel& kernel = *functions_->kernel(i);
    if (family == kernel.family && kernel.type == *type) candidates.push_back(i);
  }
  const auto take = [&](int candidate) {
    state.index = candidates[static_cast<size_t>(candidate)];
    const PbprobeCutlassKernel& kernel = *functions_->kernel(state.index);
    state.name = fmt::format("{} {}", kernel.family, kernel.name);
  };
  const auto once = [&] { return gemm.run(operands, device.stream()); };
  const auto time = [&](int candidate, int64_t repeats) {
    take(candidate);
    return device.time_us(once, repeats);
  };
  const auto chosen = fastest_of(static_cast<int>(candidates.size()), time);
  if (!chosen.ok())
    return make_error(ErrorCode::unsupported, "CUTLASS's {} family has no GEMM for {}: {}", family, describe(p),
                      chosen.error().message);
  take(*chosen);
  return gemm;
}

Result<void> Cutlass::Gemm::run(const Operands& operands, CuStream stream) const {
  PbprobeCutlassCall call = state_->call;
  call.a = operands.a;
  call.b = operands.b;
  call.c = operands.c;
  call.stream = stream;
  const int status = state_->functions->run(state_->index, &call);
  if (status == 0) return {};
  return make_error(ErrorCode::device, "CUTLASS's {} answered status {}", state_->name, status);
}

}  // namespace pbprobe
