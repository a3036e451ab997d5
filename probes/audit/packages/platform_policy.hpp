// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries and symbol versions that the platform tag of a wheel lets it need from the system.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// Rules of one platform tag, such as manylinux_2_28_x86_64.
class PlatformPolicy {
 public:
  // Returns nullopt for a tag without rules: linux_x86_64, any.
  [[nodiscard]] static std::optional<PlatformPolicy> find(std::string_view tag);

  // Reports whether the system has a library of this name, or ld.so provides it itself.
  [[nodiscard]] bool permits(std::string_view library) const;

  // Returns the newest version of a set ("GLIBC", "GLIBCXX", "CXXABI") that the system has; nullopt if no rule names
  // it.
  [[nodiscard]] std::optional<std::string> find_newest(const std::string& set) const;

  [[nodiscard]] bool is_musl() const { return musl_; }

 private:
  bool musl_ = false;
  int glibc_ = 0;  // 28 for 2.28
};

}  // namespace pbprobe
