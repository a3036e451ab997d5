// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What the symbols of a file tell: the libraries linked into it statically, and the C++ ABI of its exports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

struct Contents {
  std::vector<std::string> components;          // "FBGEMM", "MKL", "oneDNN" …, sorted
  std::map<std::string, std::string> versions;  // of those that tell: {"oneDNN": "3.10.2"}
  int64_t cxx11_names = 0;                      // torch's own exports with std::__cxx11 strings
  int64_t pre_cxx11_names = 0;                  // with the std::string before that
  TorchSymbols torch_symbols;                   // what the loader has to find in torch
};

// A library counts as linked in where at least ten of its functions are defined. Stripped files tell their exports
// only, so a missing component proves nothing.
[[nodiscard]] Result<Contents> read_contents(const Elf& elf);

// "torch/lib/libtorch_cuda.so" is of "libtorch", "nvidia/nccl/lib/libnccl.so.2" of "NCCL"; null: not known.
[[nodiscard]] std::optional<std::string> component_of(std::string_view path);

}  // namespace pbprobe
