// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One file of an artifact: from its bytes to its facts.
#pragma once

#include <map>
#include <string>

#include "core/facts/inventory.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/bytes.hpp"
#include "probes/audit/device_code.hpp"

namespace pbprobe {

// What was found in device images that are no longer in memory, by the offset of their payload.
using PassedImages = std::map<uint64_t, ImageFacts>;

// Never fails: what is wrong with the file stands in `problem`. `passed`: its device images were read in passing.
[[nodiscard]] File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options,
                           const PassedImages* passed = nullptr);

}  // namespace pbprobe
