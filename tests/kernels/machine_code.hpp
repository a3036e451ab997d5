// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Content of single kernels of a cubin, by the audit's own census.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/dtype.hpp"
#include "core/targets.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/device_code/sass.hpp"

namespace pbprobe::test {

// Takes the census of the whole cubin. Errors: as open_cubin.
inline Result<CubinCensus> take_census(const Elf& cubin, const std::string& architecture) {
  PBPROBE_TRY(const Cubin opened, open_cubin(cubin.file));
  return read_census(opened, static_cast<uint32_t>(std::stoul(architecture)));
}

// Counts code of sm_50 to sm_62, whose words have 64 bits: FFMA, IDP, traps and memory accesses; omits control words.
SassCounts count_narrow_sass(std::span<const uint8_t> code);

// Counts each mnemonic of a kernel. Fails the test if the cubin has no such kernel.
std::map<std::string, int64_t> count_instructions(const Elf& cubin, const Target& target, const std::string& symbol);

// Returns the target's path of `instruction` for this type, or nullptr. "mma.sync" appears for several types, with
// other opcodes; a type that is widened uses the path of the wider type.
const InstructionPath* find_path(const Target& target, std::string_view instruction, DType type);

// A kernel holds the instruction that its target's row promises, uses no local memory, and traps nowhere.
// `tensor_memory`: it takes some, and reads its accumulators there.
// `spills`: it uses some local memory.
void expect_promised(const Elf& cubin, const Target& target, const std::string& symbol, const InstructionPath& path,
                     bool tensor_memory, bool spills = false);

}  // namespace pbprobe::test
