// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/linked_object.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/c_library.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kMostVersions = 10000;
constexpr uint64_t kMostChain = 1 << 20;
constexpr uint16_t kHiddenVersion = 0x8000;
constexpr uint16_t kVersionIndex = 0x7fff;
constexpr uint16_t kFirstOwnVersion = 2;  // 0 is local, 1 is global without a version

uint32_t compute_sysv_hash(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const uint32_t high = hash & 0xf0000000;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

}  // namespace

bool is_definition(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF) return false;
  if (symbol.st_value == 0 && symbol.st_shndx != SHN_ABS && type != STT_TLS) return false;
  const bool usable = type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_COMMON ||
                      type == STT_TLS || type == STT_GNU_IFUNC;
  return usable && (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE);
}

uint32_t compute_gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

struct LinkedObject::Tables {
  std::map<int64_t, uint64_t> values;  // key: DT_*

  [[nodiscard]] uint64_t of(int64_t tag) const {
    const auto found = values.find(tag);
    return found == values.end() ? 0 : found->second;
  }
};

// Definitions of one name: with the exact version (or unversioned), number of versioned ones, and any default version.
struct LinkedObject::Match {
  bool exact = false;
  int versioned = 0;
  bool by_default = false;
};

Result<LinkedObject> LinkedObject::open(const std::filesystem::path& path) {
  LinkedObject object;
  PBPROBE_TRY(object.mapping_, map_file(path));
  PBPROBE_CHECK(object.parse(Bytes(object.mapping_.bytes(), path.filename().string())));
  PBPROBE_CHECK(object.mapping_.check_whole());
  return object;
}

Result<LinkedObject> LinkedObject::read(const Bytes& bytes) {
  LinkedObject object;
  PBPROBE_CHECK(object.parse(bytes));
  return object;
}

Result<void> LinkedObject::parse(const Bytes& bytes) {
  PBPROBE_TRY(const Elf elf, read_elf(bytes));
  machine_ = elf.header.e_machine;
  PBPROBE_TRY(dynamic_, read_dynamic(elf));
  for (const auto& segment : elf.segments) {
    if (segment.p_type != PT_INTERP) continue;
    PBPROBE_TRY(interpreter_, bytes.string(segment.p_offset, "name of its loader"));
  }
  PBPROBE_TRY(const auto entries, read_dynamic_entries(elf));
  Tables tables;
  for (const auto& entry : entries) tables.values[entry.d_tag] = entry.d_un.d_val;
  avoids_default_folders_ = (tables.of(DT_FLAGS_1) & DF_1_NODEFLIB) != 0;
  PBPROBE_CHECK(read_strings(elf, tables));
  PBPROBE_CHECK(read_needed_versions(elf, tables));
  PBPROBE_CHECK(read_defined_versions(elf, tables));
  return read_references(elf, tables);
}

Result<void> LinkedObject::read_strings(const Elf& elf, const Tables& tables) {
  if (tables.of(DT_STRTAB) == 0 || tables.of(DT_SYMTAB) == 0) return {};
  PBPROBE_TRY(const Bytes strings, bytes_at_address(elf, tables.of(DT_STRTAB), "dynamic strings"));
  PBPROBE_TRY(strings_, strings.slice(0, tables.of(DT_STRSZ), "dynamic strings"));
  PBPROBE_TRY(symbols_, bytes_at_address(elf, tables.of(DT_SYMTAB), "dynamic symbols"));
  if (tables.of(DT_VERSYM) != 0) {
    PBPROBE_TRY(versions_, bytes_at_address(elf, tables.of(DT_VERSYM), "versions of symbols"));
  }
  gnu_hash_ = tables.of(DT_GNU_HASH) != 0;
  const uint64_t hash = gnu_hash_ ? tables.of(DT_GNU_HASH) : tables.of(DT_HASH);
  if (hash == 0) return {};
  PBPROBE_TRY(hash_, bytes_at_address(elf, hash, "hashes of symbols"));
  return {};
}

std::optional<std::string_view> LinkedObject::find_name(uint64_t offset) const {
  const std::string_view text = strings_.text();
  if (offset >= text.size()) return std::nullopt;
  const size_t end = text.find('\0', offset);
  if (end == text.npos) return std::nullopt;
  return text.substr(offset, end - offset);
}

