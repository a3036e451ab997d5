// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/ranges.h>

#include "core/check_pages.hpp"
#include "core/strings.hpp"
#include "probes/cli/cli.hpp"
#include "probes/judge/checks.hpp"
#include "probes/report/attest.hpp"
#include "probes/report/page.hpp"
#include "recipes/src/verify.hpp"

namespace pbprobe::cli {
namespace {

struct ExplainArguments {
  std::string id;
  Format format = Format::text;
};

// Description of one check from the catalogue of the judge or of the recipes.
struct Explained {
  std::string_view id;
  Severity severity = Severity::note;
  std::string_view remedy;
  const Check* check = nullptr;  // check of the judge; null for a recipe check
};

std::vector<Explained> catalogue() {
  std::vector<Explained> all;
  for (const auto& check : all_checks()) all.push_back({check.id, check.severity, check.remedy, &check});
  for (const auto& check : recipe_checks()) all.push_back({check.id, check.severity, check.remedy});
  std::ranges::sort(all, [](const auto& one, const auto& other) { return one.id < other.id; });
  return all;
}

std::string describe_severity(Severity severity) {
  switch (severity) {
    case Severity::fail: return "a finding fails the verdict";
    case Severity::warn: return "a finding is reported, but does not fail the verdict";
    case Severity::note: return "a finding is only noted";
  }
  return "";
}

std::string describe_waiver(const Explained& one) {
  if (one.check == nullptr) return "not possible: the check reads the text of a recipe";
  if (one.check->integrity) return "not possible: all other checks depend on this check";
  return fmt::format(R"(in a policy: {{"id": "{}", "component": WHERE, "reason": WHY, "until": "2027-01-31"}})",
                     one.id);
}

// Prints a page of docs/checks at the terminal's width: titles as headings, wrapped paragraphs, code unchanged.
void add_check_page(text::Page& page, std::string_view markdown) {
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) page.paragraph(paragraph, 2);
    paragraph.clear();
  };
  while (!markdown.empty()) {
    const std::string_view line = markdown.substr(0, markdown.find('\n'));
    markdown.remove_prefix(std::min(line.size() + 1, markdown.size()));
    const bool is_title = line.starts_with("## ");
    const bool is_code = line.starts_with("    ");
    if (line.empty() || is_title || is_code || line.starts_with("- ")) end_paragraph();
    if (is_title) {
      page.heading(line.substr(3));
    } else if (is_code) {
      page.line({{std::string(line)}});
    } else if (!line.empty()) {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
    }
  }
  end_paragraph();
}

std::string render_explanation(const Explained& one) {
  text::Page page(text_options());
  page.headed(fmt::format("{}  ", one.id), text::Colour::strong, check_question(one.id));
  const auto add = [&](std::string_view name, std::string_view value) { page.entry(name, value); };
  add("severity", fmt::format("{}: {}", name_of(one.severity), describe_severity(one.severity)));
  add("about", one.check == nullptr ? "recipe" : name_of(one.check->subject));
  if (one.check != nullptr) {
    add("level", name_of(one.check->level));
    if (!one.check->needs.empty()) add("needs", fmt::format("{}", fmt::join(list_needs(*one.check), ", ")));
    if (one.check->decides) add("decides", "yes: without an answer the verdict is unknown, and unknown is not pass");
  }
  add("fix", one.remedy);
  add("waive", describe_waiver(one));
  // Skips the title of the page, which repeats the question.
  const std::string_view markdown = check_page(one.id);
  if (const size_t body = markdown.find("\n\n"); body != markdown.npos) add_check_page(page, markdown.substr(body + 1));
  return std::move(page).take();
}

Json write_explanation_json(const Explained& one) {
  Json json{{"id", one.id}, {"asks", check_question(one.id)}, {"severity", name_of(one.severity)}, {"fix", one.remedy}};
  json["subject"] = one.check == nullptr ? "recipe" : name_of(one.check->subject);
  json["level"] = one.check == nullptr ? Json() : Json(name_of(one.check->level));
  json["needs"] = one.check == nullptr ? std::vector<std::string_view>{} : list_needs(*one.check);
  json["decides"] = one.check != nullptr && one.check->decides;
  json["can_be_waived"] = one.check != nullptr && !one.check->integrity;
  json["page"] = check_page(one.id).empty() ? Json() : Json(check_page(one.id));
  return json;
}

Result<int> print_all(const std::vector<Explained>& all, Format format) {
  if (format == Format::json) {
    Json list = Json::array();
    for (const auto& one : all) list.push_back(write_explanation_json(one));
    return write_output(json_text(list));
  }
  std::string text;
  for (const auto& one : all)
    text += fmt::format("{}  {:<4}  {}\n", one.id, name_of(one.severity), check_question(one.id));
  return write_output(text);
}

Result<int> run(const ExplainArguments& options) {
  const auto all = catalogue();
  if (options.id.empty()) return print_all(all, options.format);
  const std::string id = upper(options.id);
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.id == id; });
  if (const auto why = explain_retirement(id); !why.empty())
    return make_error(ErrorCode::usage, "{} is no longer asked: {}", id, why);
  if (found == all.end())
    return make_error(ErrorCode::usage, "no check {}: `pbprobe explain` lists all checks", options.id);
  return write_output(options.format == Format::json ? json_text(write_explanation_json(*found))
                                                     : render_explanation(*found));
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("explain",
                                     "Describe a check: its question, its facts, the fix and the waiver\n"
                                     "Examples:\n"
                                     "  pbprobe explain PB303\n"
                                     "  pbprobe explain          all checks, one per line\n"
                                     "Exit code: 0, or 2 if the check does not exist");
  static ExplainArguments options;
  command->add_option("CHECK", options.id, "Id printed with each finding");
  add_format(*command, options.format);
  set_run(*command, exit_code, [] { return run(options); });
}

}  // namespace pbprobe::cli
