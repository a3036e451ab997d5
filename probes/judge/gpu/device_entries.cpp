// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that device code matches its headers, is linked, and does something.
#include <algorithm>

#include "core/targets.hpp"
#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kManyKernels = 1000;
constexpr int64_t kFewKernels = 20;

bool begins_any(const std::vector<std::string>& names, std::initializer_list<std::string_view> begins) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::any_of(begins, [&](std::string_view begin) { return name.starts_with(begin); });
  });
}

// Reports whether the artifact says that it is a CUDA build, or libtorch's files need CUDA libraries.
bool says_cuda(const Facts& facts) {
  const auto& files = facts.inventory->files;
  return facts.cuda_build || std::ranges::any_of(files, [](const File& file) {
           return file.component == kLibtorch &&
                  begins_any(file.needed, {kLibtorchCuda, "libc10_cuda.so", "libcudart.so"});
         });
}

// Reports whether fewer than half of the units have code for `chip`.
bool is_in_few_units(const DeviceCode& code, const Sm& chip) {
  const Units units = count_sm_units(code, chip);
  return units.with * 2 < units.all;
}

// Judges cubins with a suffix separately, because the many plain cubins would hide a fault. They hold the chip's
// tensor instructions: half of their kernels may be empty, but not all.
std::optional<Sentence> fault_of_suffixed(const Censuses& censuses, const Sm& chip, std::string_view file,
                                          std::string_view target) {
  for (const auto& [name, census] : censuses) {
    const auto sm = parse_sm(name);
    if (!sm || sm->suffix == '\0' || !same_capability(*sm, chip)) continue;
    if (census.cubins == 0 || census.idle_kernels < census.kernels) continue;
    return say("{} is claimed, and none of the {} kernels of {} for {} does anything", target, census.kernels, file,
               name);
  }
  return std::nullopt;
}

bool is_asked(const Facts& facts, const File& file) {
  return is_own(*facts.inventory, file) || has_own_sms(file);
}

std::map<std::string, Censuses> their_censuses(const Inventory& inventory) {
  std::map<std::string, Censuses> components;
  for (const auto& file : inventory.files) {
    if (!has_own_sms(file) || !file.device_code || !file.device_code->census) continue;
    for (const auto& [name, census] : *file.device_code->census) add_census(components[*file.component][name], census);
  }
  return components;
}

// Finds device code that was listed, but not opened, when the facts were recorded.
std::optional<Seen> not_opened(const Facts& facts) {
  for (const auto& file : facts.inventory->files) {
    if (!is_asked(facts, file) || file.problem || !file.device_code || file.device_code->false_entries) continue;
    return Seen{.what = say("the device code of {} was not opened: whether it matches its headers is not known",
                            base_name(file.path)),
                .where = file.path,
                .remedy = "judge the build itself, or facts that `pbprobe report --full` or `pbprobe audit` wrote"};
  }
  return std::nullopt;
}

Answer entries_match_headers(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_asked(facts, file)) continue;
    for (const auto* code : {&file.device_code, &file.self_loaded_code}) {
      const FalseEntry* first = *code ? first_false_entry(**code) : nullptr;
      if (first == nullptr) continue;
      answer.seen.push_back(
          {say("{} of the fatbin entries of {} {}: the {} at offset 0x{:x} is {}", *(*code)->false_entries,
               base_name(file.path),
               select_by_number(*(*code)->false_entries, "does not match its header", "do not match their headers"),
               first->label, first->offset, first->seen),
           file.path});
    }
  }
  if (!facts.claimed_gpus.empty() && answer.seen.empty()) answer.unknown = not_opened(facts);
  return answer;
}

// Judges each file, including other packages: no kernel of relocatable device code can be launched.
Answer device_code_is_linked(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!file.device_code || !file.device_code->unlinked) continue;
    answer.seen.push_back(
        {say("{} holds relocatable device code ({} {} of nvcc -rdc=true), which was never linked", base_name(file.path),
             *file.device_code->unlinked, select_by_number(*file.device_code->unlinked, "entry", "entries")),
         file.path});
  }
  return answer;
}

