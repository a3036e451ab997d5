// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include <gnu/libc-version.h>

#include <fmt/ranges.h>

#include "core/facts/host.hpp"
#include "core/facts/json.hpp"
#include "core/host/host.hpp"
#include "core/open_file.hpp"
#include "core/version.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/environments.hpp"
#include "probes/audit/packages/preflight.hpp"
#include "probes/judge/judge.hpp"
#include "probes/pipeline/environment.hpp"
#include "probes/pipeline/foreign.hpp"
#include "probes/pipeline/gpu_monitor.hpp"
#include "probes/pipeline/headers.hpp"
#include "probes/pipeline/imports.hpp"
#include "probes/pipeline/presets.hpp"
#include "probes/pipeline/python.hpp"
#include "probes/process/spawn.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// Returns the environment in `roots` that takes `torch` from its base Python or by a .pth file, or `torch`.
fs::path find_environment_above(const fs::path& torch, const std::vector<fs::path>& roots) {
  for (const auto& root : roots) {
    const auto seen = find_torch({root});
    const bool outside = fs::absolute(torch).lexically_relative(fs::absolute(root)).string().starts_with("..");
    if (seen && *seen == torch && outside) return root;
  }
  return torch;
}

// Folder with the packages of the audited environment.
std::optional<fs::path> packages_to_judge(const Inventory& inventory) {
  const auto above = find_packages_above_torch(inventory);
  return above ? above : find_packages_folder(inventory);
}

// Everything after the first whitespace must be an object: artifacts are ELF, ZIP or folders.
bool looks_like_json(const fs::path& file) {
  constexpr uint64_t kEnough = 4096;
  const auto start = read_start_of_file(file, kEnough);
  const size_t first = start ? start->find_first_not_of(" \t\r\n") : std::string::npos;
  return first != std::string::npos && (*start)[first] == '{';
}

Result<Report> parse_document(const fs::path& file, const std::string& text) {
  PBPROBE_TRY(const Json json, parse_json(text), "{}", file.string());
  const auto schema = json.find("schema");
  const std::string name = schema != json.end() && schema->is_string() ? schema->get<std::string>() : "none";
  if (name == "pbprobe.report/1") {
    PBPROBE_TRY(Report report, from_json<Report>(json), "{}", file.string());
    return report;
  }
  if (name == "pbprobe.inventory/1") {
    Report report = new_report();
    PBPROBE_TRY(report.inventory, from_json<Inventory>(json), "{}", file.string());
    return report;
  }
  return make_error(ErrorCode::usage,
                    "{}: its schema is {}: give an artifact, or JSON that pbprobe wrote (pbprobe.report/1 or "
                    "pbprobe.inventory/1)",
                    file.string(), name);
}

// Minimum time limits of steps, even if the audit left less time: a shorter limit would prove nothing about the build.
constexpr double kMinMeasureSeconds = 2;
constexpr double kMinLoadSeconds = 10;

// Messages name these seconds.
double floor_to_tenths(double seconds) {
  return std::floor(10 * seconds) / 10;
}
constexpr double kMinCompilerSeconds = 60;
constexpr double kMaxImportSeconds = 60;
constexpr double kImportShare = 0.3;  // share of the budget, reserved for imports regardless of the measuring time

class Pipeline {
 public:
  explicit Pipeline(const ReportOptions& options) : options_(options), result_{.report = new_report()} {
    const double fallback = options.emulation ? 120 : options.depth == Depth::quick ? 10 : 300;
    budget_ = std::chrono::duration<double>(options.budget_seconds > 0 ? options.budget_seconds : fallback);
  }

  ReportResult run() {
    detect();
    if (!use_document()) {
      audit_artifact();
      look_at_packages();
      forget_digests();
      look_at_compilers();
      measure();
      import_torch();
      ask_compilers();
      if (options_.operators && !emulator_ && !options_.host) compare_operators(result_.report, *options_.operators);
      result_.report.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    }
    if (options_.host) use_recorded_host();
    if (options_.claim) result_.report.claim = options_.claim;
    if (options_.judged) {
      begin("judging");
      result_.report.verdict = judge(result_.report);
    }
    return std::move(result_);
  }

 private:
  void begin(std::string_view step) const {
    if (options_.progress) options_.progress(step);
  }
  void problem(const Error& error) { result_.report.problems.push_back(error.message); }
  void stop(const Error& error) {
    problem(error);
    result_.could_run = false;
  }
  double seconds_left() const { return std::chrono::duration<double>(budget_ - (Clock::now() - start_)).count(); }

