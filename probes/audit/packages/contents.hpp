// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries that a file belongs to or contains: by its name, and by its symbols. Also the C++ ABI of its exports.
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
  std::map<std::string, std::string> versions;  // known versions: {"oneDNN": "3.10.2"}
  int64_t cxx11_names = 0;                      // exports of torch with std::__cxx11 strings
  int64_t pre_cxx11_names = 0;                  // exports of torch with the old std::string
  TorchSymbols torch_symbols;                   // symbols that the loader must find in torch
  bool uses_python = false;                     // defines PyInit_…, or takes symbols of Python's C API
};

// Reads the contents. A library counts as linked in if the file defines at least ten of its functions. Stripped files
// show only their exports, so that a missing component proves nothing.
[[nodiscard]] Result<Contents> read_contents(const Elf& elf);

// Returns the component of a path: "libtorch" of "torch/lib/libtorch_cuda.so", "NCCL" of
// "nvidia/nccl/lib/libnccl.so.2"; nullopt if unknown.
[[nodiscard]] std::optional<std::string> find_component(std::string_view path);

}  // namespace pbprobe
