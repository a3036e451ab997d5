// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Origin of each library that a file needs, by the rules of ld.so.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// A file that a lookup found, and who provides it.
struct Found {
  Provider provider = Provider::artifact;
  std::string path;
};
// Returns the file at a path that is absolute or relative to the root of the artifact; nullopt if no such file exists.
using Lookup = std::function<std::optional<Found>(const std::string& path)>;

// Reports whether a library belongs to the driver, such as libcuda.
[[nodiscard]] bool is_driver_library(std::string_view name);

// Replaces $ORIGIN in a folder of RPATH or RUNPATH by `origin`.
[[nodiscard]] std::string expand_origin(std::string folder, const std::string& origin);

// Returns the folders that ld.so searches last, for libraries of this machine ("x86_64").
[[nodiscard]] std::vector<std::string> system_folders(const std::string& machine);

// Fills the dependencies of every file that has `links`, and the places of opened libraries. DT_RPATH counts only
// without DT_RUNPATH, also for the libraries of loaded libraries. Libraries of the driver always count as resolved.
// `in_wheel`: so do libraries that a platform tag allows, because the system of the wheel's users is not known.
void resolve_closure(std::vector<File>& files, const Lookup& lookup, bool in_wheel = false);

// Marks the unresolved libraries of files for another processor than this machine's (kNotSearched). Requires resolved
// closures.
void mark_not_searched(std::vector<File>& files);

// Removes from Links::opened each part that was not found and that belongs to no installation: the RECORD of the
// library's package does not list the part. Without a RECORD only the sub-libraries that NVIDIA documents remain.
// Requires resolved closures. `packages`: folder that File::path and RECORD are relative to.
void remove_optional_parts(std::vector<File>& files, const std::filesystem::path& packages);

}  // namespace pbprobe
