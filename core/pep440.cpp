// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/pep440.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_separator(char c) {
  return c == '.' || c == '-' || c == '_';
}

// Parser that consumes the front of the remaining text.
struct Reader {
  std::string_view rest;

  bool take(std::string_view word) {
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
  }

  std::optional<uint64_t> number() {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (rest.empty() || !is_digit(rest.front()) || error != std::errc()) return std::nullopt;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return value;
  }

  // "rc1", ".rc.1" and "-rc" all name the stage; without a number it is 0.
  template <size_t N>
  std::optional<std::pair<char, uint64_t>> stage(const std::array<std::pair<std::string_view, char>, N>& names) {
    Reader ahead = *this;
    if (!ahead.rest.empty() && is_separator(ahead.rest.front())) ahead.rest.remove_prefix(1);
    const auto name = std::ranges::find_if(names, [&](const auto& entry) { return ahead.take(entry.first); });
    if (name == names.end()) return std::nullopt;
    Reader number = ahead;
    if (!number.rest.empty() && is_separator(number.rest.front())) number.rest.remove_prefix(1);
    const auto value = number.number();
    *this = value ? number : ahead;
    return std::pair(name->second, value.value_or(0));
  }
};

// Longer words first: "alpha" begins with "a".
constexpr std::array<std::pair<std::string_view, char>, 8> kPre{
    {{"alpha", 'a'}, {"beta", 'b'}, {"preview", 'c'}, {"pre", 'c'}, {"rc", 'c'}, {"a", 'a'}, {"b", 'b'}, {"c", 'c'}}};
constexpr std::array<std::pair<std::string_view, char>, 3> kPost{{{"post", 'p'}, {"rev", 'p'}, {"r", 'p'}}};
constexpr std::array<std::pair<std::string_view, char>, 1> kDev{{{"dev", 'd'}}};

bool read_release(Reader& reader, PythonVersion& version) {
  auto first = reader.number();
  if (first && reader.take("!")) {
    version.epoch = *first;
    first = reader.number();
  }
  if (!first) return false;
  version.release.push_back(*first);
  while (reader.rest.size() > 1 && reader.rest[0] == '.' && is_digit(reader.rest[1])) {
    reader.rest.remove_prefix(1);
    const auto part = reader.number();
    if (!part) return false;
    version.release.push_back(*part);
  }
  return true;
}

void read_post(Reader& reader, PythonVersion& version) {
  Reader ahead = reader;
  if (ahead.take("-")) {  // "2.11.0-1" is 2.11.0.post1
    version.post = ahead.number();
    if (version.post) {
      reader = ahead;
      return;
    }
  }
  if (const auto post = reader.stage(kPost)) version.post = post->second;
}

bool read_local(Reader& reader, PythonVersion& version) {
  if (reader.rest.empty()) return true;
  if (!reader.take("+")) return false;
  version.local.emplace_back();
  for (const char c : reader.rest) {
    if (is_separator(c)) {
      version.local.emplace_back();
    } else if (is_digit(c) || is_letter(c)) {
      version.local.back() += c;
    } else {
      return false;
    }
  }
  return std::ranges::none_of(version.local, [](const std::string& part) { return part.empty(); });
}

// Returns one part of the release number; missing parts are 0.
uint64_t get_part(const PythonVersion& version, size_t place) {
  return place < version.release.size() ? version.release[place] : 0;
}

bool same_release(const PythonVersion& one, const PythonVersion& other, size_t parts) {
  for (size_t i = 0; i < parts; ++i) {
    if (get_part(one, i) != get_part(other, i)) return false;
  }
  return true;
}

// Returns a key that orders versions of one release: dev, pre-release, release, post-release.
std::array<uint64_t, 4> make_stage_key(const PythonVersion& version) {
  const uint64_t stage = version.pre                    ? static_cast<uint64_t>(version.pre->stage - 'a') + 1
                         : version.dev && !version.post ? 0
                                                        : 4;
  return {stage, version.pre ? version.pre->number : 0, version.post ? *version.post + 1 : 0,
          version.dev ? *version.dev : ~uint64_t{0}};
}

// Less than, the same, more than: -1, 0, 1. Local parts aside.
int compare(const PythonVersion& one, const PythonVersion& other) {
  if (one.epoch != other.epoch) return one.epoch < other.epoch ? -1 : 1;
  for (size_t i = 0; i < std::max(one.release.size(), other.release.size()); ++i) {
    if (get_part(one, i) != get_part(other, i)) return get_part(one, i) < get_part(other, i) ? -1 : 1;
  }
  const auto left = make_stage_key(one);
  const auto right = make_stage_key(other);
  return left < right ? -1 : left == right ? 0 : 1;
}

