// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/symbol_table.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "core/strings.hpp"
#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/loader/linked_object.hpp"
#include "probes/audit/packages/closure.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/platform_policy.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kOwn = "libtorch";  // File::component

uint64_t compute_symbol_hash(std::string_view name) {
  return std::hash<std::string_view>()(name);
}

bool is_python_symbol(std::string_view name) {
  return name.starts_with("Py") || name.starts_with("_Py");
}

// Reports whether a mangled name begins with a namespace other than std ("_ZNSt") and the two of GCC's run time.
bool is_in_namespace(std::string_view name) {
  for (const std::string_view begin : {"_ZNK", "_ZN"}) {
    if (!name.starts_with(begin)) continue;
    const std::string_view rest = name.substr(begin.size());
    const bool runtime = rest.starts_with("9__gnu_cxx") || rest.starts_with("10__cxxabiv1");
    return !rest.empty() && is_digit(rest.front()) && !runtime;
  }
  return false;
}

// Returns the paths of libraries that no process loads by their names: every file that needs the name gets another
// library, of a folder that is searched earlier.
std::set<std::string_view> find_shadowed(const std::vector<File>& files) {
  std::set<std::string_view> taken;
  std::set<std::string_view> names;
  for (const auto& file : files) {
    if (!file.links) continue;
    for (const auto& dependency : file.links->dependencies) {
      if (!dependency.path || dependency.provider != Provider::artifact) continue;
      taken.insert(*dependency.path);
      names.insert(dependency.name);
    }
  }
  std::set<std::string_view> shadowed;
  for (const auto& file : files) {
    if (names.contains(base_name(file.path)) && !taken.contains(file.path)) shadowed.insert(file.path);
  }
  return shadowed;
}

// Decides which wanted symbols nothing defines.
class SymbolSearch {
 public:
  SymbolSearch(const std::vector<File>& files, const SymbolTables& tables, const std::set<std::string_view>& shadowed)
      : files_(files), tables_(tables) {
    for (const auto& file : files) {
      const auto table = tables.find(file.path);
      if (table == tables.end()) continue;
      if (shadowed.contains(file.path))
        shadowed_.emplace_back(base_name(file.path), &table->second);
      else
        defined_.insert(table->second.defined.begin(), table->second.defined.end());
      names_.insert(base_name(file.path));
      if (file.component == kOwn) own_.insert(base_name(file.path));
    }
  }

  std::vector<Loading> run() const {
    std::vector<Loading> all;
    for (const auto& file : files_) {
      const auto table = tables_.find(file.path);
      if (!file.links || table == tables_.end()) continue;
      const bool own = file.component == kOwn;
      Loading loading{.path = file.path};
      for (const auto& symbol : table->second.wanted) {
        if (!lost_by_shadow(file, symbol) && !(own && lacks(file, symbol))) continue;
        loading.unresolved.push_back({.name = symbol.name,
                                      .version = symbol.version.empty() ? std::nullopt : std::optional(symbol.version),
                                      .needed_by = "/" + file.path,
                                      .releases = TorchReleases::with(symbol.name).names()});
      }
      if (own) ask_entry_point(file, table->second, loading);
      if (!loading.unresolved.empty()) all.push_back(std::move(loading));
    }
    return all;
  }

 private:
  // Reports whether the file links a library that has the symbol, and gets another one of that name without it.
  bool lost_by_shadow(const File& file, const WantedSymbol& symbol) const {
    if (shadowed_.empty() || defined_.contains(compute_symbol_hash(symbol.name))) return false;
    return std::ranges::any_of(shadowed_, [&](const auto& one) {
      return std::ranges::find(file.needed, one.first) != file.needed.end() && one.second->defines(symbol.name);
    });
  }

  bool lacks(const File& file, const WantedSymbol& symbol) const {
    if (defined_.contains(compute_symbol_hash(symbol.name))) return false;
    if (!symbol.library.empty()) return names_.contains(symbol.library);
    if (is_python_symbol(symbol.name)) return false;
    if (is_reserved_for_torch(symbol.name)) return knows_torch(file);
    // GCC toolsets link parts of libstdc++ statically and leave unversioned references, as in torch's libtorch.so.
    // libc10_cuda.so of torch 2.12.1 does not name libpthread, which is a part of libc or loaded by Python.
    const bool runtime =
        (symbol.name.starts_with("_") && !is_in_namespace(symbol.name)) || symbol.name.starts_with("pthread_");
    return !runtime && needs_only_read_libraries(file);
  }

  // Reports whether each library of torch that the file needs was read.
  bool knows_torch(const File& file) const {
    return std::ranges::all_of(file.needed, [&](const std::string& name) {
      const auto component = find_component(name);
      return own_.contains(name) || is_system_library(name) || is_driver_library(name) ||
             (component && *component != kOwn);
    });
  }

  // System libraries have versions for their symbols.
  bool needs_only_read_libraries(const File& file) const {
    const auto& needed = file.needed;
    return std::ranges::any_of(needed, [&](const auto& name) { return own_.contains(name); }) &&
           std::ranges::all_of(needed,
                               [&](const auto& name) { return names_.contains(name) || is_system_library(name); });
  }

  // Python calls PyInit__C of torch/_C.cpython-313-x86_64-linux-gnu.so.
  static void ask_entry_point(const File& file, const SymbolTable& table, Loading& loading) {
    constexpr std::string_view kEntry = "PyInit__C";
    if (base_name(file.path).starts_with("_C.") && !table.defines(kEntry))
      loading.unresolved.push_back({.name = std::string(kEntry), .needed_by = "import torch._C"});
  }

  const std::vector<File>& files_;
  const SymbolTables& tables_;
  std::set<uint64_t> defined_;
  std::vector<std::pair<std::string_view, const SymbolTable*>> shadowed_;  // names, and what they would define
  std::set<std::string_view, std::less<>> names_;
  std::set<std::string_view, std::less<>> own_;
};

}  // namespace

bool SymbolTable::defines(std::string_view name) const {
  return std::binary_search(defined.begin(), defined.end(), compute_symbol_hash(name));
}

Result<SymbolTable> read_symbol_table(const Bytes& file) {
  PBPROBE_TRY(const Elf elf, read_elf(file));
  if (find_section(elf, ".dynsym") == nullptr) return make_error(ErrorCode::malformed, "{}: no .dynsym", file.name());
  SymbolTable table;
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    if (is_definition(symbol)) table.defined.push_back(compute_symbol_hash(name));
  }));
  std::ranges::sort(table.defined);
  PBPROBE_TRY(const LinkedObject object, LinkedObject::read(file));
  for (const auto& reference : object.references()) {
    if (reference.weak) continue;
    table.wanted.push_back({std::string(reference.name), reference.version != nullptr ? reference.version->library : "",
                            reference.version != nullptr ? reference.version->version : ""});
  }
  return table;
}

std::vector<Loading> find_unresolved(const std::vector<File>& files, const SymbolTables& tables) {
  const auto shadowed = find_shadowed(files);
  const bool of_torch = std::ranges::any_of(files, [](const File& file) { return file.component == kOwn; });
  if (!of_torch && shadowed.empty()) return {};
  return SymbolSearch(files, tables, shadowed).run();
}

}  // namespace pbprobe
