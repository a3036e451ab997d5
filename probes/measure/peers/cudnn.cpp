// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Declared by hand from the documentation of cuDNN's backend API, versions 8 and 9: the two agree in all that is used.
#include "probes/measure/kernels/gpu_probes.hpp"

#include <array>
#include <utility>

#include "core/statuses.hpp"
#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

enum DescriptorType : int {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kPlan = 5,
  kConvolutionForward = 10,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
};
enum ValueType : int { kHandle = 0, kDataType = 1, kBoolean = 2, kInt64 = 3, kFloat = 4, kPointer = 6, kMode = 7 };
enum OtherValueType : int { kHeuristicMode = 8, kDescriptor = 15 };
enum Attribute : int {
  kConvComputeType = 100,
  kConvMode = 101,
  kConvDilations = 102,
  kConvStrides = 103,
  kConvPostPaddings = 104,
  kConvPrePaddings = 105,
  kConvSpatialDims = 106,
  kHeuristicModeOf = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kGraphEngines = 802,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
};
enum Data : int { kData32F = 0, kData8I = 3, kData32I = 4, kData16BF = 9 };
constexpr int kCrossCorrelation = 1;
constexpr int kHeuristicA = 3;
constexpr int64_t kMostEngines = 8;

struct Functions {
  LOOKED_UP(int(void** handle), create, "cudnnCreate");
  LOOKED_UP(int(void* handle), destroy, "cudnnDestroy");
  LOOKED_UP(int(void* handle, CuStream stream), set_stream, "cudnnSetStream");
  LOOKED_UP(int(int type, void** descriptor), create_descriptor, "cudnnBackendCreateDescriptor");
  LOOKED_UP(int(void* descriptor), destroy_descriptor, "cudnnBackendDestroyDescriptor");
  LOOKED_UP(int(void* descriptor, int attribute, int type, int64_t count, const void* values), set_attribute,
            "cudnnBackendSetAttribute");
  LOOKED_UP(int(void* descriptor, int attribute, int type, int64_t wanted, int64_t* count, void* values), get_attribute,
            "cudnnBackendGetAttribute");
  LOOKED_UP(int(void* descriptor), finalize, "cudnnBackendFinalize");
  LOOKED_UP(int(void* handle, void* plan, void* pack), execute, "cudnnBackendExecute");
  LOOKED_UP(const char*(int status), error_string, "cudnnGetErrorString");
};

Result<void> check(const Functions& functions, const char* what, int status) {
  if (status == 0) return {};
  Error error = make_error(ErrorCode::device, "cuDNN, {}: {}", what, functions.error_string(status));
  error.obstacle = classify_status(StatusSource::cudnn, status);
  return error;
}

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept
      : functions_(other.functions_), handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(functions_, other.functions_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Descriptor() {
    if (handle_ != nullptr) functions_->destroy_descriptor(handle_);
  }

  static Result<Descriptor> make(const Functions& functions, DescriptorType type) {
    Descriptor made;
    made.functions_ = &functions;
    PBPROBE_CHECK(check(functions, "making a descriptor", functions.create_descriptor(type, &made.handle_)));
    return made;
  }

  template <class T>
  Result<void> set(Attribute attribute, int type, const T* values, int64_t count) {
    return check(*functions_, "setting an attribute",
                 functions_->set_attribute(handle_, attribute, type, count, values));
  }
  template <class T>
  Result<void> set(Attribute attribute, int type, const T& value) {
    return set(attribute, type, &value, 1);
  }
  Result<void> set(Attribute attribute, const Descriptor& other) { return set(attribute, kDescriptor, other.handle_); }

  [[nodiscard]] int finalize_status() const { return functions_->finalize(handle_); }
  Result<void> finalize(const char* what) const { return check(*functions_, what, finalize_status()); }

  [[nodiscard]] Result<int64_t> integer(Attribute attribute) const {
    int64_t value = 0;
    int64_t count = 0;
    PBPROBE_CHECK(check(*functions_, "reading an attribute",
                        functions_->get_attribute(handle_, attribute, kInt64, 1, &count, &value)));
    return value;
  }
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  const Functions* functions_ = nullptr;
  void* handle_ = nullptr;
};

