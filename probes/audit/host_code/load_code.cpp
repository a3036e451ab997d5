// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/load_code.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "core/demangle.hpp"

namespace pbprobe {
namespace {

constexpr size_t kShownOfFile = 5;
constexpr size_t kMostFollowed = 200'000;  // functions: an initializer may lead to all of a library

// Functions and variables of glibc, libgcc and libraries in torch that ask the system about the CPU, or keep its
// answer.
constexpr std::string_view kAskers[] = {
    "getauxval",
    "__getauxval",
    "__cpu_indicator_init",
    "__cpu_model",
    "__cpu_features2",
    "cpuinfo_",
    "__get_cpuid",
    "__x86_get_cpu",
    "__aarch64_have_lse",
    "__init_cpu_features",
    "elf_aux_info",
    "__aarch64_cpu_features",
    "__init_cpu_features_resolver",
};

CodeTrace trace_code(const Elf& elf, const Function& function) {
  const auto code = get_code(elf, function);
  return elf.header.e_machine == EM_AARCH64 ? trace_aarch64(code, function.address) : trace_x86(code, function.address);
}

// tbz, cbz, b.cond and their opposites; csel and its like.
bool has_condition(std::span<const uint8_t> code) {
  for (size_t at = 0; at + 4 <= code.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof word);
    const bool branches = (word & 0x7C000000) == 0x34000000 || (word & 0xFF000010) == 0x54000000;
    if (branches || (word & 0x1FE00000) == 0x1A800000) return true;
  }
  return false;
}

// Reports whether aarch64 code only jumps on: adrp x16, page; add x16, x16, offset; br x16. Linkers put it between a
// call and a target that is more than 128 MiB away.
bool is_long_branch(std::span<const uint8_t> code) {
  std::array<uint32_t, 3> words{};
  if (code.size() < sizeof words) return false;
  std::memcpy(words.data(), code.data(), sizeof words);
  return (words[0] & 0x9F00001F) == 0x90000010 && (words[1] & 0xFF8003FF) == 0x91000210 && words[2] == 0xD61F0200;
}

// x86-64: [endbr64] [bnd] jmp [rip + displacement]; aarch64: [bti] adrp x16.
bool starts_with_jump(const Elf& elf, std::span<const uint8_t> code) {
  const auto starts = [&](std::initializer_list<uint8_t> bytes, size_t at) {
    return code.size() >= at + bytes.size() &&
           std::equal(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at));
  };
  if (elf.header.e_machine == EM_AARCH64) {
    const size_t at = starts({0x5F, 0x24, 0x03, 0xD5}, 0) ? 4 : 0;
    uint32_t word = 0;
    if (code.size() < at + 4) return false;
    std::memcpy(&word, code.data() + at, sizeof word);
    return (word & 0x9F00001F) == 0x90000010;
  }
  size_t at = starts({0xF3, 0x0F, 0x1E, 0xFA}, 0) ? 4 : 0;
  if (starts({0xF2}, at)) ++at;
  return starts({0xFF, 0x25}, at);
}

}  // namespace

bool is_asker(std::string_view name) {
  return std::any_of(std::begin(kAskers), std::end(kAskers),
                     [&](std::string_view asker) { return name.starts_with(asker); });
}

Result<LoadFollower> LoadFollower::make(const Elf& elf, const Functions& functions) {
  LoadFollower follower(elf, functions);
  PBPROBE_TRY(follower.starts_, read_starts(elf));
  PBPROBE_TRY(follower.pointers_, Pointers::read(elf));
  PBPROBE_CHECK(follower.find_cpu_model());
  follower.index_parts();
  return follower;
}

const CodeTrace& LoadFollower::trace(size_t function) {
  const auto found = traces_.find(function);
  if (found != traces_.end()) return found->second;
  return traces_.emplace(function, trace_code(elf_, functions_.all[function])).first->second;
}

std::optional<size_t> LoadFollower::index_at(uint64_t address) const {
  const Function* function = find_function(functions_, address);
  if (function == nullptr || function->data) return std::nullopt;
  return static_cast<size_t>(function - functions_.all.data());
}

