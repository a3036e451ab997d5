// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/cuda/host/probes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/cuda/host/launch.hpp"
#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kMemoryThreads = 512;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kPieceVectors = 8 * kMemoryThreads;  // vectors of a block: kernels/cuda/memory.cuh
constexpr int64_t kTensorThreads = 64;                 // kernels/cuda/tensor_probes.cuh
constexpr int kLanes = 32;
constexpr int kWarpgroup = 128;
constexpr std::string_view kWgmma = "wgmma";

int64_t pieces_of(int64_t vectors) {
  return (vectors + kPieceVectors - 1) / kPieceVectors;
}

Result<int64_t> vectors_of(int64_t bytes) {
  if (bytes < kVectorBytes || bytes % kVectorBytes != 0) {
    return make_error(ErrorCode::usage, "{} bytes: give a multiple of {}", bytes, kVectorBytes);
  }
  return bytes / kVectorBytes;
}

// Lines of 128 bytes, 64 of them a box.
Result<TensorMapShape> boxes_of(const void* from, int64_t bytes) {
  constexpr uint64_t kLine = 128;
  if (bytes < kBoxProbeBytes || bytes % kBoxProbeBytes != 0) {
    return make_error(ErrorCode::usage, "{} bytes: give a multiple of {}", bytes, kBoxProbeBytes);
  }
  return TensorMapShape{.at = from,
                        .sizes = {kLine, static_cast<uint64_t>(bytes) / kLine},
                        .stride = kLine,
                        .box = {kLine, kBoxProbeBytes / kLine}};
}

// Pseudo-random numbers, the same in every run.
class Lcg {
 public:
  uint32_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>(state_ >> 32);
  }
  int within(int least, int most) { return least + static_cast<int>(next() % static_cast<uint32_t>(most - least + 1)); }

 private:
  uint64_t state_ = 4711;
};

uint32_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// a · b + c where the product is longer than FP32: only what rounds once gives these bits.
Proof fma_proof() {
  Proof proof;
  Lcg lcg;
  for (int i = 0; i < 2 * kLanes; ++i) {
    const float a = 1.0F + static_cast<float>(lcg.next() >> 9) * 0x1p-23F;
    const float b = 1.0F + static_cast<float>(lcg.next() >> 9) * 0x1p-23F;
    const float c = -(a * b);
    proof.a.push_back(bits_of(a));
    proof.b.push_back(bits_of(b));
    proof.c.push_back(bits_of(c));
    proof.expected.push_back(bits_of(std::fma(a, b, c)));
  }
  return proof;
}

int byte_of(uint32_t word, int i) {
  return static_cast<int8_t>(word >> (8 * i) & 0xff);
}

Proof dp4a_proof() {
  Proof proof;
  Lcg lcg;
  for (int i = 0; i < 2 * kLanes; ++i) {
    const uint32_t a = lcg.next();
    const uint32_t b = lcg.next();
    const auto c = static_cast<int32_t>(lcg.next() >> 8);
    int32_t sum = c;
    for (int j = 0; j < 4; ++j) sum += byte_of(a, j) * byte_of(b, j);
    proof.a.push_back(a);
    proof.b.push_back(b);
    proof.c.push_back(static_cast<uint32_t>(c));
    proof.expected.push_back(static_cast<uint32_t>(sum));
  }
  return proof;
}

// Returns the bits of an integer in `type`, in the lowest bytes.
uint32_t encode(DType type, int value) {
  const uint32_t bits = bits_of(static_cast<float>(value));
  switch (type) {
    case DType::bf16: return bits >> 16;
    case DType::tf32: return bits;
    case DType::int8: return static_cast<uint32_t>(value) & 0xff;
    case DType::e4m3:
    case DType::e5m2:
    case DType::e2m1x2: {
      uint8_t byte = 0;
      set_element(&byte, type, 0, value);
      return byte;
    }
    default: break;
  }
  // FP16 of an integer below 2048: the exponent's bias changes, and 13 bits of the fraction are zeros.
  return value == 0 ? 0 : (bits >> 16 & 0x8000U) | (((bits >> 23 & 0xffU) - 112) << 10) | (bits >> 13 & 0x3ffU);
}

// Integers up to this are exact, and so are sums of 32 products of them.
int most_of(DType type) {
  return type == DType::int8 ? 127 : type == DType::e2m1x2 ? 4 : is_fp8(type) ? 7 : 15;
}

