// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Whether a build holds as much device code as others of its version: public ones, or the baseline's kernels by name.
#include <algorithm>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/judge/device_code.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Of the reference's. Counts differ by 2 % between SMs of one build and by 1 % between releases of CUDA; the size of
// the code by a third between SMs.
constexpr double kLeastCounts = 0.8;
constexpr double kLeastBytes = 0.4;
constexpr double kMostMissing = 0.02;  // kernels that a change of compiler renames

ReferenceCode code_for(const DeviceCode& code, const Sm& chip) {
  const SmCensus census = census_for(code.census.value_or(Censuses{}), chip);
  return {.units = units_for(code, chip).with, .kernels = census.kernels, .code_bytes = census.code_bytes.value_or(0)};
}

// The same SM, else the nearest: of its own generation first, of those below before those above.
const std::string* comparable(const std::map<std::string, ReferenceCode>& code, const Sm& chip) {
  const std::string* best = nullptr;
  const auto distance = [&](const std::string& name) {
    const Sm sm = parse_sm(name).value_or(Sm{});
    const int64_t apart = number_of(chip) - number_of(sm);
    return std::tuple(sm.major != chip.major, apart < 0, std::llabs(apart));
  };
  for (const auto& [name, row] : code) {
    if (best == nullptr || distance(name) < distance(*best)) best = &name;
  }
  return best;
}

int64_t left_out_of(const Reference& reference, const std::string& sm) {
  int64_t kernels = 0;
  for (const auto& part : reference.left_out) {
    const auto row = reference.build.parts.find(part);
    if (row == reference.build.parts.end()) continue;
    if (const auto count = row->second.find(sm); count != row->second.end()) kernels += count->second;
  }
  return kernels;
}

bool too_few(int64_t count, int64_t of_reference, double least) {
  return static_cast<double>(count) < least * static_cast<double>(of_reference);
}

std::optional<Sentence> fault_of(const ReferenceCode& code, const Reference& reference, const std::string& sm,
                                 std::string_view target) {
  const ReferenceBuild& build = reference.build;
  const ReferenceCode& theirs = build.code.at(sm);
  const int64_t kernels = theirs.kernels - left_out_of(reference, sm);
  if (too_few(code.units, theirs.units, kLeastCounts))
    return say("{} is claimed, and {} holds {} translation units for it; that of {} holds {} for {}", target,
               kLibtorchCuda, code.units, build.build, theirs.units, sm);
  if (too_few(code.kernels, kernels, kLeastCounts))
    return say("{} is claimed, and {} holds {} kernels for it; that of {} holds {} for {}", target, kLibtorchCuda,
               code.kernels, build.build, kernels, sm);
  if (reference.left_out.empty() && too_few(code.code_bytes, theirs.code_bytes, kLeastBytes))
    return say("{} is claimed, and {} holds {} bytes of code for it; that of {} holds {} for {}", target, kLibtorchCuda,
               code.code_bytes, build.build, theirs.code_bytes, sm);
  return std::nullopt;
}

Answer holds_what_such_builds_hold(const Facts& facts) {
  const Reference& reference = *facts.report.reference;
  const File* file = file_named(*facts.inventory, kLibtorchCuda);
  if (file == nullptr || file->problem || !file->device_code) return {};  // other checks'
  if (first_false_entry(*file->device_code) != nullptr || !claimed_sm_is_shipped(facts)) return {};
  if (reference.build.code.empty())
    return {.seen = {},
            .unknown = Seen{.what = say("what a build of {} holds is not known to this release", facts.torch),
                            .remedy = "name a generic build of that version: --baseline LIBTORCH; or a table: "
                                      "--reference FILE"}};
  Answer answer;
  for (const Target* target : facts.claimed_gpus) {
    const Sm chip = chip_of(*target).value_or(Sm{});
    const ReferenceCode code = code_for(*file->device_code, chip);
    if (code.units == 0 || code.kernels == 0) continue;  // another check's
    const std::string* sm = comparable(reference.build.code, chip);
    auto fault = fault_of(code, reference, *sm, target->id);
    if (fault) answer.seen.push_back({std::move(*fault), file->path});
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
    answer.seen.push_back({say("{} of the {} kernels that the baseline has for {} are not there for {}: {}",
                               row.missing, row.kernels, row.baseline_sm, row.sm, fmt::join(first, ", "))});
  }
  return answer;
}

}  // namespace

std::vector<Check> reference_checks() {
  using enum Need;
  return {
      {.id = "PB335",
       .subject = Subject::gpu,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {gpu_claim, inventory, whole, reference},
       .decides = true,
       .proves = ClaimPart::sm,
       .question =
           "Does libtorch_cuda.so hold, for the claimed SM, about as many translation units and kernels as builds "
           "of that version do?",
       .remedy = "look for sources of torch that were not compiled, or a USE_ switch that is off; where that is meant, "
                 "give a build of the same switches by --baseline, or waive it",
       .ask = holds_what_such_builds_hold},
      {.id = "PB336",
       .subject = Subject::gpu,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {gpu_claim, inventory, whole, baseline},
       .question = "Has libtorch_cuda.so, for the claimed SM, the kernels that the baseline has?",
       .remedy = "look for sources of torch that were not compiled, or a USE_ switch that is off",
       .ask = has_the_baselines_kernels},
  };
}

}  // namespace pbprobe
