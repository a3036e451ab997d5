// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From the layout of one package to its inventory.
#pragma once

#include <filesystem>

#include "probes/audit/audit.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

// `artifact`: what the inventory is called by.
[[nodiscard]] Inventory audit_layout(const ArtifactLayout& layout, const std::filesystem::path& artifact,
                                     const AuditOptions& options);

}  // namespace pbprobe
