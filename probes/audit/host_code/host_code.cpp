// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/host_code.hpp"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/demangle.hpp"
#include "core/parallel.hpp"
#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/load_code.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kTaskBytes = 1 << 20;
constexpr size_t kOffendersShown = 5;  // per class, plus functions that need a further feature
constexpr std::array<CodeClass, 5> kShown{CodeClass::static_initializer, CodeClass::unguarded,
                                          CodeClass::default_capability, CodeClass::capability_leak,
                                          CodeClass::unclassified};

std::string_view name_of_source(FunctionSource source) {
  switch (source) {
    case FunctionSource::symtab: return ".symtab";
    case FunctionSource::dynsym: return ".dynsym";
    case FunctionSource::eh_frame: return ".eh_frame";
    case FunctionSource::none: return "none";
  }
  return "none";
}

// Returns the first function of each task, and one past the last. Tasks have about equal sizes in bytes.
std::vector<size_t> task_begins(const std::vector<Function>& functions) {
  std::vector<size_t> begins{0};
  uint64_t bytes = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    bytes += functions[i].size;
    if (bytes < kTaskBytes) continue;
    begins.push_back(i + 1);
    bytes = 0;
  }
  if (begins.back() != functions.size()) begins.push_back(functions.size());
  return begins;
}

// Addresses of the code and of the pointers in data: no other target decides when code runs.
class TargetFilter {
 public:
  TargetFilter(const Functions& functions, const Pointers& pointers) {
    for (const auto& function : functions.all) {
      code_begin_ = std::min(code_begin_, function.address);
      code_end_ = std::max(code_end_, function.address + function.size);
    }
    if (pointers.all().empty()) return;
    const uint64_t first = pointers.all().front().first;
    data_begin_ = first - std::min(first, kMostBefore);
    data_end_ = pointers.all().back().first + 8;
  }

  // Returns the targets outside the function, sorted and unique.
  [[nodiscard]] CodeTargets filter(const Function& function, CodeTargets targets) const {
    std::erase_if(targets, [&](uint64_t target) {
      if (target - function.address < function.size) return true;
      const uint64_t place = target & ~kInPlace;
      const bool in_data = place >= data_begin_ && place < data_end_;
      return !in_data && (place < code_begin_ || place >= code_end_ || place != target);
    });
    std::ranges::sort(targets);
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    return {targets.begin(), targets.end()};  // without what it was given to grow
  }

 private:
  static constexpr uint64_t kMostBefore = 4096;  // an object may begin before its first pointer
  uint64_t code_begin_ = UINT64_MAX;
  uint64_t code_end_ = 0;
  uint64_t data_begin_ = 0;
  uint64_t data_end_ = 0;
};

void count_all(const Elf& elf, Census& census, const Pointers& pointers, unsigned threads) {
  const auto& functions = census.functions.all;
  census.counts.resize(functions.size());
  census.targets.resize(functions.size());
  const CountCode count = find_code_counter(elf);
  const TargetFilter filter(census.functions, pointers);
  const auto begins = task_begins(functions);
  run_tasks(begins.size() - 1, threads, [&](size_t task) {
    CodeTargets targets;
    for (size_t i = begins[task]; i < begins[task + 1]; ++i) {
      if (functions[i].data) continue;
      targets.clear();
      census.counts[i] = count(get_code(elf, functions[i]), functions[i].address, &targets);
      census.targets[i] = filter.filter(functions[i], targets);
    }
  });
}

// A wrongly resumed download leaves a hole of zeros; no function begins with zeros.
std::optional<Error> find_zeros(const Elf& elf, const Functions& functions) {
  constexpr size_t kEnough = 16;
  int64_t holes = 0;
  const Function* first = nullptr;
  for (const auto& function : functions.all) {
    if (function.data || function.label || function.size < kEnough) continue;
    if (elf.sections[function.section].header.sh_type == SHT_NOBITS) continue;  // split debug files keep no code
    const auto begin = get_code(elf, function).first(kEnough);
    if (std::ranges::any_of(begin, [](uint8_t byte) { return byte != 0; })) continue;
    if (++holes == 1) first = &function;
  }
  if (holes == 0) return std::nullopt;
  return make_error(ErrorCode::malformed,
                    "{}: the code of {} functions is zeros, the first at 0x{:x}: a hole in the file", elf.file.name(),
                    holes, first->address);
}

// Finds an initializer outside the file: tools that know only sections drop code without a section.
std::optional<Error> find_missing_initializer(const Elf& elf, const Functions& functions) {
  const auto is_there = [&](uint64_t address) {
    return std::ranges::any_of(elf.segments, [&](const auto& segment) {
      return segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz;
    });
  };
  for (const uint64_t address : functions.initializers) {
    if (address == 0 || address == UINT64_MAX || is_there(address)) continue;  // 0 and -1: none
    return make_error(ErrorCode::malformed, "{}: one of its initializers is at 0x{:x}, which the file does not hold",
                      elf.file.name(), address);
  }
  return std::nullopt;
}

