// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What to do about something that could not be read, by the kind of its error. Readers say what they saw and where;
// what helps depends on where their bytes came from, which the audit knows.
#pragma once

#include "core/result.hpp"

namespace pbprobe {

enum class ReadFrom {
  file,   // a shared object, an object file, a cubin, a fatbin
  wheel,  // an archive and its members
  text,   // a small file of torch's package: version.py, METADATA
};

// The same error, with the way out at the end of its message. Kinds other than malformed and limit bring their own.
[[nodiscard]] Error with_way_out(Error error, ReadFrom from);

}  // namespace pbprobe
