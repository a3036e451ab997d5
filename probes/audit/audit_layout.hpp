// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Audit of one package by its layout.
#pragma once

#include <filesystem>

#include "probes/audit/audit.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

// Makes the inventory of a package. `artifact` is its name in the inventory.
[[nodiscard]] Inventory audit_layout(const ArtifactLayout& layout, const std::filesystem::path& artifact,
                                     const AuditOptions& options);

}  // namespace pbprobe
