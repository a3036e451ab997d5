// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inflate and CRC of ISA-L, twice as fast as zlib. Loaded at run time if the machine has libisal.so.2, so that programs
// start without it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace pbprobe {

[[nodiscard]] bool has_isal();

enum class InflateEnd { whole, stopped, broken, cut };  // cut: the data end early

// Receives the next piece; returns false to stop.
using PieceSink = std::function<bool(std::span<const uint8_t>)>;

// Inflates raw deflate data through `buffer`. Requires has_isal().
[[nodiscard]] InflateEnd isal_inflate_raw(std::span<const uint8_t> data, std::span<uint8_t> buffer,
                                          const PieceSink& sink);

// Computes the CRC like crc32 of zlib. Requires has_isal().
[[nodiscard]] uint32_t isal_crc32(uint32_t crc, std::span<const uint8_t> bytes);

}  // namespace pbprobe
