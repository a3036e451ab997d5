// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace pbprobe {
namespace {

constexpr size_t kLongestName = 4096;  // the demangler recurses, and the name is a stranger's
constexpr size_t kShown = 200;

}  // namespace

std::string demangled(std::string_view name) {
  std::string text(name);
  if (name.starts_with("_Z") && name.size() <= kLongestName) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status),
                                                       std::free);
    if (status == 0) text = plain.get();
  }
  if (text.size() > kShown) text = text.substr(0, kShown - 3) + "...";
  return text;
}

}  // namespace pbprobe
