// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/judge.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"
#include "probes/judge/rows.hpp"

namespace pbprobe {
namespace {

struct Judgement {
  std::vector<Asked> checks;
  std::vector<Finding> findings;
  std::vector<std::string> unanswered;  // ids
  std::optional<Seen> unknown;          // the first deciding question without an answer
};

// How files run is not asked where no machine was looked at, nor of one file what it cannot tell.
bool is_asked(const Check& check, const Facts& facts) {
  return std::all_of(check.needs.begin(), check.needs.end(), [&](Need need) {
    switch (need) {
      case Need::host:
      case Need::run: return !facts.files_only;
      case Need::whole: return !facts.single_file;
      case Need::gpu_claim: return has_subject(need, facts) && tells(facts, Told::sm);
      case Need::cpu_claim: return has_subject(need, facts) && tells(facts, Told::isa);
      default: return has_subject(need, facts);
    }
  });
}

// Why a needed fact is missing, in the words of the step that could not get it.
std::optional<Seen> missing(Need need, const Facts& facts) {
  switch (need) {
    case Need::host:
      if (facts.host != nullptr) return std::nullopt;
      return Seen{.what = "this machine was not looked at", .remedy = "run `pbprobe report` on it"};
    case Need::inventory: {
      if (facts.inventory != nullptr) return std::nullopt;
      const auto& problems = facts.report.problems;
      return Seen{.what = problems.empty() ? "no torch was read" : problems.front(),
                  .remedy = "activate an environment that has a torch, or name it: `pbprobe report SITE_PACKAGES`"};
    }
    case Need::run:
      if (facts.run != nullptr) return std::nullopt;
      return Seen{.what = facts.torch + " was not started",
                  .remedy = "run `pbprobe report` on an installed torch: what lies in a wheel is only read"};
    default: return std::nullopt;  // else it is not asked
  }
}

std::optional<Seen> first_missing(const Check& check, const Facts& facts) {
  for (const Need need : check.needs) {
    if (auto seen = missing(need, facts)) return seen;
  }
  return std::nullopt;
}

std::vector<Asked> ask_each(const Facts& facts) {
  std::vector<Asked> checks;
  for (const auto& check : all_checks()) {
    Asked& asked = checks.emplace_back();
    asked.check = &check;
    asked.asked = is_asked(check, facts);
    if (!asked.asked) continue;
    if (auto seen = first_missing(check, facts)) {
      asked.answer.unknown = std::move(seen);
    } else {
      asked.answer = check.ask(facts);
    }
  }
  return checks;
}

Judgement ask_all(const Facts& facts) {
  Judgement judgement{.checks = ask_each(facts)};
  for (const auto& [check, asked, answer] : judgement.checks) {
    for (const auto& seen : answer.seen) judgement.findings.push_back(finding_of(*check, seen));
    if (answer.unknown) judgement.unanswered.emplace_back(check->id);
    if (answer.unknown && check->decides && !judgement.unknown) {
      judgement.unknown = answer.unknown;
      if (!judgement.unknown->remedy) judgement.unknown->remedy = std::string(check->remedy);
    }
  }
  std::stable_sort(judgement.findings.begin(), judgement.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return judgement;
}

// A claimed target that no check asks about has no verdict.
std::optional<Seen> unjudged_claim(const Facts& facts) {
  for (const Need need : {Need::gpu_claim, Need::cpu_claim}) {
    const auto& targets = need == Need::gpu_claim ? facts.claimed_gpus : facts.claimed_cpus;
    if (targets.empty() || asks(need)) continue;
    return Seen{.what = "the claim of " + targets.front()->id + " is not judged by this version",
                .remedy = "leave " + targets.front()->id + " out of the claim"};
  }
  return std::nullopt;
}

// One file of which nothing that is claimed can be told.
std::optional<Seen> untold_claim(const Facts& facts) {
  if (!facts.files_only || !facts.single_file || facts.claim == nullptr) return std::nullopt;
  const ClaimParts parts = claim_parts(facts);
  if (!parts.told.empty() || parts.untold.empty()) return std::nullopt;
  return Seen{
      .what = fmt::format("{} alone does not tell what is claimed: {}", facts.torch, fmt::join(parts.untold, ", ")),
      .remedy = "audit the whole package, or the file that it is about"};
}

void decide(Verdict& verdict, const Judgement& judgement, const Facts& facts) {
  const auto* first = verdict.findings.empty() ? nullptr : &verdict.findings.front();
  if (first != nullptr && first->severity == Severity::fail) {
    verdict.outcome = Outcome::fail;
    verdict.reason = first->what;
    verdict.fix = first->remedy;
  } else if (judgement.unknown) {
    verdict.outcome = Outcome::unknown;
    verdict.reason = judgement.unknown->what;
    verdict.fix = judgement.unknown->remedy;
  } else {
    verdict.outcome = Outcome::pass;
    verdict.reason = facts.files_only ? what_files_hold(facts) : what_runs(facts);
    if (first != nullptr && first->severity == Severity::warn) verdict.fix = first->remedy;
  }
}

}  // namespace

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
    case Need::baseline: return facts.report.baseline.has_value();
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

Finding finding_of(const Check& check, const Seen& seen) {
  return {.id = std::string(check.id),
          .subject = check.subject,
          .severity = check.severity,
          .level = check.level,
          .what = seen.what,
          .where = seen.where,
          .remedy = seen.remedy.value_or(std::string(check.remedy))};
}

Judged judge_in_full(const Report& report) {
  const Facts facts = derive_facts(report);
  Judgement judgement = ask_all(facts);
  if (auto claim = untold_claim(facts)) judgement.unknown = std::move(claim);
  if (auto claim = unjudged_claim(facts)) judgement.unknown = std::move(claim);
  Verdict verdict{.gpus = facts.gpus};
  if (facts.files_only) verdict.holdings = holdings_of(facts);
  if (facts.host != nullptr) verdict.cpu_targets = facts.host->cpu.targets;
  verdict.findings = std::move(judgement.findings);
  verdict.claims = claim_rows(facts, verdict.findings, judgement.unanswered);
  decide(verdict, judgement, facts);
  return {.checks = std::move(judgement.checks), .verdict = std::move(verdict)};
}

Verdict judge(const Report& report) {
  return judge_in_full(report).verdict;
}

}  // namespace pbprobe
