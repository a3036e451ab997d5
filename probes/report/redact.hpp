// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include "core/facts/report.hpp"

namespace pbprobe {

// Leaves out what names a machine or its owner, wherever in the document it stands: the host's name, the GPUs' UUIDs,
// and the user's part of home folders ("/home/ada/x" becomes "~/x").
[[nodiscard]] Report redact(Report report);

}  // namespace pbprobe
