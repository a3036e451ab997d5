// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/checker.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kGuardBytes = 4096;  // before and behind each array: more than a tile's row
constexpr int64_t kRandomMaxK = 1024;
constexpr int64_t kFullProducts = int64_t{1} << 26;  // m·n·k up to which all elements are compared
constexpr int64_t kSampledLines = 12;

// SplitMix64: small, and the same everywhere.
struct Random {
  uint64_t state;
  uint64_t next() {
    state += 0x9e3779b97f4a7c15U;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  // The sum of four uniform numbers (Irwin and Hall): a bell of variance 1 within ±3.5, almost without arithmetic of
  // floats, which an emulated CPU does slowly.
  double normal() {
    const uint64_t one = next();
    const uint64_t two = next();
    const uint64_t sum = (one >> 32) + (one & 0xffffffffU) + (two >> 32) + (two & 0xffffffffU);
    return (static_cast<double>(static_cast<int64_t>(sum)) - 0x1p33) * (0x1p-32 * 1.7320508075688772);
  }
};

bool is_integer(DType type) {
  return type == DType::int8 || type == DType::uint8 || type == DType::int32;
}

// Fills memory that a kernel must not read or write with a marked NaN, or an odd integer.
void poison(std::byte* bytes, int64_t count, DType type) {
  const uint32_t word = is_integer(type)        ? 0x5b5b5b5bU
                        : type == DType::e2m1x2 ? 0x77777777U  // E2M1 has no NaN: 6
                        : size_of(type) == 1    ? 0x7f7f7f7fU
                        : size_of(type) == 4    ? 0x7fc5a5a5U
                        : type == DType::bf16   ? 0x7fd57fd5U
                                                : 0x7e557e55U;
  // An element is the whole word, or its halves or quarters, which are alike.
  for (int64_t i = 0; i < count; i += 4)
    std::memcpy(bytes + i, &word, static_cast<size_t>(std::min<int64_t>(4, count - i)));
}

Guarded make_guarded(int64_t elements, DType type, int64_t misalign) {
  Guarded guarded;
  constexpr int64_t kAlign = 64;
  guarded.length_bytes = elements * size_of(type);
  guarded.bytes.resize(static_cast<size_t>(2 * kGuardBytes + guarded.length_bytes + 2 * kAlign));
  const auto base = reinterpret_cast<uintptr_t>(guarded.bytes.data()) + kGuardBytes;
  const auto aligned = static_cast<int64_t>((base + kAlign - 1) / kAlign * kAlign - base);
  guarded.offset = kGuardBytes + aligned + misalign * size_of(type);
  // Poisoned from the first element on in both directions, so that each element outside is one whole NaN.
  poison(guarded.data(), static_cast<int64_t>(guarded.bytes.size()) - guarded.offset, type);
  const int64_t before = guarded.offset / size_of(type) * size_of(type);
  poison(guarded.data() - before, before, type);
  return guarded;
}

struct Shape {
  int64_t rows, columns, leading;
};

Shape shape_a(const Problem& p) {
  return {stored_rows_a(p), stored_columns_a(p), p.lda};
}
Shape shape_b(const Problem& p) {
  return {stored_rows_b(p), stored_columns_b(p), p.ldb};
}

template <class Value>
Guarded fill(const Shape& shape, DType type, int64_t misalign, Value value) {
  Guarded guarded = make_guarded(extent(shape.rows, shape.columns, shape.leading), type, misalign);
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.columns; ++j) {
      const int64_t first = (i * shape.leading + j) * numbers_in(type);
      for (int64_t l = 0; l < numbers_in(type); ++l) set_element(guarded.data(), type, first + l, value(i, j));
    }
  }
  return guarded;
}

// --- data ---

enum class DataSet { unsigned_integers, signed_integers, normal };

