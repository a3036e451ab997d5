// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Search for definitions of symbols in torch's namespaces that no known release of torch exports.
#pragma once

#include <vector>

#include "probes/audit/audit.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

// Removes names from TorchSymbols::unknown that another file of the package or a dependency defines. A remaining name
// clears `releases`: no known torch loads the file. For torch, and if a library is missing that may define the rest,
// clears `unknown` and keeps `releases`. Call after resolve_closure().
void settle_unknown_torch_names(const ArtifactLayout& layout, const AuditOptions& options, std::vector<File>& files);

}  // namespace pbprobe
