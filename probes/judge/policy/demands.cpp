// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/policy/demands.hpp"

#include <algorithm>

#include "probes/judge/asking.hpp"

namespace pbprobe {

Demands::Demands(const Terms& terms, const Claim* claim) : policy_(&terms.policy) {
  if (claim == nullptr) return;
  const RequiredLevels& levels = terms.policy.levels;
  for (const auto& id : claim->targets) {
    const Target* target = find_target(id);
    const bool is_sm = target != nullptr && target->kind == TargetKind::gpu;
    (is_sm ? sm_ : isa_) = terms.require.value_or(is_sm ? levels.sm : levels.isa);
  }
  if (claim->torch) torch_ = levels.torch;
  if (claim->cuda) cuda_ = levels.cuda;
  if (claim->python) python_ = levels.python;
  if (claim->blas) blas_ = levels.blas;
  if (claim->files) files_ = Level::shipped;
}

std::optional<Level> Demands::highest() const {
  std::optional<Level> most;
  for (const auto& level : {sm_, isa_, torch_, cuda_, python_, blas_, files_}) {
    if (level && (!most || *level > *most)) most = level;
  }
  return most;
}

Level Demands::get_row_level(std::string_view name) const {
  for (const auto& [row, level] : {std::pair("SM", sm_),
                                   {"ISA", isa_},
                                   {"torch", torch_},
                                   {"CUDA", cuda_},
                                   {"Python", python_},
                                   {"BLAS", blas_},
                                   {"files", files_}}) {
    if (row == name && level) return *level;
  }
  return Level::measured;  // an unknown row must not pass by mistake
}

// Returns the level of the claimed SM for GPU checks, of the claimed ISA for CPU checks, else the highest level.
std::optional<Level> Demands::get_check_level(const Check& check) const {
  switch (check.subject) {
    case Subject::gpu: return sm_;
    case Subject::cpu: return isa_;
    default: return highest();
  }
}

Severity Demands::get_severity(const Check& check) const {
  if (strict() && check.integrity) return Severity::fail;
  const auto given = policy_->severity.find(std::string(check.id));
  return given == policy_->severity.end() ? check.severity : given->second.severity;
}

bool Demands::requires_answer(const Check& check, const Facts& facts, bool asked) const {
  if (!strict()) return asked && check.decides;
  if (facts.other && !check.of_any) return false;
  if (get_severity(check) != Severity::fail && !check.decides) return false;
  if (check.by_glibc && is_decided_by_glibc(facts)) return false;          // the check of this glibc answers
  if (facts.wrong_platform && compares_with_machine(check)) return false;  // the check of the processor fails
  const auto without = [&](Need need) { return need != Need::baseline && !has_subject(need, facts); };
  if (facts.claim != nullptr && std::any_of(check.needs.begin(), check.needs.end(), without)) return false;
  const auto level = get_check_level(check);
  if (!level) return false;
  if (needs(check, Need::baseline)) return check.level <= *level && check.level == Level::measured;
  if (needs(check, Need::host) || needs(check, Need::run)) return *level >= Level::loaded && check.level <= *level;
  return check.level <= std::max(*level, Level::shipped);
}

}  // namespace pbprobe