// The greatest integer of the exact tier: every partial sum stays below 2^24, or below what the output holds.
int64_t exact_range(const Problem& p) {
  if (is_integer(p.a)) return 127;
  const double most = p.fast_sums ? 0x1p13 : p.c == DType::fp16 ? 65504.0 : 0x1p24;
  // The scales of two blocks multiply to 4 at most.
  const double scales = p.blocks == BlockScale::none ? 1 : 4;
  const auto sums = static_cast<double>(std::max<int64_t>(p.k * numbers_in(p.a), 1));
  const auto range = static_cast<int64_t>(std::sqrt(most / scales / sums));
  const bool within = p.blocks != BlockScale::none && !are_fp32(p.blocks);  // the tensor core multiplies by scales
  return std::clamp<int64_t>(range, 1, within ? 4 : is_fp8(p.a) ? 8 : 255);
}

double draw(Random& random, DType type, DataSet set, int64_t range) {
  if (set == DataSet::normal) {
    // No tie between two TF32 numbers: SMs before 9.0 round it away from zero, later ones to even.
    if (type == DType::tf32) {
      return static_cast<double>(
          std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(random.normal())) | 1U));
    }
    if (!is_integer(type)) return random.normal();
    const double low = type == DType::uint8 ? 0 : -128;
    return std::clamp(std::nearbyint(random.normal() * 40 + (type == DType::uint8 ? 128 : 0)), low, low + 255);
  }
  if (type == DType::uint8)
    return static_cast<double>(set == DataSet::signed_integers ? random.integer(200, 255) : random.integer(0, 255));
  if (type == DType::int8) {
    // With signs: the extremes, whose pairwise sums overflow 16 bits.
    if (set == DataSet::signed_integers) return random.integer(0, 3) == 0 ? 127.0 : -128.0;
    return static_cast<double>(random.integer(-128, 127));
  }
  return static_cast<double>(random.integer(set == DataSet::signed_integers ? -range : 0, range));
}

// Fills the codes of all blocks of each row, or column, and NaN in the padding. Exact: 1 or 2. Else MX has some powers
// of two, NVFP4 any fraction between 1/4 and 8.
Guarded fill_blocks(const Problem& p, int64_t lines, Random& random, bool exact) {
  Guarded guarded = make_guarded(block_scale_bytes(p, lines), DType::uint8, 0);
  const bool mx = p.blocks == BlockScale::mx;
  std::fill_n(guarded.data(), guarded.length_bytes, std::byte{static_cast<unsigned char>(mx ? 0xff : 0x7f)});
  const int64_t one = mx ? 127 : 0x38;
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t block = 0; block < blocks_along_k(p); ++block) {
      const int64_t code = exact ? one + random.integer(0, 1) * (mx ? 1 : 8)
                           : mx  ? random.integer(124, 130)
                                 : random.integer(0x28, 0x4f);
      guarded.data()[place_of_scale(p, line, block)] = std::byte{static_cast<unsigned char>(code)};
    }
  }
  return guarded;
}

// Fills FP32 scales of blocks, with NaN between the rows. Exact: 1 or 2; else a number of either sign between 1/8 and
// 16.
Guarded fill_fp32_blocks(const BlockRows& scales, Random& random, bool exact, int64_t misalign) {
  return fill({scales.rows, scales.columns, scales.leading}, DType::fp32, misalign, [&](int64_t, int64_t) {
    if (exact) return static_cast<double>(random.integer(1, 2));
    const double sign = random.integer(0, 1) == 0 ? 1 : -1;
    return sign * std::ldexp(1 + static_cast<double>(random.integer(0, 0xffff)) * 0x1p-16,
                             static_cast<int>(random.integer(-3, 3)));
  });
}

