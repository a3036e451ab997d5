// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/policy/demands.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/strings.hpp"
#include "probes/judge/asking.hpp"

namespace pbprobe {
namespace {

// Accepts "PB316"; rejects "PB3*".
bool names_one_check(const std::string& id) {
  return id.size() == 5 && id.starts_with("PB") && std::all_of(id.begin() + 2, id.end(), is_digit);
}

// Rejects folders and patterns.
bool names_one_place(const std::string& component) {
  return !component.empty() && !component.ends_with('/') && component.find_first_of("*?[") == std::string::npos;
}

// Reports whether `where` is in `component`: "torch/lib/libtorch_cpu.so .text" is in "torch/lib/libtorch_cpu.so".
bool is_there(const std::string& component, const std::string& where) {
  return where == component || where.starts_with(component + " ");
}

// Reports whether a build of torch ships the file. Policies may waive files of other packages by name.
bool is_torch_component(const std::string& component) {
  constexpr std::array<std::string_view, 5> kFolders{"torch/", "torch.libs/", "functorch/", "lib/", "usr/"};
  return component.find('/') == std::string::npos ||
         std::ranges::any_of(kFolders, [&](std::string_view name) { return component.starts_with(name); });
}

bool is_forbidden(const Waiver& waiver) {
  const Check* check = find_check(waiver.id);
  if (check == nullptr || !check->integrity) return false;
  return check->severity == Severity::fail || !waiver.component || is_torch_component(*waiver.component);
}

WaiverState apply(const Waiver& waiver, const std::string& date, std::vector<Finding>& findings) {
  if (!names_one_check(waiver.id) || (waiver.component && !names_one_place(*waiver.component)))
    return WaiverState::too_broad;
  if (is_forbidden(waiver)) return WaiverState::forbidden;
  std::vector<Finding*> covered;
  for (auto& found : findings) {
    const auto& where = found.where;
    if (found.id != waiver.id) continue;
    if (!waiver.component && where) return WaiverState::too_broad;
    if (waiver.component ? where && is_there(*waiver.component, *where) : !where) covered.push_back(&found);
  }
  if (covered.empty()) return WaiverState::unused;
  if (waiver.until < date) return WaiverState::expired;
  for (Finding* found : covered) found->waived = waiver.reason;
  return WaiverState::used;
}

}  // namespace

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
  if (facts.claim != nullptr && std::ranges::any_of(check.needs, without)) return false;
  const auto level = get_check_level(check);
  if (!level) return false;
  if (needs(check, Need::baseline)) return check.level <= *level && check.level == Level::measured;
  if (needs(check, Need::host) || needs(check, Need::run)) return *level >= Level::loaded && check.level <= *level;
  return check.level <= std::max(*level, Level::shipped);
}

std::vector<WaiverUse> apply_waivers(const std::vector<Waiver>& waivers, const std::string& date,
                                     std::vector<Finding>& findings) {
  std::vector<WaiverUse> applied;
  for (const auto& waiver : waivers) applied.push_back({.waiver = waiver, .state = apply(waiver, date, findings)});
  return applied;
}

Objection make_waiver_objection(const WaiverUse& given) {
  const auto& [waiver, state] = given;
  const std::string which = waiver.id + (waiver.component ? " in " + *waiver.component : "");
  Objection objection{.id = "waiver", .outcome = Outcome::fail, .where = waiver.component};
  switch (state) {
    case WaiverState::used: break;
    case WaiverState::expired:
      objection.what = fmt::format("the policy's waiver of {} ended on {}", which, waiver.until);
      objection.remedy = "fix the finding that the waiver let through, or give the waiver a later date";
      break;
    case WaiverState::unused:
      objection.what = fmt::format("the waiver of {} lets nothing through", which);
      objection.remedy = "remove the waiver from the policy";
      break;
    case WaiverState::too_broad:
      objection.what = fmt::format("the waiver of {} lets more through than one finding in one place", which);
      objection.remedy = "write the waiver for one check, and for the file that its finding names";
      break;
    case WaiverState::forbidden:
      objection.what = fmt::format(
          "the policy's waiver of {} is void: a part of torch that could not be read may hide anything, so no waiver "
          "lets it through",
          which);
      objection.remedy =
          "repair the unreadable file or leave it out of the build, and remove the waiver from the policy";
      break;
  }
  return objection;
}

}  // namespace pbprobe