class Summary {
 public:
  Summary(const Elf& elf, const Census& census)
      : elf_(elf), census_(census), names_(feature_names(machine_name(elf.header.e_machine))) {}

  HostCode take() {
    code_.functions_from = name_of_source(census_.functions.source);
    for (size_t i = 0; i < census_.functions.all.size(); ++i) add(i);
    offenders();
    needs();
    return std::move(code_);
  }

 private:
  void add(size_t i) {
    const Function& function = census_.functions.all[i];
    if (function.data) return;
    const CodeOwner& owner = census_.owners[i];
    const CodeCount& count = census_.counts[i];
    ++code_.functions[std::string(name_of(owner.code_class))];
    code_.code_bytes += static_cast<int64_t>(function.size);
    code_.instructions += count.instructions;
    note_unknown(function, owner.code_class, count);
    if (count.undecided_length && may_run_everywhere(owner.code_class) && !code_.undecided_length)
      code_.undecided_length = fmt::format("{} ({})", name_function(function), elf_.sections[function.section].name);
    if (runs_everywhere(owner.code_class)) code_.unguarded_instructions += count.instructions;
    const std::string label(owner.label);
    if (owner.code_class == CodeClass::dispatched && !label.empty()) ++code_.dispatchers[label];
    const bool of_capability =
        owner.code_class == CodeClass::cpu_capability || owner.code_class == CodeClass::default_capability;
    if (of_capability) ++code_.cpu_capabilities[label].functions;
    for (const auto& [features, instructions] : count.counts) {
      count_into(code_.features, features, instructions);
      if (of_capability) count_into(code_.cpu_capabilities[label].features, features, instructions);
      if (owner.code_class == CodeClass::unclassified) count_into(code_.unclassified, features, instructions);
      if (runs_everywhere(owner.code_class)) count_into(code_.unguarded, features, instructions);
      if (owner.code_class == CodeClass::static_initializer) count_into(code_.at_load, features, instructions);
      if (owner.code_class == CodeClass::capability_leak) count_into(code_.leaked, features, instructions);
    }
    if (count.features != 0) found_[static_cast<size_t>(owner.code_class)].push_back(i);
    count_encoding(owner.code_class, count);
  }

  void count_encoding(CodeClass code_class, const CodeCount& count) {
    constexpr FeatureSet kAvx = x86("avx") | x86("avx2") | x86("fma") | x86("avx512f");
    if (!may_run_everywhere(code_class)) return;
    if (elf_.header.e_machine != EM_X86_64) return;
    const bool avx = (count.features & kAvx) != 0;
    code_.avx_functions = code_.avx_functions.value_or(0) + (avx ? 1 : 0);
    code_.sse_functions = code_.sse_functions.value_or(0) + (!avx && count.sse ? 1 : 0);
  }

  static bool runs_everywhere(CodeClass code_class) {
    return code_class == CodeClass::unguarded || code_class == CodeClass::default_capability ||
           code_class == CodeClass::static_initializer;
  }

  static bool may_run_everywhere(CodeClass code_class) {
    return runs_everywhere(code_class) || code_class == CodeClass::unclassified;
  }

  static std::string name_function(const Function& function) {
    return function.name.empty() ? fmt::format("at 0x{:x}", function.address) : demangled(function.name);
  }

  void note_unknown(const Function& function, CodeClass code_class, const CodeCount& count) {
    if (count.unknown == 0) return;
    code_.unknown_opcodes[std::string(name_of(code_class))] += count.unknown;
    if (may_run_everywhere(code_class) && !code_.unknown_opcode)
      code_.unknown_opcode = describe_unknown(elf_, function, count);
  }

