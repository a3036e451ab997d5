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
  FIELD(std::string, component, "named as in the inventory");  // named as in File::component: "cuBLAS"
  FIELD(std::string, version);                                 // "13.1.0.3"
  FIELD(bool, newer_too, "newer versions of this major version belong to the release too") = false;
  FIELD(std::vector<std::string>, sonames, "file names that its libraries are loaded by");
};

struct ToolkitRelease {
  FIELD(std::string, release, "release of the toolkit");  // "13.0.2"
  FIELD(std::vector<ToolkitComponent>, components);
};

struct ToolkitTable {
  SCHEMA("pbprobe.cuda_components/1");
  FIELD(std::vector<ToolkitRelease>, releases, "oldest first");
};

// Returns the releases, oldest first.
[[nodiscard]] const std::vector<ToolkitRelease>& all_cuda_releases();

// Reports whether `version` equals `begin` or refines it: 13.0.2 refines 13.0, 13.01 does not.
[[nodiscard]] bool is_version_of(std::string_view version, std::string_view begin);

// Reports whether `version` fits the toolkit release of `component`: it equals component.version, or one refines the
// other (13.1 and 13.1.0.3). With newer_too, a newer version of the same major number fits too.
[[nodiscard]] bool fits_release(const ToolkitComponent& component, std::string_view version);

// Reports whether the newest toolkit release contains the component, named as in the inventory: "cuBLAS", "CUDA
// runtime"; not "cuDNN" or "NCCL".
[[nodiscard]] bool is_toolkit_component(std::string_view component);

}  // namespace pbprobe
