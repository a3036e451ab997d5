// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/html/document.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base64.hpp"
#include "core/sha256.hpp"

namespace pbprobe::html {
namespace {

constexpr std::string_view kStyle =
#include "page_style.inc"
    ;
constexpr std::string_view kScript =
#include "page_script.inc"
    ;

constexpr size_t kMaxBytes = 490'000;  // limit for a page, which must be smaller than 500 KB

// Returns the hash source of a style or script for Content-Security-Policy.
std::string compute_source_hash(std::string_view text) {
  const std::string hex = compute_sha256(text);
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    int byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return fmt::format("'sha256-{}'", encode_base64(bytes));
}

// Escapes "<", which would begin markup inside <script>. JSON contains "<" only in strings, where an escape is
// equivalent.
std::string inert(const Json& data) {
  std::string out;
  for (const char c : dump_json(data, -1)) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

void add_cell(Writer& writer, const Cell& cell, bool names_row) {
  std::string classes = get_css_class(cell.colour);
  if (cell.value) classes += classes.empty() ? "number" : " number";
  if (names_row) {
    writer.add("th", {{"scope", "row"}, {"class", classes}}, cell.text);
  } else if (cell.value) {
    writer.add("td", {{"class", classes}, {"data-value", exact(*cell.value)}}, cell.text);
  } else {
    writer.add("td", {{"class", classes}}, cell.text);
  }
}

void add_head(Writer& writer, const Table& table) {
  const auto head = writer.open("thead");
  const auto row = writer.open("tr");
  for (size_t i = 0; i < table.head.size(); ++i) {
    const auto has_value = [i](const auto& cells) { return i < cells.size() && cells[i].value.has_value(); };
    const bool number = !table.heat && std::ranges::any_of(table.rows, has_value);
    const bool here = !table.here.empty() && table.head[i] == table.here;
    writer.add("th",
               {{"scope", "col"},
                {"class", number ? "number"
                          : here ? "here"
                                 : ""}},
               here ? table.head[i] + " (here)" : table.head[i]);
  }
}

}  // namespace

std::string get_css_class(Colour colour) {
  return colour == Colour::none ? "" : std::string(name_of(colour));
}

void drop_empty_columns(std::vector<std::string>& head, Rows& rows) {
  for (size_t i = head.size(); i-- > 1;) {
    const auto says_something = [i](const std::vector<Cell>& row) {
      return i < row.size() && !row[i].text.empty() && row[i].text != "-";
    };
    if (std::ranges::any_of(rows, says_something)) continue;
    head.erase(head.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : rows) {
      if (i < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

Writer::Element Document::open_section(const std::string& title, const std::string& about) {
  body_.begin("section", {});
  body_.add("h2", title);
  if (!about.empty()) body_.add("p", about);
  return {body_, "section"};
}

void Document::add(const Table& table) {
  {
    const auto scroll = body_.open_scroll(table.caption);
    const auto element = body_.open("table", {{"class", table.heat ? "sorted heat" : "sorted"}});
    body_.add("caption", table.caption);
    add_head(body_, table);
    const auto rows = body_.open("tbody");
    for (size_t i = 0; i < table.rows.size() && i < table.most_rows; ++i) {
      const auto row = body_.open("tr");
      for (size_t j = 0; j < table.rows[i].size(); ++j) add_cell(body_, table.rows[i][j], j == 0);
    }
  }
  if (table.rows.size() > table.most_rows)
    body_.add("p", fmt::format("and {} more rows: --format json lists all", table.rows.size() - table.most_rows));
}

void Document::add(const std::vector<std::pair<std::string, std::string>>& facts) {
  const auto list = body_.open("dl", {{"class", "facts"}});
  for (const auto& [name, value] : facts) {
    body_.add("dt", name);
    body_.add("dd", value);
  }
}

void Document::add_warning(const std::string& sentence) {
  body_.add("p", {{"class", "defect"}, {"role", "note"}}, sentence);
}

std::string Document::finish(Json data, const std::vector<std::string>& may_leave_out, const std::string& foot) && {
  const std::string body = std::move(body_).take();
  const size_t frame = body.size() + kStyle.size() + kScript.size() + 2000;  // and the head
  const size_t most = frame < kMaxBytes ? kMaxBytes - frame : 0;
  std::string embedded = inert(data);
  std::vector<std::string> left_out;
  for (const auto& name : may_leave_out) {
    if (embedded.size() <= most) break;
    const Json::json_pointer at(name);
    if (!data.contains(at)) continue;
    data[at] = data[at].is_array() ? Json::array() : Json();
    left_out.push_back(name.substr(1));
    embedded = inert(data);
  }
  std::string end = foot;
  if (!left_out.empty())
    end +=
        fmt::format(". The data in this page omit {}, because the page would be too large: --format json has all data",
                    fmt::join(left_out, ", "));
  Writer foot_writer;
  foot_writer.add("footer", {{"class", "foot"}}, end + ".");
  const std::string policy =
      fmt::format("default-src 'none'; img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
                  compute_source_hash(kStyle), compute_source_hash(kScript));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">To the verdict</a>\n<main id=\"main\">\n{}\n</main>\n{}\n"
      "<script type=\"application/json\" id=\"pbprobe-data\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      policy, escaped(title_), kStyle, body, std::move(foot_writer).take(), embedded, kScript);
}

}  // namespace pbprobe::html
