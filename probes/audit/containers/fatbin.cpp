// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/fatbin.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <lz4.h>
#include <zstd.h>

#include "probes/audit/containers/cubin.hpp"

namespace pbprobe {
namespace {

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t body_bytes;
};
static_assert(sizeof(ContainerHeader) == 16);

struct RawEntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t padded_bytes;
  uint32_t compressed_bytes;
  uint32_t options;
  uint16_t minor;
  uint16_t major;
  uint32_t sm;
  uint32_t name;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressed_bytes;
};
static_assert(sizeof(RawEntryHeader) == 64);

constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kFlagScrambled = 0x10000;
constexpr uint64_t kFlagArchitectureSpecific = 0x100000;
constexpr uint64_t kFlagFamilySpecific = 0x200000;
constexpr uint32_t kMaxSm = 9999;
constexpr uint64_t kMaxLookAlikes = 1000;
constexpr uint64_t kMaxLooks = 4;  // times the bytes that are searched

std::optional<EntryKind> parse_entry_kind(uint16_t kind) {
  switch (kind) {
    case 1: return EntryKind::ptx;
    case 2:
    case 4: return EntryKind::cubin;  // 4: before CUDA 4
    case 8: return EntryKind::lto_ir;
    case 0x10: return EntryKind::mercury;          // cuobjdump of CUDA 13.5 lists such entries as ELF files
    case 0x40: return EntryKind::relocatable_ptx;  // fatbinary --image2=kind=reloc
    case 0x80: return EntryKind::tile_ir;          // nvcc --enable-tile, since CUDA 13.1
    default: return std::nullopt;
  }
}

FatbinEntry make_fatbin_entry(const RawEntryHeader& raw) {
  FatbinEntry entry;
  entry.sm = make_sm(raw.sm);
  if ((raw.flags & kFlagArchitectureSpecific) != 0) entry.sm.suffix = 'a';
  if ((raw.flags & kFlagFamilySpecific) != 0) entry.sm.suffix = 'f';
  if ((raw.flags & kFlagLz4) != 0) entry.compression = Compression::lz4;
  if ((raw.flags & kFlagZstd) != 0) entry.compression = Compression::zstd;
  entry.scrambled = parse_entry_kind(raw.kind) == EntryKind::lto_ir && (raw.flags & kFlagScrambled) != 0;
  entry.major = raw.major;
  entry.minor = raw.minor;
  const bool compressed = entry.compression != Compression::none;
  entry.padded_bytes = raw.padded_bytes;
  entry.stored_bytes = compressed ? raw.compressed_bytes : raw.padded_bytes;
  entry.uncompressed_bytes = compressed ? raw.uncompressed_bytes : raw.padded_bytes;
  return entry;
}

Result<void> check_entry(const Bytes& bytes, uint64_t offset, const RawEntryHeader& raw) {
  if (raw.header_bytes < sizeof(RawEntryHeader))
    return make_error(ErrorCode::malformed, "{}: fatbin entry header of {} bytes, at least {} expected",
                      bytes.at(offset), raw.header_bytes, sizeof(RawEntryHeader));
  if (raw.sm > kMaxSm)
    return make_error(ErrorCode::malformed, "{}: fatbin entry for SM {}, {} is the limit", bytes.at(offset), raw.sm,
                      kMaxSm);
  const FatbinEntry entry = make_fatbin_entry(raw);
  if (entry.stored_bytes > raw.padded_bytes)
    return make_error(ErrorCode::malformed, "{}: fatbin entry of {} compressed bytes in a place of {}",
                      bytes.at(offset), entry.stored_bytes, raw.padded_bytes);
  if (entry.uncompressed_bytes > kMaxEntryBytes)
    return make_error(ErrorCode::limit, "{}: fatbin entry of {} bytes uncompressed, {} are the limit", bytes.at(offset),
                      entry.uncompressed_bytes, kMaxEntryBytes);
  return {};
}

