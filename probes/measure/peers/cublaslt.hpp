// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// NVIDIA's own GEMMs as a peer: libcublasLt, loaded where a torch, its wheels or a toolkit keep it, and declared
// here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "kernels/gemm/problem.hpp"
#include "probes/measure/kernels/gpu_device.hpp"

namespace pbprobe {

// Returns the paths to try: next to the libtorch of this folder, in the folders of its wheels, and the bare name.
[[nodiscard]] std::vector<std::string> cublaslt_places(const std::optional<std::string>& libtorch_dir);

class CublasLt {
 public:
  // Loads the first place that works. Error not_found: none works; the message lists the places.
  [[nodiscard]] static Result<CublasLt> load(const std::vector<std::string>& places);
  CublasLt(CublasLt&&) noexcept;
  CublasLt& operator=(CublasLt&&) = delete;
  ~CublasLt();

  // One problem and the algorithm for it, with 32 MiB of workspace, as torch asks for.
  class Gemm {
   public:
    Gemm(Gemm&&) noexcept;
    Gemm& operator=(Gemm&&) = delete;
    ~Gemm();  // frees the descriptor, the layouts and the workspace
    // Launches in the stream. Error: device, with the library's status.
    [[nodiscard]] Result<void> run(const Operands& operands, CuStream stream) const;

   private:
    friend class CublasLt;
    Gemm() = default;
    struct State;
    std::unique_ptr<State> state_;
  };
  // Plans the first proposal of the heuristics, as torch does. The GEMM must not outlive this library.
  // Errors: unsupported (bias or scales, or types and shapes that it has no GEMM for: its status).
  [[nodiscard]] Result<Gemm> plan(const Problem& problem, const GpuDevice& device) const;
  // Plans the fastest of 32 proposals on these operands.
  [[nodiscard]] Result<Gemm> plan_best(const Problem& problem, const Operands& operands, GpuDevice& device) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  CublasLt() = default;
  [[nodiscard]] Result<Gemm> propose(const Problem& problem, const GpuDevice& device, int most) const;
  struct Functions;
  std::unique_ptr<Functions> functions_;
  mutable void* handle_ = nullptr;  // made with the first plan: it lives in the context that is current then
  std::string path_;
};

}  // namespace pbprobe
