// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <set>

namespace pbprobe {
namespace {

#pragma pack(push, 1)
struct EndRecord {
  uint32_t magic;
  uint16_t disk;
  uint16_t directory_disk;
  uint16_t entries_here;
  uint16_t entries;
  uint32_t directory_bytes;
  uint32_t directory_offset;
  uint16_t comment_bytes;
};
struct End64Locator {
  uint32_t magic;
  uint32_t disk;
  uint64_t offset;
  uint32_t disks;
};
struct End64Record {
  uint32_t magic;
  uint64_t size;
  uint16_t made_by;
  uint16_t needed;
  uint32_t disk;
  uint32_t directory_disk;
  uint64_t entries_here;
  uint64_t entries;
  uint64_t directory_bytes;
  uint64_t directory_offset;
};
struct CentralHeader {
  uint32_t magic;
  uint8_t made_by_version;
  uint8_t made_by_system;
  uint16_t needed;
  uint16_t flags;
  uint16_t method;
  uint32_t time;
  uint32_t crc32;
  uint32_t compressed_bytes;
  uint32_t size_bytes;
  uint16_t name_bytes;
  uint16_t extra_bytes;
  uint16_t comment_bytes;
  uint16_t disk;
  uint16_t internal_attributes;
  uint32_t external_attributes;
  uint32_t offset;
};
struct LocalHeader {
  uint32_t magic;
  uint16_t needed;
  uint16_t flags;
  uint16_t method;
  uint32_t time;
  uint32_t crc32;
  uint32_t compressed_bytes;
  uint32_t size_bytes;
  uint16_t name_bytes;
  uint16_t extra_bytes;
};
#pragma pack(pop)
static_assert(sizeof(EndRecord) == 22 && sizeof(End64Locator) == 20 && sizeof(End64Record) == 56 &&
              sizeof(CentralHeader) == 46 && sizeof(LocalHeader) == 30);

constexpr uint32_t kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64LocatorMagic = 0x07064b50;
constexpr uint32_t kEnd64Magic = 0x06064b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint16_t kFlagEncrypted = 1;
constexpr uint16_t kFlagSizesFollow = 8;
constexpr uint64_t kDeflateGrowth = 1032;  // DEFLATE spends 2 bits on at most 258 bytes (RFC 1951)
constexpr size_t kNamedRefusals = 100;
constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();

struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
};

Result<uint64_t> find_end_record(const Bytes& file) {
  constexpr uint64_t kLongestComment = 65535;
  const uint64_t first =
      file.size() > sizeof(EndRecord) + kLongestComment ? file.size() - sizeof(EndRecord) - kLongestComment : 0;
  for (uint64_t offset = file.size() < sizeof(EndRecord) ? 0 : file.size() - sizeof(EndRecord) + 1; offset > first;) {
    --offset;
    PBPROBE_TRY(const auto record, file.read<EndRecord>(offset, "end record"));
    if (record.magic == kEndMagic && offset + sizeof(record) + record.comment_bytes == file.size()) return offset;
  }
  return make_error(ErrorCode::malformed,
                    "{}: no end record of a ZIP directory in it: the file is truncated, or no wheel", file.name());
}

// Returns the number of bytes that were put before an archive without a change of its offsets; 0 if none were.
uint64_t find_prefix(const Bytes& file, const Directory& directory, uint64_t limit) {
  if (directory.entries == 0 || directory.bytes > limit || directory.offset >= limit - directory.bytes) return 0;
  const uint64_t prefix = limit - directory.bytes - directory.offset;
  const auto first = file.read<CentralHeader>(limit - directory.bytes, "directory entry");
  if (!first || first->magic != kCentralMagic) return 0;
  const auto local = file.read<LocalHeader>(prefix + first->offset, "local header");
  return local && local->magic == kLocalMagic ? prefix : 0;
}

Result<Directory> find_directory(const Bytes& file) {
  PBPROBE_TRY(const uint64_t end, find_end_record(file));
  PBPROBE_TRY(const auto record, file.read<EndRecord>(end, "end record"));
  Directory directory{record.directory_offset, record.directory_bytes, record.entries};
  uint64_t limit = end;
  if (end >= sizeof(End64Locator)) {
    PBPROBE_TRY(const auto locator, file.read<End64Locator>(end - sizeof(End64Locator), "ZIP64 locator"));
    if (locator.magic == kEnd64LocatorMagic) {
      PBPROBE_TRY(const auto record64, file.read<End64Record>(locator.offset, "ZIP64 end record"));
      if (record64.magic != kEnd64Magic)
        return make_error(ErrorCode::malformed, "{}: no ZIP64 end record where its locator points",
                          file.at(locator.offset));
      directory = {record64.directory_offset, record64.directory_bytes, record64.entries};
      limit = locator.offset;
    }
  }
  if (const uint64_t prefix = find_prefix(file, directory, limit); prefix > 0)
    return make_error(ErrorCode::unsupported,
                      "{}: {} bytes precede the archive, as in a self-extracting program: pack the archive again",
                      file.name(), prefix);
  if (directory.offset > limit || directory.bytes != limit - directory.offset)
    return make_error(ErrorCode::malformed,
                      "{}: a ZIP directory of {} bytes at 0x{:x} does not end at its end record at 0x{:x}", file.name(),
                      directory.bytes, directory.offset, limit);
  if (directory.bytes > kMaxZipDirectoryBytes)
    return make_error(ErrorCode::limit, "{}: its ZIP directory has {} bytes, and the limit is {}", file.name(),
                      directory.bytes, kMaxZipDirectoryBytes);
  return directory;
}

// ZIP64 sizes are in extra field 1, in this order, each only if the 32-bit field is full.
Result<void> read_zip64_extra(const Bytes& extra, const CentralHeader& header, ZipMember& member) {
  for (uint64_t offset = 0; offset + 4 <= extra.size();) {
    PBPROBE_TRY(const auto identifier, extra.read<uint16_t>(offset, "extra field"));
    PBPROBE_TRY(const auto bytes, extra.read<uint16_t>(offset + 2, "extra field"));
    if (identifier == 1) {
      PBPROBE_TRY(const Bytes field, extra.slice(offset + 4, bytes, "ZIP64 field"));
      uint64_t at = 0;
      for (auto [full, value] : {std::pair{header.size_bytes == kMax32, &member.size_bytes},
                                 std::pair{header.compressed_bytes == kMax32, &member.compressed_bytes},
                                 std::pair{header.offset == kMax32, &member.header_offset}}) {
        if (!full) continue;
        PBPROBE_TRY(*value, field.read<uint64_t>(at, "ZIP64 size"));
        at += sizeof(uint64_t);
      }
      return {};
    }
    offset += 4ULL + bytes;
  }
  return {};
}

std::optional<std::string> fault_of_name(std::string_view name) {
  if (name.empty()) return "has no name";
  if (name.front() == '/') return "has an absolute name";
  if (name.find('\\') != std::string_view::npos) return "has a backslash in its name";
  if (name.find('\0') != std::string_view::npos) return "has a NUL byte in its name";
  if (name.size() > 1 && name[1] == ':') return "has a drive in its name";
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('/', start), name.size());
    if (name.substr(start, end - start) == "..") return "leads out of the archive (\"..\" in its name)";
    start = end + 1;
  }
  return std::nullopt;
}

