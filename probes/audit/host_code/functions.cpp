// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/functions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "probes/audit/containers/elf.hpp"
#include "probes/audit/host_code/code.hpp"
#include "probes/audit/host_code/loaded.hpp"

namespace pbprobe {
namespace {

bool is_code(const Elf64_Shdr& header) {
  return header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR) != 0 && header.sh_size > 0;
}

bool is_object_file(const Elf& elf) {
  return elf.header.e_type == ET_REL;
}

uint64_t get_base_address(const Elf& elf, const Elf64_Shdr& section) {
  return is_object_file(elf) ? section.sh_offset : section.sh_addr;
}

Binding get_binding(const Elf64_Sym& symbol) {
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_LOCAL: return Binding::local;
    case STB_WEAK: return Binding::weak;
    default: return Binding::global;  // also STB_GNU_UNIQUE
  }
}

// aarch64: "$d" begins data among code, "$x" code again; "$x.4" is the same.
bool is_mark(std::string_view name, char kind) {
  return name.size() >= 2 && name[0] == '$' && name[1] == kind && (name.size() == 2 || name[2] == '.');
}

// Symbols of code sections, as functions that have no size yet.
class Gather {
 public:
  explicit Gather(const Elf& elf) : elf_(elf) {}

  Result<void> symbols(std::string_view table) {
    std::string_view source;
    return visit_symbols(elf_, table, [&](std::string_view name, const Elf64_Sym& symbol) {
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FILE) source = name;
      if (type == STT_FILE || type == STT_SECTION || type == STT_TLS || name.empty()) return;
      const auto index = find_code_section(symbol);
      if (!index) return;
      const Elf64_Shdr& section = elf_.sections[*index].header;
      const uint64_t base = get_base_address(elf_, section);
      const uint64_t at = is_object_file(elf_) ? symbol.st_value : symbol.st_value - base;
      Function function{.address = base + at, .offset = section.sh_offset + at, .section = *index};
      function.data = type == STT_OBJECT || is_mark(name, 'd');
      if (!is_mark(name, 'd') && !is_mark(name, 'x')) {
        function.name = name;
        function.binding = get_binding(symbol);
        if (function.binding == Binding::local) function.source = source;
        function.resolver = type == STT_GNU_IFUNC;
        function.label = type == STT_NOTYPE;
        function.extent = symbol.st_size;
      }
      found.push_back(function);
    });
  }

  void frames(const std::vector<uint64_t>& starts) {
    for (const uint64_t address : starts) nameless(address);
  }

  // Every section of code begins with a function, so that nothing of it is left out.
  void sections() {
    for (size_t i = 0; i < elf_.sections.size(); ++i) {
      const Elf64_Shdr& header = elf_.sections[i].header;
      if (is_code(header))
        found.push_back({.address = get_base_address(elf_, header),
                         .offset = header.sh_offset,
                         .section = static_cast<uint32_t>(i)});
    }
  }

  std::vector<Function> found;

 private:
  // Returns the section of code that contains the symbol. If the symbol's own section does not, the address decides:
  // patchelf inserts sections, and leaves the numbers in .symtab as they were.
  std::optional<uint32_t> find_code_section(const Elf64_Sym& symbol) const {
    const bool relocatable = is_object_file(elf_);
    const auto contains = [&](size_t index) {
      const Elf64_Shdr& header = elf_.sections[index].header;
      return is_code(header) && symbol.st_value - (relocatable ? 0 : header.sh_addr) < header.sh_size;
    };
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= elf_.sections.size()) return std::nullopt;
    if (contains(symbol.st_shndx)) return symbol.st_shndx;
    for (uint32_t i = 0; i < elf_.sections.size() && !relocatable; ++i) {
      if (contains(i)) return i;
    }
    return std::nullopt;
  }

  void nameless(uint64_t address) {
    for (size_t i = 0; i < elf_.sections.size(); ++i) {
      const Elf64_Shdr& header = elf_.sections[i].header;
      if (!is_code(header) || address < header.sh_addr || address - header.sh_addr >= header.sh_size) continue;
      found.push_back({.address = address,
                       .offset = header.sh_offset + (address - header.sh_addr),
                       .section = static_cast<uint32_t>(i)});
      return;
    }
  }

  const Elf& elf_;
};

// Fails if a code section exceeds the file. read_elf() checks the overlap of sections.
Result<void> check_sections(const Elf& elf) {
  for (const auto& section : elf.sections) {
    const Elf64_Shdr& header = section.header;
    if (!is_code(header)) continue;
    if (header.sh_offset > elf.file.size() || header.sh_size > elf.file.size() - header.sh_offset)
      return make_error(ErrorCode::malformed, "{}: section {} has 0x{:x} bytes at 0x{:x}, but the file ends at 0x{:x}",
                        elf.file.name(), section.name, header.sh_size, header.sh_offset, elf.file.size());
  }
  return {};
}

