// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/loaded.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "probes/audit/containers/elf.hpp"
#include "probes/audit/host_code/functions.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kMostSymbols = 50'000'000;
constexpr int64_t kRelr = 36;        // DT_RELR; elf.h of glibc 2.36 has it, others may not
constexpr int64_t kRelrBytes = 35;   // DT_RELRSZ
constexpr uint32_t kRelrTable = 19;  // SHT_RELR

using Entries = std::map<int64_t, uint64_t>;

Entries index_dynamic_entries(const std::vector<Elf64_Dyn>& table) {
  Entries entries;
  for (const auto& entry : table) entries.emplace(entry.d_tag, entry.d_un.d_val);
  return entries;
}

uint64_t find_dynamic_value(const Entries& entries, int64_t tag) {
  const auto found = entries.find(tag);
  return found == entries.end() ? 0 : found->second;
}

// Counts the symbols of a GNU hash table. An odd hash ends a chain.
Result<uint64_t> count_by_gnu_hash(const Elf& elf, uint64_t address) {
  PBPROBE_TRY(const Bytes table, bytes_at_address(elf, address, "hash table"));
  PBPROBE_TRY(const auto buckets, table.read<uint32_t>(0, "buckets"));
  PBPROBE_TRY(const auto first, table.read<uint32_t>(4, "first symbol"));
  PBPROBE_TRY(const auto words, table.read<uint32_t>(8, "filter words"));
  const uint64_t chains_at = 16 + uint64_t{words} * 8 + uint64_t{buckets} * 4;
  uint64_t last = 0;
  for (uint64_t i = 0; i < buckets; ++i) {
    PBPROBE_TRY(const auto bucket, table.read<uint32_t>(16 + uint64_t{words} * 8 + i * 4, "bucket"));
    last = std::max<uint64_t>(last, bucket);
  }
  if (last < first) return first;
  for (; last < kMostSymbols; ++last) {
    PBPROBE_TRY(const auto hash, table.read<uint32_t>(chains_at + (last - first) * 4, "chain"));
    if ((hash & 1U) != 0) return last + 1;
  }
  return make_error(ErrorCode::limit, "{}: more than {} dynamic symbols", elf.file.name(), kMostSymbols);
}

// Counts the symbols that relocations name: in a library without exports, hash tables omit imported symbols.
Result<uint64_t> count_by_relocations(const Elf& elf, const Entries& entries) {
  uint64_t count = 0;
  for (const auto& [place, bytes] : {std::pair(DT_RELA, DT_RELASZ), std::pair(DT_JMPREL, DT_PLTRELSZ)}) {
    const uint64_t address = find_dynamic_value(entries, place);
    if (address == 0) continue;
    PBPROBE_TRY(const Bytes table, bytes_at_address(elf, address, "relocations"));
    const uint64_t end = std::min<uint64_t>(find_dynamic_value(entries, bytes), table.size());
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= end; at += sizeof(Elf64_Rela)) {
      PBPROBE_TRY(const auto entry, table.read<Elf64_Rela>(at, "relocation"));
      const uint64_t symbol = ELF64_R_SYM(entry.r_info);
      if (symbol < kMostSymbols) count = std::max(count, symbol + 1);
    }
  }
  return count;
}

Result<uint64_t> count_by_hash(const Elf& elf, const Entries& entries) {
  if (const uint64_t hash = find_dynamic_value(entries, DT_HASH); hash != 0) {
    PBPROBE_TRY(const Bytes table, bytes_at_address(elf, hash, "hash table"));
    PBPROBE_TRY(const auto chains, table.read<uint32_t>(4, "chains"));
    return chains;
  }
  if (const uint64_t hash = find_dynamic_value(entries, DT_GNU_HASH); hash != 0) return count_by_gnu_hash(elf, hash);
  return 0;
}

const Elf64_Phdr* find_segment(const Elf& elf, uint64_t address) {
  for (const auto& segment : elf.segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return &segment;
  }
  return nullptr;
}

Result<uint64_t> count_symbols(const Elf& elf, const Entries& entries) {
  PBPROBE_TRY(const uint64_t hashed, count_by_hash(elf, entries));
  PBPROBE_TRY(const uint64_t related, count_by_relocations(elf, entries));
  return std::max(hashed, related);
}

class Completion {
 public:
  explicit Completion(const Elf& elf) : elf_(elf), whole_(elf) {}

