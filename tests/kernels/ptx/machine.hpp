// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs a kernel's PTX, block by block, thread by thread: what a GPU that is not here would be given, but for ptxas.
// Warps meet at their collective instructions and at barriers, and an asynchronous copy is there only once it was
// waited for. Memory that nobody names faults: global by the ranges that the launch allows, shared by its size. Source:
// PTX ISA.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernels/ptx/program.hpp"

namespace pbprobe::ptx {

constexpr int kLanes = 32;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool written = false;  // may be
};

struct LaunchOf {
  unsigned blocks_x = 1, blocks_z = 1;
  unsigned threads = 1;
  size_t shared_bytes = 0;
  std::vector<std::span<const std::byte>> parameters;
  std::vector<Range> memory;
};

// What a program does that no GPU would let pass.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Block {
 public:
  Block(const Program& program, const LaunchOf& launch, unsigned x, unsigned z);
  void run();
  // Where an address of that many bytes lies. Throws Fault.
  std::byte* global(uint64_t address, size_t bytes, bool writes) const;
  std::byte* shared(uint64_t address, size_t bytes);
  [[nodiscard]] const std::byte* parameter(uint64_t address, size_t bytes) const;

  const Program& program;
  const LaunchOf& launch;
  unsigned x, z;

 private:
  std::vector<std::byte> shared_;
};

struct Copy {
  uint64_t to = 0;
  std::array<std::byte, 16> bytes{};
};

class Thread {
 public:
  Thread(Block& in, unsigned thread) : block(in), index(thread), registers(in.program.registers, 0) {}
  [[nodiscard]] uint64_t value(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::reg: return registers[operand.reg] + operand.number;
      case Operand::Kind::number: return operand.number;
      case Operand::Kind::tid_x: return index;
      case Operand::Kind::ctaid_x: return block.x;
      case Operand::Kind::ctaid_z: return block.z;
    }
    return 0;
  }
  template <class T>
  [[nodiscard]] T get(const Instruction& i, size_t at) const {
    const uint64_t bits = value(i.operands[at]);
    T result;
    std::memcpy(&result, &bits, sizeof(T));
    return result;
  }
  template <class T>
  void set(const Instruction& i, size_t at, T result) {
    uint64_t bits = 0;
    std::memcpy(&bits, &result, sizeof(T));
    registers[i.operands[at].reg] = bits;
  }
  [[nodiscard]] bool allows(const Instruction& i) const {
    return i.guard < 0 || (registers[static_cast<size_t>(i.guard)] != 0) == i.guard_wants;
  }
  // Until an instruction of the whole warp, or the end.
  void run();

  Block& block;
  unsigned index;
  std::vector<uint64_t> registers;
  size_t next = 0;
  bool ended = false;
  std::vector<std::vector<Copy>> copies{1};  // groups of cp.async; the last one is open
};

class Warp {
 public:
  Warp(Block& block, unsigned first);
  // Until a barrier of the block (true), or the end.
  bool run();
  template <class T>
  [[nodiscard]] T get(int lane, const Instruction& i, size_t at) const {
    return threads[static_cast<size_t>(lane)].get<T>(i, at);
  }
  template <class T>
  void set(int lane, const Instruction& i, size_t at, T value) {
    threads[static_cast<size_t>(lane)].set(i, at, value);
  }

  std::vector<Thread> threads;
};

// All blocks of a launch, one after the other. Errors (malformed): what a Fault says.
[[nodiscard]] Result<void> run_program(const Program& program, const LaunchOf& launch);

}  // namespace pbprobe::ptx
