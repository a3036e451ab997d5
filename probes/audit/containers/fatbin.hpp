// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Bounded reader of fatbins: containers of fatbin entries (cubin, PTX, LTO-IR, Tile IR) as nvcc embeds them. Listing
// reads the headers only; nothing is decompressed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sm.hpp"
#include "probes/audit/containers/bytes.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/mapped_file.hpp"

namespace pbprobe {

enum class EntryKind { ptx, cubin, lto_ir, relocatable_ptx, tile_ir, mercury };
enum class Compression { none, lz4, zstd };

// Returns the kind in words: "Tile IR".
[[nodiscard]] std::string_view name_kind(EntryKind kind);

struct FatbinEntry {
  EntryKind kind = EntryKind::cubin;
  Sm sm;
  Compression compression = Compression::none;
  bool scrambled = false;  // compressed LTO-IR: what it holds cannot be known
  uint16_t major = 0;      // PTX: ISA version; cubin: ELF version
  uint16_t minor = 0;
  uint64_t container = 0;  // which container of its section: one a translation unit
  uint64_t stored_bytes = 0;
  uint64_t padded_bytes = 0;  // of its place in the file
  uint64_t uncompressed_bytes = 0;
  std::span<const uint8_t> payload;  // inside the file's mapping
};

// Readable entries, and the first error.
struct Fatbins {
  std::vector<FatbinEntry> entries;
  uint64_t containers = 0;
  bool unlinked = false;  // all are relocatable code that no device linker has read
  std::optional<Error> problem;
};

inline constexpr std::string_view kFatbinSection = ".nv_fatbin";
inline constexpr std::string_view kRelocatableSection = "__nv_relfatbin";
inline constexpr uint32_t kFatbinMagic = 0xBA55ED50;
inline constexpr uint64_t kMaxEntryBytes = 512ULL << 20;
inline constexpr uint64_t kMaxEntries = 1'000'000;  // of one section

// A concatenation of containers: a section, or a bare fatbin file.
[[nodiscard]] Fatbins read_fatbins(const Bytes& bytes);

// The header of a container, and that of a fatbin entry in it: what a stream needs to know where the next one begins.
inline constexpr uint64_t kContainerHeaderBytes = 16;
inline constexpr uint64_t kEntryHeaderBytes = 64;  // at least: EntryHeader::header_bytes tells

struct EntryHeader {
  FatbinEntry entry;  // without payload and container
  bool known = true;  // false: of a kind that is not read
  uint16_t kind = 0;  // as it stands there
  uint64_t header_bytes = 0;
  uint64_t padded_bytes = 0;  // of what follows the header
};

// The bytes that follow a container's header.
[[nodiscard]] Result<uint64_t> read_container_header(const Bytes& bytes);

// Errors: sizes that break the format or the limits.
[[nodiscard]] Result<EntryHeader> read_entry_header(const Bytes& bytes, uint64_t offset);

// One container at the start of `bytes`: appends its fatbin entries and gives the bytes that it takes.
[[nodiscard]] Result<uint64_t> read_container(const Bytes& bytes, Fatbins& fatbins);

// The fatbin entries that a host binary loads: of .nv_fatbin and of whatever containers else stand in what is loaded,
// code and constants left out; where there are none, of __nv_relfatbin (relocatable code that was not linked yet).
[[nodiscard]] Fatbins read_embedded_fatbins(const Elf& elf);

// The fatbin entries of the sections with this name, whether they are loaded or not.
[[nodiscard]] Fatbins read_fatbin_sections(const Elf& elf, std::string_view name);

// The fatbin entries that stand among the constants of this section, cubins by themselves among them: the library hands
// them to the driver by itself.
[[nodiscard]] Fatbins find_fatbins(const Elf& elf, const ElfSection& section);

// The same of all sections of constants.
[[nodiscard]] Fatbins find_fatbins(const Elf& elf);

// Returns the bytes of a fatbin entry: in the file if it is not compressed, else in `scratch`, which grows and can be
// reused. `payload` has the stored bytes of `entry`; `name` begins the messages. Errors: malformed (broken data, or
// another size than in the header), limit (above kMaxEntryBytes).
[[nodiscard]] Result<std::span<const uint8_t>> decompress_entry(const FatbinEntry& entry,
                                                                std::span<const uint8_t> payload, Mapping& scratch,
                                                                const std::string& name);

}  // namespace pbprobe