// Sections padded by a linker hold zeros between or after containers.
uint64_t skip_zeros(const Bytes& bytes, uint64_t offset) {
  const auto data = bytes.span();
  while (offset + sizeof(uint64_t) <= data.size()) {
    uint64_t word = 0;
    std::memcpy(&word, data.data() + offset, sizeof(word));
    if (word != 0) return offset;
    offset += sizeof(word);
  }
  while (offset < data.size() && data[offset] == 0) ++offset;
  return offset;
}

// Returns the offset of `bytes` in `data` from `offset` on; data.size() if absent.
uint64_t find_bytes(std::span<const uint8_t> data, uint64_t offset, std::string_view bytes) {
  if (offset >= data.size()) return data.size();
  const void* found = memmem(data.data() + offset, data.size() - offset, bytes.data(), bytes.size());
  return found == nullptr ? data.size() : static_cast<uint64_t>(static_cast<const uint8_t*>(found) - data.data());
}

constexpr std::string_view kMagicBytes("\x50\xed\x55\xba", 4);
constexpr std::string_view kElfBytes(ELFMAG, SELFMAG);

// Searches a part that has no table of containers: a container begins with its magic, at any offset. Look-alikes are
// limited: a file full of them, or a few nested ones, would cost quadratic time.
class Scan {
 public:
  Scan(const Bytes& part, Fatbins& fatbins) : part_(part), fatbins_(fatbins) {}

  // `with_cubins`: also finds cubins outside of containers.
  void run(bool with_cubins) {
    const auto data = part_.span();
    uint64_t cubin = with_cubins ? find_bytes(data, 0, kElfBytes) : data.size();
    uint64_t at = find_bytes(data, 0, kMagicBytes);
    while ((at < data.size() || cubin < data.size()) && !fatbins_.problem) {
      if (cubin < at) {
        cubin = find_bytes(data, cubin + take_cubin(cubin), kElfBytes);
        continue;
      }
      const uint64_t next = at + take_container(at);
      if (cubin < next && cubin < data.size()) cubin = find_bytes(data, next, kElfBytes);
      at = find_bytes(data, next, kMagicBytes);
    }
  }

 private:
  // Both return the number of bytes to skip.
  uint64_t take_container(uint64_t at) {
    const auto data = part_.span();
    ContainerHeader header{};
    if (data.size() - at < sizeof(header)) return data.size() - at;
    std::memcpy(&header, data.data() + at, sizeof(header));
    if (header.version != 1 || header.header_bytes != sizeof(header)) return kMagicBytes.size();
    const uint64_t before = fatbins_.entries.size();
    auto rest = part_.slice(at, data.size() - at, "fatbin container");
    auto taken = rest ? read_container(*rest, fatbins_) : Result<uint64_t>(rest.error());
    if (taken) return *taken;
    fatbins_.entries.resize(before);
    if (header.body_bytes < data.size()) looked_at_ += header.body_bytes;
    if (++look_alikes_ > kMaxLookAlikes || looked_at_ > kMaxLooks * data.size()) fatbins_.problem = taken.error();
    return kMagicBytes.size();
  }

  uint64_t take_cubin(uint64_t at) {
    auto rest = part_.slice(at, part_.size() - at, "cubin");
    const auto size = rest ? cubin_bytes(*rest) : Result<uint64_t>(rest.error());
    if (!size || fatbins_.entries.size() >= kMaxEntries) return kElfBytes.size();
    auto entry = read_cubin(Bytes(rest->span().first(*size), part_.name()));
    if (!entry) {
      if (++look_alikes_ > kMaxLookAlikes) fatbins_.problem = entry.error();
      return kElfBytes.size();
    }
    entry->container = fatbins_.containers++;
    fatbins_.entries.push_back(*entry);
    return *size;
  }

