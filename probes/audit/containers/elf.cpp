// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/elf.hpp"

#include <algorithm>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kTruncated = "the file is truncated";
constexpr uint64_t kMostReadings = 8;  // all sections together, in sizes of the file
constexpr size_t kMostDynamicNames = 1000;
constexpr uint64_t kLongestSearchPath = 64 << 10;  // Nix lists a folder of 80 characters for each input

Result<Elf64_Ehdr> read_header(const Bytes& file) {
  if (!file.text().starts_with(std::string_view(ELFMAG, SELFMAG)))
    return make_error(ErrorCode::malformed, "{}: not an ELF file", file.name());
  PBPROBE_TRY(const auto header, file.read<Elf64_Ehdr>(0, "ELF header"));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return make_error(ErrorCode::unsupported,
                      "{}: ELF class {}, byte order {}: only 64-bit little-endian files are read (class 2, order 1)",
                      file.name(), header.e_ident[EI_CLASS], header.e_ident[EI_DATA]);
  return header;
}

Result<std::vector<Elf64_Phdr>> read_segments(const Bytes& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  if (header.e_phnum == 0) return segments;
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return make_error(ErrorCode::malformed, "{}: program headers of {} bytes, {} expected", file.name(),
                      header.e_phentsize, sizeof(Elf64_Phdr));
  PBPROBE_TRY(const Bytes table, file.slice(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), "program headers"));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    PBPROBE_TRY(const auto segment, table.read<Elf64_Phdr>(i * sizeof(Elf64_Phdr), "program header"));
    segments.push_back(segment);
  }
  return segments;
}

// A section count above e_shnum's range is in the first section header, as is the index of the names.
struct SectionTable {
  Bytes bytes;
  uint64_t count = 0;
  uint64_t names = 0;
};

Result<SectionTable> section_table(const Bytes& file, const Elf64_Ehdr& header) {
  SectionTable table{{}, header.e_shnum, header.e_shstrndx};
  if (header.e_shoff == 0) return table;
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return make_error(ErrorCode::malformed, "{}: section headers of {} bytes, {} expected", file.name(),
                      header.e_shentsize, sizeof(Elf64_Shdr));
  if (header.e_shoff >= file.size())
    return make_error(ErrorCode::malformed, "{}: section headers at 0x{:x}, but the file ends at 0x{:x}: {}",
                      file.name(), header.e_shoff, file.size(), kTruncated);
  PBPROBE_TRY(const auto first, file.read<Elf64_Shdr>(header.e_shoff, "section header"));
  if (table.count == 0) table.count = first.sh_size;
  if (table.names == SHN_XINDEX) table.names = first.sh_link;
  if (table.count > kMaxElfSections)
    return make_error(ErrorCode::limit, "{}: {} sections, {} are the limit", file.name(), table.count, kMaxElfSections);
  PBPROBE_TRY(table.bytes, file.slice(header.e_shoff, table.count * sizeof(Elf64_Shdr), "section headers"));
  return table;
}

Result<std::vector<ElfSection>> read_sections(const Bytes& file, const Elf64_Ehdr& header) {
  std::vector<ElfSection> sections;
  PBPROBE_TRY(const SectionTable table, section_table(file, header));
  for (uint64_t i = 0; i < table.count && table.bytes.size() > 0; ++i) {
    PBPROBE_TRY(const auto section, table.bytes.read<Elf64_Shdr>(i * sizeof(Elf64_Shdr), "section header"));
    sections.push_back({"", section});
  }
  if (sections.empty() || table.names == SHN_UNDEF) return sections;
  if (table.names >= sections.size())
    return make_error(ErrorCode::malformed,
                      "{}: section {} should hold the section names, but the file has only {} sections", file.name(),
                      table.names, sections.size());
  const Elf64_Shdr& strings = sections[table.names].header;
  PBPROBE_TRY(const Bytes names, file.part(strings.sh_offset, strings.sh_size, "section names"));
  for (auto& section : sections) {
    PBPROBE_TRY(section.name, names.string(section.header.sh_name, "section name"));
  }
  return sections;
}

// Fails if the sections together are much larger than the file: overlapping sections would be read once each. In
// cubins, some sections overlap.
Result<void> check_overlap(const Bytes& file, const std::vector<ElfSection>& sections) {
  uint64_t total = 0;
  for (const auto& section : sections) {
    const Elf64_Shdr& header = section.header;
    const bool inside = header.sh_offset <= file.size() && header.sh_size <= file.size() - header.sh_offset;
    if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL || !inside) continue;
    total += header.sh_size;
    if (total / kMostReadings > file.size())
      return make_error(
          ErrorCode::malformed,
          "{}: the file has 0x{:x} bytes, and its sections together more than {} times as many: they overlap",
          file.name(), file.size(), kMostReadings);
  }
  return {};
}

