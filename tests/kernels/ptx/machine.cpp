// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/ptx/machine.hpp"

#include <algorithm>

namespace pbprobe::ptx {

Block::Block(const Program& of, const LaunchOf& with, unsigned at_x, unsigned at_z)
    : program(of), launch(with), x(at_x), z(at_z), shared_(with.shared_bytes, std::byte{0x7f}) {}  // FP8's NaN

std::byte* Block::global(uint64_t address, size_t bytes, bool writes) const {
  if (address % bytes != 0) throw Fault(fmt::format("{} bytes at {:#x} are not aligned", bytes, address));
  for (const Range& range : launch.memory) {
    if (address < range.begin || address + bytes > range.end || (writes && !range.written)) continue;
    return reinterpret_cast<std::byte*>(address);
  }
  throw Fault(fmt::format("{} bytes at {:#x} are nobody's to {}", bytes, address, writes ? "write" : "read"));
}

std::byte* Block::shared(uint64_t address, size_t bytes) {
  if (address < kSharedBase || address + bytes > kSharedBase + shared_.size() || address % bytes != 0)
    throw Fault(fmt::format("{} bytes at {:#x} are not in shared memory", bytes, address));
  return shared_.data() + (address - kSharedBase);
}

const std::byte* Block::parameter(uint64_t address, size_t bytes) const {
  const uint64_t which = (address - kParameterBase) / kParameterStride;
  const uint64_t offset = (address - kParameterBase) % kParameterStride;
  if (which >= launch.parameters.size() || offset + bytes > launch.parameters[which].size())
    throw Fault(fmt::format("{} bytes at {:#x} are no parameter", bytes, address));
  return launch.parameters[which].data() + offset;
}

void Block::run() {
  std::vector<Warp> warps;
  for (unsigned first = 0; first < launch.threads; first += kLanes) warps.emplace_back(*this, first);
  for (;;) {
    const auto waiting = std::count_if(warps.begin(), warps.end(), [](Warp& warp) { return warp.run(); });
    if (waiting == 0) return;
    if (waiting != static_cast<int64_t>(warps.size())) throw Fault("a warp has ended, and others wait at a barrier");
  }
}

void Thread::run() {
  while (!ended) {
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
    for (const Thread& thread : threads) {
      if (thread.ended != one.ended || (!one.ended && thread.next != one.next))
        throw Fault("threads of a warp are apart at an instruction of all");
    }
    if (one.ended) return false;
    const Instruction& i = one.block.program.instructions[one.next];
    for (Thread& thread : threads) ++thread.next;
    if (i.name == "bar.sync") return true;
    i.run_warp(*this, i);
  }
}

Result<void> run_program(const Program& program, const LaunchOf& launch) {
  try {
    for (unsigned z = 0; z < launch.blocks_z; ++z) {
      for (unsigned x = 0; x < launch.blocks_x; ++x) Block(program, launch, x, z).run();
    }
  } catch (const Fault& fault) {
    return make_error(ErrorCode::malformed, "{}", fault.what());
  }
  return {};
}

}  // namespace pbprobe::ptx
