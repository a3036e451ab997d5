// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/fatbin.hpp"

#include <cstring>

namespace pbprobe {
namespace {

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t body_bytes;
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
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
static_assert(sizeof(EntryHeader) == 64);

constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kFlagArchitectureSpecific = 0x100000;
constexpr uint64_t kFlagFamilySpecific = 0x200000;
constexpr uint32_t kMaxSm = 9999;
constexpr uint64_t kMaxLookAlikes = 1000;
constexpr uint64_t kMaxLooks = 4;  // times the bytes that are searched

std::optional<ImageKind> kind_of(uint16_t kind) {
  switch (kind) {
    case 1: return ImageKind::ptx;
    case 2:
    case 4: return ImageKind::cubin;  // 4: before CUDA 4
    case 8: return ImageKind::lto_ir;
    default: return std::nullopt;
  }
}

DeviceImage image_of(const EntryHeader& entry) {
  DeviceImage image;
  image.sm = sm_of_number(entry.sm);
  if ((entry.flags & kFlagArchitectureSpecific) != 0) image.sm.suffix = 'a';
  if ((entry.flags & kFlagFamilySpecific) != 0) image.sm.suffix = 'f';
  if ((entry.flags & kFlagLz4) != 0) image.compression = Compression::lz4;
  if ((entry.flags & kFlagZstd) != 0) image.compression = Compression::zstd;
  image.major = entry.major;
  image.minor = entry.minor;
  const bool compressed = image.compression != Compression::none;
  image.padded_bytes = entry.padded_bytes;
  image.stored_bytes = compressed ? entry.compressed_bytes : entry.padded_bytes;
  image.uncompressed_bytes = compressed ? entry.uncompressed_bytes : entry.padded_bytes;
  return image;
}

Result<void> check_entry(const Bytes& bytes, uint64_t offset, const EntryHeader& entry) {
  if (entry.header_bytes < sizeof(EntryHeader))
    return make_error(ErrorCode::malformed, "{}: image header of {} bytes, at least {} expected", bytes.at(offset),
                      entry.header_bytes, sizeof(EntryHeader));
  if (entry.sm > kMaxSm)
    return make_error(ErrorCode::malformed, "{}: image for SM {}, {} is the limit", bytes.at(offset), entry.sm, kMaxSm);
  const DeviceImage image = image_of(entry);
  if (image.stored_bytes > entry.padded_bytes)
    return make_error(ErrorCode::malformed, "{}: image of {} compressed bytes in a place of {}", bytes.at(offset),
                      image.stored_bytes, entry.padded_bytes);
  if (image.uncompressed_bytes > kMaxImageBytes)
    return make_error(ErrorCode::limit, "{}: image of {} bytes uncompressed, {} are the limit", bytes.at(offset),
                      image.uncompressed_bytes, kMaxImageBytes);
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

// Where no header says where containers are: they start at multiples of 8 of the file, where the part begins at
// `position`. Look-alikes are few in sound files; a file made of them would cost quadratic time, and so would a few
// that each hold all that follows.
void scan(const Bytes& part, uint64_t position, Fatbins& fatbins) {
  const auto data = part.span();
  uint64_t look_alikes = 0;
  uint64_t looked_at = 0;
  for (uint64_t offset = (8 - position % 8) % 8; offset + sizeof(ContainerHeader) <= data.size();) {
    ContainerHeader header{};
    std::memcpy(&header, data.data() + offset, sizeof(header));
    const bool container = header.magic == kFatbinMagic && header.version == 1 && header.header_bytes == sizeof(header);
    uint64_t step = 8;
    if (container) {
      const uint64_t before = fatbins.images.size();
      auto rest = part.slice(offset, data.size() - offset, "fatbin container");
      auto taken = rest ? read_container(*rest, fatbins) : Result<uint64_t>(rest.error());
      if (taken) {
        step = (*taken + 7) / 8 * 8;
      } else {
        fatbins.images.resize(before);
        if (header.body_bytes < data.size()) looked_at += header.body_bytes;
        if (++look_alikes > kMaxLookAlikes || looked_at > kMaxLooks * data.size()) {
          fatbins.problem = taken.error();
          return;
        }
      }
    }
    offset += step;
  }
}

}  // namespace

Result<uint64_t> read_container_header(const Bytes& bytes) {
  PBPROBE_TRY(const auto header, bytes.read<ContainerHeader>(0, "fatbin header"));
  if (header.magic != kFatbinMagic)
    return make_error(ErrorCode::malformed, "{}: fatbin magic 0x{:08x}, 0x{:08x} expected", bytes.at(0), header.magic,
                      kFatbinMagic);
  if (header.version != 1 || header.header_bytes != sizeof(header))
    return make_error(ErrorCode::unsupported,
                      "{}: fatbin version {} with a header of {} bytes, version 1 with {} is "
                      "read",
                      bytes.at(0), header.version, header.header_bytes, sizeof(header));
  return header.body_bytes;
}

Result<ImageHeader> read_image_header(const Bytes& bytes, uint64_t offset) {
  PBPROBE_TRY(const auto entry, bytes.read<EntryHeader>(offset, "image header"));
  PBPROBE_CHECK(check_entry(bytes, offset, entry));
  ImageHeader header;
  header.image = image_of(entry);
  header.kind = entry.kind;
  const auto kind = kind_of(entry.kind);
  header.known = kind.has_value();
  if (kind) header.image.kind = *kind;
  header.header_bytes = entry.header_bytes;
  header.padded_bytes = entry.padded_bytes;
  return header;
}

Result<uint64_t> read_container(const Bytes& bytes, Fatbins& fatbins) {
  PBPROBE_TRY(const uint64_t body_bytes, read_container_header(bytes));
  PBPROBE_TRY(const Bytes body, bytes.slice(kContainerHeaderBytes, body_bytes, "fatbin"));
  for (uint64_t offset = 0; offset < body.size();) {
    if (fatbins.images.size() >= kMaxImages)
      return make_error(ErrorCode::limit, "{}: more than {} images", body.at(offset), kMaxImages);
    PBPROBE_TRY(ImageHeader header, read_image_header(body, offset));
    PBPROBE_TRY(const Bytes rest, body.slice(offset, body.size() - offset, "image"));
    PBPROBE_TRY(const Bytes payload, rest.slice(header.header_bytes, header.padded_bytes, "image"));
    if (header.known) {
      header.image.container = fatbins.containers;
      header.image.payload = payload.span().first(header.image.stored_bytes);
      fatbins.images.push_back(header.image);
    } else if (!fatbins.problem) {
      fatbins.problem = make_error(ErrorCode::unsupported,
                                   "{}: image of unknown kind {}, left out: a newer pbprobe may "
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
    for (auto& image : found.images) image.container += fatbins.containers;
    fatbins.images.insert(fatbins.images.end(), found.images.begin(), found.images.end());
    fatbins.containers += found.containers;
    if (!fatbins.problem) fatbins.problem = found.problem;
  }
  return fatbins;
}

Fatbins read_embedded_fatbins(const Elf& elf) {
  Fatbins fatbins;
  for (const auto name : {kFatbinSection, kRelocatableSection}) {
    Fatbins found = read_fatbin_sections(elf, name);
    if (!found.problem) found.problem = fatbins.problem;
    fatbins = std::move(found);
    if (fatbins.containers > 0) return fatbins;
  }
  if (!elf.sections.empty()) return fatbins;
  uint64_t total = 0;
  for (const auto& segment : elf.segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz <= elf.file.size()) total += segment.p_filesz;
    if (total > kMaxLooks * elf.file.size()) {
      fatbins.problem = make_error(ErrorCode::malformed,
                                   "{}: its segments hold the 0x{:x} bytes of the file again and "
                                   "again",
                                   elf.file.name(), elf.file.size());
      return fatbins;
    }
    auto bytes = elf.file.part(segment.p_offset, segment.p_filesz, fmt::format("segment 0x{:x}", segment.p_vaddr));
    if (bytes) scan(*bytes, segment.p_offset, fatbins);
  }
  return fatbins;
}

Fatbins find_fatbins(const Elf& elf, const ElfSection& section) {
  Fatbins fatbins;
  if (!holds_constants(section)) return fatbins;
  const auto bytes = section_bytes(elf, section);
  if (bytes) scan(*bytes, section.header.sh_offset, fatbins);
  return fatbins;
}

Fatbins find_fatbins(const Elf& elf) {
  Fatbins all;
  for (const auto& section : elf.sections) {
    Fatbins found = find_fatbins(elf, section);
    for (auto& image : found.images) image.container += all.containers;
    all.images.insert(all.images.end(), found.images.begin(), found.images.end());
    all.containers += found.containers;
  }
  return all;
}

}  // namespace pbprobe
