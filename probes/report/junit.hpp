// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// JUnit XML: collects test cases, and counts failures, errors and skipped cases.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pbprobe {

// Test cases of a JUnit document. failure(), error() and skipped() count a case and return the text for add().
class JunitCases {
 public:
  // `inside` is a result of failure, error or skipped; empty for a case that passed.
  void add(std::string_view group, std::string_view name, std::string_view inside = "");
  [[nodiscard]] std::string failure(std::string_view message, std::string_view more = "");
  [[nodiscard]] std::string error(std::string_view message);
  [[nodiscard]] std::string skipped(std::string_view why);
  // Follows the schema of Jenkins, which counts skipped cases only per suite.
  [[nodiscard]] std::string document(std::string_view suite, std::string_view created) const;

 private:
  int64_t tests_ = 0;
  int64_t failures_ = 0;
  int64_t errors_ = 0;
  int64_t skipped_ = 0;
  std::string text_;
};

}  // namespace pbprobe
