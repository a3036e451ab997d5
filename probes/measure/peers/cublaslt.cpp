// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Declared by hand from cuBLAS's documentation, version 12 and 13: the two agree in all that is used.
#include "probes/measure/peers/cublaslt.hpp"

#include <array>
#include <utility>

#include "core/statuses.hpp"
#include "probes/measure/child/dlopen.hpp"
#include "probes/measure/kernels/timing.hpp"

namespace pbprobe {
namespace {

Error failed(int status, ErrorCode code, const std::string& what) {
  Error error = make_error(code, "{} answered status {}", what, status);
  error.obstacle = classify_status(StatusSource::cublas, status);
  return error;
}

constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr int kMostProposals = 32;
constexpr int kSuccess = 0;
enum ComputeType : int { kCompute32F = 68, kCompute32FFastTf32 = 77, kCompute32I = 72 };
enum DataType : int {
  kReal32F = 0,
  kReal16F = 2,
  kReal8I = 3,
  kReal32I = 10,
  kReal16BF = 14,
  kReal8E4M3 = 28,
  kReal8E5M2 = 29
};
enum DescriptorAttribute : int {
  kTransposeA = 3,
  kTransposeB = 4,
  kScalesOfA = 17,  // a pointer
  kScalesOfB = 18,
  kScaleModeOfA = 31,
  kScaleModeOfB = 32
};
enum ScaleMode : int { kScalesOf1x128 = 4, kScalesOf128x128 = 5 };  // FP32; since 12.9, on 9.0
enum PreferenceAttribute : int { kMaxWorkspaceBytes = 1 };

// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  std::array<uint64_t, 8> algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  std::array<int, 4> reserved;
};

DataType data_type(DType type) {
  switch (type) {
    case DType::bf16: return kReal16BF;
    case DType::fp16: return kReal16F;
    case DType::int8: return kReal8I;
    case DType::e4m3: return kReal8E4M3;
    case DType::e5m2: return kReal8E5M2;
    case DType::int32: return kReal32I;
    default: return kReal32F;
  }
}

}  // namespace

struct CublasLt::Functions {
  LOOKED_UP(int(void**), create, "cublasLtCreate");
  LOOKED_UP(int(void*), destroy, "cublasLtDestroy");
  LOOKED_UP(int(void**, int compute, int scale), descriptor_create, "cublasLtMatmulDescCreate");
  LOOKED_UP(int(void*, int attribute, const void*, size_t), descriptor_set, "cublasLtMatmulDescSetAttribute");
  LOOKED_UP(int(void*), descriptor_destroy, "cublasLtMatmulDescDestroy");
  LOOKED_UP(int(void**, int type, uint64_t rows, uint64_t columns, int64_t leading), layout_create,
            "cublasLtMatrixLayoutCreate");
  LOOKED_UP(int(void*), layout_destroy, "cublasLtMatrixLayoutDestroy");
  LOOKED_UP(int(void**), preference_create, "cublasLtMatmulPreferenceCreate");
  LOOKED_UP(int(void*, int attribute, const void*, size_t), preference_set, "cublasLtMatmulPreferenceSetAttribute");
  LOOKED_UP(int(void*), preference_destroy, "cublasLtMatmulPreferenceDestroy");
  LOOKED_UP(int(void* handle, void* descriptor, void* a, void* b, void* c, void* d, void* preference, int wanted,
                Heuristic*, int* found),
            heuristic, "cublasLtMatmulAlgoGetHeuristic");
  LOOKED_UP(int(void* handle, void* descriptor, const void* alpha, const void* a, void* a_layout, const void* b,
                void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                const void* algorithm, void* workspace, size_t bytes, CuStream stream),
            matmul, "cublasLtMatmul");
};

// The library's matrices are column-major and C is row-major: C^T = B^T * A^T.
struct CublasLt::Gemm::State {
  const Functions* functions = nullptr;
  void* handle = nullptr;
  void* descriptor = nullptr;
  void* left = nullptr;   // layout of pbprobe's B
  void* right = nullptr;  // layout of pbprobe's A
  void* result = nullptr;
  std::vector<Heuristic> proposals;
  size_t chosen = 0;
  bool integers = false;
  bool scaled = false;  // has block scales
  DeviceBuffer workspace;

