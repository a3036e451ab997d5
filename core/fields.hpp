// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Described fields. FIELD declares a field of a struct with its description, which serves the struct's JSON writer, its
// strict JSON reader and its JSON Schema (core/json.hpp; include that header only to read or write JSON):
//
//   struct Gpu {
//     FIELD(std::string, name, "name reported by the driver");
//     FIELD(std::optional<int64_t>, memory_bytes, "null if the driver does not know it");
//   };
//
// std::optional is written as null and may be absent; every other key is required. Types are exact: a number for a
// string, or 1.5 or true for an integer, is refused with the path of the key. Unknown keys are ignored, so that keys
// can be added freely. The JSON of an enum is the name of its enumerator; an overload of enum_names() for its type
// gives other names.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pbprobe {

template <class T, class U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

// Declares a field, with a comma-free `type` and at most one string: its description. An initial value may follow. Put
// each FIELD on a line of its own: the line numbers give the order of the JSON keys.
#define FIELD(type, name, ...) FIELD_AS(type, name, #name __VA_OPT__(, ) __VA_ARGS__)

// Declares a field whose JSON key is not its name.
#define FIELD_AS(type, name, key, ...)                             \
  VISIT_FIELDS(visit(key, object.name __VA_OPT__(, ) __VA_ARGS__)) \
  type name

// Declares the constant value of the key "schema".
#define SCHEMA(id)                           \
  VISIT_FIELDS(visit.constant("schema", id)) \
  static_assert(true)

#define VISIT_FIELDS(...)                                                                       \
  static void visit_fields(auto& visit, auto& object, ::pbprobe::detail::FieldLine<__LINE__>) { \
    ::pbprobe::detail::visit_fields_above<__LINE__>(visit, object);                             \
    __VA_ARGS__;                                                                                \
  }

// JSON object with any keys. FIELD takes no type with a comma.
template <class T>
using ByName = std::map<std::string, T>;

template <class E>
using EnumName = std::pair<E, std::string_view>;

template <class E>
concept Enum = std::is_enum_v<E>;

namespace detail {

// Files have at most 500 lines.
inline constexpr int kLastFieldLine = 500;

// Tag of a line with a FIELD (a member that JSON shows). A call with FieldLine<n> selects the last FIELD up to line n.
template <int kLine>
struct FieldLine : FieldLine<kLine - 1> {};
template <>
struct FieldLine<0> {};

// Visits the fields that are declared above `kLine`, in their order.
template <int kLine>
void visit_fields_above(auto& visit, auto& object) {
  if constexpr (requires { object.visit_fields(visit, object, FieldLine<kLine - 1>()); })
    object.visit_fields(visit, object, FieldLine<kLine - 1>());
}

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

// Calls `visit(key, field, description)` for each described field of `object`, in the order of declaration.
void fields(auto& visit, auto& object) {
  detail::visit_fields_above<detail::kLastFieldLine + 1>(visit, object);
}

// Returns the enumerators of an enum that numbers them from 0 on, with their names.
template <Enum E>
[[nodiscard]] std::span<const EnumName<E>> enum_names(E) {
  static constexpr auto kNames =
      detail::list_enumerators<E>(std::make_index_sequence<detail::count_enumerators<E>()>());
  return kNames;
}

// Returns the name of an enumerator as JSON has it; "?" for another value.
template <Enum E>
[[nodiscard]] std::string_view name_of(E value) {
  for (const auto& [entry, name] : enum_names(value)) {
    if (entry == value) return name;
  }
  return "?";
}

}  // namespace pbprobe
