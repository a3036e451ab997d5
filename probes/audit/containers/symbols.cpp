// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/symbols.hpp"

#include "core/strings.hpp"

namespace pbprobe {
namespace {

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

}  // namespace

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

}  // namespace pbprobe
