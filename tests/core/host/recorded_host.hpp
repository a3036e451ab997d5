// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recorded/<name>.json as sources of detection. Aborts the test program on a file that breaks its format.
#pragma once

#include <string>
#include <vector>

#include "core/facts/json.hpp"
#include "core/host/host.hpp"
#include "tests/core/host/fake_root.hpp"

namespace pbprobe::host {

// Names without ".json", sorted.
[[nodiscard]] std::vector<std::string> recorded_names();

[[nodiscard]] Json read_json(const std::string& path);
[[nodiscard]] Json read_recorded(const std::string& name);

// Writes the record's files below `root`, which must outlive the sources. No driver, no NVML.
[[nodiscard]] HostSources make_recorded_sources(const Json& record, const FakeRoot& root);

}  // namespace pbprobe::host