uint16_t LinkedObject::version_index(uint32_t symbol) const {
  const auto index = versions_.read<uint16_t>(uint64_t{symbol} * 2, "version");
  return index ? *index : 1;
}

Result<void> LinkedObject::read_needed_versions(const Elf& elf, const Tables& tables) {
  if (tables.of(DT_VERNEED) == 0) return {};
  PBPROBE_TRY(const Bytes needs, bytes_at_address(elf, tables.of(DT_VERNEED), "needed versions"));
  std::vector<uint16_t> indices;
  uint64_t at = 0;
  for (uint64_t file = 0; file < std::min(tables.of(DT_VERNEEDNUM), kMostVersions); ++file) {
    PBPROBE_TRY(const auto need, needs.read<Elf64_Verneed>(at, "needed file"));
    uint64_t entry_at = at + need.vn_aux;
    for (uint32_t i = 0; i < need.vn_cnt && needed_versions_.size() < kMostVersions; ++i) {
      PBPROBE_TRY(const auto entry, needs.read<Elf64_Vernaux>(entry_at, "needed version"));
      const auto library = find_name(need.vn_file);
      const auto version = find_name(entry.vna_name);
      if (library && version) {
        needed_versions_.push_back(
            {std::string(*library), std::string(*version), (entry.vna_flags & VER_FLG_WEAK) != 0});
        indices.push_back(entry.vna_other & kVersionIndex);
      }
      if (entry.vna_next == 0) break;
      entry_at += entry.vna_next;
    }
    if (need.vn_next == 0) break;
    at += need.vn_next;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    if (needed_by_index_.size() <= indices[i]) needed_by_index_.resize(indices[i] + size_t{1});
    needed_by_index_[indices[i]] = i;
  }
  return {};
}

Result<void> LinkedObject::read_defined_versions(const Elf& elf, const Tables& tables) {
  if (tables.of(DT_VERDEF) == 0) return {};
  PBPROBE_TRY(const Bytes definitions, bytes_at_address(elf, tables.of(DT_VERDEF), "defined versions"));
  uint64_t at = 0;
  for (uint64_t i = 0; i < std::min(tables.of(DT_VERDEFNUM), kMostVersions); ++i) {
    PBPROBE_TRY(const auto one, definitions.read<Elf64_Verdef>(at, "defined version"));
    PBPROBE_TRY(const auto name, definitions.read<Elf64_Verdaux>(at + one.vd_aux, "name of a version"));
    const uint16_t index = one.vd_ndx & kVersionIndex;
    const auto text = find_name(name.vda_name);
    if ((one.vd_flags & VER_FLG_BASE) == 0 && text) {
      if (defined_versions_.size() <= index) defined_versions_.resize(index + size_t{1});
      defined_versions_[index] = *text;
    }
    if (one.vd_next == 0) break;
    at += one.vd_next;
  }
  return {};
}

Result<void> LinkedObject::read_references(const Elf& elf, const Tables& tables) {
  std::set<uint32_t> asked;
  for (const auto& [table, size] : {std::pair(DT_RELA, DT_RELASZ), {DT_JMPREL, DT_PLTRELSZ}}) {
    if (tables.of(table) == 0) continue;
    PBPROBE_TRY(const Bytes rest, bytes_at_address(elf, tables.of(table), "relocations"));
    PBPROBE_TRY(const Bytes relocations, rest.slice(0, tables.of(size), "relocations"));
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= relocations.size(); at += sizeof(Elf64_Rela)) {
      PBPROBE_TRY(const auto one, relocations.read<Elf64_Rela>(at, "relocation"));
      const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(one.r_info));
      if (symbol != 0) asked.insert(symbol);
    }
  }
  for (const uint32_t symbol : asked) PBPROBE_CHECK(add_reference(symbol));
  return {};
}

Result<void> LinkedObject::add_reference(uint32_t index) {
  PBPROBE_TRY(const auto symbol, symbols_.read<Elf64_Sym>(uint64_t{index} * sizeof(Elf64_Sym), "symbol"));
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  if (symbol.st_shndx != SHN_UNDEF || binding == STB_LOCAL) return {};
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  if (visibility != STV_DEFAULT && visibility != STV_PROTECTED) return {};
  const auto name = find_name(symbol.st_name);
  if (!name) return make_error(ErrorCode::malformed, "{}: symbol {} has no name", strings_.name(), index);
  SymbolReference reference{.name = *name, .hash = compute_gnu_hash(*name), .weak = binding == STB_WEAK};
  const uint16_t version = versions_.size() > 0 ? version_index(index) & kVersionIndex : 0;
  if (version < needed_by_index_.size() && needed_by_index_[version])
    reference.version = &needed_versions_[*needed_by_index_[version]];
  references_.push_back(reference);
  return {};
}

