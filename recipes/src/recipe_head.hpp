// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Puts a checksum of the remaining text into the first line of a recipe, to distinguish edits by hand from recipes of
// an older matrix.
#pragma once

#include <string>
#include <string_view>

namespace pbprobe {

[[nodiscard]] std::string with_head(std::string_view body);

}  // namespace pbprobe
