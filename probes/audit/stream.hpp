// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inflates a member of a wheel. Reads fatbin entries as they pass; keeps neither them nor uncounted machine code. A
// library of a gigabyte then takes only the memory of its tables.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/audit/audit.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/containers/zip.hpp"
#include "probes/audit/device_code/device_code.hpp"

namespace pbprobe {

// Range of a member that was not kept in memory, because its contents were counted during inflation.
struct LeftOut {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool code = false;  // machine code of the host; false: a fatbin entry
};

// Member of a wheel in memory, without the parts that take most space.
struct StreamedMember {
  Mapping memory;                         // the member, with zeros for what was left out
  std::vector<LeftOut> left_out;          // in order of their offsets
  std::map<uint64_t, EntryFacts> inside;  // facts of opened fatbin entries, by the offset of their payload
  std::optional<std::string> sha256;      // digest of the member; null unless requested
};

// Called before `bytes` more are kept; may block until other members return memory.
using MemoryGrant = std::function<void(uint64_t bytes)>;

// Inflates a member. `keep_all`: nothing is left out. Errors: as inflate_member.
[[nodiscard]] Result<StreamedMember> stream_member(
    const ZipArchive& archive, const ZipMember& member, const AuditOptions& options, bool keep_all,
    const MemoryGrant& grant = [](uint64_t) {});

// Reports whether each part left out is code, or the payload of a fatbin entry that the file's own headers name. If
// not, inflate the member again with `keep_all`.
[[nodiscard]] bool left_out_nothing_else(const StreamedMember& member, const std::string& name);

}  // namespace pbprobe
