// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What libraries inside a file would answer if they were asked for their version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// Of oneDNN, MAGMA and torch, by the code of their version functions: nothing of it is run.
class OwnVersions {
 public:
  void look_at(std::string_view name, const Elf64_Sym& symbol);
  // {"MAGMA": "2.6.1", "oneDNN": "3.10.2", "torch": "2.11.0"}; without those whose code has another form.
  [[nodiscard]] std::map<std::string, std::string> read(const Elf& elf) const;

 private:
  std::optional<uint64_t> onednn_object_;  // what dnnl_version() returns
  std::optional<uint64_t> onednn_;
  std::optional<uint64_t> magma_;
  std::optional<uint64_t> torch_;
};

}  // namespace pbprobe
