// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// pbprobe_fit_model fits the costs of each family of GPU kernels (kernels/dispatch/model.hpp) to measured times
// (tools/measure-candidates), by an evolution strategy. Loss of choice: the time of the kernel with the lowest
// predicted time over the fastest measured time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/dtype.hpp"
#include "kernels/dispatch/model.hpp"
#include "kernels/gemm/problem.hpp"

namespace pbprobe {
namespace {

struct Sample {
  const Kernel* kernel = nullptr;
  int64_t parts = 0;
  ClusterShape shape;
  double seconds = 0;
  FamilyId family = FamilyId::count;
  double weight = 0;  // in the objective
  double predicted = 0;
  double error = 0;  // logarithm of the predicted over the measured time
};
// All kernels and splits of one problem.
struct Case {
  Problem problem;
  double fastest = 0;
  std::vector<Sample> samples;
};
struct Samples {
  Gpu gpu;
  std::string date;
  std::vector<Case> cases;
};

// Throws what nlohmann::json throws for a field that is not as it must be.
template <class Enum>
Enum parse_enum(const nlohmann::json& field) {
  const auto name = field.get<std::string>();
  for (const auto& [value, known] : enum_names(Enum{})) {
    if (known == name) return value;
  }
  throw nlohmann::json::type_error::create(302, fmt::format("nothing is called {}", name), &field);
}

Problem make_row_problem(const nlohmann::json& row) {
  const auto type = parse_enum<DType>(row.at("type"));
  Problem p = make_problem(row.at("m"), row.at("n"), row.at("k"), type, parse_enum<DType>(row.at("c")), Layout::nt);
  p.scale_a = p.scale_b = row.at("scaled").get<bool>();
  p.per_tensor = row.at("per_tensor").get<bool>();
  p.blocks = parse_enum<BlockScale>(row.at("blocks"));
  return p;
}

constexpr double kMostRatio = 4;  // over the fastest sample

Samples read_samples(const std::string& path) {
  const auto document = nlohmann::json::parse(std::ifstream(path));
  const auto& device = document.at("device");
  Samples samples;
  samples.date = document.at("date");
  samples.gpu.name = device.at("name");
  samples.gpu.sm_count = device.at("sms").get<int64_t>();
  samples.gpu.max_sm_clock_mhz = device.at("max_sm_clock_mhz").get<int64_t>();
  for (const auto& row : document.at("shapes")) {
    Case one{.problem = make_row_problem(row)};
    using Row = std::tuple<std::string, int64_t, int64_t, int64_t, double>;
    for (const auto& [name, parts, down, across, us] : row.at("samples").get<std::vector<Row>>()) {
      if (const Kernel* const kernel = find_kernel(name))
        one.samples.push_back({kernel, parts, {down, across}, us * 1e-6, find_family(*kernel)});
    }
    if (one.samples.empty()) continue;
    const auto fastest = std::min_element(one.samples.begin(), one.samples.end(),
                                          [](const Sample& a, const Sample& b) { return a.seconds < b.seconds; });
    one.fastest = fastest->seconds;
    // No choice between far slower samples matters.
    std::erase_if(one.samples, [&](const Sample& sample) { return sample.seconds > kMostRatio * one.fastest; });
    for (Sample& sample : one.samples) sample.weight = std::pow(one.fastest / sample.seconds, 4);
    samples.cases.push_back(std::move(one));
  }
  return samples;
}

using Families = decltype(Fit::families);

void predict_family(Samples& samples, const Family& costs, FamilyId id) {
  for (Case& one : samples.cases) {
    for (Sample& sample : one.samples) {
      if (sample.family != id) continue;
      sample.predicted = predict(*sample.kernel, one.problem, samples.gpu, sample.parts, sample.shape, costs);
      sample.error = std::log(sample.predicted / sample.seconds);
    }
  }
}

// Returns the time of the kernel with the lowest prediction over the fastest time, less 1.
double compute_choice_loss(const Case& one) {
  const auto chosen = std::min_element(one.samples.begin(), one.samples.end(),
                                       [](const Sample& a, const Sample& b) { return a.predicted < b.predicted; });
  return chosen->seconds / one.fastest - 1;
}

// The relative error of the samples near the fastest ones, of one family or of all.
double compute_error(const Samples& samples, std::optional<FamilyId> only = std::nullopt) {
  double error = 0;
  double weights = 0;
  for (const Case& one : samples.cases) {
    for (const Sample& sample : one.samples) {
      if (only && sample.family != *only) continue;
      error += sample.weight * sample.error * sample.error;
      weights += sample.weight;
    }
  }
  return std::sqrt(error / weights);
}

double objective(const Samples& samples) {
  constexpr double kErrorWeight = 0.3;
  double loss = 0;
  for (const Case& one : samples.cases) loss += std::log1p(compute_choice_loss(one));
  return loss / static_cast<double>(samples.cases.size()) + kErrorWeight * compute_error(samples);
}

constexpr double Family::*kFitted[] = {
    &Family::launch_us, &Family::tile_us,  &Family::area_us,  &Family::block_bytes,  &Family::sm_bytes,
    &Family::memory,    &Family::part_us,  &Family::share_us, &Family::stage_clocks, &Family::least_clocks,
    &Family::word_us,   &Family::split_us, &Family::cached,   &Family::adding,       &Family::exposed_us};

// The value from which a cost of 0 grows.
double least(double Family::*cost) {
  if (cost == &Family::stage_clocks || cost == &Family::least_clocks) return 20;
  return cost == &Family::exposed_us || cost == &Family::split_us || cost == &Family::word_us ? 0.2 : 0.02;
}

// Changes some costs of one family at random, by a factor, and keeps what lowers the objective: an evolution strategy
// of one parent and one child. The factors grow after a success and shrink after a failure (Rechenberg 1973).
template <class Objective>
void evolve(Samples& samples, Family& family, const Family& first, FamilyId id, int children, std::mt19937& generator,
            const Objective& objective_of) {
  constexpr double kMostChange = 4;  // costs that no sample depends on stay near the first ones
  constexpr double kMostAdding = 4;  // the L2 cache holds the parts
  std::normal_distribution<double> normal;
  std::bernoulli_distribution is_changed(0.3);
  double width = 0.3;
  double best = objective_of();
  for (int child = 0; child < children; ++child) {
    const Family parent = family;
    for (double Family::*const cost : kFitted) {
      if (!is_changed(generator)) continue;
      family.*cost = std::clamp(family.*cost * std::exp(width * normal(generator)), first.*cost / kMostChange,
                                first.*cost * kMostChange);
    }
    family.memory = std::min(family.memory, 1.0);
    family.adding = std::min(family.adding, kMostAdding);
    predict_family(samples, family, id);
    const double now = objective_of();
    if (now < best) {
      best = now;
      width = std::min(width * 1.4, 0.6);
    } else {
      family = parent;
      width = std::max(width * 0.97, 0.02);
    }
  }
  predict_family(samples, family, id);
}

// Fits each family to its own times, then all to the choice between them. Returns the objective.
double search(Samples& samples, Families& families, const std::set<FamilyId>& measured, unsigned seed) {
  constexpr int kChildren = 1200;
  constexpr int kRounds = 6;
  std::mt19937 generator(seed);
  const Families first = families;
  for (const FamilyId id : measured) {
    Family& family = families[static_cast<size_t>(id)];
    predict_family(samples, family, id);
    evolve(samples, family, first[static_cast<size_t>(id)], id, kChildren, generator,
           [&] { return compute_error(samples, id); });
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const FamilyId id : measured) {
      Family& family = families[static_cast<size_t>(id)];
      evolve(samples, family, first[static_cast<size_t>(id)], id, kChildren / 10, generator,
             [&] { return objective(samples); });
    }
  }
  return objective(samples);
}

// Returns the best of some searches.
Families find_costs(Samples& samples, const Families& before, const std::set<FamilyId>& measured) {
  constexpr unsigned kSearches = 4;
  Families first = before;
  for (const FamilyId id : measured) {
    Family& family = first[static_cast<size_t>(id)];
    for (double Family::*const cost : kFitted) family.*cost = std::max(family.*cost, least(cost));
  }
  Families best = before;
  double least_objective = objective(samples);
  for (unsigned seed = 1; seed <= kSearches; ++seed) {
    Families families = first;
    const double found = search(samples, families, measured, seed);
    if (found >= least_objective) continue;
    least_objective = found;
    best = families;
  }
  for (const FamilyId id : measured) predict_family(samples, best[static_cast<size_t>(id)], id);
  return best;
}

void print_loss(const char* what, const Samples& samples) {
  std::vector<double> losses;
  for (const Case& one : samples.cases) losses.push_back(compute_choice_loss(one));
  std::sort(losses.begin(), losses.end());
  double sum = 0;
  for (const double loss : losses) sum += loss;
  const auto at = static_cast<size_t>(0.95 * static_cast<double>(losses.size() - 1));
  fmt::print("{}: loss of choice over {} shapes: mean {:.1f} %, 95th percentile {:.1f} %, greatest {:.0f} %\n", what,
             losses.size(), 100 * sum / static_cast<double>(losses.size()), 100 * losses[at], 100 * losses.back());
}

std::string format_row(const Samples& samples, const Families& families) {
  std::string row = fmt::format("{{.device = \"{}\",\n .sms = {},\n .date = \"{}\",\n .families = {{{{\n",
                                samples.gpu.name, *samples.gpu.sm_count, samples.date);
  for (size_t at = 0; at < families.size(); ++at) {
    const Family& f = families.at(at);
    row += fmt::format(
        "     {{{:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, "
        "{:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}, {:.4g}}},  // {}\n",
        f.launch_us, f.tile_us, f.area_us, f.block_bytes, f.sm_bytes, f.unaligned, f.unaligned_us, f.writing, f.memory,
        f.area_writing, f.part_us, f.share_us, f.stage_clocks, f.least_clocks, f.word_us, f.split_us, f.cached,
        f.adding, f.exposed_us, name_of(static_cast<FamilyId>(at)));
  }
  return row + " }}},\n";
}

// Replaces the device's row of the file, or adds one. Returns whether the file could be read and written.
bool write_row(const std::string& path, const std::string& device, const std::string& row) {
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in || text.empty()) return false;
  const size_t begin = text.find(fmt::format("{{.device = \"{}\"", device));
  if (begin != std::string::npos) {
    const std::string end = " }}},\n";
    text.erase(begin, text.find(end, begin) + end.size() - begin);
  }
  std::ofstream out(path);
  out << text << row << std::flush;
  return static_cast<bool>(out);
}

