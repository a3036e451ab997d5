// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One kernel of a PTX file, read for the interpreter (machine.hpp). It knows the instructions that the block-scaled
// kernels of mma.sync and tcgen05 are made of, and refuses any other by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe::ptx {

class Thread;
class Warp;

struct Operand {
  enum class Kind { reg, number, shared, special };
  Kind kind = Kind::number;
  size_t reg = 0;
  bool predicate = false;
  uint64_t number = 0;   // also what is added to an address in brackets
  unsigned special = 0;  // place in kSpecialRegisters
};

inline constexpr std::array<std::string_view, 11> kSpecialRegisters{
    "%tid.x",    "%ctaid.x",         "%ctaid.y",         "%ctaid.z",         "%nctaid.x",       "%nctaid.y",
    "%nctaid.z", "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "%cluster_ctarank"};

struct Instruction {
  std::string name;  // "add.s32"
  std::vector<Operand> operands;
  int64_t guard = -1;  // the predicate's register; -1: none
  bool guard_wants = true;
  size_t target = 0;  // branch: the index of the target instruction
  // Executes the instruction: in one thread, or in a warp at once.
  void (*run)(Thread&, const Instruction&) = nullptr;
  void (*run_warp)(Warp&, const Instruction&) = nullptr;
};

struct Program {
  std::vector<Instruction> instructions;
  size_t registers = 0;
  std::vector<size_t> parameter_bytes;
};

// Addresses of parameters and shared memory in a thread's address space; all other memory is the host's memory.
constexpr uint64_t kParameterBase = 0x10000;
constexpr uint64_t kParameterStride = 0x1000;
constexpr uint64_t kSharedBase = 0x400;
constexpr unsigned kRankBit = 24;  // an address in shared memory holds the block's rank in its cluster from here on

// Parses one kernel. Errors (malformed): no such kernel, or an instruction or operand that the interpreter lacks.
[[nodiscard]] Result<Program> read_program(std::string_view text, std::string_view kernel);

// Set the function that executes an instruction (instructions.cpp, collectives.cpp, asynchronous.cpp). Return false if
// there is no such function.
[[nodiscard]] bool bind(Instruction& instruction);
[[nodiscard]] bool bind_collective(Instruction& instruction);
[[nodiscard]] bool bind_asynchronous(Instruction& instruction);

}  // namespace pbprobe::ptx