// Images of 8×8 with 32 channels, 3×3 weights for as many, padded: small, and a multiple of what INT8 asks for.
constexpr int64_t kImages = 2, kChannels = 32, kSide = 8;
constexpr int64_t kPixels = kImages * kSide * kSide * kChannels;
constexpr int64_t kWeights = kChannels * 9 * kChannels;

int64_t mixed(int64_t index, uint32_t factor) {
  return static_cast<uint32_t>(index + 1) * factor >> 20;
}
int64_t pixel(int64_t index) {
  return mixed(index, 2654435761U) % 3 - 1;
}
int64_t weight(int64_t index) {
  return mixed(index, 2246822519U) % 3 - 1;
}

// Channels are neighbours (NHWC). Sums stay under 128 for these numbers, so they fit INT8 and BF16 too.
int64_t expected(int64_t n, int64_t y, int64_t x, int64_t output) {
  int64_t sum = 0;
  for (int64_t i = 0; i < 9; ++i) {
    const int64_t row = y + i / 3 - 1;
    const int64_t column = x + i % 3 - 1;
    if (row < 0 || row >= kSide || column < 0 || column >= kSide) continue;
    for (int64_t c = 0; c < kChannels; ++c)
      sum += pixel(((n * kSide + row) * kSide + column) * kChannels + c) * weight((output * 9 + i) * kChannels + c);
  }
  return sum;
}

struct Types {
  DType in;
  DType out;
  Data in_data;
  Data out_data;
  Data compute;
};

class Convolution {
 public:
  Convolution(const Functions& functions, void* handle, const GpuDevice& device, const Types& types)
      : functions_(functions), handle_(handle), device_(device), types_(types) {}

  Result<void> build() {
    PBPROBE_TRY(x_, tensor('x', {kImages, kChannels, kSide, kSide}, types_.in_data));
    PBPROBE_TRY(w_, tensor('w', {kChannels, kChannels, 3, 3}, types_.in_data));
    PBPROBE_TRY(y_, tensor('y', {kImages, kChannels, kSide, kSide}, types_.out_data));
    constexpr std::array<int64_t, 2> kOnes{1, 1};
    PBPROBE_TRY(convolution_, Descriptor::make(functions_, kConvolution));
    PBPROBE_CHECK(convolution_.set(kConvComputeType, kDataType, types_.compute));
    PBPROBE_CHECK(convolution_.set(kConvMode, kMode, kCrossCorrelation));
    PBPROBE_CHECK(convolution_.set(kConvSpatialDims, kInt64, int64_t{2}));
    for (const Attribute attribute : {kConvDilations, kConvStrides, kConvPostPaddings, kConvPrePaddings})
      PBPROBE_CHECK(convolution_.set(attribute, kInt64, kOnes.data(), 2));
    PBPROBE_CHECK(convolution_.finalize("describing a convolution"));
    PBPROBE_TRY(forward_, Descriptor::make(functions_, kConvolutionForward));
    PBPROBE_CHECK(forward_.set(kForwardX, x_));
    PBPROBE_CHECK(forward_.set(kForwardW, w_));
    PBPROBE_CHECK(forward_.set(kForwardY, y_));
    PBPROBE_CHECK(forward_.set(kForwardConvolution, convolution_));
    PBPROBE_CHECK(forward_.set(kForwardAlpha, kFloat, 1.0F));
    PBPROBE_CHECK(forward_.set(kForwardBeta, kFloat, 0.0F));
    PBPROBE_CHECK(forward_.finalize("describing a convolution forwards"));
    PBPROBE_TRY(graph_, Descriptor::make(functions_, kGraph));
    PBPROBE_CHECK(graph_.set(kGraphHandle, kHandle, handle_));
    PBPROBE_CHECK(graph_.set(kGraphOperations, forward_));
    return graph_.finalize("describing a graph");
  }

