// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Small text files of /proc and /sys, as detection reads them. Broken ones count as missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe::host {

// At most 1 MiB of root + path; null where it cannot be read.
[[nodiscard]] std::optional<std::string> read_text(const std::string& root, const std::string& path);

// The same without surrounding white space; null where nothing is left.
[[nodiscard]] std::optional<std::string> read_line(const std::string& root, const std::string& path);

// A whole decimal number, or one with 0x before it; null for anything else, negative numbers included.
[[nodiscard]] std::optional<uint64_t> parse_number(std::string_view text);

// "0-3,8" is 0 1 2 3 8; null where it is malformed or names more than 65536 CPUs.
[[nodiscard]] std::optional<std::vector<int64_t>> parse_cpu_list(std::string_view text);

// What follows "key<blanks>:" on the first line that has it: /proc/meminfo, /proc/cpuinfo.
[[nodiscard]] std::optional<std::string> value_of(std::string_view text, std::string_view key);

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace pbprobe::host
