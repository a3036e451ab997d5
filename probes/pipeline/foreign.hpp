// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A libtorch with its own libc, newer than this machine's libc, as in Nix. This machine's dynamic loader cannot load
// it, so that the loader of that libc starts the child.
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

// Places of the driver's libraries; tests replace them.
struct DriverPlaces {
  std::filesystem::path opengl_driver = "/run/opengl-driver/lib";  // NixOS, and the search path of Nix loaders
  std::function<std::string()> ldconfig;                           // output of `ldconfig -p`
  std::function<std::optional<std::string>(const char*)> env;
};

[[nodiscard]] DriverPlaces system_driver_places();

struct ForeignClosure {
  std::vector<std::string> words;  // loader with its options; program and arguments follow
  ForeignLoader loader;            // for the report
  TempFolder links;  // links to libraries of this machine: the driver's libraries, and libraries of pbprobe
};

// Returns "2.41" from the banner in a glibc file; nullopt if the banner is missing.
[[nodiscard]] std::optional<std::string> read_glibc_version(const std::filesystem::path& libc);

// Finds the closure of this artifact's libtorch. Returns nullopt if libtorch uses this machine's libc, or one that is
// not newer than `own_glibc`. Errors: not_found (a newer libc without a loader), unreadable.
[[nodiscard]] Result<std::optional<ForeignClosure>> find_foreign_closure(const Inventory& inventory,
                                                                         const std::string& own_glibc,
                                                                         const DriverPlaces& places);

// Returns `program`, or the path of this program if `program` is empty.
[[nodiscard]] std::filesystem::path resolve_program(const std::filesystem::path& program);

// Returns limits that start the child with the closure's loader, if there is a closure.
[[nodiscard]] ChildLimits make_child_limits(const std::filesystem::path& program,
                                            const std::optional<ForeignClosure>& foreign);

// Adds the loader of the closure to the results of libtorch, with a note. Does nothing without a closure.
void record_foreign_loader(const std::optional<ForeignClosure>& foreign, Measurements& measurements);

}  // namespace pbprobe
