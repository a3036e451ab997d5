// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a device image holds once it is decompressed, within the limits that its header was checked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "probes/audit/fatbin.hpp"
#include "probes/audit/mapped_file.hpp"

namespace pbprobe {

// An image's bytes: inside the file where it is not compressed, else in `memory`.
struct ImageContent {
  Mapping memory;
  std::span<const uint8_t> bytes;
};

// `payload` holds the stored bytes of `image`; `name` begins the messages. Errors: malformed, where the data are broken
// or give another number of bytes than the header announces; limit, above kMaxImageBytes.
[[nodiscard]] Result<ImageContent> decompress_image(const DeviceImage& image, std::span<const uint8_t> payload,
                                                    const std::string& name);

}  // namespace pbprobe
