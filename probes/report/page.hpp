// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Text layout: wrapping, columns, colour. Every string of the document passes through clean(), because file and device
// names are untrusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/report/text.hpp"

namespace pbprobe::text {

enum class Colour { none, good, bad, doubt, faint, strong };

// A space at which no line is broken.
inline constexpr std::string_view kNoBreak = "\xC2\xA0";

// Replaces unsafe characters (core/printable.hpp) and invalid UTF-8 by '?'. Without `unicode`, converts pbprobe's signs
// to ASCII and all other non-ASCII characters to '?'.
[[nodiscard]] std::string clean(std::string_view text, bool unicode);

// Counts the columns of UTF-8 text; each combining character counts as one.
[[nodiscard]] size_t columns(std::string_view text);

// Truncates `text` to `width` columns, ending in `sign`.
[[nodiscard]] std::string shortened(const std::string& text, size_t width, const std::string& sign);

struct Cell {
  std::string text;
  Colour colour = Colour::none;
  bool right = false;
};

// Returns a cell that is aligned to the right, as numbers are.
[[nodiscard]] inline Cell right(std::string text, Colour colour = Colour::none) {
  return {std::move(text), colour, true};
}

using Rows = std::vector<std::vector<Cell>>;

// Removes columns in which every row below the header is "" or "-".
[[nodiscard]] Rows without_empty_columns(Rows rows);

class Page {
 public:
  explicit Page(const TextOptions& options) : options_(options) {}

  [[nodiscard]] bool unicode() const { return options_.unicode; }
  [[nodiscard]] bool verbose() const { return options_.verbose; }
  [[nodiscard]] int width() const { return options_.width; }

  void blank();
  void heading(std::string_view title);
  // Writes "  label     text", wrapped to the first column of the text.
  void entry(std::string_view label, std::string_view text, size_t label_width = 10, Colour colour = Colour::none);
  // Writes a coloured beginning and its text, wrapped with an indent of two.
  void headed(std::string_view head, Colour colour, std::string_view text, Colour text_colour = Colour::none);
  // Writes text wrapped with this indent.
  void paragraph(std::string_view text, size_t indent, Colour colour = Colour::none);
  // Writes a table with columns as wide as their widest cell, separated by two spaces. `below` has a line to print
  // under each row.
  void table(const Rows& rows, const std::vector<std::string>& below = {});
  // Writes a table that fits the page's width. Truncates the cells of column `gives_way`, then long titles, then
  // removes columns: first those titled `first_to_go`, then from the right.
  void fitted_table(Rows rows, size_t gives_way, const std::vector<std::string_view>& first_to_go = {});
  // Writes one line of coloured parts, without wrapping.
  void line(const std::vector<Cell>& parts);

  [[nodiscard]] std::string paint(std::string_view text, Colour colour) const;
  [[nodiscard]] std::string cleaned(std::string_view text) const { return clean(text, options_.unicode); }
  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  [[nodiscard]] std::vector<size_t> compute_widths(const Rows& rows) const;
  [[nodiscard]] std::vector<std::string> wrap(std::string_view text, size_t width) const;
  TextOptions options_;
  std::string out_;
};

}  // namespace pbprobe::text
