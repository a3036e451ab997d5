// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <limits>

#include "core/facts/json.hpp"
#include "core/host/host.hpp"
#include "core/targets.hpp"
#include "probes/cli/cli.hpp"
#include "probes/measure/kernels/bench.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/pipeline/presets.hpp"
#include "probes/report/text.hpp"

namespace pbprobe::cli {
namespace {

struct BenchArguments {
  BenchOptions bench{.bench = {.shapes = {}}};
  std::vector<std::string> shapes{"256x256x256", "1024x1024x1024", "2048x2048x2048"};
  std::string dtype = "fp32";
  std::string block_scales = "none";
  std::optional<std::string> out;
  int64_t random = 0;  // shapes
  uint64_t seed = 1;
  bool explain = false;
  int64_t sms = 132;  // H100 and H200
  Format format = Format::text;
  std::optional<std::filesystem::path> output;
};

Result<Shape> parse_shape(const std::string& text) {
  int64_t sizes[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != 'x')) at = nullptr;
    const auto [stop, error] =
        at == nullptr ? std::from_chars_result{end, std::errc::invalid_argument} : std::from_chars(at, end, sizes[i]);
    if (error != std::errc() || (i == 2 && stop != end))
      return make_error(ErrorCode::usage, "--shape {}: write it as MxNxK, for example 1024x1024x512", text);
    if (sizes[i] < 1)
      return make_error(ErrorCode::usage, "--shape {}: every size must be at least 1, got {}", text, sizes[i]);
    at = stop;
  }
  return Shape{.m = sizes[0], .n = sizes[1], .k = sizes[2]};
}

// CLI11 converts a number that is too large to the nearest valid one, and a negative number to another one.
std::string seed_problem(const std::string& given) {
  uint64_t seed = 0;
  const char* const end = given.data() + given.size();
  const auto [stop, error] = std::from_chars(given.data(), end, seed);
  if (error == std::errc() && stop == end) return {};
  return fmt::format("{}: give a whole number, from 0 to {}", given, std::numeric_limits<uint64_t>::max());
}

Result<DType> parse_dtype(const std::string& text) {
  for (const auto& [type, name] : kDTypeNames) {
    if (name == text) return type;
  }
  return make_error(ErrorCode::usage, "unknown type {}", text);
}

std::vector<std::string> block_scale_names() {
  std::vector<std::string> names;
  for (const auto& [blocks, name] : kBlockScaleNames) names.emplace_back(name);
  return names;
}

// One of block_scale_names().
BlockScale parse_block_scales(const std::string& text) {
  for (const auto& [blocks, name] : kBlockScaleNames) {
    if (name == text) return blocks;
  }
  return BlockScale::none;
}

Result<BenchRequest> make_request(const BenchArguments& options) {
  BenchRequest bench = options.bench.bench;
  if (bench.target) PBPROBE_CHECK(require_target(*bench.target));
  PBPROBE_TRY(bench.dtype, parse_dtype(options.dtype));
  if (options.out) {
    PBPROBE_TRY(bench.out, parse_dtype(*options.out));
  }
  bench.blocks = parse_block_scales(options.block_scales);
  bench.drawn = options.random > 0;
  bench.shapes = random_shapes(options.random, options.seed);
  for (Shape& shape : bench.shapes) shape.k += shape.k % numbers_in(bench.dtype);
  for (const auto& text : options.random > 0 ? std::vector<std::string>() : options.shapes) {
    PBPROBE_TRY(const Shape shape, parse_shape(text));
    bench.shapes.push_back(shape);
  }
  return bench;
}

Result<PlanList> explain(const BenchArguments& options) {
  PBPROBE_TRY(const BenchRequest bench, make_request(options));
  PBPROBE_TRY(const Host host, detect_host(system_sources()));
  return explain_bench(bench, host, options.sms);
}

Result<int> run_explain(const BenchArguments& options) {
  PBPROBE_TRY(const PlanList list, explain(options));
  if (options.format == Format::html)
    return make_error(ErrorCode::usage, "--explain runs nothing that a page could show: choose text or json");
  PBPROBE_CHECK(write_output(
      options.format == Format::json ? json_text(to_json(list)) : render_plans(list, text_options()), options.output));
  const auto& all = list.gemms;
  const bool none = std::ranges::all_of(all, [](const auto& gemm) { return gemm.kernels.empty(); });
  return none ? kCouldNotRun : kPassed;
}

Result<Measurements> measure(BenchArguments options) {
  PBPROBE_TRY(options.bench.bench, make_request(options));
  options.bench.progress = show_progress;  // the budget is a limit, and no guess
  return run_bench(options.bench);
}

std::string rendered(const Measurements& measurements, const BenchArguments& options) {
  if (options.format == Format::json) return json_text(to_json(measurements));
  if (options.format == Format::html) return render_html(measurements);
  return render_bench(measurements, options.output ? TextOptions{} : text_options());
}

