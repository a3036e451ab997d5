// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/page.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/printable.hpp"

namespace pbprobe::text {
namespace {

// The signs that the project's own sentences use.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kAscii{{
    {"×", "x"},
    {"·", "."},
    {"…", "..."},
    {"–", "-"},
    {"—", "-"},
    {"≥", ">="},
    {"≤", "<="},
    {"µ", "u"},
    {"→", "->"},
    {"✓", "ok"},
    {"✗", "FAIL"},
}};

std::string_view convert_to_ascii(std::string_view character) {
  if (character.size() == 1) return character;
  for (const auto& [sign, ascii] : kAscii) {
    if (sign == character) return ascii;
  }
  return "?";
}

std::string_view get_escape_code(Colour colour) {
  switch (colour) {
    case Colour::none: return "";
    case Colour::good: return "\033[1;32m";
    case Colour::bad: return "\033[1;31m";
    case Colour::doubt: return "\033[1;33m";
    case Colour::faint: return "\033[2m";
    case Colour::strong: return "\033[1m";
  }
  return "";
}

// "vs generic build" above "not compared" becomes "vs generic": titles keep two words.
void shorten_title(Rows& rows, size_t column) {
  size_t body = 0;
  for (size_t r = 1; r < rows.size(); ++r) {
    if (column < rows[r].size()) body = std::max(body, columns(rows[r][column].text));
  }
  if (rows.empty() || column >= rows.front().size()) return;
  std::string& title = rows.front()[column].text;
  while (columns(title) > body && std::ranges::count(title, ' ') > 1) title.resize(title.rfind(' '));
}

void remove_column(Rows& rows, std::string_view title) {
  if (rows.empty()) return;
  const auto& titles = rows.front();
  const auto found = std::ranges::find(titles, title, &Cell::text);
  if (found == titles.end()) return;
  const auto column = found - titles.begin();
  for (auto& row : rows) {
    if (column < static_cast<std::ptrdiff_t>(row.size())) row.erase(row.begin() + column);
  }
}

bool says_something(const Cell& cell) {
  return !cell.text.empty() && cell.text != "-";
}

}  // namespace