  [[nodiscard]] Result<int64_t> engines() const { return graph_.integer(kGraphEngines); }

  [[nodiscard]] Result<bool> takes(int64_t engine) const {
    PBPROBE_TRY(Descriptor descriptor, Descriptor::make(functions_, kEngine));
    PBPROBE_CHECK(descriptor.set(kEngineGraph, graph_));
    PBPROBE_CHECK(descriptor.set(kEngineIndex, kInt64, engine));
    return descriptor.finalize_status() == 0;
  }

  // Runs the first of cuDNN's proposals that can be planned.
  [[nodiscard]] Result<void> run_one() const {
    PBPROBE_TRY(Descriptor heuristic, Descriptor::make(functions_, kEngineHeuristic));
    PBPROBE_CHECK(heuristic.set(kHeuristicGraph, graph_));
    PBPROBE_CHECK(heuristic.set(kHeuristicModeOf, kHeuristicMode, kHeuristicA));
    PBPROBE_CHECK(heuristic.finalize("asking for proposals"));
    std::vector<Descriptor> proposals;
    std::array<void*, kMostEngines> handles{};
    for (void*& handle : handles) {
      PBPROBE_TRY(Descriptor proposal, Descriptor::make(functions_, kEngineConfig));
      handle = proposal.handle();
      proposals.push_back(std::move(proposal));
    }
    int64_t count = 0;
    PBPROBE_CHECK(check(functions_, "reading proposals",
                        functions_.get_attribute(heuristic.handle(), kHeuristicResults, kDescriptor, kMostEngines,
                                                 &count, handles.data())));
    Result<void> last = make_error(ErrorCode::device, "cuDNN proposes no engine");
    for (int64_t i = 0; i < count && i < kMostEngines; ++i) {
      PBPROBE_TRY(Descriptor plan, Descriptor::make(functions_, kPlan));
      PBPROBE_CHECK(plan.set(kPlanHandle, kHandle, handle_));
      PBPROBE_CHECK(plan.set(kPlanConfig, kDescriptor, handles.at(static_cast<size_t>(i))));
      last = plan.finalize("planning a convolution");
      if (last.ok()) return execute(plan);
    }
    return last;
  }

