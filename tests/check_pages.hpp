// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The examples of docs/checks, held to what planted faults say.
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "core/facts/finding.hpp"
#include "paths.hpp"

namespace pbprobe::test {

// Joins the words of `text` by single spaces.
inline std::string join_words(const std::string& text) {
  std::istringstream stream(text);
  std::string words;
  for (std::string word; stream >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

// Returns the part "Example" of a check's page; "" without a page.
inline std::string read_example(const std::string& id) {
  const std::string heading = "\n## Example\n";
  std::ifstream stream(std::string(PBPROBE_SOURCE_DIR) + "/docs/checks/" + id + ".md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  const size_t begin = page.find(heading);
  if (begin == std::string::npos) return {};
  const size_t end = page.find("\n## ", begin + heading.size());
  return join_words(page.substr(begin + heading.size(), end - begin - heading.size()));
}

// Renders a finding as a report does: `fail[PB101]: what --> where`.
inline std::string shown(const Finding& finding) {
  const std::string where = finding.where ? "\n  --> " + *finding.where : "";
  return join_words(std::string(name_of(finding.severity)) + "[" + finding.id + "]: " + finding.what + where);
}

// An example is what a planted fault says; it may go on with the finding's help.
inline bool is_shown(const std::string& example, const Finding& finding) {
  return example == shown(finding) || example == join_words(shown(finding) + " help: " + finding.remedy);
}

}  // namespace pbprobe::test