  Result<Elf> take() {
    PBPROBE_TRY(const auto table, read_dynamic_entries(elf_));
    const Entries entries = index_dynamic_entries(table);
    if (!entries.empty()) PBPROBE_CHECK(add_tables(entries));
    if (elf_.sections.empty()) PBPROBE_CHECK(find_code(entries));
    add_code();
    return std::move(whole_);
  }

 private:
  // Returns the index of the section with exactly this place; adds a section if there is no match.
  size_t require(const std::string& name, uint32_t type, uint64_t address, uint64_t size) {
    const Elf64_Phdr* segment = find_segment(elf_, address);
    const uint64_t offset = segment == nullptr ? 0 : segment->p_offset + (address - segment->p_vaddr);
    for (size_t i = 0; i < whole_.sections.size(); ++i) {
      const Elf64_Shdr& header = whole_.sections[i].header;
      const bool same = header.sh_type == type && header.sh_addr == address && header.sh_offset == offset;
      if (same && header.sh_size >= size && (header.sh_flags & SHF_ALLOC) != 0 && whole_.sections[i].name == name)
        return i;
    }
    for (auto& section : whole_.sections) {
      if (section.name == name && !name.empty()) section.name = "(not " + name + ")";
    }
    ElfSection section{.name = name, .header = {}};
    section.header.sh_type = type;
    section.header.sh_flags = SHF_ALLOC;
    section.header.sh_addr = address;
    section.header.sh_offset = offset;
    section.header.sh_size = size;
    whole_.sections.push_back(std::move(section));
    return whole_.sections.size() - 1;
  }