void LinkedObject::match_symbol(uint32_t index, const SymbolReference& reference, Match& match) const {
  const auto symbol = symbols_.read<Elf64_Sym>(uint64_t{index} * sizeof(Elf64_Sym), "symbol");
  if (!symbol || !is_definition(*symbol) || find_name(symbol->st_name) != reference.name) return;
  if (versions_.size() == 0) {
    match.exact = match.by_default = true;
    return;
  }
  const uint16_t stored = version_index(index);
  const uint16_t own = stored & kVersionIndex;
  const bool hidden = (stored & kHiddenVersion) != 0;
  const std::string_view name = own < defined_versions_.size() ? std::string_view(defined_versions_[own]) : "";
  match.by_default = match.by_default || !hidden;
  if (reference.version != nullptr) {
    if (name == reference.version->version || (name.empty() && !hidden)) match.exact = true;
  } else if (own <= kFirstOwnVersion) {
    match.exact = true;
  } else if (!hidden) {
    ++match.versioned;
  }
}

LinkedObject::Match LinkedObject::look_up(const SymbolReference& reference) const {
  Match match;
  const auto word = [&](uint64_t index) { return hash_.read<uint32_t>(index * 4, "hash"); };
  if (hash_.size() == 0) return match;
  if (!gnu_hash_) {
    const auto buckets = word(0);
    if (!buckets || *buckets == 0) return match;
    auto symbol = word(2 + compute_sysv_hash(reference.name) % *buckets);
    for (uint64_t i = 0; symbol && *symbol != 0 && i < kMostChain && !match.exact; ++i) {
      match_symbol(*symbol, reference, match);
      symbol = word(uint64_t{2} + *buckets + *symbol);
    }
    return match;
  }
  const auto buckets = word(0);
  const auto first = word(1);
  const auto words = word(2);
  const auto shift = word(3);
  if (!buckets || !first || !words || !shift || *buckets == 0 || *words == 0 || *shift > 31) return match;
  const auto filter = hash_.read<uint64_t>(16 + uint64_t{reference.hash / 64 % *words} * 8, "filter");
  if (!filter || (*filter >> (reference.hash % 64) & *filter >> ((reference.hash >> *shift) % 64) & 1) == 0)
    return match;
  const uint64_t begin = 4 + uint64_t{*words} * 2;
  const auto bucket = word(begin + reference.hash % *buckets);
  if (!bucket || *bucket < *first) return match;
  for (uint64_t symbol = *bucket; symbol - *bucket < kMostChain && !match.exact; ++symbol) {
    const auto chain = word(begin + *buckets + (symbol - *first));
    if (!chain) break;
    if ((*chain | 1) == (reference.hash | 1)) match_symbol(static_cast<uint32_t>(symbol), reference, match);
    if ((*chain & 1) != 0) break;
  }
  return match;
}

bool LinkedObject::resolves(const SymbolReference& reference) const {
  const Match match = look_up(reference);
  return match.exact || match.versioned == 1;
}

bool LinkedObject::resolves_by_musl(const SymbolReference& reference) const {
  return look_up({.name = reference.name, .hash = reference.hash}).by_default;
}

std::string LinkedObject::c_library() const {
  const auto& needed = dynamic_.needed;
  const bool glibc = std::ranges::find(needed, "libc.so.6") != needed.end() ||
                     std::ranges::any_of(needed_versions_, [](const NeededVersion& version) {
                       return version.version.starts_with("GLIBC_");
                     });
  if (glibc) return std::string(kGlibc);
  const bool musl = interpreter_.find("/ld-musl-") != interpreter_.npos ||
                    std::ranges::any_of(needed, [](const std::string& library) {
                      return library == "libc.so" || library.starts_with("libc.musl-");
                    });
  return musl ? std::string(kMusl) : "";
}

bool LinkedObject::defines_version(const std::string& version) const {
  if (defined_versions_.empty()) return true;
  return std::ranges::find(defined_versions_, version) != defined_versions_.end();
}

}  // namespace pbprobe
