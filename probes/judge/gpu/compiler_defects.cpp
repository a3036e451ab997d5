// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Code of compilers with published defects (recipes/compilers.json), and whether the operators confirm them here.
#include "core/compiler_defects.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Reports whether a claimed SM or a GPU of the host has this capability.
bool is_relevant(const Facts& facts, const std::string& name) {
  const auto sm = parse_sm(name);
  if (!sm) return false;
  const auto matches = [&](const std::optional<Sm>& other) { return other && same_capability(*other, *sm); };
  return std::ranges::any_of(facts.claimed_gpus,
                             [&](const Target* target) { return matches(get_target_sm(*target)); }) ||
         std::ranges::any_of(facts.gpus, [&](const GpuOutcome& gpu) { return matches(parse_sm(gpu.capability)); });
}

bool affects(const CompilerDefect& defect, const std::string& name) {
  const auto sm = parse_sm(name);
  return std::ranges::any_of(defect.sms, [&](const std::string& other) {
    const auto affected = parse_sm(other);
    return sm && affected && same_capability(*sm, *affected);
  });
}

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::any_of(names, [&](const std::string& one) {
    return one == name || one.starts_with(name + " ");  // a variant of the operator
  });
}

// Returns what the comparison of operators on the GPU shows about the defect.
std::string describe_evidence(const Facts& facts, const CompilerDefect& defect) {
  if (defect.operators.empty()) return "no operator of torch is known to show this defect";
  const auto& runs = facts.report.operators;
  const auto run = runs ? std::find_if(runs->begin(), runs->end(), [](const auto& one) { return one.device == "cuda"; })
                        : std::vector<OperatorRun>::const_iterator();
  std::vector<std::string> right, wrong;
  for (const auto& name : defect.operators) {
    if (!runs || run == runs->end() || run->problem || is_listed(run->omitted, name)) continue;
    if (!run->only.empty() && !is_listed(run->only, name)) continue;
    const auto bad = std::ranges::any_of(run->results, [&](const OperatorResult& result) {
      return is_listed({result.name}, name) && result.state != OperatorState::not_run;
    });
    const bool repeats = !is_listed(run->not_repeated, name);
    (bad || !repeats ? wrong : right).push_back(name);
  }
  if (!wrong.empty()) return fmt::format("confirmed here by {}", fmt::join(wrong, ", "));
  if (!right.empty()) return fmt::format("not seen here: {} right", fmt::join(right, ", "));
  return "the affected operators were not compared on this machine: run `pbprobe report --operators`";
}

std::string describe_fix(const CompilerDefect& defect) {
  return defect.fixed ? "fixed in " + *defect.fixed : "no fix is known";
}

// Adds the cubins of one file that a defective ptxas made for a relevant SM.
void add_cubins(const Facts& facts, const File& file, const CompilerDefect& defect, Answer& answer) {
  for (const auto& [version, sms] : *file.device_code->assemblers) {
    if (!has_defect(defect, version)) continue;
    for (const auto& [sm, made] : sms) {
      if (!affects(defect, sm) || !is_relevant(facts, sm)) continue;
      answer.seen.push_back(
          {say("{}: {} {} ({} {}) for {} by ptxas {}, which {} ({}; {}); {}", base_name(file.path), made.cubins,
               select_by_number(made.cubins, "cubin", "cubins"), made.kernels,
               select_by_number(made.kernels, "kernel", "kernels"), sm, version, make_words(defect.symptom),
               defect.source, make_words(describe_fix(defect)), make_words(describe_evidence(facts, defect))),
           file.path});
    }
  }
}

// Triton calls ptxas-blackwell from 10.0 on, if its package has one.
bool is_called(const Facts& facts, const File& file, const std::string& sm) {
  const auto newer = [&] {
    const auto& files = facts.inventory->files;
    return std::ranges::any_of(
        files, [](const File& one) { return one.compiler && base_name(one.path) == "ptxas-blackwell"; });
  };
  const bool is_newer = base_name(file.path) == "ptxas-blackwell";
  return parse_sm(sm)->major >= 10 ? is_newer || !newer() : !is_newer;
}

void add_triton(const Facts& facts, const File& file, const CompilerDefect& defect, Answer& answer) {
  const std::string version = file.compiler->version.value_or("");
  if (version.empty() || !has_defect(defect, version)) return;
  for (const auto& sm : defect.sms) {
    if (!is_relevant(facts, sm) || !is_called(facts, file, sm)) continue;
    answer.seen.push_back({say("Triton compiles for {} with {} {}, which {} ({}; {}); {}", sm, base_name(file.path),
                               version, make_words(defect.symptom), defect.source, make_words(describe_fix(defect)),
                               make_words(describe_evidence(facts, defect))),
                           file.path});
  }
}

Answer compilers_have_no_defect(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    for (const auto& defect : all_compiler_defects()) {
      if (file.device_code && file.device_code->assemblers && defect.used_by == "nvcc")
        add_cubins(facts, file, defect, answer);
      if (file.compiler && file.component == "PTX compiler" && defect.used_by == "Triton")
        add_triton(facts, file, defect, answer);
    }
  }
  return answer;
}

}  // namespace

std::vector<Check> compiler_defects_checks() {
  return {{.id = "PB338",

           .severity = Severity::note,
           .needs = {Need::host, Need::inventory},
           .of_any = true,
           .remedy =
               "compare the operators (`pbprobe report --operators`); if one is wrong, build with a compiler that "
               "has the fix",
           .ask = compilers_have_no_defect}};
}

}  // namespace pbprobe
