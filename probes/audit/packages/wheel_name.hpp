// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// File name of a wheel (PEP 427), and the processor in a platform tag.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

struct WheelName {
  std::string name;
  std::string version;
  std::string build;  // "" without a build tag
  std::vector<std::string> python;
  std::vector<std::string> abi;
  std::vector<std::string> platform;
};

// Returns the parts of "spam-1.0-cp311-cp311-linux_x86_64.whl"; nullopt if the name has another form.
[[nodiscard]] std::optional<WheelName> parse_wheel_name(std::string file);

// Reports whether all platform tags in a wheel's name are of systems other than Linux. False for other names.
[[nodiscard]] bool is_for_other_system(const std::string& wheel);

// Returns "ppc64le" of "manylinux_2_28_ppc64le"; "" of "any" and of platforms other than Linux.
[[nodiscard]] std::string find_processor_of_tag(std::string_view platform);

}  // namespace pbprobe
