// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/device_code/device_code.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include "core/parallel.hpp"
#include "core/strings.hpp"
#include "probes/audit/containers/cubin.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/device_code/kernel_family.hpp"

namespace pbprobe {
namespace {

constexpr size_t kNamedKernels = 10;
constexpr size_t kNamedEntries = 10;
constexpr uint64_t kMaxInsideBytes = 8ULL << 30;  // per file
constexpr uint32_t kLtoMagic = 0x7f4e43ed;

std::string format_entry_label(const FatbinEntry& entry) {
  return fmt::format("{} for {}", name_kind(entry.kind), sm_name(entry.sm));
}

// Returns the SM of a cubin, which differs from the label only for tile code: nvcc labels a cubin of tileiras for
// sm_120a "sm_120", and the driver refuses such code on 12.1.
Result<Sm> check_own_sm(const Sm& label, const Cubin& cubin, const std::string& name) {
  PBPROBE_TRY(const OwnSm own, read_own_sm(cubin), "{}", name);
  const bool family = label.suffix == 'f' || own.sm.suffix == 'f';
  const bool may_be = family && !own.tells_family && same_capability(label, own.sm);
  if (own.sm == label || may_be) return label;
  if (cubin.is_tile && label.suffix == '\0' && same_capability(label, own.sm)) return own.sm;
  return make_error(ErrorCode::malformed, "{}: an ELF file for {}", name, sm_name(own.sm));
}

// Finds the word after ".target" at the start of a line: "sm_90a".
std::optional<Sm> target_of_ptx(std::string_view text) {
  constexpr std::string_view kMark = "\n.target ";
  const size_t at = text.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + kMark.size());
  return parse_sm(rest.substr(0, rest.find_first_of(", \r\n\t")));
}

// Tests whether more braces are opened than closed. The inner loop has a constant length, so that gcc -O2 vectorizes
// it.
bool has_open_brace(std::string_view text) {
  int64_t open = 0;
  constexpr size_t kStep = 64;
  for (; text.size() >= kStep; text.remove_prefix(kStep)) {
    int8_t step = 0;
    for (size_t i = 0; i < kStep; ++i) step = static_cast<int8_t>(step + (text[i] == '{') - (text[i] == '}'));
    open += step;
  }
  return open + std::ranges::count(text, '{') > std::ranges::count(text, '}');
}

Result<void> check_ptx(const FatbinEntry& entry, std::span<const uint8_t> content, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.starts_with(std::string_view(ELFMAG, SELFMAG)))
    return make_error(ErrorCode::malformed, "{}: an ELF file, no PTX", name);
  const auto target = target_of_ptx(text);
  if (!target || text.find(".version") == std::string_view::npos)
    return make_error(ErrorCode::malformed, "{}: not PTX: the text lacks .version or .target", name);
  if (*target != entry.sm) return make_error(ErrorCode::malformed, "{}: PTX for {}", name, sm_name(*target));
  // The braces of functions and of initial values are the only ones that ptxas writes.
  if (has_open_brace(text)) return make_error(ErrorCode::malformed, "{}: PTX that ends inside a function", name);
  return {};
}

// Name of a PTX entry, without its parameters: "_Z3addPf".
std::vector<std::string> kernels_of_ptx(std::string_view text) {
  constexpr std::string_view kMark = ".entry ";
  std::vector<std::string> names;
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    const std::string_view rest = text.substr(at, kLongestText);
    names.emplace_back(rest.substr(0, rest.find_first_of("( \t\r\n")));
  }
  return names;
}

// Compares the first bytes of Tile IR and Mercury, whose contents are not read.
Result<void> check_magic(const FatbinEntry& entry, std::span<const uint8_t> content, const std::string& name) {
  constexpr std::string_view kTileMagic("\x7fTileIR", 7);
  const std::string_view magic = entry.kind == EntryKind::tile_ir ? kTileMagic : std::string_view(ELFMAG, SELFMAG);
  if (std::string_view(reinterpret_cast<const char*>(content.data()), content.size()).starts_with(magic)) return {};
  return make_error(ErrorCode::malformed, "{}: not {}: its first bytes differ from those of this format", name,
                    name_kind(entry.kind));
}

