// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/public_wheels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.hpp"
#include "core/major_minor.hpp"
#include "core/pep440.hpp"
#include "core/targets.hpp"
#include "recipes/src/matrix.hpp"
#include "recipes/src/variant_facts.hpp"

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
      return fmt::format("no code that runs on {}: the wheel's code is for {}", capability,
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
  return std::ranges::any_of(wheel.cuda, [&](const std::string& cuda) { return needs(cuda) <= driver->major; });
}

// Returns the glibc that one tag of a wheel requires: 2.28 for "manylinux_2_28_x86_64".
std::optional<MajorMinor> parse_manylinux(std::string_view tag) {
  constexpr std::array<std::pair<std::string_view, MajorMinor>, 3> kOld{
      {{"manylinux1_", {2, 5}}, {"manylinux2010_", {2, 12}}, {"manylinux2014_", {2, 17}}}};
  for (const auto& [begin, version] : kOld) {
    if (tag.starts_with(begin)) return version;
  }
  constexpr std::string_view kBegin = "manylinux_";
  if (!tag.starts_with(kBegin)) return std::nullopt;
  std::string version(tag.substr(kBegin.size()));
  std::ranges::replace(version, '_', '.');
  return parse_major_minor(version.substr(0, version.find('.', version.find('.') + 1)));
}

// Returns the oldest glibc for which a wheel's file name has a tag.
std::optional<MajorMinor> get_glibc(const PublicWheel& wheel) {
  std::string_view tags = wheel.wheel;
  tags = tags.substr(tags.rfind('-') + 1);
  std::optional<MajorMinor> least;
  while (!tags.empty()) {
    const std::string_view tag = tags.substr(0, tags.find('.'));
    const auto version = parse_manylinux(tag);
    if (version && (!least || *version < *least)) least = version;
    tags.remove_prefix(std::min(tag.size() + 1, tags.size()));
  }
  return least;
}

// Reports whether the C library of the machine is new enough. Accepts an unknown one.
bool glibc_takes(const Host& host, const PublicWheel& wheel) {
  const auto here = parse_major_minor(host.glibc.value_or(""));
  const auto needed = get_glibc(wheel);
  return !here || !needed || *needed <= *here;
}

// Reports whether a GPU is the part of a Jetson module. Wheels for servers with Arm CPUs do not serve it, even if they
// have code of its generation. Source: CUDA C++ Programming Guide, "Binary compatibility".
bool is_jetson(const Sm& gpu) {
  constexpr std::array kJetsons{Sm{5, 3}, Sm{6, 2}, Sm{7, 2}, Sm{8, 7}};
  return std::ranges::find(kJetsons, gpu) != kJetsons.end();
}

std::string describe_gpu(const Gpu& gpu) {
  return fmt::format("GPU {} ({})", gpu.index, gpu.name);
}

class Wheels {
 public:
  Wheels(const Host& host, const Gpu* gpu, const PublicWheels& table)
      : host_(host), gpu_(gpu), table_(table), platform_(host.cpu.architecture + "-linux") {
    advice_.read = table.read;
    if (gpu == nullptr || !parse_sm(gpu->capability)) return;
    sm_ = parse_sm(gpu->capability);
    gpus_ = {gpu};
    for (const auto& one : host.gpus) {
      const bool known =
          std::ranges::any_of(gpus_, [&](const Gpu* other) { return other->capability == one.capability; });
      if (!known && parse_sm(one.capability)) gpus_.push_back(&one);
    }
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
    const PublicWheel* newest = nullptr;
    for (const auto& wheel : table_.wheels) {
      if (is_torch(wheel)) newest = &wheel;
    }
    if (newest == nullptr) {
      advice_.not_possible.push_back(fmt::format("no wheel of torch for {} was read", platform_));
      return nullptr;
    }
    const PublicWheel* chosen = find_torch(gpus_, true);
    if (gpus_.size() > 1) {
      advice_.serves_mixed_gpus = chosen != nullptr;
      if (chosen == nullptr) {
        explain_mixed_gpus();
        gpus_.resize(1);
        chosen = find_torch(gpus_, true);
      }
    }
    for (const Gpu* gpu : gpus_) explain_old_gpu(*gpu, *newest);
    const PublicWheel* best = find_torch(gpus_, false);
    if (best != nullptr && best != chosen) explain_machine(*best);
    return chosen;
  }

  bool is_torch(const PublicWheel& wheel) const { return wheel.package == kTorch && wheel.platform == platform_; }

  bool runs_here(const PublicWheel& wheel) const {
    return glibc_takes(host_, wheel) && (!sm_ || driver_takes(host_, wheel));
  }

