// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Parts of cuDNN and NVRTC that a library names, but that its package never contained: optional, and not missing.
#pragma once

#include <filesystem>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Removes from Links::opened each part that was not found and that belongs to no installation: the RECORD of the
// library's package does not list the part. Without a RECORD only the sub-libraries that NVIDIA documents remain.
// Requires resolved closures. `packages`: folder that File::path and RECORD are relative to.
void remove_optional_parts(std::vector<File>& files, const std::filesystem::path& packages);

}  // namespace pbprobe