  void count_into(std::map<std::string, int64_t>& counts, FeatureSet features, int64_t instructions) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (((features >> i) & 1U) != 0) counts[std::string(names_[i])] += instructions;
    }
  }

  [[nodiscard]] int64_t sum_instructions(size_t i) const {
    int64_t sum = 0;
    for (const auto& [features, instructions] : census_.counts[i].counts) sum += instructions;
    return sum;
  }

  // Returns the functions with the most instructions beyond the base, and at least one for each feature. The judge asks
  // which functions need a feature, and what else they need.
  [[nodiscard]] std::vector<size_t> select_worst_functions(const std::vector<size_t>& found) const {
    std::vector<std::pair<int64_t, size_t>> order;
    for (const size_t i : found) order.emplace_back(-sum_instructions(i), i);
    std::ranges::sort(order);
    std::vector<size_t> worst;
    FeatureSet known = 0;
    for (const auto& [_, i] : order) {
      const FeatureSet features = census_.counts[i].features;
      if (worst.size() >= kOffendersShown && (features & ~known) == 0) continue;
      known |= features;
      worst.push_back(i);
    }
    return worst;
  }

  void offenders() {
    for (const CodeClass code_class : kShown) {
      for (const size_t i : select_worst_functions(found_[static_cast<size_t>(code_class)])) {
        const Function& function = census_.functions.all[i];
        code_.offenders.push_back({.function = name_function(function),
                                   .section = elf_.sections[function.section].name,
                                   .code_class = code_class,
                                   .features = list_feature_names(census_.counts[i].features, names_),
                                   .instructions = sum_instructions(i)});
      }
    }
  }

  void needs() {
    const std::string machine = machine_name(elf_.header.e_machine);
    std::vector<std::string> needed;
    for (const auto& [name, count] : code_.unguarded) needed.push_back(name);
    code_.minimum_cpu = minimum_cpu(machine, needed);
    for (const auto& [name, count] : code_.unclassified) {
      if (!code_.unguarded.contains(name)) needed.push_back(name);
    }
    const std::string most = minimum_cpu(machine, needed);
    if (most != code_.minimum_cpu) code_.minimum_cpu_at_most = most;
  }

  const Elf& elf_;
  const Census& census_;
  std::span<const std::string_view> names_;
  HostCode code_;
  std::array<std::vector<size_t>, kCodeClasses> found_;  // functions that need something, by class
};

// Reassigns functions that run while the file is loaded: an initializer calls them unguarded, whatever their names
// state. Functions of a library that chooses its code keep their owner.
void own_what_loading_reaches(Census& census, LoadFollower& follower) {
  for (const size_t i : follower.walk().reached) {
    CodeOwner& owner = census.owners[i];
    const bool chooses = owner.code_class == CodeClass::dispatched && !owner.label.empty();
    const bool known = owner.code_class == CodeClass::static_initializer || owner.code_class == CodeClass::replaced;
    if (known || chooses || census.counts[i].features == 0 || follower.asks(i)) continue;
    owner = {CodeClass::static_initializer, {}};
  }
}

void add_askers(const Census& census, LoadFollower& follower) {
  std::vector<size_t> askers;
  for (size_t i = 0; i < census.counts.size(); ++i) {
    if (census.counts[i].asks || follower.calls_asker(census.targets[i])) askers.push_back(i);
  }
  follower.add_askers(askers);
}

}  // namespace

CountCode find_code_counter(const Elf& elf) {
  switch (elf.header.e_machine) {
    case EM_X86_64: return count_x86;
    case EM_AARCH64: return count_aarch64;
    default: return nullptr;
  }
}

std::span<const uint8_t> get_code(const Elf& elf, const Function& function) {
  return elf.file.span().subspan(function.offset, function.size);
}

std::string describe_unknown(const Elf& elf, const Function& function, const CodeCount& count) {
  const uint64_t skip = count.first_unknown - function.address;
  const auto code = get_code(elf, function);
  const auto bytes = code.subspan(skip, std::min<size_t>(6, code.size() - skip));
  return fmt::format("{} ({}) at 0x{:x}: {:02x}",
                     function.name.empty() ? "a function without a name" : demangled(function.name),
                     elf.sections[function.section].name, count.first_unknown, fmt::join(bytes, " "));
}

Result<FileCode> read_code(const Elf& file, CodeScope scope, unsigned threads) {
  FileCode code;
  if (find_code_counter(file) == nullptr) return code;
  PBPROBE_TRY(const Elf elf, complete_loaded_elf(file));
  Census census;
  PBPROBE_TRY(census.functions, list_functions(elf));
  if (census.functions.all.empty()) return code;
  PBPROBE_TRY(LoadFollower follower, LoadFollower::make(elf, census.functions));
  if (elf.header.e_type != ET_REL) {
    PBPROBE_TRY(code.at_load, read_load_code(elf, census.functions, follower));
  }
  if (scope == CodeScope::at_load) return code;
  code.damage = find_zeros(elf, census.functions);
  if (!code.damage && elf.header.e_type == ET_DYN) code.damage = find_missing_initializer(elf, census.functions);
  count_all(elf, census, follower.pointers(), threads);
  census.owners = find_owners(census.functions, census.counts);
  set_aside_replaced(elf, follower.pointers(), census);
  follower.separate_shared_parts(census);
  PBPROBE_CHECK(follow_capability_roots(elf, census));
  PBPROBE_CHECK(find_capability_leaks(elf, census));
  own_what_loading_reaches(census, follower);
  add_askers(census, follower);
  census.entered.assign(census.functions.all.size(), false);
  if (scope == CodeScope::against_names) PBPROBE_CHECK(refute_names(elf, census, follower));
  if (scope == CodeScope::by_names) refute_local_names(census, follower);
  PBPROBE_CHECK(decide_nameless(elf, census, follower));
  code.counted = Summary(elf, census).take();
  return code;
}

}  // namespace pbprobe
