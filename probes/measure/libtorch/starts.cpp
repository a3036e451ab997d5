// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/starts.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/driver/driver_api.hpp"
#include "core/json.hpp"
#include "core/retry_on_eintr.hpp"
#include "core/temp_folder.hpp"
#include "probes/measure/child/words.hpp"
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/libtorch/areas.hpp"
#include "probes/measure/libtorch/array.hpp"
#include "probes/measure/libtorch/libtorch.hpp"
#include "probes/measure/libtorch/probe.hpp"
#include "probes/process/sandbox.hpp"
#include "probes/process/sentences.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Answer of a forked process, in shared memory: code that runs while a library is loaded could write to any descriptor.
struct Answer {
  std::atomic<uint32_t> length{0};
  std::array<char, (1 << 18) - 16> text{};
};

[[noreturn]] void run_in_fork(Answer& answer, const Environment& environment,
                              const std::function<std::string()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
  // The answer already contains a sentence for each failure that libtorch prints.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, 1);
  dup2(nowhere, 2);
  close_descriptors(3);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const std::string text = body();
  const size_t length = std::min(text.size(), answer.text.size());
  std::memcpy(answer.text.data(), text.data(), length);
  answer.length = static_cast<uint32_t>(length);
  _exit(0);  // not exit(): a foreign library's destructors
}

