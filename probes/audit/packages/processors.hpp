// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which processor, C library and Python an environment is for, and what in it is for another: after an rsync from
// another machine, a container's layer of another platform, a manylinux wheel in Alpine, or an upgrade of Python.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/facts/loading.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {

// "x86_64" or "aarch64", by the file's first bytes; empty: another one, or no ELF file.
[[nodiscard]] std::string processor_of_file(const std::filesystem::path& path);

class Processors {
 public:
  // Its Python tells, where any package is for the same processor; else torch, else what most packages are for.
  // `root`: of another system that they are installed in; empty: this one. Of C libraries its Python tells.
  Processors(const InstalledPackages& installed, const std::filesystem::path& root);

  // Files of the package that Python or the loader would open here. Of a package of tools only: extension modules, what
  // links torch, what its own files need. Of another Python only, where it has no module for this one. Null: there are
  // none.
  [[nodiscard]] std::optional<OtherProcessor> other(const InstalledPackage& package) const;

 private:
  std::string expected_;  // empty: nothing tells
  std::string known_by_;
  std::string c_library_;  // empty: nothing tells, or both are there
  std::string tag_;        // "311", "313t": of its Python; empty: not known
};

// Returns the libraries of an artifact that are built for another processor than its tag, the name of its folder or
// libtorch says; nullopt if there are none, or if nothing says it. A library for the right processor beside it stands
// in.
[[nodiscard]] std::optional<OtherProcessor> find_other_processor(const ArtifactLayout& layout,
                                                                 const std::vector<File>& files);

}  // namespace pbprobe