  Result<void> add_tables(const Entries& entries) {
    if (const uint64_t symbols = find_dynamic_value(entries, DT_SYMTAB); symbols != 0) {
      PBPROBE_TRY(const uint64_t count, count_symbols(elf_, entries));
      const size_t names =
          require(".dynstr", SHT_STRTAB, find_dynamic_value(entries, DT_STRTAB), find_dynamic_value(entries, DT_STRSZ));
      const size_t table = require(".dynsym", SHT_DYNSYM, symbols, count * sizeof(Elf64_Sym));
      whole_.sections[table].header.sh_link = static_cast<uint32_t>(names);
    }
    const auto array = [&](const char* name, uint32_t type, int64_t at, int64_t bytes) {
      if (find_dynamic_value(entries, at) != 0 && find_dynamic_value(entries, bytes) != 0)
        require(name, type, find_dynamic_value(entries, at), find_dynamic_value(entries, bytes));
    };
    array(".init_array", SHT_INIT_ARRAY, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
    array(".preinit_array", SHT_PREINIT_ARRAY, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ);
    array(".fini_array", SHT_FINI_ARRAY, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
    array(".rela.dyn", SHT_RELA, DT_RELA, DT_RELASZ);
    array(".relr.dyn", kRelrTable, kRelr, kRelrBytes);
    // If one section holds both tables, ld.so reads the second part as relocations of the procedure linkage table.
    const uint64_t plt = find_dynamic_value(entries, DT_JMPREL);
    const uint64_t rest = find_dynamic_value(entries, DT_RELA);
    if (plt != 0 && (plt < rest || plt - rest >= find_dynamic_value(entries, DT_RELASZ)))
      array(".rela.plt", SHT_RELA, DT_JMPREL, DT_PLTRELSZ);
    return {};
  }

  // Without section headers, constants may be next to code. Takes for code the range between the first and the last
  // function that the unwinder or the loader knows: DT_INIT begins it, DT_FINI ends it.
  Result<void> find_code(const Entries& entries) {
    PBPROBE_TRY(const Starts starts, read_starts(whole_));
    PBPROBE_TRY(std::vector<uint64_t> known, read_frame_starts(whole_));
    const uint64_t fini = find_dynamic_value(entries, DT_FINI);
    if (known.empty() || fini == 0) return {};
    for (const auto* more : {&starts.initializers, &starts.terminators, &starts.resolvers})
      known.insert(known.end(), more->begin(), more->end());
    code_begin_ = *std::ranges::min_element(known);
    const uint64_t last = *std::ranges::max_element(known);
    constexpr uint64_t kShort = 32;  // size of DT_FINI's function
    code_end_ = last == fini ? fini + kShort : UINT64_MAX;
    return {};
  }

  // Adds the parts of executable segments that no section covers.
  void add_code() {
    const size_t known = whole_.sections.size();
    for (size_t s = 0; s < elf_.segments.size(); ++s) {
      const Elf64_Phdr& segment = elf_.segments[s];
      const bool outside =
          segment.p_offset > elf_.file.size() || segment.p_filesz > elf_.file.size() - segment.p_offset;
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || outside) continue;
      uint64_t at = segment.p_vaddr;
      for (const auto& [begin, end] : covered(segment, known)) {
        if (begin > at) add_stretch(s, at, begin);
        at = std::max(at, end);
      }
      add_stretch(s, at, segment.p_vaddr + segment.p_filesz);
    }
  }

  // Returns the covered address ranges. Marks sections with a name of code as executable, against their flags.
  std::vector<std::pair<uint64_t, uint64_t>> covered(const Elf64_Phdr& segment, size_t known) {
    std::vector<std::pair<uint64_t, uint64_t>> covered;
    const uint64_t file_headers =
        std::max<uint64_t>(sizeof(Elf64_Ehdr), elf_.header.e_phoff + elf_.header.e_phnum * sizeof(Elf64_Phdr));
    if (segment.p_offset < file_headers)
      covered.emplace_back(segment.p_vaddr, segment.p_vaddr + (file_headers - segment.p_offset));
    for (size_t i = 0; i < known; ++i) {
      Elf64_Shdr& header = whole_.sections[i].header;
      const bool loaded = (header.sh_flags & SHF_ALLOC) != 0 && header.sh_type != SHT_NOBITS && header.sh_size != 0;
      const bool inside = header.sh_addr >= segment.p_vaddr && header.sh_addr - segment.p_vaddr < segment.p_filesz &&
                          header.sh_size <= segment.p_filesz - (header.sh_addr - segment.p_vaddr) &&
                          header.sh_offset - segment.p_offset == header.sh_addr - segment.p_vaddr;
      if (!loaded || !inside) continue;
      if (header.sh_type == SHT_PROGBITS && is_named_as_code(whole_.sections[i].name)) header.sh_flags |= SHF_EXECINSTR;
      covered.emplace_back(header.sh_addr, header.sh_addr + header.sh_size);
    }
    std::ranges::sort(covered);
    return covered;
  }

  static bool is_named_as_code(std::string_view name) {
    return name.starts_with(".text") || name.starts_with(".init") || name.starts_with(".fini") ||
           name.starts_with(".plt");
  }

  void add_stretch(size_t segment, uint64_t begin, uint64_t end) {
    const Elf64_Phdr& from = elf_.segments[segment];
    begin = std::max(begin, code_begin_);
    end = std::min(end, code_end_);
    if (begin >= end) return;
    const auto bytes = elf_.file.span().subspan(from.p_offset + (begin - from.p_vaddr), end - begin);
    if (std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0 || byte == 0x90; })) return;
    const size_t made = require(fmt::format("segment {}", segment), SHT_PROGBITS, begin, end - begin);
    whole_.sections[made].header.sh_flags |= SHF_EXECINSTR;
  }

  const Elf& elf_;
  Elf whole_;
  uint64_t code_begin_ = 0;
  uint64_t code_end_ = UINT64_MAX;
};

void keep_once(std::vector<uint64_t>& addresses) {
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
}

// Adds the pointers of an array, from the file and from relocations.
Result<void> read_array(const Elf& elf, std::string_view name, const std::vector<Relocation>& relocations,
                        std::vector<uint64_t>& addresses) {
  const ElfSection* section = find_section(elf, name);
  if (section == nullptr) return {};
  PBPROBE_TRY(const Bytes table, section_bytes(elf, *section));
  for (uint64_t at = 0; at + 8 <= table.size(); at += 8) {
    PBPROBE_TRY(const auto address, table.read<uint64_t>(at, "initializer"));
    if (address != 0 && address != UINT64_MAX) addresses.push_back(address);
  }
  for (const auto& relocation : relocations) {
    if (relocation.place >= section->header.sh_addr && relocation.place - section->header.sh_addr < table.size())
      addresses.push_back(relocation.target);
  }
  return {};
}

// Visits each relocation with an addend.
Result<void> visit_relocations(const Elf& elf, const std::function<void(const Elf64_Rela&)>& visit) {
  for (const auto& section : elf.sections) {
    if (section.header.sh_type != SHT_RELA || (section.header.sh_flags & SHF_ALLOC) == 0) continue;
    PBPROBE_TRY(const Bytes table, section_bytes(elf, section));
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
      PBPROBE_TRY(const auto entry, table.read<Elf64_Rela>(at, "relocation"));
      visit(entry);
    }
  }
  return {};
}

}  // namespace