uint64_t LoadFollower::skip_long_branch(uint64_t address) const {
  if (elf_.header.e_machine != EM_AARCH64) return address;
  const Function* holder = find_function(functions_, address);
  if (holder == nullptr) return address;
  const auto code = get_code(elf_, *holder).subspan(address - holder->address);
  return is_long_branch(code) ? trace_aarch64(code.first(12), address).calls.front() : address;
}

// Reads an entry of a procedure linkage table: a jump through a pointer, near its start.
std::optional<uint64_t> LoadFollower::read_stub(uint64_t address) const {
  const Function* holder = find_function(functions_, address);
  if (holder == nullptr) return std::nullopt;
  constexpr uint64_t kEntry = 16;
  const uint64_t skip = address - holder->address;
  const Function stub{.address = address,
                      .offset = holder->offset + skip,
                      .size = std::min(kEntry, holder->size - skip),
                      .section = holder->section};
  if (!starts_with_jump(elf_, get_code(elf_, stub))) return std::nullopt;
  const CodeTrace trace = trace_code(elf_, stub);
  if (trace.through.empty()) return std::nullopt;
  return trace.through.front();
}

std::optional<uint64_t> LoadFollower::place_of_stub(uint64_t address) {
  const auto [found, fresh] = stubs_.try_emplace(address);
  if (fresh) found->second = read_stub(address);
  return found->second;
}

std::string_view LoadFollower::find_import(uint64_t address) {
  const auto place = place_of_stub(skip_long_branch(address));
  const Pointer* pointer = place ? pointers_.at(*place) : nullptr;
  return pointer == nullptr ? std::string_view() : pointer->symbol;
}

// Returns the function of this file that a call to this address enters.
std::optional<size_t> LoadFollower::resolve(uint64_t address) {
  address = skip_long_branch(address);
  if (const auto place = place_of_stub(address)) {
    const Pointer* pointer = pointers_.at(*place);
    if (pointer == nullptr || !pointer->symbol.empty()) return std::nullopt;
    return index_at(pointer->target);
  }
  return index_at(address);
}

bool LoadFollower::imports_asker() {
  const auto& pointers = pointers_.all();
  if (!imports_asker_) {
    imports_asker_ = std::ranges::any_of(pointers, [](const auto& entry) { return is_asker(entry.second.symbol); });
  }
  return *imports_asker_;
}

bool LoadFollower::file_asks(const Census& census) {
  if (std::ranges::any_of(census.counts, &CodeCount::asks)) return true;
  return imports_asker();
}

bool LoadFollower::calls_asker(const CodeTargets& targets) {
  return imports_asker() &&
         std::ranges::any_of(targets, [&](uint64_t target) { return is_asker(find_import(target)); });
}

std::vector<size_t> LoadFollower::held_functions(size_t function) {
  std::vector<size_t> found;
  for (const uint64_t address : find_held_addresses(function)) {
    const auto index = index_at(address);
    if (index && functions_.all[*index].address == address) found.push_back(*index);
  }
  return found;
}

bool LoadFollower::holds_imports(size_t function) {
  const CodeTrace& trace = this->trace(function);
  return std::ranges::any_of(trace.data, [&](uint64_t place) {
    const Pointer* pointer = pointers_.at(place);
    return pointer != nullptr && !pointer->symbol.empty() && !is_asker(pointer->symbol);
  });
}