  // Returns the newest torch with the best code for the GPU that it serves worst; nullptr if each torch lacks code for
  // a GPU. `here`: only a torch that the driver and the C library of this machine run.
  const PublicWheel* find_torch(const std::vector<const Gpu*>& gpus, bool here) const {
    const PublicWheel* best = nullptr;
    for (const auto& wheel : table_.wheels) {
      if (!is_torch(wheel) || (here && !runs_here(wheel)) || !serves(wheel, gpus)) continue;
      if (best == nullptr || rank(wheel, gpus) <= rank(*best, gpus)) best = &wheel;
    }
    return best;
  }

  Served find_code(const PublicWheel& wheel, const Gpu& gpu) const {
    const Sm sm = *parse_sm(gpu.capability);
    const Served served = find_served_code(wheel, sm);
    const bool other_code = served.code == GpuCode::same_major || served.code == GpuCode::ptx;
    return is_jetson(sm) && other_code ? Served{.code = GpuCode::none, .best = ""} : served;
  }

  // Returns the worst code of all GPUs; lower is better. Without a GPU, all wheels are equal.
  int rank(const PublicWheel& wheel, const std::vector<const Gpu*>& gpus) const {
    int worst = 0;
    for (const Gpu* gpu : gpus) worst = std::max(worst, static_cast<int>(find_code(wheel, *gpu).code));
    return worst;
  }

  bool serves(const PublicWheel& wheel, const std::vector<const Gpu*>& gpus) const {
    return gpus.empty() || (!wheel.cuda.empty() && rank(wheel, gpus) < static_cast<int>(GpuCode::none));
  }

  // Returns the version of the first wheel for this platform: older ones were not read.
  std::string oldest_torch() const {
    const auto first = std::ranges::find_if(table_.wheels, [&](const PublicWheel& wheel) { return is_torch(wheel); });
    return first == table_.wheels.end() ? "" : first->version;
  }

  void explain_mixed_gpus() {
    std::vector<std::string> served;
    for (const Gpu* gpu : gpus_) {
      const PublicWheel* torch = find_torch({gpu}, true);
      served.push_back(torch != nullptr ? fmt::format("torch {} serves {}", torch->version, describe_gpu(*gpu))
                                        : fmt::format("none serves {}", describe_gpu(*gpu)));
    }
    advice_.not_possible.push_back(
        fmt::format("no torch of pip serves all GPUs of this machine: {}", joined_names(served)));
  }

  // Explains what of this machine is too old for the best wheel.
  void explain_machine(const PublicWheel& best) {
    blocked_ = &best;
    if (sm_ && !driver_takes(host_, best)) {
      advice_.not_possible.push_back(fmt::format("torch {} of pip is built with CUDA {}: install {}", best.version,
                                                 joined_names(best.cuda),
                                                 describe_drivers(first_driver(best).value_or(0), max_driver(host_))));
    }
    if (glibc_takes(host_, best)) return;
    const MajorMinor needed = *get_glibc(best);
    advice_.not_possible.push_back(
        fmt::format("torch {} of pip needs glibc {}.{}, and this machine has {}: use a newer system, or a container "
                    "of one",
                    best.version, needed.major, needed.minor, *host_.glibc));
  }

  // Returns the first driver branch for the CUDA of the wheel and for each GPU.
  std::optional<int64_t> first_driver(const PublicWheel& wheel) const {
    if (!wheel.min_driver) return std::nullopt;
    int64_t first = *wheel.min_driver;
    for (const Gpu* gpu : gpus_) {
      const Target* target = find_gpu_target(gpu->capability);
      if (target == nullptr || !target->first_cuda) continue;
      const auto found = matrix().drivers.find(*target->first_cuda);
      if (found != matrix().drivers.end()) first = std::max(first, found->second);
    }
    return first;
  }

  // Names the last wheel with code for a GPU that the newest wheel does not serve.
  void explain_old_gpu(const Gpu& gpu, const PublicWheel& newest) {
    if (find_code(newest, gpu).code != GpuCode::none && !newest.cuda.empty()) return;
    const Sm sm = *parse_sm(gpu.capability);
    const PublicWheel* with_code = find_torch({&gpu}, false);
    const std::string last = with_code != nullptr
                                 ? fmt::format("; the last that was read with code for it is torch {} (CUDA {})",
                                               with_code->version, joined_names(with_code->cuda))
                                 : fmt::format("; no wheel of pip from torch {} on has any", oldest_torch());
    advice_.not_possible.push_back(
        fmt::format("torch {} of pip ({}) holds nothing that runs on {}{}", newest.version,
                    newest.cuda.empty() ? "without CUDA" : "CUDA " + joined_names(newest.cuda), gpu.capability, last));
    if (is_jetson(sm)) {
      advice_.not_possible.push_back(
          fmt::format("{} is a Jetson: wheels of pip for {} are for servers and hold no {}; NVIDIA publishes torch for "
                      "JetPack on its own index: {}",
                      gpu.name, platform_, sm_name(sm), matrix().jetson.index));
    } else if (sm < kFirstOfCuda12) {
      advice_.not_possible.emplace_back("CUDA 12 has dropped Kepler: torch must be built for it with CUDA 11");
    } else if (sm < kFirstOfCuda13) {
      advice_.not_possible.push_back(
          fmt::format("CUDA 13 has dropped {}: newer torch must be built with CUDA 12, as some wheels of PyTorch's own "
                      "index are (https://download.pytorch.org/whl/cu126)",
                      sm < Sm{6, 0} ? "Maxwell" : "Pascal and Volta"));
    }
  }