  const Bytes& part_;
  Fatbins& fatbins_;
  uint64_t look_alikes_ = 0;
  uint64_t looked_at_ = 0;
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Returns the first bytes without the second ones.
std::vector<Range> without(std::vector<Range> ranges, std::vector<Range> taken) {
  const auto by_begin = [](const Range& a, const Range& b) { return a.begin < b.begin; };
  std::ranges::sort(ranges, by_begin);
  std::ranges::sort(taken, by_begin);
  std::vector<Range> left;
  uint64_t done = 0;  // up to here all was looked at
  size_t next = 0;
  for (const Range& range : ranges) {
    uint64_t at = std::max(range.begin, done);
    while (next > 0 && taken[next - 1].end > at) --next;
    for (size_t i = next; i < taken.size() && taken[i].begin < range.end && at < range.end; ++i) {
      if (taken[i].begin > at) left.push_back({at, taken[i].begin});
      at = std::max(at, taken[i].end);
      next = i;
    }
    if (at < range.end) left.push_back({at, range.end});
    done = std::max(done, range.end);
  }
  return left;
}

bool takes_bytes(const ElfSection& section) {
  return section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL && section.header.sh_size > 0;
}

Range clip_range(uint64_t offset, uint64_t size, const Elf& elf) {
  const uint64_t begin = std::min(offset, elf.file.size());
  return {begin, begin + std::min(size, elf.file.size() - begin)};
}

// Returns the loaded ranges (in an object file: the SHF_ALLOC sections), without code, constants and fatbin sections.
std::vector<Range> other_ranges(const Elf& elf) {
  std::vector<Range> loaded;
  std::vector<Range> taken;
  for (const auto& segment : elf.segments) {
    if (segment.p_type == PT_LOAD) loaded.push_back(clip_range(segment.p_offset, segment.p_filesz, elf));
  }
  const bool by_sections = loaded.empty();
  for (const auto& section : elf.sections) {
    if (!takes_bytes(section)) continue;
    const auto& header = section.header;
    const Range range = clip_range(header.sh_offset, header.sh_size, elf);
    if (by_sections && (header.sh_flags & SHF_ALLOC) != 0) loaded.push_back(range);
    const bool read = section.name == kFatbinSection || section.name == kRelocatableSection || holds_constants(section);
    if (read || (header.sh_flags & SHF_EXECINSTR) != 0) taken.push_back(range);
  }
  return without(std::move(loaded), std::move(taken));
}

// Reads the containers in segments, for files without section headers.
Result<void> check_segments(const Elf& elf) {
  uint64_t total = 0;
  for (const auto& segment : elf.segments) {
    if (segment.p_type == PT_LOAD && segment.p_filesz <= elf.file.size()) total += segment.p_filesz;
  }
  if (!elf.sections.empty() || total <= kMaxLooks * elf.file.size()) return {};
  return make_error(ErrorCode::malformed,
                    "{}: its segments together hold many times the file's 0x{:x} bytes: they overlap", elf.file.name(),
                    elf.file.size());
}

void append(Fatbins& all, Fatbins more) {
  for (auto& entry : more.entries) entry.container += all.containers;
  all.entries.insert(all.entries.end(), more.entries.begin(), more.entries.end());
  all.containers += more.containers;
  if (!all.problem) all.problem = std::move(more.problem);
}

}  // namespace

std::string_view name_kind(EntryKind kind) {
  switch (kind) {
    case EntryKind::ptx: return "PTX";
    case EntryKind::cubin: return "cubin";
    case EntryKind::lto_ir: return "LTO-IR";
    case EntryKind::relocatable_ptx: return "relocatable PTX";
    case EntryKind::tile_ir: return "Tile IR";
    case EntryKind::mercury: return "Mercury";
  }
  return "";
}

Result<uint64_t> read_container_header(const Bytes& bytes) {
  PBPROBE_TRY(const auto header, bytes.read<ContainerHeader>(0, "fatbin header"));
  if (header.magic != kFatbinMagic)
    return make_error(ErrorCode::malformed, "{}: fatbin magic 0x{:08x}, 0x{:08x} expected", bytes.at(0), header.magic,
                      kFatbinMagic);
  if (header.version != 1 || header.header_bytes != sizeof(header))
    return make_error(
        ErrorCode::unsupported,
        "{}: fatbin version {} with a header of {} bytes: pbprobe reads only version 1 with a header of {} bytes",
        bytes.at(0), header.version, header.header_bytes, sizeof(header));
  return header.body_bytes;
}

