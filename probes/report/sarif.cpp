// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/check_pages.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/sha256.hpp"
#include "probes/report/attest.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

std::string_view format_level(Severity severity) {
  switch (severity) {
    case Severity::fail: return "error";
    case Severity::warn: return "warning";
    case Severity::note: return "note";
  }
  return "none";
}

// Writes a path as URI: characters that are neither unreserved (RFC 3986) nor a slash are percent-encoded.
std::string encode_uri(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// Splits "torch/lib/libc10.so .text" into file and section. The path may contain spaces.
Json make_location(const std::string& where) {
  const auto section = where.rfind(" .");
  const bool has_section = section != std::string::npos && where.find('/', section) == std::string::npos;
  const std::string file = has_section ? where.substr(0, section) : where;
  Json location{{"physicalLocation", {{"artifactLocation", {{"uri", encode_uri(file)}}}}}};
  if (has_section) location["logicalLocations"] = Json::array({{{"name", where.substr(section + 1)}}});
  return location;
}

// Returns the place of a finding. Code scanning rejects results without a place, so that findings about no single file
// are assigned to the artifact.
std::string choose_place(const Report& report, const std::optional<std::string>& where) {
  return where.value_or(report.inventory ? report.inventory->artifact : "torch");
}

// Returns a fingerprint that is equal for the same finding of another run, independent of counts in its sentence. A
// code scanner then opens the finding once.
Json compute_fingerprint(std::string_view id, const std::string& where) {
  return {{"pbprobe/v1", compute_sha256(fmt::format("{} {}", id, where))}};
}

Json make_result(const Report& report, const Finding& finding) {
  const std::string place = choose_place(report, finding.where);
  Json result{{"ruleId", finding.id},
              {"level", format_level(finding.severity)},
              {"message", {{"text", printable(finding.what + "; fix: " + finding.remedy)}}},
              {"locations", Json::array({make_location(place)})},
              {"partialFingerprints", compute_fingerprint(finding.id, place)}};
  if (finding.waived)
    result["suppressions"] =
        Json::array({{{"kind", "external"}, {"status", "accepted"}, {"justification", *finding.waived}}});
  return result;
}

// Returns the check page instead of a URL: readers have this document and the program.
Json make_help(std::string_view id) {
  Json help{{"text", fmt::format("`pbprobe explain {}` describes the fix.", id)}};
  if (const auto page = check_page(id); !page.empty()) help["markdown"] = page;
  return help;
}

}  // namespace

std::string render_sarif(const Report& report) {
  const Verdict& gate = *report.verdict;
  Json rules = Json::array();
  Json results = Json::array();
  for (const auto& check : gate.checks) {
    rules.push_back({{"id", check.id},
                     {"shortDescription", {{"text", check.asks}}},
                     {"fullDescription", {{"text", check.asks}}},
                     {"help", make_help(check.id)},
                     {"defaultConfiguration", {{"level", format_level(check.severity)}}},
                     {"properties", {{"level", name_of(check.level)}, {"required", check.required}}}});
  }
  for (const auto& finding : gate.findings) results.push_back(make_result(report, finding));
  for (const auto& check : gate.checks) {
    if (!check.required || check.state == CheckState::passed || check.state == CheckState::found) continue;
    results.push_back({{"ruleId", check.id},
                       {"kind", "open"},
                       {"level", "none"},
                       {"message", {{"text", check.why.value_or("not answered")}}},
                       {"locations", Json::array({make_location(choose_place(report, std::nullopt))})},
                       {"partialFingerprints", compute_fingerprint(check.id, "")}});
  }
  const Json driver{{"name", "pbprobe"}, {"version", report.version}, {"rules", std::move(rules)}};
  const Json run{{"tool", {{"driver", driver}}},
                 {"invocations", Json::array({{{"executionSuccessful", gate.complete}}})},
                 {"results", std::move(results)}};
  const Json sarif{{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
  return dump_json(sarif) + "\n";
}

}  // namespace pbprobe
