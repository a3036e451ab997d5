// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/other_package.hpp"

#include <algorithm>

#include "core/pep440.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

bool is_torch(const Package& package) {
  return package.folder.starts_with("torch-") || (package.name && package_name(*package.name) == "torch");
}

}  // namespace

const Package* other_package(const Inventory& inventory) {
  const bool of_packages = inventory.layout == "wheel" || inventory.layout == "distribution";
  const auto& packages = inventory.packages;
  if (!of_packages || packages.empty() || inventory.torch_version) return nullptr;
  const auto& files = inventory.files;
  const auto is_libtorch = [](const File& file) { return base_name(file.path).starts_with("libtorch_cpu.so"); };
  if (base_name(inventory.artifact).starts_with("torch-")) return nullptr;
  if (std::ranges::any_of(packages, is_torch)) return nullptr;
  if (std::ranges::any_of(files, is_libtorch)) return nullptr;
  return &packages.front();
}

std::string format_subject(const std::optional<Inventory>& inventory) {
  const Package* other = inventory ? other_package(*inventory) : nullptr;
  if (other != nullptr) return name_and_version(*other);
  if (inventory && inventory->layout == "file") return std::string(base_name(inventory->artifact));
  const bool known = inventory && inventory->torch_version;
  return known ? "torch " + *inventory->torch_version : "torch";
}

std::string name_and_version(const Package& package) {
  if (!package.name) return package.folder;
  return package.version ? *package.name + " " + *package.version : *package.name;
}

}  // namespace pbprobe
