// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/constants.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/sm.hpp"
#include "probes/audit/containers/fatbin.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {
namespace {

constexpr size_t kLongestName = 128;
constexpr size_t kMostNames = 2000;  // a stranger's file may hold any number of them

// Calls `visit` with the text from each `mark` up to its NUL, and with the byte before it.
template <class Visit>
void visit_strings(std::string_view text, std::string_view mark, const Visit& visit) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const void* found = memmem(at, static_cast<size_t>(end - at), mark.data(), mark.size());
    if (found == nullptr) return;
    const char* const begin = static_cast<const char*>(found);
    const size_t room = std::min(kLongestName, static_cast<size_t>(end - begin));
    const void* stop = std::memchr(begin + 1, 0, room - 1);  // the mark itself may begin with the NUL before it
    if (stop != nullptr) {
      const std::string_view word(begin, static_cast<size_t>(static_cast<const char*>(stop) - begin));
      if (!visit(word, begin == text.data() ? char{0} : begin[-1])) return;
    }
    at = begin + mark.size();
  }
}

// Skips fatbin entries among the constants: in a wheel, they are not in memory.
template <class Visit>
Result<void> visit_constants(const Elf& elf, const Visit& visit) {
  for (const auto& section : elf.sections) {
    if (!holds_constants(section)) continue;
    PBPROBE_TRY(const Bytes bytes, section_bytes(elf, section));
    std::string_view rest = bytes.text();
    for (const auto& entry : read_constant_fatbins(elf, section).entries) {
      const auto begin = static_cast<size_t>(reinterpret_cast<const char*>(entry.payload.data()) - rest.data());
      visit(rest.substr(0, begin));
      rest.remove_prefix(begin + entry.padded_bytes);
    }
    visit(rest);
  }
  return {};
}

bool is_library_name(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-' || c == '+';
  });
  return plain && is_shared_object_name(name);
}

// "…, release 12.8, V12.8.93" ends in the version.
std::optional<std::string> parse_banner_version(std::string_view text) {
  std::optional<std::string> version;
  visit_strings(text, "Cuda compilation tools, release ", [&](std::string_view word, char) {
    const size_t mark = word.find(", V");
    if (mark == std::string_view::npos) return true;
    const std::string_view rest = word.substr(mark + 3);
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789."));
    if (!number.empty()) version = std::string(number);
    return number.empty();
  });
  return version;
}

}  // namespace

Result<std::vector<std::string>> read_library_names(const Elf& elf) {
  std::set<std::string> names;
  PBPROBE_CHECK(visit_constants(elf, [&](std::string_view text) {
    const std::string_view first = text.substr(0, text.find('\0'));  // has no NUL before it
    if (first.size() < text.size() && first.size() <= kLongestName && first.starts_with("lib") &&
        is_library_name(first))
      names.emplace(first);
    constexpr std::string_view kMark("\0lib", 4);
    visit_strings(text, kMark, [&](std::string_view word, char) {
      word.remove_prefix(1);
      if (is_library_name(word)) names.emplace(word);
      return names.size() < kMostNames;
    });
  }));
  return std::vector<std::string>(names.begin(), names.end());
}

Result<std::optional<std::string>> read_text_version(const Elf& elf, std::string_view words) {
  std::optional<std::string> version;
  PBPROBE_CHECK(visit_constants(elf, [&](std::string_view text) {
    visit_strings(text, words, [&](std::string_view word, char) {
      word.remove_prefix(words.size());
      const std::string_view number = word.substr(0, word.find_first_not_of("0123456789."));
      if (std::ranges::count(number, '.') == 2) version = std::string(number);
      return !version;
    });
  }));
  return version;
}

bool is_compiler_program(std::string_view file_name) {
  return file_name == "ptxas" || file_name.starts_with("ptxas-");
}

bool is_compiler(std::string_view file_name) {
  return is_compiler_program(file_name) || file_name.starts_with("libnvrtc.") || file_name.starts_with("libnvJitLink.");
}

Result<Compiler> read_compiler(const Elf& elf) {
  Compiler compiler;
  std::set<Sm> knows;
  PBPROBE_CHECK(visit_constants(elf, [&](std::string_view text) {
    // An option ("-arch=compute_90") or a whole string. After a space, it is part of a sentence about old ones.
    visit_strings(text, "compute_", [&](std::string_view word, char before) {
      const auto sm = before == ' ' ? std::nullopt : parse_sm(word);
      if (sm) knows.insert(*sm);
      return knows.size() < kMostNames;
    });
    if (!compiler.version) compiler.version = parse_banner_version(text);
  }));
  for (const Sm& sm : knows) compiler.knows.push_back(sm_name(sm));
  return compiler;
}

}  // namespace pbprobe
