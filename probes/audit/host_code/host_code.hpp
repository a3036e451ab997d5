// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Census of a host binary's machine code: what each function needs of a CPU, and who decides whether it runs.
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
  by_names,       // each function; names tell which ones the file chooses by CPU
  against_names,  // each function; a name counts only if no code of the file contradicts it
};

// Nothing where the file has no code, or code of an architecture that is not read. `threads` as in AuditOptions.
[[nodiscard]] Result<FileCode> read_code(const Elf& elf, CodeScope scope, unsigned threads);

// What is only counted.
[[nodiscard]] Result<std::optional<HostCode>> read_host_code(const Elf& elf, unsigned threads);

}  // namespace pbprobe
