// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/targets.hpp"

#include <fmt/ranges.h>

#include "core/json.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kTargetsJson =
#include "targets.inc"  // recipes/targets.json as string literals (cmake/Targets.cmake)
    ;

std::vector<Target> load_targets() {
  auto parsed = parse_json(kTargetsJson);
  auto table = parsed ? from_json<TargetTable>(*parsed) : Result<TargetTable>(parsed.error());
  return embedded(std::move(table), "recipes/targets.json").targets;
}

}  // namespace

std::optional<int64_t> rate_of(const OpsPerClock& ops, DType type) {
  switch (type) {
    case DType::fp32: return ops.fp32;
    case DType::tf32: return ops.tf32;
    case DType::fp16: return ops.fp16;
    case DType::bf16: return ops.bf16;
    case DType::e4m3:
    case DType::e5m2: return ops.fp8;
    case DType::e2m1x2: return std::nullopt;  // no source states it
    case DType::int8:
    case DType::uint8:
    case DType::int32: return ops.int8;
  }
  return std::nullopt;
}

const std::vector<Target>& all_targets() {
  static const std::vector<Target> targets = load_targets();
  return targets;
}

const Target* find_target(std::string_view id) {
  for (const auto& target : all_targets()) {
    if (target.id == id) return &target;
  }
  return nullptr;
}

const Target* find_gpu_target(std::string_view capability) {
  for (const auto& target : all_targets()) {
    if (target.capability == capability) return &target;
  }
  return nullptr;
}

Result<const Target*> require_target(std::string_view id) {
  if (const auto* target = find_target(id)) return target;
  std::vector<std::string_view> ids;
  for (const auto& target : all_targets()) ids.push_back(target.id);
  return make_error(ErrorCode::usage, "unknown target \"{}\": choose one of {}", id, fmt::join(ids, ", "));
}

}  // namespace pbprobe
