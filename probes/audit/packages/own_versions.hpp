// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions of libraries that are linked into a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// Reads the versions of oneDNN, MAGMA and torch from the code of their version functions. Runs nothing.
class OwnVersions {
 public:
  // Stores the address of a version function; ignores other names and undefined symbols. Call for each symbol, then
  // read().
  void record_symbol(std::string_view name, const Elf64_Sym& symbol);
  // {"MAGMA": "2.6.1", "oneDNN": "3.10.2", "torch": "2.11.0"}; without those whose code has another form.
  [[nodiscard]] std::map<std::string, std::string> read(const Elf& elf) const;

 private:
  std::optional<uint64_t> onednn_object_;  // address of the result of dnnl_version()
  std::optional<uint64_t> onednn_;
  std::optional<uint64_t> magma_;
  std::optional<uint64_t> torch_;
};

}  // namespace pbprobe
