// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/wheel_name.hpp"

#include <algorithm>
#include <array>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

std::vector<std::string> split_name(std::string_view text, char separator) {
  const auto parts = split(text, separator);
  return {parts.begin(), parts.end()};
}

}  // namespace

std::optional<WheelName> parse_wheel_name(std::string file) {
  constexpr std::string_view kExtension = ".whl";
  if (!file.ends_with(kExtension)) return std::nullopt;
  file.resize(file.size() - kExtension.size());
  const auto parts = split_name(file, '-');
  if (parts.size() != 5 && parts.size() != 6) return std::nullopt;
  const size_t tag = parts.size() - 3;
  std::string version = parts[1];
  for (const std::string_view plus : {"%2B", "%2b"}) {  // encodings of "+" in URLs
    if (const size_t at = version.find(plus); at != version.npos) version.replace(at, plus.size(), "+");
  }
  const std::string build = parts.size() == 6 ? parts[2] : "";
  return WheelName{parts[0],
                   version,
                   build,
                   split_name(parts[tag], '.'),
                   split_name(parts[tag + 1], '.'),
                   split_name(parts[tag + 2], '.')};
}

bool is_for_other_system(const std::string& wheel) {
  const auto name = parse_wheel_name(wheel);
  return name && std::ranges::none_of(name->platform, [](const std::string& platform) {
           return platform == "any" || platform.find("linux") != platform.npos;
         });
}

std::string find_processor_of_tag(std::string_view platform) {
  constexpr std::array<std::string_view, 9> kProcessors{"x86_64", "aarch64", "i686",    "ppc64le",    "ppc64",
                                                        "s390x",  "armv7l",  "riscv64", "loongarch64"};
  for (const auto processor : kProcessors) {
    if (platform.find("linux") != platform.npos && platform.ends_with(processor)) return std::string(processor);
  }
  return "";
}

}  // namespace pbprobe