// Two operands of one step of 32 bytes of k, and the words that hold them.
class StepOperands {
 public:
  StepOperands(DType type, int rows, int columns)
      : type_(type), bits_(static_cast<int>(8 * size_of(type) / numbers_in(type))), a_(rows), b_(columns) {
    const int most = most_of(type);
    for (auto* lines : {&a_, &b_}) {
      for (auto& line : *lines) std::generate_n(line.begin(), length(), [&] { return lcg_.within(-most, most); });
    }
  }
  [[nodiscard]] uint32_t of_a(int row, int byte) const { return word(a_[static_cast<size_t>(row)], byte); }
  [[nodiscard]] uint32_t of_b(int column, int byte) const { return word(b_[static_cast<size_t>(column)], byte); }
  // A random word of c, and what it must become.
  void add_sum(Proof& proof, int row, int column) {
    const int start = lcg_.within(-1000, 1000);
    int sum = start;
    for (int k = 0; k < length(); ++k) {
      sum += a_[static_cast<size_t>(row)][static_cast<size_t>(k)] *
             b_[static_cast<size_t>(column)][static_cast<size_t>(k)];
    }
    proof.c.push_back(number(start));
    proof.expected.push_back(number(sum));
  }

 private:
  using Line = std::array<int, 64>;
  [[nodiscard]] int length() const { return 256 / bits_; }
  [[nodiscard]] uint32_t word(const Line& line, int byte) const {
    uint32_t bits = 0;
    for (int i = 0; i < 32 / bits_; ++i) {
      const int at = byte * 8 / bits_ + i;
      bits |= encode(type_, line[static_cast<size_t>(at)]) << (bits_ * i);
    }
    return bits;
  }
  [[nodiscard]] uint32_t number(int value) const {
    return type_ == DType::int8 ? static_cast<uint32_t>(value) : bits_of(static_cast<float>(value));
  }
  DType type_;
  int bits_;  // bits of a number
  Lcg lcg_;
  std::vector<Line> a_;
  std::vector<Line> b_;
};

// One step of mma.sync: 16 rows, 8 columns, 32 bytes of k. PTX ISA: in a, word i of lane 4g + t is row g + 8 · (i % 2),
// bytes 4t + 16 · (i / 2) on of k; in b, column g, bytes 4t + 16i; in c, row g + 8 · (i / 2), column 2t + i % 2.
Proof mma_proof(DType type) {
  StepOperands operands(type, 16, 8);
  Proof proof;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    for (int i = 0; i < 4; ++i) proof.a.push_back(operands.of_a(g + 8 * (i % 2), 4 * t + 16 * (i / 2)));
    for (int i = 0; i < 2; ++i) proof.b.push_back(operands.of_b(g, 4 * t + 16 * i));
    for (int i = 0; i < 4; ++i) operands.add_sum(proof, g + 8 * (i / 2), 2 * t + i % 2);
  }
  return proof;
}

// The operands of a step line by line, 32 bytes of k each.
Proof proof_of_lines(const StepOperands& operands, int rows, int columns) {
  Proof proof;
  for (int row = 0; row < rows; ++row) {
    for (int byte = 0; byte < 32; byte += 4) proof.a.push_back(operands.of_a(row, byte));
  }
  for (int column = 0; column < columns; ++column) {
    for (int byte = 0; byte < 32; byte += 4) proof.b.push_back(operands.of_b(column, byte));
  }
  return proof;
}

// One step of wgmma: 64 rows, 8 columns, 32 bytes of k. a and b are stored row by row; each warp has 16 rows of c, as
// in mma_proof().
Proof wgmma_proof(DType type) {
  constexpr int kRows = 64;
  constexpr int kColumns = 8;
  StepOperands operands(type, kRows, kColumns);
  Proof proof = proof_of_lines(operands, kRows, kColumns);
  for (int thread = 0; thread < kWarpgroup; ++thread) {
    const int g = thread % kLanes / 4;
    const int t = thread % 4;
    for (int i = 0; i < 4; ++i) operands.add_sum(proof, thread / kLanes * 16 + g + 8 * (i / 2), 2 * t + i % 2);
  }
  return proof;
}

// One step of tcgen05.mma: 128 rows, 16 columns, 32 bytes of k; a and b by lines along k, c by rows, one a thread.
Proof tcgen05_proof(DType type) {
  constexpr int kRows = 128;
  constexpr int kColumns = 16;
  StepOperands operands(type, kRows, kColumns);
  Proof proof = proof_of_lines(operands, kRows, kColumns);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) operands.add_sum(proof, row, column);
  }
  return proof;
}

}  // namespace

