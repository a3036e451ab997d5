// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What single kernels of a cubin hold, by the audit's own census.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/dtype.hpp"
#include "core/targets.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/device_code/sass.hpp"

namespace pbprobe::test {

// Of the whole cubin. Errors: as open_cubin.
inline Result<CubinCensus> census_of(const Elf& cubin, const std::string& architecture) {
  PBPROBE_TRY(const Cubin opened, open_cubin(cubin.file));
  return read_census(opened, static_cast<uint32_t>(std::stoul(architecture)));
}

// How often a kernel holds each mnemonic. Fails the test where the cubin has no such kernel.
std::map<std::string, int64_t> counts_of(const Elf& cubin, const Target& target, const std::string& symbol);

// The path of the target's row that `instruction` stands on for this type; "mma.sync" stands there for several types,
// with other opcodes, and a type that is widened stands on another's path. Null: there is none.
const InstructionPath* path_of(const Target& target, std::string_view instruction, DType type);

// A kernel holds the instruction that its target's row promises, uses no local memory, and traps nowhere.
// `tensor_memory`: it takes some, and reads its accumulators there.
// `spills`: it uses some local memory.
void expect_promised(const Elf& cubin, const Target& target, const std::string& symbol, const InstructionPath& path,
                     bool tensor_memory, bool spills = false);

}  // namespace pbprobe::test
