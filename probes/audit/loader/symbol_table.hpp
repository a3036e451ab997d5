// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of the symbols of an artifact's files: symbols that the loader would miss in each installation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"
#include "probes/audit/containers/bytes.hpp"

namespace pbprobe {

struct WantedSymbol {
  std::string name;     // mangled
  std::string library;  // library of the symbol's version: "libcudart.so.13"; "" without a version
  std::string version;
};

// Symbols that one file defines for others, and symbols that its relocations need.
struct SymbolTable {
  std::vector<uint64_t> defined;  // hashes of the names, sorted
  std::vector<WantedSymbol> wanted;

  [[nodiscard]] bool defines(std::string_view name) const;
};

using SymbolTables = std::map<std::string, SymbolTable>;  // key: File::path

// Reads the dynamic symbols. Errors: the errors of LinkedObject; malformed, if there is no .dynsym.
[[nodiscard]] Result<SymbolTable> read_symbol_table(const Bytes& file);

// Returns the files that lack a symbol, each with the symbols that no loaded file defines. Requires the closure of
// `files` to be resolved. In a file of torch, a symbol counts as lacking only if the file that should define it was
// read: names in torch's namespaces, versions of a library in the artifact, and any function if a file needs only
// libraries that were read. In every file, a symbol is lacking if only a shadowed library of a needed name defines it.
[[nodiscard]] std::vector<Loading> find_unresolved(const std::vector<File>& files, const SymbolTables& tables);

}  // namespace pbprobe
