// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels that do nothing: one rule for torch, its libraries and other packages.
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

// Of libtorch_cuda.so of torch 2.11.0 with CUDA 13.0: 2 % (SM 9.0) to 13.5 % (SM 7.5) of the kernels, and 5 % to 19 %
// of the cubins; every tenth cubin is of a file without kernels for that SM. Of the small files of torch 2.10 to 2.15
// 12 %, and of NCCL's kernels for SM 8.0 a third.
inline constexpr IdleLimits kOfLibtorch{0.2, 0.2, 0.3};
inline constexpr IdleLimits kOfSmallFile{0.2, 0.25, 0.25};
inline constexpr IdleLimits kOfTinyFile{0.2, 0.45, 0.25};  // libtorch_nvshmem.so: 4 of 9 only assert before SM 9.0
inline constexpr IdleLimits kOfLibrary{1, 0.6, 1};         // cuBLAS has an empty cubin for most of its files
// Packages compile one kernel for each generation of chips, and each prints "FATAL" on the others: xformers has four.
inline constexpr IdleLimits kOfPackage{0.2, 0.8, 0.2};

// Returns why the kernels of `code` are not sound; nullopt if they are. `file` and `target` are words of the sentence.
[[nodiscard]] std::optional<Sentence> find_idle_code(const SmCensus& code, const IdleLimits& limits,
                                                     std::string_view file, std::string_view target);

}  // namespace pbprobe
