// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions of Python packages, by PEP 440 (https://peps.python.org/pep-0440/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

struct PythonVersion {
  struct Pre {
    char stage = 'a';  // 'a', 'b' or 'c' (release candidate)
    uint64_t number = 0;
    bool operator==(const Pre&) const = default;
  };

  uint64_t epoch = 0;
  std::vector<uint64_t> release;  // 2, 11 and 0
  std::optional<Pre> pre;
  std::optional<uint64_t> post;
  std::optional<uint64_t> dev;
  std::vector<std::string> local;  // "cu130" of 2.11.0+cu130, in lower case
};

// Parses a version; nullopt if `text` is not one.
[[nodiscard]] std::optional<PythonVersion> parse_python_version(std::string_view text);

// Reports whether both denote the same version of the same build: 2.11.0 equals 2.11. A missing local part matches any
// local part.
[[nodiscard]] bool same_version(const PythonVersion& one, const PythonVersion& other);

// Reports whether `version` is the release `claimed` ("2.11.0"; "2.11" also matches 2.11.1), not an alpha, candidate,
// post or dev version of it. Ignores local parts.
[[nodiscard]] bool is_release(const PythonVersion& version, const PythonVersion& claimed);

// Reports whether `version` satisfies a requirement in METADATA ("==2.11.0", ">=2.9,<2.12", "~=2.10.0", "==2.11.*"). A
// text that is not a version specifier accepts every version.
[[nodiscard]] bool satisfies(const PythonVersion& version, std::string_view specifiers);

// Reports whether `text` is a list of version specifiers.
[[nodiscard]] bool are_specifiers(std::string_view text);

// Normalizes a package name for comparison (PEP 503): "My.Torch" becomes "my-torch".
[[nodiscard]] std::string package_name(std::string_view name);

}  // namespace pbprobe
