// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares the claimed SMs with the device code of the artifact.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/libraries/package_rows.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

bool is_libtorch(const Facts& facts, const File& file) {
  return is_own(*facts.inventory, file) && file.device_code;
}

// Returns a GPU target's SM without suffix ("sm_90"); "" for a CPU.
std::string format_base_sm(const Target& target) {
  const auto sm = get_target_sm(target);
  return sm ? sm_name(*sm) : "";
}

bool matches_sm(std::string_view cubin, const Target& target) {
  const auto parsed = parse_sm(cubin);
  const auto capability = get_target_sm(target);
  return parsed && capability && same_capability(*parsed, *capability);
}

bool is_target_cubin(std::string_view cubin, const Target& target) {
  return cubin == format_base_sm(target) || std::ranges::find(target.siblings, cubin) != target.siblings.end();
}

std::string join_sms(const std::map<std::string, int64_t>& cubins) {
  std::vector<std::string_view> names;
  for (const auto& [name, count] : cubins) names.push_back(name);
  std::ranges::sort(names, [](std::string_view a, std::string_view b) { return parse_sm(a) < parse_sm(b); });
  return fmt::format("{}", fmt::join(names, ", "));
}

// Counts the cubins for each SM that no claimed target covers.
std::map<std::string, int64_t> find_unclaimed_cubins(const Facts& facts, const DeviceCode& code) {
  std::map<std::string, int64_t> others = code.cubin;
  std::erase_if(others, [&](const auto& entry) {
    return std::ranges::any_of(facts.claimed_gpus,
                               [&](const Target* target) { return is_target_cubin(entry.first, *target); });
  });
  return others;
}

// Counts such cubins in units that also hold a claimed SM. claimed_sm_is_throughout() reports the other units.
std::map<std::string, int64_t> count_mixed_extras(const Facts& facts, const DeviceCode& code) {
  const auto is_claimed = [&](const std::string& cubin) {
    return std::ranges::any_of(facts.claimed_gpus, [&](const Target* target) { return matches_sm(cubin, *target); });
  };
  const auto others = find_unclaimed_cubins(facts, code);
  std::map<std::string, int64_t> beside;
  for (const auto& [set, count] : code.unit_sets) {
    const auto cubins = list_unit_cubins(set);
    if (std::ranges::none_of(cubins, is_claimed)) continue;
    for (const auto& cubin : cubins) {
      if (others.contains(cubin)) beside[cubin] += count;
    }
  }
  return beside;
}

// Reports whether static libraries brought the SMs `others`: these have fewer than half of the file's units.
bool are_of_linked_library(const File& file, const std::map<std::string, int64_t>& others) {
  if (!file.links) return false;
  const auto& contains = file.links->contains;
  const bool any =
      std::ranges::any_of(contains, [](const std::string& name) { return has_own_sms(File{.component = name}); });
  const int64_t units = count_sm_units(*file.device_code, Sm{}).all;
  return any && std::ranges::all_of(others, [&](const auto& entry) { return entry.second * 2 < units; });
}

// Returns the target's first instruction path after plain FMA: "wgmma".
std::string first_tensor_instruction(const Target& target) {
  return target.instructions.size() > 1 ? target.instructions[1].name : "a tensor instruction";
}

void add_trap_kernels(const Facts& facts, const File& file, const std::map<std::string, SmCensus>& censuses,
                      Answer& answer) {
  for (const auto& [cubin, census] : censuses) {
    const bool claimed = std::ranges::any_of(
        facts.claimed_gpus, [&, name = cubin](const Target* target) { return matches_sm(name, *target); });
    if (!claimed || census.trap_kernels == 0) continue;
    answer.seen.push_back({say("{} {} of {} for {} {} nothing but trap: {}", census.trap_kernels,
                               select_by_number(census.trap_kernels, "kernel", "kernels"), base_name(file.path), cubin,
                               select_by_number(census.trap_kernels, "does", "do"),
                               census.only_traps.empty() ? "" : kernel_name(census.only_traps.front())),
                           file.path});
  }
}

// Files that can hold a library's device code. A library with such a file must have device code.
constexpr std::array<std::string_view, 7> kHaveCode{"libmagma.so",
                                                    "libnccl.so",
                                                    "libcublas.so",
                                                    "libcublasLt.so",
                                                    "libcudnn_graph.so",
                                                    "libcudnn_ops.so",
                                                    "libcudnn_engines_precompiled.so"};

// Files that hold device code in each release of their library.
constexpr std::array<std::string_view, 7> kEachHasCode{"libmagma.so",
                                                       "libnccl.so",
                                                       "libcublas.so",
                                                       "libcublasLt.so",
                                                       "libcudnn_ops.so",
                                                       "libcudnn_adv.so",
                                                       "libcudnn_engines_precompiled.so"};

