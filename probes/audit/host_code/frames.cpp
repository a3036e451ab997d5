// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "probes/audit/host_code/functions.hpp"

namespace pbprobe {
namespace {

constexpr uint8_t kOmitted = 0xFF;   // DW_EH_PE_omit
constexpr uint8_t kRelative = 0x10;  // DW_EH_PE_pcrel
constexpr uint8_t kIndirect = 0x80;  // DW_EH_PE_indirect
constexpr uint64_t kMaxFrames = 20'000'000;

// Sequential reader.
class Cursor {
 public:
  Cursor(const Bytes& bytes, uint64_t at) : bytes_(bytes), at_(at) {}
  void jump(uint64_t at) { at_ = at; }
  [[nodiscard]] uint64_t at() const { return at_; }

  template <class T>
  Result<T> next(std::string_view what) {
    PBPROBE_TRY(const T value, bytes_.read<T>(at_, what));
    at_ += sizeof(T);
    return value;
  }

  // Reads a number without sign: 7 bits a byte, the lowest first.
  Result<uint64_t> leb128() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      PBPROBE_TRY(const auto byte, next<uint8_t>("LEB128 number"));
      if (shift < 64) number |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return number;
    }
    return make_error(ErrorCode::malformed, "{}: a LEB128 number of more than 10 bytes", bytes_.at(at_));
  }

  Result<void> skip_leb128() {
    PBPROBE_TRY(const uint64_t ignored, leb128());
    static_cast<void>(ignored);
    return {};
  }

  // Reads an encoded pointer. `address`: address of the section's first byte.
  Result<uint64_t> pointer(uint8_t encoding, uint64_t address) {
    const uint64_t place = address + at_;
    uint64_t value = 0;
    switch (encoding & 0x0F) {
      case 0x00:
      case 0x04:
      case 0x0C: {
        PBPROBE_TRY(value, next<uint64_t>("pointer"));
        break;
      }
      case 0x01: {
        PBPROBE_TRY(value, leb128());
        break;
      }
      case 0x02: {
        PBPROBE_TRY(value, next<uint16_t>("pointer"));
        break;
      }
      case 0x03: {
        PBPROBE_TRY(value, next<uint32_t>("pointer"));
        break;
      }
      case 0x0B: {
        PBPROBE_TRY(const auto narrow, next<int32_t>("pointer"));
        value = static_cast<uint64_t>(static_cast<int64_t>(narrow));
        break;
      }
      default:
        return make_error(ErrorCode::unsupported, "{}: pointer encoding 0x{:x} is not known", bytes_.at(at_), encoding);
    }
    return (encoding & 0x70) == kRelative ? place + value : value;
  }

 private:
  const Bytes& bytes_;
  uint64_t at_;
};

// Encodings of the pointers in the frames of a common entry.
struct CommonEntry {
  uint8_t addresses = 0;
  uint8_t language = kOmitted;  // encoding of pointers to tables of landing pads
  bool sized = false;           // frames state the size of their augmentation
};

Result<CommonEntry> read_common_entry(const Bytes& section, uint64_t at) {
  CommonEntry entry;
  Cursor cursor(section, at);
  PBPROBE_TRY(const auto version, cursor.next<uint8_t>("version of a common entry"));
  if (version != 1 && version != 3)
    return make_error(ErrorCode::unsupported, "{}: a common entry of version {}", section.at(at), version);
  PBPROBE_TRY(const std::string augmentation, section.string(cursor.at(), "augmentation"));
  cursor.jump(cursor.at() + augmentation.size() + 1);
  PBPROBE_CHECK(cursor.skip_leb128());  // code alignment
  PBPROBE_CHECK(cursor.skip_leb128());  // data alignment
  PBPROBE_CHECK(cursor.skip_leb128());  // return register; one byte in version 1, which is the same below 128
  entry.sized = augmentation.starts_with('z');
  if (!entry.sized) return entry;
  PBPROBE_CHECK(cursor.skip_leb128());
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'R') {
      PBPROBE_TRY(entry.addresses, cursor.next<uint8_t>("pointer encoding"));
    } else if (letter == 'L') {
      PBPROBE_TRY(entry.language, cursor.next<uint8_t>("encoding of language data"));
    } else if (letter == 'P') {
      PBPROBE_TRY(const auto encoding, cursor.next<uint8_t>("encoding of the personality"));
      PBPROBE_TRY(const auto ignored, cursor.pointer(encoding & ~kIndirect, 0));
      static_cast<void>(ignored);
    } else if (letter != 'S' && letter != 'B') {
      break;
    }
  }
  return entry;
}

