// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/attest.hpp"

#include <array>
#include <string_view>

#include "core/json.hpp"

namespace pbprobe {
namespace {

// Variant providers, the most significant first, as installers prefer them. Installers implement abi_dependency
// themselves. Package and plugin are empty if no available provider supports the properties.
struct Provider {
  std::string_view name;
  std::string_view package;
  std::string_view plugin;
};
constexpr std::array<Provider, 5> kProviders{{
    {"nvidia", "nvidia-variant-provider", ""},
    {"abi_dependency", "", ""},
    {"x86_64", "provider-variant-x86-64", "provider_variant_x86_64.plugin:X8664Plugin"},
    {"aarch64", "provider-variant-aarch64", "provider_variant_aarch64.plugin:AArch64Plugin"},
    {"blas_lapack", "", ""},
}};

}  // namespace

std::string variant_json(const WheelVariant& variant) {
  Json properties = Json::object();
  for (const auto& [provider, feature, value] : variant.properties) properties[provider][feature].push_back(value);
  Json order = Json::array();
  Json providers = Json::object();
  for (const auto& provider : kProviders) {
    const std::string name(provider.name);
    if (!properties.contains(name)) continue;
    order.push_back(name);
    if (provider.package.empty()) continue;
    if (!provider.plugin.empty()) providers[name]["plugin-api"] = provider.plugin;
    providers[name]["requires"] = Json::array({provider.package});
  }
  Json document = Json::object();
  document["$schema"] = "https://variants-schema.wheelnext.dev/v0.2.0.json";
  document["default-priorities"]["namespace"] = std::move(order);
  document["providers"] = std::move(providers);
  document["variants"][variant.label] = std::move(properties);
  return document.dump(2) + "\n";
}

}  // namespace pbprobe
