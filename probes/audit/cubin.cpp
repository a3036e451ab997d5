// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/cubin.hpp"

namespace pbprobe {
namespace {

constexpr uint32_t kAbi7Specific = 0x800;  // the a suffix, up to CUDA 12
constexpr uint8_t kCompatSpecific = 9;     // attribute of .nv.compat: 1 is the a suffix

// Attributes of .nv.compat: format, identifier, then a value of two bytes, or (format 4) a length and that many bytes.
Result<bool> compat_says_specific(const Bytes& compat) {
  for (uint64_t offset = 0; offset + 4 <= compat.size();) {
    PBPROBE_TRY(const auto format, compat.read<uint8_t>(offset, "attribute format"));
    PBPROBE_TRY(const auto identifier, compat.read<uint8_t>(offset + 1, "attribute identifier"));
    PBPROBE_TRY(const auto value, compat.read<uint16_t>(offset + 2, "attribute value"));
    if (format == 2 && identifier == kCompatSpecific) return (value & 0xff) == 1;
    offset += 4 + (format == 4 ? value : 0);
  }
  return false;
}

// The f suffix stands in the command line of the assembler alone: ".note.nv.tkinfo … -arch sm_<number>f -m 64".
bool note_says_family(const Bytes& note, const Sm& sm) {
  const std::string argument = fmt::format("-arch {}f", sm_name(sm));
  return note.text().find(argument) != std::string_view::npos;
}

// "Cuda compilation tools, release 13.0, V13.0.88"
std::optional<std::string> release_in(std::string_view note) {
  constexpr std::string_view kMark = "release ";
  constexpr size_t kLongest = 8;
  const size_t at = note.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = note.substr(at + kMark.size());
  const std::string_view release = rest.substr(0, rest.find_first_not_of("0123456789."));
  if (release.empty() || release.size() > kLongest) return std::nullopt;
  return std::string(release);
}

}  // namespace

Result<std::optional<std::string>> read_toolkit(const Elf& elf) {
  std::optional<std::string> release;
  constexpr uint32_t kFirstTenth = 90;  // e_version of older ABIs is ten times the release: 129 is 12.9
  const uint32_t version = elf.header.e_version;
  if (elf.header.e_ident[EI_ABIVERSION] == 7 && version >= kFirstTenth && version < 1000)
    release = fmt::format("{}.{}", version / 10, version % 10);
  if (const auto* section = find_section(elf, ".note.nv.tkinfo"); section != nullptr) {
    PBPROBE_TRY(const Bytes note, section_bytes(elf, *section));
    if (auto told = release_in(note.text())) release = std::move(told);
  }
  return release;
}

Result<DeviceImage> read_cubin(const Elf& elf) {
  DeviceImage image;
  const uint32_t flags = elf.header.e_flags;
  const uint8_t abi = elf.header.e_ident[EI_ABIVERSION];
  if (abi < 7 || abi > 8)
    return make_error(ErrorCode::unsupported, "{}: cubin of ABI version {}: 7 (CUDA 9 to 12) and 8 (CUDA 13) are read",
                      elf.file.name(), abi);
  image.sm = sm_of_number(abi == 7 ? flags & 0xff : (flags >> 8) & 0xff);
  if (abi == 7 && (flags & kAbi7Specific) != 0) image.sm.suffix = 'a';
  if (const auto* section = find_section(elf, ".nv.compat"); section != nullptr && abi == 8) {
    PBPROBE_TRY(const Bytes compat, section_bytes(elf, *section));
    PBPROBE_TRY(const bool specific, compat_says_specific(compat));
    if (specific) image.sm.suffix = 'a';
  }
  if (const auto* section = find_section(elf, ".note.nv.tkinfo"); section != nullptr && image.sm.suffix == '\0') {
    PBPROBE_TRY(const Bytes note, section_bytes(elf, *section));
    if (note_says_family(note, image.sm)) image.sm.suffix = 'f';
  }
  image.major = 1;
  image.minor = abi;
  image.stored_bytes = elf.file.size();
  image.uncompressed_bytes = elf.file.size();
  image.payload = elf.file.span();
  return image;
}

}  // namespace pbprobe
