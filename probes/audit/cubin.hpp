// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A bare cubin: an ELF file whose machine is CUDA. What it was built for stands in e_flags, whose meaning depends on
// the ABI version, and in the notes of the tool that wrote it.
#pragma once

#include <optional>
#include <string>

#include "probes/audit/elf.hpp"
#include "probes/audit/fatbin.hpp"

namespace pbprobe {

// The image that a bare cubin is, as if it stood in a fatbin.
[[nodiscard]] Result<DeviceImage> read_cubin(const Elf& elf);

// The release of the toolkit whose assembler wrote a cubin: "13.0"; nothing where it does not say.
[[nodiscard]] Result<std::optional<std::string>> read_toolkit(const Elf& elf);

}  // namespace pbprobe
