// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One file of an artifact: from its bytes to its facts.
#pragma once

#include <string>

#include "core/facts/inventory.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/bytes.hpp"

namespace pbprobe {

// Never fails: what is wrong with the file stands in `problem`.
[[nodiscard]] File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options);

}  // namespace pbprobe
