// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code.hpp"

#include <algorithm>
#include <array>

#include "core/cpu_needs.hpp"
#include "probes/audit/census.hpp"
#include "probes/audit/demangle.hpp"
#include "probes/audit/parallel.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kTaskBytes = 1 << 20;
constexpr size_t kOffendersShown = 5;  // of each class, and those that show a further feature
constexpr std::array<CodeClass, 5> kShown{CodeClass::static_initializer, CodeClass::unguarded, CodeClass::default_tier,
                                          CodeClass::tier_leak, CodeClass::unclassified};

std::string_view name_of_source(FunctionSource source) {
  switch (source) {
    case FunctionSource::symtab: return ".symtab";
    case FunctionSource::dynsym: return ".dynsym";
    case FunctionSource::eh_frame: return ".eh_frame";
    case FunctionSource::none: return "none";
  }
  return "none";
}

void count_all(const Elf& elf, Census& census, unsigned threads) {
  const auto& functions = census.functions.all;
  census.counts.resize(functions.size());
  const CountCode count = counter_for(elf);
  const auto begins = task_begins(functions);
  run_tasks(begins.size() - 1, threads, [&](size_t task) {
    for (size_t i = begins[task]; i < begins[task + 1]; ++i) {
      if (!functions[i].data) census.counts[i] = count(code_of(elf, functions[i]), functions[i].address, nullptr);
    }
  });
}

class Summary {
 public:
  Summary(const Elf& elf, const Census& census)
      : elf_(elf), census_(census), names_(feature_names(machine_name(elf.header.e_machine))) {}

  HostCode take() {
    code_.functions_from = name_of_source(census_.functions.source);
    code_.at_load.emplace();
    code_.leaked.emplace();
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
    const std::string label(owner.label);
    if (owner.code_class == CodeClass::dispatched && !label.empty()) ++code_.dispatchers[label];
    const bool of_tier = owner.code_class == CodeClass::tier || owner.code_class == CodeClass::default_tier;
    if (of_tier) ++code_.tiers[label].functions;
    for (const auto& [features, instructions] : count.counts) {
      count_into(code_.features, features, instructions);
      if (of_tier) count_into(code_.tiers[label].features, features, instructions);
      if (owner.code_class == CodeClass::unclassified) count_into(code_.unclassified, features, instructions);
      if (owner.code_class == CodeClass::unguarded || owner.code_class == CodeClass::default_tier ||
          owner.code_class == CodeClass::static_initializer)
        count_into(code_.unguarded, features, instructions);
      if (owner.code_class == CodeClass::static_initializer) count_into(*code_.at_load, features, instructions);
      if (owner.code_class == CodeClass::tier_leak) count_into(*code_.leaked, features, instructions);
    }
    if (count.features != 0) found_[static_cast<size_t>(owner.code_class)].push_back(i);
  }

  void count_into(std::map<std::string, int64_t>& counts, FeatureSet features, int64_t instructions) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (((features >> i) & 1U) != 0) counts[std::string(names_[i])] += instructions;
    }
  }

  [[nodiscard]] int64_t instructions_of(size_t i) const {
    int64_t sum = 0;
    for (const auto& [features, instructions] : census_.counts[i].counts) sum += instructions;
    return sum;
  }

  // Those with the most instructions that need something, and for each feature one at least: the judge asks for one
  // that needs it, and what others of its class need.
  [[nodiscard]] std::vector<size_t> worst_of(const std::vector<size_t>& found) const {
    std::vector<std::pair<int64_t, size_t>> order;
    for (const size_t i : found) order.emplace_back(-instructions_of(i), i);
    std::sort(order.begin(), order.end());
    std::vector<size_t> worst;
    FeatureSet told = 0;
    for (const auto& [_, i] : order) {
      const FeatureSet features = census_.counts[i].features;
      if (worst.size() >= kOffendersShown && (features & ~told) == 0) continue;
      told |= features;
      worst.push_back(i);
    }
    return worst;
  }

  void offenders() {
    for (const CodeClass code_class : kShown) {
      for (const size_t i : worst_of(found_[static_cast<size_t>(code_class)])) {
        const Function& function = census_.functions.all[i];
        code_.offenders.push_back(
            {.function = function.name.empty() ? fmt::format("at 0x{:x}", function.address) : demangled(function.name),
             .section = elf_.sections[function.section].name,
             .code_class = code_class,
             .features = names_of(census_.counts[i].features, names_),
             .instructions = instructions_of(i)});
      }
    }
  }

  void needs() {
    const std::string machine = machine_name(elf_.header.e_machine);
    std::vector<std::string> needed;
    for (const auto& [name, count] : code_.unguarded) needed.push_back(name);
    code_.least_cpu = least_cpu(machine, needed);
    for (const auto& [name, count] : code_.unclassified) {
      if (!code_.unguarded.contains(name)) needed.push_back(name);
    }
    const std::string most = least_cpu(machine, needed);
    if (most != code_.least_cpu) code_.least_cpu_at_most = most;
  }

  const Elf& elf_;
  const Census& census_;
  std::span<const std::string_view> names_;
  HostCode code_;
  std::array<std::vector<size_t>, kCodeClasses> found_;  // functions that need something, by class
};

}  // namespace

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

CountCode counter_for(const Elf& elf) {
  switch (elf.header.e_machine) {
    case EM_X86_64: return count_x86;
    case EM_AARCH64: return count_aarch64;
    default: return nullptr;
  }
}

std::span<const uint8_t> code_of(const Elf& elf, const Function& function) {
  return elf.file.span().subspan(function.offset, function.size);
}

Result<std::optional<HostCode>> read_host_code(const Elf& elf, unsigned threads) {
  if (counter_for(elf) == nullptr) return std::optional<HostCode>();
  Census census;
  PBPROBE_TRY(census.functions, list_functions(elf));
  if (census.functions.all.empty()) return std::optional<HostCode>();
  count_all(elf, census, threads);
  census.owners = find_owners(census.functions, census.counts);
  set_aside_replaced(elf, census.functions, census.owners);
  PBPROBE_CHECK(follow_tier_roots(elf, census.functions, census.owners));
  PBPROBE_CHECK(find_tier_leaks(elf, census, threads));
  return std::optional<HostCode>(Summary(elf, census).take());
}

}  // namespace pbprobe
