// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/demangle.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace pbprobe {
namespace {

constexpr size_t kLongestName = 4096;  // limit for untrusted names: the demangler recurses

std::string cut(std::string text, size_t longest) {
  return text.size() > longest ? text.substr(0, longest - 3) + "..." : text;
}

// Returns a short form of a mangled name: "cutlass::device_kernel<...>" for _ZN7cutlass13device_kernelI…. Names of
// CUTLASS kernels exceed the 1024 bytes that the demangler of libstdc++ accepts. Grammar: Itanium C++ ABI, 5.1.3:
// <nested-name> ::= N <source-name>+ … E.
std::string shorten_mangled(std::string_view name) {
  std::string outline;
  std::string_view rest = name;
  if (!rest.starts_with("_ZN")) return std::string(name);
  rest.remove_prefix(3);
  for (auto name_part = take_identifier(rest); !name_part.empty(); name_part = take_identifier(rest))
    outline += (outline.empty() ? "" : "::") + std::string(name_part);
  if (outline.empty()) return std::string(name);
  return outline + (rest.starts_with('I') ? "<...>" : "");
}

// Returns where parameters or template arguments begin. "(anonymous namespace)" and the symbols of an operator belong
// to the name.
size_t find_name_end(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  constexpr std::string_view kOperator = "::operator";
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(kAnonymous)) {
      at += kAnonymous.size();
    } else if (rest.starts_with(kOperator)) {
      at += kOperator.size();
      at = text.substr(at).starts_with("()") ? at + 2
                                             : std::min(text.find_first_not_of("<>=!+-*/%^&|~[],", at), text.size());
    } else if (text[at] == '<' || text[at] == '(') {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

}  // namespace

std::string_view take_identifier(std::string_view& rest) {
  size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const auto digits = static_cast<size_t>(end - rest.data());
  if (error != std::errc() || length > rest.size() - digits) return {};
  const std::string_view identifier = rest.substr(digits, length);
  rest.remove_prefix(digits + length);
  return identifier;
}

std::optional<std::string> demangle(std::string_view name) {
  if (!name.starts_with("_Z") || name.size() > kLongestName) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return std::nullopt;
  return text.get();
}

std::string demangled(std::string_view name, size_t longest) {
  return cut(demangle(name).value_or(shorten_mangled(name)), longest);
}

std::string function_name(std::string_view name) {
  std::string text = demangle(name).value_or(shorten_mangled(name));
  if (text.starts_with("void ")) text.erase(0, 5);
  constexpr size_t kLongest = 80;
  return cut(text.substr(0, find_name_end(text)), kLongest);
}

}  // namespace pbprobe