  bool wants_imports() const {
    const bool asked = options_.depth != Depth::quick && !options_.host && !options_.emulation && !options_.claim;
    return asked && result_.report.inventory && find_packages_folder(*result_.report.inventory) && other_root().empty();
  }
  double seconds_for_imports() const { return wants_imports() ? kImportShare * budget_.count() : 0; }
  double seconds_before_imports() const { return seconds_left() - seconds_for_imports(); }

  // Without --budget, measuring gets at least kMinMeasureSeconds, even after a slow audit.
  double seconds_to_measure() const {
    const double seconds = floor_to_tenths(0.6 * seconds_before_imports());
    return options_.budget_seconds > 0 ? seconds : std::max(seconds, kMinMeasureSeconds);
  }

  void detect() {
    if (options_.emulation) return emulate();
    if (options_.host) {
      result_.report.host = options_.host;
      return;
    }
    begin("inspecting this machine");
    auto host = detect_host(system_sources());
    if (host) {
      result_.report.host = std::move(*host);
      allow_for_gpu();
    } else {
      problem(host.error());
    }
  }

  // Drops all run results: --host names another machine.
  void use_recorded_host() {
    Report& report = result_.report;
    report.host = options_.host;
    report.measurements.reset();
    report.baseline.reset();
    report.emulated_loads.reset();
    report.preflight.reset();
    report.imports.reset();
    report.operators.reset();
    report.joined.reset();
    report.problems.push_back(std::string(kRecordedMachine) + ": nothing was loaded, run or measured");
  }

  // Loading CUDA, cuDNN and cuSOLVER takes time.
  void allow_for_gpu() {
    const auto& gpus = result_.report.host->gpus;
    const bool any = std::ranges::any_of(gpus, [](const Gpu& gpu) { return !gpu.problem; });
    if (any && options_.depth == Depth::quick && options_.budget_seconds <= 0) budget_ = std::chrono::seconds(20);
  }

  // Without the emulated CPU nothing is measured: results of this machine's CPU would not answer the question.
  void emulate() {
    begin("starting " + options_.emulation->cpu);
    auto emulator = find_emulator(*options_.emulation, resolve_program(options_.program));
    if (!emulator) return stop(emulator.error());
    result_.report.host = emulator->host;
    emulator_ = std::move(*emulator);
  }

  void note_emulation(Measurements& measurements) const {
    // QEMU warns of each feature of the CPU that it lacks.
    std::erase_if(measurements.notes, [](const std::string& note) { return note.find(": warning: TCG") != note.npos; });
    measurements.notes.push_back(emulator_->sentence +
                                 ": speeds were not measured, because they are meaningless there");
  }

  // Judges a report again from its own facts, which belong to the machine that wrote it.
  bool use_document() {
    if (!options_.artifact) return false;
    auto document = load_report(*options_.artifact);
    if (!document) {
      stop(document.error());
      return true;
    }
    if (!*document) return false;
    const auto host = result_.report.host;
    result_.report = std::move(**document);
    result_.report.input = InputKind::facts;
    if (!result_.report.host) result_.report.host = host;
    return true;
  }

  void audit_artifact() {
    fs::path artifact;
    if (options_.artifact) {
      artifact = *options_.artifact;
    } else {
      const auto roots = options_.roots.empty() ? torch_search_roots(system_env()) : options_.roots;
      const auto found = find_default_artifact(roots);
      if (!found) return stop(found.error());
      artifact = find_environment_above(*found, roots);
    }
    begin("reading " + artifact.string());
    AuditOptions options = options_.audit;
    // Reading CUDA's libraries too takes 10 s on two cores: only with a claim, or for report --full.
    if (options_.judged && !options_.claim && options_.depth == Depth::quick) options.open_libraries = false;
    // RECORD checks need digests; computing them now avoids reading torch twice.
    const bool digests = options.digests;
    const bool among_packages = packages_folder(artifact) || packages_folder(artifact.parent_path());
    options.digests = digests || (looks_at_packages() && among_packages);
    auto inventory = audit(artifact, options);
    if (!inventory) return stop(inventory.error());
    shares_digests_ = options.digests && !digests;
    result_.report.inventory = std::move(*inventory);
    result_.report.input = InputKind::artifact;
  }

  bool looks_at_packages() const { return options_.judged && !options_.claim && !options_.emulation; }

  // Counting all code of all packages takes minutes: only for a CPU for which many packages are not built.
  bool lacks_avx() const {
    if (!result_.report.host || result_.report.host->cpu.architecture != "x86_64") return false;
    const auto& features = result_.report.host->cpu.features;
    return std::ranges::find(features, "avx") == features.end();
  }