bool is_before_release(const PythonVersion& version) {
  return version.pre || (version.dev && !version.post);
}

bool is_compatible(const PythonVersion& version, const PythonVersion& wanted) {
  const size_t fixed = wanted.release.size() - 1;
  return fixed > 0 && compare(version, wanted) >= 0 && version.epoch == wanted.epoch &&
         same_release(version, wanted, fixed);
}

struct Specifier {
  std::string sign;
  PythonVersion version;
  bool any_end = false;  // "==2.11.*"
};

std::optional<Specifier> parse_specifier(std::string_view specifier) {
  std::string text;
  for (const char c : specifier) {
    if (c != ' ' && c != '(' && c != ')') text += c;
  }
  const size_t end = text.find_first_not_of("=!<>~");
  if (end == 0 || end == text.npos) return std::nullopt;
  std::string name = text.substr(end);
  constexpr std::array<std::string_view, 8> kSigns{"==", "===", "!=", "~=", "<", "<=", ">", ">="};
  const std::string sign = text.substr(0, end);
  const bool any_end = name.ends_with(".*");
  if (std::ranges::find(kSigns, sign) == kSigns.end()) return std::nullopt;
  if (any_end && sign != "==" && sign != "!=") return std::nullopt;
  if (any_end) name.resize(name.size() - 2);
  auto version = parse_python_version(name);
  if (!version) return std::nullopt;
  return Specifier{sign, std::move(*version), any_end};
}

bool satisfies_one(const PythonVersion& version, std::string_view specifier) {
  const auto parsed = parse_specifier(specifier);
  if (!parsed) return true;
  const std::string& sign = parsed->sign;
  const PythonVersion* const wanted = &parsed->version;
  const auto is_wanted = [&] {
    if (parsed->any_end)
      return version.epoch == wanted->epoch && same_release(version, *wanted, wanted->release.size());
    return compare(version, *wanted) == 0 && (wanted->local.empty() || wanted->local == version.local);
  };
  if (sign == "==" || sign == "===") return is_wanted();
  if (sign == "!=") return !is_wanted();
  if (sign == "~=") return is_compatible(version, *wanted);
  const int order = compare(version, *wanted);
  const bool same = same_release(version, *wanted, std::max(version.release.size(), wanted->release.size()));
  // "Exclusive ordered comparison": <2.12 takes no candidate of 2.12, and >2.11 no post release of 2.11.
  if (sign == "<") return order < 0 && !(same && is_before_release(version) && !is_before_release(*wanted));
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0 && !(same && version.post && !wanted->post);
  return sign != ">=" || order >= 0;
}

bool same_stage(const PythonVersion& one, const PythonVersion& other) {
  return one.epoch == other.epoch && one.pre == other.pre && one.post == other.post && one.dev == other.dev;
}

}  // namespace

std::optional<PythonVersion> parse_python_version(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  Reader reader{lower};
  reader.take("v");
  PythonVersion version;
  if (!read_release(reader, version)) return std::nullopt;
  if (const auto pre = reader.stage(kPre)) version.pre = PythonVersion::Pre{.stage = pre->first, .number = pre->second};
  read_post(reader, version);
  if (const auto dev = reader.stage(kDev)) version.dev = dev->second;
  if (!read_local(reader, version)) return std::nullopt;
  return version;
}

bool same_version(const PythonVersion& one, const PythonVersion& other) {
  const bool local = one.local.empty() || other.local.empty() || one.local == other.local;
  return local && same_stage(one, other) &&
         same_release(one, other, std::max(one.release.size(), other.release.size()));
}

bool is_release(const PythonVersion& version, const PythonVersion& claimed) {
  const bool local = claimed.local.empty() || claimed.local == version.local;
  return local && same_stage(version, claimed) && same_release(version, claimed, claimed.release.size());
}

bool satisfies(const PythonVersion& version, std::string_view specifiers) {
  const auto all = split(specifiers, ',');
  return std::ranges::all_of(all, [&](std::string_view one) { return satisfies_one(version, one); });
}

bool are_specifiers(std::string_view text) {
  const auto all = split(text, ',');
  return std::ranges::all_of(all, [](std::string_view one) {
    return one.find_first_not_of(' ') == one.npos || parse_specifier(one).has_value();
  });
}

std::string package_name(std::string_view name) {
  std::string normal;
  for (const char c : name) {
    if (!is_separator(c)) {
      normal += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!normal.ends_with('-')) {
      normal += '-';
    }
  }
  return normal;
}

}  // namespace pbprobe
