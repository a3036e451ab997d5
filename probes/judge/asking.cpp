// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/asking.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/libraries/package_rows.hpp"

namespace pbprobe {
namespace {

// Omits checks of a machine if only files were judged or the build is for another processor, and checks that a single
// file cannot answer.
bool is_asked(const Check& check, const Facts& facts) {
  if (facts.other && !check.of_any) return false;
  if (facts.wrong_platform && compares_with_machine(check)) return false;
  if (check.by_glibc && is_decided_by_glibc(facts)) return false;
  return std::ranges::all_of(check.needs, [&](Need need) {
    switch (need) {
      case Need::host:
      case Need::run: return !facts.files_only;
      case Need::whole: return !facts.single_file;
      case Need::gpu_claim: return has_subject(need, facts) && tells(facts, ClaimPart::sm);
      case Need::cpu_claim: return has_subject(need, facts) && tells(facts, ClaimPart::isa);
      default: return has_subject(need, facts);
    }
  });
}

// Returns why a needed fact is missing, in the words of the step that failed; nullopt if the fact exists.
std::optional<Seen> missing(Need need, const Facts& facts) {
  switch (need) {
    case Need::host:
      if (facts.host != nullptr) return std::nullopt;
      return Seen{.what = "pbprobe did not inspect this machine", .remedy = "run `pbprobe report` on this machine"};
    case Need::inventory: {
      if (facts.inventory != nullptr) return std::nullopt;
      const auto& problems = facts.report.problems;
      return Seen{.what = problems.empty() ? "no torch was read" : problems.front(),
                  .remedy = "activate an environment that has a torch, or name it: `pbprobe report SITE_PACKAGES`"};
    }
    case Need::run:
      if (facts.run != nullptr) return std::nullopt;
      return Seen{
          .what = facts.torch + " was not started",
          .remedy = is_record(facts.report)
                        ? "run `pbprobe report` on that machine"
                        : "run `pbprobe report` on an installed torch, with a larger --budget if you gave one: pbprobe "
                          "only reads the files of a wheel"};
    default: return std::nullopt;  // is_asked() covers other needs
  }
}

bool was_emulated(const Report& report) {
  return report.emulated_loads && std::any_of(report.emulated_loads->begin(), report.emulated_loads->end(),
                                              [](const auto& load) { return load.outcome != LoadOutcome::unknown; });
}

std::optional<Seen> first_missing(const Check& check, const Facts& facts) {
  for (const Need need : check.needs) {
    if (auto seen = missing(need, facts)) return seen;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Asked> run_checks(const Facts& facts, const std::optional<std::set<std::string>>& ids) {
  std::vector<Asked> checks;
  for (const auto& check : all_checks()) {
    if (ids && !ids->contains(std::string(check.id))) continue;
    Asked& asked = checks.emplace_back();
    asked.check = &check;
    asked.asked = is_asked(check, facts);
    if (!asked.asked) continue;
    if (auto needed = first_missing(check, facts)) {
      asked.answer.unknown = std::move(needed);
    } else {
      asked.answer = check.ask(facts);
      for (auto& seen : seen_in_rows(check, facts.report)) asked.answer.seen.push_back(std::move(seen));
    }
  }
  return checks;
}

bool compares_with_machine(const Check& check) {
  const auto has_any = [&](std::initializer_list<Need> list) {
    return std::ranges::any_of(list, [&](Need need) { return needs(check, need); });
  };
  if (check.of_processor) return false;
  if (check.searches_system || has_any({Need::run, Need::preflight, Need::imports, Need::operators})) return true;
  return needs(check, Need::host) && has_any({Need::inventory, Need::rows});
}

bool is_decided_by_glibc(const Facts& facts) {
  if (facts.host == nullptr || facts.inventory == nullptr || facts.wrong_platform) return false;
  const auto& layout = facts.inventory->layout;
  return layout != "nix" && layout != "debian" && parse_major_minor(facts.host->glibc.value_or(""));
}

bool has_subject(Need need, const Facts& facts) {
  const Claim* claim = facts.claim;
  const Inventory* inventory = facts.inventory;
  switch (need) {
    case Need::claim: return claim != nullptr;
    case Need::gpu_claim: return !facts.claimed_gpus.empty();
    case Need::cpu_claim: return !facts.claimed_cpus.empty();
    case Need::torch_claim: return claim != nullptr && claim->torch.has_value();
    case Need::cuda_claim: return claim != nullptr && claim->cuda.has_value();
    case Need::python_claim: return claim != nullptr && claim->python.has_value();
    case Need::blas_claim: return claim != nullptr && claim->blas.has_value();
    case Need::file_claim: return claim != nullptr && (claim->files || claim->ignored);
    case Need::wheel_variant: return inventory != nullptr && inventory->variant.has_value();
    case Need::baseline: return facts.report.baseline.has_value();
    case Need::reference: return facts.report.reference.has_value();
    case Need::record: return inventory != nullptr && (inventory->faults || inventory->recorded);
    case Need::environment:
      return (inventory != nullptr && (inventory->loading || inventory->torch_beside)) || facts.report.environment;
    case Need::processors:
      return (inventory != nullptr && (inventory->loading || inventory->other_processor)) || facts.report.environment;
    case Need::rows: return facts.report.environment.has_value();
    case Need::other: return facts.other;
    case Need::preflight: return facts.report.preflight.has_value();
    case Need::operators: return facts.report.operators.has_value();
    case Need::imports: return facts.report.imports.has_value();
    case Need::emulated: return was_emulated(facts.report);
    case Need::cuda_build: return inventory == nullptr || facts.cuda_build;
    case Need::package: return inventory == nullptr || inventory->wheel_tags || inventory->required_versions;
    case Need::store: return inventory == nullptr || inventory->store_closure.has_value();
    case Need::host:
    case Need::inventory:
    case Need::whole:
    case Need::run: return true;
  }
  return true;
}

std::string why_not_asked(const Check& check, const Facts& facts) {
  if (facts.wrong_platform && compares_with_machine(check))
    return "the build is for another processor architecture than this machine has";
  if (check.by_glibc && is_decided_by_glibc(facts)) return "the version of this machine's glibc decides";
  if (needs(check, Need::emulated) && facts.report.emulated_loads && !facts.report.emulated_loads->empty())
    return "the load was not emulated: " + facts.report.emulated_loads->front().what;
  if (needs(check, Need::baseline)) return "no baseline was given: --baseline LIBTORCH";
  if (needs(check, Need::rows)) return "the packages beside the artifact were not audited";
  if (needs(check, Need::preflight))
    return "pbprobe did not search for the compilers that torch.compile and Triton start";
  if (needs(check, Need::imports))
    return facts.claim == nullptr ? "only `pbprobe report --full` imports the package"
                                  : "the package is not installed, no interpreter fits it, or --no-import was given";
  if (needs(check, Need::reference) && !has_subject(Need::reference, facts))
    return "only `pbprobe gate` compares with a reference build";
  if (needs(check, Need::record)) return "the package has no RECORD, or no gate compared its files with RECORD";
  if (facts.files_only && (needs(check, Need::host) || needs(check, Need::run)))
    return "only files were read: no machine was inspected";
  for (const auto& [need, why] : {std::pair(Need::cuda_build, "the artifact is not a CUDA build"),
                                  {Need::package, "no package metadata belongs to the artifact"},
                                  {Need::store, "the artifact is not in a Nix store"}}) {
    if (needs(check, need) && !has_subject(need, facts)) return why;
  }
  if (facts.other && !check.of_any) return "the artifact is another package than torch";
  if (facts.single_file && needs(check, Need::whole)) return "a single file cannot answer this check";
  return "the claim does not contain what this check compares";
}

std::optional<Seen> unjudged_claim(const Facts& facts) {
  for (const Need need : {Need::gpu_claim, Need::cpu_claim}) {
    const auto& targets = need == Need::gpu_claim ? facts.claimed_gpus : facts.claimed_cpus;
    if (targets.empty() || asks(need)) continue;
    return Seen{.what = "the claim of " + targets.front()->id + " is not judged by this version",
                .remedy = "leave " + targets.front()->id + " out of the claim"};
  }
  if (!facts.files_only || !facts.single_file || facts.claim == nullptr) return std::nullopt;
  const ClaimParts parts = claim_parts(facts);
  if (!parts.known.empty() || parts.unknown.empty()) return std::nullopt;
  return Seen{.what = fmt::format("{} by itself does not tell what is claimed: {}", facts.torch,
                                  fmt::join(parts.unknown, ", ")),
              .remedy = "audit the whole package, or the file that the claim is about"};
}

}  // namespace pbprobe