  // Most failing packages are extensions, not torch. The first reading has its own time; later ones use the cache.
  void look_at_packages() {
    const auto& inventory = result_.report.inventory;
    if (!inventory || !looks_at_packages()) return;
    const auto packages = packages_to_judge(*inventory);
    if (!packages) return;
    const auto start = Clock::now();
    auto environment = make_environment({.artifacts = {*packages},
                                         .gpus = {},
                                         .library_path = system_env()("LD_LIBRARY_PATH").value_or(""),
                                         .cache = options_.audit.cache,
                                         .known = shares_digests_ ? &inventory->files : nullptr,
                                         .beside_torch = true,
                                         .minimum_cpus = lacks_avx(),
                                         .other_machine = options_.host.has_value(),
                                         .progress = options_.progress});
    if (!environment) return problem(environment.error());
    if (environment->distributions.size() > 1) {
      result_.report.environment = std::move(*environment);
      result_.report.inventory->loading.reset();  // the loader's own rules decided, with the interpreter's libraries
    }
    if (options_.budget_seconds <= 0) budget_ += Clock::now() - start;
  }

  void forget_digests() {
    if (!shares_digests_) return;
    for (auto& file : result_.report.inventory->files) file.sha256.reset();
  }

  // Skipped for a build with a claim: the compilers of this machine do not matter to it.
  void look_at_compilers() {
    const auto& inventory = result_.report.inventory;
    if (!inventory || options_.host || options_.emulation || options_.claim || !other_root().empty()) return;
    if (const auto packages = find_packages_folder(*inventory))
      result_.report.preflight = find_compile_tools(*packages, preflight_sources());
  }

  // Returns the root of the container that has these packages; empty for packages of this system.
  fs::path other_root() const {
    const auto packages = find_packages_folder(*result_.report.inventory);
    return packages ? root_above(*packages) : fs::path();
  }

  bool runs_kernels() const { return options_.kernels != KernelRuns::none && !emulator_; }

  std::vector<BenchRequest> list_benches(bool against_libtorch) const {
    if (!runs_kernels()) return {};
    auto benches = options_.depth == Depth::quick ? quick_benches(against_libtorch) : full_benches(against_libtorch);
    for (auto& bench : benches) bench.timed = options_.kernels == KernelRuns::timed;
    return benches;
  }

  void measure() {
    if (!result_.report.host || options_.host) return;
    // Measuring pbprobe's kernels would not answer a question about an unreadable artifact.
    if (options_.artifact && !result_.could_run) return;
    std::optional<std::string> libtorch;
    if (result_.report.inventory && other_root().empty()) libtorch = result_.report.inventory->libtorch_dir;
    if (const auto root = result_.report.inventory ? other_root() : fs::path(); !root.empty())
      result_.report.problems.push_back(fmt::format(
          "{} is the root of another system: its torch was not started; run pbprobe in that container", root.string()));
    MeasureRequest request{.host = *result_.report.host,
                           .libtorch_dir = libtorch,
                           .benches = list_benches(libtorch.has_value()),
                           .every_core = runs_kernels() && options_.depth != Depth::quick,
                           // No case begins after this time. The rest is for running cases on slow machines.
                           .budget_seconds = seconds_to_measure(),
                           .limit_seconds = std::max(floor_to_tenths(seconds_before_imports() - 0.5), kMinLoadSeconds)};
    if (request.budget_seconds < 0.5) {
      result_.report.problems.push_back("nothing was measured: the time budget was used up; increase --budget");
      return;
    }
    begin("measuring");
    const auto foreign = find_foreign();
    auto limits = make_child_limits(options_.program, foreign);
    if (emulator_) limits.program = emulator_->words;
    limits.progress = options_.progress;
    auto measurements = measure_with_gpu_monitor(request, limits);
    if (measurements) {
      if (emulator_) note_emulation(*measurements);
      record_foreign_loader(foreign, *measurements);
      result_.report.measurements = std::move(*measurements);
    } else {
      problem(measurements.error());
    }
  }

  // Imports take several seconds each, and more memory than libtorch: they run only if time is left.
  void import_torch() {
    if (!wants_imports()) return;
    const auto end = Clock::now() + std::chrono::duration<double>(std::max(seconds_left(), seconds_for_imports()));
    const auto left = [=] { return std::chrono::duration<double>(end - Clock::now()).count(); };
    auto imports = try_imports({.packages = *packages_to_judge(*result_.report.inventory),
                                .library_path = system_env()("LD_LIBRARY_PATH").value_or(""),
                                .program = options_.program,
                                .seconds = std::clamp(left() / 4, kMinLoadSeconds, kMaxImportSeconds),
                                .seconds_left = left,
                                .progress = options_.progress});
    if (!imports.empty()) result_.report.imports = std::move(imports);
  }

