// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares the device code of a build with public builds of its version, or with the kernel names of a baseline.
#include <algorithm>
#include <tuple>

#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Least share of the reference. Counts differ by 2 % between SMs of one build and by 1 % between CUDA releases; code
// sizes differ by a third between SMs. Build switches of torch remove less: flash and memory-efficient attention are
// 8 % of the kernels.
constexpr double kLeastCounts = 0.8;
constexpr double kLeastBytes = 0.4;
constexpr double kMostMissing = 0.02;  // kernels that a change of compiler renames

// Subtracts repeated code, so that copies do not hide missing kernels.
ReferenceCode count_reference_code(const DeviceCode& code, const Sm& chip) {
  const SmCensus census = sum_census(code.census.value_or(Censuses{}), chip);
  const RepeatedCode repeated = census.repeated.value_or(RepeatedCode{});
  return {.units = count_sm_units(code, chip).with - repeated.cubins,
          .kernels = census.kernels - repeated.kernels,
          .code_bytes = census.code_bytes - repeated.code_bytes};
}

// Returns the SM to compare with: the same SM, else the nearest. Prefers the same major version, then older SMs.
const std::string* comparable(const std::map<std::string, ReferenceCode>& code, const Sm& chip) {
  const std::string* best = nullptr;
  const auto distance = [&](const std::string& name) {
    const Sm sm = parse_sm(name).value_or(Sm{});
    const int64_t apart = get_sm_number(chip) - get_sm_number(sm);
    return std::tuple(sm.major != chip.major, apart < 0, std::llabs(apart));
  };
  for (const auto& [name, row] : code) {
    if (best == nullptr || distance(name) < distance(*best)) best = &name;
  }
  return best;
}

bool too_few(int64_t count, int64_t of_reference, double least) {
  return static_cast<double>(count) < least * static_cast<double>(of_reference);
}

// Code of one file of the reference for the SM nearest to the claimed SM.
struct ReferenceMatch {
  std::string_view file;
  std::string_view build;
  std::string_view sm;
  ReferenceCode code;
};

std::optional<Sentence> compare_to_reference(const ReferenceCode& code, const ReferenceMatch& theirs,
                                             std::string_view target) {
  if (too_few(code.units, theirs.code.units, kLeastCounts))
    return say(
        "{} is claimed, and {} holds {} translation {} for it; the same file in the reference build {} holds {} for {}",
        target, theirs.file, code.units, select_by_number(code.units, "unit", "units"), theirs.build, theirs.code.units,
        theirs.sm);
  if (too_few(code.kernels, theirs.code.kernels, kLeastCounts))
    return say("{} is claimed, and {} holds {} {} for it; the same file in the reference build {} holds {} for {}",
               target, theirs.file, code.kernels, select_by_number(code.kernels, "kernel", "kernels"), theirs.build,
               theirs.code.kernels, theirs.sm);
  if (too_few(code.code_bytes, theirs.code.code_bytes, kLeastBytes))
    return say(
        "{} is claimed, and {} holds {} bytes of code for it; the same file in the reference build {} holds {} for {}",
        target, theirs.file, code.code_bytes, theirs.build, theirs.code.code_bytes, theirs.sm);
  return std::nullopt;
}

Answer matches_reference_build(const Facts& facts) {
  const ReferenceBuild& reference = *facts.report.reference;
  const File* file = file_named(*facts.inventory, kLibtorchCuda);
  if (file == nullptr || file->problem || !file->device_code) return {};  // PB101, PB331
  if (first_false_entry(*file->device_code) != nullptr || !claimed_sm_is_shipped(facts)) return {};
  if (reference.code.empty())
    return {.seen = {},
            .unknown =
                Seen{.what = say("this release of pbprobe has no table of the device code of a reference build of {}",
                                 facts.torch),
                     .remedy = "name a generic build of that version with --baseline LIBTORCH, or a table of reference "
                               "builds with --reference FILE"}};
  Answer answer;
  for (const Target* target : facts.claimed_gpus) {
    const Sm chip = get_target_sm(*target).value_or(Sm{});
    const ReferenceCode code = count_reference_code(*file->device_code, chip);
    if (code.units == 0 || code.kernels == 0) continue;  // PB314, PB332
    const std::string& sm = *comparable(reference.code, chip);
    auto fault = compare_to_reference(code, {kLibtorchCuda, reference.build, sm, reference.code.at(sm)}, target->id);
    if (fault) answer.seen.push_back({std::move(*fault), file->path});
  }
  return answer;
}

