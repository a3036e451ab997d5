// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/scaled.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/ranges.h>

#include "kernels/gemm/reference.hpp"
#include "probes/measure/libtorch/speeds.hpp"

namespace pbprobe::area {
namespace {

constexpr MajorMinor kAllOfBlackwell{13, 0};  // 12.8 has some of it

constexpr std::array<ScaledKind, 6> kScaledKinds{{
    {.name = "FP8 GEMM"},
    // cuBLASLt has none from 10.0 on, and when torch took CUTLASS there has changed (pytorch 160693, 161236, 192707).
    {.name = "FP8 GEMM with scales of rows", .scales = "of rows ", .scaling = Scaling::rows, .below_major = 10},
    {.name = "FP8 GEMM with scales of 1x128 and 128x128",
     .scales = "of 1x128 ",
     .scaling = Scaling::blocks_of_128,
     .instruction = "wgmma",
     .torch = {2, 9},  // pytorch 158037
     .cuda = {12, 9}},
    {.name = "MXFP8 GEMM",
     .scales = "mx ",
     .scaling = Scaling::mx,
     .instruction = "block_scale",
     .torch = {2, 9},
     .cuda = kAllOfBlackwell},
    {.name = "MXFP4 GEMM",
     .scales = "mx ",
     .type = DType::e2m1x2,
     .scaling = Scaling::mx,
     .instruction = "block_scale",
     .offered = false},
    {.name = "NVFP4 GEMM",
     .scales = "nvfp4 ",
     .type = DType::e2m1x2,
     .scaling = Scaling::nvfp4,
     .instruction = "block_scale",
     .torch = {2, 9},
     .cuda = kAllOfBlackwell},
}};

constexpr int64_t kLong = 128;  // numbers of a long block

// Values of one operand along k. Every product sum of two operands is exact in FP32 in any order, and in BF16 at its
// end: `ones` of both is a random walk, `few` adds up four numbers.
enum class Content : uint8_t { ones, numbers, few };

double number(Content content, int64_t line, int64_t l, double drawn) {
  constexpr std::array<double, 8> kNumbers{0, 0.5, 1, 1.5, 2, 3, 4, 6};  // all that E2M1 has
  switch (content) {
    case Content::ones: return std::nearbyint(drawn);
    case Content::numbers: return std::copysign(kNumbers[static_cast<size_t>((line * 5 + l * 3 + l / 8) % 8)], drawn);
    case Content::few: return l % kLong == (line * 7 + l / kLong * 37) % kLong ? 1 : 0;
  }
  return 0;
}

struct Operand {
  std::vector<std::byte> bytes;   // numbers, line by line
  std::vector<std::byte> scales;  // scales in torch's order
  Values values;                  // numbers times scales
};

BlockScale get_block_scale(Scaling scaling) {
  return scaling == Scaling::mx ? BlockScale::mx : scaling == Scaling::nvfp4 ? BlockScale::nvfp4 : BlockScale::none;
}

// Makes a problem with `numbers` numbers along k; Problem::k counts elements.
Problem make_scaled_problem(const ScaledKind& kind, int64_t m, int64_t n, int64_t numbers) {
  Problem problem = make_problem(m, n, numbers / numbers_in(kind.type), kind.type, DType::bf16);
  problem.blocks = get_block_scale(kind.scaling);
  return problem;
}

// With scales of blocks: rows beyond a tile of scales, two tiles of columns, four blocks of 128 along k.
Problem small_problem(const ScaledKind& kind) {
  const bool blocks = kind.scaling != Scaling::tensor && kind.scaling != Scaling::rows;
  return blocks ? make_scaled_problem(kind, 160, 256, 512) : make_scaled_problem(kind, 80, 96, 256);
}

int64_t count_depth(const Problem& problem) {
  return problem.k * numbers_in(problem.a);
}

std::vector<std::byte> floats(const Values& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

// One or two, so that no two neighbours along rows or blocks always agree.
int scale_step(int64_t line, int64_t block) {
  return static_cast<int>((line * 3 + line / 32 + block * 5 + line * block) % 3 == 0);
}

// Scales of blocks as codes in torch's padded and swizzled order; what pads them is NaN.
std::vector<std::byte> codes(const Problem& problem, int64_t lines, const std::function<int(int64_t, int64_t)>& step) {
  const bool mx = problem.blocks == BlockScale::mx;
  const int one = mx ? 127 : 0x38;  // 1.0 in UE8M0, in UE4M3
  const int twice = mx ? 1 : 8;     // a step of the exponent
  std::vector<std::byte> bytes(static_cast<size_t>(block_scale_bytes(problem, lines)), std::byte(mx ? 0xff : 0x7f));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t block = 0; block < blocks_along_k(problem); ++block)
      bytes[static_cast<size_t>(place_of_scale(problem, line, block))] = std::byte(one + twice * step(line, block));
  return bytes;
}

// All scales in torch's order, and the scale of number l of a line.
struct Scales {
  std::vector<std::byte> bytes;
  std::function<double(int64_t line, int64_t l)> of;
};

Scales make_scales(const ScaledKind& kind, const Problem& problem, int64_t lines, bool of_b) {
  switch (kind.scaling) {
    case Scaling::tensor: {
      const double scale = of_b ? 4 : 0.5;
      return {floats({scale}), [scale](int64_t, int64_t) { return scale; }};
    }
    case Scaling::rows: {
      const auto scale = [](int64_t line) { return line % 3 == 0 ? 0.5 : static_cast<double>(line % 3); };
      Values all;
      for (int64_t line = 0; line < lines; ++line) all.push_back(scale(line));
      return {floats(all), [scale](int64_t line, int64_t) { return scale(line); }};
    }
    case Scaling::blocks_of_128: {
      // A has a scale per row, with adjacent rows adjacent in memory; B per 128 columns, adjacent along k.
      const int64_t group = of_b ? kLong : 1;
      const int64_t blocks = count_depth(problem) / kLong;
      const auto scale = [group](int64_t line, int64_t block) { return 1.0 + scale_step(line / group, block); };
      Values all;
      if (of_b)
        for (int64_t line = 0; line < lines; line += kLong)
          for (int64_t block = 0; block < blocks; ++block) all.push_back(scale(line, block));
      else
        for (int64_t block = 0; block < blocks; ++block)
          for (int64_t line = 0; line < lines; ++line) all.push_back(scale(line, block));
      return {floats(all), [scale](int64_t line, int64_t l) { return scale(line, l / kLong); }};
    }
    case Scaling::mx:
    case Scaling::nvfp4: break;
  }
  const int64_t length = block_length(problem.blocks, problem.a) * numbers_in(problem.a);
  return {codes(problem, lines, scale_step),
          [length](int64_t line, int64_t l) { return 1.0 + scale_step(line, l / length); }};
}

Operand operand(const ScaledKind& kind, const Problem& problem, int64_t lines, Content content, bool of_b) {
  Operand result;
  const int64_t depth = count_depth(problem);
  result.bytes.resize(static_cast<size_t>(lines * problem.k));
  Scales scales = make_scales(kind, problem, lines, of_b);
  const Values drawn = pattern(lines * depth, of_b ? 32 : 31);
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t l = 0; l < depth; ++l) {
      const int64_t index = line * depth + l;
      set_element(result.bytes.data(), kind.type, index, number(content, line, l, drawn[static_cast<size_t>(index)]));
      result.values.push_back(element(result.bytes.data(), kind.type, index) * scales.of(line, l));
    }
  result.scales = std::move(scales.bytes);
  return result;
}

Values product(const Problem& p, const Operand& a, const Operand& b) {
  const int64_t depth = count_depth(p);
  Values result;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      result.push_back(std::inner_product(a.values.begin() + i * depth, a.values.begin() + (i + 1) * depth,
                                          b.values.begin() + j * depth, 0.0));
  return result;
}

// Bytes where the libtorch computes; they live as long as the GEMM.
Result<void*> placed(const Place& place, ScaledGemm& gemm, std::vector<std::byte> bytes) {
  if (place.gpu == nullptr) {
    gemm.host.push_back(std::move(bytes));
    return static_cast<void*>(gemm.host.back().data());
  }
  PBPROBE_TRY(DeviceBuffer buffer, place.gpu->allocate(bytes.size()));
  PBPROBE_CHECK(place.gpu->upload(buffer, 0, bytes.data(), bytes.size()));
  gemm.memory.push_back(std::move(buffer));
  return gemm.memory.back().data();
}

int32_t index_of(const Place& place) {
  return place.gpu != nullptr ? place.gpu->index() : -1;
}

Result<Tensor> wrapped_scales(const Place& place, const ScaledKind& kind, void* data, const Problem& p, bool of_b) {
  const int64_t lines = of_b ? p.n : p.m;
  const int32_t device = index_of(place);
  const auto matrix = [&](int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    return place.library.wrap(MatrixView{data, DType::fp32, rows, columns, row_stride, column_stride, device});
  };
  const int64_t blocks = p.k / kLong;
  switch (kind.scaling) {
    case Scaling::tensor: return matrix(1, 1, 1, 1);
    case Scaling::rows: return of_b ? matrix(1, lines, lines, 1) : matrix(lines, 1, 1, 1);
    case Scaling::blocks_of_128:
      return of_b ? matrix(blocks, lines / kLong, 1, blocks) : matrix(lines, blocks, 1, lines);
    case Scaling::mx: return place.library.wrap(ArrayView{data, Element::e8m0, {block_scale_bytes(p, lines)}, device});
    case Scaling::nvfp4: break;
  }
  return place.library.wrap(ArrayView{data, Element::e4m3, {block_scale_bytes(p, lines)}, device});
}

// A [m,k] by rows, B [k,n] by columns, their scales, C [m,n].
Result<ScaledGemm> make_scaled_gemm(const Place& place, const ScaledKind& kind, const Problem& p, Operand a,
                                    Operand b) {
  ScaledGemm gemm;
  const int32_t device = index_of(place);
  PBPROBE_TRY(void* const a_data, placed(place, gemm, std::move(a.bytes)));
  PBPROBE_TRY(void* const b_data, placed(place, gemm, std::move(b.bytes)));
  PBPROBE_TRY(void* const a_scales, placed(place, gemm, std::move(a.scales)));
  PBPROBE_TRY(void* const b_scales, placed(place, gemm, std::move(b.scales)));
  const auto c_bytes = static_cast<size_t>(p.m * p.n * size_of(p.c));
  PBPROBE_TRY(void* const c_data, placed(place, gemm, std::vector<std::byte>(c_bytes, std::byte{0xff})));
  const std::array<MatrixView, 3> views{{{a_data, p.a, p.m, p.k, p.k, 1, device},
                                         {b_data, p.b, p.k, p.n, 1, p.k, device},
                                         {c_data, p.c, p.m, p.n, p.n, 1, device}}};
  for (const MatrixView& view : views) {
    PBPROBE_TRY(Tensor tensor, place.library.wrap(view));
    gemm.tensors.push_back(std::move(tensor));
  }
  for (const bool of_b : {false, true}) {
    PBPROBE_TRY(Tensor tensor, wrapped_scales(place, kind, of_b ? b_scales : a_scales, p, of_b));
    gemm.tensors.push_back(std::move(tensor));
  }
  return gemm;
}

Result<Values> read_result(const Place& place, ScaledGemm& gemm, const Problem& p) {
  const auto count = static_cast<size_t>(p.m * p.n);
  std::vector<std::byte> bytes(count * static_cast<size_t>(size_of(p.c)));
  if (place.gpu != nullptr) {
    PBPROBE_CHECK(place.gpu->download(bytes.data(), gemm.memory.back(), 0, bytes.size()));
  } else {
    bytes = gemm.host.back();
  }
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = element(bytes.data(), p.c, static_cast<int64_t>(i));
  return values;
}

std::vector<std::string> ids_that_multiply(const ScaledKind& kind) {
  std::vector<std::string> ids;
  for (const Target& target : all_targets())
    if (target.kind == TargetKind::gpu && multiplies(target, kind)) ids.push_back(target.id);
  return ids;
}

// Returns why this libtorch may lack the operator; nullopt if every such release computes it on such a device.
std::optional<std::string> why_not_certain(const ScaledKind& kind, const ScaledDevice& device) {
  const auto older = [](const std::optional<MajorMinor>& one, const MajorMinor& than) { return one && *one < than; };
  if (older(device.torch, kind.torch))
    return fmt::format("torch computes this product from {}.{} on, and this torch is {}.{}", kind.torch.major,
                       kind.torch.minor, device.torch->major, device.torch->minor);
  if (older(device.cuda, kind.cuda))
    return fmt::format("torch computes this product from CUDA {}.{} on, and this torch was compiled with {}.{}",
                       kind.cuda.major, kind.cuda.minor, device.cuda->major, device.cuda->minor);
  if (device.target == nullptr || !device.target->capability) return std::nullopt;
  const auto capability = parse_major_minor(*device.target->capability);
  if (!capability || capability->major < kind.below_major) return std::nullopt;
  return fmt::format("not every release of torch computes this product on {}, and this one does not",
                     device.target->id);
}

// The operator threw. Where the device lacks what it takes, neither the build is at fault nor is anything unknown.
Error refused(Error error, const ScaledKind& kind, const ScaledDevice& device) {
  if (error.code != ErrorCode::failed_child || error.obstacle) return error;
  if (!device.gpu) return make_error(ErrorCode::unsupported, "this libtorch has no such product for CPUs");
  if (!kind.offered)
    return make_error(
        ErrorCode::unsupported,
        "torch does not promise this product in aten::_scaled_mm, and this libtorch refuses these types and scales");
  if (device.target != nullptr && !multiplies(*device.target, kind))
    return make_error(ErrorCode::unsupported, "torch computes this product on {}, and this GPU is {}",
                      fmt::join(ids_that_multiply(kind), ", "), device.target->id);
  if (const auto why = why_not_certain(kind, device)) return make_error(ErrorCode::unsupported, "{}", *why);
  error.obstacle = Obstacle::unexplained;
  return error;
}

template <size_t Index>
Result<void> program(const Place& place) {
  return check_scaled(place, kScaledKinds[Index], scaled_device(place));
}

constexpr std::array kScaledPrograms{
    Program{kScaledKinds[0].name, &program<0>}, Program{kScaledKinds[1].name, &program<1>},
    Program{kScaledKinds[2].name, &program<2>}, Program{kScaledKinds[3].name, &program<3>},
    Program{kScaledKinds[4].name, &program<4>}, Program{kScaledKinds[5].name, &program<5>},
};
static_assert(kScaledPrograms.size() == kScaledKinds.size());

}  // namespace

