// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/torch_names.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/demangle.hpp"

namespace pbprobe {
namespace {

constexpr std::array<std::string_view, 5> kNamespaces{"c10", "c10d", "at", "torch", "caffe2"};
constexpr std::string_view kPython = "THP";
constexpr std::string_view kShim = "aoti_torch_";
constexpr std::string_view kStable = "torch_";

bool skip(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

void skip_any(std::string_view& rest, std::string_view characters) {
  rest.remove_prefix(std::min(rest.find_first_not_of(characters), rest.size()));
}

// <call-offset> ::= h <number> _ | v <number> _ <number> _: "hn16_", "v0_n24_".
void skip_call_offset(std::string_view& rest) {
  const int numbers = skip(rest, "h") ? 1 : skip(rest, "v") ? 2 : 0;
  for (int i = 0; i < numbers; ++i) {
    skip(rest, "n");
    skip_any(rest, "0123456789");
    skip(rest, "_");
  }
}

// Skips what precedes the name of the entity in a <special-name> or <local-name>: "TI" of type information, "GV" of a
// guard variable, "Thn16_" of a thunk, "Z" of an entity inside a function.
void skip_special(std::string_view& rest) {
  constexpr std::array<std::string_view, 14> kSpecial{"TV", "TT", "TI", "TS", "TC", "TW",  "TH",
                                                      "TA", "TF", "TJ", "GV", "GR", "GTt", "GTn"};
  while (true) {
    if (skip(rest, "Z") || std::ranges::any_of(kSpecial, [&](auto kind) { return skip(rest, kind); })) continue;
    if (skip(rest, "Tc")) {
      skip_call_offset(rest);
      skip_call_offset(rest);
    } else if (rest.starts_with("Th") || rest.starts_with("Tv")) {
      rest.remove_prefix(1);
      skip_call_offset(rest);
    } else {
      return;
    }
  }
}

// <nested-name> ::= N [<CV-qualifiers>] [<ref-qualifier>] <prefix> …, or an unscoped name.
struct FirstName {
  bool nested = false;
  std::string_view text;  // "c10" of N3c105ErrorE; empty for a substitution, an operator or a template parameter
};

FirstName read_first_name(std::string_view rest) {
  FirstName name;
  skip_special(rest);
  if (skip(rest, "N")) {
    name.nested = true;
    skip(rest, "H");  // a function with an explicit object parameter
    skip_any(rest, "rVK");
    skip_any(rest, "RO");
    if (rest.starts_with("Z")) return read_first_name(rest);
  }
  skip(rest, "L");  // internal linkage
  name.text = take_identifier(rest);
  return name;
}

// Reports whether a parameter or template argument has a type in torch's namespaces: "N3c10", then the next name.
bool names_torch_type(std::string_view symbol) {
  return std::ranges::any_of(kNamespaces, [&](std::string_view space) {
    const std::string mark = "N" + std::to_string(space.size()) + std::string(space);
    for (size_t at = symbol.find(mark); at != symbol.npos; at = symbol.find(mark, at + 1)) {
      const size_t next = at + mark.size();
      if (next < symbol.size() && (symbol[next] < 'a' || symbol[next] > 'z') && symbol[next] != '_') return true;
    }
    return false;
  });
}

}  // namespace

TorchName classify_torch_name(std::string_view symbol) {
  if (symbol.starts_with(kPython)) return TorchName::member;
  if (symbol.starts_with(kShim) || symbol.starts_with(kStable)) return TorchName::stable;
  std::string_view rest = symbol;
  if (!skip(rest, "_Z")) return TorchName::none;
  const FirstName first = read_first_name(rest);
  const bool own = std::ranges::find(kNamespaces, first.text) != kNamespaces.end();
  if ((first.nested && own) || first.text.starts_with(kPython)) return TorchName::member;
  return names_torch_type(symbol) ? TorchName::signature : TorchName::none;
}

bool is_reserved_for_torch(std::string_view symbol) {
  return symbol.starts_with(kShim) || classify_torch_name(symbol) == TorchName::member;
}

bool has_old_string(std::string_view symbol) {
  if (symbol.find("Ss") == symbol.npos && symbol.find("Sb") == symbol.npos) return false;
  const auto plain = demangle(symbol);
  if (!plain) return false;
  return plain->find("std::string") != plain->npos || plain->find("std::basic_string<char") != plain->npos;
}

}  // namespace pbprobe