// Returns the libraries of the artifact that should hold device code, but hold none.
std::set<std::string> without_code(const Inventory& inventory) {
  std::set<std::string> due;
  for (const auto& file : inventory.files) {
    const auto is_file = [&](std::string_view name) { return base_name(file.path).starts_with(name); };
    const bool has_code = std::ranges::any_of(kHaveCode, is_file);
    if (has_own_sms(file) && !file.problem && has_code) due.insert(*file.component);
  }
  for (const auto& file : inventory.files) {
    if (file.component && file.self_loaded_code && !file.self_loaded_code->cubin.empty()) due.erase(*file.component);
    if (file.component &&
        (file.problem || (file.device_code && !(file.device_code->cubin.empty() && file.device_code->ptx.empty()))))
      due.erase(*file.component);
  }
  return due;
}

// Sums the device code of each library that chooses its own SMs.
std::map<std::string, DeviceCode> their_code(const Inventory& inventory) {
  std::map<std::string, DeviceCode> components;
  for (const auto& file : inventory.files) {
    // A library without other device code loads the cubins among its constants.
    const auto& theirs = file.device_code ? file.device_code : file.self_loaded_code;
    if (!theirs || !has_own_sms(file)) continue;
    DeviceCode& code = components[*file.component];
    for (const auto& [name, count] : theirs->cubin) code.cubin[name] += count;
    for (const auto& [name, count] : theirs->ptx) code.ptx[name] += count;
  }
  return components;
}

Answer claimed_sm_is_throughout(const Facts& facts) {
  Answer answer;
  bool any_file = false;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file)) continue;
    any_file = true;
    if (file.device_code->cubin.empty() || file.device_code->false_entries.value_or(0) > 0) continue;  // PB315, PB330
    for (const Target* target : facts.claimed_gpus) {
      const Units units = count_sm_units(*file.device_code, get_target_sm(*target).value_or(Sm{}));
      if (units.with == units.all) continue;
      Sentence what =
          units.with == 0
              ? say("{} is claimed, and {} holds machine code only for {}", target->id, base_name(file.path),
                    join_sms(file.device_code->cubin))
              : say("{} is claimed, and only {} of the {} translation units of {} {} machine code for it", target->id,
                    units.with, units.all, base_name(file.path), select_by_number(units.with, "holds", "hold"));
      answer.seen.push_back({std::move(what), file.path});
    }
  }
  const bool damaged = std::ranges::any_of(
      facts.inventory->files, [&](const File& file) { return is_own(*facts.inventory, file) && file.problem; });
  if (!any_file && facts.cuda_build && !damaged)
    answer.seen.push_back({say("{} is claimed, and libtorch holds no device code", facts.claimed_gpus.front()->id)});
  return answer;
}

std::string_view describe_driver_use(std::string_view kind) {
  if (kind == "Tile IR") return "a driver for CUDA 13.1 or later compiles Tile IR at the first start";
  if (kind == "Mercury") return "the driver translates Mercury code when it loads the file";
  return "only the device linker reads relocatable PTX";
}

Answer claimed_sm_is_machine_code(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!file.device_code || !(is_libtorch(facts, file) || has_own_sms(file))) continue;
    const auto& code = *file.device_code;
    if (!code.cubin.empty()) continue;
    if (!code.ptx.empty()) {
      answer.seen.push_back({say("{} holds only PTX ({}): the driver compiles PTX at the first start",
                                 base_name(file.path), join_sms(code.ptx)),
                             file.path});
    } else if (!code.lto_ir.empty()) {
      answer.seen.push_back({say("{} holds only LTO-IR ({}): a device linker must compile it before it runs",
                                 base_name(file.path), join_sms(code.lto_ir)),
                             file.path});
    } else if (code.other_entries) {
      const auto& [kind, counts] = *code.other_entries->rbegin();
      answer.seen.push_back({say("{} holds only {} ({}): {}", base_name(file.path), kind, join_sms(counts),
                                 make_words(std::string(describe_driver_use(kind)))),
                             file.path});
    }
  }
  return answer;
}

Answer nothing_but_claimed_sms(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file)) continue;
    const auto others = count_mixed_extras(facts, *file.device_code);
    if (others.empty() || are_of_linked_library(file, others)) continue;
    answer.seen.push_back({say("{} holds machine code for {} too", base_name(file.path), join_sms(others)), file.path});
  }
  return answer;
}

Answer no_ptx_beside_claimed_sms(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file) || file.device_code->cubin.empty() || file.device_code->ptx.empty()) continue;
    if (are_of_linked_library(file, file.device_code->ptx)) continue;
    answer.seen.push_back(
        {say("{} holds PTX for {} beside its machine code", base_name(file.path), join_sms(file.device_code->ptx)),
         file.path});
  }
  return answer;
}