// Scrambled LTO-IR cannot be checked.
Result<void> check_lto(const FatbinEntry& entry, std::span<const uint8_t> content, const std::string& name) {
  uint32_t magic = 0;
  if (content.size() >= sizeof(magic)) std::memcpy(&magic, content.data(), sizeof(magic));
  if (entry.scrambled || magic == kLtoMagic) return {};
  return make_error(ErrorCode::malformed, "{}: no LTO-IR: it begins with 0x{:08x}, 0x{:08x} expected", name, magic,
                    kLtoMagic);
}

Result<EntryFacts> read_facts(const FatbinEntry& entry, std::span<const uint8_t> payload, const std::string& name,
                              KernelNames wanted) {
  EntryFacts facts;
  if (entry.scrambled) return facts;
  thread_local Mapping scratch;  // fresh pages for each fatbin entry would take as long as decompressing it
  PBPROBE_TRY(const auto content, decompress_entry(entry, payload, scratch, name));
  if (entry.kind == EntryKind::ptx || entry.kind == EntryKind::relocatable_ptx) {
    PBPROBE_CHECK(check_ptx(entry, content, name));
    if (wanted.listed && entry.kind == EntryKind::ptx) facts.ptx_kernels = kernels_of_ptx(Bytes(content, name).text());
    return facts;
  }
  if (entry.kind == EntryKind::lto_ir) {
    PBPROBE_CHECK(check_lto(entry, content, name));
    return facts;
  }
  if (entry.kind == EntryKind::tile_ir || entry.kind == EntryKind::mercury) {
    PBPROBE_CHECK(check_magic(entry, content, name));
    return facts;
  }
  PBPROBE_TRY(const Cubin cubin, open_cubin(Bytes(content, name)));
  PBPROBE_TRY(facts.sm, check_own_sm(entry.sm, cubin, name));
  facts.assembler = read_assembler(cubin);
  facts.hash = std::hash<std::string_view>()(Bytes(payload, name).text());
  facts.census = read_census(cubin, static_cast<uint32_t>(get_sm_number(entry.sm)), wanted.listed || wanted.families);
  return facts;
}

template <class Names>
void take_first(const Names& names, size_t limit, Names& first) {
  for (const auto& name : names) {
    if (first.size() < limit) first.push_back(name);
  }
}

// `number`: number of the cubin in the file, as cuobjdump counts.
void add(SmCensus& sum, const CubinCensus& census, int64_t number) {
  sum.kernels += census.kernels;
  sum.words += census.words;
  for (const auto& [mnemonic, count] : census.instructions) sum.instructions[mnemonic] += count;
  if (census.has_tensor_instructions) sum.tensor_cubins.push_back(number);
  sum.trap_kernels += static_cast<int64_t>(census.only_traps.size());
  take_first(census.only_traps, kNamedKernels, sum.only_traps);
  ++sum.cubins;
  if (census.kernels == 0) ++sum.empty_cubins;
  sum.code_bytes += census.code_bytes;
  sum.stores += census.stores;
  sum.idle_kernels += static_cast<int64_t>(census.idle.size());
  take_first(census.idle, kNamedKernels, sum.idle);
  if (!sum.idle_cubins) sum.idle_cubins = 0;
  if (census.kernels > 0 && census.kernels == static_cast<int64_t>(census.idle.size())) ++*sum.idle_cubins;
  if (census.names.empty()) return;
  if (!sum.names) sum.names.emplace();
  sum.names->insert(sum.names->end(), census.names.begin(), census.names.end());
}

void add(std::map<std::string, CodeBytes>& bytes, const FatbinEntry& entry) {
  CodeBytes& sum = bytes[sm_name(entry.sm)];
  sum.stored_bytes += static_cast<int64_t>(entry.stored_bytes);
  sum.uncompressed_bytes += static_cast<int64_t>(entry.uncompressed_bytes);
}