Rows without_empty_columns(Rows rows) {
  size_t columns_of_all = 0;
  for (const auto& row : rows) columns_of_all = std::max(columns_of_all, row.size());
  for (size_t i = columns_of_all; i-- > 0;) {
    const auto has = [i](const std::vector<Cell>& row) { return i < row.size() && says_something(row[i]); };
    if (!rows.empty() && std::any_of(rows.begin() + 1, rows.end(), has)) continue;
    for (auto& row : rows) {
      if (i < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return rows;
}

std::string clean(std::string_view text, bool unicode) {
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const auto character = text.substr(0, std::max<size_t>(size, 1));
    if (character == kNoBreak) {
      out += ' ';
    } else if (size == 0 || !is_shown(character)) {
      out += character == "\n" || character == "\t" ? ' ' : '?';
    } else {
      out += unicode ? character : convert_to_ascii(character);
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string shortened(const std::string& text, size_t width, const std::string& sign) {
  if (columns(text) <= width) return text;
  std::string out;
  size_t left = width - columns(sign);
  for (std::string_view rest = text; left > 0 && !rest.empty(); --left) {
    const auto character = rest.substr(0, std::max<size_t>(character_size(rest), 1));
    out += character;
    rest.remove_prefix(character.size());
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + sign;
}

size_t columns(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

std::string Page::paint(std::string_view text, Colour colour) const {
  if (!options_.colour || colour == Colour::none || text.empty()) return std::string(text);
  return std::string(get_escape_code(colour)).append(text).append("\033[0m");
}

std::vector<std::string> Page::wrap(std::string_view text, size_t width) const {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string word = cleaned(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.back().empty() && columns(lines.back()) + 1 + columns(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

void Page::blank() {
  out_ += '\n';
}

void Page::heading(std::string_view title) {
  blank();
  out_ += paint(title, Colour::strong) + "\n";
}

void Page::entry(std::string_view label, std::string_view text, size_t label_width, Colour colour) {
  const size_t start = 2 + label_width;
  const auto limit = static_cast<size_t>(options_.width);
  const auto lines = wrap(text, limit > start + 20 ? limit - start : 20);
  const std::string name = cleaned(label);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string front = i == 0 ? "  " + name : "";
    front.resize(std::max(front.size() + (start > columns(front) ? start - columns(front) : 1), front.size()), ' ');
    out_ += front + paint(lines[i], colour) + "\n";
  }
}

void Page::headed(std::string_view head, Colour colour, std::string_view text, Colour text_colour) {
  const std::string begin = cleaned(head);
  const size_t front = columns(begin);
  // Placeholder of the width of `begin`, so that only the first line is shortened.
  const auto lines = wrap(std::string(front, '_') + std::string(text), static_cast<size_t>(options_.width) - 2);
  for (size_t i = 0; i < lines.size(); ++i) {
    out_ += i == 0 ? paint(begin, colour) + paint(lines[i].substr(front), text_colour)
                   : "  " + paint(lines[i], text_colour);
    out_ += '\n';
  }
}

void Page::paragraph(std::string_view text, size_t indent, Colour colour) {
  const auto limit = static_cast<size_t>(options_.width);
  for (const auto& line : wrap(text, limit > indent + 20 ? limit - indent : 20))
    out_ += std::string(indent, ' ') + paint(line, colour) + "\n";
}

std::vector<size_t> Page::compute_widths(const Rows& rows) const {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(cleaned(row[i].text)));
  }
  return widths;
}

void Page::fitted_table(Rows rows, size_t gives_way, const std::vector<std::string_view>& first_to_go) {
  constexpr size_t kLeast = 11;  // columns of a cell that is cut
  std::vector<size_t> widths = compute_widths(rows);
  const auto limit = static_cast<size_t>(options_.width);
  const auto total = [&] {
    size_t sum = 2 * widths.size();
    for (const size_t width : widths) sum += width;
    return sum;
  };
  const auto is_too_wide = [&] {
    const size_t cut = gives_way < widths.size() && widths[gives_way] > kLeast ? widths[gives_way] - kLeast : 0;
    return total() - cut > limit;
  };
  for (size_t i = widths.size(); i-- > gives_way + 1 && is_too_wide();) {
    shorten_title(rows, i);
    widths = compute_widths(rows);
  }
  for (const auto title : first_to_go) {
    if (!is_too_wide()) break;
    remove_column(rows, title);
    widths = compute_widths(rows);
  }
  if (gives_way < widths.size()) {
    const size_t excess = total() > limit ? total() - limit : 0;
    size_t& width = widths[gives_way];
    width = std::min(width, std::max(kLeast, width > excess ? width - excess : 0));
  }
  while (total() > limit && widths.size() > gives_way + 1) widths.pop_back();
  for (auto& row : rows) {
    row.resize(std::min(row.size(), widths.size()));
    if (gives_way < row.size())
      row[gives_way].text = shortened(cleaned(row[gives_way].text), widths[gives_way], cleaned("…"));
  }
  table(rows);
}

void Page::table(const Rows& rows, const std::vector<std::string>& below) {
  const std::vector<size_t> widths = compute_widths(rows);
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto& row = rows[r];
    std::string front = "  ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string text = cleaned(row[i].text);
      const std::string gap(widths[i] - columns(text), ' ');
      const std::string shown = paint(text, row[i].colour);
      const bool last = i + 1 == row.size();
      front += row[i].right ? gap + shown : last ? shown : shown + gap;
      if (!last) front += "  ";
    }
    while (front.ends_with(' ')) front.pop_back();
    out_ += front + "\n";
    if (r < below.size() && !below[r].empty()) paragraph(below[r], 4, Colour::faint);
  }
}

void Page::line(const std::vector<Cell>& parts) {
  for (const auto& part : parts) out_ += paint(cleaned(part.text), part.colour);
  out_ += '\n';
}

}  // namespace pbprobe::text
