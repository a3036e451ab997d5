// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// ISA-L's inflate and CRC, twice as fast as zlib's: loaded at run time where the machine has libisal.so.2, so that no
// program needs it to start.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace pbprobe {

[[nodiscard]] bool isal_is_there();

enum class InflateEnd { whole, stopped, broken, cut };  // cut: the data end before they say that they do

// Takes the next piece; false stops.
using PieceSink = std::function<bool(std::span<const uint8_t>)>;

// Raw deflate data through `buffer`. Only where isal_is_there().
[[nodiscard]] InflateEnd isal_inflate_raw(std::span<const uint8_t> data, std::span<uint8_t> buffer,
                                          const PieceSink& sink);

// As zlib's crc32. Only where isal_is_there().
[[nodiscard]] uint32_t isal_crc32(uint32_t crc, std::span<const uint8_t> bytes);

}  // namespace pbprobe
