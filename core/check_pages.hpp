// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Pages of docs/checks, which the program contains.
#pragma once

#include <string_view>

namespace pbprobe {

// Returns the page of a check; "" without a page.
[[nodiscard]] std::string_view check_page(std::string_view id);

// Returns the question of a check, which is the title of its page: "# PB301: Does …?"; "" without a page.
[[nodiscard]] std::string_view check_question(std::string_view id);

}  // namespace pbprobe
