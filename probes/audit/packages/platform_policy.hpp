// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries and symbol versions that the platform tag of a wheel lets it need from the system.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// Reports whether every system with a C and C++ compiler has a library of this name.
[[nodiscard]] bool is_system_library(std::string_view name);

// Reports whether some platform tag lets a wheel take this library from the system, or Python brings the library.
[[nodiscard]] bool is_allowed_from_system(std::string_view name);

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
