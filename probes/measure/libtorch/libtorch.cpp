// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/libtorch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <dlfcn.h>

#include "core/fields.hpp"

namespace pbprobe {

// The shims as torch/csrc/inductor/aoti_torch/c/shim.h declares them; 0 is success. On failure they print the
// exception to stderr, which the starter of this process captures.
struct Libtorch::Shims {
  LOOKED_UP(uint64_t(), abi_version, "aoti_torch_abi_version");
  LOOKED_UP(int32_t(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t storage_offset,
                    int32_t dtype, int32_t device_type, int32_t device_index, void** tensor),
            create_tensor_from_blob, "aoti_torch_create_tensor_from_blob");
  LOOKED_UP(int32_t(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
                    int32_t device_index, void** tensor),
            empty_strided, "aoti_torch_empty_strided");
  LOOKED_UP(int32_t(void* tensor, void** copy), new_tensor_handle, "aoti_torch_new_tensor_handle");
  LOOKED_UP(int32_t(void* tensor), delete_tensor_object, "aoti_torch_delete_tensor_object");
  LOOKED_UP(int32_t(const char* name, const char* overload, uint64_t* stack), call_dispatcher,
            "aoti_torch_call_dispatcher");
  LOOKED_UP(int32_t(), device_type_cpu, "aoti_torch_device_type_cpu");
  LOOKED_UP(int32_t(), device_type_cuda, "aoti_torch_device_type_cuda");
  LOOKED_UP(int32_t(), dtype_float32, "aoti_torch_dtype_float32");
  LOOKED_UP(int32_t(), dtype_float16, "aoti_torch_dtype_float16");
  LOOKED_UP(int32_t(), dtype_bfloat16, "aoti_torch_dtype_bfloat16");
  LOOKED_UP(int32_t(), dtype_int8, "aoti_torch_dtype_int8");
  LOOKED_UP(int32_t(), dtype_uint8, "aoti_torch_dtype_uint8");
  LOOKED_UP(int32_t(), dtype_int32, "aoti_torch_dtype_int32");
  // A torch that computes only GEMMs, such as a stub in tests, lacks these: areas then report the missing function.
  LOOKED_UP(int32_t(), dtype_float64, "aoti_torch_dtype_float64", "optional");
  LOOKED_UP(int32_t(), dtype_int64, "aoti_torch_dtype_int64", "optional");
  LOOKED_UP(int32_t(), dtype_complex64, "aoti_torch_dtype_complex64", "optional");
  LOOKED_UP(int32_t(), dtype_e4m3, "aoti_torch_dtype_float8_e4m3fn", "optional");
  LOOKED_UP(int32_t(), dtype_e5m2, "aoti_torch_dtype_float8_e5m2", "optional");
  using Convolution = int32_t (*)(void* input, void* weight, void** bias, const int64_t* stride, int64_t strides,
                                  const int64_t* padding, int64_t paddings, const int64_t* dilation, int64_t dilations,
                                  int32_t transposed, const int64_t* output_padding, int64_t output_paddings,
                                  int64_t groups, void** result);
  FIELD_AS(Convolution, convolution, "aoti_torch_cpu_convolution", "optional") = nullptr;

  // Not part of the C interface, hence optional.
  LOOKED_UP(std::string(), get_cpu_capability, "_ZN2at18get_cpu_capabilityB5cxx11Ev", "optional");
  LOOKED_UP(void(int threads), set_num_threads, "_ZN2at15set_num_threadsEi", "optional");
  LOOKED_UP(void(int8_t device_type, bool enabled), set_autocast_enabled,
            "_ZN2at8autocast20set_autocast_enabledEN3c1010DeviceTypeEb", "optional");
  LOOKED_UP(std::string(), show_config, "_ZN2at11show_configB5cxx11Ev", "optional");

  // From torch 2.10 on: operators whose arguments are lists.
  LOOKED_UP(int32_t(const char* name, const char* overload, uint64_t* stack, uint64_t built_with),
            call_dispatcher_with_lists, "torch_call_dispatcher", "optional");
  LOOKED_UP(int32_t(size_t size, void** list), new_list, "torch_new_list_reserve_size", "optional");
  LOOKED_UP(int32_t(void* list, uint64_t element), list_push_back, "torch_list_push_back", "optional");

