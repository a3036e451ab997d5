// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A libtorch that brings a libc of its own, newer than this machine's, as Nix's do: this machine's dynamic loader
// cannot load it, so the measuring child is started by that libc's loader.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/facts/measurement.hpp"
#include "core/temp_folder.hpp"
#include "probes/process/spawn.hpp"

namespace pbprobe {

// Where the driver's libraries may lie, for tests to say otherwise.
struct DriverPlaces {
  std::filesystem::path opengl_driver = "/run/opengl-driver/lib";  // NixOS, and where its loaders look
  std::function<std::string()> ldconfig;                           // what `ldconfig -p` prints
  std::function<std::optional<std::string>(const char*)> env;
};

[[nodiscard]] DriverPlaces system_driver_places();

struct ForeignClosure {
  std::vector<std::string> words;  // its loader with options; a program and its arguments follow
  ForeignLoader loader;            // for the report
  TempFolder links;                // to the libraries that this machine adds: the driver's, and those of pbprobe itself
};

// "2.41", from the banner in the file of a glibc; null where it has none.
[[nodiscard]] std::optional<std::string> glibc_version_of(const std::filesystem::path& libc);

// The closure of this artifact's libtorch; nothing where it takes this machine's libc, or brings one that is not newer
// than `own_glibc`. Errors: not_found (a newer libc, and no loader beside it), unreadable.
[[nodiscard]] Result<std::optional<ForeignClosure>> find_foreign_closure(const Inventory& inventory,
                                                                         const std::string& own_glibc,
                                                                         const DriverPlaces& places);

// `program`, or this one where it is empty.
[[nodiscard]] std::filesystem::path program_of(const std::filesystem::path& program);

// How the measuring child is started: by that closure's loader where there is one.
[[nodiscard]] ChildLimits limits_for(const std::filesystem::path& program,
                                     const std::optional<ForeignClosure>& foreign);

}  // namespace pbprobe