CheckData make_data(const Problem& p, DataSet set, const CheckOptions& options) {
  Random random{options.seed * 1000003U + static_cast<uint64_t>(set)};
  const int64_t range = exact_range(p);
  const bool exact = set != DataSet::normal && !is_integer(p.a);
  // The first row of A and column of B hold the greatest integer: C[0,0] = k · range².
  const auto value = [&](DType type, bool first) {
    const double drawn = draw(random, type, set, range);
    return exact && first ? static_cast<double>(range) : drawn;
  };
  CheckData data;
  data.a = fill(shape_a(p), p.a, options.misalign,
                [&](int64_t i, int64_t j) { return value(p.a, (a_is_km(p.layout) ? j : i) == 0); });
  data.b = fill(shape_b(p), p.b, options.misalign,
                [&](int64_t i, int64_t j) { return value(p.b, (b_is_nk(p.layout) ? i : j) == 0); });
  data.c = make_guarded(extent_c(p), p.c, options.misalign);
  // Powers of two and integers keep the exact tier exact.
  const auto vector = [&](int64_t count, bool scale) {
    return fill({1, count, count}, DType::fp32, options.misalign, [&](int64_t, int64_t) {
      if (set == DataSet::normal) return random.normal();
      return scale ? std::ldexp(1.0, static_cast<int>(random.integer(-2, 0)))
                   : static_cast<double>(random.integer(-8, 8));
    });
  };
  if (are_fp32(p.blocks)) {
    data.blocks_a = fill_fp32_blocks(block_rows_a(p), random, set != DataSet::normal, options.misalign);
    data.blocks_b = fill_fp32_blocks(block_rows_b(p), random, set != DataSet::normal, options.misalign);
  } else if (p.blocks != BlockScale::none) {
    data.blocks_a = fill_blocks(p, p.m, random, set != DataSet::normal);
    data.blocks_b = fill_blocks(p, p.n, random, set != DataSet::normal);
  }
  if (p.bias) data.bias = vector(biases(p), false);
  if (p.scale_a) data.scale_a = vector(scales_a(p), true);
  if (p.scale_b) data.scale_b = vector(scales_b(p), true);
  return data;
}

// --- comparing ---

std::string name_element(int64_t i, int64_t j, double expected, double seen) {
  return fmt::format("C[{},{}] is {}, expected {}", i, j, seen, expected);
}

void fail(CheckResult& result, std::string what) {
  if (result.passed) result.what = std::move(what);
  result.passed = false;
}

// Returns how far an element may be from the reference.
double bound_of(const Problem& p, Tier tier, double expected, double magnitude, double loss) {
  if (tier == Tier::exact && !is_integer(p.a)) return 0;
  if (p.c == DType::int32) return 0;
  const bool integer = is_integer(p.a);
  // Integer sums are exact; converting, scaling and adding round a few times.
  const double steps = integer ? 4.0 : static_cast<double>(p.k * numbers_in(p.a)) + 4.0;
  const double u = 0x1p-23;
  const double gamma = steps * u / (1 - steps * u);
  const double unit = p.c == DType::bf16 ? 0x1p-8 : p.c == DType::fp16 ? 0x1p-11 : 0x1p-24;
  const double least = p.c == DType::fp16 ? 0x1p-25 : 0.0;
  return gamma * magnitude + loss + unit * std::fabs(expected) * (1 + gamma) + least;
}

struct Comparison {
  const Problem& problem;
  const CheckData& data;
  Tier tier;
  CheckResult& result;

  void element_at(int64_t i, int64_t j, const ReferenceRow& line, int64_t at) {
    const auto place = static_cast<size_t>(at);
    const double expected = line.value[place];
    const double seen = element(data.c.data(), problem.c, place_in_c(problem, i, j));
    result.greatest = std::max(result.greatest, std::fabs(expected));
    const double bound = bound_of(problem, tier, expected, line.magnitude[place], line.loss[place]);
    if (bound == 0) {
      // Compares bits: minus zero differs from zero, and NaN equals nothing.
      const double wanted = rounded(expected, problem.c);
      if (seen == wanted || (std::isinf(wanted) && seen == wanted)) return;
      return fail(result, name_element(i, j, wanted, seen));
    }
    // Beyond the greatest FP16, infinity is right.
    if (std::isinf(seen) && seen == rounded(expected, problem.c)) return;
    const double error = std::fabs(seen - expected);
    if (!(error <= bound)) {
      fail(result, fmt::format("{}: the error {:.3g} of this element exceeds its bound {:.3g}",
                               name_element(i, j, expected, seen), error, bound));
    }
    result.worst = std::max(result.worst, error / bound);
  }

