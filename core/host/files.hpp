// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Readers for small text files of /proc and /sys. Malformed files count as missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe::host {

// Reads at most 1 MiB of root + path; nullopt if the file is not readable.
[[nodiscard]] std::optional<std::string> read_text(const std::string& root, const std::string& path);

// Reads the file without surrounding white space; nullopt if it is not readable or nothing remains.
[[nodiscard]] std::optional<std::string> read_line(const std::string& root, const std::string& path);

// Parses a non-negative decimal number, or a hexadecimal one after 0x; nullopt for anything else.
[[nodiscard]] std::optional<uint64_t> parse_number(std::string_view text);

// Parses "0-3,8" as 0 1 2 3 8; nullopt if `text` is malformed or names more than 65536 CPUs.
[[nodiscard]] std::optional<std::vector<int64_t>> parse_cpu_list(std::string_view text);

// Returns the text after "key<blanks>:" on the first line with this key, as in /proc/meminfo and /proc/cpuinfo.
[[nodiscard]] std::optional<std::string> find_value(std::string_view text, std::string_view key);

}  // namespace pbprobe::host
