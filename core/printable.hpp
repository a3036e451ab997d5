// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Conversion of untrusted text (names of files, symbols and sections, package fields, foreign reports) for a terminal,
// a log or a page. This is the only place that decides which characters are safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pbprobe {

// Returns the byte count of the first UTF-8 character, or 0 if it is not well-formed (Unicode 15, table 3-7). Requires
// a non-empty text.
[[nodiscard]] size_t character_size(std::string_view text);

[[nodiscard]] uint32_t code_point(std::string_view character);

// Reports whether a character is visible and safe: no control (terminals interpret C0, DEL and C1), no character that
// changes the text direction, is invisible or breaks lines (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to
// U+206F, U+FEFF, tags).
[[nodiscard]] bool is_shown(std::string_view character);

// Returns one line: unsafe characters become '?', line ends and tabs become spaces.
[[nodiscard]] std::string printable(std::string_view text);

// Converts text of several lines and keeps its line ends. With `colours`, also keeps the sequences ESC [ … m.
[[nodiscard]] std::string printable_lines(std::string_view text, bool colours = false);

// Returns one line for a cell of a Markdown table, with markup, HTML and cell separators escaped.
[[nodiscard]] std::string printable_markdown(std::string_view text);

}  // namespace pbprobe
