// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One file of an artifact: from its bytes to its facts.
#pragma once

#include <map>
#include <string>

#include "core/facts/inventory.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/containers/bytes.hpp"
#include "probes/audit/device_code/device_code.hpp"

namespace pbprobe {

// What was found in fatbin entries that are no longer in memory, by the offset of their payload.
using PassedEntries = std::map<uint64_t, EntryFacts>;

// Whether the fatbin entries of this file are opened, or only counted by their headers.
[[nodiscard]] bool opens_device_code(const std::string& path, const AuditOptions& options);

// Returns what to store of the names of kernels in the file at `path`.
[[nodiscard]] KernelNames wanted_names(const std::string& path, const AuditOptions& options);

// Never fails: what is wrong with the file stands in `problem`. `passed`: its fatbin entries were read in passing.
[[nodiscard]] File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options,
                           const PassedEntries* passed = nullptr);

}  // namespace pbprobe
