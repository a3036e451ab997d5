// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "probes/judge/judge.hpp"
#include "probes/judge/rows.hpp"
#include "probes/judge/waivers.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kSm = "SM";
constexpr std::string_view kIsa = "ISA";

// What each claimed thing must be proved to; null: it is not claimed.
struct Wanted {
  std::optional<Level> sm, isa, torch, cuda, python, blas;

  [[nodiscard]] std::optional<Level> highest() const {
    std::optional<Level> most;
    for (const auto& level : {sm, isa, torch, cuda, python, blas}) {
      if (level && (!most || *level > *most)) most = level;
    }
    return most;
  }
  [[nodiscard]] Level of(std::string_view row) const {
    for (const auto& [name, level] :
         {std::pair(kSm, sm), {kIsa, isa}, {"torch", torch}, {"CUDA", cuda}, {"Python", python}, {"BLAS", blas}}) {
      if (name == row && level) return *level;
    }
    return Level::measured;  // a row that is not known here is not passed by
  }
};

Wanted wanted_of(const GateTerms& terms, const Claim& claim) {
  const RequiredLevels& levels = terms.policy.levels;
  Wanted wanted;
  for (const auto& id : claim.targets) {
    const Target* target = find_target(id);
    const bool is_sm = target != nullptr && target->kind == TargetKind::gpu;
    (is_sm ? wanted.sm : wanted.isa) = terms.require.value_or(is_sm ? levels.sm : levels.isa);
  }
  if (claim.torch) wanted.torch = levels.torch;
  if (claim.cuda) wanted.cuda = levels.cuda;
  if (claim.python) wanted.python = levels.python;
  if (claim.blas) wanted.blas = levels.blas;
  return wanted;
}

Severity severity_of(const Check& check, const Policy& policy) {
  if (check.integrity) return Severity::fail;
  const auto given = policy.severity.find(std::string(check.id));
  return given == policy.severity.end() ? check.severity : given->second.severity;
}

// Checks of a GPU or a CPU are required as far as an SM or an ISA must be proved; the others as far as anything must.
std::optional<Level> level_for(const Check& check, const Wanted& wanted) {
  switch (check.subject) {
    case Subject::gpu: return wanted.sm;
    case Subject::cpu: return wanted.isa;
    default: return wanted.highest();
  }
}

bool is_required(const Check& check, const Facts& facts, const Wanted& wanted, Severity severity) {
  if (severity != Severity::fail && !check.decides) return false;
  const auto without = [&](Need need) { return need != Need::baseline && !has_subject(need, facts); };
  if (facts.claim != nullptr && std::any_of(check.needs.begin(), check.needs.end(), without)) return false;
  const auto level = level_for(check, wanted);
  if (!level) return false;
  if (needs(check, Need::baseline)) return check.level <= *level && check.level == Level::measured;
  if (needs(check, Need::host) || needs(check, Need::run)) return *level >= Level::loaded && check.level <= *level;
  return check.level <= std::max(*level, Level::shipped);
}

std::string why_not_asked(const Check& check, const Facts& facts) {
  if (needs(check, Need::baseline)) return "no baseline was given: --baseline LIBTORCH";
  if (facts.files_only && (needs(check, Need::host) || needs(check, Need::run))) return "no machine was looked at";
  for (const auto& [need, why] : {std::pair(Need::cuda_build, "it is no CUDA build"),
                                  {Need::package, "no package tells of it"},
                                  {Need::store, "it is in no Nix store"}}) {
    if (needs(check, need) && !has_subject(need, facts)) return why;
  }
  if (facts.single_file && needs(check, Need::whole)) return "one file alone does not tell";
  return "nothing of the kind is claimed";
}

class Gatekeeper {
 public:
  Gatekeeper(const Report& report, const GateTerms& terms)
      : report_(report), facts_(derive_facts(report)), judged_(judge_in_full(report)) {
    gate_.policy = terms.policy;
    gate_.require = terms.require;
    gate_.date = terms.date;
    if (report.claim) wanted_ = wanted_of(terms, *report.claim);
  }

  Gate run() {
    look_at_steps();
    look_at_checks();
    look_at_waivers();
    look_at_claims();
    decide();
    return std::move(gate_);
  }

 private:
  void object(Objection objection) { gate_.objections.push_back(std::move(objection)); }

  // What could not run is no pass, whatever the checks say.
  void look_at_steps() {
    const auto refuse = [&](const std::string& what, const char* remedy) {
      object({.id = "run", .outcome = Outcome::unknown, .what = what, .where = std::nullopt, .remedy = remedy});
    };
    for (const auto& problem : report_.problems) refuse(problem, "mend what the sentence names, and run it again");
    if (!report_.inventory) refuse("no artifact was read", "name what was built: pbprobe gate ARTIFACT --claim …");
    if (!report_.claim || !wanted_.highest())
      refuse("nothing is claimed", "say what it is to deliver: --claim NAME, or a list as `pbprobe gate --help` shows");
    if (facts_.run != nullptr && facts_.run->problem)
      refuse(*facts_.run->problem, "mend what the sentence names, and run it again");
  }