Result<int> run(const BenchArguments& options) {
  if (options.output) PBPROBE_CHECK(check_output_file(*options.output));
  if (options.explain) return run_explain(options);
  PBPROBE_TRY(const Measurements measurements, measure(options));
  clear_progress();
  PBPROBE_CHECK(write_output(rendered(measurements, options), options.output));
  for (const auto& fault : measurements.kernel_faults.value_or(std::vector<KernelFault>()))
    if (fault.owner == FaultOwner::machine) return kFailed;
  if (!measurements.problems.empty()) return kFailed;   // a wrong result, or a peer that died: each is named
  if (measurements.kernel_faults) return kCouldNotRun;  // a defect of pbprobe, or undecided
  if (const auto& run_of = measurements.libtorch; run_of && run_of->problem)  // libtorch died: its rows are missing
    return run_of->obstacle ? kCouldNotRun : kFailed;
  // A time limit keeps the results measured before it.
  for (const auto& one : measurements.not_run.value_or(std::vector<NotRun>()))
    if (one.why != Obstacle::time_limit) return kCouldNotRun;
  return measurements.rows.empty() && measurements.probes.empty() ? kCouldNotRun : kPassed;
}

// Adds the options that select the problem: kernels, types, layout and shapes.
void add_problem(CLI::App& command, BenchArguments& options) {
  BenchRequest& bench = options.bench.bench;
  command.add_option("--target", bench.target, "Only this target's kernels (pbprobe targets lists them)");
  command.add_option("--dtype", options.dtype, "Type of A and B")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16", "int8", "e4m3", "e5m2", "e2m1x2"}))
      ->capture_default_str();
  command
      .add_option(
          "--block-scales", options.block_scales,
          "Scales shared by neighbours along k: mx, a power of two for each 32 (e4m3, e5m2, e2m1x2); nvfp4, an e4m3 "
          "for each 16 (e2m1x2); 1x128_128x128, 128x128_1x128 and 1x128_1x128, an fp32 for each such block, "
          "rows of A by k, then columns of B by k (e4m3, e5m2)")
      ->check(CLI::IsMember(block_scale_names()))
      ->capture_default_str();
  command
      .add_option("--layout", bench.layout,
                  "nt: A[m,k] B[n,k]; nn: A[m,k] B[k,n]; tn: A[k,m] B[k,n]; tt: A[k,m] B[n,k]")
      ->check(CLI::IsMember({"nt", "nn", "tn", "tt"}))
      ->capture_default_str();
  command.add_option("--out", options.out, "Type of C")->check(CLI::IsMember({"fp32", "fp16", "bf16", "int32"}));
  auto* const shape = command.add_option("--shape", options.shapes, "MxNxK; may be given often")->capture_default_str();
  auto* const random =
      command.add_option("--random", options.random, "Number of random shapes: m, n, k from 1 to 16384, log-uniform")
          ->check(CLI::Range(1, 100000))
          ->excludes(shape);
  command.add_option("--seed", options.seed, "Of --random")
      ->check(CLI::Validator(seed_problem, "SEED"))
      ->needs(random)
      ->capture_default_str();
  command.add_flag("--chosen", bench.chosen, "Only the kernel that dispatch chooses for each shape");
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("bench",
                                     "Verify and time pbprobe's kernels\n"
                                     "Examples:\n"
                                     "  pbprobe bench --target avx512 --shape 1024x1024x1024 --threads 1\n"
                                     "  pbprobe bench --dtype fp32 --layout nt --against libtorch --format json\n"
                                     "  pbprobe bench --probes --format html --output bench.html\n"
                                     "  pbprobe bench --target sm90 --dtype bf16 --shape 512x512x512 --explain\n"
                                     "  pbprobe bench --target sm121 --dtype e2m1x2 --block-scales nvfp4 --shape "
                                     "4096x4096x4096\n"
                                     "  pbprobe bench --target sm90 --dtype bf16 --random 300 --seed 7 --chosen "
                                     "--against cublaslt --budget 300");
  static BenchArguments options;
  BenchRequest& bench = options.bench.bench;
  add_problem(*command, options);
  command->add_option("--threads", bench.threads, "Threads of CPU kernels; 0 for all that this process may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_flag("--prepacked", bench.prepacked,
                    "Pack B once, outside the timed part, as weights are; CPU kernels only; peers read unpacked B");
  command->add_flag(
      "--scaled", bench.scaled,
      "Scale C by a factor for each row and one for each column, as INT8 layers do; INT8 then gives BF16");
  auto* const probes = command->add_flag("--probes", options.bench.probes,
                                         "First measure the rates of each GPU's memories, launches and instructions, "
                                         "and compare the rows with them (a roofline)");
  auto* const explain = command->add_flag(
      "--explain", options.explain,
      "Run nothing: show the kernels that compute each shape, how they would split the work, and which one is chosen; "
      "with --target also for a device that this machine lacks and kernels that are not built");
  command->add_option("--sms", options.sms, "Number of SMs of the GPU that --explain supposes")
      ->needs(explain)
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  auto* const against =
      command->add_option("--against", bench.against,
                          "Peer to measure in the same run, interleaved: libtorch, cublaslt (its first heuristic, as "
                          "in torch), cublaslt_best (best of 32), bf16 (pbprobe's BF16 GEMM)");
  explain->excludes(probes)->excludes(against);  // options for measured runs only
  command
      ->add_option("--sustained", bench.sustained_seconds,
                   "Seconds per sample, to measure a warm chip; needs a larger --budget")
      ->check(number_between(0, 60));
  command->add_option("--libtorch", options.bench.artifact,
                      "Torch or libtorch to measure against; by default the torch of the active environment");
  command->add_option("--budget", options.bench.budget_seconds, "Seconds that all shapes together may take")
      ->check(number_between(1, kMaxSeconds))
      ->capture_default_str();
  add_format_and_output(*command, options.format, options.output);
  set_run(*command, exit_code, [] { return run(options); });
}

}  // namespace pbprobe::cli
