// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Instructions of a warp: ldmatrix, shfl, barriers, and the scalar model of block-scaled mma.sync. Its layouts are
// written down from the PTX ISA, and share nothing with the kernels' own index functions. Lane 4g + t holds
//   A     register r holds row g + 8 · (r % 2), bytes 4t + 16 · (r / 2) on of k
//   B     register r holds column g, bytes 4t + 16r on of k
//   C, D  register r holds row g + 8 · (r / 2), column 2t + r % 2
// Scale-A of row g comes from lane 4g + 2 · thread-id-a, scale-A of row g + 8 from the next lane; scale-B of column g
// from lane 4g + thread-id-b. Byte-id is the byte of the first of the 1, 2 or 4 scales along k.
#include <array>
#include <string_view>

#include "kernels/gemm/reference.hpp"
#include "tests/kernels/ptx/machine.hpp"

namespace pbprobe::ptx {
namespace {

// Four 8 × 8 matrices of 16 bits: lane 8m + r has the address of row r of matrix m, and lane 4r + c gets columns 2c, 2c
// + 1.
void load_matrices(Warp& warp, const Instruction& i) {
  uint32_t words[4][kLanes];
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int row = 0; row < 8; ++row) {
      Thread& thread = warp.threads[static_cast<size_t>(8 * matrix + row)];
      const std::byte* from = thread.block.shared(thread.value(i.operands[4]), 16);
      std::memcpy(&words[matrix][4 * row], from, 16);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    for (size_t matrix = 0; matrix < 4; ++matrix) warp.set(lane, i, matrix, words[matrix][lane]);
  }
}

void shuffle_xor(Warp& warp, const Instruction& i) {
  uint32_t values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = warp.get<uint32_t>(lane, i, 1);
  for (int lane = 0; lane < kLanes; ++lane) warp.set(lane, i, 0, values[lane ^ warp.get<int>(lane, i, 2)]);
}

// The value of a lane that each names.
void shuffle_lanes(Warp& warp, const Instruction& i) {
  const bool says = i.operands.size() == 6;  // also returns a predicate
  uint32_t values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = warp.get<uint32_t>(lane, i, says ? 2 : 1);
  for (int lane = 0; lane < kLanes; ++lane) {
    warp.set(lane, i, 0, values[warp.get<int>(lane, i, says ? 3 : 2) % kLanes]);
    if (says) warp.set(lane, i, 1, uint64_t{1});
  }
}

void elect(Warp& warp, const Instruction& i) {
  for (int lane = 0; lane < kLanes; ++lane) {
    warp.set(lane, i, 0, 0U);
    warp.set(lane, i, 1, uint64_t{lane == 0});
  }
}

void nothing(Warp&, const Instruction&) {}

Block& get_block(Warp& warp) {
  return warp.threads.front().block;
}

// bar.sync and bar.arrive, of all threads or of so many.
Block::Named& arrive(Warp& warp, const Instruction& i) {
  Block& block = get_block(warp);
  auto& named = block.named[warp.get<int>(0, i, 0)];
  const int64_t count = i.operands.size() > 1 ? warp.get<int>(0, i, 1) : int64_t{block.launch.threads};
  warp.generation = named.generation;
  named.arrived += kLanes;
  if (named.arrived > count) throw Fault("more threads arrive at a barrier than it is for");
  if (named.arrived == count) {
    named.arrived = 0;
    ++named.generation;
    ++block.cluster.moves;
  }
  return named;
}
void arrive_only(Warp& warp, const Instruction& i) {
  arrive(warp, i);
}
void barrier(Warp& warp, const Instruction& i) {
  const auto& named = warp.arrived ? get_block(warp).named[warp.get<int>(0, i, 0)] : arrive(warp, i);
  warp.arrived = warp.waits = named.generation == warp.generation;
}

void arrive_at_cluster(Warp& warp, const Instruction&) {
  Cluster& cluster = get_block(warp).cluster;
  warp.of_cluster = cluster.generation;
  cluster.arrived += kLanes;
  if (cluster.arrived < static_cast<int64_t>(cluster.blocks.size()) * cluster.launch.threads) return;
  cluster.arrived = 0;
  ++cluster.generation;
  ++cluster.moves;
}
void await_cluster(Warp& warp, const Instruction&) {
  warp.waits = get_block(warp).cluster.generation == warp.of_cluster;
}

struct Kind {
  DType type = DType::e4m3;
  BlockScale scale = BlockScale::mx;
  int scales = 1;  // along k
};

Kind parse_kind(std::string_view name) {
  Kind kind;
  if (name.find(".e5m2.") != std::string_view::npos) kind.type = DType::e5m2;
  if (name.find(".e2m1.") != std::string_view::npos) kind.type = DType::e2m1x2;
  if (name.ends_with("ue4m3")) kind.scale = BlockScale::nvfp4;
  if (name.find("scale_vec::2X") != std::string_view::npos) kind.scales = 2;
  if (name.find("scale_vec::4X") != std::string_view::npos) kind.scales = 4;
  return kind;
}

// Operands: 0-3 D, 4-7 A, 8-9 B, 10-13 C, 14 scale A, 15 its byte, 16 its thread, 17 scale B, 18, 19.
class Mma {
 public:
  Mma(const Warp& warp, const Instruction& i) : warp_(warp), i_(i), kind_(parse_kind(i.name)) {
    for (int row = 0; row < 16; ++row) {
      const int lane = 4 * (row % 8) + 2 * warp.get<int>(0, i, 16) + row / 8;
      read_line(row % 8, 4 + static_cast<size_t>(row / 8), 2, lane, 14, a_.at(static_cast<size_t>(row)));
    }
    for (int column = 0; column < 8; ++column) {
      const int lane = 4 * column + warp.get<int>(0, i, 19);
      read_line(column, 8, 1, lane, 17, b_.at(static_cast<size_t>(column)));
    }
  }