void print_worst(const Samples& samples) {
  std::vector<const Case*> cases;
  for (const Case& one : samples.cases) cases.push_back(&one);
  std::sort(cases.begin(), cases.end(),
            [](const Case* a, const Case* b) { return compute_choice_loss(*a) > compute_choice_loss(*b); });
  cases.resize(std::min<size_t>(cases.size(), 12));
  const auto show = [](const Sample& s) {
    return fmt::format("{} {} {}x{}: {:.1f} us, predicted {:.1f}", s.kernel->name, s.parts, s.shape.down,
                       s.shape.across, s.seconds * 1e6, s.predicted * 1e6);
  };
  for (const Case* one : cases) {
    const auto by = [&](double Sample::*what) {
      return *std::min_element(one->samples.begin(), one->samples.end(),
                               [&](const Sample& a, const Sample& b) { return a.*what < b.*what; });
    };
    fmt::print("  {}: chosen {}; fastest {}\n", describe(one->problem), show(by(&Sample::predicted)),
               show(by(&Sample::seconds)));
  }
}

std::set<FamilyId> list_families(const Samples& samples) {
  std::set<FamilyId> families;
  for (const Case& one : samples.cases) {
    for (const Sample& sample : one.samples) families.insert(sample.family);
  }
  return families;
}

