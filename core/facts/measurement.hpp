// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Measurements: figures with their samples and what they were measured against in the same run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/gpu_use.hpp"
#include "core/facts/kernel_fault.hpp"
#include "core/facts/trace.hpp"
#include "core/fields.hpp"
#include "core/obstacle.hpp"

namespace pbprobe {

// Begins what a process printed last, in quotes at the end of a sentence on it.
inline constexpr std::string_view kLastWords = "; its last words: \"";

// The other side of an interleaved comparison.
struct PeerFigure {
  double gflops = 0;               // median
  double ratio = 0;                // ours / peer: median of the pairs' ratios
  std::vector<double> samples_us;  // one per round, beside the row's own
};

// One kernel on one shape, verified before it was timed.
struct BenchRow {
  std::string kernel;  // "gemm_fp32_8x48_avx512"
  std::string target;
  std::string dtype;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  std::string layout;  // nt: A[m,k] B[n,k]; nn: A[m,k] B[k,n]; tn: A[k,m] B[k,n]; tt: A[k,m] B[n,k]
  std::string out;     // type of C
  std::string instruction;
  std::string shape_class;              // "square", "small", "ragged", "skinny", "launch-bound"
  int64_t threads = 1;                  // 0: a GPU kernel
  double gflops = 0;                    // 2·m·n·k / median time
  std::optional<double> peak_fraction;  // null where no peak could be paired, with the reason in `note`
  std::optional<double> peak_gflops;    // the best that its instruction's peak loop gave in the same run
  bool best = false;                    // what dispatch chooses for this problem
  std::optional<double> clock_ghz;
  bool prepacked_b = false;        // B was packed once, outside the time, as weights are
  std::string plan;                // tile, split, packing: what `choose` decided
  std::optional<double> model_us;  // what it takes by the model that chooses; null: a CPU's
  std::vector<double> samples_us;
  std::map<std::string, PeerFigure> peers;
  std::optional<std::string> note;
  std::optional<std::string> disturbed;  // who else used the GPU: such a figure is never judged
};

// The class of a shape whose time on a GPU says more about launching a kernel than about the kernel: no share of a peak
// is due there.
inline constexpr std::string_view kLaunchBound = "launch-bound";
inline constexpr double kLaunchBoundUs = 50;  // a launch takes 2 to 5
[[nodiscard]] inline bool launch_decides(const BenchRow& row) {
  const double flops = 2.0 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  return row.threads == 0 && row.gflops > 0 && flops / (row.gflops * 1e3) < kLaunchBoundUs;
}

// A matrix product of libtorch itself, in the same run as the rows: also where no kernel of ours stands beside it.
struct LibtorchFigure {
  std::string device;  // "cpu", "cuda:0"
  std::string dtype;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  std::string layout;
  int64_t threads = 1;  // 0: on a GPU
  double gflops = 0;    // median
  std::vector<double> samples_us;
  std::optional<std::string> disturbed;  // as a row's
};

// A small program of one area, compared with a reference in FP64.
struct LibtorchArea {
  std::string area;                    // "softmax"
  std::string device;                  // "cpu", "cuda:0"
  std::optional<std::string> problem;  // what it got wrong, or why it could not run; null: right, or not asked
  std::optional<std::string> skipped;  // why it was not asked
  std::optional<Obstacle> obstacle;    // why it could not run; null: the problem is a fault
};

// A library that libtorch works with, as it is loaded.
struct LibtorchLibrary {
  std::string name;                     // "cuDNN"
  std::optional<std::string> compiled;  // the version that libtorch was compiled with; null: it does not say
  std::optional<std::string> running;   // what the loaded library answers; null: it does not say
  std::optional<std::string> path;      // the file that was loaded
};

// Two ways of starting it: the driver compiles no PTX, or all of it though there is machine code.
inline constexpr std::string_view kWithoutPtx = "CUDA_DISABLE_PTX_JIT=1";
inline constexpr std::string_view kForcedPtx = "CUDA_FORCE_PTX_JIT=1";

// Libtorch started in a process of its own, up to its first kernel on a GPU.
struct LibtorchStart {
  std::string how;     // "empty driver cache", "filled driver cache", kWithoutPtx, "ATEN_CPU_CAPABILITY=avx2"
  std::string device;  // "cuda:0"
  std::optional<double> first_tensor_seconds;  // CUDA's initialization, and memory for the first tensor
  std::optional<double> first_kernel_seconds;  // until its result is there
  std::optional<std::string> cpu_capability;   // the dispatcher's CPU capability
  std::optional<std::string> problem;          // what failed; null: it computed correctly
  std::optional<Obstacle> obstacle;            // why it could not run; null: the problem is a fault
};

// A kernel of libtorch or of its libraries that ran on a GPU, by the driver's own word.
struct LibtorchKernel {
  std::string operation;     // what was asked of libtorch: "mm bf16"
  std::string device;        // "cuda:0"
  std::string name;          // as the driver has it, shortened
  std::string machine_code;  // the SM that its code is for: "sm_90"
  std::string ptx;           // the PTX that it comes from: "compute_90"
};

// How long libtorch takes for one area, in this process.
struct AreaTiming {
  std::string area;                      // "softmax"; "start": from before it is loaded to its first right product
  std::string device;                    // "cpu", "cuda:0"
  std::vector<double> samples_us;        // of one call
  std::optional<std::string> disturbed;  // as a row's
};

// The dynamic loader of a libtorch that brings a libc of its own, newer than this machine's.
struct ForeignLoader {
  std::string path;                   // "/nix/store/…-glibc-2.40/lib/ld-linux-x86-64.so.2"
  std::string glibc;                  // "2.40"
  std::optional<std::string> driver;  // whence the run got the driver's libraries: a folder, or "ldconfig"; null: none
  bool finds_libcuda = false;         // would this torch find libcuda by itself, in the environment of this run?
};

// What a GPU gave when it was asked for one thing at a time: bytes of a memory, a launch, an instruction.
struct ProbeFigure {
  std::string device;  // "cuda:0"
  std::string target;  // whose kernels asked
  std::string name;    // "copy", "read from L2", "launch, queued", "tensor copies", "mma.sync bf16", …
  std::string unit;    // "GB/s", "bytes/clock/SM", "us", "Gop/s"
  double value = 0;    // median of the samples
  std::optional<std::string> against;  // what it took turns with
  std::optional<double> ratio;         // value / that of `against`: median of the pairs' ratios
  std::optional<double> per_clock;     // an instruction's operations per clock and SM, by the device's own clock
  std::optional<std::string> fits;     // the class of chips whose rate that is, within 3 %
  std::optional<bool> proved;          // an instruction on known operands, or a tensor copy, gave the right bits
  std::vector<double> samples;
  std::optional<std::string> disturbed;  // as a row's
  std::optional<double> intensity;       // operations for each byte that it must move; null: not stated
};

// What its process was kept from.
struct Confinement {
  bool apart = false;               // in namespaces of its own: it reaches no other process and no network
  std::optional<int64_t> landlock;  // the kernel's version of it: it writes only to its scratch folder; null: not kept
  std::optional<std::string> why_not;
};

// Something that could not run, so that nothing is known of it.
struct NotRun {
  std::string what;
  Obstacle why = Obstacle::unexplained;
  std::optional<std::string> device;  // "cuda:0"
};

// What a libtorch reported when it was loaded and run in a child process.
struct LibtorchRun {
  std::string path;  // folder of libtorch_cpu.so
  bool loaded = false;
  bool executed = false;                      // matrix products were computed on the CPU and were right
  std::optional<bool> executed_on_gpu;        // the same on a GPU; null: no GPU, or a build without CUDA
  std::optional<std::string> version;         // from the library, not from Python
  std::optional<std::string> cpu_capability;  // the dispatcher's CPU capability: "AVX512"
  std::vector<LibtorchArea> areas;
  std::vector<LibtorchFigure> figures;
  std::vector<AreaTiming> timings;
  std::vector<std::string> built_for;  // SMs and PTX that it says to be compiled for: "sm_90", "compute_120"
  std::vector<LibtorchLibrary> libraries;
  std::vector<LibtorchStart> starts;
  std::vector<LibtorchKernel> kernels;
  std::vector<ProbeFigure> speeds;      // its own on a GPU; `against` and `ratio` name the peak that ours gave
  std::optional<ForeignLoader> loader;  // null: this machine's own
  std::optional<std::string> problem;   // one sentence with the way out: what failed, the signal, the time limit
  std::optional<Obstacle> obstacle;     // why it could not run; null: the problem is a fault
  std::optional<std::string>
      intruded;  // what its code wrote to the answer's channel while it was loaded; null: nothing
  std::optional<Confinement> confinement;
};

struct Measurements {
  std::vector<BenchRow> rows;
  std::optional<LibtorchRun> libtorch;
  std::vector<int64_t> exact_cpus;  // CPUs on each of which every kernel was right, bit for bit; empty: not asked
  std::vector<ProbeFigure> probes;
  std::vector<std::string> problems;           // what went wrong: a kernel with a wrong result, a child that died
  std::vector<std::string> notes;              // what was not measured, and why
  std::optional<std::vector<NotRun>> not_run;  // nothing is known to be wrong there; null: all ran
  std::optional<std::vector<KernelFault>> kernel_faults;  // of pbprobe's kernels on GPUs; null: none
  std::optional<std::vector<GpuUse>> gpu_use;             // by others, before and after; null: not reported
  std::optional<std::vector<DeviceTrace>> traces;         // of the devices, meanwhile; null: not looked at
};

template <class Visitor, SameAs<PeerFigure> T>
void fields(Visitor& visit, T& peer) {
  visit("gflops", peer.gflops, "median");
  visit("ratio", peer.ratio, "ours / peer: median of the pairs' ratios");
  visit("samples_us", peer.samples_us, "microseconds of each sample");
}

template <class Visitor, SameAs<BenchRow> T>
void fields(Visitor& visit, T& row) {
  visit("kernel", row.kernel, "the kernel that ran");
  visit("target", row.target, "whose kernel it is");
  visit("dtype", row.dtype, "type of A and B");
  visit("m", row.m, "rows of C");
  visit("n", row.n, "columns of C");
  visit("k", row.k, "the length that is summed over");
  visit("layout", row.layout, "nt: A[m,k] B[n,k]; nn: A[m,k] B[k,n]; tn: A[k,m] B[k,n]; tt: A[k,m] B[n,k]");
  visit("out", row.out, "type of C");
  visit("instruction", row.instruction, "its path: \"wgmma\", \"fma\"");
  visit("class", row.shape_class, "class of shapes");
  visit("threads", row.threads, "0: a GPU kernel");
  visit("gflops", row.gflops, "2·m·n·k over the median time");
  visit("peak_fraction", row.peak_fraction, "of the peak measured in the same run; null with the reason in note");
  visit("peak_gflops", row.peak_gflops, "the best that its instruction's peak loop gave in the same run");
  visit("best", row.best, "what dispatch chooses for this problem");
  visit("clock_ghz", row.clock_ghz, "while it was timed");
  visit("prepacked_b", row.prepacked_b, "B was packed once, outside the time; the peers read it as it lies");
  visit("plan", row.plan, "how the problem was cut");
  visit("model_us", row.model_us, "what it takes by the model that chooses; null: a CPU's");
  visit("samples_us", row.samples_us, "microseconds of each sample");
  visit("peers", row.peers, "others in the same run, interleaved");
  visit("note", row.note, "what the figure must be read with");
  visit("disturbed", row.disturbed, "who else used the GPU: such a figure is never judged");
}

template <class Visitor, SameAs<LibtorchFigure> T>
void fields(Visitor& visit, T& figure) {
  visit("device", figure.device, "cpu or cuda:0");
  visit("dtype", figure.dtype, "type of A and B");
  visit("m", figure.m, "rows of C");
  visit("n", figure.n, "columns of C");
  visit("k", figure.k, "the length that is summed over");
  visit("layout", figure.layout, "of A and B: nt, nn, tn, tt");
  visit("threads", figure.threads, "0: on a GPU");
  visit("gflops", figure.gflops, "2·m·n·k over the median time");
  visit("samples_us", figure.samples_us, "microseconds of each sample");
  visit("disturbed", figure.disturbed, "who else used the GPU: such a figure is never judged");
}

template <class Visitor, SameAs<LibtorchArea> T>
void fields(Visitor& visit, T& area) {
  visit("area", area.area, "what was tried");
  visit("device", area.device, "cpu or cuda:0");
  visit("problem", area.problem, "what it got wrong, or why it could not run; null: right, or not asked");
  visit("skipped", area.skipped, "why it was not asked");
  visit("obstacle", area.obstacle, "why it could not run; null: the problem is a fault");
}

template <class Visitor, SameAs<LibtorchLibrary> T>
void fields(Visitor& visit, T& library) {
  visit("name", library.name, "of the library");
  visit("compiled", library.compiled, "the version that libtorch was compiled with; null: it does not say");
  visit("running", library.running, "what the loaded library answers; null: it does not say");
  visit("path", library.path, "the file that was loaded");
}

template <class Visitor, SameAs<LibtorchStart> T>
void fields(Visitor& visit, T& start) {
  visit("how", start.how, "what its process was given");
  visit("device", start.device, "cpu or cuda:0");
  visit("first_tensor_seconds", start.first_tensor_seconds, "CUDA's initialization, and memory for the first tensor");
  visit("first_kernel_seconds", start.first_kernel_seconds, "until its result is there");
  visit("cpu_capability", start.cpu_capability, "the dispatcher's CPU capability");
  visit("problem", start.problem, "what failed; null: it computed correctly");
  visit("obstacle", start.obstacle, "why it could not run; null: the problem is a fault");
}

template <class Visitor, SameAs<LibtorchKernel> T>
void fields(Visitor& visit, T& kernel) {
  visit("operation", kernel.operation, "what was asked of libtorch");
  visit("device", kernel.device, "\"cuda:0\"");
  visit("name", kernel.name, "as the driver has it, shortened");
  visit("machine_code", kernel.machine_code, "the SM that its code is for");
  visit("ptx", kernel.ptx, "the PTX that it comes from");
}

template <class Visitor, SameAs<AreaTiming> T>
void fields(Visitor& visit, T& timing) {
  visit("area", timing.area, "start: from before it is loaded to its first right product");
  visit("device", timing.device, "cpu or cuda:0");
  visit("samples_us", timing.samples_us, "of one call");
  visit("disturbed", timing.disturbed, "who else used the GPU: such a figure is never judged");
}

template <class Visitor, SameAs<ForeignLoader> T>
void fields(Visitor& visit, T& loader) {
  visit("path", loader.path, "the loader's file");
  visit("glibc", loader.glibc, "its version");
  visit("driver", loader.driver, "whence the run got the driver's libraries: a folder, or ldconfig; null: none");
  visit("finds_libcuda", loader.finds_libcuda, "this torch finds libcuda by itself, in the environment of the run");
}

template <class Visitor, SameAs<ProbeFigure> T>
void fields(Visitor& visit, T& figure) {
  visit("device", figure.device, "cuda:0");
  visit("target", figure.target, "whose kernels asked");
  visit("name", figure.name, "what was asked: a memory, a launch, an instruction with its type");
  visit("unit", figure.unit, "of the figure");
  visit("value", figure.value, "median");
  visit("against", figure.against, "what it took turns with");
  visit("ratio", figure.ratio, "to that: median of the pairs' ratios");
  visit("per_clock", figure.per_clock, "operations per clock and SM, by the device's own clock");
  visit("fits", figure.fits, "the class of chips whose rate that is, within 3 %");
  visit("proved", figure.proved, "an instruction on known operands, or a tensor copy, gave the bits that it must");
  visit("samples", figure.samples, "each of them");
  visit("disturbed", figure.disturbed, "who else used the GPU: such a figure is never judged");
  visit("intensity", figure.intensity, "operations for each byte that it must move; null: not stated");
}

template <class Visitor, SameAs<Confinement> T>
void fields(Visitor& visit, T& confinement) {
  visit("apart", confinement.apart, "in namespaces of its own: it reaches no other process and no network");
  visit("landlock", confinement.landlock, "the kernel's version: it writes only to its scratch folder; null: not kept");
  visit("why_not", confinement.why_not, "why it may write elsewhere");
}

template <class Visitor, SameAs<NotRun> T>
void fields(Visitor& visit, T& one) {
  visit("what", one.what, "what could not run, and why");
  visit("why", one.why, "the kind of obstacle");
  visit("device", one.device, "cuda:0");
}

template <class Visitor, SameAs<LibtorchRun> T>
void fields(Visitor& visit, T& run) {
  visit("path", run.path, "folder of libtorch_cpu.so");
  visit("loaded", run.loaded, "whether it was loaded");
  visit("executed", run.executed, "matrix products were computed on the CPU and were right");
  visit("executed_on_gpu", run.executed_on_gpu, "the same on a GPU; null: no GPU, or a build without CUDA");
  visit("version", run.version, "from the library, not from Python");
  visit("cpu_capability", run.cpu_capability, "the dispatcher's CPU capability");
  visit("areas", run.areas, "small programs, compared with references in FP64");
  visit("figures", run.figures, "its own matrix products, with or without a kernel of ours beside them");
  visit("timings", run.timings, "how long it takes to start, and where it was asked, for each area");
  visit("built_for", run.built_for, "SMs and PTX that it says to be compiled for");
  visit("libraries", run.libraries, "that it works with, as they are loaded");
  visit("starts", run.starts, "in processes of their own, up to the first kernel");
  visit("kernels", run.kernels, "that ran on a GPU, by the driver's own word");
  visit("speeds", run.speeds, "its own on a GPU; against and ratio name the peak that pbprobe's probes gave");
  visit("loader", run.loader, "of the libc that it brings, newer than this machine's; null: this machine's own");
  visit("problem", run.problem, "what failed, and the way out");
  visit("obstacle", run.obstacle, "why it could not run; null: the problem is a fault");
  visit("intruded", run.intruded, "what its code wrote to the answer's channel while it was loaded; null: nothing");
  visit("confinement", run.confinement, "what its process was kept from");
}

template <class Visitor, SameAs<Measurements> T>
void fields(Visitor& visit, T& measurements) {
  visit.constant("schema", "pbprobe.measurements/1");
  visit("rows", measurements.rows, "our kernels, each case");
  visit("libtorch", measurements.libtorch, "what became of the libtorch");
  visit("exact_cpus", measurements.exact_cpus, "CPUs on each of which every kernel was right, bit for bit");
  visit("probes", measurements.probes, "what a GPU gave when it was asked for one thing at a time");
  visit("problems", measurements.problems, "what went wrong: a kernel with a wrong result, a child that died");
  visit("notes", measurements.notes, "what was not measured, and why");
  visit("not_run", measurements.not_run, "what could not run, so that nothing is known of it");
  visit("kernel_faults", measurements.kernel_faults,
        "GPU kernels of pbprobe that failed or computed wrong, and what trials showed; null: none");
  visit("gpu_use", measurements.gpu_use, "by others, before and after the measuring");
  visit("traces", measurements.traces, "clock, power and temperature of each device, meanwhile");
}

}  // namespace pbprobe
