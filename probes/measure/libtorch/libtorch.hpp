// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libtorch chosen by path at run time and called through its C shims (torch 2.8 and later), without torch headers: one
// program serves every version. Load it only in a child process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.hpp"
#include "core/result.hpp"
#include "probes/measure/child/dlopen.hpp"

namespace pbprobe {

// A matrix in memory that libtorch only reads or writes: rows × columns, strides in elements.
struct MatrixView {
  void* data = nullptr;  // a device address if device >= 0
  DType type = DType::fp32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  int32_t device = -1;  // index of the GPU; -1: the CPU
};

// Element types of arrays other than GEMM operands. complex64 is a pair of FP32; e8m0 and e4m3 are block scales.
enum class Element : uint8_t { fp32, fp64, fp16, bf16, int64, complex64, e8m0, e4m3 };
[[nodiscard]] int64_t size_of(Element type);  // in bytes

// Contiguous array in memory.
struct ArrayView {
  void* data = nullptr;
  Element type = Element::fp32;
  std::vector<int64_t> sizes;
  int32_t device = -1;
};

// Loaded libtorch, called through the C functions of its stable ABI (shims), so that one program serves all releases.
class Libtorch {
  struct Shims;

 public:
  // An at::Tensor over a MatrixView, whose memory must outlive it.
  class Tensor {
   public:
    Tensor() = default;
    Tensor(const Shims* shims, void* handle) : shims_(shims), handle_(handle) {}
    Tensor(Tensor&& other) noexcept;
    Tensor& operator=(Tensor&& other) noexcept;
    ~Tensor();
    [[nodiscard]] void* handle() const { return handle_; }

   private:
    const Shims* shims_ = nullptr;
    void* handle_ = nullptr;
  };

  // Directs the work of libtorch on one GPU to one stream until destruction.
  class StreamGuard {
   public:
    StreamGuard(const Shims* shims, void* handle) : shims_(shims), handle_(handle) {}
    StreamGuard(StreamGuard&& other) noexcept;
    StreamGuard& operator=(StreamGuard&&) = delete;
    ~StreamGuard();

   private:
    const Shims* shims_ = nullptr;
    void* handle_ = nullptr;
  };

  // Loads libtorch_cpu.so of this folder like Python's torch: libtorch_global_deps.so first, if it exists.
  // Errors: not_found (no such file, or a library that it needs), unsupported (another platform, a newer glibc, older
  // than torch 2.8), malformed (no shared object).
  [[nodiscard]] static Result<Libtorch> load(const std::string& folder);

  // Loads libtorch_cuda.so beside it and lets it initialize this GPU. Call before configuration(): libtorch
  // looks for CUDA only once. Error not_found: a build for CPUs only.
  [[nodiscard]] Result<void> load_cuda(int32_t device);

  // Makes a tensor of one element with libtorch itself. Error failed_child: libtorch threw.
  [[nodiscard]] Result<void> first_tensor(int32_t device) const;

  [[nodiscard]] std::optional<std::string> version() const;         // "2.11.0", from the library's ABI version
  [[nodiscard]] std::optional<std::string> cpu_capability() const;  // the dispatcher's tier: "AVX512"
  [[nodiscard]] bool set_threads(int64_t threads) const;            // false: this libtorch does not export it
  [[nodiscard]] bool set_autocast(bool cuda, bool enabled) const;   // for this thread; false if not exported
  // Returns the text of `torch.__config__.show()`; "" if it is not exported.
  [[nodiscard]] std::string configuration() const;
  // Looks up functions of libtorch_cuda.so and of its libraries; all are missing if it is not loaded.
  [[nodiscard]] Symbols cuda_symbols() const;

  [[nodiscard]] Result<Tensor> wrap(const MatrixView& view) const;
  // Computes out = a · b with aten::mm.out, or aten::_int_mm.out for INT8 operands.
  [[nodiscard]] Result<void> matmul(const Tensor& a, const Tensor& b, const Tensor& out, DType operands) const;

  [[nodiscard]] Result<Tensor> wrap(const ArrayView& view) const;
  // Calls an operator by its schema name, "aten::sort" and "values", with all arguments in order; monostate is None.
  // Errors: failed_child (libtorch threw), unsupported (a list, before torch 2.10).
  using Argument = std::variant<std::monostate, const Tensor*, int64_t, bool, double, std::vector<int64_t>>;
  [[nodiscard]] Result<std::vector<Tensor>> call(const std::string& name, const std::string& overload,
                                                 std::span<const Argument> arguments, size_t results) const;
  // Convolves the last dimensions of input [n,c,…] with weight [o,c,…], for a torch whose dispatcher takes no lists.
  [[nodiscard]] Result<Tensor> convolve(const Tensor& input, const Tensor& weight, std::span<const int64_t> stride,
                                        std::span<const int64_t> padding, bool cuda) const;

  [[nodiscard]] Result<StreamGuard> use_stream(void* stream, int32_t device) const;

 private:
  [[nodiscard]] Result<uint64_t> stacked(const Argument& argument) const;
  [[nodiscard]] Result<void> open_cuda();
  explicit Libtorch(std::string folder, const Shims* shims) : folder_(std::move(folder)), shims_(shims) {}
  std::string folder_;
  const Shims* shims_;  // never freed: a libtorch cannot be unloaded
};

}  // namespace pbprobe