// Prints a message and returns nullopt if the file has no samples.
std::optional<Samples> load_samples(const std::string& file) {
  try {
    Samples samples = read_samples(file);
    if (!samples.cases.empty()) return samples;
    fmt::print(stderr, "{}: has no samples of kernels that this program knows\n", file);
  } catch (const nlohmann::json::exception& error) {
    fmt::print(stderr, "{}: is no output of tools/measure-candidates: {}\n", file, error.what());
  }
  return std::nullopt;
}

int run(const std::string& file, const std::string& others, const std::string& output) {
  auto loaded = load_samples(file);
  auto checked = others.empty() ? std::optional(Samples{}) : load_samples(others);
  if (!loaded || !checked) return 2;
  Samples& samples = *loaded;
  const std::set<FamilyId> measured = list_families(samples);
  const Fit& before = find_fit(samples.gpu);
  Families families = before.families;
  for (const FamilyId id : measured) predict_family(samples, families[static_cast<size_t>(id)], id);
  print_loss(fmt::format("costs of {} ({})", before.device, before.date).c_str(), samples);
  families = find_costs(samples, families, measured);
  print_loss("fitted", samples);
  print_worst(samples);
  if (!checked->cases.empty()) {
    for (const FamilyId id : list_families(*checked)) predict_family(*checked, families[static_cast<size_t>(id)], id);
    print_loss("samples that were not fitted", *checked);
  }
  if (output.empty() || write_row(output, samples.gpu.name, format_row(samples, families))) return 0;
  fmt::print(stderr, "{}: cannot be read or written: give kernels/dispatch/fits.inc, or a copy\n", output);
  return 2;
}

}  // namespace
}  // namespace pbprobe

int main(int argc, char** argv) {
  CLI::App app("Fits the model of GPU kernels to measured times");
  std::string samples;
  std::string others;
  std::string output;
  app.add_option("samples", samples, "JSON of tools/measure-candidates")->required();
  app.add_option("--check", others,
                 "JSON of tools/measure-candidates, with another seed, that the costs are not fitted to");
  app.add_option("--write", output, "File of fits whose row of the device is replaced");
  app.footer(
      "Examples:\n"
      "  pbprobe_fit_model samples.json                                       the losses, and the worst choices\n"
      "  pbprobe_fit_model samples.json --check others.json                   and the loss of choice for other layers\n"
      "  pbprobe_fit_model samples.json --write kernels/dispatch/fits.inc     and this device's row");
  CLI11_PARSE(app, argc, argv);
  return pbprobe::run(samples, others, output);
}
