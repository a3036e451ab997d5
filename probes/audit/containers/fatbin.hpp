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

// One program in a fatbin for one SM: machine code (cubin), PTX, LTO-IR or another kind.
struct FatbinEntry {
  EntryKind kind = EntryKind::cubin;
  Sm sm;
  Compression compression = Compression::none;
  bool scrambled = false;  // compressed LTO-IR: what it holds cannot be known
  uint16_t major = 0;      // PTX: ISA version; cubin: ELF version
  uint16_t minor = 0;
  uint64_t container = 0;  // index in the section; a translation unit has one container
  uint64_t stored_bytes = 0;
  uint64_t padded_bytes = 0;  // from this payload to the next header
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
inline constexpr uint64_t kMaxEntries = 1'000'000;  // per section

// Reads a concatenation of containers: a section, or a bare fatbin file.
[[nodiscard]] Fatbins read_fatbins(const Bytes& bytes);

// Header sizes of a container and of a fatbin entry, for readers of streams.
inline constexpr uint64_t kContainerHeaderBytes = 16;
inline constexpr uint64_t kEntryHeaderBytes = 64;  // at least: EntryHeader::header_bytes tells

struct EntryHeader {
  FatbinEntry entry;  // without payload and container
  bool known = true;  // false: a kind that pbprobe does not read
  uint16_t kind = 0;  // kind number in the header
  uint64_t header_bytes = 0;
  uint64_t padded_bytes = 0;  // from the header's end to the next header
};

// Returns the number of bytes that follow a container's header.
[[nodiscard]] Result<uint64_t> read_container_header(const Bytes& bytes);

// Parses the header at `offset`. Errors: sizes that break the format or the limits.
[[nodiscard]] Result<EntryHeader> read_entry_header(const Bytes& bytes, uint64_t offset);

// Appends the fatbin entries of the container at the start of `bytes`; returns the container's size.
[[nodiscard]] Result<uint64_t> read_container(const Bytes& bytes, Fatbins& fatbins);

// Returns the fatbin entries that a host binary loads: .nv_fatbin and containers elsewhere in loaded data, without
// constants. Without any container, returns the entries of __nv_relfatbin (relocatable code before the device link).
[[nodiscard]] Fatbins read_embedded_fatbins(const Elf& elf);

// Returns the fatbin entries of sections with this name, loaded or not.
[[nodiscard]] Fatbins read_fatbin_sections(const Elf& elf, std::string_view name);

// Returns fatbin entries and bare cubins in `section`, which the library itself passes to the driver. Returns none if
// `section` is not .rodata* or .lrodata*.
[[nodiscard]] Fatbins read_constant_fatbins(const Elf& elf, const ElfSection& section);

// Returns the fatbin entries and bare cubins of all these sections. For .nv_fatbin, call read_embedded_fatbins().
[[nodiscard]] Fatbins read_constant_fatbins(const Elf& elf);

// Returns the bytes of a fatbin entry: in the file if it is not compressed, else in `scratch`, which grows and can be
// reused. `payload` has the stored bytes of `entry`; `name` begins the messages. Errors: malformed (broken data, or
// another size than in the header), limit (above kMaxEntryBytes).
[[nodiscard]] Result<std::span<const uint8_t>> decompress_entry(const FatbinEntry& entry,
                                                                std::span<const uint8_t> payload, Mapping& scratch,
                                                                const std::string& name);

}  // namespace pbprobe
