// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/recipe_lines.hpp"

#include <cctype>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// Removes the comment: text from the first # outside a string.
std::string_view without_comment(std::string_view line) {
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      in_string = !in_string;
    else if (line[i] == '#' && !in_string)
      return line.substr(0, i);
  }
  return line;
}

size_t find_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool front = at == 0 || !is_word(word.front()) || !is_word(line[at - 1]);
    const bool back = end == line.size() || !is_word(word.back()) || !is_word(line[end]);
    if (front && back) return at;
  }
  return std::string_view::npos;
}

std::string_view skip_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

// Returns the text after `key =` on the line.
std::optional<std::string_view> assigned(std::string_view line, std::string_view key) {
  const auto at = find_word(line, key);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = skip_spaces(line.substr(at + key.size()));
  if (!rest.starts_with('=') || rest.starts_with("==")) return std::nullopt;
  return skip_spaces(rest.substr(1));
}

}  // namespace

RecipeLines::RecipeLines(std::string_view text) {
  for (const std::string_view line : split_lines(text)) lines_.emplace_back(without_comment(line));
}

std::optional<size_t> RecipeLines::find(std::string_view word) const {
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (find_word(lines_[i], word) != std::string_view::npos) return i + 1;
  }
  return std::nullopt;
}

std::vector<LineValue> RecipeLines::values(std::string_view key) const {
  std::vector<LineValue> found;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const auto value = assigned(lines_[i], key);
    if (!value || !value->starts_with('"')) continue;
    found.push_back({i + 1, std::string(value->substr(1, value->find('"', 1) - 1))});
  }
  return found;
}

std::optional<std::vector<std::string>> RecipeLines::list(std::string_view key, size_t& line) const {
  for (size_t i = 0; i < lines_.size(); ++i) {
    auto value = assigned(lines_[i], key);
    if (!value || !value->starts_with('[')) continue;
    line = i + 1;
    std::vector<std::string> items;
    for (size_t row = i;; value = lines_[row]) {
      auto rest = *value;
      const auto end = rest.find(']');
      auto within = rest.substr(0, end);
      for (auto open = within.find('"'); open != std::string_view::npos; open = within.find('"')) {
        const auto close = within.find('"', open + 1);
        if (close == std::string_view::npos) break;
        items.emplace_back(within.substr(open + 1, close - open - 1));
        within.remove_prefix(close + 1);
      }
      if (end != std::string_view::npos || ++row == lines_.size()) return items;
    }
  }
  return std::nullopt;
}

std::vector<LineValue> RecipeLines::strings(std::string_view prefix) const {
  std::vector<LineValue> found;
  const auto opening = "\"" + std::string(prefix);
  for (size_t i = 0; i < lines_.size(); ++i) {
    for (auto at = lines_[i].find(opening); at != std::string::npos; at = lines_[i].find(opening, at + 1)) {
      const auto close = lines_[i].find('"', at + 1);
      found.push_back({i + 1, lines_[i].substr(at + 1, close == std::string::npos ? close : close - at - 1)});
    }
  }
  return found;
}

}  // namespace pbprobe
