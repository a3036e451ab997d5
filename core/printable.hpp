// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Text of strangers (names of files, symbols and sections, a package's fields, other people's reports) on its way to a
// terminal, a log or a page: it shall show, and do nothing. The one place that knows what is harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pbprobe {

// Bytes of the UTF-8 character at the front, or 0 where it is not well-formed (Unicode 15, table 3-7). Not of "".
[[nodiscard]] size_t character_size(std::string_view text);

[[nodiscard]] uint32_t code_point(std::string_view character);

// Whether such a character shows: no control (terminals act on C0, DEL and C1), none that turns the direction of what
// follows, is invisible or breaks lines (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF, tags).
[[nodiscard]] bool is_shown(std::string_view character);

// One line: what does not show becomes '?', a line's end or a tab a space.
[[nodiscard]] std::string printable(std::string_view text);

// The same for text of many lines, each of which ends where it did. `colours`: the sequences ESC [ … m stay too.
[[nodiscard]] std::string printable_lines(std::string_view text, bool colours = false);

// One line in a cell of a Markdown table: nothing in it is markup or HTML, or ends the cell.
[[nodiscard]] std::string printable_markdown(std::string_view text);

}  // namespace pbprobe
