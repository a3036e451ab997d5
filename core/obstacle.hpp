// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Why something could not run. What could not run is unknown, and never wrong.
#pragma once

#include <cstdint>
#include <span>

#include "core/fields.hpp"

namespace pbprobe {

enum class Obstacle : uint8_t {
  memory,       // there was too little: on the GPU, or on the host
  busy,         // another process holds the GPU, or its mode forbids a second one
  device,       // the GPU or its services failed: it fell off the bus, an uncorrectable memory error
  missing,      // a library or a symbol is not there
  time_limit,   // it did not end in time
  driver,       // the driver is too old, or does not fit
  permission,   // the system refuses it
  no_device,    // no GPU is there
  unsupported,  // this device or this driver has not what was asked for
  killed,       // the system ended the process
  unexplained,  // the driver or a library names no cause
};

[[nodiscard]] std::span<const EnumName<Obstacle>> enum_names(Obstacle);

}  // namespace pbprobe
