// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/gemm.hpp"

#include <cstring>

#include "core/facts/measurement.hpp"
#include "core/json.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kM = kGemmM;
constexpr int64_t kN = kGemmN;
constexpr int64_t kK = kGemmK;

// SplitMix64, by S. Vigna.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

int64_t left(uint64_t seed, int64_t i, int64_t k) {
  return static_cast<int64_t>(mixed(seed ^ static_cast<uint64_t>(i * kK + k)) % 5) - 2;
}
int64_t right(uint64_t seed, int64_t k, int64_t j) {
  return static_cast<int64_t>(mixed(~seed ^ static_cast<uint64_t>(k * kN + j)) % 5) - 2;
}

// Returns the FP32 bits of a small integer. Their upper half is its BF16 value.
uint32_t convert_to_bits(int64_t integer) {
  const auto value = static_cast<float>(integer);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

void store(std::vector<unsigned char>& to, int64_t index, DType type, uint32_t fp32_bits) {
  const auto upper = static_cast<uint16_t>(fp32_bits >> 16);
  if (type == DType::bf16) {
    std::memcpy(to.data() + index * 2, &upper, sizeof upper);
  } else {
    std::memcpy(to.data() + index * 4, &fp32_bits, sizeof fp32_bits);
  }
}

uint32_t load(const std::vector<unsigned char>& from, int64_t index, DType type) {
  uint16_t upper = 0;
  uint32_t bits = 0;
  if (type == DType::bf16) {
    std::memcpy(&upper, from.data() + index * 2, sizeof upper);
    return static_cast<uint32_t>(upper) << 16;
  }
  std::memcpy(&bits, from.data() + index * 4, sizeof bits);
  return bits;
}

std::optional<std::vector<unsigned char>> decode_hex(std::string_view hex) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() % 2 != 0) return std::nullopt;
  std::vector<unsigned char> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

GemmMatrices gemm_operands(DType type, uint64_t seed) {
  const auto size = static_cast<size_t>(size_of(type));
  GemmMatrices matrices{std::vector<unsigned char>(kM * kK * size), std::vector<unsigned char>(kK * kN * size),
                        std::vector<unsigned char>(kM * kN * size, 0xff)};
  for (int64_t i = 0; i < kM; ++i)
    for (int64_t k = 0; k < kK; ++k) store(matrices.a, i * kK + k, type, convert_to_bits(left(seed, i, k)));
  for (int64_t k = 0; k < kK; ++k)
    for (int64_t j = 0; j < kN; ++j) store(matrices.b, k * kN + j, type, convert_to_bits(right(seed, k, j)));
  return matrices;
}

Result<void> compare_gemm(const std::vector<unsigned char>& c, DType type, uint64_t seed) {
  const auto wanted = static_cast<size_t>(kM * kN * size_of(type));
  if (c.size() != wanted)
    return make_error(ErrorCode::malformed, "a {}x{} GEMM in {} came back as {} bytes", kM, kN, name_of(type),
                      c.size());
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum += left(seed, i, k) * right(seed, k, j);
      const uint32_t seen = load(c, i * kN + j, type);
      // −0 where a sum of products cancels is right too.
      if (seen == convert_to_bits(sum) || (sum == 0 && seen == 0x80000000U)) continue;
      float value = 0;
      std::memcpy(&value, &seen, sizeof value);
      return make_error(ErrorCode::malformed, "C[{},{}] of a {}x{}x{} GEMM in {} is {}, but must be {}", i, j, kM, kN,
                        kK, name_of(type), value, sum);
    }
  }
  return {};
}

ReturnedGemm returned_gemm(std::string device, DType type, const std::vector<unsigned char>& c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  ReturnedGemm gemm{.device = std::move(device), .dtype = std::string(name_of(type)), .c = {}};
  for (const unsigned char byte : c) {
    gemm.c += kDigits[byte >> 4];
    gemm.c += kDigits[byte & 15];
  }
  return gemm;
}

void Verifier::take(const ReturnedGemm& gemm, uint64_t seed) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    if (gemm.dtype != name_of(type)) continue;
    const auto bytes = decode_hex(gemm.c);
    const auto same = bytes ? compare_gemm(*bytes, type, seed)
                            : Result<void>(make_error(ErrorCode::malformed, "the returned GEMM is not hexadecimal"));
    if (same.ok()) {
      right_[gemm.device].insert(gemm.dtype);
    } else {
      right_[gemm.device].erase(gemm.dtype);
      wrong_.try_emplace(gemm.device, same.error().message);
    }
  }
}

bool Verifier::is_right(const std::string& device) const {
  const auto types = right_.find(device);
  return types != right_.end() && types->second.size() == 2 && !wrong_.contains(device);
}

std::string Verifier::why_not(const std::string& device) const {
  const auto wrong = wrong_.find(device);
  return fmt::format(
      "computing on {}: the process reported a correct GEMM, but the returned GEMM is wrong: {}: this build computes "
      "wrong results on this machine; use another build",
      device, wrong == wrong_.end() ? "no GEMM came back" : wrong->second);
}

std::optional<std::string> Verifier::pass(std::string_view event, uint64_t seed) {
  const bool gemm = event.starts_with("{\"gemm\":");
  if (!gemm && !event.starts_with("{\"libtorch\":")) return std::string(event);
  const auto json = parse_json(event);
  if (!json.ok() || !json->is_object()) return std::nullopt;
  if (gemm) {
    const auto returned = from_json<ReturnedGemm>((*json)["gemm"]);
    if (returned.ok()) take(*returned, seed);
    return std::nullopt;
  }
  auto run = from_json<LibtorchRun>((*json)["libtorch"]);
  if (!run.ok()) return std::nullopt;
  const auto refuse = [&](const std::string& device) {
    run->problem = why_not(device);
    run->obstacle.reset();
  };
  if (run->executed && !is_right("cpu")) {
    run->executed = false;
    refuse("cpu");
  }
  if (run->executed_on_gpu == true) {
    std::string device = "the GPU";
    bool any = false;
    for (const auto& [name, types] : right_) any = any || (name != "cpu" && is_right(name));
    for (const auto& [name, why] : wrong_)
      if (name != "cpu") device = name;
    run->executed_on_gpu = any;
    if (!any) refuse(device);
  }
  for (LibtorchArea& area : run->areas) {
    if (area.area == kOfEachGpu && !area.problem && !is_right(area.device)) area.problem = why_not(area.device);
  }
  Json reported = Json::object();
  reported["libtorch"] = to_json(*run);
  return reported.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pbprobe