  // The heuristics want pointers too: until there are some, any address that is aligned.
  [[nodiscard]] int set_modes(const Problem& p) {
    scaled = true;
    alignas(16) static constexpr char kNothing[16] = {};
    const auto mode = [](const BlockRows& scales) { return scales.squares ? kScalesOf128x128 : kScalesOf1x128; };
    const int left_mode = mode(block_rows_b(p));
    const int right_mode = mode(block_rows_a(p));
    for (const auto& [attribute, value] : {std::pair{kScaleModeOfA, left_mode}, {kScaleModeOfB, right_mode}}) {
      if (const int status = functions->descriptor_set(descriptor, attribute, &value, sizeof value); status != kSuccess)
        return status;
    }
    return set_scales(kNothing, kNothing);
  }
  [[nodiscard]] int set_scales(const void* of_left, const void* of_right) const {
    const int status = functions->descriptor_set(descriptor, kScalesOfA, &of_left, sizeof of_left);
    return status != kSuccess ? status : functions->descriptor_set(descriptor, kScalesOfB, &of_right, sizeof of_right);
  }

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (void* layout : {left, right, result})
      if (layout != nullptr) functions->layout_destroy(layout);
    if (descriptor != nullptr) functions->descriptor_destroy(descriptor);
  }
};

std::vector<std::string> cublaslt_places(const std::optional<std::string>& libtorch_dir) {
  std::vector<std::string> places;
  const std::array<const char*, 2> names{"libcublasLt.so.13", "libcublasLt.so.12"};
  if (libtorch_dir) {
    for (const char* folder : {"", "/../../nvidia/cu13/lib", "/../../nvidia/cublas/lib"})
      for (const char* name : names) places.push_back(fmt::format("{}{}/{}", *libtorch_dir, folder, name));
  }
  for (const char* name : names) places.emplace_back(name);
  return places;
}

Result<CublasLt> CublasLt::load(const std::vector<std::string>& places) {
  CublasLt library;
  PBPROBE_TRY(OpenedLibrary opened,
              open_first(places,
                         "libcublasLt was not found: activate an environment with a CUDA torch, or put its folder on "
                         "LD_LIBRARY_PATH"));
  library.path_ = std::move(opened.place);
  auto functions = std::make_unique<Functions>();
  Symbols symbols{opened.handle, {}};
  symbols.find(*functions);
  if (!symbols.missing.empty())
    return make_error(ErrorCode::unsupported, "{} has no {}", library.path_, symbols.missing);
  library.functions_ = std::move(functions);
  return library;
}

CublasLt::CublasLt(CublasLt&& other) noexcept
    : functions_(std::move(other.functions_)),
      handle_(std::exchange(other.handle_, nullptr)),
      path_(std::move(other.path_)) {}

CublasLt::~CublasLt() {
  if (handle_ != nullptr) functions_->destroy(handle_);
}

CublasLt::Gemm::Gemm(Gemm&&) noexcept = default;
CublasLt::Gemm::~Gemm() = default;

