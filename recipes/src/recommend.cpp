// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/recommend.hpp"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "core/strings.hpp"
#include "recipes/src/variant_facts.hpp"

namespace pbprobe {
namespace {

template <class Range>
bool contains(const Range& range, const std::string& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

std::string joined(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

std::vector<std::string> missing_features(const Host& host, const Target& cpu) {
  std::vector<std::string> missing;
  for (const auto& feature : cpu.recipe_requires) {
    if (!contains(host.cpu.features, feature)) missing.push_back(feature);
  }
  return missing;
}

// Reports whether this CPU runs builds for the ISA.
bool runs(const Host& host, const Target& cpu) {
  return cpu.architecture == host.cpu.architecture && missing_features(host, cpu).empty();
}

std::string cpu_name(const Host& host) {
  return host.cpu.name.empty() ? "this CPU" : host.cpu.name;
}

// Returns the ISAs that the line builds for this SM (nullptr selects builds without CUDA) and that run here, best
// first.
std::vector<std::string> usable_cpus(const Host& host, const MatrixLine& line, const std::optional<std::string>& gpu,
                                     const Workload& workload) {
  std::vector<std::string> usable;
  const auto variants = line_variants(line, "");
  const auto consider = [&](const std::string& id) {
    const auto* cpu = find_target(id);
    if (cpu == nullptr || !runs(host, *cpu) || contains(usable, id)) return;
    if (std::ranges::any_of(variants, [&](const auto& v) { return v.gpu == gpu && v.cpu == id; })) usable.push_back(id);
  };
  for (const auto& id : workload.cpus) consider(id);
  for (const auto& w : matrix().workloads) {
    for (const auto& id : w.cpus) consider(id);
  }
  return usable;
}

struct ChosenGpu {
  const Target* target = nullptr;
  std::string name;
  std::vector<std::string> problems;
};

// Chooses the SM of most GPUs; on a tie, the newest.
ChosenGpu choose_gpu(const Host& host) {
  ChosenGpu chosen;
  std::map<std::string, int> counts;
  for (const auto& gpu : host.gpus) {
    const auto* target = find_gpu_target(gpu.capability);
    if (target == nullptr || !has_variants(*target)) {
      chosen.problems.push_back(
          fmt::format("{} has compute capability {}, which is not an SM of the matrix", gpu.name, gpu.capability));
    } else {
      ++counts[target->id];
    }
  }
  for (const auto& gpu : host.gpus) {
    const auto* target = find_gpu_target(gpu.capability);
    if (target == nullptr || !has_variants(*target)) continue;
    const auto better = [&](const Target& a, const Target& b) {
      if (counts[a.id] != counts[b.id]) return counts[a.id] > counts[b.id];
      return compare_versions(*a.capability, *b.capability) > 0;
    };
    if (chosen.target == nullptr || better(*target, *chosen.target)) {
      chosen.target = target;
      chosen.name = gpu.name;
    }
  }
  for (const auto& gpu : host.gpus) {
    const auto* target = find_gpu_target(gpu.capability);
    if (target != nullptr && has_variants(*target) && target != chosen.target)
      chosen.problems.push_back(
          fmt::format("GPU {} ({}) is {}: one variant serves one SM, so this GPU needs the variant of {}", gpu.index,
                      gpu.name, upper(target->id), upper(target->id)));
  }
  return chosen;
}

// Reports whether the driver supports the CUDA of the line: any driver of the same major version that knows the chip
// does. Returns nullopt if the driver is unknown.
std::optional<bool> driver_suffices(const Host& host, const MatrixLine& line) {
  if (!host.driver.cuda_version) return std::nullopt;
  return compare_versions(*host.driver.cuda_version, line.cuda.substr(0, line.cuda.find('.')) + ".0") >= 0;
}

class Advice {
 public:
  Advice(const Host& host, const Workload& workload, const Matrix& m) : host_(host), workload_(workload), m_(m) {
    answer_.workload = workload.id;
  }

  Recommendation give() {
    const auto gpu = choose_gpu(host_);
    answer_.not_possible = gpu.problems;
    note_driver_state();
    if (gpu.target == nullptr || !advise_gpu(gpu)) advise_cpu_only(gpu);
    note_missing_isas();
    if (answer_.variant) answer_.commands.push_back("flox build " + *answer_.variant);
    advise_pip(gpu);
    return std::move(answer_);
  }

 private:
  void note_driver_state() {
    const bool asked = !host_.gpus.empty() || host_.driver.state == DriverState::no_gpu;
    if (!asked && !host_.driver.sentence.empty()) answer_.todo.push_back(host_.driver.sentence);
  }

  // List the wheel after the variant, unless the wheel has native code for this GPU, or code for all of several GPUs: a
  // variant serves one SM.
  void advise_pip(const ChosenGpu& chosen) {
    const Gpu* gpu = host_.gpus.empty() ? nullptr : &host_.gpus.front();
    for (const auto& one : host_.gpus) {
      if (chosen.target != nullptr && one.capability == chosen.target->capability) gpu = &one;
    }
    answer_.wheels = advise_wheels(host_, gpu);
    const auto& wheels = answer_.wheels.wheels;
    const bool first = answer_.wheels.serves_mixed_gpus || !answer_.variant;
    answer_.wheel_first = !wheels.empty() && (first || wheels.front().code == GpuCode::native);
  }

  // Returns the lines that build this SM for this CPU: the default line, then the newest.
  std::vector<const MatrixLine*> find_lines(const Target& gpu) const {
    std::vector<const MatrixLine*> lines;
    for (const auto& line : m_.lines) {
      if (!usable_cpus(host_, line, gpu.id, workload_).empty()) lines.push_back(&line);
    }
    std::ranges::sort(lines, [&](const auto* a, const auto* b) {
      if ((a->id == m_.default_line) != (b->id == m_.default_line)) return a->id == m_.default_line;
      return compare_versions(a->cuda, b->cuda) > 0;
    });
    return lines;
  }

  std::string name(const MatrixLine& line, const std::optional<std::string>& gpu, const std::string& cpu) const {
    return variant_name({.line = line.id, .python = m_.python.default_value, .gpu = gpu, .cpu = cpu});
  }

  bool advise_gpu(const ChosenGpu& gpu) {
    const auto& target = *gpu.target;
    if (!fits_machine(target)) return false;
    const auto lines = find_lines(target);
    if (lines.empty()) {
      answer_.not_possible.push_back(
          fmt::format("{} is {}, for which no line of the matrix has a build for this CPU ({})", gpu.name,
                      upper(target.id), cpu_name(host_)));
      return false;
    }
    const auto* line = lines.front();
    for (const auto* candidate : lines) {
      if (driver_suffices(host_, *candidate).value_or(true)) {
        line = candidate;
        break;
      }
    }
    if (!driver_suffices(host_, *lines.front()).value_or(true)) note_old_driver(target, lines);
    answer_.min_driver = min_driver(*line, target, m_);
    answer_.max_driver = max_driver(host_);
    const auto cpus = usable_cpus(host_, *line, target.id, workload_);
    answer_.variant = name(*line, target.id, cpus.front());
    answer_.reason = fmt::format("{} is {}; {} runs {} ({}: {})", gpu.name, upper(target.id), cpu_name(host_),
                                 cpus.front(), workload_.id, workload_.why);
    note_dropped(target, *line);
    // List choices for a newer driver first, older lines last.
    if (line != lines.front()) offer_line(*lines.front(), target);
    offer_next(*line, target.id, cpus);
    for (const auto* other : lines) {
      if (other != line && other != lines.front()) offer_line(*other, target);
    }
    return true;
  }

  void offer_line(const MatrixLine& line, const Target& target) {
    const auto cpus = usable_cpus(host_, line, target.id, workload_);
    answer_.next.push_back(
        {name(line, target.id, cpus.front()), fmt::format("line {}: torch {} with CUDA {}, {}", line.id, line.torch,
                                                          line.cuda, drivers_of_line(line, target))});
  }

  std::string drivers_of_line(const MatrixLine& line, const Target& target) const {
    return describe_drivers(min_driver(line, target, m_).value_or(0), max_driver(host_));
  }

  bool fits_machine(const Target& target) {
    for (const auto& platform : target.platforms) {
      if (platform.starts_with(host_.cpu.architecture)) return true;
    }
    answer_.not_possible.push_back(
        fmt::format("{} on {}: no such machine ({} is found on {} only): look at the host file", upper(target.id),
                    host_.cpu.architecture, upper(target.id), joined(target.platforms)));
    return false;
  }

  void note_old_driver(const Target& target, const std::vector<const MatrixLine*>& lines) {
    const auto& wanted = *lines.front();
    std::string others;
    for (const auto* line : lines) {
      if (line != &wanted && driver_suffices(host_, *line).value_or(false)) {
        others = ", or line " + line->id;
        break;
      }
    }
    auto package = "cuda-compat-" + wanted.cuda;
    std::ranges::replace(package, '.', '-');
    answer_.todo.push_back(
        fmt::format("driver {} is too old for CUDA {} (it has CUDA {}): install {}, or {} on a data-centre GPU{}",
                    host_.driver.version.value_or("?"), wanted.cuda, *host_.driver.cuda_version,
                    drivers_of_line(wanted, target), package, others));
  }

  void note_dropped(const Target& target, const MatrixLine& line) {
    const auto& newest = m_.default_matrix_line();
    if (const auto builds = cuda_builds(newest.cuda, target); !builds && line.id != newest.id)
      answer_.not_possible.push_back(fmt::format("line {}: {}", newest.id, builds.error().message));
  }

  void offer_next(const MatrixLine& line, const std::optional<std::string>& gpu, const std::vector<std::string>& cpus) {
    for (const auto& workload : m_.workloads) {
      if (workload.id == workload_.id) continue;
      const auto others = usable_cpus(host_, line, gpu, workload);
      if (others.empty() || others.front() == cpus.front()) continue;
      answer_.next.push_back({name(line, gpu, others.front()), fmt::format("for {}: {}", workload.id, workload.why)});
    }
  }

  void advise_cpu_only(const ChosenGpu& gpu) {
    const auto& line = m_.default_matrix_line();
    const auto cpus = usable_cpus(host_, line, std::nullopt, workload_);
    if (cpus.empty()) {
      answer_.reason = fmt::format("no variant of the matrix is for the CPU {}: use a generic torch", cpu_name(host_));
      return;
    }
    answer_.variant = name(line, std::nullopt, cpus.front());
    answer_.reason = fmt::format(
        "{}; {} runs {} ({}: {})",
        gpu.target == nullptr && host_.gpus.empty() ? "no GPU was found" : "no variant is for this GPU and CPU",
        cpu_name(host_), cpus.front(), workload_.id, workload_.why);
    offer_next(line, std::nullopt, cpus);
  }

  // Explain every other ISA of this architecture.
  void note_missing_isas() {
    for (const auto& target : all_targets()) {
      if (target.kind != TargetKind::cpu || target.architecture != host_.cpu.architecture || !has_variants(target))
        continue;
      const auto missing = missing_features(host_, target);
      if (missing.empty()) continue;
      answer_.not_possible.push_back(fmt::format("{}: {} has no {}{}{}", target.id, cpu_name(host_), joined(missing),
                                                 target.note ? "; " : "", target.note.value_or("")));
    }
  }

  const Host& host_;
  const Workload& workload_;
  const Matrix& m_;
  Recommendation answer_;
};

}  // namespace

Result<Recommendation> recommend(const Host& host, std::string_view workload, const Matrix& m) {
  const Workload* chosen = workload.empty() ? &m.workloads.front() : nullptr;
  std::vector<std::string> ids;
  for (const auto& w : m.workloads) {
    if (w.id == workload) chosen = &w;
    ids.push_back(w.id);
  }
  if (chosen == nullptr)
    return make_error(ErrorCode::usage, "unknown workload \"{}\": choose one of {}", workload, joined(ids));
  return Advice(host, *chosen, m).give();
}

namespace {

std::string variant_text(const Recommendation& r) {
  std::string text = fmt::format("{}\n  {}\n", r.variant.value_or("no variant"), r.reason);
  if (r.min_driver) text += fmt::format("  {}\n", describe_drivers(*r.min_driver, r.max_driver));
  for (const auto& todo : r.todo) text += fmt::format("  first: {}\n", todo);
  for (const auto& command : r.commands) text += fmt::format("    {}\n", command);
  return text;
}

std::string wheels_text(const Recommendation& r) {
  if (r.wheels.wheels.empty()) return "";
  const auto& torch = r.wheels.wheels.front();
  const std::string driver = torch.min_driver ? "; " + describe_drivers(*torch.min_driver, torch.max_driver) : "";
  std::string text = fmt::format("torch {} of pip\n  {}{}\n", torch.version, torch.sentence, driver);
  for (const auto& command : r.wheels.commands) text += fmt::format("    {}\n", command);
  if (r.wheels.wheels.size() > 1) text += fmt::format("other wheels for this machine (index of {})\n", r.wheels.read);
  for (size_t i = 1; i < r.wheels.wheels.size(); ++i) {
    const auto& wheel = r.wheels.wheels[i];
    text += fmt::format("  {} {}: {}\n", wheel.package, wheel.version, wheel.sentence);
  }
  return text;
}

}  // namespace

std::string render_recommendation(const Recommendation& r) {
  std::string text = r.wheel_first ? wheels_text(r) + variant_text(r) : variant_text(r) + wheels_text(r);
  if (r.wheels.warning) text += fmt::format("torch's warning\n  {}\n", *r.wheels.warning);
  if (!r.next.empty()) text += "next\n";
  for (const auto& next : r.next) text += fmt::format("  {}\n    {}\n", next.variant, next.why);
  if (!r.not_possible.empty() || !r.wheels.not_possible.empty()) text += "not possible\n";
  for (const auto* reasons : {&r.not_possible, &r.wheels.not_possible}) {
    for (const auto& reason : *reasons) text += fmt::format("  {}\n", reason);
  }
  return text;
}

}  // namespace pbprobe
