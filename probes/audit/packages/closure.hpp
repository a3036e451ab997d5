// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where each library that a file needs comes from, by the rules of ld.so.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Looks a file up by a path that is absolute or, inside the artifact, relative to its root: what it is called in the
// artifact, or nothing.
struct Found {
  Provider provider = Provider::artifact;
  std::string path;
};
using Lookup = std::function<std::optional<Found>(const std::string& path)>;

// Reports whether the C and C++ compilers of every system bring a library of this name.
[[nodiscard]] bool is_of_system(std::string_view name);

// libcuda and what else comes with the driver.
[[nodiscard]] bool is_of_driver(std::string_view name);

// A folder of RPATH or RUNPATH, with the one of the file that has it for $ORIGIN.
[[nodiscard]] std::string expand_origin(std::string folder, const std::string& origin);

// Where ld.so looks at last, for libraries of this machine ("x86_64").
[[nodiscard]] std::vector<std::string> system_folders(const std::string& machine);

// Fills the dependencies of every file that has `links`, and where what it opens lies. A file's DT_RPATH counts only
// where it has no DT_RUNPATH; it is also searched for the libraries of those that it loads. The driver's libraries are
// never unresolved.
void resolve_closure(std::vector<File>& files, const Lookup& lookup);

// Removes from Links::opened each part that was not found and that belongs to no installation: the RECORD of the
// library's package does not list the part. Without a RECORD only the sub-libraries that NVIDIA documents remain.
// Requires resolved closures. `packages`: folder that File::path and RECORD are relative to.
void remove_optional_parts(std::vector<File>& files, const std::filesystem::path& packages);

}  // namespace pbprobe