// The GEMM without its algorithm, and what the heuristics propose for it, the first one first.
Result<CublasLt::Gemm> CublasLt::propose(const Problem& p, const GpuDevice& device, int most) const {
  if (p.bias || p.scale_a || p.scale_b || (p.blocks != BlockScale::none && !are_fp32(p.blocks)))
    return make_error(ErrorCode::unsupported,
                      "pbprobe measures cublasLt only with plain GEMMs and with FP32 block scales");
  Gemm gemm;
  gemm.state_ = std::make_unique<Gemm::State>();
  Gemm::State& state = *gemm.state_;
  state.functions = functions_.get();
  const auto call = [&](const char* what, int status) -> Result<void> {
    if (status == kSuccess) return {};
    return failed(status, ErrorCode::unsupported, fmt::format("cublasLt has no GEMM for {}: {}", describe(p), what));
  };
  if (handle_ == nullptr) PBPROBE_CHECK(call("cublasLtCreate", functions_->create(&handle_)));
  state.handle = handle_;
  state.integers = p.accumulator == DType::int32;
  const bool tf32 = p.a == DType::tf32;
  const int compute = state.integers ? kCompute32I : tf32 ? kCompute32FFastTf32 : kCompute32F;
  PBPROBE_CHECK(call("cublasLtMatmulDescCreate",
                     functions_->descriptor_create(&state.descriptor, compute, state.integers ? kReal32I : kReal32F)));
  const int turn_left = b_is_nk(p.layout) ? 1 : 0;
  const int turn_right = a_is_km(p.layout) ? 1 : 0;
  PBPROBE_CHECK(call("cublasLtMatmulDescSetAttribute",
                     functions_->descriptor_set(state.descriptor, kTransposeA, &turn_left, sizeof turn_left)));
  PBPROBE_CHECK(call("cublasLtMatmulDescSetAttribute",
                     functions_->descriptor_set(state.descriptor, kTransposeB, &turn_right, sizeof turn_right)));
  if (p.blocks != BlockScale::none) PBPROBE_CHECK(call("cublasLtMatmulDescSetAttribute", state.set_modes(p)));
  const auto size = [](int64_t number) { return static_cast<uint64_t>(number); };
  PBPROBE_CHECK(call("cublasLtMatrixLayoutCreate",
                     functions_->layout_create(&state.left, data_type(p.b), size(stored_columns_b(p)),
                                               size(stored_rows_b(p)), p.ldb)));
  PBPROBE_CHECK(call("cublasLtMatrixLayoutCreate",
                     functions_->layout_create(&state.right, data_type(p.a), size(stored_columns_a(p)),
                                               size(stored_rows_a(p)), p.lda)));
  PBPROBE_CHECK(call("cublasLtMatrixLayoutCreate",
                     functions_->layout_create(&state.result, data_type(p.c), size(p.n), size(p.m), p.ldc)));
  void* preference = nullptr;
  PBPROBE_CHECK(call("cublasLtMatmulPreferenceCreate", functions_->preference_create(&preference)));
  const size_t bytes = kWorkspaceBytes;
  functions_->preference_set(preference, kMaxWorkspaceBytes, &bytes, sizeof bytes);
  int found = 0;
  state.proposals.resize(static_cast<size_t>(most));
  const int status = functions_->heuristic(handle_, state.descriptor, state.left, state.right, state.result,
                                           state.result, preference, most, state.proposals.data(), &found);
  functions_->preference_destroy(preference);
  PBPROBE_CHECK(call("cublasLtMatmulAlgoGetHeuristic", status));
  if (found < 1) return make_error(ErrorCode::unsupported, "cublasLt has no GEMM for {}", describe(p));
  state.proposals.resize(static_cast<size_t>(found));
  PBPROBE_TRY(state.workspace, device.allocate(kWorkspaceBytes));
  return gemm;
}

Result<CublasLt::Gemm> CublasLt::plan(const Problem& p, const GpuDevice& device) const {
  return propose(p, device, 1);
}

Result<CublasLt::Gemm> CublasLt::plan_best(const Problem& p, const Operands& operands, GpuDevice& device) const {
  PBPROBE_TRY(Gemm gemm, propose(p, device, kMostProposals));
  Gemm::State& state = *gemm.state_;
  const auto once = [&] { return gemm.run(operands, device.stream()); };
  const auto chosen =
      find_fastest_candidate(static_cast<int>(state.proposals.size()), [&](int candidate, int64_t repeats) {
        state.chosen = static_cast<size_t>(candidate);
        return device.time_us(once, repeats);
      });
  if (!chosen.ok()) return chosen.error();
  state.chosen = static_cast<size_t>(*chosen);
  return gemm;
}

Result<void> CublasLt::Gemm::run(const Operands& operands, CuStream stream) const {
  const float one = 1;
  const float zero = 0;
  const int32_t integer_one = 1;
  const int32_t integer_zero = 0;
  State& s = *state_;
  const void* alpha = s.integers ? static_cast<const void*>(&integer_one) : &one;
  const void* beta = s.integers ? static_cast<const void*>(&integer_zero) : &zero;
  if (s.scaled) {
    if (const int status = s.set_scales(operands.blocks_b, operands.blocks_a); status != kSuccess)
      return failed(status, ErrorCode::device, "cublasLtMatmulDescSetAttribute");
  }
  const int status = s.functions->matmul(
      s.handle, s.descriptor, alpha, operands.b, s.left, operands.a, s.right, beta, operands.c, s.result, operands.c,
      s.result, s.proposals[s.chosen].algorithm.data(), s.workspace.data(), kWorkspaceBytes, stream);
  if (status == kSuccess) return {};
  return failed(status, ErrorCode::device, "cublasLtMatmul");
}

}  // namespace pbprobe