  // In libtorch_cuda.so. `library` is null until open_cuda() opened it.
  struct Cuda {
    void* library = nullptr;
    LOOKED_UP(int32_t(void* stream, int32_t device_index, void** guard), create_stream_guard,
              "aoti_torch_create_cuda_stream_guard");
    LOOKED_UP(int32_t(void* guard), delete_stream_guard, "aoti_torch_delete_cuda_stream_guard");
    FIELD_AS(Convolution, convolution, "aoti_torch_cuda_convolution", "optional") = nullptr;
  };
  Cuda cuda;

  [[nodiscard]] int32_t get_dtype_code(DType type) const {
    switch (type) {
      case DType::fp32:
      case DType::tf32: return dtype_float32();
      case DType::fp16: return dtype_float16();
      case DType::bf16: return dtype_bfloat16();
      case DType::int8: return dtype_int8();
      case DType::uint8: return dtype_uint8();
      case DType::int32: return dtype_int32();
      case DType::e4m3: return dtype_e4m3();
      case DType::e5m2: return dtype_e5m2();
      case DType::e2m1x2: return 45;  // no shim names it: c10::ScalarType, whose numbers stay
    }
    return -1;
  }
  [[nodiscard]] int32_t get_dtype_code(Element type) const {
    switch (type) {
      case Element::fp32: return dtype_float32();
      case Element::fp64: return dtype_float64();
      case Element::fp16: return dtype_float16();
      case Element::bf16: return dtype_bfloat16();
      case Element::int64: return dtype_int64();
      case Element::complex64: return dtype_complex64();
      case Element::e8m0: return 44;
      case Element::e4m3: return dtype_e4m3();
    }
    return -1;
  }
};

namespace {

Error shim_failed(std::string_view what) {
  return make_error(ErrorCode::failed_child, "{}: libtorch threw an exception", what);
}

}  // namespace

Libtorch::Tensor::Tensor(Tensor&& other) noexcept
    : shims_(other.shims_), handle_(std::exchange(other.handle_, nullptr)) {}

Libtorch::Tensor& Libtorch::Tensor::operator=(Tensor&& other) noexcept {
  std::swap(shims_, other.shims_);
  std::swap(handle_, other.handle_);
  return *this;
}

Libtorch::Tensor::~Tensor() {
  if (handle_ != nullptr) shims_->delete_tensor_object(handle_);
}

Libtorch::StreamGuard::StreamGuard(StreamGuard&& other) noexcept
    : shims_(other.shims_), handle_(std::exchange(other.handle_, nullptr)) {}

Libtorch::StreamGuard::~StreamGuard() {
  if (handle_ != nullptr) shims_->cuda.delete_stream_guard(handle_);
}

Result<Libtorch> Libtorch::load(const std::string& folder) {
  const std::string path = folder + "/libtorch_cpu.so";
  const std::string global = folder + "/libtorch_global_deps.so";
  std::error_code error;
  if (std::filesystem::exists(global, error)) PBPROBE_CHECK(open_library(global, Scope::global));
  PBPROBE_TRY(void* const library, open_library(path, Scope::local));
  auto shims = std::make_unique<Shims>();
  Symbols symbols{library, {}};
  symbols.find(*shims);
  if (!symbols.missing.empty())
    return make_error(ErrorCode::unsupported,
                      "{} was loaded, but has no {}: it is older than torch 2.8, which pbprobe cannot run; take torch "
                      "2.8 or later",
                      path, symbols.missing);
  return Libtorch(folder, shims.release());
}

Result<void> Libtorch::open_cuda() {
  const std::string path = folder_ + "/libtorch_cuda.so";
  auto* const shims = const_cast<Shims*>(shims_);
  if (shims->cuda.library != nullptr) return {};
  PBPROBE_TRY(void* const library, open_library(path, Scope::local));
  Symbols symbols{library, {}};
  symbols.find(shims->cuda);
  if (!symbols.missing.empty())
    return make_error(ErrorCode::unsupported, "{} was loaded, but has no {}: take torch 2.8 or later", path,
                      symbols.missing);
  shims->cuda.library = library;
  return {};
}

// Only a factory function initializes the device and its allocator; cuBLAS fails over a wrapped tensor without.
Result<void> Libtorch::load_cuda(int32_t device) {
  PBPROBE_CHECK(open_cuda());
  PBPROBE_CHECK(first_tensor(device), "{}/libtorch_cuda.so", folder_);
  return {};
}

Result<void> Libtorch::first_tensor(int32_t device) const {
  const int64_t one = 1;
  void* tensor = nullptr;
  if (shims_->empty_strided(1, &one, &one, shims_->dtype_float32(), shims_->device_type_cuda(), device, &tensor) != 0)
    return shim_failed(fmt::format("making a first tensor on cuda:{}", device));
  shims_->delete_tensor_object(tensor);
  return {};
}

std::optional<std::string> Libtorch::version() const {
  const uint64_t abi = shims_->abi_version();  // major, minor, patch, one byte each from the top
  if (abi >> 56 == 0) return std::nullopt;
  return fmt::format("{}.{}.{}", abi >> 56, abi >> 48 & 0xff, abi >> 40 & 0xff);
}

std::optional<std::string> Libtorch::cpu_capability() const {
  if (shims_->get_cpu_capability == nullptr) return std::nullopt;
  try {
    return shims_->get_cpu_capability();
  } catch (...) {  // foreign code
    return std::nullopt;
  }
}

bool Libtorch::set_threads(int64_t threads) const {
  if (shims_->set_num_threads == nullptr) return false;
  try {
    shims_->set_num_threads(static_cast<int>(threads));
    return true;
  } catch (...) {  // foreign code
    return false;
  }
}

bool Libtorch::set_autocast(bool cuda, bool enabled) const {
  if (shims_->set_autocast_enabled == nullptr) return false;
  const int32_t device = cuda ? shims_->device_type_cuda() : shims_->device_type_cpu();
  try {
    shims_->set_autocast_enabled(static_cast<int8_t>(device), enabled);
    return true;
  } catch (...) {  // foreign code
    return false;
  }
}

std::string Libtorch::configuration() const {
  if (shims_->show_config == nullptr) return {};
  try {
    return shims_->show_config();
  } catch (...) {  // foreign code
    return {};
  }
}

Symbols Libtorch::cuda_symbols() const {
  return {shims_->cuda.library, {}};
}

int64_t size_of(Element type) {
  switch (type) {
    case Element::fp16:
    case Element::bf16: return 2;
    case Element::fp32: return 4;
    case Element::fp64:
    case Element::int64:
    case Element::complex64: return 8;
    case Element::e8m0:
    case Element::e4m3: return 1;
  }
  return 0;
}

Result<Libtorch::Tensor> Libtorch::wrap(const MatrixView& view) const {
  if ((is_fp8(view.type) || view.type == DType::e2m1x2) &&
      (shims_->dtype_e4m3 == nullptr || shims_->dtype_e5m2 == nullptr))
    return make_error(ErrorCode::unsupported, "it exports no aoti_torch_dtype_float8_e4m3fn or e5m2");
  const std::array<int64_t, 2> sizes{view.rows, view.columns};
  const std::array<int64_t, 2> strides{view.row_stride, view.column_stride};
  const bool cuda = view.device >= 0;
  const int32_t device_type = cuda ? shims_->device_type_cuda() : shims_->device_type_cpu();
  void* handle = nullptr;
  if (shims_->create_tensor_from_blob(view.data, 2, sizes.data(), strides.data(), 0, shims_->get_dtype_code(view.type),
                                      device_type, cuda ? view.device : -1, &handle) != 0)
    return shim_failed(fmt::format("wrapping a {}x{} {} tensor", view.rows, view.columns, name_of(view.type)));
  return Tensor(shims_, handle);
}

Result<void> Libtorch::matmul(const Tensor& a, const Tensor& b, const Tensor& out, DType operands) const {
  // The dispatcher takes the handles on its stack over and leaves one for the result.
  std::array<uint64_t, 3> stack{};
  const std::array<const Tensor*, 3> tensors{&a, &b, &out};
  for (size_t i = 0; i < tensors.size(); ++i) {
    void* copy = nullptr;
    if (shims_->new_tensor_handle(tensors[i]->handle(), &copy) != 0) return shim_failed("copying a tensor's handle");
    std::memcpy(&stack[i], &copy, sizeof copy);
  }
  const char* const name = operands == DType::int8 ? "aten::_int_mm" : "aten::mm";
  if (shims_->call_dispatcher(name, "out", stack.data()) != 0)
    return shim_failed(fmt::format("{}.out in {}", name, name_of(operands)));
  void* result = nullptr;
  std::memcpy(&result, &stack[0], sizeof result);
  shims_->delete_tensor_object(result);
  return {};
}

Result<Libtorch::Tensor> Libtorch::wrap(const ArrayView& view) const {
  if (shims_->dtype_float64 == nullptr || shims_->dtype_int64 == nullptr || shims_->dtype_complex64 == nullptr)
    return make_error(ErrorCode::unsupported, "it exports no aoti_torch_dtype_float64, int64 or complex64");
  if (size_of(view.type) == 1 && shims_->dtype_e4m3 == nullptr)
    return make_error(ErrorCode::unsupported, "it exports no aoti_torch_dtype_float8_e4m3fn");
  std::vector<int64_t> strides(view.sizes.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * view.sizes[i];
  const bool cuda = view.device >= 0;
  const int32_t device_type = cuda ? shims_->device_type_cuda() : shims_->device_type_cpu();
  void* handle = nullptr;
  if (shims_->create_tensor_from_blob(view.data, static_cast<int64_t>(view.sizes.size()), view.sizes.data(),
                                      strides.data(), 0, shims_->get_dtype_code(view.type), device_type,
                                      cuda ? view.device : -1, &handle) != 0)
    return shim_failed("wrapping an array");
  return Tensor(shims_, handle);
}

// Returns the stack word of an argument. The callee takes ownership of a handle, as in matmul(). A scalar is in the low
// bytes; None is a null pointer.
Result<uint64_t> Libtorch::stacked(const Argument& argument) const {
  uint64_t word = 0;
  if (const auto* tensor = std::get_if<const Tensor*>(&argument)) {
    void* copy = nullptr;
    if (shims_->new_tensor_handle((*tensor)->handle(), &copy) != 0) return shim_failed("copying a tensor's handle");
    std::memcpy(&word, &copy, sizeof copy);
  } else if (const auto* integer = std::get_if<int64_t>(&argument)) {
    word = static_cast<uint64_t>(*integer);
  } else if (const auto* truth = std::get_if<bool>(&argument)) {
    word = *truth ? 1 : 0;
  } else if (const auto* real = std::get_if<double>(&argument)) {
    std::memcpy(&word, real, sizeof *real);
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&argument)) {
    if (shims_->call_dispatcher_with_lists == nullptr || shims_->new_list == nullptr ||
        shims_->list_push_back == nullptr)
      return make_error(ErrorCode::unsupported, "the C shims of a torch before 2.10 take no lists");
    void* handle = nullptr;
    if (shims_->new_list(list->size(), &handle) != 0) return shim_failed("making a list");
    for (const int64_t element : *list)
      if (shims_->list_push_back(handle, static_cast<uint64_t>(element)) != 0) return shim_failed("filling a list");
    std::memcpy(&word, &handle, sizeof handle);
  }
  return word;
}

Result<std::vector<Libtorch::Tensor>> Libtorch::call(const std::string& name, const std::string& overload,
                                                     std::span<const Argument> arguments, size_t results) const {
  std::vector<uint64_t> stack(std::max(arguments.size(), results), 0);
  bool lists = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    PBPROBE_TRY(stack[i], stacked(arguments[i]));
    lists = lists || std::holds_alternative<std::vector<int64_t>>(arguments[i]);
  }
  const int32_t status =
      lists ? shims_->call_dispatcher_with_lists(name.c_str(), overload.c_str(), stack.data(), shims_->abi_version())
            : shims_->call_dispatcher(name.c_str(), overload.c_str(), stack.data());
  if (status != 0) return shim_failed(overload.empty() ? name : name + "." + overload);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < results; ++i) {
    void* handle = nullptr;
    std::memcpy(&handle, &stack[i], sizeof handle);
    tensors.emplace_back(shims_, handle);
  }
  return tensors;
}

Result<Libtorch::Tensor> Libtorch::convolve(const Tensor& input, const Tensor& weight, std::span<const int64_t> stride,
                                            std::span<const int64_t> padding, bool cuda) const {
  const auto function = cuda ? shims_->cuda.convolution : shims_->convolution;
  if (function == nullptr) return make_error(ErrorCode::unsupported, "this libtorch exports no C shim of convolution");
  const std::vector<int64_t> ones(stride.size(), 1);
  const std::vector<int64_t> zeros(stride.size(), 0);
  const auto count = static_cast<int64_t>(stride.size());
  void* result = nullptr;
  if (function(input.handle(), weight.handle(), nullptr, stride.data(), count, padding.data(), count, ones.data(),
               count, 0, zeros.data(), count, 1, &result) != 0)
    return shim_failed("convolution");
  return Tensor(shims_, result);
}

Result<Libtorch::StreamGuard> Libtorch::use_stream(void* stream, int32_t device) const {
  void* guard = nullptr;
  if (shims_->cuda.create_stream_guard(stream, device, &guard) != 0)
    return shim_failed(fmt::format("setting the stream of cuda:{}", device));
  return StreamGuard(shims_, guard);
}

}  // namespace pbprobe