Result<EntryHeader> read_entry_header(const Bytes& bytes, uint64_t offset) {
  PBPROBE_TRY(const auto raw, bytes.read<RawEntryHeader>(offset, "fatbin entry header"));
  PBPROBE_CHECK(check_entry(bytes, offset, raw));
  EntryHeader header;
  header.entry = make_fatbin_entry(raw);
  header.kind = raw.kind;
  const auto kind = parse_entry_kind(raw.kind);
  header.known = kind.has_value();
  if (kind) header.entry.kind = *kind;
  header.header_bytes = raw.header_bytes;
  header.padded_bytes = raw.padded_bytes;
  return header;
}

Result<uint64_t> read_container(const Bytes& bytes, Fatbins& fatbins) {
  PBPROBE_TRY(const uint64_t body_bytes, read_container_header(bytes));
  PBPROBE_TRY(const Bytes body, bytes.slice(kContainerHeaderBytes, body_bytes, "fatbin"));
  for (uint64_t offset = 0; offset < body.size();) {
    if (fatbins.entries.size() >= kMaxEntries)
      return make_error(ErrorCode::limit, "{}: more than {} fatbin entries", body.at(offset), kMaxEntries);
    PBPROBE_TRY(EntryHeader header, read_entry_header(body, offset));
    PBPROBE_TRY(const Bytes rest, body.slice(offset, body.size() - offset, "fatbin entry"));
    PBPROBE_TRY(const Bytes payload, rest.slice(header.header_bytes, header.padded_bytes, "fatbin entry"));
    if (header.known) {
      header.entry.container = fatbins.containers;
      header.entry.payload = payload.span().first(header.entry.stored_bytes);
      fatbins.entries.push_back(header.entry);
    } else if (!fatbins.problem) {
      fatbins.problem = make_error(ErrorCode::unsupported,
                                   "{}: fatbin entry of unknown kind {}, left out: a newer pbprobe may "
                                   "know it",
                                   body.at(offset), header.kind);
    }
    offset += header.header_bytes + header.padded_bytes;
  }
  ++fatbins.containers;
  return kContainerHeaderBytes + body_bytes;
}

Fatbins read_fatbins(const Bytes& bytes) {
  Fatbins fatbins;
  for (uint64_t offset = skip_zeros(bytes, 0); offset < bytes.size(); offset = skip_zeros(bytes, offset)) {
    auto rest = bytes.slice(offset, bytes.size() - offset, "fatbin");
    auto taken = rest ? read_container(*rest, fatbins) : Result<uint64_t>(rest.error());
    if (!taken) {
      fatbins.problem = taken.error();
      break;
    }
    offset += *taken;
  }
  return fatbins;
}

Fatbins read_fatbin_sections(const Elf& elf, std::string_view name) {
  Fatbins fatbins;
  for (const auto& section : elf.sections) {
    if (section.name != name) continue;
    auto bytes = section_bytes(elf, section);
    Fatbins found;
    if (bytes) {
      found = read_fatbins(*bytes);
    } else {
      found.problem = bytes.error();
    }
    append(fatbins, std::move(found));
  }
  return fatbins;
}

Fatbins read_embedded_fatbins(const Elf& elf) {
  Fatbins fatbins = read_fatbin_sections(elf, kFatbinSection);
  if (const auto sound = check_segments(elf); !sound) fatbins.problem = sound.error();
  for (const Range& range : other_ranges(elf)) {
    auto bytes = elf.file.part(range.begin, range.end - range.begin, fmt::format("at 0x{:x}", range.begin));
    if (!bytes) continue;
    Fatbins found;
    Scan(*bytes, found).run(false);
    append(fatbins, std::move(found));
  }
  if (fatbins.containers == 0) {
    append(fatbins, read_fatbin_sections(elf, kRelocatableSection));
    fatbins.unlinked = elf.header.e_type != ET_REL && !fatbins.entries.empty();
  }
  const bool announced = find_section(elf, kFatbinSection) != nullptr || fatbins.containers > 0;
  if (announced && fatbins.entries.empty() && !fatbins.problem)
    fatbins.problem =
        make_error(ErrorCode::malformed, "{}: the file was linked with device code, but its section {} holds none",
                   elf.file.name(), kFatbinSection);
  return fatbins;
}