std::optional<std::string> fault_of_member(const CentralHeader& header, const ZipMember& member) {
  constexpr uint32_t kFileType = 0170000;
  constexpr uint32_t kLink = 0120000;
  constexpr uint8_t kUnix = 3;
  if (header.made_by_system == kUnix && ((header.external_attributes >> 16) & kFileType) == kLink) return "is a link";
  if (member.method == 0 && member.compressed_bytes != member.size_bytes)
    return fmt::format("is stored without compression, yet takes {} bytes for {}", member.compressed_bytes,
                       member.size_bytes);
  if (member.size_bytes / kDeflateGrowth > member.compressed_bytes)
    return fmt::format(
        "states a size of {} bytes, but its {} compressed bytes cannot expand to more than {} times as many",
        member.size_bytes, member.compressed_bytes, kDeflateGrowth);
  return std::nullopt;
}

// The local header must equal the directory's entry, and the data must end before the directory.
Result<std::optional<std::string>> fault_of_local_header(const Bytes& file, const Directory& directory,
                                                         const CentralHeader& central, ZipMember& member) {
  using Fault = std::optional<std::string>;
  PBPROBE_TRY(const auto local, file.read<LocalHeader>(member.header_offset, "local header"));
  if (local.magic != kLocalMagic) return Fault(fmt::format("has no local header at 0x{:x}", member.header_offset));
  PBPROBE_TRY(const Bytes name, file.slice(member.header_offset + sizeof(local), local.name_bytes, "local name"));
  if (name.text() != member.name) return Fault(fmt::format("is called {} in its local header", name.text()));
  if (local.method != central.method || ((local.flags ^ central.flags) & (kFlagEncrypted | kFlagSizesFollow)) != 0)
    return Fault("has another compression method or other flags in its local header");
  if ((local.flags & kFlagSizesFollow) == 0) {
    if (local.crc32 != central.crc32) return Fault("has another checksum in its local header");
    const bool other_size = local.size_bytes != kMax32 && local.size_bytes != member.size_bytes;
    const bool other_data = local.compressed_bytes != kMax32 && local.compressed_bytes != member.compressed_bytes;
    if (other_size || other_data) return Fault("has another size in its local header");
  }
  member.data_offset = member.header_offset + sizeof(local) + local.name_bytes + local.extra_bytes;
  if (member.data_offset > directory.offset || member.compressed_bytes > directory.offset - member.data_offset)
    return Fault("reaches into the directory");
  return Fault();
}

