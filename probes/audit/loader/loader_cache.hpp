// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// /etc/ld.so.cache, as ldconfig writes it: where libraries of the system's folders lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/containers/bytes.hpp"

namespace pbprobe {

// By the name that is needed, in the loader's order. Copies for better CPUs are left out: they export the same.
// A damaged cache holds what could be read of it.
using LoaderCache = std::multimap<std::string, std::string, std::less<>>;

[[nodiscard]] LoaderCache parse_loader_cache(const Bytes& file, uint16_t machine);

// None where there is no such file.
[[nodiscard]] LoaderCache loader_cache(const std::filesystem::path& file, uint16_t machine);

}  // namespace pbprobe
