// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/rows.hpp"

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/host/probes.hpp"
#include "tests/kernels/device_speeds.hpp"

namespace pbprobe::test {
namespace {

// A test whose body is a function.
class Body : public testing::Test {
 public:
  explicit Body(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

}  // namespace

void add(const std::string& suite, const char* name, std::function<void()> body) {
  testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                        [body = std::move(body)]() -> Body* { return new Body(body); });
}

void prepare(const Kernel& kernel, Ready& to) {
  std::string why = hardware_lacking(kernel.target);
  if (why.empty() && !kernel.built) why = build_of(kernel).why_not;
  if (!why.empty()) {
    if (hardware_required()) FAIL() << why << " (PBPROBE_REQUIRE_HARDWARE=1)";
    GTEST_SKIP() << why;
  }
  auto backend = make_bed(kernel.target);
  ASSERT_TRUE(backend.ok()) << backend.error().message;
  to.backend = std::move(*backend);
  to.ready = true;
}

std::string without_dot(std::string capability) {
  capability.erase(std::remove(capability.begin(), capability.end(), '.'), capability.end());
  return capability;
}

namespace {

// --- peak loops ---

void peak_runs(const Peak& peak) {
  Kernel like;
  like.target = peak.target;
  like.part = peak.part;
  like.built = peak.built;
  Ready to;
  prepare(like, to);
  if (!to.ready) return;
  const int64_t iterations = emulated() ? 200 : 20000;
  const auto first = to.backend->run_peak(peak, iterations);
  const auto again = to.backend->run_peak(peak, iterations);
  const auto longer = to.backend->run_peak(peak, 2 * iterations);
  for (const auto* rate : {&first, &again, &longer}) ASSERT_TRUE(rate->ok()) << rate->error().message;
  if (peak.function != nullptr && peak.cycles == 0) {
    EXPECT_EQ(first->sink, again->sink) << "the loop's sums depend on something else";
    EXPECT_NE(first->sink, longer->sink);
  }
  if (emulated()) return;
  if (peak.cycles > 0) {
    EXPECT_GT(first->clock_ghz, 0.05);
    EXPECT_LT(first->clock_ghz, 20);
    return;
  }
  if (peak.function != nullptr) {
    EXPECT_GT(first->operations / first->seconds, 1e8);
  } else if (build_of(peak).ptx.empty()) {  // PTX ran on another SM than the target's SM
    peak_is_fast(peak, *to.backend);
  }
  // The time grows with the iterations, so no iteration was skipped. Other load can slow any single run, so the fastest
  // runs are compared.
  double once = std::min(first->seconds, again->seconds);
  double twice = longer->seconds;
  for (int i = 0; i < 5 && twice <= 1.2 * once; ++i) {
    once = std::min(once, to.backend->run_peak(peak, iterations)->seconds);
    twice = std::min(twice, to.backend->run_peak(peak, 2 * iterations)->seconds);
  }
  EXPECT_GT(twice, 1.2 * once);
}

// The instruction is really there: its bits on known operands, and no others. Another operand gives other bits.
void instruction_proved(const Peak& peak) {
  Kernel like;
  like.target = peak.target;
  like.part = peak.part;
  like.built = peak.built;
  Ready to;
  prepare(like, to);
  if (!to.ready) return;
  auto proof = make_proof(peak);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  const auto seen = to.backend->run_proof(peak, *proof);
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(proof_differs(*proof, *seen), "") << peak.name;
  proof->a[0] ^= peak.dtype == DType::int8 ? 1U : 0x400000U;
  const auto other = to.backend->run_proof(peak, *proof);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_NE(proof_differs(*proof, *other), "") << peak.name << " does not depend on its operand";
}

// --- targets ---

void rows_are_well_formed(const Target& target) {
  const TargetBuild* build = find_build(target.id);
  ASSERT_NE(build, nullptr);
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != target.id) continue;
    EXPECT_EQ(kernel.built, build_of(kernel).built) << kernel.name;
    EXPECT_EQ(kernel.function != nullptr, build->built && target.kind == TargetKind::cpu) << kernel.name;
    EXPECT_GT(kernel.tile.m * kernel.tile.n * kernel.tile.k, 0) << kernel.name;
    const auto promised = [&](const InstructionPath& path) { return path.name == kernel.instruction; };
    EXPECT_TRUE(std::any_of(target.instructions.begin(), target.instructions.end(), promised))
        << kernel.name << " uses \"" << kernel.instruction << "\", which targets.json does not list";
    const Peak* peak = peak_of(kernel);
    ASSERT_NE(peak, nullptr) << kernel.name << " names no peak loop of its target";
    EXPECT_EQ(peak->instruction, kernel.instruction);
    EXPECT_GT(peak->operations, 0) << peak->name;
    if (target.kind == TargetKind::gpu) {
      EXPECT_GT(kernel.threads, 0);
    } else {
      EXPECT_EQ(kernel.k_block == 0, kernel.in_place) << kernel.name;
      EXPECT_NE(clock_of(target.id), nullptr);
    }
  }
}

template <class T>
T load_bytes(std::span<const std::byte> cubin, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= cubin.size()) std::memcpy(&value, cubin.data() + offset, sizeof(T));
  return value;
}