std::map<std::string, int64_t>& find_counts(EntryKind kind, DeviceCode& code) {
  if (kind == EntryKind::cubin) return code.cubin;
  if (kind == EntryKind::ptx) return code.ptx;
  if (kind == EntryKind::lto_ir) return code.lto_ir;
  if (!code.other_entries) code.other_entries.emplace();
  return (*code.other_entries)[std::string(name_kind(kind))];
}

void add_assembler(const EntryFacts& facts, const std::string& sm, DeviceCode& code) {
  const std::string& version = *facts.assembler;
  ++code.toolkits[version.substr(0, version.find('.', version.find('.') + 1))];
  if (!code.assemblers) code.assemblers.emplace();
  AssembledCode& sum = (*code.assemblers)[version][sm];
  ++sum.cubins;
  if (facts.census) sum.kernels += facts.census->kernels;
}

// Also records the highest PTX version of each SM: the driver must support that version.
void add_ptx(const FatbinEntry& entry, const std::optional<EntryFacts>& facts, DeviceCode& code) {
  const std::string sm = sm_name(entry.sm);
  add(code.ptx_bytes, entry);
  std::string& highest = code.ptx_versions[sm];
  const std::string version = fmt::format("{}.{}", entry.major, entry.minor);
  if (highest.empty() || version_less(highest, version)) highest = version;
  if (!facts || !facts->ptx_kernels) return;
  if (!code.ptx_kernels) code.ptx_kernels.emplace();
  auto& names = (*code.ptx_kernels)[sm];
  names.insert(names.end(), facts->ptx_kernels->begin(), facts->ptx_kernels->end());
}

bool is_false(const std::optional<EntryFacts>& facts) {
  return facts && facts->problem && facts->problem->code != ErrorCode::limit;
}

// Counts translation units by the SMs of their intact cubins, and units without an intact cubin.
void add_units(const std::vector<FatbinEntry>& entries, const InsideFacts& inside, DeviceCode& code) {
  std::map<uint64_t, std::set<std::string>> units;
  for (size_t i = 0; i < entries.size(); ++i) {
    auto& unit = units[entries[i].container];
    if (entries[i].kind == EntryKind::cubin && !is_false(inside[i])) unit.insert(sm_name(entries[i].sm));
  }
  for (const auto& [container, targets] : units) {
    if (targets.empty()) {
      ++code.units_without_code;
    } else {
      ++code.unit_sets[fmt::format("{}", fmt::join(targets, " "))];
    }
  }
}

void add_repeated(const CubinCensus& census, SmCensus& sum) {
  if (!sum.repeated) sum.repeated.emplace();
  ++sum.repeated->cubins;
  sum.repeated->kernels += census.kernels;
  sum.repeated->code_bytes += census.code_bytes;
}

// Counts cubins with kernels that repeat an earlier cubin of the file byte for byte.
void count_repeated(const std::vector<FatbinEntry>& entries, const InsideFacts& inside,
                    std::map<std::string, SmCensus>& censuses) {
  std::set<std::tuple<Sm, uint64_t, uint64_t>> seen;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!inside[i] || !inside[i]->census || inside[i]->census->kernels == 0) continue;
    if (!seen.insert({entries[i].sm, entries[i].uncompressed_bytes, inside[i]->hash}).second)
      add_repeated(*inside[i]->census, censuses[sm_name(entries[i].sm)]);
  }
}

// Sorts the names, and counts them by family. A name that several cubins have counts once: a copy of one translation
// unit in the place of another adds no kernel.
void settle_names(SmCensus& census, KernelNames wanted) {
  if (!census.names) return;
  std::sort(census.names->begin(), census.names->end());
  if (wanted.families) {
    census.families.emplace();
    std::string_view last;
    for (const auto& name : *census.names) {
      if (name != last) ++(*census.families)[std::string(find_kernel_family(name))];
      last = name;
    }
  }
  if (!wanted.listed) census.names.reset();
}

