// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Census of a host binary's machine code: what each function needs of a CPU, and who decides whether it runs.
#pragma once

#include <optional>

#include "core/facts/inventory.hpp"
#include "probes/audit/elf.hpp"

namespace pbprobe {

// Nothing where the file has no code, or code of an architecture that is not read. `threads` as in AuditOptions.
[[nodiscard]] Result<std::optional<HostCode>> read_host_code(const Elf& elf, unsigned threads);

}  // namespace pbprobe