Fatbins read_constant_fatbins(const Elf& elf, const ElfSection& section) {
  Fatbins fatbins;
  if (!holds_constants(section)) return fatbins;
  const auto bytes = section_bytes(elf, section);
  if (bytes) Scan(*bytes, fatbins).run(true);
  return fatbins;
}

Fatbins read_constant_fatbins(const Elf& elf) {
  Fatbins all;
  for (const auto& section : elf.sections) append(all, read_constant_fatbins(elf, section));
  return all;
}

namespace {

constexpr uint64_t kSmallEntry = 1 << 20;  // a few thousand equal bytes are no bomb
constexpr uint64_t kMaxGrowth = 1000;
constexpr uint64_t kLeastScratch = 16 << 20;

Result<void> unpack_zstd(std::span<const uint8_t> from, std::span<uint8_t> to, const std::string& name) {
  const auto announced = ZSTD_getFrameContentSize(from.data(), from.size());
  if (announced == ZSTD_CONTENTSIZE_ERROR)
    return make_error(ErrorCode::malformed, "{}: no zstd frame, but the fatbin entry's header announces one", name);
  if (announced != ZSTD_CONTENTSIZE_UNKNOWN && announced != to.size())
    return make_error(ErrorCode::malformed, "{}: a zstd frame of {} bytes, {} announced by the fatbin entry's header",
                      name, announced, to.size());
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  const size_t made = ZSTD_decompressDCtx(context.get(), to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(made) != 0)
    return make_error(ErrorCode::malformed, "{}: broken zstd data ({})", name, ZSTD_getErrorName(made));
  if (made != to.size())
    return make_error(ErrorCode::malformed, "{}: {} bytes from its zstd data, {} announced", name, made, to.size());
  return {};
}

Result<void> unpack_lz4(std::span<const uint8_t> from, std::span<uint8_t> to, const std::string& name) {
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
                          static_cast<int>(from.size()), static_cast<int>(to.size()));  // both at most kMaxEntryBytes
  if (made < 0) return make_error(ErrorCode::malformed, "{}: broken LZ4 data", name);
  if (static_cast<uint64_t>(made) != to.size())
    return make_error(ErrorCode::malformed, "{}: {} bytes from its LZ4 data, {} announced", name, made, to.size());
  return {};
}

}  // namespace

Result<std::span<const uint8_t>> decompress_entry(const FatbinEntry& entry, std::span<const uint8_t> payload,
                                                  Mapping& scratch, const std::string& name) {
  if (entry.compression == Compression::none) return payload;
  if (entry.uncompressed_bytes > kMaxEntryBytes || payload.size() > kMaxEntryBytes)
    return make_error(ErrorCode::limit, "{}: fatbin entry of {} bytes uncompressed, {} are the limit", name,
                      entry.uncompressed_bytes, kMaxEntryBytes);
  if (entry.uncompressed_bytes > kSmallEntry && entry.uncompressed_bytes / kMaxGrowth > payload.size())
    return make_error(ErrorCode::limit, "{}: grows from {} to {} bytes, more than {} times: refused", name,
                      payload.size(), entry.uncompressed_bytes, kMaxGrowth);
  if (scratch.bytes().size() < entry.uncompressed_bytes) {
    PBPROBE_TRY(scratch, map_memory(std::max(entry.uncompressed_bytes, kLeastScratch)));
  }
  const auto target = scratch.writable().first(entry.uncompressed_bytes);
  if (entry.compression == Compression::zstd) {
    PBPROBE_CHECK(unpack_zstd(payload, target, name));
  } else {
    PBPROBE_CHECK(unpack_lz4(payload, target, name));
  }
  return std::span<const uint8_t>(target);
}

}  // namespace pbprobe
