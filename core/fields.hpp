// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Field descriptions. One description of a struct's fields serves its JSON writer, its strict JSON reader and its JSON
// Schema (core/json.hpp; include that header only to read or write JSON):
//
//   struct Gpu { std::string name; std::optional<int64_t> memory_bytes; };
//   void fields(auto& visit, SameAs<Gpu> auto& gpu) {
//     visit("name", gpu.name, "name reported by the driver");
//     visit("memory_bytes", gpu.memory_bytes, "null if the driver does not know it");
//   }
//
// std::optional is written as null and may be absent; every other key is required. Types are exact: a number for a
// string, or 1.5 or true for an integer, is refused with the path of the key. Unknown keys are ignored, so that keys
// can be added freely. An enum needs `enum_names(Enum)`, a span of (value, name).
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pbprobe {

template <class T, class U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

template <class E>
using EnumName = std::pair<E, std::string_view>;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  enum_names(e);
};

template <NamedEnum E>
[[nodiscard]] std::string_view name_of(E value) {
  for (const auto& [entry, name] : enum_names(value)) {
    if (entry == value) return name;
  }
  return "?";
}

}  // namespace pbprobe