// Checks PTX that is embedded instead of a cubin: it has the architecture of the target's row, an entry for each row
// and no word of another target.
void ptx_is_right(const Target& target, const TargetBuild& build) {
  const auto embedded = cubin_of(build);
  ASSERT_TRUE(embedded.ok()) << embedded.error().message;
  const std::string_view text(reinterpret_cast<const char*>(embedded->data()), embedded->size());
  EXPECT_EQ(build.ptx, target.ptx);
  EXPECT_NE(text.find(fmt::format(".target sm_{}", build.ptx)), std::string_view::npos);
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != target.id || !kernel.part.empty()) continue;
    for (const auto& symbol : symbols_of(kernel)) {
      EXPECT_NE(text.find(fmt::format(".entry {}(", symbol)), std::string_view::npos) << symbol;
    }
  }
}

// The embedded cubin is an ELF of CUDA for this very SM, with a section of code for each row, and without spills.
void cubin_is_right(const Target& target, const TargetBuild& build) {
  const auto embedded = cubin_of(build);
  ASSERT_TRUE(embedded.ok()) << embedded.error().message;
  const std::span<const std::byte> cubin = *embedded;
  ASSERT_GT(cubin.size(), 64U);
  EXPECT_EQ(std::memcmp(cubin.data(), "\177ELF\2\1", 6), 0);
  constexpr uint16_t kEmCuda = 190;
  EXPECT_EQ(load_bytes<uint16_t>(cubin, 18), kEmCuda);
  const int abi = load_bytes<uint8_t>(cubin, 8);
  const auto flags = load_bytes<uint32_t>(cubin, 48);
  const uint32_t sm = abi >= 8 ? flags >> 8 & 0xff : flags & 0xff;
  EXPECT_EQ(std::to_string(sm), without_dot(target.capability.value_or("")));
  const std::string_view bytes(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != target.id || kernel.part != build.part) continue;
    for (const auto& symbol : symbols_of(kernel)) {
      const auto section = ".text." + symbol;
      EXPECT_NE(bytes.find(section), std::string_view::npos) << section;
    }
  }
  for (const auto pass : pass_symbols()) {
    EXPECT_TRUE(!build.part.empty() || bytes.find(pass) != std::string_view::npos) << pass;
  }
  for (const auto probe : tensor_probe_symbols(target.id)) {
    EXPECT_TRUE(!build.part.empty() || bytes.find(probe) != std::string_view::npos) << probe;
  }
  const bool may_spill = std::any_of(kernel_table().begin(), kernel_table().end(), [&](const Kernel& kernel) {
    return kernel.target == target.id && kernel.part == build.part && kernel.spills;
  });
  EXPECT_TRUE(build.spill_bytes == 0 || may_spill) << "ptxas spilled registers of " << target.id;
}

void cubin_is_right(const Target& target) {
  const TargetBuild* build = find_build(target.id);
  ASSERT_NE(build, nullptr);
  if (!build->built) GTEST_SKIP() << build->why_not;
  if (!build->ptx.empty()) return ptx_is_right(target, *build);
  cubin_is_right(target, *build);
  for (const auto& part : part_builds()) {
    if (part.target == target.id && part.built) cubin_is_right(target, part);
  }
}

void memory_runs(const Target& target) {
  const TargetBuild* build = find_build(target.id);
  ASSERT_NE(build, nullptr);
  Kernel like;
  like.target = target.id;
  like.built = build->built;
  Ready to;
  prepare(like, to);
  if (!to.ready) return;
  if (!build->ptx.empty()) GTEST_SKIP() << "PTX of " << target.id << " runs on other silicon";
  memory_is_fast(target, *to.backend);
}

}  // namespace

void register_target(const Target& target) {
  add(target.id, "table", [&target] { rows_are_well_formed(target); });
  if (target.kind == TargetKind::gpu) add(target.id, "cubin", [&target] { cubin_is_right(target); });
  if (target.kind == TargetKind::gpu) add("Memory/read_" + target.id, "Bandwidth", [&target] { memory_runs(target); });
}

void register_peak(const Peak& peak) {
  add("Peak/" + std::string(peak.name), "Runs", [&peak] { peak_runs(peak); });
  if (peak.threads > 0) add("Peak/" + std::string(peak.name), "Proof", [&peak] { instruction_proved(peak); });
}

}  // namespace pbprobe::test
