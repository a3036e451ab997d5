// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/ptx/machine.hpp"

#include <algorithm>

namespace pbprobe::ptx {

Block::Block(Cluster& of, unsigned at_x, unsigned at_y, unsigned at_z, unsigned in_cluster)
    : cluster(of),
      program(of.program),
      launch(of.launch),
      x(at_x),
      y(at_y),
      z(at_z),
      rank(in_cluster),
      shared_(of.launch.shared_bytes, std::byte{0x7f}),  // FP8's NaN
      tensor_(size_t{kTensorLanes} * kTensorColumns, 0x7fffffffU) {}

std::byte* Block::global(uint64_t address, size_t bytes, bool writes) const {
  if (address % bytes != 0) throw Fault(fmt::format("{} bytes at {:#x} are not aligned", bytes, address));
  for (const Range& range : launch.memory) {
    if (address < range.begin || address + bytes > range.end || (writes && !range.written)) continue;
    return reinterpret_cast<std::byte*>(address);
  }
  throw Fault(
      fmt::format("{} bytes at {:#x} have no owner that may {} them", bytes, address, writes ? "write" : "read"));
}

std::byte* Block::shared(uint64_t address, size_t bytes) {
  const uint64_t base = kSharedBase + (uint64_t{rank} << kRankBit);
  if (address < base || address + bytes > base + shared_.size() || address % bytes != 0)
    throw Fault(fmt::format("{} bytes at {:#x} are not in shared memory", bytes, address));
  return shared_.data() + (address - base);
}

const std::byte* Block::parameter(uint64_t address, size_t bytes) const {
  const uint64_t which = (address - kParameterBase) / kParameterStride;
  const uint64_t offset = (address - kParameterBase) % kParameterStride;
  if (which >= launch.parameters.size() || offset + bytes > launch.parameters[which].size())
    throw Fault(fmt::format("{} bytes at {:#x} are no parameter", bytes, address));
  return launch.parameters[which].data() + offset;
}

uint64_t Block::special(unsigned which, unsigned thread) const {
  const std::array<unsigned, kSpecialRegisters.size()> values{
      thread, x, y, z, launch.blocks_x, launch.blocks_y, launch.blocks_z, rank, 0, 0, rank};
  return values.at(which);
}

Barrier& Block::barrier(uint64_t address) {
  const auto found = barriers.find(address);
  if (found == barriers.end()) throw Fault(fmt::format("no barrier was initialized at {:#x}", address));
  return found->second;
}

uint32_t& Block::tensor(uint32_t address, unsigned lane, unsigned column) {
  lane += address >> 16;
  column += address & 0xffff;
  if (lane >= kTensorLanes || column >= tensor_allocated)
    throw Fault(fmt::format("lane {}, column {} of tensor memory, of which {} columns were allocated", lane, column,
                            tensor_allocated));
  return tensor_[size_t{lane} * kTensorColumns + column];
}

void Thread::run() {
  waits = false;
  while (!ended && !waits) {
    const Instruction& i = block.program.instructions.at(next);
    if (i.run_warp != nullptr) return;
    ++next;
    if (allows(i)) i.run(*this, i);
  }
}

Warp::Warp(Block& block, unsigned first) {
  for (unsigned lane = 0; lane < kLanes; ++lane) threads.emplace_back(block, first + lane);
}

bool Warp::run() {
  for (;;) {
    for (Thread& thread : threads) thread.run();
    const Thread& one = threads.front();
    if (std::any_of(threads.begin(), threads.end(), [](const Thread& thread) { return thread.waits; })) return true;
    for (const Thread& thread : threads) {
      if (thread.ended != one.ended || (!one.ended && thread.next != one.next))
        throw Fault("threads of a warp are apart at an instruction of all");
    }
    if (one.ended) return false;
    const Instruction& i = one.block.program.instructions[one.next];
    waits = false;
    i.run_warp(*this, i);
    if (waits) return true;
    for (Thread& thread : threads) ++thread.next;
  }
}

Cluster::Cluster(const Program& of, const LaunchOf& with, Grid& in, std::array<unsigned, 3> first)
    : program(of), launch(with), grid(in) {
  for (unsigned rank = 0; rank < with.cluster; ++rank)
    blocks.emplace_back(*this, first[0] + rank, first[1], first[2], rank);
}

Block& Cluster::holder(uint64_t address) {
  const uint64_t rank = address >> kRankBit;
  if (rank >= blocks.size()) throw Fault(fmt::format("{:#x} is in no block of the cluster", address));
  return blocks[rank];
}

void Cluster::advance(Barrier& barrier) {
  if (barrier.pending < 0) throw Fault("more arrive at a barrier than it expects");
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.phase = !barrier.phase;
  barrier.pending = barrier.expected;
  ++moves;
}
void Cluster::arrive(uint64_t address, int64_t count) {
  Barrier& barrier = holder(address).barrier(address);
  barrier.pending -= count;
  advance(barrier);
}
void Cluster::add_bytes(uint64_t address, int64_t bytes) {
  Barrier& barrier = holder(address).barrier(address);
  barrier.bytes += bytes;
  advance(barrier);
}

// Finishes one pending operation: any copy, or the next of tcgen05. Returns false if none is pending.
bool Cluster::finish_something() {
  seed_ = seed_ * 1664525U + 1013904223U;
  const bool copy = tensor_work.empty() || (!copies.empty() && (seed_ >> 20 & 1) != 0);
  if (copy && !copies.empty()) {
    const auto which = static_cast<std::ptrdiff_t>((seed_ >> 8) % copies.size());
    const auto one = std::move(copies[static_cast<size_t>(which)]);
    copies.erase(copies.begin() + which);
    one();
  } else if (!tensor_work.empty()) {
    const auto one = std::move(tensor_work.front());
    tensor_work.pop_front();
    one();
  } else {
    return false;
  }
  ++moves;
  return true;
}

void Cluster::run() {
  std::vector<Warp> warps;
  for (Block& block : blocks) {
    for (unsigned first = 0; first < launch.threads; first += kLanes) warps.emplace_back(block, first);
  }
  constexpr int kMostIdle = 16;  // rounds: a wait that was in vain need not be tried again
  for (int idle = 0;;) {
    const int64_t before = moves;
    const auto waiting = std::count_if(warps.begin(), warps.end(), [](Warp& warp) { return warp.run(); });
    const bool finished = finish_something();
    if (waiting == 0 && !finished) return;
    idle = moves == before ? idle + 1 : 0;
    if (idle > kMostIdle) throw Fault("all remaining threads wait without end");
  }
}

Result<void> run_program(const Program& program, const LaunchOf& launch) {
  try {
    Grid grid;
    for (unsigned z = 0; z < launch.blocks_z; ++z) {
      for (unsigned y = 0; y < launch.blocks_y; ++y) {
        for (unsigned x = 0; x < launch.blocks_x; x += launch.cluster) grid.left.push_back({x, y, z});
      }
    }
    while (!grid.left.empty()) {
      const auto first = grid.left.front();
      grid.left.pop_front();
      Cluster(program, launch, grid, first).run();
    }
  } catch (const Fault& fault) {
    return make_error(ErrorCode::malformed, "{}", fault.what());
  }
  return {};
}

}  // namespace pbprobe::ptx
