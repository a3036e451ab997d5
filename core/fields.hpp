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
// can be added freely. The JSON of an enum is the name of its enumerator; an overload of enum_names() for its type
// gives other names.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pbprobe {

template <class T, class U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

template <class E>
using EnumName = std::pair<E, std::string_view>;

template <class E>
concept Enum = std::is_enum_v<E>;

namespace detail {

// Returns the unqualified name of the only template argument. `function`: __PRETTY_FUNCTION__, to which gcc and
// clang append "[with T = pbprobe::Gpu; …]" or "[T = pbprobe::Gpu]". Returns "" for a value that is no enumerator,
// "(pbprobe::Outcome)3".
[[nodiscard]] constexpr std::string_view argument_name(std::string_view function) {
  function.remove_prefix(function.find(" = ") + 3);
  function = function.substr(0, function.find_first_of(";]"));
  return function.starts_with('(') ? std::string_view() : function.substr(function.rfind(':') + 1);
}

template <auto kValue>
[[nodiscard]] constexpr std::string_view enumerator_name() {
  return argument_name(__PRETTY_FUNCTION__);
}

template <Enum E, size_t kFirst = 0>
[[nodiscard]] constexpr size_t count_enumerators() {
  if constexpr (enumerator_name<static_cast<E>(kFirst)>().empty())
    return kFirst;
  else
    return count_enumerators<E, kFirst + 1>();
}

template <Enum E, size_t... kValues>
[[nodiscard]] constexpr std::array<EnumName<E>, sizeof...(kValues)> list_enumerators(std::index_sequence<kValues...>) {
  return {{{static_cast<E>(kValues), enumerator_name<static_cast<E>(kValues)>()}...}};
}

}  // namespace detail

// Returns the enumerators of an enum that numbers them from 0 on, with their names.
template <Enum E>
[[nodiscard]] std::span<const EnumName<E>> enum_names(E) {
  static constexpr auto kNames =
      detail::list_enumerators<E>(std::make_index_sequence<detail::count_enumerators<E>()>());
  return kNames;
}

template <Enum E>
[[nodiscard]] std::string_view name_of(E value) {
  for (const auto& [entry, name] : enum_names(value)) {
    if (entry == value) return name;
  }
  return "?";
}

}  // namespace pbprobe