bool has_runnable_code(const DeviceCode& code, const Target& target) {
  const auto chip = get_target_sm(target);
  return std::ranges::any_of(code.cubin, [&](const auto& entry) {
    const auto cubin = parse_sm(entry.first);
    return cubin && chip && cubin_runs_on(*cubin, *chip);
  });
}

// Finds a single pruned or stripped file of a library whose other files are complete.
std::optional<Sentence> fault_of_file(const File& file, const Target& target) {
  const std::string_view name = base_name(file.path);
  const auto& code = file.device_code ? file.device_code : file.self_loaded_code;
  if (code && !code->cubin.empty()) {
    if (has_runnable_code(*code, target)) return std::nullopt;
    return say("{} is claimed, and {} holds machine code only for {}, none of which runs there", target.id, name,
               join_sms(code->cubin));
  }
  const bool has_code =
      std::ranges::any_of(kEachHasCode, [&](std::string_view begin) { return name.starts_with(begin); });
  if (!has_code || (code && !code->ptx.empty())) return std::nullopt;
  return say("{} is claimed, and {} holds no device code at all", target.id, name);
}

Answer other_libraries_hold_claimed_sm(const Facts& facts) {
  Answer answer;
  std::set<std::string> reported = without_code(*facts.inventory);
  for (const auto& component : reported)
    answer.seen.push_back(
        {say("{} is claimed, and {} holds no device code at all", facts.claimed_gpus.front()->id, component)});
  for (const auto& [component, code] : their_code(*facts.inventory)) {
    if (code.cubin.empty()) continue;  // PB315
    for (const Target* target : facts.claimed_gpus) {
      if (has_runnable_code(code, *target)) continue;
      reported.insert(component);
      answer.seen.push_back({say("{} is claimed, and {} holds machine code only for {}, none of which runs there",
                                 target->id, component, join_sms(code.cubin))});
    }
  }
  for (const auto& file : facts.inventory->files) {
    if (!has_own_sms(file) || file.problem || reported.contains(*file.component)) continue;
    for (const Target* target : facts.claimed_gpus) {
      auto fault = fault_of_file(file, *target);
      if (fault) answer.seen.push_back({std::move(*fault), file.path});
    }
  }
  return answer;
}

Answer other_libraries_hold_more(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const auto& [component, code] : their_code(*facts.inventory)) {
    const auto others = find_unclaimed_cubins(facts, code);
    if (!others.empty()) answer.seen.push_back({say("{} holds machine code for {} too", component, join_sms(others))});
  }
  for (const auto& file : facts.inventory->files) {
    // Cubins among the constants are kernels of another project, which chooses its own SMs.
    if (is_own(*facts.inventory, file) && file.self_loaded_code) {
      const auto others = find_unclaimed_cubins(facts, *file.self_loaded_code);
      if (!others.empty())
        answer.seen.push_back({say("{} also holds machine code for {} in its constants, and the claim says `only`",
                                   base_name(file.path), join_sms(others)),
                               file.path});
    }
    if (!is_libtorch(facts, file)) continue;
    const auto others = find_unclaimed_cubins(facts, *file.device_code);
    if (others.empty() || !are_of_linked_library(file, others)) continue;
    answer.seen.push_back(
        {say("libraries linked into {} hold machine code for {} too", base_name(file.path), join_sms(others)),
         file.path});
  }
  return answer;
}

Answer no_claimed_kernel_only_traps(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file)) continue;
    for (const auto* code : {&file.device_code, &file.self_loaded_code}) {
      if (*code && (*code)->census) add_trap_kernels(facts, file, *(*code)->census, answer);
    }
  }
  return answer;
}

Answer one_toolkit_a_file(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file) || file.device_code->toolkits.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [release, count] : file.device_code->toolkits)
      parts.push_back(fmt::format("{} by CUDA {}", count, release));
    answer.seen.push_back(
        {say("cubins of {} were compiled by different CUDA toolkits: {}", base_name(file.path), fmt::join(parts, ", ")),
         file.path});
  }
  return answer;
}

// Returns the first PTX ISA version of `file` that is newer than `cuda` supports.
std::optional<std::string> newer_ptx(const File& file, const MajorMinor& cuda) {
  for (const auto& [sm, text] : file.device_code->ptx_versions) {
    const auto isa = parse_major_minor(text);
    const auto brought = isa ? cuda_of_ptx(*isa) : std::nullopt;
    if (isa && (!brought || cuda < *brought)) return text;
  }
  return std::nullopt;
}