  // Returns the sum over 32 bytes of k.
  [[nodiscard]] float sum(int row, int column, float start) const {
    auto result = static_cast<double>(start);
    for (size_t k = 0; k < kMost; ++k)
      result += a_.at(static_cast<size_t>(row))[k] * b_.at(static_cast<size_t>(column))[k];
    return static_cast<float>(result);
  }

 private:
  static constexpr size_t kMost = 64;
  using Line = std::array<double, kMost>;

  // The scaled numbers of one row or column: the first 16 bytes of k are in register `first` of the quad's lanes, the
  // others `apart` registers behind.
  void read_line(int quad, size_t first, size_t apart, int scale_lane, size_t scale_operand, Line& line) {
    line.fill(0);
    const auto numbers = static_cast<int>(numbers_in(kind_.type));
    const auto scales = warp_.get<uint32_t>(scale_lane, i_, scale_operand);
    const int first_byte = warp_.get<int>(0, i_, scale_operand + 1);
    for (int k = 0; k < 32 * numbers; ++k) {
      const int byte = k / numbers;
      const auto word =
          warp_.get<uint32_t>(4 * quad + byte % 16 / 4, i_, first + static_cast<size_t>(byte / 16) * apart);
      const int block = k / (32 * numbers / kind_.scales);
      const auto code = static_cast<uint8_t>(scales >> 8 * (first_byte + block));
      line.at(static_cast<size_t>(k)) = element(&word, kind_.type, k % (4 * numbers)) * block_scale(kind_.scale, code);
    }
  }

  const Warp& warp_;
  const Instruction& i_;
  Kind kind_;
  std::array<Line, 16> a_;
  std::array<Line, 8> b_;
};

void multiply(Warp& warp, const Instruction& i) {
  float results[kLanes][4];
  const Mma mma(warp, i);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const auto start = warp.get<float>(lane, i, static_cast<size_t>(10 + r));
      results[lane][r] = mma.sum(lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2, start);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    for (size_t r = 0; r < 4; ++r) warp.set(lane, i, r, results[lane][r]);
  }
}

}  // namespace

bool bind_collective(Instruction& instruction) {
  const std::string_view name = instruction.name;
  if (name == "ldmatrix.sync.aligned.m8n8.x4.shared.b16") instruction.run_warp = load_matrices;
  if (name == "shfl.sync.bfly.b32") instruction.run_warp = shuffle_xor;
  if (name == "shfl.sync.idx.b32") instruction.run_warp = shuffle_lanes;
  if (name == "elect.sync") instruction.run_warp = elect;
  if (name == "bar.sync") instruction.run_warp = barrier;
  if (name == "bar.arrive") instruction.run_warp = arrive_only;
  if (name == "bar.warp.sync") instruction.run_warp = nothing;
  if (name.starts_with("barrier.cluster.arrive.")) instruction.run_warp = arrive_at_cluster;
  if (name.starts_with("barrier.cluster.wait.")) instruction.run_warp = await_cluster;
  if (name.starts_with("mma.sync.") && name.find(".block_scale.") != std::string_view::npos)
    instruction.run_warp = multiply;
  return instruction.run_warp != nullptr;
}

}  // namespace pbprobe::ptx
