// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch_starts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/host/driver_api.hpp"
#include "core/json.hpp"
#include "core/temp_folder.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"
#include "probes/measure/libtorch_array.hpp"
#include "probes/measure/libtorch_probe.hpp"
#include "probes/measure/sentences.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void run_in_fork(int answer, const Environment& environment, const std::function<std::string()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, SIG_DFL);
  // What libtorch prints here has its sentence already.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, 1);
  dup2(nowhere, 2);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const std::string text = body();
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = write(answer, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  _exit(0);  // not exit(): a foreign library's destructors
}

// Up to the end of the pipe or of the time; false: the time.
bool read_all(int descriptor, double seconds, std::string& text) {
  const auto start = Clock::now();
  std::array<char, 4096> buffer;
  while (true) {
    const double left = seconds - since(start);
    pollfd ready{descriptor, POLLIN, 0};
    if (left <= 0) return false;
    if (poll(&ready, 1, static_cast<int>(left * 1e3) + 1) <= 0) continue;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) return true;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

// Loads, computes on the CPU, and on the GPU where there is one.
LibtorchStart start_here(LibtorchStart start, const std::string& folder, int32_t gpu) {
  const auto tell = [&](const Error& error) {
    start.problem = error.message;
    return start;
  };
  auto library = Libtorch::load(folder);
  if (!library.ok()) return tell(library.error());
  start.cpu_capability = library->cpu_capability();
  if (gpu < 0) {
    for (const DType type : {DType::fp32, DType::bf16})
      if (auto right = check_product(*library, type, nullptr); !right.ok()) return tell(right.error());
    return start;
  }
  const auto begin = Clock::now();
  if (auto loaded = library->load_cuda(gpu); !loaded.ok()) return tell(loaded.error());
  start.first_tensor_seconds = since(begin);
  const auto device = GpuDevice::open(gpu);
  if (!device.ok()) return tell(device.error());
  const auto guard = library->use_stream(device->stream(), gpu);
  if (!guard.ok()) return tell(guard.error());
  const area::Place place{*library, &*device};
  auto in = area::Array::make(place, Element::fp32, {3}, {1, 2, 3});
  auto out = area::Array::make(place, Element::fp32, {3});
  if (!in.ok() || !out.ok()) return tell(in.ok() ? out.error() : in.error());
  const auto first = Clock::now();
  auto done = area::call(place, "aten::neg", "out", {&in->tensor(), &out->tensor()});
  if (!done.ok()) return tell(done.error());
  const auto seen = out->read();
  start.first_kernel_seconds = since(first);
  if (!seen.ok()) return tell(seen.error());
  if (auto right = area::compare("the first kernel's result", *seen, {-1, -2, -3}, 0, 0); !right.ok())
    return tell(right.error());
  for (const DType type : {DType::fp32, DType::bf16})
    if (auto right = check_product(*library, type, &*device); !right.ok()) return tell(right.error());
  return start;
}

LibtorchStart start_with(std::string how, const Environment& environment, const std::string& folder, int32_t gpu,
                         double seconds) {
  LibtorchStart start{.how = std::move(how),
                      .device = gpu < 0 ? "cpu" : fmt::format("cuda:{}", gpu),
                      .first_tensor_seconds = {},
                      .first_kernel_seconds = {},
                      .cpu_capability = {},
                      .problem = {}};
  const auto said = in_fork(environment, seconds, [&] {
    return to_json(start_here(start, folder, gpu)).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
  if (!said.ok()) {
    start.problem = said.error().message;
    return start;
  }
  const auto json = parse_json(*said);
  auto read = json.ok() ? from_json<LibtorchStart>(*json) : Result<LibtorchStart>(json.error());
  if (!read.ok()) start.problem = "its process answered with nothing that can be read";
  return read.ok() ? std::move(*read) : start;
}

std::vector<std::string> tiers_here() {
#if defined(__x86_64__)
  return {"default", "avx2", "avx512"};
#else
  return {"default", "sve256"};
#endif
}

std::string break_the_context(const std::string& folder, int32_t gpu) {
  auto library = Libtorch::load(folder);
  if (!library.ok()) return library.error().message;
  if (auto loaded = library->load_cuda(gpu); !loaded.ok()) return loaded.error().message;
  const auto device = GpuDevice::open(gpu);
  if (!device.ok()) return device.error().message;
  const auto guard = library->use_stream(device->stream(), gpu);
  if (!guard.ok()) return guard.error().message;
  const area::Place place{*library, &*device};
  auto values = area::Array::make(place, Element::fp32, {4}, {1, 2, 3, 4});
  auto index = area::Array::make(place, Element::int64, {1}, {1e6});
  auto out = area::Array::make(place, Element::fp32, {1});
  if (!values.ok() || !index.ok() || !out.ok()) return "arrays could not be made";
  const auto queued =
      area::call(place, "aten::index_select", "out", {&values->tensor(), int64_t{0}, &index->tensor(), &out->tensor()});
  const auto ended = device->synchronize();
  if (ended.ok() && queued.ok()) return "an index outside the array came back as no error";
  // Whatever is asked of libtorch afterwards must fail too, and not compute on.
  if (library->first_tensor(gpu).ok() &&
      area::call(place, "aten::neg", "out", {&values->tensor(), &values->tensor()}).ok() && device->synchronize().ok())
    return "after an assertion of a kernel libtorch goes on as if nothing had been";
  return "";
}

}  // namespace

Result<std::string> in_fork(const Environment& environment, double seconds, const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return make_error(ErrorCode::failed_child, "making a pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  if (child == 0) run_in_fork(ends[1], environment, body);
  close(ends[1]);
  std::string text;
  const bool in_time = child > 0 && read_all(ends[0], seconds, text);
  close(ends[0]);
  if (child < 0) return make_error(ErrorCode::failed_child, "starting a process: {}", std::strerror(errno));
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return make_error(ErrorCode::limit, "it did not end within {:.0f} s", seconds);
  if (WIFSIGNALED(status))
    return make_error(ErrorCode::failed_child, "its process ended by {}", signal_name(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return make_error(ErrorCode::failed_child, "its process ended with exit code {}", WEXITSTATUS(status));
  return text;
}

void try_starts(const std::string& folder, const Host& host, double seconds_each,
                const std::function<void(LibtorchStart)>& tell) {
  for (const auto& tier : tiers_here())
    tell(start_with("ATEN_CPU_CAPABILITY=" + tier, {{"ATEN_CPU_CAPABILITY", tier}}, folder, -1, seconds_each));
  const int32_t gpu = first_usable_gpu(host);
  std::error_code error;
  if (gpu < 0 || !fs::exists(folder + "/libtorch_cuda.so", error)) return;
  if (const auto cache = TempFolder::make(); cache.ok()) {
    const Environment cached{{"CUDA_CACHE_PATH", cache->path().string()}};
    tell(start_with("empty driver cache", cached, folder, gpu, seconds_each));
    tell(start_with("filled driver cache", cached, folder, gpu, seconds_each));
  }
  for (const char* name : {"CUDA_DISABLE_PTX_JIT", "CUDA_FORCE_PTX_JIT"})
    tell(start_with(fmt::format("{}=1", name), {{name, "1"}}, folder, gpu, seconds_each));
}

LibtorchArea try_device_assertion(const std::string& folder, int32_t gpu, double seconds) {
  LibtorchArea area{"device assertion", fmt::format("cuda:{}", gpu), {}, {}};
  const auto said = in_fork({}, seconds, [&] {
    const std::string why = break_the_context(folder, gpu);
    return why.empty() ? "reported" : why;
  });
  if (!said.ok()) {
    area.problem = fmt::format("an assertion of a kernel: {}", said.error().message);
  } else if (*said != "reported") {
    area.problem = *said;
  }
  return area;
}

}  // namespace pbprobe
