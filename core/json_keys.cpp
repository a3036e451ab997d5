// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/json_keys.hpp"

#include <fmt/format.h>

namespace pbprobe {
namespace {

std::optional<std::string> unknown_key(const Json& given, const Json& known, const std::string& path) {
  if (given.is_object() && known.is_object()) {
    for (const auto& [key, value] : given.items()) {
      const std::string here = path.empty() ? key : path + "." + key;
      const auto same = known.find(key);
      if (same == known.end()) return here;
      if (auto below = unknown_key(value, *same, here)) return below;
    }
  }
  if (given.is_array() && known.is_array()) {
    for (size_t i = 0; i < given.size() && i < known.size(); ++i) {
      if (auto below = unknown_key(given[i], known[i], fmt::format("{}[{}]", path, i))) return below;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unknown_key(const Json& given, const Json& known) {
  return unknown_key(given, known, "");
}

void allow_no_other_keys(Json& schema) {
  if (schema.is_array()) {
    for (auto& element : schema) allow_no_other_keys(element);
  }
  if (!schema.is_object()) return;
  for (auto& [key, value] : schema.items()) allow_no_other_keys(value);
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->is_object()) schema["additionalProperties"] = false;
}

}  // namespace pbprobe
