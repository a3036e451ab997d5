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
    char stage = 'a';  // 'a', 'b' or 'c', which is a release candidate
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

// Null: it is none.
[[nodiscard]] std::optional<PythonVersion> parse_python_version(std::string_view text);

// The same version of the same build: 2.11.0 is 2.11, and where one of them has no local part, any is right.
[[nodiscard]] bool same_version(const PythonVersion& one, const PythonVersion& other);

// Whether this is the release that is claimed ("2.11.0", or "2.11", which 2.11.1 is too) and no alpha, candidate, post
// or dev version of it; its local part may be any.
[[nodiscard]] bool is_release(const PythonVersion& version, const PythonVersion& claimed);

// Whether a requirement as METADATA writes it ("==2.11.0", ">=2.9,<2.12", "~=2.10.0", "==2.11.*") takes the version.
// What is not a version specifier takes any.
[[nodiscard]] bool satisfies(const PythonVersion& version, std::string_view specifiers);

// "My.Torch" is "my-torch": how names of packages are compared (PEP 503).
[[nodiscard]] std::string package_name(std::string_view name);

}  // namespace pbprobe
