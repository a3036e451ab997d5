// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/printable.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pbprobe {
namespace {

constexpr std::array<std::pair<uint32_t, uint32_t>, 10> kHidden{{
    {0x00, 0x1F},
    {0x7F, 0x9F},
    {0xAD, 0xAD},  // a soft hyphen
    {0x61C, 0x61C},
    {0x180E, 0x180E},
    {0x200B, 0x200F},
    {0x2028, 0x202E},
    {0x2060, 0x206F},
    {0xFEFF, 0xFEFF},
    {0xE0000, 0xE0FFF},
}};

// Bytes of a sequence that sets a colour, at the front; else 0.
size_t colour_size(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string shown(std::string_view text, bool keep_lines, bool keep_colours) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (const size_t colour = keep_colours ? colour_size(text) : 0; colour > 0) {
      out += text.substr(0, colour);
      text.remove_prefix(colour);
      continue;
    }
    const size_t size = character_size(text);
    const auto character = text.substr(0, std::max<size_t>(size, 1));
    if (size != 0 && is_shown(character)) {
      out += character;
    } else if (character == "\n" || character == "\t") {
      out += keep_lines ? character[0] : ' ';
    } else {
      out += '?';
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

uint32_t code_point(std::string_view character) {
  const auto lead = static_cast<uint8_t>(character[0]);
  uint32_t code = character.size() == 1 ? lead : lead & (0x7FU >> character.size());
  for (const char c : character.substr(1)) code = (code << 6) | (static_cast<uint8_t>(c) & 0x3FU);
  return code;
}

size_t character_size(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t size = lead < 0x80                   ? 1
                      : lead >= 0xC2 && lead < 0xE0 ? 2
                      : (lead & 0xF0) == 0xE0       ? 3
                      : lead >= 0xF0 && lead < 0xF5 ? 4
                                                    : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const uint32_t code = code_point(text.substr(0, size));
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : size;
}

bool is_shown(std::string_view character) {
  const uint32_t code = code_point(character);
  return std::ranges::none_of(kHidden, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string printable(std::string_view text) {
  return shown(text, false, false);
}

std::string printable_lines(std::string_view text, bool colours) {
  return shown(text, true, colours);
}

std::string printable_markdown(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default:
        if (std::string_view("|`\\*[]").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

}  // namespace pbprobe
