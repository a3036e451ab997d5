// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/public_wheels.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.hpp"
#include "core/major_minor.hpp"
#include "core/pep440.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kWheelsJson =
#include "public_wheels.inc"  // recipes/public_wheels.json as string literals (cmake/Embed.cmake)
    ;
constexpr std::string_view kTorch = "torch";

std::string joined_names(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Served {
  GpuCode code = GpuCode::unknown;
  std::string best;  // "sm_120", "compute_90"
};

// Finds the latest code of the wheel that runs on the GPU, by the rules of NVIDIA.
Served find_served_code(const PublicWheel& wheel, const Sm& gpu) {
  Served served{.code = wheel.sms.empty() && wheel.ptx.empty() ? GpuCode::unknown : GpuCode::none};
  std::optional<Sm> best;
  for (const auto& name : wheel.sms) {
    const auto sm = parse_sm(name);
    if (sm && cubin_runs_on(*sm, gpu) && (!best || *best < *sm)) best = sm;
  }
  if (best) return {same_capability(*best, gpu) ? GpuCode::native : GpuCode::same_major, sm_name(*best)};
  for (const auto& name : wheel.ptx) {
    const auto ptx = parse_sm(name);
    if (ptx && ptx_runs_on(*ptx, gpu) && (!best || *best < *ptx)) best = ptx;
  }
  if (best) return {GpuCode::ptx, compute_name(*best)};
  return served;
}

std::string describe_code(const Served& served, const PublicWheel& wheel, const std::string& capability) {
  switch (served.code) {
    case GpuCode::native: return fmt::format("{} machine code, native", served.best);
    case GpuCode::same_major: return fmt::format("{} machine code, which runs on {} as it is", served.best, capability);
    case GpuCode::ptx: return fmt::format("only {} PTX, which the driver compiles at the first start", served.best);
    case GpuCode::none:
      return fmt::format("nothing that runs on {}: it is for {}", capability,
                         joined_names(wheel.sms.empty() ? wheel.ptx : wheel.sms));
    case GpuCode::unknown: break;
  }
  return "no device code of its own";
}

// Reports whether the driver runs the CUDA of the wheel: any driver of the same major version does. Accepts an unknown
// driver.
bool driver_takes(const Host& host, const PublicWheel& wheel) {
  const auto driver = parse_major_minor(host.driver.cuda_version.value_or(""));
  if (!driver || wheel.cuda.empty()) return true;
  const auto needs = [](const std::string& cuda) { return std::stoll(cuda.substr(0, cuda.find('.'))); };
  return std::any_of(wheel.cuda.begin(), wheel.cuda.end(),
                     [&](const std::string& cuda) { return needs(cuda) <= driver->major; });
}

class Wheels {
 public:
  Wheels(const Host& host, const Gpu* gpu, const PublicWheels& table)
      : host_(host), gpu_(gpu), table_(table), platform_(host.cpu.architecture + "-linux") {
    if (gpu != nullptr) sm_ = parse_sm(gpu->capability);
    advice_.read = table.read;
  }

  WheelsAdvice give() {
    const PublicWheel* torch = choose_torch();
    if (torch != nullptr) {
      add(*torch);
      add_companions(*torch);
    }
    explain_warning(torch);
    return std::move(advice_);
  }

 private:
  // Selects the newest of the wheels with the best code.
  const PublicWheel* choose_torch() {
    const PublicWheel* chosen = nullptr;
    const PublicWheel* too_new = nullptr;
    const PublicWheel* newest = nullptr;
    for (const auto& wheel : table_.wheels) {
      if (wheel.package != kTorch || wheel.platform != platform_) continue;
      newest = &wheel;
      if (sm_ && wheel.cuda.empty()) continue;
      const PublicWheel*& best = driver_takes(host_, wheel) ? chosen : too_new;
      if (best == nullptr || rank(wheel) <= rank(*best)) best = &wheel;
    }
    if (newest == nullptr) {
      advice_.not_possible.push_back(fmt::format("no wheel of torch for {} was read", platform_));
      return nullptr;
    }
    if (sm_) explain_old_gpu(chosen, *newest);
    if (too_new != nullptr && has_code(*too_new)) too_new_ = too_new;
    if (too_new_ != nullptr && (chosen == nullptr || rank(*too_new) <= rank(*chosen)))
      advice_.not_possible.push_back(fmt::format("torch {} of pip is built with CUDA {}: install driver {} or later",
                                                 too_new->version, joined_names(too_new->cuda),
                                                 too_new->min_driver.value_or(0)));
    return chosen != nullptr && has_code(*chosen) ? chosen : nullptr;
  }

  // Lower is better. Without a GPU, all wheels are equal.
  int rank(const PublicWheel& wheel) const { return sm_ ? static_cast<int>(find_served_code(wheel, *sm_).code) : 0; }

  bool has_code(const PublicWheel& wheel) const { return rank(wheel) < static_cast<int>(GpuCode::none); }

  // Returns the version of the first wheel for this platform: older ones were not read.
  std::string oldest_torch() const {
    const auto first = std::find_if(table_.wheels.begin(), table_.wheels.end(), [&](const PublicWheel& wheel) {
      return wheel.package == kTorch && wheel.platform == platform_;
    });
    return first == table_.wheels.end() ? "" : first->version;
  }

  // Find the last wheel with code for the GPU.
  void explain_old_gpu(const PublicWheel* chosen, const PublicWheel& newest) {
    if (find_served_code(newest, *sm_).code != GpuCode::none) return;
    const bool another = chosen != nullptr && has_code(*chosen);
    const std::string last = another ? fmt::format("; the last that was read with code for it is torch {} (CUDA {})",
                                                   chosen->version, joined_names(chosen->cuda))
                                     : fmt::format("; no wheel of pip from torch {} on has any", oldest_torch());
    advice_.not_possible.push_back(fmt::format("torch {} of pip (CUDA {}) holds nothing that runs on {}{}",
                                               newest.version, joined_names(newest.cuda), gpu_->capability, last));
    if (const auto first = parse_sm(kFirstOfCuda13); first && *sm_ < *first)
      advice_.not_possible.emplace_back(
          "CUDA 13 has dropped Pascal and Volta, and torch 2.15 is no longer published with CUDA 12.6, whose wheels "
          "had "
          "them: newer torch is only to be had by building it with CUDA 12");
  }

  void add(const PublicWheel& wheel) {
    WheelAdvice& one = advice_.wheels.emplace_back(
        WheelAdvice{.package = wheel.package, .version = wheel.version, .min_driver = wheel.min_driver});
    if (!sm_) {
      one.sentence = wheel.cuda.empty() ? "for the CPU" : "with CUDA, which is not used without a GPU";
      return;
    }
    const Served served = find_served_code(wheel, *sm_);
    one.code = served.code;
    one.sentence = describe_code(served, wheel, gpu_->capability);
  }

  // Select the newest version of each package that accepts this torch, else the newest version.
  void add_companions(const PublicWheel& torch) {
    const auto version = parse_python_version(torch.version);
    std::vector<std::string> install{fmt::format("torch=={}", torch.version)};
    std::vector<const PublicWheel*> taken;
    for (const auto& wheel : table_.wheels) {
      if (wheel.package == kTorch || wheel.platform != platform_ || (sm_ && !driver_takes(host_, wheel))) continue;
      const bool fits = version && (!wheel.torch || satisfies(*version, *wheel.torch));
      const auto same = std::find_if(taken.begin(), taken.end(),
                                     [&](const PublicWheel* one) { return one->package == wheel.package; });
      if (same == taken.end()) {
        taken.push_back(&wheel);
      } else if (fits || !version || ((*same)->torch && !satisfies(*version, *(*same)->torch))) {
        *same = &wheel;
      }
    }
    for (const auto* wheel : taken) {
      add(*wheel);
      const bool fits = !wheel->torch || (version && satisfies(*version, *wheel->torch));
      if (!fits) advice_.wheels.back().sentence += fmt::format("; it asks for torch {}", *wheel->torch);
      if (fits && wheel->package == kVision) install.push_back(fmt::format("{}=={}", kVision, wheel->version));
    }
    for (const auto& absent : table_.absent) {
      if (absent.platform != platform_) continue;
      const bool other = std::any_of(taken.begin(), taken.end(),
                                     [&](const PublicWheel* one) { return one->package == absent.package; });
      if (!other)
        advice_.not_possible.push_back(fmt::format("{} {} has no wheel for {}: pip compiles it{}", absent.package,
                                                   absent.version, platform_,
                                                   sm_ ? ", for TORCH_CUDA_ARCH_LIST=" + gpu_->capability : ""));
    }
    for (const std::string_view installer : {"pip install", "uv pip install"})
      advice_.commands.push_back(fmt::format("{} {}", installer, fmt::join(install, " ")));
  }

  // torch/cuda/__init__.py: _check_capability and _check_cubins.
  void explain_warning(const PublicWheel* torch) {
    if (!sm_) return;
    const Served served = torch != nullptr ? find_served_code(*torch, *sm_) : Served{.code = GpuCode::none};
    const std::string printed =
        fmt::format("\"{} is not compatible with the current PyTorch installation\"", sm_name(*sm_));
    const std::string of = torch != nullptr ? fmt::format(" of torch {}", torch->version) : " of the wheels of pip";
    switch (served.code) {
      case GpuCode::native:
        advice_.warning = fmt::format(
            "{} is not true{}, which has {} machine code: if it is printed, another torch was "
            "imported; `pbprobe report` names that torch",
            printed, of, served.best);
        break;
      case GpuCode::same_major:
        advice_.warning = fmt::format(
            "{}, or a maximum below {}, is not true{}: {} machine code runs on every later minor version of its major",
            printed, gpu_->capability, of, served.best);
        break;
      case GpuCode::ptx:
        advice_.warning = fmt::format(
            "{} is half true{}: there is no machine code, and the driver compiles {} PTX at the "
            "first start",
            printed, of, served.best);
        break;
      case GpuCode::none:
      case GpuCode::unknown:
        advice_.warning =
            too_new_ != nullptr
                ? fmt::format(
                      "{} is not true of torch {}, whose CUDA {} this driver does not take: a newer driver, and "
                      "not another GPU, is due",
                      printed, too_new_->version, joined_names(too_new_->cuda))
                : fmt::format("{} is true{}: nothing in them runs there", printed, of);
        break;
    }
  }

  static constexpr std::string_view kFirstOfCuda13 = "7.5";
  static constexpr std::string_view kVision = "torchvision";
  const Host& host_;
  const Gpu* gpu_;
  const PublicWheels& table_;
  std::string platform_;
  std::optional<Sm> sm_;
  const PublicWheel* too_new_ = nullptr;  // wheel with code for the GPU whose CUDA the driver does not support
  WheelsAdvice advice_;
};

}  // namespace

