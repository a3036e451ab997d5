// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Small files made from values, so that each malformed one can be named by its defect.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temp_folder.hpp"

namespace pbprobe::test {

using Content = std::vector<uint8_t>;

inline Content make_content(std::string_view text) {
  return {text.begin(), text.end()};
}

template <class T>
void append(Content& content, const T& value) {
  const size_t at = content.size();
  content.resize(at + sizeof(T));
  std::memcpy(content.data() + at, &value, sizeof(T));
}

template <class T>
void patch(Content& content, size_t offset, const T& value) {
  std::memcpy(content.data() + offset, &value, sizeof(T));
}

inline void append(Content& content, const Content& more) {
  content.insert(content.end(), more.begin(), more.end());
}

// An ELF64 shared object: header at 0, program headers at 64, then the sections' bytes, then the section headers.
struct ElfBuilder {
  struct Section {
    std::string name;
    uint32_t type;
    Content bytes;
    uint64_t flags = 0;
  };
  uint16_t machine = EM_X86_64;
  uint32_t flags = 0;
  uint8_t abi_version = 0;
  std::vector<Section> sections;
  std::vector<std::pair<int64_t, std::string>> dynamic;  // DT_NEEDED and its like
  std::vector<std::pair<std::string, uint32_t>> links;   // sh_link of a section, by name
  bool with_section_headers = true;

  [[nodiscard]] Content build() const;

 private:
  Content append_strings(Content& file) const;  // gives the dynamic section's entries
  [[nodiscard]] Elf64_Ehdr file_header(uint16_t segments) const;
};

inline Content ElfBuilder::append_strings(Content& file) const {
  Content strings{0};
  std::vector<Elf64_Dyn> entries;
  for (const auto& [tag, text] : dynamic) {
    entries.push_back({tag, {strings.size()}});
    append(strings, make_content(text));
    strings.push_back(0);
  }
  strings.resize((strings.size() + 7) / 8 * 8);
  entries.push_back({DT_STRTAB, {file.size()}});  // addresses are file offsets here
  entries.push_back({DT_STRSZ, {strings.size()}});
  entries.push_back({DT_NULL, {0}});
  append(file, strings);
  Content bytes;
  for (const auto& entry : entries) append(bytes, entry);
  return bytes;
}

inline Elf64_Ehdr ElfBuilder::file_header(uint16_t segments) const {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = abi_version;
  header.e_type = ET_DYN;
  header.e_version = EV_CURRENT;
  header.e_machine = machine;
  header.e_flags = flags;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = segments;
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

inline Content ElfBuilder::build() const {
  std::vector<Section> all{{"", SHT_NULL, {}}};
  all.insert(all.end(), sections.begin(), sections.end());
  const bool has_dynamic = !dynamic.empty();
  const uint16_t segments = has_dynamic ? 2 : 1;
  Content file(sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr));
  const Content dynamic_bytes = has_dynamic ? append_strings(file) : Content{};
  const uint64_t dynamic_offset = file.size();
  append(file, dynamic_bytes);
  Content names;
  all.push_back({".shstrtab", SHT_STRTAB, {}});
  for (const auto& section : all) {
    append(names, make_content(section.name));
    names.push_back(0);
  }
  all.back().bytes = names;
  std::vector<Elf64_Shdr> headers;
  uint32_t name = 0;
  for (const auto& section : all) {
    file.resize((file.size() + 7) / 8 * 8);
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_offset = file.size();
    header.sh_size = section.bytes.size();
    for (const auto& [linked, index] : links) {
      if (linked == section.name) header.sh_link = index;
    }
    headers.push_back(header);
    name += static_cast<uint32_t>(section.name.size()) + 1;
    append(file, section.bytes);
  }
  file.resize((file.size() + 7) / 8 * 8);
  Elf64_Ehdr header = file_header(segments);
  if (with_section_headers) {
    header.e_shoff = file.size();
    header.e_shnum = static_cast<uint16_t>(headers.size());
    header.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    for (const auto& section : headers) append(file, section);
  }
  patch(file, 0, header);
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_flags = has_dynamic ? PF_R | PF_X : PF_R;
  load.p_filesz = file.size();
  patch(file, sizeof(Elf64_Ehdr), load);
  if (has_dynamic) {
    Elf64_Phdr segment{};
    segment.p_type = PT_DYNAMIC;
    segment.p_offset = dynamic_offset;
    segment.p_vaddr = dynamic_offset;
    segment.p_filesz = dynamic_bytes.size();
    patch(file, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), segment);
  }
  return file;
}

// Returns a shared object that the loader accepts.
inline Content build_library() {
  ElfBuilder elf;
  elf.dynamic = {{DT_SONAME, "libx.so"}};
  return elf.build();
}

// One fatbin entry of a fatbin, headers as nvcc writes them.
struct EntryBuilder {
  uint16_t kind = 2;
  uint32_t sm = 80;
  uint64_t flags = 0x11;
  uint32_t header_bytes = 64;
  uint32_t compressed_bytes = 0;
  uint64_t uncompressed_bytes = 0;
  Content payload = Content(64, 0x5a);

  [[nodiscard]] Content build() const {
    Content entry(64);
    patch<uint16_t>(entry, 0x00, kind);
    patch<uint16_t>(entry, 0x02, 0x0101);
    patch<uint32_t>(entry, 0x04, header_bytes);
    patch<uint64_t>(entry, 0x08, payload.size());
    patch<uint32_t>(entry, 0x10, compressed_bytes);
    patch<uint16_t>(entry, 0x18, 8);
    patch<uint16_t>(entry, 0x1a, 1);
    patch<uint32_t>(entry, 0x1c, sm);
    patch<uint64_t>(entry, 0x28, flags);
    patch<uint64_t>(entry, 0x38, uncompressed_bytes);
    if (header_bytes > 64) entry.resize(header_bytes);
    append(entry, payload);
    return entry;
  }
};

inline Content fatbin(const std::vector<EntryBuilder>& entries) {
  Content body;
  for (const auto& entry : entries) append(body, entry.build());
  Content container;
  append<uint32_t>(container, 0xBA55ED50);
  append<uint16_t>(container, 1);
  append<uint16_t>(container, 16);
  append<uint64_t>(container, body.size());
  append(container, body);
  return container;
}

}  // namespace pbprobe::test