std::vector<std::string> split_path(const std::string& list) {
  const auto folders = split(list, ':');
  return {folders.begin(), folders.end()};
}

constexpr uint64_t kMaxVersions = 10000;

// Symbols may share the end of a name. In a hostile file, each could name all of a section.
constexpr uint64_t kMostNamesPerByte = 16;

// "GLIBC_2.28" raises the floor of GLIBC. "GLIBC_PRIVATE" and names without a number state no version.
void raise(std::map<std::string, std::string>& floors, std::string_view name) {
  const size_t mark = name.rfind('_');
  if (mark == std::string_view::npos || mark + 1 == name.size()) return;
  const std::string_view version = name.substr(mark + 1);
  if (version.find_first_not_of("0123456789.") != std::string_view::npos) return;
  std::string& floor = floors[std::string(name.substr(0, mark))];
  if (floor.empty() || version_less(floor, version)) floor = version;
}

Result<Bytes> dynamic_strings(const Elf& elf, const std::vector<Elf64_Dyn>& entries) {
  uint64_t address = 0;
  uint64_t size = 0;
  for (const auto& entry : entries) {
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  PBPROBE_TRY(const Bytes rest, bytes_at_address(elf, address, "dynamic strings"));
  return rest.slice(0, size, "dynamic strings");
}

}  // namespace

Result<Elf> read_elf(const Bytes& file) {
  Elf elf;
  elf.file = file;
  PBPROBE_TRY(elf.header, read_header(file));
  PBPROBE_TRY(elf.segments, read_segments(file, elf.header));
  for (const auto& segment : elf.segments) {
    const bool outside = segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset;
    if (segment.p_type == PT_LOAD && outside && !elf.problem)
      elf.problem = make_error(ErrorCode::malformed,
                               "{}: a segment of 0x{:x} bytes at 0x{:x}, but the file ends at "
                               "0x{:x}: {}",
                               file.name(), segment.p_filesz, segment.p_offset, file.size(), kTruncated);
  }
  auto sections = read_sections(file, elf.header);
  if (const auto sound = sections ? check_overlap(file, *sections) : Result<void>(); !sound) sections = sound.error();
  if (sections) {
    elf.sections = std::move(*sections);
  } else if (!elf.problem) {
    elf.problem = sections.error();
  }
  return elf;
}

