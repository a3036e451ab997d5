// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a fatbin entry holds once it is decompressed, within the limits that its header was checked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "probes/audit/containers/fatbin.hpp"
#include "probes/audit/containers/mapped_file.hpp"

namespace pbprobe {

// A fatbin entry's bytes: inside the file where it is not compressed, else in `scratch`, which grows and may be used
// again. `payload` holds the stored bytes of `entry`; `name` begins the messages. Errors: malformed, where the data are
// broken or give another number of bytes than the header announces; limit, above kMaxEntryBytes.
[[nodiscard]] Result<std::span<const uint8_t>> decompress_entry(const FatbinEntry& entry,
                                                                std::span<const uint8_t> payload, Mapping& scratch,
                                                                const std::string& name);

}  // namespace pbprobe
