// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/operators/run_operators.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "core/facts/json.hpp"
#include "core/json.hpp"
#include "core/program.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Files of the worker, written to its scratch folder.
struct WorkerFile {
  const char* name;
  const char* text;
};

constexpr WorkerFile kWorkerFiles[] = {
#include "operators.inc"
};
// torch and its database of operators take up to a minute to import from a slow disk.
constexpr double kStartSeconds = 120;
// The first function of the CPU also tests each vector extension with the compiler, and compiles the headers of the
// back end: 114 s on two busy cores.
constexpr double kCompileSeconds = 300;
// Limits for one operator and type. NVRTC compiles some operators of a GPU: 23 s with libraries from a slow disk.
constexpr double kGpuSeconds = 60;
constexpr double kCpuSeconds = 20;
constexpr int kMaxStarts = 20;

// Report of one process.
struct Reported {
  std::vector<OperatorResult> results;
  std::optional<OperatorResult> last;  // started, and without a result
  int64_t asked = 0;                   // operators that were started
  bool began = false;                  // the database was read
  bool ended = false;
  bool is_late = false;  // the worker ended itself, because an operator exceeded its time limit
  std::string end;       // last line of `pbprobe load`: "ended by signal 11"
};

void read_result(const Json& line, OperatorRun& run, Reported& reported) {
  const auto result = from_json<OperatorResult>(line);
  if (!result) return;
  run.calls += line.value("calls", int64_t{0});
  if (line.contains("us")) run.times_us[result->name] += line["us"].get<double>();
  const Json refused = line.value("refused", Json::object());
  for (const auto& [way, why] : refused.items())
    run.refused.push_back(fmt::format("{} in {}, {}: {}", result->name, result->type, way, why.get<std::string>()));
  const bool repeats = line.value("deterministic", true);
  auto& other = run.not_repeated;
  if (!repeats && std::ranges::find(other, result->name) == other.end()) other.push_back(result->name);
  reported.results.push_back(*result);
  reported.last.reset();
}

void read_line(const std::string& text, OperatorRun& run, Reported& reported) {
  if (text.starts_with("ended ") || text.starts_with("not confined ")) reported.end = text;
  const auto parsed = text.starts_with("{") ? parse_json(text) : Result<Json>(Json());
  if (!parsed || !parsed->is_object()) return;
  const Json& line = *parsed;
  if (line.contains("operators")) {
    run.operators = line["operators"];
    run.torch = line["torch"];
    run.packages = line["packages"].get<std::vector<std::string>>();
    reported.began = true;
  }
  if (line.contains("start")) {
    OperatorResult started{.name = line["start"][0], .type = line["start"][1]};
    reported.asked = line["number"].get<int64_t>() + 1;
    reported.last = std::move(started);
  }
  if (line.contains("lost") && reported.last) reported.last->reason = line["lost"].get<std::string>();
  if (line.contains("result")) read_result(line["result"], run, reported);
  if (line.contains("omitted")) run.omitted = line["omitted"].get<std::vector<std::string>>();
  if (line.contains("problem")) {
    run.problem = line["problem"];
    run.obstacle = Obstacle::missing;
  }
  if (line.contains("end")) reported.ended = true;
}

// Returns the cause if a file of the worker cannot be written, such as a full disk.
std::optional<std::string> write_worker(const fs::path& folder) {
  for (const auto& file : kWorkerFiles) {
    const fs::path path = folder / file.name;
    std::ofstream out(path);
    out << file.text;
    out.close();
    if (!out) return fmt::format("{} could not be written: {}", path.string(), std::strerror(errno));
  }
  return std::nullopt;
}

Json make_arguments(const OperatorRequest& request, double seconds, int64_t skip) {
  Json arguments{{"device", request.device}, {"seconds", seconds}, {"seed", request.seed}, {"skip", skip}};
  if (!request.only.empty()) arguments["only"] = request.only;
  arguments["operator_seconds"] = request.compile            ? kCompileSeconds
                                  : request.device == "cuda" ? kGpuSeconds
                                                             : kCpuSeconds;
  if (request.compile) arguments["compile"] = true;
  if (request.memory_bytes) arguments["memory_bytes"] = *request.memory_bytes;
  if (!request.plant.empty()) arguments["plant"] = request.plant.string();
  return arguments;
}