Result<void> run_read_probe(std::string_view target, const void* from, int64_t bytes, int rounds, int64_t blocks,
                            uint32_t* sink, const Context& context) {
  PBPROBE_TRY(const int64_t vectors, vectors_of(bytes));
  long long count = vectors;
  void* parameters[] = {&from, &count, &rounds, &sink};
  const Grid grid{blocks > 0 ? blocks : pieces_of(vectors), 1, 1};
  return launch({target, "probe_read", grid, kMemoryThreads}, context, parameters);
}

Result<void> run_copy_probe(std::string_view target, const void* from, void* to, int64_t bytes,
                            const Context& context) {
  PBPROBE_TRY(const int64_t vectors, vectors_of(bytes));
  long long count = vectors;
  void* parameters[] = {&from, &to, &count};
  return launch({target, "probe_copy", Grid{pieces_of(vectors), 1, 1}, kMemoryThreads}, context, parameters);
}

Result<void> run_shared_probe(std::string_view target, int64_t iterations, int64_t blocks, GpuPeakSample* samples,
                              const Context& context) {
  long long count = iterations;
  void* parameters[] = {&samples, &count};
  return launch({target, "probe_shared", Grid{blocks, 1, 1}, kSharedProbeThreads}, context, parameters);
}

Result<void> run_tensor_probe(std::string_view target, const void* from, int64_t bytes, int rounds, int64_t blocks,
                              bool multicast, uint32_t* seen, const Context& context) {
  PBPROBE_TRY(const TensorMapShape shape, boxes_of(from, bytes));
  GpuTensorMap map;
  PBPROBE_CHECK(write_map(context.gpu->driver(), shape, map));
  int boxes = static_cast<int>(bytes / kBoxProbeBytes);
  void* parameters[] = {&map, &boxes, &rounds, &seen};
  return launch({.target = target,
                 .symbol = multicast ? "probe_multicast" : "probe_tensor_copy",
                 .grid = Grid{blocks, 1, 1},
                 .threads = kTensorThreads,
                 .cluster = multicast ? 2 : 1},
                context, parameters);
}

Result<void> write_probe_map(const void* from, int64_t bytes, const Context& context) {
  PBPROBE_TRY(const TensorMapShape shape, boxes_of(from, bytes));
  GpuTensorMap map;
  return write_map(context.gpu->driver(), shape, map);
}

Result<void> run_cluster_probe(std::string_view target, int64_t blocks, uint32_t* seen, const Context& context) {
  void* parameters[] = {&seen};
  return launch(
      {.target = target, .symbol = "probe_cluster", .grid = Grid{blocks, 1, 1}, .threads = kLanes, .cluster = 2},
      context, parameters);
}

Result<void> run_empty_probe(std::string_view target, const Context& context) {
  return launch({target, "probe_nothing", Grid{}, 1}, context, nullptr);
}

Result<Proof> make_proof(const Peak& peak) {
  if (peak.threads == 0) return make_error(ErrorCode::usage, "{} is a CPU's loop: there is no proof of it", peak.name);
  if (peak.dtype == DType::fp32) return fma_proof();
  if (peak.part == "tcgen05") return tcgen05_proof(peak.dtype);
  if (peak.instruction == kWgmma) return wgmma_proof(peak.dtype);
  return peak.instruction == "dp4a" ? dp4a_proof() : mma_proof(peak.dtype);
}

Result<void> run_proof(const Peak& peak, const void* a, const void* b, void* c, const Context& context) {
  void* parameters[] = {&a, &b, &c};
  const int64_t of_own = peak.instruction == kWgmma ? kWarpgroup : kLanes;
  const int64_t threads = peak.part == "tcgen05" ? peak.threads : of_own;
  return launch({peak.target, proof_symbol(peak), Grid{}, threads, peak.shared_bytes}, context, parameters);
}

std::string proof_differs(const Proof& proof, const std::vector<uint32_t>& seen) {
  if (seen.size() != proof.expected.size()) {
    return fmt::format("{} words came back, and {} were expected", seen.size(), proof.expected.size());
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == proof.expected[i]) continue;
    return fmt::format("word {} is {:#010x}, and must be {:#010x}", i, seen[i], proof.expected[i]);
  }
  return {};
}

}  // namespace pbprobe