// SHT_RELR: an even word is a place; the bits of an odd word select from the 63 words after the last place. The addend
// is in the place itself. Source: gABI proposal "relative relocations", as glibc 2.36 reads it.
Result<void> add_packed(const Elf& elf, std::vector<Relocation>& relocations) {
  constexpr uint32_t kRelr = 19;
  const auto add = [&](uint64_t place) -> Result<void> {
    PBPROBE_TRY(const Bytes bytes, bytes_at_address(elf, place, "packed relocation"));
    PBPROBE_TRY(const auto target, bytes.read<uint64_t>(0, "packed relocation"));
    relocations.push_back({place, target});
    return {};
  };
  for (const auto& section : elf.sections) {
    if (section.header.sh_type != kRelr || (section.header.sh_flags & SHF_ALLOC) == 0) continue;
    PBPROBE_TRY(const Bytes table, section_bytes(elf, section));
    uint64_t next = 0;
    for (uint64_t at = 0; at + 8 <= table.size(); at += 8) {
      PBPROBE_TRY(const auto word, table.read<uint64_t>(at, "packed relocations"));
      if ((word & 1U) == 0) {
        PBPROBE_CHECK(add(word));
        next = word + 8;
        continue;
      }
      for (uint64_t bit = 1; bit < 64; ++bit) {
        if (((word >> bit) & 1U) != 0) PBPROBE_CHECK(add(next + (bit - 1) * 8));
      }
      next += uint64_t{63} * 8;
    }
  }
  return {};
}

// Entry of the unwinder's search table.
struct TableEntry {
  int32_t start = 0;  // address of a function, relative to the table
  int32_t frame = 0;
};

struct SearchTable {
  uint64_t address = 0;
  std::vector<TableEntry> entries;  // sorted by their starts
};

// Expects the encoding that linkers use. Returns no entries if the file has no such table.
Result<SearchTable> read_search_table(const Elf& elf) {
  constexpr uint8_t kCount = 0x03;  // DW_EH_PE_udata4
  constexpr uint8_t kTable = 0x3B;  // DW_EH_PE_datarel | DW_EH_PE_sdata4
  SearchTable found;
  for (const auto& segment : elf.segments) {
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    PBPROBE_TRY(const Bytes table, elf.file.part(segment.p_offset, segment.p_filesz, "table of frames"));
    PBPROBE_TRY(const auto head, table.read<uint32_t>(0, "table of frames"));
    if (((head >> 16U) & 0xFFU) != kCount || (head >> 24U) != kTable) continue;
    PBPROBE_TRY(const auto count, table.read<uint32_t>(8, "number of frames"));
    found.address = segment.p_vaddr;
    for (uint64_t i = 0; i < count; ++i) {
      PBPROBE_TRY(const auto entry, table.read<TableEntry>(12 + i * 8, "frame"));
      found.entries.push_back(entry);
    }
  }
  return found;
}

uint64_t add_offset(uint64_t address, int32_t offset) {
  return address + static_cast<uint64_t>(static_cast<int64_t>(offset));
}

// For files without section headers.
Result<std::vector<uint64_t>> starts_by_table(const Elf& elf) {
  PBPROBE_TRY(const SearchTable table, read_search_table(elf));
  std::vector<uint64_t> starts;
  for (const auto& entry : table.entries) starts.push_back(add_offset(table.address, entry.start));
  return starts;
}

// Reads the calls of a function, and where their exceptions lead. `start`: address of the function.
Result<std::vector<CallSite>> read_landing_pads(const Elf& elf, uint64_t address, uint64_t start) {
  PBPROBE_TRY(const Bytes table, bytes_at_address(elf, address, "landing pads"));
  Cursor cursor(table, 0);
  uint64_t base = start;
  PBPROBE_TRY(const auto base_encoding, cursor.next<uint8_t>("start of landing pads"));
  if (base_encoding != kOmitted) {
    PBPROBE_TRY(base, cursor.pointer(base_encoding, address));
  }
  PBPROBE_TRY(const auto types, cursor.next<uint8_t>("encoding of types"));
  if (types != kOmitted) PBPROBE_CHECK(cursor.skip_leb128());
  PBPROBE_TRY(const auto encoding, cursor.next<uint8_t>("encoding of call sites"));
  PBPROBE_TRY(const uint64_t bytes, cursor.leb128());
  std::vector<CallSite> sites;
  for (const uint64_t end = cursor.at() + std::min(bytes, table.size()); cursor.at() < end;) {
    PBPROBE_TRY(const uint64_t from, cursor.pointer(encoding & 0x0F, 0));
    PBPROBE_TRY(const uint64_t length, cursor.pointer(encoding & 0x0F, 0));
    PBPROBE_TRY(const uint64_t pad, cursor.pointer(encoding & 0x0F, 0));
    PBPROBE_CHECK(cursor.skip_leb128());  // list of types that the landing pad catches
    if (pad != 0) sites.push_back({.begin = start + from, .end = start + from + length, .pad = base + pad});
  }
  return sites;
}

}  // namespace

