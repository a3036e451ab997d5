// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/policy/waivers.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/strings.hpp"
#include "probes/judge/checks.hpp"

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
         std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view name) { return component.starts_with(name); });
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
      objection.what = fmt::format("the waiver of {} ended on {}", which, waiver.until);
      objection.remedy = "fix what it let through, or decide on it again";
      break;
    case WaiverState::unused:
      objection.what = fmt::format("the waiver of {} lets nothing through", which);
      objection.remedy = "leave it out of the policy";
      break;
    case WaiverState::too_broad:
      objection.what = fmt::format("the waiver of {} lets more through than one finding in one place", which);
      objection.remedy = "name one check and the file that its finding names";
      break;
    case WaiverState::forbidden:
      objection.what = fmt::format(
          "the waiver of {} is void: what could not be read of torch may hide anything, so nothing lets it through",
          which);
      objection.remedy = "fix or leave out the file, and take the waiver out of the policy";
      break;
  }
  return objection;
}

}  // namespace pbprobe
