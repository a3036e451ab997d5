// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// RECORD: the files of an installed package or a wheel, with their SHA-256 and sizes. Source: PEP 376 and PEP 427.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/audit/containers/zip.hpp"

namespace pbprobe {

struct RecordedFile {
  std::string path;  // relative to the folder of packages, unchanged
  std::string hash;  // "sha256=…", or empty
  std::optional<uint64_t> size_bytes;
};

struct Record {
  std::vector<RecordedFile> files;
  std::optional<Error> fault;  // the first invalid line; the other lines are kept
};

[[nodiscard]] Record parse_record(std::string_view text);

// Converts a hash of RECORD ("sha256=" and URL-safe base64 without padding) to hex digits; returns "" for other
// algorithms or without a hash.
[[nodiscard]] std::string hex_of_record(std::string_view hash);

// Paths of a wheel that its RECORD contradicts.
struct RecordDifferences {
  std::vector<std::string> missing;   // listed, and no member
  std::vector<std::string> extra;     // members that are not listed
  std::vector<std::string> changed;   // members with another SHA-256 or size
  std::vector<std::string> unproven;  // listed without a SHA-256
};

// Compares the members of a wheel with its RECORD. `digests`: SHA-256 in hex digits by member; members without one are
// compared by size.
[[nodiscard]] RecordDifferences compare_members_with_record(const ZipArchive& archive,
                                                            const std::map<std::string, std::string>& digests,
                                                            const Record& record);

}  // namespace pbprobe
