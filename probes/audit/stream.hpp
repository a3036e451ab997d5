// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A member of a wheel as it is inflated: fatbin entries are read in passing and left out of memory, and so is machine
// code that nobody counts. The rest is kept, so that a library of a gigabyte takes what its tables take.
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

struct LeftOut {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool code = false;  // the host's, else a fatbin entry
};

struct StreamedMember {
  Mapping memory;                         // the member, with zeros for what was left out
  std::vector<LeftOut> left_out;          // in order of their offsets
  std::map<uint64_t, EntryFacts> inside;  // of fatbin entries that were looked into, by the offset of their payload
  std::optional<std::string> sha256;      // of all its bytes, where digests are wanted
};

// Is asked before so many more bytes are kept; it may wait until others have given theirs back.
using MemoryGrant = std::function<void(uint64_t bytes)>;

// Inflates a member. `keep_all`: nothing is left out. Errors: as inflate_member.
[[nodiscard]] Result<StreamedMember> stream_member(
    const ZipArchive& archive, const ZipMember& member, const AuditOptions& options, bool keep_all,
    const MemoryGrant& grant = [](uint64_t) {});

// Whether everything that was left out is the payload of a fatbin entry that the file's own headers name, or lies in
// sections of code. A file in which something else looks like one is to be inflated again, whole.
[[nodiscard]] bool left_out_nothing_else(const StreamedMember& member, const std::string& name);

}  // namespace pbprobe
