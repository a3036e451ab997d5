// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts of one file of an artifact, from its bytes.
#pragma once

#include <map>
#include <string>

#include "core/facts/inventory.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/containers/bytes.hpp"
#include "probes/audit/device_code/device_code.hpp"

namespace pbprobe {

// Facts of fatbin entries that are no longer in memory, by the offset of their payload.
using PassedEntries = std::map<uint64_t, EntryFacts>;

// Reports whether the fatbin entries of this file are opened; otherwise their headers are counted.
[[nodiscard]] bool opens_device_code(const std::string& path, const AuditOptions& options);

// Returns what to store of the names of kernels in the file at `path`.
[[nodiscard]] KernelNames wanted_names(const std::string& path, const AuditOptions& options);

// Never fails: File::problem has the fault. `passed`: facts of fatbin entries that were read before.
[[nodiscard]] File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options,
                           const PassedEntries* passed = nullptr);

}  // namespace pbprobe
