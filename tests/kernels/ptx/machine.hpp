// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs a kernel's PTX, cluster by cluster, thread by thread, without ptxas and without a GPU. Warps meet at their
// collective instructions and at barriers. An asynchronous copy or multiplication happens at some moment after it was
// issued, and is certain only after a wait. Memory outside the allowed ranges faults: the launch gives ranges of global
// memory, and the size limits shared memory. Source: PTX ISA.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernels/ptx/program.hpp"

namespace pbprobe::ptx {

constexpr int kLanes = 32;
constexpr unsigned kTensorLanes = 128;
constexpr unsigned kTensorColumns = 512;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool written = false;  // may be
};

struct LaunchOf {
  unsigned blocks_x = 1, blocks_y = 1, blocks_z = 1;
  unsigned threads = 1;
  size_t shared_bytes = 0;
  unsigned cluster = 1;  // blocks of a cluster, along x
  std::vector<std::span<const std::byte>> parameters;
  std::vector<Range> memory;
};

// Action of a program that no GPU allows.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An mbarrier: a phase ends once all have arrived and all announced bytes have come.
struct Barrier {
  int64_t expected = 0;
  int64_t pending = 0;
  int64_t bytes = 0;
  bool phase = false;
};

struct Cluster;

class Block {
 public:
  Block(Cluster& cluster, unsigned x, unsigned y, unsigned z, unsigned rank);
  // Returns the host address of `bytes` bytes at `address`. Throws Fault.
  std::byte* global(uint64_t address, size_t bytes, bool writes) const;
  std::byte* shared(uint64_t address, size_t bytes);
  [[nodiscard]] const std::byte* parameter(uint64_t address, size_t bytes) const;
  [[nodiscard]] uint64_t special(unsigned which, unsigned thread) const;
  // The barrier at an address in shared memory, that was initialized.
  Barrier& barrier(uint64_t address);
  // A word of tensor memory; the address's lane and column and these.
  uint32_t& tensor(uint32_t address, unsigned lane, unsigned column);

  Cluster& cluster;
  const Program& program;
  const LaunchOf& launch;
  unsigned x, y, z, rank;
  std::map<uint64_t, Barrier> barriers;
  struct Named {
    int64_t arrived = 0;
    int64_t generation = 0;
  };
  std::map<int, Named> named;  // barriers of bar.sync
  uint32_t tensor_allocated = 0;

 private:
  std::vector<std::byte> shared_;
  std::vector<uint32_t> tensor_;
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
      case Operand::Kind::shared: return operand.number + (uint64_t{block.rank} << kRankBit);
      case Operand::Kind::special: return block.special(operand.special, index);
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
  // Until an instruction of the whole warp, a wait that was in vain, or the end.
  void run();

  Block& block;
  unsigned index;
  std::vector<uint64_t> registers;
  size_t next = 0;
  bool ended = false;
  bool waits = false;                        // for what others do
  std::vector<std::vector<Copy>> copies{1};  // groups of cp.async; the last one is open
};

class Warp {
 public:
  Warp(Block& block, unsigned first);
  // Until its threads wait for others, or the end (false).
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
  bool waits = false;      // an instruction of the warp is to be tried again
  bool arrived = false;    // at the barrier that it waits at
  int64_t generation = 0;  // generation of the barrier that it waits at
  int64_t of_cluster = 0;  // generation of the cluster's barrier at which it arrived
};

// The launches of a grid that have not begun: a running cluster may take one over (clusterlaunchcontrol).
struct Grid {
  std::deque<std::array<unsigned, 3>> left;
  unsigned asked = 0;
};

// Blocks that run together, and what they have under way.
struct Cluster {
  Cluster(const Program& program, const LaunchOf& launch, Grid& grid, std::array<unsigned, 3> first);
  void run();
  // The block whose shared memory holds an address.
  Block& holder(uint64_t address);
  void arrive(uint64_t barrier, int64_t count);
  void add_bytes(uint64_t barrier, int64_t bytes);

  const Program& program;
  const LaunchOf& launch;
  Grid& grid;
  std::deque<Block> blocks;
  std::vector<std::function<void()>> copies;      // in any order
  std::deque<std::function<void()>> tensor_work;  // operations of tcgen05, in their order
  int64_t arrived = 0, generation = 0;            // at barrier.cluster
  int64_t moves = 0;                              // events that other threads may have waited for

 private:
  void advance(Barrier& barrier);
  bool finish_something();
  uint32_t seed_ = 1;
};

// All blocks of a launch. Errors (malformed): what a Fault says.
[[nodiscard]] Result<void> run_program(const Program& program, const LaunchOf& launch);

}  // namespace pbprobe::ptx
