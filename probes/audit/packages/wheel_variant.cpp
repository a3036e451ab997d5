// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/wheel_variant.hpp"

#include "core/json.hpp"

namespace pbprobe {
namespace {

using Features = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

struct VariantDocument {
  std::map<std::string, Features> variants;  // by label
};

template <class Visitor, SameAs<VariantDocument> T>
void fields(Visitor& visit, T& document) {
  visit("variants", document.variants, "by label");
}

}  // namespace

Result<WheelVariant> parse_variant_json(std::string_view text) {
  PBPROBE_TRY(const Json json, parse_json(text), "{}", kVariantFile);
  PBPROBE_TRY(const auto document, from_json<VariantDocument>(json), "{}", kVariantFile);
  if (document.variants.size() != 1)
    return make_error(ErrorCode::malformed, "{}: it holds {} variants, and a wheel is one", kVariantFile,
                      document.variants.size());
  const auto& [label, providers] = *document.variants.begin();
  WheelVariant variant{.label = label};
  for (const auto& [provider, features] : providers) {
    for (const auto& [feature, values] : features) {
      for (const auto& value : values) variant.properties.push_back({provider, feature, value});
    }
  }
  return variant;
}

}  // namespace pbprobe
