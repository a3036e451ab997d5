// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Asynchronous events: mbarriers, copies by tensor maps, and the launches that a cluster takes over.
#include <algorithm>
#include <string_view>

#include "tests/kernels/ptx/machine.hpp"
#include "tests/kernels/ptx/tensor_map.hpp"
#include "tests/kernels/ptx/tensor_memory.hpp"

namespace pbprobe::ptx {
namespace {

// --- mbarriers ---

void init_barrier(Thread& t, const Instruction& i) {
  t.block.shared(t.value(i.operands[0]), 8);
  const int64_t count = t.get<int>(i, 1);
  t.block.barriers[t.value(i.operands[0])] = {.expected = count, .pending = count};
}
// Operands follow "_", if the instruction has it.
void arrive(Thread& t, const Instruction& i) {
  t.block.cluster.arrive(t.value(i.operands[1]), 1);
}
void arrive_expecting(Thread& t, const Instruction& i) {
  Cluster& cluster = t.block.cluster;
  cluster.holder(t.value(i.operands[1])).barrier(t.value(i.operands[1])).bytes += t.get<int>(i, 2);
  cluster.arrive(t.value(i.operands[1]), 1);
}
void try_wait(Thread& t, const Instruction& i) {
  const bool over = t.block.barrier(t.value(i.operands[1])).phase != (t.get<int>(i, 2) % 2 != 0);
  t.set(i, 0, uint64_t{over});
  t.waits = !over;
}
void map_address(Thread& t, const Instruction& i) {
  constexpr uint32_t kOffset = (1U << kRankBit) - 1;
  t.set(i, 0, (t.get<uint32_t>(i, 1) & kOffset) | t.get<uint32_t>(i, 2) << kRankBit);
}

// --- copies by tensor maps ---

TensorMap load_map(const Thread& t, uint64_t address) {
  TensorMap map;
  std::memcpy(&map, t.block.parameter(address, sizeof map), sizeof map);
  if (map.rank == 0 || address % 64 != 0) throw Fault(fmt::format("no tensor map at {:#x}", address));
  return map;
}

// The bytes of a box, element by element, zeros outside of the tensor.
std::vector<std::byte> read_box(const Block& block, const TensorMap& map, const std::array<int64_t, 5>& at) {
  uint64_t lines = 1;
  for (unsigned d = 1; d < map.rank; ++d) lines *= map.box[d];
  const uint64_t line_bytes = uint64_t{map.box[0]} * map.bits / 8;
  std::vector<std::byte> bytes(lines * line_bytes);
  for (uint64_t line = 0; line < lines; ++line) {
    uint64_t from = map.address;
    bool inside = true;
    uint64_t rest = line;
    for (unsigned d = 1; d < map.rank; ++d) {
      const int64_t place = at[d] + static_cast<int64_t>(rest % map.box[d]);
      rest /= map.box[d];
      inside = inside && place >= 0 && place < int64_t{map.sizes[d]};
      from += static_cast<uint64_t>(place) * map.strides.at(d - 1);
    }
    if (!inside || at[0] < 0) continue;
    const int64_t there = std::min<int64_t>(map.box[0], int64_t{map.sizes[0]} - at[0]) * map.bits;
    if (there % 8 != 0) throw Fault("a line of a tensor ends inside a byte");
    from += static_cast<uint64_t>(at[0] * map.bits / 8);
    for (int64_t n = 0; n < there / 8; ++n) {
      bytes[line * line_bytes + static_cast<uint64_t>(n)] = *block.global(from + static_cast<uint64_t>(n), 1, false);
    }
  }
  return bytes;
}

// Copies to the same address in each block of the mask. `barrier` is the barrier of the block itself, or of the even
// block of its pair.
void deliver(Cluster& cluster, const TensorMap& map, const std::vector<std::byte>& bytes, uint64_t to, uint64_t barrier,
             unsigned mask, bool pairs) {
  constexpr uint64_t kOffset = (uint64_t{1} << kRankBit) - 1;
  for (uint64_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    if ((mask >> rank & 1) == 0) continue;
    const uint64_t first = (to & kOffset) | rank << kRankBit;
    for (size_t n = 0; n < bytes.size(); ++n) {
      uint64_t address = first + n;
      if (map.swizzle == 3) address ^= (address >> 7 & 7) << 4;
      *cluster.blocks[rank].shared(address, 1) = bytes[n];
    }
    const uint64_t of = pairs ? (rank & ~uint64_t{1}) | (barrier >> kRankBit & 1) : rank;
    cluster.add_bytes((barrier & kOffset) | of << kRankBit, -static_cast<int64_t>(bytes.size()));
  }
}

// Operands: [to], [map, {coordinates}], [barrier], a mask if multicast, a cache hint.
void copy_tensor(Thread& t, const Instruction& i) {
  const bool multicast = i.name.find(".multicast::cluster") != std::string::npos;
  const bool pairs = i.name.find(".cta_group::2") != std::string::npos;
  const TensorMap map = load_map(t, t.value(i.operands[1]));
  if (i.operands.size() != size_t{map.rank} + (multicast ? 5 : 4)) throw Fault("a copy of another rank than its map");
  std::array<int64_t, 5> at{};
  for (unsigned d = 0; d < map.rank; ++d) at[d] = t.get<int>(i, 2 + d);
  const uint64_t to = t.value(i.operands[0]);
  const uint64_t barrier = t.value(i.operands[2 + map.rank]);
  if (to % 128 != 0) throw Fault("a copy to an address that is not aligned");
  const unsigned mask = multicast ? t.get<uint16_t>(i, 3 + map.rank) : 1U << (to >> kRankBit);
  Cluster& cluster = t.block.cluster;
  const Block& block = t.block;
  cluster.copies.emplace_back([&cluster, &block, map, at, to, barrier, mask, pairs] {
    deliver(cluster, map, read_box(block, map, at), to, barrier, mask, pairs);
  });
}

// --- launches that are taken over: every third cluster is left to begin by itself ---

constexpr uint64_t kTaken = uint64_t{1} << 63;

void try_cancel(Thread& t, const Instruction& i) {
  Cluster& cluster = t.block.cluster;
  Grid& grid = cluster.grid;
  std::array<uint64_t, 2> answer{};
  if (!grid.left.empty() && ++grid.asked % 3 != 0) {
    const auto [x, y, z] = grid.left.front();
    grid.left.pop_front();
    answer[0] = kTaken | uint64_t{z} << 42 | uint64_t{y} << 21 | x;
  }
  constexpr uint64_t kOffset = (uint64_t{1} << kRankBit) - 1;
  const uint64_t to = t.value(i.operands[0]) & kOffset;
  const uint64_t barrier = t.value(i.operands[1]) & kOffset;
  cluster.copies.emplace_back([&cluster, answer, to, barrier] {
    for (uint64_t rank = 0; rank < cluster.blocks.size(); ++rank) {
      std::memcpy(cluster.blocks[rank].shared(to | rank << kRankBit, 16), answer.data(), 16);
      cluster.add_bytes(barrier | rank << kRankBit, -16);
    }
  });
}
// A register of 128 bits holds the first half: there is nothing in the other.
void load_answer(Thread& t, const Instruction& i) {
  uint64_t first = 0;
  std::memcpy(&first, t.block.shared(t.value(i.operands[1]), 16), sizeof first);
  t.set(i, 0, first);
}
void is_taken(Thread& t, const Instruction& i) {
  t.set(i, 0, uint64_t{(t.get<uint64_t>(i, 1) & kTaken) != 0});
}
void first_block(Thread& t, const Instruction& i) {
  const auto answer = t.get<uint64_t>(i, 4);
  constexpr uint64_t kSize = (1U << 21) - 1;
  for (size_t d = 0; d < 3; ++d) t.set(i, d, static_cast<uint32_t>(answer >> 21 * d & kSize));
}

}  // namespace

bool bind_asynchronous(Instruction& instruction) {
  const std::string_view name = instruction.name;
  if (name == "mbarrier.init.shared::cta.b64") instruction.run = init_barrier;
  if (name == "mbarrier.arrive.shared::cta.b64" || name == "mbarrier.arrive.shared::cluster.b64")
    instruction.run = arrive;
  if (name.starts_with("mbarrier.arrive.expect_tx.")) instruction.run = arrive_expecting;
  if (name.starts_with("mbarrier.try_wait.parity.") || name.starts_with("mbarrier.test_wait.parity."))
    instruction.run = try_wait;
  if (name == "mapa.shared::cluster.u32") instruction.run = map_address;
  if (name.starts_with("cp.async.bulk.tensor.")) instruction.run = copy_tensor;
  if (name.starts_with("clusterlaunchcontrol.try_cancel.")) instruction.run = try_cancel;
  if (name == "ld.shared.b128") instruction.run = load_answer;
  if (name.starts_with("clusterlaunchcontrol.query_cancel.is_canceled.")) instruction.run = is_taken;
  if (name.starts_with("clusterlaunchcontrol.query_cancel.get_first_ctaid.")) instruction.run = first_block;
  return instruction.run != nullptr || bind_tensor(instruction);
}

int encode_tensor_map(void* map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* strides,
                      const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int, int fill) {
  constexpr std::array<uint8_t, 14> kBits{8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4};
  if (rank < 1 || rank > 5 || type < 0 || static_cast<size_t>(type) >= kBits.size() || interleave != 0 || fill != 0)
    return 1;
  TensorMap made;
  made.address = reinterpret_cast<uint64_t>(address);
  made.bits = kBits.at(static_cast<size_t>(type));
  made.rank = static_cast<uint8_t>(rank);
  made.swizzle = static_cast<uint8_t>(swizzle);
  if (swizzle != 0 && swizzle != 3) return 1;
  for (unsigned d = 0; d < rank; ++d) {
    if (steps[d] != 1 || box[d] < 1 || box[d] > 256 || sizes[d] < 1 || sizes[d] > UINT32_MAX) return 1;
    made.sizes[d] = static_cast<uint32_t>(sizes[d]);
    made.box[d] = box[d];
    if (d > 0) made.strides.at(d - 1) = strides[d - 1];
    if (d > 0 && strides[d - 1] % 16 != 0) return 1;
  }
  const uint64_t line = uint64_t{box[0]} * made.bits / 8;
  if (made.address % 16 != 0 || line % 16 != 0 || (swizzle == 3 && line > 128)) return 1;
  std::memcpy(map, &made, sizeof made);
  return 0;
}

}  // namespace pbprobe::ptx