Result<Elf> complete_loaded_elf(const Elf& elf) {
  if (elf.header.e_type == ET_REL || elf.segments.empty()) return elf;
  return Completion(elf).take();
}

Result<Starts> read_starts(const Elf& elf) {
  Starts starts;
  if (elf.header.e_type == ET_REL) return starts;
  PBPROBE_TRY(const auto table, read_dynamic_entries(elf));
  const Entries entries = index_dynamic_entries(table);
  if (const uint64_t init = find_dynamic_value(entries, DT_INIT); init != 0) starts.initializers.push_back(init);
  if (const uint64_t fini = find_dynamic_value(entries, DT_FINI); fini != 0) starts.terminators.push_back(fini);
  PBPROBE_TRY(const auto relocations, read_own_relocations(elf));
  for (const char* name : {".preinit_array", ".init_array"})
    PBPROBE_CHECK(read_array(elf, name, relocations, starts.initializers));
  PBPROBE_CHECK(read_array(elf, ".fini_array", relocations, starts.terminators));
  const uint32_t resolved = elf.header.e_machine == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
  PBPROBE_CHECK(visit_relocations(elf, [&](const Elf64_Rela& entry) {
    if (ELF64_R_TYPE(entry.r_info) == resolved) starts.resolvers.push_back(static_cast<uint64_t>(entry.r_addend));
  }));
  for (const char* symbols : {".dynsym", ".symtab"}) {
    PBPROBE_CHECK(visit_symbols(elf, symbols, [&](std::string_view, const Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF)
        starts.resolvers.push_back(symbol.st_value);
    }));
  }
  for (auto* addresses : {&starts.initializers, &starts.terminators, &starts.resolvers}) keep_once(*addresses);
  return starts;
}

Result<Pointers> Pointers::read(const Elf& elf) {
  Pointers pointers;
  PBPROBE_TRY(const auto own, read_own_relocations(elf));
  for (const auto& relocation : own) pointers.found_.push_back({relocation.place, {.target = relocation.target}});
  const bool arm = elf.header.e_machine == EM_AARCH64;
  const std::set<uint32_t> of_symbols =
      arm ? std::set<uint32_t>{R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64}
          : std::set<uint32_t>{R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
  const ElfSection* dynsym = find_section(elf, ".dynsym");
  if (dynsym != nullptr && dynsym->header.sh_link < elf.sections.size()) {
    PBPROBE_TRY(const Bytes symbols, section_bytes(elf, *dynsym));
    PBPROBE_TRY(const Bytes names, section_bytes(elf, elf.sections[dynsym->header.sh_link]));
    const std::string_view text = names.text();
    PBPROBE_CHECK(visit_relocations(elf, [&](const Elf64_Rela& entry) {
      if (!of_symbols.contains(static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)))) return;
      const auto symbol = symbols.read<Elf64_Sym>(ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym), "symbol");
      if (!symbol || symbol->st_name >= text.size()) return;
      const std::string_view rest = text.substr(symbol->st_name);
      if (symbol->st_shndx != SHN_UNDEF)
        pointers.found_.push_back({entry.r_offset, {.target = symbol->st_value}});
      else
        pointers.found_.push_back({entry.r_offset, {.target = 0, .symbol = rest.substr(0, rest.find('\0'))}});
    }));
  }
  std::ranges::stable_sort(pointers.found_, [](const auto& a, const auto& b) { return a.first < b.first; });
  return pointers;
}

const Pointer* Pointers::at(uint64_t place) const {
  const auto found = std::lower_bound(found_.begin(), found_.end(), place,
                                      [](const auto& entry, uint64_t value) { return entry.first < value; });
  return found == found_.end() || found->first != place ? nullptr : &found->second;
}

bool is_writable(const Elf& elf, uint64_t address) {
  bool writable = false;
  for (const auto& segment : elf.segments) {
    const bool inside = address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
    if (segment.p_type == PT_GNU_RELRO && inside) return false;
    if (segment.p_type == PT_LOAD && inside && (segment.p_flags & PF_W) != 0) writable = true;
  }
  return writable;
}

}  // namespace pbprobe
