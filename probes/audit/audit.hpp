// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The audit: finds the content of a build without running any of its code.
#pragma once

#include <filesystem>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Files whose machine code is counted, function by function.
enum class HostCodeScope { none, libtorch, all };

struct AuditOptions {
  bool device_code_only = false;                  // only files with device code, and nothing else of them
  bool links_only = false;                        // only the libraries that each file needs, and their places
  HostCodeScope host_code = HostCodeScope::none;  // libtorch: its own files, bundled ones, and a single file
  bool all_of_torch = false;                      // torch ships all files of the artifact: a wheel
  bool open_libraries = true;                     // false: opens only device code of libtorch's own files
  bool digests = false;                           // SHA-256 of each ELF file
  bool records = false;                           // with `digests`: RECORD and the rest of a wheel's identity
  bool kernel_names = false;                      // the names of all kernels, per SM
  bool kernel_families = false;                   // kernels of libtorch's own files per function template
  unsigned threads = 0;                           // 0: all usable cores
  std::filesystem::path cache = {};               // folder for findings of files; "" to store nothing
  const std::vector<File>* known = nullptr;       // files of the same root, from an audit without `kernel_names`
};

// Audits a wheel (of any platform), environment, site-packages, torch or libtorch folder, Nix result, unpacked Debian
// system, or one file. File::problem and Inventory::problems have faults of parts. Errors: not_found (no path, no
// torch), usage (no artifact), unreadable, malformed (the only file is broken).
[[nodiscard]] Result<Inventory> audit(const std::filesystem::path& artifact, const AuditOptions& options = {});

// Returns $XDG_CACHE_HOME/pbprobe, else ~/.cache/pbprobe; "" if neither is known.
[[nodiscard]] std::filesystem::path default_cache();

// Returns the torch folder of the first environment, site-packages or torch folder with torch. Follows *.pth files and
// pyvenv.cfg, as Python does, without running it. Error: not_found, with the searched folders.
[[nodiscard]] Result<std::filesystem::path> find_torch(const std::vector<std::filesystem::path>& roots);

}  // namespace pbprobe
