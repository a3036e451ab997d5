// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Code that makes the CPU flush subnormal numbers to zero: by MXCSR's FTZ or DAZ on x86-64 (Intel's manual, volume 1,
// 10.2.3), by FPCR's FZ on aarch64 (Arm ARM, FPCR).
#pragma once

#include <cstddef>
#include <cstdint>

namespace pbprobe {

// Tracks one function: reports whether it puts these bits into a value, and later the value into the register. Pass the
// instructions in order.
class FlushToZero {
 public:
  bool see_x86(const uint8_t* at, size_t length);
  bool see_aarch64(uint32_t word);

 private:
  bool bits_ = false;
  bool set_ = false;
};

}  // namespace pbprobe
