// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Imports torch, and what links it, each in a process of its own, and holds what was mapped against the files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/imports.hpp"

namespace pbprobe {

struct ImportRequest {
  std::filesystem::path packages;        // the folder that has torch in it
  std::string library_path;              // LD_LIBRARY_PATH, as programs of the environment have it
  std::filesystem::path program;         // pbprobe itself, which starts them; empty: this one
  double seconds = 60;                   // for each of them
  std::function<double()> seconds_left;  // of all; what does not begin within has an obstacle
  std::function<void(std::string_view step)> progress;
};

// Each with the environment's own Python, apart from network and other processes, unable to write. Empty: it has no
// Python that can be followed, or no torch.
[[nodiscard]] std::vector<Import> try_imports(const ImportRequest& request);

}  // namespace pbprobe
