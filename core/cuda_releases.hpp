// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Releases of the CUDA toolkit and the versions of their libraries: recipes/cuda_components.json, embedded at build
// time. One release has many versions: 13.0.2 has cuBLAS 13.1.0.3, and cuFFT is loaded as libcufft.so.12.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct ToolkitComponent {
  std::string component;             // as File::component: "cuBLAS"
  std::string version;               // "13.1.0.3"
  bool newer_too = false;            // a newer one of this major version belongs to the release too
  std::vector<std::string> sonames;  // what its libraries are loaded by: "libcublas.so.13"
};

struct ToolkitRelease {
  std::string release;  // "13.0.2"
  std::vector<ToolkitComponent> components;
};

struct ToolkitTable {
  std::vector<ToolkitRelease> releases;
};

// Oldest first.
[[nodiscard]] const std::vector<ToolkitRelease>& all_cuda_releases();

// Is `version` the same as `begin`, or one more exact than it? 13.0.2 is one of 13.0, 13.01 is not.
[[nodiscard]] bool is_version_of(std::string_view version, std::string_view begin);

// Does this version of a component belong to the release?
[[nodiscard]] bool belongs(const ToolkitComponent& component, std::string_view version);

// Whether the newest release names it: a library of the toolkit, as the inventory calls it.
[[nodiscard]] bool is_of_toolkit(std::string_view component);

template <class Visitor, SameAs<ToolkitComponent> T>
void fields(Visitor& visit, T& component) {
  visit("component", component.component, "as the inventory names it");
  visit("version", component.version);
  visit("newer_too", component.newer_too, "a newer one of this major version belongs to the release too");
  visit("sonames", component.sonames, "what its libraries are loaded by");
}

template <class Visitor, SameAs<ToolkitRelease> T>
void fields(Visitor& visit, T& release) {
  visit("release", release.release, "of the toolkit");
  visit("components", release.components);
}

template <class Visitor, SameAs<ToolkitTable> T>
void fields(Visitor& visit, T& table) {
  visit.constant("schema", "pbprobe.cuda_components/1");
  visit("releases", table.releases, "oldest first");
}

}  // namespace pbprobe