Result<std::vector<Elf64_Dyn>> read_dynamic_entries(const Elf& elf) {
  std::vector<Elf64_Dyn> entries;
  for (const auto& segment : elf.segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    PBPROBE_TRY(const Bytes table, elf.file.part(segment.p_offset, segment.p_filesz, "dynamic section"));
    for (uint64_t offset = 0; offset < table.size(); offset += sizeof(Elf64_Dyn)) {
      PBPROBE_TRY(const auto entry, table.read<Elf64_Dyn>(offset, "dynamic entry"));
      if (entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
    }
    break;
  }
  return entries;
}

Result<ElfDynamic> read_dynamic(const Elf& elf) {
  ElfDynamic dynamic;
  PBPROBE_TRY(const auto entries, read_dynamic_entries(elf));
  if (entries.empty()) return dynamic;
  PBPROBE_TRY(const Bytes strings, dynamic_strings(elf, entries));
  size_t names = 0;
  for (const auto& entry : entries) {
    const bool is_text =
        entry.d_tag == DT_SONAME || entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (!is_text) continue;
    if (++names > kMostDynamicNames)
      return make_error(ErrorCode::limit, "{}: more than {} names in its dynamic section", elf.file.name(),
                        kMostDynamicNames);
    PBPROBE_TRY(std::string text, strings.string(entry.d_un.d_val, "dynamic string", kLongestSearchPath));
    if (entry.d_tag == DT_SONAME) dynamic.soname = text;
    if (entry.d_tag == DT_NEEDED) dynamic.needed.push_back(text);
    if (entry.d_tag == DT_RPATH) dynamic.rpath = split_path(text);
    if (entry.d_tag == DT_RUNPATH) dynamic.runpath = split_path(text);
  }
  return dynamic;
}

const ElfSection* find_section(const Elf& elf, std::string_view name) {
  const auto found = std::ranges::find(elf.sections, name, &ElfSection::name);
  return found == elf.sections.end() ? nullptr : &*found;
}

Result<Bytes> section_bytes(const Elf& elf, const ElfSection& section) {
  const uint64_t size = section.header.sh_type == SHT_NOBITS ? 0 : section.header.sh_size;
  return elf.file.part(size == 0 ? 0 : section.header.sh_offset, size, section.name);
}

Result<Bytes> bytes_at_address(const Elf& elf, uint64_t address, std::string_view what) {
  for (const auto& segment : elf.segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
      continue;
    PBPROBE_TRY(const Bytes bytes, elf.file.slice(segment.p_offset, segment.p_filesz, "segment"));
    const uint64_t skip = address - segment.p_vaddr;
    return bytes.slice(skip, bytes.size() - skip, what);
  }
  return make_error(ErrorCode::malformed, "{}: {} at address 0x{:x}, which no segment holds", elf.file.name(), what,
                    address);
}

Result<void> visit_symbols(const Elf& elf, std::string_view section,
                           const std::function<void(std::string_view, const Elf64_Sym&)>& visit) {
  const ElfSection* table = find_section(elf, section);
  if (table == nullptr) return {};
  if (table->header.sh_link >= elf.sections.size())
    return make_error(ErrorCode::malformed,
                      "{} {}: the names of its symbols are in section {}, but the file has {} sections",
                      elf.file.name(), section, table->header.sh_link, elf.sections.size());
  PBPROBE_TRY(const Bytes symbols, section_bytes(elf, *table));
  PBPROBE_TRY(const Bytes strings, section_bytes(elf, elf.sections[table->header.sh_link]));
  const std::string_view text = strings.text();
  if (!text.empty() && text.back() != '\0')
    return make_error(ErrorCode::malformed, "{}: the last name has no end", strings.name());
  const uint64_t most = kMostNamesPerByte * text.size();
  uint64_t named = 0;
  for (uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= symbols.size(); offset += sizeof(Elf64_Sym)) {
    PBPROBE_TRY(const auto symbol, symbols.read<Elf64_Sym>(offset, "symbol"));
    if (symbol.st_name >= text.size()) {
      if (symbol.st_name == 0) continue;
      return make_error(ErrorCode::malformed, "{}: the name of a symbol is at 0x{:x}, but the names end at 0x{:x}",
                        symbols.at(offset), symbol.st_name, text.size());
    }
    const std::string_view name(text.data() + symbol.st_name);  // ends: the last byte is NUL
    named += name.size();
    if (named > most)
      return make_error(ErrorCode::limit,
                        "{}: the names of its symbols overlap: together more than {} bytes, from a section of {} bytes",
                        symbols.at(offset), most, text.size());
    visit(name, symbol);
  }
  return {};
}

Result<std::map<std::string, std::string>> read_version_floors(const Elf& elf) {
  std::map<std::string, std::string> floors;
  const ElfSection* section = find_section(elf, ".gnu.version_r");
  if (section == nullptr) return floors;
  if (section->header.sh_link >= elf.sections.size())
    return make_error(ErrorCode::malformed,
                      "{} .gnu.version_r: its names are in section {}, but the file has {} sections", elf.file.name(),
                      section->header.sh_link, elf.sections.size());
  PBPROBE_TRY(const Bytes needs, section_bytes(elf, *section));
  PBPROBE_TRY(const Bytes names, section_bytes(elf, elf.sections[section->header.sh_link]));
  uint64_t versions = 0;
  for (uint64_t at = 0; needs.size() > 0;) {
    PBPROBE_TRY(const auto need, needs.read<Elf64_Verneed>(at, "needed file"));
    uint64_t entry_at = at + need.vn_aux;
    for (uint32_t i = 0; i < need.vn_cnt; ++i) {
      if (++versions > kMaxVersions)
        return make_error(ErrorCode::limit, "{}: more than {} versions", needs.name(), kMaxVersions);
      PBPROBE_TRY(const auto entry, needs.read<Elf64_Vernaux>(entry_at, "needed version"));
      PBPROBE_TRY(const std::string name, names.string(entry.vna_name, "version name"));
      raise(floors, name);
      entry_at += entry.vna_next;
      if (entry.vna_next == 0) break;
    }
    if (need.vn_next == 0) break;
    if (++versions > kMaxVersions)
      return make_error(ErrorCode::limit, "{}: more than {} versions", needs.name(), kMaxVersions);
    at += need.vn_next;
  }
  return floors;
}

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case kMachineCuda: return "cuda";
    default: return fmt::format("machine {}", machine);
  }
}

bool holds_constants(const ElfSection& section) {
  for (const std::string_view name : {".rodata", ".lrodata"}) {
    if (section.name == name) return true;
    if (section.name.starts_with(name) && section.name[name.size()] == '.') return true;
  }
  return false;
}

}  // namespace pbprobe
