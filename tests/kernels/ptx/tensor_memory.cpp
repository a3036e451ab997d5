// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// tcgen05: tensor memory, and the scalar model of its multiplications. Bits of descriptors and layouts are written down
// from the PTX ISA, and share nothing with the kernels' own:
//   operands     lines along k of 128 bytes, eight of them a pattern whose units of 16 bytes are permuted
//   accumulator  row r of a block in lane r, column c in column c
//   scales       of line r in lane r % 32, column r / 32, byte scale-id + s, and the same in the other three times 32
//                lanes
// Of two blocks (cta_group::2), each has half of the rows of A, with their scales, and half of the columns of B, with
// all of theirs.
#include "tests/kernels/ptx/tensor_memory.hpp"

#include <algorithm>

#include "kernels/gemm/reference.hpp"
#include "tests/kernels/ptx/machine.hpp"

namespace pbprobe::ptx {
namespace {

constexpr size_t kStepBytes = 32;  // bytes of k that an instruction multiplies

// --- the instruction ---

struct Kind {
  DType type = DType::e4m3;
  BlockScale scale = BlockScale::none;
  unsigned scales = 0;  // along k
};
struct Step {
  Kind kind;
  unsigned rows = 0, columns = 0;
  uint32_t d = 0, scale_a = 0, scale_b = 0;  // in tensor memory
  unsigned id_a = 0, id_b = 0;               // first bytes of the words of scales
  uint64_t a = 0, b = 0;                     // descriptors
  bool adds = false;
};

DType get_operand_type(std::string_view name, unsigned code) {
  const auto is = [&](std::string_view kind) { return name.find(kind) != std::string_view::npos; };
  constexpr unsigned kFirst = 0;
  if (is("::mxf4") && code == 1) return DType::e2m1x2;
  if (is("f8f6f4") && code <= 1) return code == kFirst ? DType::e4m3 : DType::e5m2;
  if (is("::f16") && code <= 1) return code == kFirst ? DType::fp16 : DType::bf16;
  if (is("::tf32") && code == 2) return DType::tf32;
  if (is("::i8") && code == 1) return DType::int8;
  throw Fault(fmt::format("{} of elements {}", name, code));
}

Kind parse_kind(std::string_view name, uint32_t instruction) {
  const auto is = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  Kind kind{.type = get_operand_type(name, instruction >> 7 & 7)};
  if ((instruction >> 7 & 7) != (instruction >> 10 & 7)) throw Fault("operands of two types");
  if ((instruction >> 13 & 15) != 0) throw Fault("operands that are negated or transposed");
  if (!is(".block_scale")) return kind;
  const bool powers = (instruction >> 23 & 1) != 0;
  kind.scale = powers ? BlockScale::mx : BlockScale::nvfp4;
  kind.scales = kind.type != DType::e2m1x2 ? 1 : is("block16") || is("4X") ? 4 : 2;
  if (powers != (kind.scales != 4)) throw Fault(fmt::format("{} with scales of another type", name));
  return kind;
}

// [d], a, b, the instruction's descriptor, [scales of a], [scales of b], whether d is added.
Step read_step(const Thread& t, const Instruction& i) {
  Step step;
  const auto instruction = t.get<uint32_t>(i, 3);
  step.kind = parse_kind(i.name, instruction);
  const bool scaled = step.kind.scale != BlockScale::none;
  step.rows = scaled ? (instruction >> 27 & 3) * 128 : (instruction >> 24 & 31) * 16;
  step.columns = (instruction >> 17 & 63) * 8;
  step.d = t.get<uint32_t>(i, 0);
  step.a = t.get<uint64_t>(i, 1);
  step.b = t.get<uint64_t>(i, 2);
  step.adds = t.get<uint64_t>(i, scaled ? 6 : 4) != 0;
  if (scaled) {
    step.scale_a = t.get<uint32_t>(i, 4);
    step.scale_b = t.get<uint32_t>(i, 5);
    step.id_a = instruction >> 29 & 3;
    step.id_b = instruction >> 4 & 3;
    if (step.scale_a >> 30 != step.id_a || step.scale_b >> 30 != step.id_b) throw Fault("two scale-ids");
    if (step.id_a % step.kind.scales != 0 || step.id_b % step.kind.scales != 0)
      throw Fault("a scale-id inside a group");
    step.scale_a &= 0x3fffffff;
    step.scale_b &= 0x3fffffff;
  }
  return step;
}

// --- lines and their scales ---

using Line = std::vector<double>;

void expect_descriptor(uint64_t descriptor, uint64_t layout) {
  if (descriptor >> 61 != layout || (descriptor >> 46 & 7) != 1 || (descriptor >> 49 & 7) != 0)
    throw Fault(fmt::format("a descriptor {:#x} of shared memory", descriptor));
}

Line read_line(Block& block, const Kind& kind, uint64_t descriptor, unsigned line) {
  expect_descriptor(descriptor, 2);
  const uint64_t start = (descriptor & 0x3fff) << 4;
  const uint64_t patterns = (descriptor >> 32 & 0x3fff) << 4;
  std::array<std::byte, kStepBytes> bytes{};
  for (uint64_t n = 0; n < kStepBytes; n += 16) {
    uint64_t address = start + line / 8 * patterns + line % 8 * 128 + n;
    address ^= (address >> 7 & 7) << 4;
    std::memcpy(&bytes.at(n), block.shared(address | uint64_t{block.rank} << kRankBit, 16), 16);
  }
  const auto count = static_cast<int64_t>(kStepBytes) / size_of(kind.type) * numbers_in(kind.type);
  Line values;
  for (int64_t n = 0; n < count; ++n) values.push_back(element(bytes.data(), kind.type, n));
  return values;
}

void scale_line(Block& block, const Kind& kind, uint32_t scales, unsigned first, unsigned line, Line& values) {
  if (kind.scale == BlockScale::none) return;
  const uint32_t word = block.tensor(scales, line % 32, line / 32);
  for (unsigned other = 32; other < kTensorLanes; other += 32) {
    if (block.tensor(scales, other + line % 32, line / 32) != word) throw Fault("scales of which lanes differ");
  }
  for (size_t n = 0; n < values.size(); ++n) {
    const auto which = static_cast<unsigned>(n * kind.scales / values.size());
    values[n] *= block_scale(kind.scale, static_cast<uint8_t>(word >> 8 * (first + which)));
  }
}

uint32_t encode_sum(const Kind& kind, double sum) {
  uint32_t bits = 0;
  const auto real = static_cast<float>(sum);
  const auto whole = kind.type == DType::int8 ? static_cast<int32_t>(sum) : 0;
  std::memcpy(&bits, kind.type == DType::int8 ? static_cast<const void*>(&whole) : &real, sizeof bits);
  return bits;
}
double decode_sum(const Kind& kind, uint32_t bits) {
  float real = 0;
  std::memcpy(&real, &bits, sizeof bits);
  return kind.type == DType::int8 ? static_cast<double>(static_cast<int32_t>(bits)) : static_cast<double>(real);
}

void multiply(const std::vector<Block*>& group, const Step& step) {
  const auto blocks = static_cast<unsigned>(group.size());
  const unsigned rows = step.rows / blocks;
  if (rows != kTensorLanes) throw Fault(fmt::format("{} rows of {} blocks", step.rows, blocks));
  for (Block* block : group) {
    std::vector<Line> b;
    for (unsigned column = 0; column < step.columns; ++column) {
      Block& held = *group[column / (step.columns / blocks)];
      b.push_back(read_line(held, step.kind, step.b, column % (step.columns / blocks)));
      scale_line(*block, step.kind, step.scale_b, step.id_b, column, b.back());
    }
    for (unsigned row = 0; row < rows; ++row) {
      Line a = read_line(*block, step.kind, step.a, row);
      scale_line(*block, step.kind, step.scale_a, step.id_a, row, a);
      for (unsigned column = 0; column < step.columns; ++column) {
        uint32_t& d = block->tensor(step.d, row, column);
        double sum = step.adds ? decode_sum(step.kind, d) : 0;
        for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[column][k];
        d = encode_sum(step.kind, sum);
      }
    }
  }
}

// --- instructions ---

std::vector<Block*> list_group(Block& block, const Instruction& i) {
  if (i.name.find("cta_group::2") == std::string::npos) return {&block};
  auto& blocks = block.cluster.blocks;
  if (block.rank % 2 != 0 || block.rank + 1 >= blocks.size()) throw Fault("a pair's work by its odd block");
  return {&blocks[block.rank], &blocks[block.rank + 1]};
}

void issue_mma(Thread& t, const Instruction& i) {
  t.block.cluster.tensor_work.emplace_back(
      [group = list_group(t.block, i), step = read_step(t, i)] { multiply(group, step); });
}

// 32 lines of 16 bytes, eight of them one behind the other, to the same four columns of each 32 lanes.
void issue_copy(Thread& t, const Instruction& i) {
  const auto to = t.get<uint32_t>(i, 0);
  const auto from = t.get<uint64_t>(i, 1);
  t.block.cluster.tensor_work.emplace_back([group = list_group(t.block, i), to, from] {
    expect_descriptor(from, 0);
    for (Block* block : group) {
      for (unsigned line = 0; line < 32; ++line) {
        const uint64_t address = ((from & 0x3fff) << 4) + line / 8 * ((from >> 32 & 0x3fff) << 4) + line % 8 * 16;
        std::array<uint32_t, 4> words{};
        std::memcpy(words.data(), block->shared(address | uint64_t{block->rank} << kRankBit, 16), 16);
        for (unsigned lane = line; lane < kTensorLanes; lane += 32) {
          for (unsigned column = 0; column < 4; ++column) block->tensor(to, lane, column) = words.at(column);
        }
      }
    }
  });
}

void issue_commit(Thread& t, const Instruction& i) {
  const auto barrier = t.value(i.operands[0]);
  const bool multicast = i.name.find(".multicast::cluster") != std::string::npos;
  const unsigned mask = multicast ? t.get<uint16_t>(i, 1) : 1U << (barrier >> kRankBit);
  Cluster& cluster = t.block.cluster;
  list_group(t.block, i);
  cluster.tensor_work.emplace_back([&cluster, barrier, mask] {
    constexpr uint64_t kOffset = (uint64_t{1} << kRankBit) - 1;
    for (uint64_t rank = 0; rank < cluster.blocks.size(); ++rank) {
      if ((mask >> rank & 1) != 0) cluster.arrive((barrier & kOffset) | rank << kRankBit, 1);
    }
  });
}

Block& get_block(Warp& warp) {
  return warp.threads.front().block;
}

void allocate(Warp& warp, const Instruction& i) {
  Block& block = get_block(warp);
  const auto columns = warp.get<uint32_t>(0, i, 1);
  if (block.tensor_allocated != 0 || columns > kTensorColumns || (columns & (columns - 1)) != 0 || columns < 32)
    throw Fault(fmt::format("{} columns of tensor memory", columns));
  block.tensor_allocated = columns;
  const uint32_t first = 0;
  std::memcpy(block.shared(warp.threads.front().value(i.operands[0]), 4), &first, sizeof first);
}
void give_back(Warp& warp, const Instruction& i) {
  Block& block = get_block(warp);
  if (block.tensor_allocated != warp.get<uint32_t>(0, i, 1) || !block.cluster.tensor_work.empty())
    throw Fault("the freed tensor memory is not allocated, or in use");
  block.tensor_allocated = 0;
}

// 32 lanes by so many columns, a lane of tensor memory for each of the warp, which reaches its own quarter.
template <bool kLoads>
void move_tensor(Warp& warp, const Instruction& i) {
  Block& block = get_block(warp);
  const unsigned quarter = warp.threads.front().index / kLanes % 4;
  const size_t columns = i.operands.size() - 1;
  const auto address = warp.get<uint32_t>(0, i, kLoads ? columns : 0);
  if (address >> 16 != kLanes * quarter) throw Fault("tensor memory of another warp");
  for (int lane = 0; lane < kLanes; ++lane) {
    for (size_t column = 0; column < columns; ++column) {
      uint32_t& word = block.tensor(address, static_cast<unsigned>(lane), static_cast<unsigned>(column));
      if (kLoads) warp.set(lane, i, column, word);
      if (!kLoads) word = warp.get<uint32_t>(lane, i, 1 + column);
    }
  }
}

void nothing(Warp&, const Instruction&) {}
void pass(Thread&, const Instruction&) {}

}  // namespace

bool bind_tensor(Instruction& instruction) {
  const std::string_view name = instruction.name;
  if (!name.starts_with("tcgen05.")) return false;
  const auto is = [&](std::string_view what) { return name.substr(8).starts_with(what); };
  if (is("mma.cta_group")) instruction.run = issue_mma;
  if (is("cp.cta_group") && name.ends_with(".32x128b.warpx4")) instruction.run = issue_copy;
  if (is("commit.")) instruction.run = issue_commit;
  if (is("fence::")) instruction.run = pass;
  if (is("alloc.")) instruction.run_warp = allocate;
  if (is("dealloc.")) instruction.run_warp = give_back;
  if (is("relinquish_alloc_permit.") || is("wait::")) instruction.run_warp = nothing;
  if (is("ld.sync.aligned.32x32b.")) instruction.run_warp = move_tensor<true>;
  if (is("st.sync.aligned.32x32b.")) instruction.run_warp = move_tensor<false>;
  return instruction.run != nullptr || instruction.run_warp != nullptr;
}

}  // namespace pbprobe::ptx
