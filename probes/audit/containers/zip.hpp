// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Bounded reader of ZIP archives (wheels). Reads members in place and writes nothing to disk. An archive may be
// hostile: read_zip() compares the central directory with each local header and applies limits before inflating.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/containers/bytes.hpp"

namespace pbprobe {

struct ZipMember {
  std::string name;
  uint16_t method = 0;  // 0: stored, 8: deflated
  uint32_t crc32 = 0;
  uint64_t compressed_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t header_offset = 0;  // offset of the local header
  uint64_t data_offset = 0;
};

// A sound member whose content cannot be read: encrypted, or compressed by another method than deflate.
struct UnreadMember {
  std::string name;
  uint64_t size_bytes = 0;
  uint16_t method = 0;
  bool encrypted = false;
};

struct ZipArchive {
  Bytes file;
  std::vector<ZipMember> members;  // only sound ones, folders left out
  std::vector<UnreadMember> unread;
  std::vector<Error> refused;  // one for each member that was refused, by name
};

// Limits of time and memory. Wheels of any number of members are sound: tensorflow 2.21 has 23,963 in 3 MiB.
inline constexpr uint64_t kMaxZipDirectoryBytes = 64ULL << 20;  // bounds the memory that the members' names take
inline constexpr uint64_t kMaxZipBytes = 8ULL << 30;            // uncompressed, of all members: bounds the time

// Parses an archive. Errors: no directory, a too large directory, too many bytes.
[[nodiscard]] Result<ZipArchive> read_zip(const Bytes& file);

// Returns the message on a member whose content cannot be read, with the remedy.
[[nodiscard]] Error explain_unread(const ZipArchive& archive, const UnreadMember& member);

// Takes the next piece of a member; false ends the reading early, without an error.
using ZipSink = std::function<bool(std::span<const uint8_t>)>;

enum class Inflate { zlib, isal };

// Returns ISA-L if it is installed, else zlib.
[[nodiscard]] Inflate best_inflate();

// Inflates a member piece by piece. Errors: more or fewer bytes than announced, a wrong checksum, broken data.
[[nodiscard]] Result<void> inflate_member(const ZipArchive& archive, const ZipMember& member, const ZipSink& sink,
                                          Inflate library = best_inflate());

struct ReadCounts {
  std::atomic<int64_t> inflated = 0;  // members of wheels, whole or in part
};

[[nodiscard]] inline ReadCounts& read_counts() {
  static ReadCounts counts;
  return counts;
}

}  // namespace pbprobe
