// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Conversion of structs with field descriptions (core/fields.hpp) to JSON and back, and their JSON Schemas.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/result.hpp"

namespace pbprobe {

using Json = nlohmann::ordered_json;

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

struct Writer {
  Json object = Json::object();
  template <class T>
  void operator()(const char* key, const T& value, std::string_view = {}) {
    object[key] = write(value);
  }
  void constant(const char* key, std::string_view value) { object[key] = value; }

  template <class T>
  static Json write(const T& value) {
    if constexpr (IsOptional<T>::value) {
      return value ? write(*value) : Json(nullptr);
    } else if constexpr (IsVector<T>::value) {
      Json array = Json::array();
      for (const auto& element : value) array.push_back(write(element));
      return array;
    } else if constexpr (IsMap<T>::value) {
      Json object = Json::object();
      for (const auto& [key, element] : value) object[key] = write(element);
      return object;
    } else if constexpr (Enum<T>) {
      return Json(name_of(value));
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, Json>) {
      return Json(value);
    } else {
      Writer writer;
      fields(writer, value);
      return std::move(writer.object);
    }
  }
};

// Keeps the first error; later fields keep their defaults.
struct Reader {
  const Json& object;
  std::string path;
  std::optional<Error>& error;

  template <class T>
  void operator()(const char* key, T& value, std::string_view = {}) {
    if (error) return;
    auto found = object.find(key);
    const std::string here = path.empty() ? key : path + "." + key;
    if (found == object.end()) {
      if constexpr (!IsOptional<T>::value)
        error = make_error(ErrorCode::malformed, "{}: required key is missing", here);
      return;
    }
    read(*found, value, here, error);
  }
  void constant(const char* key, std::string_view value) {
    std::string seen;
    (*this)(key, seen);
    if (!error && seen != value)
      error = make_error(ErrorCode::malformed, "{}{}{}: expected \"{}\", got \"{}\"", path, path.empty() ? "" : ".",
                         key, value, seen);
  }

  static void refuse(const Json& json, std::string_view wanted, const std::string& path, std::optional<Error>& error) {
    error = make_error(ErrorCode::malformed, "{}: expected {}, got {}", path.empty() ? "document" : path, wanted,
                       json.is_number_float() ? "a fractional number" : json.type_name());
  }

  template <class T>
  static void read(const Json& json, T& value, const std::string& path, std::optional<Error>& error) {
    if (error) return;
    if constexpr (IsOptional<T>::value) {
      if (json.is_null()) {
        value.reset();
      } else {
        read(json, value.emplace(), path, error);
      }
    } else if constexpr (IsVector<T>::value) {
      if (!json.is_array()) return refuse(json, "an array", path, error);
      value.clear();
      for (size_t i = 0; i < json.size(); ++i) {
        typename T::value_type element{};
        read(json[i], element, fmt::format("{}[{}]", path, i), error);
        value.push_back(std::move(element));
      }
    } else if constexpr (IsMap<T>::value) {
      if (!json.is_object()) return refuse(json, "an object", path, error);
      value.clear();
      for (const auto& [key, element] : json.items()) read(element, value[key], path + "." + key, error);
    } else if constexpr (Enum<T>) {
      if (!json.is_string()) return refuse(json, "a string", path, error);
      const auto& text = json.get_ref<const std::string&>();
      for (const auto& [entry, name] : enum_names(value)) {
        if (name == text) {
          value = entry;
          return;
        }
      }
      error = make_error(ErrorCode::malformed, "{}: unknown value \"{}\"", path, text);
    } else if constexpr (std::same_as<T, bool>) {
      if (!json.is_boolean()) return refuse(json, "true or false", path, error);
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!json.is_number_integer()) return refuse(json, "an integer", path, error);
      const bool fits =
          json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>()) : std::in_range<T>(json.get<int64_t>());
      if (!fits) return refuse(json, "an integer in range", path, error);
      value = json.get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number()) return refuse(json, "a number", path, error);
      value = json.get<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!json.is_string()) return refuse(json, "a string", path, error);
      value = json.get<std::string>();
    } else if constexpr (std::same_as<T, Json>) {
      value = json;
    } else {
      if (!json.is_object()) return refuse(json, "an object", path, error);
      Reader reader{json, path, error};
      fields(reader, value);
    }
  }
};