  void add(const PublicWheel& wheel) {
    WheelAdvice& one = advice_.wheels.emplace_back(
        WheelAdvice{.package = wheel.package, .version = wheel.version, .min_driver = first_driver(wheel)});
    if (!sm_) {
      one.sentence = wheel.cuda.empty() ? "for the CPU" : "with CUDA, which is not used without a GPU";
      return;
    }
    if (wheel.min_driver) one.max_driver = max_driver(host_);
    std::vector<std::string> all, each;
    for (const Gpu* gpu : gpus_) {
      const Served served = find_code(wheel, *gpu);
      if (gpu == gpu_ || static_cast<int>(served.code) > static_cast<int>(one.code)) one.code = served.code;
      all.push_back(describe_code(served, wheel, gpu->capability));
      each.push_back(fmt::format("{}: {}", describe_gpu(*gpu), all.back()));
    }
    const bool same = std::ranges::all_of(all, [&](const std::string& text) { return text == all.front(); });
    one.sentence = same ? all.front() : fmt::format("{}", fmt::join(each, "; "));
  }

  // Select the newest version of each package that accepts this torch, else the newest version.
  void add_companions(const PublicWheel& torch) {
    const auto version = parse_python_version(torch.version);
    std::vector<std::string> install{fmt::format("torch=={}", torch.version)};
    std::vector<const PublicWheel*> taken;
    for (const auto& wheel : table_.wheels) {
      if (wheel.package == kTorch || wheel.platform != platform_ || !runs_here(wheel)) continue;
      const bool fits = version && (!wheel.torch || satisfies(*version, *wheel.torch));
      const auto same =
          std::ranges::find_if(taken, [&](const PublicWheel* one) { return one->package == wheel.package; });
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
      const bool other =
          std::ranges::any_of(taken, [&](const PublicWheel* one) { return one->package == absent.package; });
      if (!other)
        advice_.not_possible.push_back(fmt::format("{} {} has no wheel for {}: pip compiles it{}", absent.package,
                                                   absent.version, platform_,
                                                   sm_ ? ", for TORCH_CUDA_ARCH_LIST=" + gpu_->capability : ""));
    }
    for (const std::string_view installer : {"pip install", "uv pip install"})
      advice_.commands.push_back(fmt::format("{} {}", installer, fmt::join(install, " ")));
  }

  // Explains whether the GPU, the driver or the system keeps each wheel from running.
  std::string explain_missing_code(const std::string& of) const {
    if (blocked_ == nullptr) return fmt::format("true{}: none of their code runs on this GPU", of);
    if (driver_takes(host_, *blocked_))
      return fmt::format(
          "not true of torch {}, whose glibc this system lacks: a newer system is due, and not another "
          "GPU",
          blocked_->version);
    return fmt::format(
        "not true of torch {}, whose CUDA {} this driver does not take: a newer driver, and not another "
        "GPU, is due",
        blocked_->version, joined_names(blocked_->cuda));
  }

  // torch/cuda/__init__.py: _check_capability and _check_cubins.
  void explain_warning(const PublicWheel* torch) {
    if (!sm_) return;
    const Served served = torch != nullptr ? find_code(*torch, *gpu_) : Served{.code = GpuCode::none, .best = ""};
    const std::string printed =
        fmt::format("torch's warning \"{} is not compatible with the current PyTorch installation\"", sm_name(*sm_));
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
      case GpuCode::unknown: advice_.warning = fmt::format("{} is {}", printed, explain_missing_code(of)); break;
    }
  }

  static constexpr Sm kFirstOfCuda12{5, 0};
  static constexpr Sm kFirstOfCuda13{7, 5};
  static constexpr std::string_view kVision = "torchvision";
  const Host& host_;
  const Gpu* gpu_;
  const PublicWheels& table_;
  std::string platform_;
  std::optional<Sm> sm_;                  // SM of gpu_
  std::vector<const Gpu*> gpus_;          // gpu_, and one GPU of each other capability that the wheels serve too
  const PublicWheel* blocked_ = nullptr;  // best wheel for the GPUs, which the driver or the system does not run
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

std::optional<int64_t> max_driver(const Host& host) {
  std::optional<int64_t> last;
  for (const auto& gpu : host.gpus) {
    const auto one = max_driver(gpu.capability);
    if (one && (!last || *one < *last)) last = one;
  }
  return last;
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
