// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Operators as Python functions that do without torch's dispatcher, which takes longer than a small GEMM. They compute
// products of plain tensors in CPU memory and return None for all others: pbprobe/ops.py then calls the dispatcher,
// which computes the product or raises the error.
#ifdef PBPROBE_STABLE_ABI

#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "bindings/torch_operators.hpp"

// Python's stable ABI, as far as it is used here. Weak, because a C++ program without Python may load the operators.
extern "C" {
struct PyObject;
struct PyThreadState;
struct PyMethodDef {
  const char* name;
  PyObject* (*function)(PyObject* self, PyObject* const* arguments, ptrdiff_t count);
  int flags;
  const char* documentation;
};
[[gnu::weak]] PyObject* PyCFunction_NewEx(PyMethodDef* method, PyObject* self, PyObject* module);
[[gnu::weak]] PyObject* PyObject_GetAttr(PyObject* object, PyObject* name);
[[gnu::weak]] PyObject* PyObject_Type(PyObject* object);
[[gnu::weak]] PyObject* PyUnicode_InternFromString(const char* text);
[[gnu::weak]] long PyLong_AsLong(PyObject* number);
[[gnu::weak]] void* PyLong_AsVoidPtr(PyObject* number);
[[gnu::weak]] void PyErr_Clear();
[[gnu::weak]] PyThreadState* PyEval_SaveThread();
[[gnu::weak]] void PyEval_RestoreThread(PyThreadState* thread);
[[gnu::weak]] void Py_DecRef(PyObject* object);
[[gnu::weak]] void Py_IncRef(PyObject* object);
}

namespace pbprobe::ops {
namespace {

using torch_abi::Tensor;
using torch_abi::TensorView;

// An at::Tensor, which is one pointer, without its ownership.
struct BorrowedTensor {
  void* implementation = nullptr;  // c10::TensorImpl

  [[nodiscard]] AtenTensorHandle handle() { return reinterpret_cast<AtenTensorHandle>(this); }
};
using Operands3 = std::array<BorrowedTensor, 3>;

// Functions of torch that its stable ABI lacks, by name, and objects of Python that are never freed.
struct Library {
  PyObject* (*wrap)(const void* tensor) = nullptr;  // THPVariable_Wrap
  bool (*is_negated)(const void* tensor) = nullptr;
  bool (*requires_grad)(const void* implementation) = nullptr;
  bool (*has_function_mode)() = nullptr;
  bool (*has_callbacks)() = nullptr;  // a profiler's functions
  uint64_t inference_keys = 0;
  PyObject* none = nullptr;
  PyObject* tensor_type = nullptr;
  PyObject* parameter_type = nullptr;
  PyObject* forward_ad = nullptr;
  PyObject* address_name = nullptr;
  PyObject* level_name = nullptr;
};
Library library;

// Returns the first member of c10::impl::raw_local_dispatch_key_set: dispatch keys that this thread adds to the keys of
// tensors. Zero outside modes.
uint64_t get_thread_keys() {
  thread_local const auto* const keys =
      static_cast<const uint64_t*>(::dlsym(RTLD_DEFAULT, "_ZN3c104impl26raw_local_dispatch_key_setE"));
  return keys == nullptr ? UINT64_MAX : *keys;
}

template <class Function>
bool look_up(Function*& function, void* from, const char* symbol) {
  function = reinterpret_cast<Function*>(::dlsym(from, symbol));
  return function != nullptr;
}

bool find_functions() {
  void* const python = ::dlopen("libtorch_python.so", RTLD_NOW | RTLD_NOLOAD);
  return python != nullptr && look_up(library.wrap, python, "_Z16THPVariable_WrapRKN2at10TensorBaseE") &&
         look_up(library.is_negated, RTLD_DEFAULT, "_ZN2at6native6is_negERKNS_6TensorE") &&
         look_up(library.requires_grad, RTLD_DEFAULT, "_ZNK3c1010TensorImpl13requires_gradEv") &&
         look_up(library.has_function_mode, RTLD_DEFAULT, "_ZN2at4impl27torch_function_mode_enabledEv") &&
         look_up(library.has_callbacks, RTLD_DEFAULT, "_ZN2at12hasCallbacksEv");
}

// Returns a new reference to an attribute, or null without an exception.
PyObject* get_attribute(PyObject* object, PyObject* name) {
  PyObject* const value = PyObject_GetAttr(object, name);
  if (value == nullptr) PyErr_Clear();
  return value;
}

// Reports whether nothing in this thread observes operators or changes them: no mode, transform, trace, profiler or
// forward-mode gradient.
bool is_thread_plain() {
  const uint64_t keys = get_thread_keys();
  if ((keys != 0 && keys != library.inference_keys) || library.has_function_mode() || library.has_callbacks())
    return false;
  PyObject* const level = get_attribute(library.forward_ad, library.level_name);
  if (level == nullptr) return false;
  const bool outside = PyLong_AsLong(level) == -1;
  Py_DecRef(level);
  return outside;
}

// Stores the tensor of a Python object. Returns false unless it is plain: not of a subclass, in CPU memory, without a
// gradient to compute, and not the negated view of another tensor. Throws for tensors without a device.
bool borrow(PyObject* object, bool records_gradients, BorrowedTensor& tensor) {
  PyObject* const type = PyObject_Type(object);
  Py_DecRef(type);  // the object owns it too
  if (type != library.tensor_type && type != library.parameter_type) return false;
  PyObject* const address = get_attribute(object, library.address_name);
  if (address == nullptr) return false;
  tensor.implementation = PyLong_AsVoidPtr(address);
  Py_DecRef(address);
  return tensor.implementation != nullptr && !library.is_negated(&tensor) &&
         !(records_gradients && library.requires_grad(tensor.implementation)) && !torch_abi::get_gpu(tensor.handle());
}

// Lets other threads of Python run, as torch's own operators do.
class ReleasedPython {
 public:
  ReleasedPython() : thread_(PyEval_SaveThread()) {}
  ~ReleasedPython() { PyEval_RestoreThread(thread_); }
  ReleasedPython(const ReleasedPython&) = delete;
  ReleasedPython& operator=(const ReleasedPython&) = delete;

