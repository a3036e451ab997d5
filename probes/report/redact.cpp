// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/json.hpp"
#include "probes/report/attest.hpp"

#include <array>
#include <string>
#include <string_view>

namespace pbprobe {
namespace {

constexpr std::array<std::string_view, 2> kHomes{"/home/", "/Users/"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Replaces whole words only: a machine named "dgx" must not change "dgxspark".
std::string without_word(std::string_view text, std::string_view word) {
  std::string out;
  while (!text.empty()) {
    const size_t at = word.empty() ? std::string_view::npos : text.find(word);
    if (at == std::string_view::npos) break;
    const size_t end = at + word.size();
    const bool whole = (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    out.append(text.substr(0, at)).append(whole ? "(host)" : word);
    text.remove_prefix(end);
  }
  return out.append(text);
}

// "/home/ada/x" becomes "~/x", and "/mnt/home/ada" "/mnt/home/~".
std::string without_user(std::string_view text, std::string_view home) {
  std::string out;
  while (!text.empty()) {
    const size_t at = text.find(home);
    if (at == std::string_view::npos) break;
    const bool nested = at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.');
    out.append(text.substr(0, nested ? at + home.size() : at)).append("~");
    text.remove_prefix(at + home.size());
    const auto end = text.find_first_of("/ :;,\"')]\n");
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
  return out.append(text);
}

struct Redaction {
  std::string hostname;
  std::string short_name;  // before the first dot

  [[nodiscard]] std::string apply(std::string_view text) const {
    // A string equal to the host name is a keyword of the document, or the host name field, which is cleared already.
    std::string out(text);
    if (text != hostname && text != short_name) out = without_word(without_word(text, hostname), short_name);
    for (const auto home : kHomes) out = without_user(out, home);
    if (out.starts_with("/root/")) out = "~" + out.substr(5);
    return out;
  }

  void walk(Json& json) const {
    if (json.is_string()) {
      json = apply(json.get_ref<const std::string&>());
    } else if (json.is_array()) {
      for (auto& element : json) walk(element);
    } else if (json.is_object()) {
      for (auto& [key, value] : json.items()) {
        if (key != "schema") walk(value);
      }
    }
  }
};

}  // namespace

Report redact(Report report) {
  Redaction redaction;
  if (report.host) {
    redaction.hostname = report.host->hostname.value_or("");
    redaction.short_name = redaction.hostname.substr(0, redaction.hostname.find('.'));
    report.host->hostname.reset();
    for (auto& gpu : report.host->gpus) gpu.uuid.reset();
  }
  // Processes the JSON document, so that strings of future fields are included.
  Json json = to_json(report);
  redaction.walk(json);
  auto redacted = from_json<Report>(json);
  return redacted ? std::move(*redacted) : Report{.version = report.version, .commit = report.commit};
}

}  // namespace pbprobe