// Returns "Gpu" for pbprobe::Gpu.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() {
  return argument_name(__PRETTY_FUNCTION__);
}

// Writes the schema of one struct. Nested structs go to `definitions`, once each.
struct SchemaWriter {
  Json& definitions;
  Json properties = Json::object();
  Json required = Json::array();

  template <class T>
  void operator()(const char* key, const T&, std::string_view description = {}) {
    Json property = make_schema<T>();
    if (!description.empty()) property["description"] = description;
    properties[key] = std::move(property);
    if constexpr (!IsOptional<T>::value) required.push_back(key);
  }
  void constant(const char* key, std::string_view value) {
    properties[key] = Json{{"const", value}};
    required.push_back(key);
  }

  template <class T>
  Json make_schema() {
    if constexpr (IsOptional<T>::value) {
      Json schema = make_schema<typename T::value_type>();
      if (!schema.contains("type")) return Json{{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}};
      schema["type"] = Json::array({schema["type"], "null"});
      return schema;
    } else if constexpr (IsVector<T>::value) {
      return Json{{"type", "array"}, {"items", make_schema<typename T::value_type>()}};
    } else if constexpr (IsMap<T>::value) {
      return Json{{"type", "object"}, {"additionalProperties", make_schema<typename T::mapped_type>()}};
    } else if constexpr (Enum<T>) {
      Json names = Json::array();
      for (const auto& [entry, name] : enum_names(T{})) names.push_back(name);
      return Json{{"enum", std::move(names)}};
    } else if constexpr (std::same_as<T, bool>) {
      return Json{{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
      return Json{{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return Json{{"type", "number"}};
    } else if constexpr (std::same_as<T, std::string>) {
      return Json{{"type", "string"}};
    } else if constexpr (std::same_as<T, Json>) {
      return Json::object();
    } else {
      const std::string name(type_name<T>());
      if (!definitions.contains(name)) {
        definitions[name] = nullptr;  // in the order in which they are met
        definitions[name] = object_schema<T>(definitions);
      }
      return Json{{"$ref", "#/$defs/" + name}};
    }
  }

  template <class T>
  static Json object_schema(Json& definitions) {
    SchemaWriter writer{definitions};
    const T value{};
    fields(writer, value);
    return Json{{"type", "object"}, {"required", writer.required}, {"properties", writer.properties}};
  }
};

}  // namespace detail

template <class T>
[[nodiscard]] Json to_json(const T& value) {
  return detail::Writer::write(value);
}

// Reads a T. Error: malformed, with the path of the first key that is missing or has another type.
template <class T>
[[nodiscard]] Result<T> from_json(const Json& json) {
  T value{};
  std::optional<Error> error;
  detail::Reader::read(json, value, "", error);
  if (error) return *error;
  return value;
}

// Parses `text`. The message has line and column of a syntax error, and any key that appears twice in one object.
// Limits the depth to 64.
[[nodiscard]] Result<Json> parse_json(std::string_view text);

// Writes `json` as UTF-8 that is safe on a terminal. Invalid bytes in strings become U+FFFD, and invisible characters
// become \uXXXX. `indent` -1 writes one line.
[[nodiscard]] std::string dump_json(const Json& json, int indent = 2);

// Returns the JSON Schema (draft 2020-12) of T without the "$schema" line. Nested types are in "$defs", keyed by type
// name.
template <class T>
[[nodiscard]] Json json_schema() {
  Json definitions = Json::object();
  Json schema = detail::SchemaWriter::object_schema<T>(definitions);
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  return schema;
}

// Writes a schema as dump_json does, with short elements on one line.
[[nodiscard]] std::string dump_schema(const Json& schema);

// Returns the path of a key in `given` that is missing in `known`, the same document after parsing and writing:
// "files[0].sm".
[[nodiscard]] std::optional<std::string> unknown_key(const Json& given, const Json& known);

// Makes `schema` reject unknown keys.
void allow_no_other_keys(Json& schema);

}  // namespace pbprobe