 private:
  [[nodiscard]] Result<Descriptor> tensor(int64_t id, const std::array<int64_t, 4>& sizes, Data type) const {
    const std::array<int64_t, 4> strides{sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]};
    PBPROBE_TRY(Descriptor descriptor, Descriptor::make(functions_, kTensor));
    PBPROBE_CHECK(descriptor.set(kTensorType, kDataType, type));
    PBPROBE_CHECK(descriptor.set(kTensorDimensions, kInt64, sizes.data(), 4));
    PBPROBE_CHECK(descriptor.set(kTensorStrides, kInt64, strides.data(), 4));
    PBPROBE_CHECK(descriptor.set(kTensorId, kInt64, id));
    PBPROBE_CHECK(descriptor.set(kTensorAlignment, kInt64, int64_t{16}));
    PBPROBE_CHECK(descriptor.finalize("describing a tensor"));
    return descriptor;
  }

  [[nodiscard]] Result<DeviceBuffer> upload(DType type, int64_t count, int64_t (*value)(int64_t)) const {
    std::vector<std::byte> bytes(static_cast<size_t>(count * size_of(type)));
    for (int64_t i = 0; i < count; ++i) set_element(bytes.data(), type, i, static_cast<double>(value(i)));
    PBPROBE_TRY(DeviceBuffer buffer, device_.allocate(bytes.size()));
    PBPROBE_CHECK(device_.upload(buffer, 0, bytes.data(), bytes.size()));
    return buffer;
  }

  [[nodiscard]] Result<void> execute(const Descriptor& plan) const {
    PBPROBE_TRY(const DeviceBuffer x, upload(types_.in, kPixels, &pixel));
    PBPROBE_TRY(const DeviceBuffer w, upload(types_.in, kWeights, &weight));
    PBPROBE_TRY(const DeviceBuffer y, device_.allocate(static_cast<size_t>(kPixels * size_of(types_.out))));
    PBPROBE_CHECK(device_.fill(y, 0x7f));
    PBPROBE_TRY(const int64_t bytes, plan.integer(kPlanWorkspace));
    PBPROBE_TRY(const DeviceBuffer workspace, device_.allocate(static_cast<size_t>(bytes)));
    constexpr std::array<int64_t, 3> kIds{'x', 'w', 'y'};
    const std::array<void*, 3> pointers{x.data(), w.data(), y.data()};
    PBPROBE_TRY(Descriptor pack, Descriptor::make(functions_, kVariantPack));
    PBPROBE_CHECK(pack.set(kPackIds, kInt64, kIds.data(), 3));
    PBPROBE_CHECK(pack.set(kPackPointers, kPointer, pointers.data(), 3));
    PBPROBE_CHECK(pack.set(kPackWorkspace, kPointer, workspace.data()));
    PBPROBE_CHECK(pack.finalize("handing over pointers"));
    PBPROBE_CHECK(
        check(functions_, "running a convolution", functions_.execute(handle_, plan.handle(), pack.handle())));
    std::vector<std::byte> seen(y.bytes());
    PBPROBE_CHECK(device_.download(seen.data(), y, 0, seen.size()));
    for (int64_t i = 0; i < kPixels; ++i) {
      const int64_t place = i / kChannels;
      const auto wanted =
          static_cast<double>(expected(place / (kSide * kSide), place / kSide % kSide, place % kSide, i % kChannels));
      const double value = element(seen.data(), types_.out, i);
      if (value != wanted)
        return make_error(ErrorCode::malformed, "element {} of a convolution in {} is {}, and must be {}", i,
                          name_of(types_.in), value, wanted);
    }
    return {};
  }

  const Functions& functions_;
  void* handle_;
  const GpuDevice& device_;
  Types types_;
  Descriptor x_, w_, y_, convolution_, forward_, graph_;
};

Result<ProbeFigure> ask(const Functions& functions, void* handle, const GpuDevice& device, const Types& types) {
  Convolution convolution(functions, handle, device, types);
  PBPROBE_CHECK(convolution.build());
  PBPROBE_TRY(const int64_t engines, convolution.engines());
  int64_t taking = 0;
  for (int64_t i = 0; i < engines; ++i) {
    PBPROBE_TRY(const bool takes, convolution.takes(i));
    taking += takes ? 1 : 0;
  }
  if (taking > 0) PBPROBE_CHECK(convolution.run_one());
  return ProbeFigure{.device = fmt::format("cuda:{}", device.index()),
                     .target = "libtorch",
                     .name = fmt::format("cuDNN convolution {}, engines", name_of(types.in)),
                     .unit = fmt::format("of {}", engines),
                     .value = static_cast<double>(taking),
                     .proved = taking > 0 ? std::optional(true) : std::nullopt};
}

}  // namespace

Result<void> probe_cudnn(const Libtorch& library, const GpuDevice& device, std::vector<ProbeFigure>& figures) {
  PBPROBE_TRY(const Functions functions, find_functions<Functions>(library, "cuDNN"));
  void* handle = nullptr;
  PBPROBE_CHECK(check(functions, "starting", functions.create(&handle)));
  functions.set_stream(handle, device.stream());
  Result<void> problem;
  for (const Types& types : {Types{DType::bf16, DType::bf16, kData16BF, kData16BF, kData32F},
                             Types{DType::int8, DType::int8, kData8I, kData8I, kData32I}}) {
    auto figure = ask(functions, handle, device, types);
    if (figure.ok()) {
      figures.push_back(std::move(*figure));
    } else if (problem.ok() || problem.error().code != ErrorCode::malformed) {
      Error reported = figure.error();
      reported.message = fmt::format("{}: {}", name_of(types.in), reported.message);
      problem = reported;
    }
  }
  functions.destroy(handle);
  return problem;
}

}  // namespace pbprobe