// Marks of aarch64 have no names: code after "$x" inside a function still belongs to that function.
void name_after_marks(std::vector<Function>& functions) {
  for (size_t i = 1; i < functions.size(); ++i) {
    Function& here = functions[i];
    const Function& before = functions[i - 1];
    if (!here.name.empty() || here.section != before.section || before.name.empty()) continue;
    here.name = before.name;
    here.source = before.source;
    here.binding = before.binding;
  }
}

// Keeps one function for each address, by its most public name. A function ends at the next one.
void settle(const Elf& elf, std::vector<Function>& functions, bool marks) {
  const auto key = [](const Function& f) {
    return std::tuple(f.offset, f.section, -static_cast<int>(f.binding), f.name);
  };
  std::ranges::sort(functions, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  size_t kept = 0;
  uint64_t end_of_known = 0;  // end of the last sized function: labels before this offset are inside it
  for (const auto& function : functions) {
    if (function.label && kept > 0 && functions[kept - 1].section == function.section && function.offset < end_of_known)
      continue;
    if (!function.label)
      end_of_known = std::max(end_of_known, function.offset + std::min(function.extent, elf.file.size()));
    if (kept > 0 && functions[kept - 1].offset == function.offset && functions[kept - 1].section == function.section) {
      functions[kept - 1].resolver = functions[kept - 1].resolver || function.resolver;
      functions[kept - 1].data = functions[kept - 1].data || function.data;
      continue;
    }
    functions[kept++] = function;
  }
  functions.resize(kept);
  if (marks) name_after_marks(functions);
  for (size_t i = 0; i < functions.size(); ++i) {
    const Elf64_Shdr& section = elf.sections[functions[i].section].header;
    uint64_t end = section.sh_offset + section.sh_size;
    if (i + 1 < functions.size() && functions[i + 1].section == functions[i].section) end = functions[i + 1].offset;
    functions[i].size = end - functions[i].offset;
  }
}

// Takes code behind the known end of a function, which is code without a frame, and returns it.
std::vector<Function> split_uncovered(std::vector<Function>& functions, const FunctionEnds& ends) {
  constexpr uint64_t kMostPadding = 64;
  std::vector<Function> rest;
  for (auto& function : functions) {
    const auto end = ends.find(function.address);
    const uint64_t known = std::max(function.extent, end == ends.end() ? 0 : end->second - function.address);
    if (known == 0 || function.size <= kMostPadding || known >= function.size - kMostPadding) continue;
    rest.push_back({.address = function.address + known,
                    .offset = function.offset + known,
                    .size = function.size - known,
                    .section = function.section});
    function.size = known;
  }
  return rest;
}

// Code without frames, which may be many functions: OpenSSL can be built without frames.
class Uncovered {
 public:
  Uncovered(const Elf& elf, const std::vector<Function>& functions, const std::vector<Function>& rest)
      : elf_(elf), functions_(functions) {
    for (const auto& function : rest) rest_.emplace(function.address, function);
  }

  // Returns the code, cut where a call or a pointer of the file enters it.
  Result<std::vector<Function>> cut() {
    PBPROBE_TRY(const Pointers pointers, Pointers::read(elf_));
    for (const auto& function : functions_) follow(function);
    for (const auto& [place, pointer] : pointers.all()) enter(pointer.target);
    for (size_t next = 0; next < cut_.size(); ++next) follow(Function(cut_[next]));
    for (const auto& [address, function] : rest_) cut_.push_back(function);
    return std::move(cut_);
  }

 private:
  void follow(const Function& function) {
    const auto code = elf_.file.span().subspan(function.offset, function.size);
    const CodeTrace trace =
        elf_.header.e_machine == EM_AARCH64 ? trace_aarch64(code, function.address) : trace_x86(code, function.address);
    for (const uint64_t target : trace.calls) enter(target);
  }

  void enter(uint64_t address) {
    const auto after = rest_.upper_bound(address);
    if (after == rest_.begin() || address - std::prev(after)->first >= std::prev(after)->second.size) return;
    const Function rest = std::prev(after)->second;
    const auto part = [&](uint64_t begin, uint64_t end) {
      Function function = rest;
      function.address = begin;
      function.offset += begin - rest.address;
      function.size = end - begin;
      return function;
    };
    const uint64_t end = rest.address + rest.size;
    Function function = part(address, end);
    function.size = measure_flow(elf_.header.e_machine, elf_.file.span().subspan(function.offset, function.size));
    rest_.erase(rest.address);
    if (address > rest.address) rest_.emplace(rest.address, part(rest.address, address));
    const uint64_t behind = address + function.size;
    if (behind < end) rest_.emplace(behind, part(behind, end));
    cut_.push_back(function);
  }

  const Elf& elf_;
  const std::vector<Function>& functions_;
  std::map<uint64_t, Function> rest_;  // keys: addresses
  std::vector<Function> cut_;
};

uint64_t count_bytes(const std::vector<Function>& functions) {
  uint64_t bytes = 0;
  for (const auto& function : functions) bytes += function.size;
  return bytes;
}

// Makes functions of code behind the known ends of functions. If that is much of the file, calls and pointers tell
// where functions begin.
Result<void> add_uncovered(const Elf& elf, std::vector<Function>& functions, const FunctionEnds& ends) {
  std::vector<Function> rest = split_uncovered(functions, ends);
  if (count_bytes(rest) > count_bytes(functions) / 4) {
    PBPROBE_TRY(rest, Uncovered(elf, functions, rest).cut());
  }
  functions.insert(functions.end(), rest.begin(), rest.end());
  std::ranges::sort(functions, [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return {};
}

// Finds the ends of functions that ld.so calls: frame_dummy() of the C library's start files has no frame. None ends
// before it returns, whatever a frame tells.
void add_flow_ends(const Elf& elf, const Starts& loader, const std::vector<Function>& functions, FunctionEnds& ends) {
  for (const auto* addresses : {&loader.initializers, &loader.terminators, &loader.resolvers}) {
    for (const uint64_t address : *addresses) {
      const auto found = std::ranges::find(functions, address, &Function::address);
      if (found == functions.end()) continue;
      const auto code = elf.file.span().subspan(found->offset, found->size);
      uint64_t& end = ends[address];
      end = std::max(end, address + measure_flow(elf.header.e_machine, code));
    }
  }
}

// Ignores a symbol that declares data if the unwinder has a function at its address.
Result<void> trust_frames(const Elf& elf, std::vector<Function>& functions) {
  const auto is_object = [](const Function& function) { return function.data && !function.name.empty(); };
  if (std::ranges::none_of(functions, is_object)) return {};
  PBPROBE_TRY(auto starts, read_frame_starts(elf));
  std::ranges::sort(starts);
  for (auto& function : functions) {
    if (is_object(function) && std::binary_search(starts.begin(), starts.end(), function.address))
      function.data = false;
  }
  return {};
}

Result<void> add_starts(const Elf& elf, Functions& functions) {
  PBPROBE_TRY(Starts starts, read_starts(elf));
  functions.initializers = std::move(starts.initializers);
  functions.initializers.insert(functions.initializers.end(), starts.terminators.begin(), starts.terminators.end());
  for (const uint64_t address : starts.resolvers) {
    const Function* resolver = find_function(functions, address);
    if (resolver != nullptr) functions.all[static_cast<size_t>(resolver - functions.all.data())].resolver = true;
  }
  return {};
}

}  // namespace

Result<Functions> list_functions(const Elf& elf) {
  Functions functions;
  PBPROBE_CHECK(check_sections(elf));
  Gather gather(elf);
  FunctionEnds ends;
  Starts loader;
  gather.sections();
  if (find_section(elf, ".symtab") != nullptr) {
    functions.source = FunctionSource::symtab;
    PBPROBE_CHECK(gather.symbols(".symtab"));
  } else {
    PBPROBE_CHECK(gather.symbols(".dynsym"));
    const size_t named = gather.found.size();
    PBPROBE_TRY(const auto starts, read_frame_starts(elf, &ends));
    gather.frames(starts);
    PBPROBE_TRY(loader, read_starts(elf));
    for (const auto* addresses : {&loader.initializers, &loader.terminators, &loader.resolvers})
      gather.frames(*addresses);
    functions.source = gather.found.size() > named               ? FunctionSource::eh_frame
                       : find_section(elf, ".dynsym") != nullptr ? FunctionSource::dynsym
                                                                 : FunctionSource::none;
  }
  functions.all = std::move(gather.found);
  // Only .symtab has marks. Functions from .eh_frame are nameless, whatever precedes them.
  settle(elf, functions.all, elf.header.e_machine == EM_AARCH64 && functions.source == FunctionSource::symtab);
  if (functions.source == FunctionSource::symtab) {
    PBPROBE_CHECK(trust_frames(elf, functions.all));
  } else {
    add_flow_ends(elf, loader, functions.all, ends);
    PBPROBE_CHECK(add_uncovered(elf, functions.all, ends));
  }
  if (!is_object_file(elf)) PBPROBE_CHECK(add_starts(elf, functions));
  return functions;
}

std::string_view find_whole_name(std::string_view name) {
  const std::string_view rest = name.substr(0, name.find_last_not_of("0123456789") + 1);
  for (const std::string_view part : {".cold", ".warm", ".org"}) {
    for (const std::string_view end : {name, rest.substr(0, rest.size() - (rest.ends_with('.') ? 1 : 0))}) {
      if (end.ends_with(part)) return end.substr(0, end.size() - part.size());
    }
  }
  return name;
}

const Function* find_function(const Functions& functions, uint64_t address) {
  const auto after = std::upper_bound(functions.all.begin(), functions.all.end(), address,
                                      [](uint64_t value, const Function& f) { return value < f.address; });
  if (after == functions.all.begin()) return nullptr;
  const Function& before = *std::prev(after);
  return address - before.address < before.size ? &before : nullptr;
}

}  // namespace pbprobe
