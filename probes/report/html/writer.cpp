// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/html/writer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "probes/report/page.hpp"

namespace pbprobe::html {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text::clean(text, true)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string decimal(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') == std::string::npos) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string exact(double value) {
  return nlohmann::json(value).dump();
}

void Writer::begin(Name name, std::initializer_list<Attribute> attributes) {
  out_ += fmt::format("<{}", name.text);
  for (const auto& [key, value] : attributes) out_ += fmt::format(" {}=\"{}\"", key.text, escaped(value));
  out_ += '>';
}

void Writer::end(Name name) {
  out_ += fmt::format("</{}>", name.text);
}

Writer::Element Writer::open(Name name, std::initializer_list<Attribute> attributes) {
  begin(name, attributes);
  return {*this, name};
}

Writer::Element Writer::open_scroll(const std::string& label) {
  return open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", label}});
}

void Writer::add(Name name, std::initializer_list<Attribute> attributes, std::string_view text) {
  begin(name, attributes);
  out_ += escaped(text);
  end(name);
}

void Writer::add_empty(Name name, std::initializer_list<Attribute> attributes) {
  begin(name, attributes);
  out_.back() = '/';
  out_ += '>';
}

}  // namespace pbprobe::html