bool is_readable(const CentralHeader& header) {
  return (header.flags & kFlagEncrypted) == 0 && (header.method == 0 || header.method == Z_DEFLATED);
}

Error refuse(const Bytes& file, const ZipMember& member, std::string_view fault) {
  return make_error(ErrorCode::malformed, "{}: member {} {}: refused", file.name(), member.name, fault);
}

// Refuses members that share bytes: a small archive could contain a large member many times.
void refuse_overlaps(ZipArchive& archive) {
  auto& members = archive.members;
  std::ranges::sort(members, [](const ZipMember& a, const ZipMember& b) {
    return std::pair(a.header_offset, a.name) < std::pair(b.header_offset, b.name);
  });
  uint64_t end = 0;
  std::erase_if(members, [&](const ZipMember& member) {
    if (member.header_offset < end) {
      archive.refused.push_back(refuse(archive.file, member, "shares bytes with the member before it"));
      return true;
    }
    end = member.data_offset + member.compressed_bytes;
    return false;
  });
}

// An archive of nothing but refused members must not fill the report.
void shorten_refusals(ZipArchive& archive) {
  if (archive.refused.size() <= kNamedRefusals) return;
  const size_t rest = archive.refused.size() - kNamedRefusals;
  archive.refused.resize(kNamedRefusals, archive.refused.front());
  archive.refused.push_back(
      make_error(ErrorCode::malformed, "{}: {} more members were refused", archive.file.name(), rest));
}

}  // namespace

Result<ZipArchive> read_zip(const Bytes& file) {
  ZipArchive archive;
  archive.file = file;
  PBPROBE_TRY(const Directory directory, find_directory(file));
  PBPROBE_TRY(const Bytes table, file.slice(directory.offset, directory.bytes, "ZIP directory"));
  std::set<std::string> names;
  uint64_t total = 0;
  uint64_t offset = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    PBPROBE_TRY(const auto header, table.read<CentralHeader>(offset, "directory entry"));
    if (header.magic != kCentralMagic)
      return make_error(ErrorCode::malformed, "{}: directory entry {} of {} has magic 0x{:08x}", table.at(offset),
                        i + 1, directory.entries, header.magic);
    offset += sizeof(header);
    PBPROBE_TRY(const Bytes name, table.slice(offset, header.name_bytes, "member name"));
    PBPROBE_TRY(const Bytes extra, table.slice(offset + header.name_bytes, header.extra_bytes, "extra fields"));
    offset += uint64_t{header.name_bytes} + header.extra_bytes + header.comment_bytes;
    ZipMember member{std::string(name.text()),
                     header.method,
                     header.crc32,
                     header.compressed_bytes,
                     header.size_bytes,
                     header.offset,
                     0};
    PBPROBE_CHECK(read_zip64_extra(extra, header, member), "{}: member {}", file.name(), member.name);
    auto fault = fault_of_name(member.name);
    if (!fault && is_readable(header)) fault = fault_of_member(header, member);
    if (!fault && !names.insert(member.name).second) fault = "appears twice";
    if (!fault && !is_readable(header)) {
      archive.unread.push_back({member.name, member.size_bytes, header.method, (header.flags & kFlagEncrypted) != 0});
      continue;
    }
    if (!fault) {
      auto local = fault_of_local_header(file, directory, header, member);
      fault = local ? *local : local.error().message;
    }
    if (fault) {
      archive.refused.push_back(refuse(file, member, *fault));
      continue;
    }
    if (member.size_bytes > kMaxZipBytes - total)
      return make_error(ErrorCode::limit, "{}: more than {} bytes uncompressed, at member {}", file.name(),
                        kMaxZipBytes, member.name);
    total += member.size_bytes;
    if (!member.name.ends_with('/')) archive.members.push_back(std::move(member));
  }
  refuse_overlaps(archive);
  shorten_refusals(archive);
  return archive;
}

namespace {

// Returns " (bzip2)" for 12, by APPNOTE.TXT 4.4.5; "" for rare methods.
std::string_view name_method(uint16_t method) {
  switch (method) {
    case 9: return " (Deflate64)";
    case 12: return " (bzip2)";
    case 14: return " (LZMA)";
    case 93: return " (Zstandard)";
    case 95: return " (XZ)";
    default: return "";
  }
}

}  // namespace

Error explain_unread(const ZipArchive& archive, const UnreadMember& member) {
  const std::string fault =
      member.encrypted
          ? "is encrypted: pack the archive again without a password"
          : fmt::format("is compressed by method {}{}: pack the archive again by 0 (stored) or 8 (deflate)",
                        member.method, name_method(member.method));
  return make_error(ErrorCode::unsupported, "{}: member {} {}", archive.file.name(), member.name, fault);
}

}  // namespace pbprobe
