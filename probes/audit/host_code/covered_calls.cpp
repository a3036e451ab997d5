// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares what a caller asks the CPU with what the code that it calls needs.
#include <sys/auxv.h>

#include <algorithm>

#include "probes/audit/containers/elf.hpp"
#include "probes/audit/host_code/load_code.hpp"

namespace pbprobe {
namespace {

constexpr int kMostCalls = 3;                       // in a row between a guard and the function that asks
constexpr uint64_t kImported = uint64_t{1} << 62U;  // stands for a variable of another file
constexpr uint64_t kModelBytes = 16;                // size of each variable
constexpr size_t kMostFillers = 16;                 // functions that fill these variables
constexpr std::string_view kModelSymbol = "__cpu_model";
constexpr std::string_view kFeatures = "__cpu_features2";

// Fills __cpu_model and its like, and tells nothing itself.
bool only_prepares(std::string_view name) {
  return name.starts_with("__cpu_indicator_init");
}

}  // namespace

bool is_cpu_model(std::string_view name) {
  return name == kModelSymbol;
}

bool is_cpu_features(std::string_view name) {
  return name == kFeatures;
}

Result<void> LoadFollower::find_cpu_model() {
  for (const char* table : {".symtab", ".dynsym"}) {
    PBPROBE_CHECK(visit_symbols(elf_, table, [&](std::string_view name, const Elf64_Sym& symbol) {
      const bool here = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT;
      if (here && name.starts_with(kModelSymbol)) model_.first = symbol.st_value;
      if (here && name.starts_with(kFeatures)) model_.second = symbol.st_value;
    }));
  }
  if (!model_.first) find_nameless_cpu_model();
  if (!model_.first) model_.first = kImported;
  if (!model_.second) model_.second = kImported + kModelBytes;
  return {};
}

// Finds the variables of libgcc without symbols: an initializer compares the maker of the CPU, and stores a number for
// it in the first word. Its callees store further words in the second variable.
void LoadFollower::find_nameless_cpu_model() {
  for (const uint64_t address : functions_.initializers) {
    const auto start = index_at(address);
    if (!start || !trace(*start).asks || trace(*start).data.empty()) continue;
    const auto code = get_code(elf_, functions_.all[*start]);
    const std::vector<uint64_t>& data = trace(*start).data;
    const uint64_t first = data.front();
    const auto compares = [&](std::string_view maker) {
      return std::search(code.begin(), code.end(), maker.begin(), maker.end()) != code.end();
    };
    const auto names = [&](uint64_t place) { return std::ranges::find(data, place) != data.end(); };
    if (!compares("Genu") || !compares("Auth") || !names(first + 4) || !names(first + 12)) continue;
    model_.first = first;
    model_filler_ = start;
    std::set<uint64_t> others;
    std::vector<size_t> fillers{*start};
    for (size_t i = 0; i < fillers.size() && i < kMostFillers; ++i) {
      for (const auto* places : {&trace(fillers[i]).data, &trace(fillers[i]).taken})
        std::copy_if(places->begin(), places->end(), std::inserter(others, others.end()),
                     [&](uint64_t place) { return place - first >= kModelBytes && is_writable(elf_, place); });
      const auto more = callees(fillers[i]);
      fillers.insert(fillers.end(), more.begin(), more.end());
    }
    if (!others.empty() && *others.rbegin() - *others.begin() < kModelBytes) model_.second = *others.begin();
    return;
  }
}

bool LoadFollower::is_in_cpu_model(uint64_t place) const {
  return place - *model_.first < kModelBytes || place - *model_.second < kModelBytes;
}

const Guards& LoadFollower::guards(size_t function) {
  function = find_main(function);
  const auto known = guards_.find(function);
  if (known != guards_.end()) return known->second;
  if (elf_.header.e_machine == EM_AARCH64) return guards_aarch64(function);
  return guards_.emplace(function, read_guards_x86(read_parts(function), make_model())).first->second;
}

const Guards& LoadFollower::guards_aarch64(size_t function) {
  Guards guards;
  HwcapSources sources;
  const CpuModel model = make_model();
  sources.read_pointer = model.read_pointer;
  sources.read_memory = model.read_memory;
  sources.never_returns = model.never_returns;
  sources.calls_getauxval = [this](uint64_t address) {
    const std::string_view name = find_import(address);
    return name.starts_with("getauxval") || name.starts_with("__getauxval");
  };
  sources.read_answer = [&](uint64_t place) { return read_answer(place, function, guards); };
  following_.insert(function);
  const std::vector<CodePart> parts = read_parts(function);
  const auto read = [&] { return read_guards_aarch64(parts, functions_.all[function].resolver, sources); };
  guards = read();
  if (!guards.stored.empty()) guards = read();  // the function may read what it stores
  following_.erase(function);
  return guards_.emplace(function, std::move(guards)).first->second;
}

// Returns the answer that functions which ask the CPU store at a place; nullopt if none of them names it. All of them
// must store the same answer. `own` tells what `reader` itself stores.
std::optional<StoredAnswer> LoadFollower::read_answer(uint64_t place, size_t reader, const Guards& own) {
  const uint64_t line = place & ~uint64_t{15};
  std::optional<StoredAnswer> answer;
  const auto first = std::lower_bound(answers_.begin(), answers_.end(), std::pair(line, size_t{0}));
  for (auto at = first; at != answers_.end() && at->first == line; ++at) {
    const size_t writer = at->second;
    if (writer != reader && following_.contains(writer)) return StoredAnswer{.known = false};
    const auto& stored = writer == reader ? own.stored : guards(writer).stored;
    const auto found = stored.find(place);
    if (found == stored.end()) continue;
    if (answer && !(*answer == found->second)) return StoredAnswer{.known = false};
    answer = found->second;
  }
  if (answer && !is_zero(place, answer->bytes)) answer->known = false;
  return answer;
}

// Reports whether memory is zero before code writes to it.
bool LoadFollower::is_zero(uint64_t place, uint64_t bytes) const {
  for (const auto& segment : elf_.segments) {
    if (segment.p_type != PT_LOAD || place < segment.p_vaddr || place - segment.p_vaddr >= segment.p_filesz) continue;
    const uint64_t offset = segment.p_offset + (place - segment.p_vaddr);
    if (offset > elf_.file.size() || bytes > elf_.file.size() - offset) return false;
    const auto content = elf_.file.span().subspan(offset, bytes);
    return std::ranges::all_of(content, [](uint8_t byte) { return byte == 0; });
  }
  return true;
}

// Adds what one part of a function asks by.
void LoadFollower::add_sources(size_t part, bool reads_answer, Sources& sources) {
  const CodeTrace& trace = this->trace(part);
  const bool arm = elf_.header.e_machine == EM_AARCH64;
  const auto add_import = [&](std::string_view name) {
    if (!is_asker(name) || only_prepares(name) || name == kModelSymbol || name == kFeatures) return;
    if (arm && (name.starts_with("getauxval") || name.starts_with("__getauxval"))) return;
    if (name.starts_with("__aarch64_have_lse"))
      sources.features |= arm ? pbprobe::arm("atomics") : 0;
    else
      sources.unknown = true;
  };
  for (const uint64_t address : trace.calls) add_import(find_import(address));
  const auto add_place = [&](uint64_t place) {
    if (const Pointer* pointer = pointers_.at(place)) add_import(pointer->symbol);
    if (is_in_cpu_model(place) || reads_answer) return;
    const auto first = std::lower_bound(answers_.begin(), answers_.end(), std::pair(place & ~uint64_t{15}, size_t{0}));
    for (auto at = first; at != answers_.end() && at->first == (place & ~uint64_t{15}); ++at)
      sources.functions.push_back(at->second);
  };
  for (const auto* places : {&trace.data, &trace.taken, &trace.through}) {
    for (const uint64_t place : *places) add_place(place);
  }
  for (const size_t callee : callees(part)) {
    const std::string_view name = functions_.all[callee].name;
    if (is_asker(name))
      add_import(name);
    else if (callee != model_filler_ && asks_by_itself(callee))
      sources.functions.push_back(callee);
  }
  if (is_asker(functions_.all[part].name) || (arm && trace.asks)) sources.unknown = true;
}

const Sources& LoadFollower::find_sources(size_t function) {
  const auto known = sources_.find(function);
  if (known != sources_.end()) return known->second;
  const bool reads_answer = guards(function).reads_answer;  // already part of the function's guards
  const auto parts = list_parts(function);
  Sources sources;
  for (const size_t part : parts) add_sources(part, reads_answer, sources);
  std::ranges::sort(sources.functions);
  sources.functions.erase(std::unique(sources.functions.begin(), sources.functions.end()), sources.functions.end());
  std::erase_if(sources.functions, [&](size_t source) { return std::ranges::find(parts, source) != parts.end(); });
  return sources_.emplace(function, std::move(sources)).first->second;
}

// Returns the features that the function asks for, also through others; nullopt if that cannot be followed.
std::optional<FeatureSet> LoadFollower::find_asked(size_t function, int depth) {
  const Guards& own = guards(function);
  const Sources& sources = find_sources(function);
  if (own.escapes || own.keeps_answer || sources.unknown || depth == 0) return std::nullopt;
  FeatureSet asked = own.asked | sources.features;
  for (const size_t source : sources.functions) {
    const auto more = find_asked(source, depth - 1);
    if (!more) return std::nullopt;
    asked |= *more;
  }
  return asked;
}

bool LoadFollower::covers(size_t caller, size_t callee, FeatureSet needs) {
  const Function& called = functions_.all[callee];
  return covers(caller, called.address, called.address + called.size, needs);
}

bool LoadFollower::covers(size_t caller, uint64_t begin, uint64_t end, FeatureSet needs) {
  const uint16_t machine = elf_.header.e_machine;
  needs &= list_askable_features(machine);
  if (needs == 0) return true;
  const Guards& own = guards(caller);
  const Sources& sources = find_sources(caller);
  const auto lacks = [&](FeatureSet has) { return (needs & ~add_implied_features(machine, has)) != 0; };
  const bool direct = !own.escapes && !own.loose && !sources.unknown && sources.functions.empty();
  const auto first = own.ensured.lower_bound(begin);
  if (direct && first != own.ensured.end() && first->first < end) {
    FeatureSet has = sources.features;
    bool any = false;
    for (auto at = first; at != own.ensured.end() && at->first < end; ++at) {
      has = any ? has & at->second : has | at->second;
      any = true;
    }
    return !lacks(has);
  }
  const auto asked = find_asked(caller, kMostCalls);
  return !asked || !lacks(*asked);
}

FeatureSet list_base_features(const Census& census) {
  FeatureSet features = 0;
  for (size_t i = 0; i < census.functions.all.size(); ++i) {
    const CodeClass code_class = census.owners[i].code_class;
    const bool everywhere = (code_class == CodeClass::unguarded && census.functions.all[i].binding != Binding::local) ||
                            code_class == CodeClass::default_capability;
    if (everywhere) features |= census.counts[i].features;
  }
  return features;
}

}  // namespace pbprobe