// A static MAGMA multiplies the kernels of libtorch_cuda_linalg.so, and each MAGMA version has other kernels.
bool has_the_same_linked_in(const File& file, const ReferenceFile& row) {
  const auto versions = file.links ? file.links->versions : std::map<std::string, std::string>();
  return std::includes(versions.begin(), versions.end(), row.linked.begin(), row.linked.end());
}

// torch's libraries register their contents through symbols of torch. A library without such symbols does nothing.
bool takes_nothing_of_torch(const File& file) {
  return file.links && file.links->torch_symbols.cxx + file.links->torch_symbols.stable == 0;
}

Answer other_files_hold_what_theirs_hold(const Facts& facts) {
  const ReferenceBuild& build = *facts.report.reference;
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    const auto row = build.files.find(std::string(base_name(file.path)));
    if (row == build.files.end() || row->second.code.empty() || !is_own(*facts.inventory, file) || file.problem)
      continue;
    if (takes_nothing_of_torch(file))
      answer.seen.push_back(
          {say("{} uses no symbol of torch, and so registers nothing with torch: the library is a stub", row->first),
           file.path});
    if (!has_the_same_linked_in(file, row->second)) continue;
    for (const Target* target : facts.claimed_gpus) {
      const Sm chip = get_target_sm(*target).value_or(Sm{});
      const ReferenceCode code = file.device_code ? count_reference_code(*file.device_code, chip) : ReferenceCode{};
      if (file.device_code && (code.units == 0 || code.kernels == 0)) continue;  // PB314, PB332
      const std::string& sm = *comparable(row->second.code, chip);
      auto fault = compare_to_reference(code, {row->first, build.build, sm, row->second.code.at(sm)}, target->id);
      if (fault) answer.seen.push_back({std::move(*fault), file.path});
    }
  }
  return answer;
}

Answer has_the_baselines_kernels(const Facts& facts) {
  Answer answer;
  const auto& missing = facts.report.baseline->missing_kernels;
  if (!missing) return answer;
  for (const auto& row : *missing) {
    if (row.kernels == 0 || static_cast<double>(row.missing) <= kMostMissing * static_cast<double>(row.kernels))
      continue;
    std::vector<std::string> first;
    for (const auto& name : row.first) first.push_back(kernel_name(name));
    answer.seen.push_back({say("{} of the {} kernels that the baseline has for {} are missing for {}: {}", row.missing,
                               row.kernels, row.baseline_sm, row.sm, fmt::join(first, ", "))});
  }
  return answer;
}

}  // namespace

std::vector<Check> reference_checks() {
  using enum Need;
  return {
      {.id = "PB333",
       .needs = {gpu_claim, inventory, whole, reference},
       .proves = ClaimPart::sm,
       .remedy = "look for sources of that file that were not compiled; if that is intended, give a build of the same "
                 "switches by --baseline, or waive it",
       .ask = other_files_hold_what_theirs_hold},
      {.id = "PB335",
       .needs = {gpu_claim, inventory, whole, reference},
       .decides = true,
       .proves = ClaimPart::sm,
       .remedy = "look for sources of torch that were not compiled, or a USE_ switch that is off; if that is intended, "
                 "give a build of the same switches by --baseline, or waive it",
       .ask = matches_reference_build},
      {.id = "PB336",
       .needs = {gpu_claim, inventory, whole, baseline},
       .remedy = "look for sources of torch that were not compiled, or a USE_ switch that is off",
       .ask = has_the_baselines_kernels},
  };
}

}  // namespace pbprobe