// Removes the words that begin each message about a fatbin entry.
std::string strip_entry_label(const Error& problem, const FatbinEntry& entry) {
  const std::string mark = fmt::format("({})", sm_name(entry.sm));
  const size_t at = problem.message.find(mark);
  if (at == std::string::npos) return problem.message;
  const std::string rest = problem.message.substr(at + mark.size());
  return rest.starts_with(": ") ? rest.substr(2) : rest;
}

void add_false_entry(const FatbinEntry& entry, const Error& problem, const Bytes& file, DeviceCode& code) {
  ++*code.false_entries;
  if (code.first_false_entries.size() >= kNamedEntries) return;
  const auto offset = entry.payload.data() - file.span().data();
  code.first_false_entries.push_back(
      {.label = format_entry_label(entry), .offset = offset, .seen = strip_entry_label(problem, entry)});
}

std::vector<FatbinEntry> correct_labels(std::vector<FatbinEntry> entries, const InsideFacts& inside) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (inside[i] && inside[i]->sm) entries[i].sm = *inside[i]->sm;
  }
  return entries;
}

}  // namespace

EntryFacts look_inside(const FatbinEntry& entry, std::span<const uint8_t> payload, const std::string& name,
                       uint64_t offset, KernelNames wanted) {
  const std::string label = fmt::format("{} fatbin entry at 0x{:x} ({})", name, offset, sm_name(entry.sm));
  auto facts = read_facts(entry, payload, label, wanted);
  if (facts) return std::move(*facts);
  EntryFacts failed;
  failed.problem = facts.error();
  return failed;
}

InsideFacts look_inside_all(const std::vector<FatbinEntry>& entries, const Bytes& file, KernelNames wanted) {
  InsideFacts inside(entries.size());
  size_t count = entries.size();
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    total += entries[i].uncompressed_bytes;
    if (total <= kMaxInsideBytes) continue;
    inside[i].emplace().problem = make_error(ErrorCode::limit,
                                             "{}: more than {} bytes of device code uncompressed: pbprobe does not "
                                             "open its fatbin entries from number {} on",
                                             file.name(), kMaxInsideBytes, i + 1);
    count = i;
  }
  run_on_spare_cores(count, [&](size_t i) {
    const auto offset = static_cast<uint64_t>(entries[i].payload.data() - file.span().data());
    inside[i] = look_inside(entries[i], entries[i].payload, file.name(), offset, wanted);
    release_pages(entries[i].payload);
  });
  return inside;
}

DeviceCode count_device_code(const std::vector<FatbinEntry>& labelled, const InsideFacts& inside, const Bytes& file,
                             bool opened, KernelNames wanted) {
  DeviceCode code;
  const std::vector<FatbinEntry> entries = correct_labels(labelled, inside);
  add_units(entries, inside, code);
  if (opened) {
    code.census.emplace();
    code.false_entries = 0;
  }
  int64_t cubins = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const FatbinEntry& entry = entries[i];
    ++find_counts(entry.kind, code)[sm_name(entry.sm)];
    code.stored_bytes += static_cast<int64_t>(entry.stored_bytes);
    code.uncompressed_bytes += static_cast<int64_t>(entry.uncompressed_bytes);
    if (entry.kind == EntryKind::cubin) add(code.cubin_bytes, entry);
    if (entry.kind == EntryKind::cubin) ++cubins;
    if (entry.kind == EntryKind::ptx) add_ptx(entry, inside[i], code);
    if (!inside[i]) continue;
    if (inside[i]->assembler) add_assembler(*inside[i], sm_name(entry.sm), code);
    if (inside[i]->census) add((*code.census)[sm_name(entry.sm)], *inside[i]->census, cubins);
    if (is_false(inside[i])) add_false_entry(entry, *inside[i]->problem, file, code);
  }
  if (!code.census) return code;
  count_repeated(entries, inside, *code.census);
  for (auto& [sm, census] : *code.census) settle_names(census, wanted);
  return code;
}

std::optional<Error> first_limit(const InsideFacts& inside) {
  for (const auto& facts : inside) {
    if (facts && facts->problem && !is_false(facts)) return facts->problem;
  }
  return std::nullopt;
}

}  // namespace pbprobe
