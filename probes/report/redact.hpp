// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include "core/facts/report.hpp"

namespace pbprobe {

// Removes data that identifies a machine or its owner from the whole document: host name, GPU UUIDs, and user names in
// home folders ("/home/ada/x" becomes "~/x").
[[nodiscard]] Report redact(Report report);

}  // namespace pbprobe