Result<PublicWheels> parse_public_wheels(std::string_view text) {
  PBPROBE_TRY(const auto json, parse_json(text));
  return from_json<PublicWheels>(json);
}

const PublicWheels& public_wheels() {
  static const PublicWheels table = embedded(parse_public_wheels(kWheelsJson), "recipes/public_wheels.json");
  return table;
}

WheelsAdvice advise_wheels(const Host& host, const Gpu* gpu, const PublicWheels& table) {
  return Wheels(host, gpu, table).give();
}

namespace {

constexpr std::string_view kReferencesJson =
#include "reference_builds.inc"  // recipes/reference_builds.json as string literals (cmake/Embed.cmake)
    ;

}  // namespace

Result<ReferenceBuilds> parse_reference_builds(std::string_view text) {
  PBPROBE_TRY(const auto json, parse_json(text));
  return from_json<ReferenceBuilds>(json);
}

const ReferenceBuilds& reference_builds() {
  static const ReferenceBuilds table =
      embedded(parse_reference_builds(kReferencesJson), "recipes/reference_builds.json");
  return table;
}

ReferenceBuild find_reference(const Inventory& build, const Claim& claim, const ReferenceBuilds& table) {
  const auto version = parse_major_minor(build.torch_version.value_or(claim.torch.value_or("")));
  const std::string platform = build.platform.value_or("");
  ReferenceBuild reference;
  for (const auto& row : table.builds) {
    if (!version || parse_major_minor(row.torch) != *version) continue;
    if (reference.code.empty() || row.platform == platform) reference = row;
  }
  return reference;
}

}  // namespace pbprobe