  void row(const Reference& reference, int64_t i) {
    const auto line = reference.row(i);
    for (int64_t j = 0; j < problem.n; ++j) element_at(i, j, line, j);
  }

  void column(const Reference& reference, int64_t j) {
    const auto line = reference.column(j);
    for (int64_t i = 0; i < problem.m; ++i) element_at(i, j, line, i);
  }
};

// Some lines of `count`: the ends, the places where tiles meet, and others by chance.
std::set<int64_t> sample(int64_t count, Random& random) {
  std::set<int64_t> lines;
  for (int64_t line : {int64_t{0}, count - 1, count / 2, int64_t{127}, int64_t{128}}) {
    if (line >= 0 && line < count) lines.insert(line);
  }
  while (static_cast<int64_t>(lines.size()) < std::min(kSampledLines, count))
    lines.insert(random.integer(0, count - 1));
  return lines;
}

// C · x = A · (B · x) modulo a prime, for a random x: a wrong C passes with a chance of 2^-61 a round.
void freivalds(const Problem& p, const Reference& reference, const CheckData& data, Random& random,
               CheckResult& result) {
  using Wide = unsigned __int128;
  constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  const auto residue = [](double value) {
    const auto integer = static_cast<int64_t>(value);
    return integer >= 0 ? static_cast<uint64_t>(integer) % kPrime : kPrime - static_cast<uint64_t>(-integer) % kPrime;
  };
  const auto add = [](uint64_t& sum, uint64_t a, uint64_t b) {
    sum = static_cast<uint64_t>((static_cast<Wide>(a) * b + sum) % kPrime);
  };
  std::vector<uint64_t> x(static_cast<size_t>(p.n));
  std::vector<uint64_t> bx(static_cast<size_t>(p.k * numbers_in(p.a)), 0);
  for (auto& value : x) value = random.next() % kPrime;
  for (int64_t j = 0; j < p.n; ++j) {
    const auto column = reference.b(j);
    for (size_t l = 0; l < bx.size(); ++l) add(bx[l], residue(column[l]), x[static_cast<size_t>(j)]);
  }
  for (int64_t i = 0; i < p.m; ++i) {
    uint64_t expected = 0;
    uint64_t seen = 0;
    const auto row = reference.a(i);
    for (size_t l = 0; l < bx.size(); ++l) add(expected, residue(row[l]), bx[l]);
    for (int64_t j = 0; j < p.n; ++j) {
      const double value = element(data.c.data(), p.c, place_in_c(p, i, j));
      if (!(std::fabs(value) < 0x1p53) || value != std::nearbyint(value)) {
        return fail(result, fmt::format("C[{},{}] is {}, expected an integer", i, j, value));
      }
      add(seen, residue(value), x[static_cast<size_t>(j)]);
    }
    if (seen != expected) return fail(result, fmt::format("row {} of C is not A's row times B (Freivalds' test)", i));
  }
}

// Checks that the memory around and between the rows of C is unchanged.
void compare_guards(const Problem& p, const CheckData& data, const Guarded& before, CheckResult& result) {
  const Guarded& c = data.c;
  // A gap reaches from a row's end to the next row's beginning; the first gap is before C, the last behind it.
  int64_t from = 0;
  const auto compare_until = [&](int64_t to) {
    const auto begin = c.bytes.begin() + from;
    const auto end = c.bytes.begin() + to;
    const auto [seen, was] = std::mismatch(begin, end, before.bytes.begin() + from);
    if (seen == end) return true;
    fail(result,
         fmt::format("memory outside C was written, {} bytes from its beginning", seen - c.bytes.begin() - c.offset));
    return false;
  };
  for (int64_t i = 0; i < stored_rows_c(p); ++i) {
    const int64_t row = c.offset + i * p.ldc * size_of(p.c);
    if (!compare_until(row)) return;
    from = row + stored_columns_c(p) * size_of(p.c);
  }
  compare_until(static_cast<int64_t>(c.bytes.size()));
}

