// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Sentences of checks, with their data. Evidence compares only the data, so that the wording may change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pbprobe {

// Text of a finding, with its data as operands. Evidence compares the operands, not the wording.
struct Sentence {
  std::string text;
  std::vector<std::string> operands;

  Sentence() = default;
  Sentence(std::string words) : text(std::move(words)) {}  // NOLINT(google-explicit-constructor): words without data
  Sentence(const char* words) : text(words) {}             // NOLINT(google-explicit-constructor)
};

// Part of a sentence that is wording, not data.
struct InWords {
  std::string text;
};

[[nodiscard]] inline InWords make_words(std::string_view text) {
  return {std::string(text)};
}

// Returns the word for a count: "1 kernel does", "2 kernels do". The count itself remains data.
[[nodiscard]] inline InWords select_by_number(int64_t count, std::string_view one, std::string_view many) {
  return make_words(count == 1 ? one : many);
}

}  // namespace pbprobe

template <>
struct fmt::formatter<pbprobe::InWords> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const pbprobe::InWords& words, Context& context) const {
    return fmt::formatter<std::string_view>::format(words.text, context);
  }
};

namespace pbprobe {
namespace detail {

template <class T>
void keep(std::vector<std::string>& operands, const T& datum) {
  operands.push_back(fmt::vformat("{}", fmt::make_format_args(datum)));
}
inline void keep(std::vector<std::string>&, const InWords&) {}

}  // namespace detail

// Formats a sentence like fmt::format, and stores the data.
template <class... T>
[[nodiscard]] Sentence say(fmt::format_string<T...> form, const T&... data) {
  Sentence sentence(fmt::vformat(form, fmt::make_format_args(data...)));
  (detail::keep(sentence.operands, data), ...);
  return sentence;
}

}  // namespace pbprobe
