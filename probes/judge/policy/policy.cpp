// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/policy/policy.hpp"

#include <algorithm>
#include <chrono>

#include "core/json.hpp"
#include "core/strings.hpp"
#include "probes/judge/checks.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kReport =
#include "policy_report.inc"
    ;
constexpr std::string_view kBuilder =
#include "policy_builder.inc"
    ;
constexpr std::string_view kHardware =
#include "policy_hardware.inc"
    ;

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\n") == std::string::npos;
}

// Reports whether `text` is an existing day in the form "2027-01-31".
bool is_date(const std::string& text) {
  const std::string_view form = "dddd-dd-dd";
  const bool formed = text.size() == form.size() &&
                      std::equal(text.begin(), text.end(), form.begin(),
                                 [](char c, char wanted) { return wanted == 'd' ? is_digit(c) : c == wanted; });
  if (!formed) return false;
  const auto number = [&](size_t at, size_t length) { return std::stoi(text.substr(at, length)); };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

Result<void> check_words(const Policy& policy) {
  if (policy.name.empty()) return make_error(ErrorCode::malformed, "name: it is empty: a verdict names its policy");
  for (const auto& [id, change] : policy.severity) {
    const Check* check = find_check(id);
    if (check == nullptr && !explain_retirement(id).empty()) continue;
    if (check == nullptr)
      return make_error(ErrorCode::malformed, "severity.{}: there is no such check: docs/checks.md lists them", id);
    if (is_blank(change.reason))
      return make_error(ErrorCode::malformed, "severity.{}.reason: it is empty: say why it counts as {}", id,
                        name_of(change.severity));
    if (check->integrity && change.severity != Severity::fail)
      return make_error(ErrorCode::malformed,
                        "severity.{}: the check protects the integrity of the verdict, so no policy makes it a {}: "
                        "leave this entry out",
                        id, name_of(change.severity));
  }
  for (size_t i = 0; i < policy.waive.size(); ++i) {
    const Waiver& waiver = policy.waive[i];
    if (is_blank(waiver.reason))
      return make_error(ErrorCode::malformed, "waive[{}].reason: it is empty: say why {} is let through", i, waiver.id);
    if (!is_date(waiver.until))
      return make_error(ErrorCode::malformed, "waive[{}].until: \"{}\" is not a date: write it as 2027-01-31", i,
                        waiver.until);
  }
  return {};
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  PBPROBE_TRY(const Json json, parse_json(text));
  PBPROBE_TRY(Policy policy, from_json<Policy>(json));
  if (const auto key = unknown_key(json, to_json(policy)))
    return make_error(ErrorCode::malformed, "{}: a policy has no such key: docs/policy.schema.json lists them", *key);
  PBPROBE_CHECK(check_words(policy));
  return policy;
}

Result<Policy> built_in_policy(std::string_view name) {
  if (name == "report") return parse_policy(kReport);
  if (name == "builder") return parse_policy(kBuilder);
  if (name == "hardware") return parse_policy(kHardware);
  return make_error(ErrorCode::usage,
                    "there is no policy \"{}\" built in: builder, hardware, or a file of yours, named with a "
                    "slash (./{}) or by .json at its end",
                    name, name);
}

Json policy_schema() {
  Json schema = json_schema<Policy>();
  allow_no_other_keys(schema);
  return schema;
}

}  // namespace pbprobe
