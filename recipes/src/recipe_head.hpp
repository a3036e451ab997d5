// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The first line of a written file carries a checksum of the rest, so that an edit by hand is distinguished from an
// older matrix.
#pragma once

#include <string>
#include <string_view>

namespace pbprobe {

[[nodiscard]] std::string with_head(std::string_view body);

}  // namespace pbprobe
