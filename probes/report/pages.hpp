// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Pages of docs/checks, which describe a check beyond its row in the catalogue.
#pragma once

#include <string_view>

namespace pbprobe {

// Markdown, from its title on; empty where the check has no page.
[[nodiscard]] std::string_view check_page(std::string_view id);

}  // namespace pbprobe