Answer device_code_is_of_claimed_cuda(const Facts& facts) {
  Answer answer;
  if (!facts.claim->cuda) return answer;
  if (!facts.single_file && !cuda_matches_claim(facts)) return answer;  // reported already
  const auto claimed = parse_major_minor(*facts.claim->cuda);
  if (!claimed) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file)) continue;
    if (const auto isa = newer_ptx(file, *claimed))
      answer.seen.push_back(
          {say("CUDA {} is claimed, and {} holds PTX of ISA version {}, which only a later CUDA supports",
               *facts.claim->cuda, base_name(file.path), *isa),
           file.path});
    int64_t as_claimed = 0, all = 0;
    std::set<std::string> newer, older;
    for (const auto& [release, count] : file.device_code->toolkits) {
      const auto version = parse_major_minor(release);
      if (!version) continue;
      as_claimed += *version == *claimed ? count : 0;
      all += count;
      if (*version > *claimed) newer.insert(release);
      if (*version < *claimed) older.insert(release);
    }
    const auto& wrong = newer.empty() ? older : newer;
    if (wrong.empty() || (newer.empty() && as_claimed * 2 >= all)) continue;  // static libraries bring older cubins
    answer.seen.push_back({say("CUDA {} is claimed, and cubins of {} were compiled by CUDA {}", *facts.claim->cuda,
                               base_name(file.path), fmt::join(wrong, ", ")),
                           file.path});
  }
  return answer;
}

// Tensor instructions of a target whose architecture has a suffix exist only in such cubins. torch's build adds that
// architecture for the files that use them.
Answer tensor_paths_have_their_cubin(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact || file_named(*facts.inventory, kLibtorchCuda) == nullptr) return answer;
  for (const Target* target : facts.claimed_gpus) {
    if (std::isalpha(static_cast<unsigned char>(target->architecture.back())) == 0) continue;
    bool any = false;
    bool with_suffix = false;
    bool damaged = false;  // the cubin may be in an unreadable file
    for (const auto& file : facts.inventory->files) {
      damaged = damaged || (is_own(*facts.inventory, file) && file.problem);
      if (!is_libtorch(facts, file)) continue;
      for (const auto& [cubin, count] : file.device_code->cubin) {
        any = any || cubin == format_base_sm(*target);
        with_suffix = with_suffix || (cubin != format_base_sm(*target) && matches_sm(cubin, *target));
      }
    }
    if (!any || with_suffix || damaged) continue;  // without any: PB314
    answer.seen.push_back(
        {say("{} is claimed, and no file of libtorch holds machine code for sm_{}, which code with {} needs",
             target->id, target->architecture, make_words(first_tensor_instruction(*target)))});
  }
  return answer;
}

}  // namespace

bool claimed_sm_is_shipped(const Facts& facts) {
  return claimed_sm_is_throughout(facts).seen.empty();
}

std::vector<Check> claimed_sms_checks() {
  using enum Need;
  return {
      {.id = "PB314",
       .needs = {gpu_claim, inventory},
       .decides = true,
       .proves = ClaimPart::sm,
       .remedy = "build it for that SM: look at TORCH_CUDA_ARCH_LIST as the build saw it",
       .ask = claimed_sm_is_throughout},
      {.id = "PB315",
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "build it with the SM as a real architecture (12.1, not 12.1+PTX of an older one)",
       .ask = claimed_sm_is_machine_code},
      {.id = "PB316",
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "build the file only for that SM, or claim the others too",
       .ask = nothing_but_claimed_sms},
      {.id = "PB317",
       .severity = Severity::warn,
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "leave +PTX out of TORCH_CUDA_ARCH_LIST, unless later chips are to run it",
       .ask = no_ptx_beside_claimed_sms},
      {.id = "PB318",
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "build the library for the claimed SM, or use a build of it for that SM",
       .ask = other_libraries_hold_claimed_sm},
      {.id = "PB319",
       .severity = Severity::note,
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "none needed: linked libraries have SM lists of their own, which only make the file larger",
       .ask = other_libraries_hold_more},
      {.id = "PB320",
       .severity = Severity::warn,
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "look at the condition around the kernel's code, such as `__CUDA_ARCH__`: the kernel was compiled for "
                 "a chip that this condition excludes",
       .ask = no_claimed_kernel_only_traps},
      {.id = "PB321",
       .severity = Severity::warn,
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy =
           "look for a second toolkit among the build's inputs, or a static library that another toolkit compiled",
       .ask = one_toolkit_a_file},
      {.id = "PB322",
       .needs = {claim, inventory},
       .proves = ClaimPart::cuda,
       .remedy = "build it with the claimed toolkit: look at the nvcc that the build found",
       .ask = device_code_is_of_claimed_cuda},
      {.id = "PB323",
       .needs = {gpu_claim, inventory, whole},
       .proves = ClaimPart::sm,
       .remedy =
           "look at the flags of torch's files for scaled and grouped products: torch adds that architecture by itself",
       .ask = tensor_paths_have_their_cubin},
  };
}

}  // namespace pbprobe
