// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Census of a host binary's machine code: CPU features that each function needs, and code that guards it.
#pragma once

#include <optional>

#include "core/facts/inventory.hpp"
#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

struct FileCode {
  std::optional<HostCode> counted;
  std::optional<LoadCode> at_load;
  std::optional<Error> damage;  // zeros or nothing where functions should be
};

enum class CodeScope : uint8_t {
  at_load,        // only what runs as the file is loaded
  by_names,       // all functions; names decide whether the file chooses them by CPU
  against_names,  // all functions; a name counts only if no code of the file contradicts it
};

// Returns empty fields if the file has no code, or code of an unsupported architecture. `threads` as in AuditOptions.
[[nodiscard]] Result<FileCode> read_code(const Elf& elf, CodeScope scope, unsigned threads);

}  // namespace pbprobe