Reported run_worker(const OperatorRequest& request, double seconds, int64_t skip, OperatorRun& run) {
  Reported reported;
  const double limit = seconds + kStartSeconds;
  std::vector<std::string> words{request.program.string(), "load", "--seconds", fmt::format("{:.0f}", limit),
                                 "--writable=" + request.scratch.string()};
  const std::string worker = (request.scratch / "worker.py").string();
  for (const std::string& word : {request.python.string(), worker, make_arguments(request, seconds, skip).dump()})
    words.push_back("--start=" + word);
  const auto ran = run_program({.arguments = words, .environment = request.environment, .seconds = limit + 10});
  if (!ran) {
    run.problem = ran.error().message;
    run.obstacle = Obstacle::unexplained;
    return reported;
  }
  std::istringstream lines(ran->out);
  for (std::string line; std::getline(lines, line);) read_line(line, run, reported);
  reported.is_late = ran->err.find("Timeout (") != ran->err.npos;  // the first word of Python's faulthandler
  if (!reported.began && !run.problem) {
    const size_t start = ran->err.find_last_of('\n', ran->err.size() < 2 ? ran->err.npos : ran->err.size() - 2);
    run.problem = fmt::format("torch's database of operators could not be read: {}{}", reported.end,
                              ran->err.empty() ? "" : "; " + ran->err.substr(start == ran->err.npos ? 0 : start + 1));
    run.obstacle = Obstacle::missing;
  }
  return reported;
}

// Names the end of the process for the operator that was running.
void blame(OperatorResult& last, const Reported& reported) {
  const bool is_late = reported.is_late || reported.end == "ended at the limit";
  last.state = is_late ? OperatorState::not_run : OperatorState::crashed;
  if (!last.reason) last.reason = is_late ? "it exceeded its time limit" : "the process " + reported.end;
}

OperatorState worst(OperatorState one, OperatorState other) {
  constexpr std::array kOrder{OperatorState::not_run, OperatorState::random, OperatorState::right, OperatorState::wrong,
                              OperatorState::crashed};
  const auto rank = [&](OperatorState state) { return std::ranges::find(kOrder, state) - kOrder.begin(); };
  return rank(one) < rank(other) ? other : one;
}

void count(const std::vector<OperatorResult>& results, OperatorRun& run) {
  std::map<std::string, OperatorState> states;
  for (const auto& result : results) {
    const auto [at, is_new] = states.emplace(result.name, result.state);
    if (!is_new) at->second = worst(at->second, result.state);
    const bool is_shown = result.state != OperatorState::right && result.state != OperatorState::random;
    if (is_shown) run.results.push_back(result);
  }
  for (const auto& [name, state] : states) {
    if (state == OperatorState::random) run.random.push_back(name);
    run.right += state == OperatorState::right || state == OperatorState::random ? 1 : 0;
    run.wrong += state == OperatorState::wrong ? 1 : 0;
    run.crashed += state == OperatorState::crashed ? 1 : 0;
    run.not_run += state == OperatorState::not_run ? 1 : 0;
  }
  run.not_run += static_cast<int64_t>(run.omitted.size());
}

}  // namespace

OperatorRun run_operators(const OperatorRequest& request) {
  OperatorRun run{.device = request.device, .compiled = request.compile, .seed = request.seed, .only = request.only};
  const auto start = Clock::now();
  if (auto why = write_worker(request.scratch)) {
    run.problem = std::move(why);
    run.obstacle = Obstacle::not_permitted;
    return run;
  }
  std::vector<OperatorResult> results;
  double left = request.seconds;
  int64_t skip = 0;
  for (int starts = 0;; ++starts) {
    if (request.progress)
      request.progress(fmt::format("{} torch's operators on {} (up to {:.0f} s)",
                                   request.compile ? "compiling" : "computing", request.device, left));
    const auto before = Clock::now();
    Reported reported = run_worker(request, left, skip, run);
    left -= std::chrono::duration<double>(Clock::now() - before).count();
    results.insert(results.end(), reported.results.begin(), reported.results.end());
    if (reported.last) {
      blame(*reported.last, reported);
      results.push_back(*reported.last);
    }
    if (reported.ended || run.problem) break;
    if (!reported.last || left <= 0 || starts >= kMaxStarts) {
      run.problem = fmt::format("{} of {} operators were tested: the process {}", reported.asked, run.operators,
                                reported.end.empty() ? "ended without a message" : reported.end);
      run.obstacle = left <= 0 ? Obstacle::time_limit : Obstacle::unexplained;
      break;
    }
    skip = reported.asked;
  }
  count(results, run);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return run;
}

}  // namespace pbprobe