std::vector<size_t> LoadFollower::callees(size_t function) {
  const Function& self = functions_.all[function];
  std::vector<size_t> found;
  const auto add = [&](std::optional<size_t> callee) {
    if (callee && *callee != function) found.push_back(*callee);
  };
  const CodeTrace& trace = this->trace(function);
  for (const uint64_t address : trace.calls) {
    if (address - self.address >= self.size) add(resolve(address));
  }
  for (const uint64_t place : trace.through) {
    const Pointer* pointer = pointers_.at(place);
    if (pointer != nullptr && pointer->symbol.empty()) add(index_at(pointer->target));
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool LoadFollower::asks_by_itself(size_t function) {
  const auto known = askers_.find(function);
  return known != askers_.end() ? known->second : askers_.emplace(function, find_asker(function)).first->second;
}

bool LoadFollower::find_asker(size_t function) {
  const CodeTrace& trace = this->trace(function);
  const Function& self = functions_.all[function];
  if (trace.asks || is_asker(self.name)) return true;
  // ld.so passes AT_HWCAP to the resolvers of aarch64, which choose one of the functions that they name.
  const bool gets_hwcap = self.resolver && elf_.header.e_machine == EM_AARCH64;
  if (gets_hwcap && has_condition(get_code(elf_, self)) &&
      (!held_functions(function).empty() || holds_imports(function)))
    return true;
  const auto names_asker = [&](uint64_t place) {
    const Pointer* pointer = pointers_.at(place);
    return is_in_cpu_model(place) || (pointer != nullptr && is_asker(pointer->symbol));
  };
  if (std::ranges::any_of(trace.taken, [&](uint64_t place) { return is_in_cpu_model(place); })) return true;
  if (std::ranges::any_of(trace.data, names_asker)) return true;
  if (std::ranges::any_of(trace.through, names_asker)) return true;
  return std::ranges::any_of(trace.calls, [&](uint64_t address) { return is_asker(find_import(address)); });
}

// Records the writable memory that a function names which asks the CPU: the answer is stored there.
void LoadFollower::remember_answers(size_t function) {
  const CodeTrace& trace = this->trace(function);
  for (const auto* places : {&trace.data, &trace.taken}) {
    for (const uint64_t place : *places) {
      if (is_writable(elf_, place)) answers_.emplace_back(place & ~uint64_t{15}, function);
    }
  }
}

bool LoadFollower::asks(size_t function) {
  const auto known = asking_.find(function);
  if (known != asking_.end()) return known->second;
  const auto parts = list_parts(function);
  const bool asks = std::ranges::any_of(parts, [&](size_t part) { return find_question(part); });
  return asking_.emplace(function, asks).first->second;
}

bool LoadFollower::find_question(size_t function) {
  if (asks_by_itself(function)) return true;
  const CodeTrace& trace = this->trace(function);
  const auto is_answer = [&](uint64_t place) {
    const auto found = std::lower_bound(answers_.begin(), answers_.end(), std::pair(place & ~uint64_t{15}, size_t{0}));
    return found != answers_.end() && found->first == (place & ~uint64_t{15});
  };
  if (std::ranges::any_of(trace.data, is_answer)) return true;
  if (std::ranges::any_of(trace.taken, is_answer)) return true;
  // A callee may ask instead: get_cpu_capability() does.
  const auto called = callees(function);
  return std::ranges::any_of(called, [&](size_t callee) { return asks_by_itself(callee) || forwards_answer(callee); });
}

std::optional<size_t> LoadFollower::find_only_callee(size_t function) {
  constexpr uint64_t kOnlyCall = 16;
  if (functions_.all[function].size > kOnlyCall) return std::nullopt;
  const auto called = callees(function);
  return called.size() == 1 ? std::optional(called.front()) : std::nullopt;
}

bool LoadFollower::forwards_answer(size_t function) {
  const auto only = find_only_callee(function);
  return only && asks_by_itself(*only);
}

// BoringSSL's OPENSSL_get_ia32cap() passes a function that asks to pthread_once(), and returns what it stored.
bool LoadFollower::calls_getter(size_t function) {
  const auto called = callees(function);
  return std::ranges::any_of(called, [&](size_t callee) {
    const size_t getter = find_only_callee(callee).value_or(callee);
    const auto held = held_functions(getter);
    return std::ranges::any_of(held, [&](size_t one) { return asks_by_itself(one); }) && find_question(getter);
  });
}

// Returns addresses that the function takes, or reads from the global offset table.
std::vector<uint64_t> LoadFollower::find_held_addresses(size_t function) {
  const CodeTrace& trace = this->trace(function);
  std::vector<uint64_t> held = trace.taken;
  for (const uint64_t place : trace.data) {
    const Pointer* pointer = pointers_.at(place);
    if (pointer != nullptr && pointer->symbol.empty()) held.push_back(pointer->target);
  }
  return held;
}

LoadWalk LoadFollower::walk_once() {
  LoadWalk walk;
  std::vector<bool> seen(functions_.all.size());
  const auto enter = [&](size_t function) {
    if (seen[function] || walk.reached.size() >= kMostFollowed) return;
    seen[function] = true;
    walk.reached.push_back(function);
  };
  for (const auto* addresses : {&starts_.initializers, &starts_.terminators, &starts_.resolvers}) {
    for (const uint64_t address : *addresses) {
      if (const auto function = index_at(address)) enter(*function);
    }
  }
  for (size_t next = 0; next < walk.reached.size(); ++next) {
    const size_t function = walk.reached[next];
    const bool asks = this->asks(function);
    const bool gets = !asks && calls_getter(function);
    for (const size_t part : asks ? list_parts(function) : std::vector{function}) {
      for (const size_t callee : callees(part)) {
        if (gets && trace(callee).features != 0)
          walk.may_call.emplace_back(function, callee);
        else if (!asks || !covers(function, callee, trace(callee).features))
          enter(callee);
      }
    }
    if (asks) continue;
    if (!trace(function).indirect) continue;
    for (const uint64_t address : find_held_addresses(function)) {
      const auto held = index_at(address);
      if (held && functions_.all[*held].address == address) walk.may_call.emplace_back(function, *held);
    }
  }
  return walk;
}

void LoadFollower::add_askers(const std::vector<size_t>& askers) {
  for (const size_t function : askers) remember_answers(function);
  std::ranges::sort(answers_);
  asking_.clear();
  sources_.clear();
  if (elf_.header.e_machine == EM_AARCH64) guards_.clear();  // they depend on stored answers
}

LoadWalk LoadFollower::walk() {
  // Only a whole walk finds all functions that ask. The second walk knows where their answers are stored.
  std::vector<size_t> askers;
  for (const size_t function : walk_once().reached) {
    for (const auto& others : {std::vector{function}, callees(function), held_functions(function)}) {
      std::copy_if(others.begin(), others.end(), std::back_inserter(askers),
                   [&](size_t other) { return asks_by_itself(other); });
    }
  }
  add_askers(askers);
  return walk_once();
}

namespace {

std::string shown_name(const Function& function) {
  return function.name.empty() ? fmt::format("at 0x{:x}", function.address) : demangled(function.name);
}

CodeOffender make_offender(const Elf& elf, const Function& function, const CodeCount& count,
                           std::span<const std::string_view> names) {
  int64_t instructions = 0;
  for (const auto& [features, number] : count.counts) instructions += number;
  return {.function = shown_name(function),
          .section = elf.sections[function.section].name,
          .code_class = CodeClass::static_initializer,
          .features = list_feature_names(count.features, names),
          .instructions = instructions};
}

void keep_worst(std::vector<CodeOffender>& offenders) {
  std::ranges::stable_sort(offenders, [](const auto& a, const auto& b) { return a.instructions > b.instructions; });
  if (offenders.size() > kShownOfFile) offenders.resize(kShownOfFile);
}

}  // namespace

Result<std::optional<LoadCode>> read_load_code(const Elf& elf, const Functions& functions, LoadFollower& follower) {
  const CountCode count = find_code_counter(elf);
  const LoadWalk walk = follower.walk();
  if (walk.reached.empty()) return std::optional<LoadCode>();
  const auto names = feature_names(machine_name(elf.header.e_machine));
  LoadCode code;
  for (const size_t i : walk.reached) {
    const Function& function = functions.all[i];
    ++code.functions;
    if (follower.asks(i)) continue;
    const CodeCount counted = count(get_code(elf, function), function.address, nullptr);
    for (const auto& [features, number] : counted.counts) {
      for (const auto& name : list_feature_names(features, names)) code.features[name] += number;
    }
    if (counted.features != 0) code.offenders.push_back(make_offender(elf, function, counted, names));
    if (follower.trace(i).flushes && !code.flushes) code.flushes = shown_name(function);
    if (counted.unknown != 0 && !code.unknown_opcode) code.unknown_opcode = describe_unknown(elf, function, counted);
  }
  for (const auto& [caller, held] : walk.may_call) {
    const Function& function = functions.all[held];
    const CodeCount counted = count(get_code(elf, function), function.address, nullptr);
    if (counted.features != 0) code.open.push_back(make_offender(elf, function, counted, names));
  }
  keep_worst(code.offenders);
  keep_worst(code.open);
  return std::optional<LoadCode>(std::move(code));
}

}  // namespace pbprobe