Result<CheckResult> check_set(const Problem& p, Tier tier, DataSet set, const Execute& execute,
                              const CheckOptions& options) {
  CheckData data = make_data(p, set, options);
  const Guarded before = data.c;
  PBPROBE_CHECK(execute(p, data));
  CheckResult result;
  compare_guards(p, data, before, result);
  if (p.m == 0 || p.n == 0) return result;
  const Reference reference(p, data.operands());
  Comparison comparison{p, data, tier, result};
  Random random{options.seed + 17};
  int64_t products = 0;
  const bool huge = __builtin_mul_overflow(p.m * p.n, std::max<int64_t>(p.k, 1), &products) || products > kFullProducts;
  if (!huge) {
    for (int64_t i = 0; i < p.m; ++i) comparison.row(reference, i);
  } else {
    for (int64_t i : sample(p.m, random)) comparison.row(reference, i);
    for (int64_t j : sample(p.n, random)) comparison.column(reference, j);
    const bool wide = p.c == DType::fp32 || p.c == DType::int32;
    if (tier == Tier::exact && wide && !p.bias && !p.scale_a && !p.scale_b) {
      freivalds(p, reference, data, random, result);
    }
  }
  if (!result.passed) {
    result.what = fmt::format("{} tier, {}: {}", name_of(tier), describe(p), result.what);
  }
  return result;
}

void merge(CheckResult& into, CheckResult&& other) {
  if (into.passed && !other.passed) into.what = std::move(other.what);
  into.passed = into.passed && other.passed;
  into.worst = std::max(into.worst, other.worst);
  into.greatest = std::max(into.greatest, other.greatest);
}

}  // namespace

Operands CheckData::operands() const {
  Operands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.c = const_cast<std::byte*>(c.data());
  operands.bias = reinterpret_cast<const float*>(bias.data());
  operands.scale_a = reinterpret_cast<const float*>(scale_a.data());
  operands.scale_b = reinterpret_cast<const float*>(scale_b.data());
  operands.blocks_a = blocks_a.data();
  operands.blocks_b = blocks_b.data();
  return operands;
}

Result<CheckResult> check(const Problem& problem, Tier tier, const Execute& execute, const CheckOptions& options) {
  PBPROBE_CHECK(validate(problem));
  if (tier == Tier::random) {
    if (problem.k > kRandomMaxK) {
      return make_error(ErrorCode::usage,
                        "the checker's random tier takes k up to {} ({}): in a longer sum, the error bound would hide "
                        "a dropped element",
                        kRandomMaxK, describe(problem));
    }
    return check_set(problem, tier, DataSet::normal, execute, options);
  }
  PBPROBE_TRY(CheckResult result, check_set(problem, tier, DataSet::unsigned_integers, execute, options));
  PBPROBE_TRY(CheckResult with_signs, check_set(problem, tier, DataSet::signed_integers, execute, options));
  merge(result, std::move(with_signs));
  return result;
}

Result<CheckResult> check(const Problem& problem, const Execute& execute, const CheckOptions& options) {
  PBPROBE_TRY(CheckResult result, check(problem, Tier::exact, execute, options));
  Problem shorter = problem;
  shorter.k = std::min(problem.k, kRandomMaxK);
  PBPROBE_TRY(CheckResult random, check(shorter, Tier::random, execute, options));
  merge(result, std::move(random));
  return result;
}

}  // namespace pbprobe