// Reports whether the child ended within `seconds`; kills it otherwise.
Result<bool> kill_after(pid_t child, double seconds, int& status) {
  const auto start = Clock::now();
  while (since(start) < seconds) {
    const pid_t ended = retry_on_eintr([&] { return waitpid(child, &status, WNOHANG); });
    if (ended == child || (ended < 0 && errno == ECHILD)) return true;
    if (ended < 0) {
      const int why = errno;
      kill(child, SIGKILL);
      return make_error(Obstacle::unexplained, ErrorCode::failed_child, "waiting for its process: {}",
                        std::strerror(why));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(child, SIGKILL);
  retry_on_eintr([&] { return waitpid(child, &status, 0); }, kMaxWaitInterruptions);
  return false;
}

uint64_t own_seed() {
  return static_cast<uint64_t>(Clock::now().time_since_epoch().count());
}

Result<void> check_gemms(const Libtorch& library, const GpuDevice* gpu) {
  for (const DType type : {DType::fp32, DType::bf16}) PBPROBE_CHECK(check_gemm(library, type, gpu, own_seed()));
  return {};
}

// Loads libtorch and computes on the GPU, or on the CPU if `gpu` is negative. Fills in `start` how long each step took.
Result<void> compute_first(LibtorchStart& start, const std::string& folder, int32_t gpu) {
  PBPROBE_TRY(auto library, Libtorch::load(folder));
  start.cpu_capability = library.cpu_capability();
  if (gpu < 0) return check_gemms(library, nullptr);
  const auto begin = Clock::now();
  PBPROBE_CHECK(library.load_cuda(gpu));
  start.first_tensor_seconds = since(begin);
  PBPROBE_TRY(const auto device, GpuDevice::open(gpu));
  PBPROBE_TRY(const auto guard, library.use_stream(device.stream(), gpu));
  const area::Place place{library, &device};
  PBPROBE_TRY(auto in, area::Array::make(place, Element::fp32, {3}, {1, 2, 3}));
  PBPROBE_TRY(auto out, area::Array::make(place, Element::fp32, {3}));
  const auto first = Clock::now();
  PBPROBE_CHECK(area::call(place, "aten::neg", "out", {&in.tensor(), &out.tensor()}));
  const auto seen = out.read();
  start.first_kernel_seconds = since(first);
  if (!seen.ok()) return seen.error();
  PBPROBE_CHECK(area::compare("the first kernel's result", *seen, {-1, -2, -3}, 0, 0));
  return check_gemms(library, &device);
}

LibtorchStart start_here(LibtorchStart start, const std::string& folder, int32_t gpu) {
  const StderrCapture words;
  if (const auto computed = compute_first(start, folder, gpu); !computed.ok()) {
    const Error reported = words.explained(computed.error());
    start.problem = reported.message;
    start.obstacle = reported.obstacle;
  }
  return start;
}

LibtorchStart try_start(std::string how, const Environment& environment, const std::string& folder, int32_t gpu,
                        double seconds) {
  LibtorchStart start{.how = std::move(how), .device = gpu < 0 ? "cpu" : fmt::format("cuda:{}", gpu)};
  const auto reported = fork_and_run(environment, seconds, [&] {
    return to_json(start_here(start, folder, gpu)).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
  if (!reported.ok()) {
    start.problem = reported.error().message;
    start.obstacle = reported.error().obstacle;
    return start;
  }
  const auto json = parse_json(*reported);
  auto read = json.ok() ? from_json<LibtorchStart>(*json) : Result<LibtorchStart>(json.error());
  if (!read.ok()) start.problem = "the test process wrote no readable answer";
  return read.ok() ? std::move(*read) : start;
}

std::vector<std::string> tiers_here() {
#if defined(__x86_64__)
  return {"default", "avx2", "avx512"};
#else
  return {"default", "sve256"};
#endif
}

Result<void> break_the_context(const std::string& folder, int32_t gpu) {
  PBPROBE_TRY(auto library, Libtorch::load(folder));
  PBPROBE_CHECK(library.load_cuda(gpu));
  PBPROBE_TRY(const auto device, GpuDevice::open(gpu));
  PBPROBE_TRY(const auto guard, library.use_stream(device.stream(), gpu));
  const area::Place place{library, &device};
  PBPROBE_TRY(auto values, area::Array::make(place, Element::fp32, {4}, {1, 2, 3, 4}));
  PBPROBE_TRY(auto index, area::Array::make(place, Element::int64, {1}, {1e6}));
  PBPROBE_TRY(auto out, area::Array::make(place, Element::fp32, {1}));
  const auto queued =
      area::call(place, "aten::index_select", "out", {&values.tensor(), int64_t{0}, &index.tensor(), &out.tensor()});
  const auto ended = device.synchronize();
  if (ended.ok() && queued.ok())
    return make_error(ErrorCode::malformed, "libtorch reported no error for an index outside the array");
  // Whatever is asked of libtorch afterwards must fail too, and not compute on.
  if (library.first_tensor(gpu).ok() &&
      area::call(place, "aten::neg", "out", {&values.tensor(), &values.tensor()}).ok() && device.synchronize().ok())
    return make_error(ErrorCode::malformed,
                      "libtorch continues without an error after an assertion failed in a GPU kernel");
  return {};
}

}  // namespace

Result<std::string> fork_and_run(const Environment& environment, double seconds,
                                 const std::function<std::string()>& body) {
  void* const memory = mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return make_error(Obstacle::out_of_memory, ErrorCode::failed_child, "making memory for an answer: {}",
                      std::strerror(errno));
  const std::unique_ptr<Answer, void (*)(Answer*)> answer(new (memory) Answer(),
                                                          [](Answer* one) { munmap(one, sizeof *one); });
  const pid_t child = fork();
  if (child == 0) run_in_fork(*answer, environment, body);
  if (child < 0) return make_error(ErrorCode::failed_child, "starting a process: {}", std::strerror(errno));
  int status = 0;
  PBPROBE_TRY(const bool in_time, kill_after(child, seconds, status));
  if (!in_time)
    return make_error(Obstacle::time_limit, ErrorCode::limit, "the test process did not end within {:.0f} s", seconds);
  if (WIFSIGNALED(status)) {
    Error error = make_error(ErrorCode::failed_child, "its process ended by {}", signal_name(WTERMSIG(status)));
    if (WTERMSIG(status) == SIGKILL) error.obstacle = Obstacle::killed;
    return error;
  }
  if (WEXITSTATUS(status) != 0)
    return make_error(ErrorCode::failed_child, "the test process ended with exit code {}", WEXITSTATUS(status));
  return std::string(answer->text.data(), std::min<size_t>(answer->length, answer->text.size()));
}

void try_starts(const std::string& folder, const Host& host, double seconds_each,
                const std::function<void(LibtorchStart)>& tell) {
  for (const auto& tier : tiers_here())
    tell(try_start("ATEN_CPU_CAPABILITY=" + tier, {{"ATEN_CPU_CAPABILITY", tier}}, folder, -1, seconds_each));
  const int32_t gpu = first_usable_gpu(host);
  std::error_code error;
  if (gpu < 0 || !fs::exists(folder + "/libtorch_cuda.so", error)) return;
  if (const auto cache = TempFolder::make(); cache.ok()) {
    const Environment cached{{"CUDA_CACHE_PATH", cache->path().string()}};
    tell(try_start("empty driver cache", cached, folder, gpu, seconds_each));
    tell(try_start("filled driver cache", cached, folder, gpu, seconds_each));
  }
  for (const std::string_view how : {kWithoutPtx, kForcedPtx}) {
    const std::string name(how.substr(0, how.find('=')));
    tell(try_start(std::string(how), {{name, "1"}}, folder, gpu, seconds_each));
  }
}

LibtorchArea try_device_assertion(const std::string& folder, int32_t gpu, double seconds) {
  LibtorchArea area{"device assertion", fmt::format("cuda:{}", gpu), {}, {}, {}};
  const auto reported = fork_and_run({}, seconds, [&] {
    const StderrCapture words;
    LibtorchArea here = area;
    if (auto broken = break_the_context(folder, gpu); !broken.ok())
      record_area_error(here, words.explained(broken.error()));
    return to_json(here).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
  const auto json = reported.ok() ? parse_json(*reported) : Result<Json>(reported.error());
  auto read = json.ok() ? from_json<LibtorchArea>(*json) : Result<LibtorchArea>(json.error());
  if (read.ok()) return std::move(*read);
  area.problem = fmt::format("an assertion of a kernel: {}", read.error().message);
  area.obstacle = read.error().obstacle;
  return area;
}

}  // namespace pbprobe
