// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reasons why a step could not run. A step that could not run is unknown, never wrong.
#pragma once

#include <cstdint>

#include "core/fields.hpp"

namespace pbprobe {

enum class Obstacle : uint8_t {
  out_of_memory,  // too little GPU or host memory
  busy,           // another process uses the GPU, or the compute mode forbids a second process
  device_failed,  // the GPU or its services failed: it fell off the bus, or had an uncorrectable memory error
  missing,        // a library or a symbol is missing
  time_limit,     // exceeded its time limit
  driver,         // the driver is too old or does not match
  not_permitted,  // the system denied the operation
  no_device,      // the machine has no GPU
  unsupported,    // this device or driver lacks the required feature
  killed,         // the system ended the process
  unexplained,    // the driver or a library reported no cause
};

}  // namespace pbprobe