 private:
  PyThreadState* thread_;
};

PyObject* return_none() {
  Py_IncRef(library.none);
  return library.none;
}

// Returns compute(operands) as a Python tensor, or None if an operand is not plain or compute() throws.
template <class Compute>
PyObject* call(PyObject* const* arguments, size_t count, const Compute& compute) {
  try {
    Operands3 operands;
    bool plain = is_thread_plain();
    const bool records_gradients = aoti_torch_grad_mode_is_enabled();
    for (size_t i = 0; i < count && plain; ++i) plain = borrow(arguments[i], records_gradients, operands[i]);
    if (plain) {
      const Tensor result = [&] {
        const ReleasedPython released;
        return compute(operands);
      }();
      return library.wrap(result.get());
    }
  } catch (const std::exception&) {
  }
  return return_none();
}

PyObject* call_mm(PyObject* /*self*/, PyObject* const* arguments, ptrdiff_t count) {
  if (count != 2) return return_none();
  return call(arguments, 2, [](Operands3& o) { return mm(TensorView(o[0].handle()), TensorView(o[1].handle())); });
}

PyObject* call_linear(PyObject* /*self*/, PyObject* const* arguments, ptrdiff_t count) {
  if (count != 3) return return_none();
  const bool has_bias = arguments[2] != library.none;
  return call(arguments, has_bias ? 3 : 2, [has_bias](Operands3& o) {
    const TensorView x(o[0].handle());
    const TensorView weight(o[1].handle());
    if (!has_bias) return linear(x, weight, nullptr);
    const TensorView bias(o[2].handle());
    return linear(x, weight, &bias);
  });
}

PyObject* call_int_mm(PyObject* /*self*/, PyObject* const* arguments, ptrdiff_t count) {
  if (count != 2) return return_none();
  return call(arguments, 2, [](Operands3& o) { return int_mm(TensorView(o[0].handle()), TensorView(o[1].handle())); });
}

}  // namespace
}  // namespace pbprobe::ops

// Stores new references to the functions mm(a, b), linear(x, weight, bias or None) and int_mm(a, b) in `functions`.
// Returns false if this torch or this Python lacks what they need. Requires Python's lock, torch.inference_mode() and
// no other mode. Call once, with None, torch.Tensor, torch.nn.Parameter and torch.autograd.forward_ad.
extern "C" __attribute__((visibility("default"))) bool pbprobe_load_direct_calls(PyObject** functions, PyObject* none,
                                                                                 PyObject* tensor_type,
                                                                                 PyObject* parameter_type,
                                                                                 PyObject* forward_ad) {
  using namespace pbprobe::ops;
  constexpr int kFastCall = 0x80;  // METH_FASTCALL
  static std::array<PyMethodDef, 3> methods{{{"mm", call_mm, kFastCall, nullptr},
                                             {"linear", call_linear, kFastCall, nullptr},
                                             {"int_mm", call_int_mm, kFastCall, nullptr}}};
  library.inference_keys = get_thread_keys();
  // Inference mode changes one key. More bits belong to another mode, or to another layout of the keys.
  if (PyCFunction_NewEx == nullptr || !find_functions() || std::popcount(library.inference_keys) != 1) return false;
  for (PyObject* kept : {none, tensor_type, parameter_type, forward_ad}) Py_IncRef(kept);
  library.none = none;
  library.tensor_type = tensor_type;
  library.parameter_type = parameter_type;
  library.forward_ad = forward_ad;
  library.address_name = PyUnicode_InternFromString("_cdata");
  library.level_name = PyUnicode_InternFromString("_current_level");
  for (size_t i = 0; i < methods.size(); ++i) functions[i] = PyCFunction_NewEx(&methods[i], nullptr, nullptr);
  return true;
}

#endif
