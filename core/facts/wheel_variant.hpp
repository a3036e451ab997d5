// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Properties declared by a wheel variant (PEP 817 and PEP 825, drafts).
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// One property of a wheel variant (PEP 825, a draft): "nvidia :: sm_arch :: 120_real".
struct VariantProperty {
  std::string provider;  // namespace: "nvidia"
  std::string feature;   // "sm_arch"
  std::string value;     // "120_real"
};

// Contents of a wheel's variant.json.
struct WheelVariant {
  std::string label;
  std::vector<VariantProperty> properties;
};

template <class Visitor, SameAs<VariantProperty> T>
void fields(Visitor& visit, T& property) {
  visit("provider", property.provider, "namespace");
  visit("feature", property.feature, "feature in the namespace");
  visit("value", property.value, "value of the feature");
}

template <class Visitor, SameAs<WheelVariant> T>
void fields(Visitor& visit, T& variant) {
  visit("label", variant.label, "label in the wheel's name");
  visit("properties", variant.properties, "properties that the wheel was built for");
}

}  // namespace pbprobe
