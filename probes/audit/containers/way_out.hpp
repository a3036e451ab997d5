// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Remedies for read errors. Readers report what they saw and where; the remedy depends on the origin of the bytes,
// which only the audit knows.
#pragma once

#include "core/result.hpp"

namespace pbprobe {

enum class ReadFrom {
  file,   // a shared object, an object file, a cubin, a fatbin
  wheel,  // an archive and its members
  text,   // a small file of torch's package: version.py, METADATA
};

// Appends the remedy to the message of a malformed or limit error; other errors already have one.
[[nodiscard]] Error append_remedy(Error error, ReadFrom from);

}  // namespace pbprobe
