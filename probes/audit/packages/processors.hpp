// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Processor, C library and Python of an environment, and files for others. Causes: an rsync from another machine, a
// container layer of another platform, a manylinux wheel in Alpine, an upgrade of Python.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/facts/loading.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {

// Returns "x86_64" or "aarch64", by the file's first bytes; "" for other processors and files.
[[nodiscard]] std::string processor_of_file(const std::filesystem::path& path);

class Processors {
 public:
  // `root`: root of another system, or "". The environment's Python decides if a package matches its processor; else
  // torch, else most packages. Only Python decides the C library.
  Processors(const InstalledPackages& installed, const std::filesystem::path& root);

  // Returns files for another processor or Python that would be opened here, or nullopt. In a package of tools, counts
  // only modules, files that link torch, and needed files. For another Python, counts only modules that this Python
  // lacks.
  [[nodiscard]] std::optional<OtherProcessor> other(const InstalledPackage& package) const;

 private:
  std::string expected_;  // "" if unknown
  std::string known_by_;
  std::string c_library_;  // "" if unknown or ambiguous
  std::string tag_;        // "311", "313t", for the environment's Python; "" if unknown
};

// Returns libraries for another processor than the wheel's tag, the folder's name or libtorch states; nullopt if all
// match or the processor is unknown. Ignores a library that also exists for the right processor.
[[nodiscard]] std::optional<OtherProcessor> find_other_processor(const ArtifactLayout& layout,
                                                                 const std::vector<File>& files);

}  // namespace pbprobe