  void look_at_checks() {
    for (const auto& [check, asked, answer] : judged_.checks) {
      GateCheck& row = gate_.checks.emplace_back(GateCheck{.id = std::string(check->id),
                                                           .level = check->level,
                                                           .severity = severity_of(*check, gate_.policy),
                                                           .asks = std::string(check->question)});
      row.required = is_required(*check, facts_, wanted_, row.severity);
      if (!asked) {
        row.why = why_not_asked(*check, facts_);
      } else if (answer.unknown) {
        row.state = CheckState::unanswered;
        row.why = answer.unknown->what;
      } else {
        row.state = answer.seen.empty() ? CheckState::passed : CheckState::found;
      }
      for (const auto& seen : answer.seen) {
        Finding finding = finding_of(*check, seen);
        finding.severity = row.severity;
        gate_.findings.push_back({.finding = std::move(finding)});
      }
      const bool answered = row.state == CheckState::passed || row.state == CheckState::found;
      if (row.required && !answered)
        object({.id = row.id,
                .outcome = Outcome::unknown,
                .what = fmt::format("not answered: {} {}", row.asks, row.why.value_or("")),
                .where = std::nullopt,
                .remedy = answer.unknown && answer.unknown->remedy ? answer.unknown->remedy
                                                                   : std::optional(std::string(check->remedy))});
    }
    std::stable_sort(gate_.findings.begin(), gate_.findings.end(), [](const GateFinding& a, const GateFinding& b) {
      return a.finding.severity < b.finding.severity;
    });
  }

  void look_at_waivers() {
    gate_.waivers = apply_waivers(gate_.policy.waive, gate_.date, gate_.findings);
    for (const auto& [finding, waived] : gate_.findings) {
      if (waived || finding.severity != Severity::fail) continue;
      object({.id = finding.id,
              .outcome = finding.subject == Subject::reading ? Outcome::unknown : Outcome::fail,
              .what = finding.what,
              .where = finding.where,
              .remedy = finding.remedy});
    }
    for (const auto& waiver : gate_.waivers) {
      if (waiver.state != WaiverState::used) object(objection_to(waiver));
    }
  }

  // The rows as the policy sees the findings: what is waived is no fault of theirs.
  std::vector<ClaimRow> rows() const {
    std::vector<Finding> findings;
    for (const auto& [finding, waived] : gate_.findings) {
      if (!waived) findings.push_back(finding);
    }
    std::vector<std::string> unanswered;
    for (const auto& check : gate_.checks) {
      const bool counts = check.required || check.severity == Severity::fail;
      if (counts && check.state == CheckState::unanswered) unanswered.push_back(check.id);
    }
    return claim_rows(facts_, findings, unanswered);
  }

  void look_at_claims() {
    for (const auto& row : rows()) {
      if (!row.claimed) continue;  // of the machine, and claimed by nobody
      GateClaim claim{.claim = row.claim,
                      .claimed = *row.claimed,
                      .required = wanted_.of(row.claim),
                      .proven = Level::claimed,
                      .outcome = Outcome::pass,
                      .detail = row.detail};
      const std::pair<Level, std::optional<Outcome>> levels[] = {{Level::shipped, row.shipped},
                                                                 {Level::loaded, row.loaded},
                                                                 {Level::executed, row.executed},
                                                                 {Level::measured, row.measured}};
      bool all = true;
      for (const auto& [level, outcome] : levels) {
        all = all && outcome == Outcome::pass;
        if (all) claim.proven = level;
        if (level > claim.required || outcome == Outcome::pass || claim.outcome == Outcome::fail) continue;
        claim.outcome = outcome.value_or(Outcome::unknown);
      }
      if (claim.outcome != Outcome::pass) object_to(claim);
      gate_.claims.push_back(std::move(claim));
    }
  }

  void object_to(const GateClaim& claim) {
    // Where the files lack it already, what ran says nothing about it.
    const bool unshipped = claim.outcome == Outcome::fail && claim.proven == Level::claimed;
    const std::string detail = claim.detail.empty() || unshipped ? "" : ": " + claim.detail;
    const char* const seen = unshipped                        ? "its files do not ship it"
                             : claim.outcome == Outcome::fail ? "is not"
                                                              : "that was not proved";
    object({.id = "claim",
            .outcome = claim.outcome,
            .what = fmt::format("{} {} must be {}, and {}{}", claim.claim, claim.claimed, name_of(claim.required), seen,
                                detail),
            .where = std::nullopt,
            .remedy = claim.outcome == Outcome::fail
                          ? "mend what the checks name"
                          : "run it on a machine that can prove it, or ask for less: --require shipped"});
  }

  void decide() {
    auto& objections = gate_.objections;
    std::stable_sort(objections.begin(), objections.end(), [](const Objection& a, const Objection& b) {
      return (a.outcome == Outcome::fail) > (b.outcome == Outcome::fail);
    });
    gate_.complete = std::none_of(objections.begin(), objections.end(),
                                  [](const Objection& objection) { return objection.outcome == Outcome::unknown; });
    if (objections.empty()) {
      gate_.outcome = Outcome::pass;
      gate_.reason = fmt::format("{} delivers what \"{}\" claims, proved as far as the policy \"{}\" requires",
                                 facts_.torch, report_.claim->text, gate_.policy.name);
      return;
    }
    gate_.outcome = objections.front().outcome;
    gate_.reason = objections.front().what;
    gate_.fix = objections.front().remedy;
  }

  const Report& report_;
  Facts facts_;
  Judged judged_;
  Wanted wanted_;
  Gate gate_;
};

}  // namespace

Level highest_level(const GateTerms& terms, const Claim& claim) {
  return wanted_of(terms, claim).highest().value_or(Level::shipped);
}

Gate pass_gate(const Report& facts, const GateTerms& terms) {
  return Gatekeeper(facts, terms).run();
}

}  // namespace pbprobe