std::span<const ScaledKind> scaled_kinds() {
  return kScaledKinds;
}

ScaledDevice scaled_device(const Place& place) {
  if (place.gpu == nullptr) return {};
  const std::string capability =
      fmt::format("{}.{}", place.gpu->attribute(kCuCapabilityMajor), place.gpu->attribute(kCuCapabilityMinor));
  ScaledDevice device{.gpu = true, .target = find_gpu_target(capability)};
  device.torch = parse_major_minor(place.library.version().value_or(""));
  for (const LibtorchLibrary& one : read_configuration(place.library.configuration()).libraries)
    if (one.name == "CUDA") device.cuda = parse_major_minor(one.compiled.value_or(one.running.value_or("")));
  return device;
}

bool multiplies(const Target& target, const ScaledKind& kind) {
  return std::ranges::any_of(target.instructions, [&](const InstructionPath& path) {
    return path.dtype == name_of(kind.type) && path.name.find(kind.instruction) != std::string::npos;
  });
}

Result<void> run_scaled(const Place& place, std::span<const Tensor> tensors) {
  return call(place, "aten::_scaled_mm", "out",
              {&tensors[0], &tensors[1], &tensors[3], &tensors[4], kNone, kNone, kNone, false, &tensors[2]});
}

Result<void> check_scaled(const Place& place, const ScaledKind& kind, const ScaledDevice& device) {
  if (!device.gpu && kind.scaling != Scaling::tensor)
    return make_error(ErrorCode::unsupported, "this area is tested only on GPUs");
  const Problem problem = small_problem(kind);
  for (const auto& [of_a, of_b] : {std::pair{Content::ones, Content::ones}, std::pair{Content::numbers, Content::few},
                                   std::pair{Content::few, Content::numbers}}) {
    Operand a = operand(kind, problem, problem.m, of_a, false);
    Operand b = operand(kind, problem, problem.n, of_b, true);
    const Values wanted = product(problem, a, b);
    auto gemm = make_scaled_gemm(place, kind, problem, std::move(a), std::move(b));
    if (!gemm.ok()) return refused(gemm.error(), kind, device);
    if (const auto done = run_scaled(place, gemm->tensors); !done.ok()) return refused(done.error(), kind, device);
    PBPROBE_TRY(const Values seen, read_result(place, *gemm, problem));
    PBPROBE_CHECK(compare("aten::_scaled_mm", seen, wanted, 0, 0));
  }
  return {};
}

Result<ScaledGemm> large_scaled(const Place& place, const ScaledKind& kind, int64_t size) {
  const Problem problem = make_scaled_problem(kind, size, size, size);
  const auto filled = [&](bool of_b) {
    // A piece of the small one again and again; all scales are 1.
    const Problem small = small_problem(kind);
    const Operand piece = operand(kind, small, small.n, Content::numbers, of_b);
    Operand whole;
    whole.bytes.resize(static_cast<size_t>(problem.k * size));
    for (size_t at = 0; at < whole.bytes.size(); at += piece.bytes.size())
      std::memcpy(whole.bytes.data() + at, piece.bytes.data(), std::min(piece.bytes.size(), whole.bytes.size() - at));
    whole.scales = problem.blocks == BlockScale::none ? floats(Values(static_cast<size_t>(size * (size / kLong)), 1.0))
                                                      : codes(problem, size, [](int64_t, int64_t) { return 0; });
    return whole;
  };
  return make_scaled_gemm(place, kind, problem, filled(false), filled(true));
}

std::span<const Program> scaled_programs() {
  return kScaledPrograms;
}

}  // namespace pbprobe::area