Answer has_cuda_library(const Facts& facts) {
  if (!says_cuda(facts) && (facts.claimed_gpus.empty() || !cuda_matches_claim(facts))) return {};
  if (facts.cuda_build && facts.main_file == nullptr) return {};  // without device code: PB310, PB314
  const File* library = file_named(*facts.inventory, kLibtorchCuda);
  if (library == nullptr)
    return {.seen = {{.what = says_cuda(facts) ? say("{} is a CUDA build, and has no {}", facts.torch, kLibtorchCuda)
                                               : say("{} is claimed, and {} has no {}", facts.claimed_gpus.front()->id,
                                                     facts.torch, kLibtorchCuda)}}};
  const auto& code = library->device_code;
  const bool empty =
      !code || (code->cubin.empty() && code->ptx.empty() && code->lto_ir.empty() && !code->other_entries);
  if (!empty || library->problem || facts.main_file == nullptr) return {};
  return {.seen = {{.what = say("{} holds no device code: the device code of {} does not replace it", kLibtorchCuda,
                                base_name(facts.main_file->path)),
                    .where = library->path}}};
}

Answer kernels_do_something(const Facts& facts) {
  Answer answer;
  for (const Target* target : facts.claimed_gpus) {
    const Sm chip = get_target_sm(*target).value_or(Sm{});
    for (const auto& file : facts.inventory->files) {
      if (!is_own(*facts.inventory, file) || !file.device_code || !file.device_code->census) continue;
      if (is_in_few_units(*file.device_code, chip)) continue;  // PB314
      const SmCensus code = sum_census(*file.device_code->census, chip);
      const IdleLimits& limits = code.kernels < kFewKernels    ? kOfTinyFile
                                 : code.kernels < kManyKernels ? kOfSmallFile
                                                               : kOfLibtorch;
      auto fault = find_idle_code(code, limits, base_name(file.path), target->id);
      if (!fault) fault = fault_of_suffixed(*file.device_code->census, chip, base_name(file.path), target->id);
      if (fault) answer.seen.push_back({std::move(*fault), file.path});
    }
    for (const auto& [component, censuses] : their_censuses(*facts.inventory)) {
      auto fault = find_idle_code(census_that_runs(censuses, chip), kOfLibrary, component, target->id);
      if (fault) answer.seen.push_back({std::move(*fault)});
    }
  }
  return answer;
}

}  // namespace

std::vector<Check> device_entries_checks() {
  using enum Need;
  return {
      {.id = "PB330",
       .needs = {inventory},
       .decides = true,
       .integrity = true,
       .proves = ClaimPart::sm,
       .remedy = "build or install that file again: the loader believes the header, and the driver refuses the code or "
                 "runs other code",
       .ask = entries_match_headers},
      {.id = "PB331",
       .needs = {inventory, whole},
       .decides = true,
       .proves = ClaimPart::sm,
       .remedy =
           "look at the step that installs torch's libraries: without libtorch_cuda.so torch has no kernel for a GPU",
       .ask = has_cuda_library},
      {.id = "PB334",
       .needs = {inventory},
       .of_any = true,
       .proves = ClaimPart::sm,
       .remedy = "link the device code (device link step): CUDA_SEPARABLE_COMPILATION with CUDA_RESOLVE_DEVICE_SYMBOLS "
                 "in CMake, `nvcc -dlink` elsewhere, or compile without -rdc=true",
       .ask = device_code_is_linked},
      {.id = "PB332",
       .needs = {gpu_claim, inventory},
       .proves = ClaimPart::sm,
       .remedy = "look at the conditions around the kernels' code (`__CUDA_ARCH__`), and build the file again: on this "
                 "GPU the kernels return without a result",
       .ask = kernels_do_something},
  };
}

}  // namespace pbprobe