  // Runs tests that need a compiler or Python: only if time is left, and libtorch loads on this machine.
  void ask_compilers() {
    auto& measurements = result_.report.measurements;
    if (options_.depth == Depth::quick || emulator_ || !measurements || !measurements->libtorch) return;
    LibtorchRun& run = *measurements->libtorch;
    if (!run.loaded || run.loader) return;
    begin("building a program against its headers");
    run.areas.push_back(try_headers(run.path, std::max(seconds_left(), kMinCompilerSeconds)));
    if (options_.python.empty()) return;
    begin("asking Python");
    for (auto& area : ask_python(options_.python, std::max(seconds_left(), kMinCompilerSeconds)))
      run.areas.push_back(std::move(area));
  }

  // An emulated CPU has its own sysroot.
  std::optional<ForeignClosure> find_foreign() {
    if (emulator_ || !result_.report.inventory) return std::nullopt;
    auto found = find_foreign_closure(*result_.report.inventory, gnu_get_libc_version(), system_driver_places());
    if (found) return std::move(*found);
    problem(found.error());
    return std::nullopt;
  }

  const ReportOptions& options_;
  ReportResult result_;
  bool shares_digests_ = false;  // computed for the checks of packages, not for the report
  std::optional<Emulator> emulator_;
  const Clock::time_point start_ = Clock::now();
  std::chrono::duration<double> budget_{};
};

}  // namespace

Report new_report() {
  return Report{.version = std::string(version()), .commit = std::string(commit()), .created = utc_now()};
}

ReportResult make_report(const ReportOptions& options) {
  return Pipeline(options).run();
}

Result<Report> make_audit(const AuditRequest& request) {
  Report report = new_report();
  AuditOptions options = request.audit;
  if (options.host_code == HostCodeScope::none) options.host_code = HostCodeScope::all;
  if (options.device_code_only) options.host_code = HostCodeScope::none;
  PBPROBE_TRY(const auto document, load_report(request.artifact));
  report.input = document ? InputKind::facts : InputKind::artifact;
  PBPROBE_TRY(report.inventory, load_inventory(request.artifact, options));
  report.claim = request.claim;
  if (request.judged && !request.audit.device_code_only) report.verdict = judge(report);
  return report;
}

Result<std::optional<Report>> load_report(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || !looks_like_json(file)) return std::optional<Report>();
  auto text = read_whole_file(file);
  auto report = text ? parse_document(file, *text) : Result<Report>(text.error());
  if (report) return std::optional<Report>(std::move(*report));
  Error reported = report.error();
  if (reported.code == ErrorCode::malformed || reported.code == ErrorCode::limit)
    reported.message += ": write it again, with --format json";
  return reported;
}

Result<Host> load_host(const fs::path& file) {
  PBPROBE_TRY(const std::string text, read_whole_file(file), "--host");
  PBPROBE_TRY(const Json json, parse_json(text), "{}", file.string());
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (schema != json.end() && *schema == "pbprobe.host/1") {
    PBPROBE_TRY(Host host, from_json<Host>(json), "{}", file.string());
    return host;
  }
  if (schema != json.end() && *schema == "pbprobe.report/1") {
    PBPROBE_TRY(Report report, from_json<Report>(json), "{}", file.string());
    if (report.host) return std::move(*report.host);
  }
  return make_error(ErrorCode::usage, "{} has no host: give the output of `pbprobe host --format json`, or a report",
                    file.string());
}

Result<Inventory> load_inventory(const fs::path& artifact, const AuditOptions& options) {
  PBPROBE_TRY(auto document, load_report(artifact));
  if (!document) return audit(artifact, options);
  if (!document->inventory)
    return make_error(ErrorCode::not_found, "{}: this report has no inventory: audit its artifact again",
                      artifact.string());
  return std::move(*document->inventory);
}

Result<fs::path> find_default_artifact(const std::vector<fs::path>& roots) {
  auto found = find_torch(roots);
  if (found) return found;
  std::vector<std::string> names;
  for (const auto& root : roots) names.push_back(root.string());
  return make_error(ErrorCode::not_found,
                    "no torch was found in {}: activate an environment that has one, or name it: pbprobe report "
                    "SITE_PACKAGES",
                    names.empty() ? "any Python environment" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace pbprobe
