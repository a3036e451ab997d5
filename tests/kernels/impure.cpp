// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A planted fault: a std template, which comes out of -O0 as a weak symbol with the target's instructions in it.
#include <algorithm>

namespace pbprobe::PBPROBE_TARGET {

float greater(float a, float b) {
  return std::max(a, b);
}

}  // namespace pbprobe::PBPROBE_TARGET
