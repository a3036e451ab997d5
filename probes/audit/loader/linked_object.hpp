// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A shared object as ld.so sees it, by its dynamic section: exports, and references of relocations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/mapped_file.hpp"

namespace pbprobe {

// A version that another library has to define.
struct NeededVersion {
  std::string library;  // DT_NEEDED name: "libstdc++.so.6"
  std::string version;  // "GLIBCXX_3.4.32"
  bool weak = false;
};

// An undefined symbol that a relocation names.
struct SymbolReference {
  std::string_view name;  // view of the object's bytes
  uint32_t hash = 0;      // GNU hash of the name
  const NeededVersion* version = nullptr;
  bool weak = false;
};

class LinkedObject {
 public:
  // Reads a file. Errors: the errors of map_file and read_elf; malformed, if a table leads out of the file.
  [[nodiscard]] static Result<LinkedObject> open(const std::filesystem::path& path);
  // Reads bytes in memory, which must outlive the object.
  [[nodiscard]] static Result<LinkedObject> read(const Bytes& bytes);

  LinkedObject(LinkedObject&&) = default;
  LinkedObject& operator=(LinkedObject&&) = default;

  [[nodiscard]] uint16_t machine() const { return machine_; }
  [[nodiscard]] const ElfDynamic& dynamic() const { return dynamic_; }
  [[nodiscard]] const std::string& interpreter() const { return interpreter_; }  // "" for a library
  [[nodiscard]] bool avoids_default_folders() const { return avoids_default_folders_; }
  [[nodiscard]] const std::vector<NeededVersion>& needed_versions() const { return needed_versions_; }
  [[nodiscard]] const std::vector<SymbolReference>& references() const { return references_; }

  // Reports whether a reference binds to this object, by do_lookup_x and check_match of glibc's elf/dl-lookup.c.
  [[nodiscard]] bool resolves(const SymbolReference& reference) const;
  // Reports whether musl's find_sym (ldso/dynlink.c) binds here: it takes the default version for any requested one.
  [[nodiscard]] bool resolves_by_musl(const SymbolReference& reference) const;
  // Returns "glibc" or "musl", by the needed libraries, versions and interpreter; "" if they do not tell.
  [[nodiscard]] std::string c_library() const;
  // Reports whether the object defines `version`. An object without versions defines each one: ld.so only warns.
  [[nodiscard]] bool defines_version(const std::string& version) const;

 private:
  struct Table {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  struct Tables;
  struct Match;

  LinkedObject() = default;
  Result<void> parse(const Bytes& bytes);
  Result<void> read_strings(const Elf& elf, const Tables& tables);
  Result<void> read_needed_versions(const Elf& elf, const Tables& tables);
  Result<void> read_defined_versions(const Elf& elf, const Tables& tables);
  Result<void> read_references(const Elf& elf, const Tables& tables);
  Result<void> add_reference(uint32_t index);
  [[nodiscard]] std::optional<std::string_view> find_name(uint64_t offset) const;
  [[nodiscard]] uint16_t version_index(uint32_t symbol) const;
  [[nodiscard]] Match look_up(const SymbolReference& reference) const;
  void match_symbol(uint32_t symbol, const SymbolReference& reference, Match& match) const;

  Mapping mapping_;
  uint16_t machine_ = 0;
  ElfDynamic dynamic_;
  std::string interpreter_;
  bool avoids_default_folders_ = false;
  Bytes strings_;
  Bytes symbols_;
  Bytes versions_;  // indices by symbol; empty without versions
  Bytes hash_;      // DT_GNU_HASH, else DT_HASH
  bool gnu_hash_ = false;
  std::vector<NeededVersion> needed_versions_;
  std::vector<std::optional<size_t>> needed_by_index_;  // index into needed_versions_, by version index
  std::vector<std::string> defined_versions_;           // names by version index; "" for an unused index
  std::vector<SymbolReference> references_;
};

// Reports whether the loader takes this entry of a symbol table for a definition.
[[nodiscard]] bool is_definition(const Elf64_Sym& symbol);

[[nodiscard]] uint32_t compute_gnu_hash(std::string_view name);

}  // namespace pbprobe
