// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a loaded libtorch says of how it was built, and the versions of the libraries that it works with: those that it
// was compiled with, and those that answer. To be called in a child process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/facts/measurement.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe {

struct Configuration {
  std::vector<std::string> built_for;  // "sm_90", "compute_120"
  std::vector<LibtorchLibrary> libraries;
};

// From the text that `torch.__config__.show()` prints. Pure.
[[nodiscard]] Configuration read_configuration(std::string_view text);

// "9.19.0" of cuDNN's 91900, "2.28.9" of NCCL's 22809, "13.1.0" of cuBLAS's 130100; the numbers as they were before
// each changed its rule too (cuDNN 8: 8907, NCCL before 2.9: 2804). Pure.
[[nodiscard]] std::string cudnn_version(size_t number);
[[nodiscard]] std::string nccl_version(int number);
[[nodiscard]] std::string cublas_version(size_t number);

// Fills run.built_for and run.libraries; the GPU's libraries answer once libtorch_cuda.so is loaded.
void ask_libraries(const Libtorch& library, LibtorchRun& run);

}  // namespace pbprobe
