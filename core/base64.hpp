// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// RFC 4648, section 4, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

[[nodiscard]] std::string encode_base64(std::string_view bytes);

// Decodes `text`; returns nullopt if it is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace pbprobe
