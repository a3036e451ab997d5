// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Symbols in torch's namespaces that no known release of torch exports: whether another library defines them.
#pragma once

#include <vector>

#include "probes/audit/audit.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

// Removes from TorchSymbols::unknown of each file what another file of the package or a dependency defines. If a name
// remains, `releases` becomes empty: no known torch loads the file. If a needed library is missing that may define
// the rest, and for torch itself, `unknown` becomes empty and `releases` stays. Call after resolve_closure().
void settle_unknown_torch_names(const ArtifactLayout& layout, const AuditOptions& options, std::vector<File>& files);

}  // namespace pbprobe
