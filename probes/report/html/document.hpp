// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The frame of a page in one file: style, sections, tables, heat maps, and the data for machines. It fetches nothing,
// and its script, which is not needed, only sorts and filters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "probes/report/html/writer.hpp"
#include "probes/report/page.hpp"

namespace pbprobe::html {

using text::Colour;

// "good", "bad", "doubt", "faint", "strong" or "": classes of the style.
[[nodiscard]] std::string get_css_class(Colour colour);

struct Cell {
  std::string text;
  Colour colour = Colour::none;
  std::optional<double> value;  // the figure that the text shows: for sorting, and for who reads the page by program
};

using Rows = std::vector<std::vector<Cell>>;

// Removes each column, except the first, whose cells in all rows are "" or "-".
void drop_empty_columns(std::vector<std::string>& head, Rows& rows);

struct Table {
  std::string caption;
  std::vector<std::string> head;
  Rows rows;               // the first cell names its row
  bool heat = false;       // cells are coloured fields
  std::string here;        // column of this machine in a heat map
  size_t most_rows = 400;  // further rows are only in the embedded data
};

// Sections, in the order in which they are added.
class Document {
 public:
  explicit Document(std::string title) : title_(std::move(title)) {}

  [[nodiscard]] Writer& body() { return body_; }
  // Opens a section with a heading. The section closes when the returned element is destroyed.
  [[nodiscard]] Writer::Element open_section(const std::string& title, const std::string& about = "");
  void add(const Table& table);
  // Adds pairs of a name and its value.
  void add(const std::vector<std::pair<std::string, std::string>>& facts);
  // Adds a prominent warning, such as a measurement error.
  void add_warning(const std::string& sentence);

  // Returns the page with `data` embedded. If the page is too large, leaves out the parts of `data` that the JSON
  // pointers name.
  [[nodiscard]] std::string finish(Json data, const std::vector<std::string>& may_leave_out,
                                   const std::string& foot) &&;

 private:
  std::string title_;
  Writer body_;
};

}  // namespace pbprobe::html