Result<std::vector<uint64_t>> read_frame_starts(const Elf& elf, FunctionEnds* ends) {
  std::vector<uint64_t> starts;
  const ElfSection* section = find_section(elf, ".eh_frame");
  if (elf.header.e_type == ET_REL) return starts;
  if (section == nullptr) return starts_by_table(elf);
  PBPROBE_TRY(const Bytes frames, section_bytes(elf, *section));
  std::map<uint64_t, CommonEntry> entries;  // key: offset
  for (uint64_t at = 0; at + 4 <= frames.size();) {
    PBPROBE_TRY(const auto length, frames.read<uint32_t>(at, "length of a frame"));
    if (length == 0) {  // the end of one object's frames; others may follow where files were put together
      at += 4;
      continue;
    }
    if (length == 0xFFFFFFFF)
      return make_error(ErrorCode::unsupported, "{}: a frame with a 64-bit length", frames.at(at));
    const uint64_t begin = at + 4;
    if (length < 4 || length > frames.size() - begin)
      return make_error(ErrorCode::malformed, "{}: a frame of {} bytes, {} left", frames.at(at), length,
                        frames.size() - begin);
    PBPROBE_TRY(const auto back, frames.read<uint32_t>(begin, "pointer to a common entry (CIE)"));
    if (back == 0) {
      PBPROBE_TRY(entries[at], read_common_entry(frames, begin + 4));
    } else {
      const auto common = back > begin ? entries.end() : entries.find(begin - back);
      if (common == entries.end())
        return make_error(ErrorCode::malformed, "{}: the common entry (CIE) that a frame of .eh_frame names is missing",
                          frames.at(at));
      const uint8_t encoding = common->second.addresses;
      if (encoding != kOmitted) {
        Cursor cursor(frames, begin + 4);
        PBPROBE_TRY(const uint64_t start, cursor.pointer(encoding, section->header.sh_addr));
        starts.push_back(start);
        if (ends != nullptr) {
          PBPROBE_TRY(const uint64_t size, cursor.pointer(encoding & 0x0F, 0));
          ends->insert_or_assign(start, start + size);
        }
      }
    }
    if (starts.size() > kMaxFrames)
      return make_error(ErrorCode::limit, "{}: more than {} frames", frames.name(), kMaxFrames);
    at = begin + length;
  }
  return starts;
}

Result<std::vector<CallSite>> LandingPads::read(const Elf& elf, uint64_t start) const {
  const auto found = std::lower_bound(frames_.begin(), frames_.end(), std::pair(start, uint64_t{0}));
  if (found == frames_.end() || found->first != start) return std::vector<CallSite>();
  PBPROBE_TRY(const Bytes frame, bytes_at_address(elf, found->second, "frame"));
  PBPROBE_TRY(const auto back, frame.read<uint32_t>(4, "pointer to a common entry (CIE)"));
  const uint64_t common = found->second + 4 - back;
  PBPROBE_TRY(const Bytes bytes, bytes_at_address(elf, common, "common entry"));
  PBPROBE_TRY(const CommonEntry entry, read_common_entry(bytes, 8));
  if (!entry.sized || entry.addresses == kOmitted || entry.language == kOmitted) return std::vector<CallSite>();
  Cursor cursor(frame, 8);
  PBPROBE_TRY(const uint64_t same, cursor.pointer(entry.addresses, found->second));
  PBPROBE_TRY(const uint64_t size, cursor.pointer(entry.addresses & 0x0F, 0));
  static_cast<void>(same);
  static_cast<void>(size);
  PBPROBE_CHECK(cursor.skip_leb128());
  const uint64_t place = found->second + cursor.at();
  PBPROBE_TRY(const uint64_t pads, cursor.pointer(entry.language, found->second));
  if (pads == 0 || pads == place) return std::vector<CallSite>();  // a null pointer
  return read_landing_pads(elf, pads, start);
}

Result<LandingPads> LandingPads::make(const Elf& elf) {
  LandingPads pads;
  PBPROBE_TRY(const SearchTable table, read_search_table(elf));
  for (const auto& entry : table.entries)
    pads.frames_.emplace_back(add_offset(table.address, entry.start), add_offset(table.address, entry.frame));
  std::ranges::sort(pads.frames_);
  return pads;
}

Result<std::vector<Relocation>> read_own_relocations(const Elf& elf) {
  std::vector<Relocation> relocations;
  const bool arm = elf.header.e_machine == EM_AARCH64;
  const uint32_t relative = arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
  const uint32_t absolute = arm ? R_AARCH64_ABS64 : R_X86_64_64;
  const ElfSection* dynsym = find_section(elf, ".dynsym");
  Bytes symbols;
  if (dynsym != nullptr) {
    PBPROBE_TRY(symbols, section_bytes(elf, *dynsym));
  }
  for (const auto& section : elf.sections) {
    if (section.header.sh_type != SHT_RELA || (section.header.sh_flags & SHF_ALLOC) == 0) continue;
    PBPROBE_TRY(const Bytes table, section_bytes(elf, section));
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
      PBPROBE_TRY(const auto entry, table.read<Elf64_Rela>(at, "relocation"));
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info));
      if (type == relative) {
        relocations.push_back({entry.r_offset, static_cast<uint64_t>(entry.r_addend)});
      } else if (type == absolute && symbols.size() > 0) {
        PBPROBE_TRY(const auto symbol,
                    symbols.read<Elf64_Sym>(ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym), "relocation's symbol"));
        if (symbol.st_shndx != SHN_UNDEF)
          relocations.push_back({entry.r_offset, symbol.st_value + static_cast<uint64_t>(entry.r_addend)});
      }
    }
  }
  PBPROBE_CHECK(add_packed(elf, relocations));
  return relocations;
}

}  // namespace pbprobe
