// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Finds kernels that do nothing, by one rule for torch, its libraries and other packages.
#pragma once

#include <optional>
#include <string_view>

#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/say.hpp"

namespace pbprobe {

// Share of cubins without a kernel, of idle kernels, and of cubins with only idle kernels, that sound builds reach.
struct IdleLimits {
  double empty_cubins;
  double idle_kernels;
  double idle_cubins;
};

// In libtorch_cuda.so of torch 2.11.0 with CUDA 13.0, 2 % (SM 9.0) to 13.5 % (SM 7.5) of the kernels are idle, and 5 %
// to 19 % of the cubins; every tenth cubin has no kernel for its SM. In small files of torch 2.10 to 2.15, 12 % of the
// kernels are idle; in NCCL for SM 8.0, a third.
inline constexpr IdleLimits kOfLibtorch{0.2, 0.2, 0.3};
inline constexpr IdleLimits kOfSmallFile{0.2, 0.25, 0.25};
inline constexpr IdleLimits kOfTinyFile{0.2, 0.45, 0.25};  // libtorch_nvshmem.so: 4 of 9 only assert before SM 9.0
inline constexpr IdleLimits kOfLibrary{1, 0.6, 1};         // cuBLAS has an empty cubin for most of its files
// Packages compile one kernel for each chip generation; on other chips it only prints "FATAL". xformers has four.
inline constexpr IdleLimits kOfPackage{0.2, 0.8, 0.2};

// Returns why the kernels of `code` are faulty; nullopt if they are sound. `file` and `target` appear in the sentence.
[[nodiscard]] std::optional<Sentence> find_idle_code(const SmCensus& code, const IdleLimits& limits,
                                                     std::string_view file, std::string_view target);

}  // namespace pbprobe
