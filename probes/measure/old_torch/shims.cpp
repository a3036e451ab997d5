// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The part of torch's C shims that pbprobe calls (torch/csrc/inductor/aoti_torch/c/shim.h), for a torch before 2.8,
// which has none: a shared object, built against that torch, which libtorch.cpp loads instead. On the dispatcher's
// stack lies, as there, a word for each argument: a tensor's handle, an integer or a truth, and null for None.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#define PBPROBE_SHIM extern "C" __attribute__((visibility("default")))

namespace {

at::Tensor* tensor_of(void* handle) {
  return static_cast<at::Tensor*>(handle);
}

// As torch's own shims do: 0 for success, and the exception's words on stderr, which pbprobe captures.
template <class Body>
int32_t guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "Exception in a shim for torch: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "Exception in a shim for torch\n");
  }
  return 1;
}

at::TensorOptions options_of(int32_t dtype, int32_t device_type, int32_t device_index) {
  return at::TensorOptions()
      .dtype(static_cast<at::ScalarType>(dtype))
      .device(at::Device(static_cast<at::DeviceType>(device_type), static_cast<at::DeviceIndex>(device_index)));
}

// Takes over the tensor of a handle, as the stack's new owner.
c10::IValue value_of(uint64_t word, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType: {
      void* handle = nullptr;
      std::memcpy(&handle, &word, sizeof handle);
      std::unique_ptr<at::Tensor> tensor(tensor_of(handle));
      return std::move(*tensor);
    }
    case c10::TypeKind::IntType: return static_cast<int64_t>(word);
    case c10::TypeKind::BoolType: return word != 0;
    case c10::TypeKind::OptionalType:
      if (word == 0) return {};
      [[fallthrough]];
    default: TORCH_CHECK(false, "an argument of type ", type->str(), " is not handed over");
  }
}

}  // namespace

PBPROBE_SHIM uint64_t aoti_torch_abi_version() {
  return uint64_t{TORCH_VERSION_MAJOR} << 56 | uint64_t{TORCH_VERSION_MINOR} << 48 |
         uint64_t{TORCH_VERSION_PATCH} << 40;
}

// By the name that later torches export: the dispatcher's choice, from what this one says of itself.
namespace at {
__attribute__((visibility("default"))) std::string get_cpu_capability() {
  const std::string_view key = "CPU capability usage: ";
  const std::string reported = at::show_config();
  const size_t begin = reported.find(key);
  if (begin == std::string::npos) return {};
  const size_t end = reported.find('\n', begin);
  return reported.substr(begin + key.size(), end - begin - key.size());
}
}  // namespace at

PBPROBE_SHIM int32_t aoti_torch_device_type_cpu() {
  return static_cast<int32_t>(at::kCPU);
}
PBPROBE_SHIM int32_t aoti_torch_device_type_cuda() {
  return static_cast<int32_t>(at::kCUDA);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_float32() {
  return static_cast<int32_t>(at::kFloat);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_float64() {
  return static_cast<int32_t>(at::kDouble);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_float16() {
  return static_cast<int32_t>(at::kHalf);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_bfloat16() {
  return static_cast<int32_t>(at::kBFloat16);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_int8() {
  return static_cast<int32_t>(at::kChar);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_uint8() {
  return static_cast<int32_t>(at::kByte);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_int32() {
  return static_cast<int32_t>(at::kInt);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_int64() {
  return static_cast<int32_t>(at::kLong);
}
PBPROBE_SHIM int32_t aoti_torch_dtype_complex64() {
  return static_cast<int32_t>(at::kComplexFloat);
}

PBPROBE_SHIM int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes,
                                                        const int64_t* strides, int64_t storage_offset, int32_t dtype,
                                                        int32_t device_type, int32_t device_index, void** tensor) {
  return guarded([&] {
    const auto options = options_of(dtype, device_type, device_index);
    *tensor = new at::Tensor(at::for_blob(data, at::IntArrayRef(sizes, ndim))
                                 .strides(at::IntArrayRef(strides, ndim))
                                 .storage_offset(storage_offset)
                                 .options(options)
                                 .make_tensor());
  });
}

PBPROBE_SHIM int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                                              int32_t device_type, int32_t device_index, void** tensor) {
  return guarded([&] {
    *tensor = new at::Tensor(at::empty_strided(at::IntArrayRef(sizes, ndim), at::IntArrayRef(strides, ndim),
                                               options_of(dtype, device_type, device_index)));
  });
}

PBPROBE_SHIM int32_t aoti_torch_new_tensor_handle(void* tensor, void** copy) {
  return guarded([&] { *copy = new at::Tensor(*tensor_of(tensor)); });
}

PBPROBE_SHIM int32_t aoti_torch_delete_tensor_object(void* tensor) {
  return guarded([&] { delete tensor_of(tensor); });
}

PBPROBE_SHIM int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, uint64_t* stack) {
  return guarded([&] {
    const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    torch::jit::Stack values;
    const auto& arguments = handle.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) values.push_back(value_of(stack[i], arguments[i].type()));
    handle.callBoxed(values);
    for (size_t i = 0; i < values.size(); ++i) {
      TORCH_CHECK(values[i].isTensor(), name, " returned a ", values[i].tagKind());
      void* const result = new at::Tensor(values[i].toTensor());
      std::memcpy(&stack[i], &result, sizeof result);
    }
  });
}

PBPROBE_SHIM int32_t aoti_torch_cpu_convolution(void* input, void* weight, void** bias, const int64_t* stride,
                                                int64_t strides, const int64_t* padding, int64_t paddings,
                                                const int64_t* dilation, int64_t dilations, int32_t transposed,
                                                const int64_t* output_padding, int64_t output_paddings, int64_t groups,
                                                void** result) {
  return guarded([&] {
    c10::optional<at::Tensor> added;
    if (bias != nullptr) added = *tensor_of(*bias);
    *result =
        new at::Tensor(at::convolution(*tensor_of(input), *tensor_of(weight), added, at::IntArrayRef(stride, strides),
                                       at::IntArrayRef(padding, paddings), at::IntArrayRef(dilation, dilations),
                                       transposed != 0, at::IntArrayRef(output_padding, output_paddings), groups));
  });
}
