// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Measurements: figures with their samples and objects of comparison from the same run.
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

// Separates a sentence from the last output of a process, which follows in quotes.
inline constexpr std::string_view kLastWords = "; its last words: \"";

// The other side of an interleaved comparison.
struct PeerFigure {
  double gflops = 0;               // median
  double ratio = 0;                // ours / peer: median of the pairs' ratios
  std::vector<double> samples_us;  // one sample per round, paired with the samples of the row
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
  std::optional<double> peak_fraction;  // share of the measured peak; null if no peak matches: see `note`
  std::optional<double> peak_gflops;    // best rate of the peak loop of its instruction in the same run
  bool best = false;                    // dispatch chooses this kernel for the problem
  std::optional<double> clock_ghz;
  bool prepacked_b = false;        // B was packed once, outside the timed part, as weights are
  std::string plan;                // tile, split and packing that `choose` selected
  std::optional<double> model_us;  // time predicted by the dispatch model; null for a CPU kernel
  std::vector<double> samples_us;
  std::map<std::string, PeerFigure> peers;
  std::optional<std::string> note;
  std::optional<std::string> disturbed;  // other users of the GPU; a disturbed figure is never judged
};

// Class of shapes whose GPU time depends mainly on the launch; such rows have no share of a peak.
inline constexpr std::string_view kLaunchBound = "launch-bound";
inline constexpr double kLaunchBoundUs = 50;  // a launch takes 2 to 5 us
[[nodiscard]] inline bool launch_decides(const BenchRow& row) {
  const double flops = 2.0 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  return row.threads == 0 && row.gflops > 0 && flops / (row.gflops * 1e3) < kLaunchBoundUs;
}

// Matrix product of libtorch in the same run as the rows, including problems without a pbprobe kernel.
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
  std::optional<std::string> disturbed;  // other users of the GPU; a disturbed figure is never judged
};

// A small program of one area, compared with a reference in FP64.
struct LibtorchArea {
  std::string area;                    // "softmax"
  std::string device;                  // "cpu", "cuda:0"
  std::optional<std::string> problem;  // wrong result, or reason why it could not run; null if right or skipped
  std::optional<std::string> skipped;  // reason for skipping
  std::optional<Obstacle> obstacle;    // reason why it could not run; null if the problem is a fault
};

// Library that libtorch uses, as loaded.
struct LibtorchLibrary {
  std::string name;                     // "cuDNN"
  std::optional<std::string> compiled;  // version that libtorch was compiled with; null if libtorch does not report it
  std::optional<std::string> running;   // version that the loaded library reports; null if it reports none
  std::optional<std::string> path;      // the file that was loaded
};

// Two environments for starting libtorch: the driver compiles no PTX, or compiles all PTX despite machine code.
inline constexpr std::string_view kWithoutPtx = "CUDA_DISABLE_PTX_JIT=1";
inline constexpr std::string_view kForcedPtx = "CUDA_FORCE_PTX_JIT=1";

// Libtorch started in a process of its own, up to its first kernel on a GPU.
struct LibtorchStart {
  std::string how;     // "empty driver cache", "filled driver cache", kWithoutPtx, "ATEN_CPU_CAPABILITY=avx2"
  std::string device;  // "cuda:0"
  std::optional<double> first_tensor_seconds;  // CUDA's initialization, and memory for the first tensor
  std::optional<double> first_kernel_seconds;  // until the result is available
  std::optional<std::string> cpu_capability;   // the dispatcher's CPU capability
  std::optional<std::string> problem;          // failure; null if it computed correctly
  std::optional<Obstacle> obstacle;            // reason why it could not run; null if the problem is a fault
};

// A kernel of libtorch or of its libraries that ran on a GPU, by the driver's own word.
struct LibtorchKernel {
  std::string operation;     // operation called in libtorch: "mm bf16"
  std::string device;        // "cuda:0"
  std::string name;          // name reported by the driver, shortened
  std::string machine_code;  // the SM that its code is for: "sm_90"
  std::string ptx;           // PTX that its code was compiled from: "compute_90"
};

// Time that libtorch takes for one area, in this process.
struct AreaTiming {
  std::string area;                      // "softmax"; "start": from before loading to the first correct product
  std::string device;                    // "cpu", "cuda:0"
  std::vector<double> samples_us;        // time of one call
  std::optional<std::string> disturbed;  // other users of the GPU; a disturbed figure is never judged
};

// Dynamic loader of a libtorch that has its own libc, newer than the libc of this machine.
struct ForeignLoader {
  std::string path;                   // "/nix/store/…-glibc-2.40/lib/ld-linux-x86-64.so.2"
  std::string glibc;                  // "2.40"
  std::optional<std::string> driver;  // source of the driver's libraries: a folder, "ldconfig"; null without one
  bool finds_libcuda = false;         // this torch finds libcuda itself in the environment of this run
};

// Result of one GPU probe: a memory rate, a launch time or an instruction rate.
struct ProbeFigure {
  std::string device;  // "cuda:0"
  std::string target;  // target whose kernels ran the probe
  std::string name;    // "copy", "read from L2", "launch, queued", "tensor copies", "mma.sync bf16", …
  std::string unit;    // "GB/s", "bytes/clock/SM", "us", "Gop/s"
  double value = 0;    // median of the samples
  std::optional<std::string> against;  // probe that alternated with this one
  std::optional<double> ratio;         // median of the pairwise ratios value / value of `against`
  std::optional<double> per_clock;     // operations per clock and SM of an instruction, by the device's clock
  std::optional<std::string> fits;     // class of chips with this rate, within 3 %
  std::optional<bool> proved;          // an instruction on known operands, or a tensor copy, produced the right bits
  std::vector<double> samples;
  std::optional<std::string> disturbed;  // other users of the GPU; a disturbed figure is never judged
  std::optional<double> intensity;       // operations per byte that must be moved; null if not stated
};

// Restrictions of the child process.
struct Confinement {
  bool apart = false;               // runs in its own namespaces: no access to other processes or the network
  std::optional<int64_t> landlock;  // Landlock ABI version of the kernel: the process writes only to its scratch
                                    // folder; null if not restricted
  std::optional<std::string> why_not;
};

// Something that could not run, so that nothing is known of it.
struct NotRun {
  std::string what;
  Obstacle why = Obstacle::unexplained;
  std::optional<std::string> device;  // "cuda:0"
};

// Results of loading and running a libtorch in a child process.
struct LibtorchRun {
  std::string path;  // folder of libtorch_cpu.so
  bool loaded = false;
  bool executed = false;                      // matrix products were computed on the CPU and were right
  std::optional<bool> executed_on_gpu;        // likewise on a GPU; null without a GPU, or for a build without CUDA
  std::optional<std::string> version;         // from the library, not from Python
  std::optional<std::string> cpu_capability;  // the dispatcher's CPU capability: "AVX512"
  std::vector<LibtorchArea> areas;
  std::vector<LibtorchFigure> figures;
  std::vector<AreaTiming> timings;
  std::vector<std::string> built_for;  // SMs and PTX that it reports to be compiled for: "sm_90", "compute_120"
  std::vector<LibtorchLibrary> libraries;
  std::vector<LibtorchStart> starts;
  std::vector<LibtorchKernel> kernels;
  std::vector<ProbeFigure> speeds;      // GPU rates of libtorch, relative to the peak of pbprobe's probes
  std::optional<ForeignLoader> loader;  // loader used; null for the loader of this machine
  std::optional<std::string> problem;   // failure with its fix: error, signal or time limit
  std::optional<Obstacle> obstacle;     // reason why it could not run; null if the problem is a fault
  std::optional<std::string> intruded;  // bytes that its code wrote to the result channel; null if none
  std::optional<Confinement> confinement;
};

struct Measurements {
  std::vector<BenchRow> rows;
  std::optional<LibtorchRun> libtorch;
  std::vector<int64_t> exact_cpus;  // CPUs on which every kernel was bit-exact; empty if not tested
  std::vector<ProbeFigure> probes;
  std::vector<std::string> problems;                      // faults: a kernel with a wrong result, a child that died
  std::vector<std::string> notes;                         // parts that were not measured, with the reason
  std::optional<std::vector<NotRun>> not_run;             // steps that could not run; null if all ran
  std::optional<std::vector<KernelFault>> kernel_faults;  // GPU kernels that failed; null if none
  std::optional<std::vector<GpuUse>> gpu_use;             // other users, before and after; null if not reported
  std::optional<std::vector<DeviceTrace>> traces;         // one per device; null if not recorded
};

void fields(auto& visit, SameAs<PeerFigure> auto& peer) {
  visit("gflops", peer.gflops, "median");
  visit("ratio", peer.ratio, "ours / peer: median of the pairs' ratios");
  visit("samples_us", peer.samples_us, "microseconds of each sample");
}

void fields(auto& visit, SameAs<BenchRow> auto& row) {
  visit("kernel", row.kernel, "the kernel that ran");
  visit("target", row.target, "target of the kernel");
  visit("dtype", row.dtype, "type of A and B");
  visit("m", row.m, "rows of C");
  visit("n", row.n, "columns of C");
  visit("k", row.k, "the length that is summed over");
  visit("layout", row.layout, "nt: A[m,k] B[n,k]; nn: A[m,k] B[k,n]; tn: A[k,m] B[k,n]; tt: A[k,m] B[n,k]");
  visit("out", row.out, "type of C");
  visit("instruction", row.instruction, "instruction path: \"wgmma\", \"fma\"");
  visit("class", row.shape_class, "class of shapes");
  visit("threads", row.threads, "0: a GPU kernel");
  visit("gflops", row.gflops, "2·m·n·k over the median time");
  visit("peak_fraction", row.peak_fraction, "share of the peak measured in the same run; null with the reason in note");
  visit("peak_gflops", row.peak_gflops, "best rate of the peak loop of its instruction in the same run");
  visit("best", row.best, "dispatch chooses this kernel for the problem");
  visit("clock_ghz", row.clock_ghz, "clock during the timing");
  visit("prepacked_b", row.prepacked_b, "B was packed once, outside the timed part; peers read unpacked B");
  visit("plan", row.plan, "tile, split and packing");
  visit("model_us", row.model_us, "time predicted by the dispatch model; null for a CPU kernel");
  visit("samples_us", row.samples_us, "microseconds of each sample");
  visit("peers", row.peers, "other implementations in the same run, interleaved");
  visit("note", row.note, "remark needed to read the figure");
  visit("disturbed", row.disturbed, "other users of the GPU; a disturbed figure is never judged");
}

void fields(auto& visit, SameAs<LibtorchFigure> auto& figure) {
  visit("device", figure.device, "cpu or cuda:0");
  visit("dtype", figure.dtype, "type of A and B");
  visit("m", figure.m, "rows of C");
  visit("n", figure.n, "columns of C");
  visit("k", figure.k, "the length that is summed over");
  visit("layout", figure.layout, "layout of A and B: nt, nn, tn, tt");
  visit("threads", figure.threads, "0: on a GPU");
  visit("gflops", figure.gflops, "2·m·n·k over the median time");
  visit("samples_us", figure.samples_us, "microseconds of each sample");
  visit("disturbed", figure.disturbed, "other users of the GPU; a disturbed figure is never judged");
}

void fields(auto& visit, SameAs<LibtorchArea> auto& area) {
  visit("area", area.area, "area that was tested");
  visit("device", area.device, "cpu or cuda:0");
  visit("problem", area.problem, "wrong result, or reason why it could not run; null if right or skipped");
  visit("skipped", area.skipped, "reason for skipping");
  visit("obstacle", area.obstacle, "reason why it could not run; null if the problem is a fault");
}

void fields(auto& visit, SameAs<LibtorchLibrary> auto& library) {
  visit("name", library.name, "name of the library");
  visit("compiled", library.compiled, "version that libtorch was compiled with; null if libtorch does not report it");
  visit("running", library.running, "version that the loaded library reports; null if it reports none");
  visit("path", library.path, "the file that was loaded");
}

void fields(auto& visit, SameAs<LibtorchStart> auto& start) {
  visit("how", start.how, "environment of the process");
  visit("device", start.device, "cpu or cuda:0");
  visit("first_tensor_seconds", start.first_tensor_seconds, "CUDA's initialization, and memory for the first tensor");
  visit("first_kernel_seconds", start.first_kernel_seconds, "until the result is available");
  visit("cpu_capability", start.cpu_capability, "the dispatcher's CPU capability");
  visit("problem", start.problem, "failure; null if it computed correctly");
  visit("obstacle", start.obstacle, "reason why it could not run; null if the problem is a fault");
}

void fields(auto& visit, SameAs<LibtorchKernel> auto& kernel) {
  visit("operation", kernel.operation, "operation called in libtorch");
  visit("device", kernel.device, "\"cuda:0\"");
  visit("name", kernel.name, "name reported by the driver, shortened");
  visit("machine_code", kernel.machine_code, "SM that its code is for");
  visit("ptx", kernel.ptx, "PTX that its code was compiled from");
}

void fields(auto& visit, SameAs<AreaTiming> auto& timing) {
  visit("area", timing.area, "start: from before it is loaded to its first right product");
  visit("device", timing.device, "cpu or cuda:0");
  visit("samples_us", timing.samples_us, "time of one call");
  visit("disturbed", timing.disturbed, "other users of the GPU; a disturbed figure is never judged");
}

void fields(auto& visit, SameAs<ForeignLoader> auto& loader) {
  visit("path", loader.path, "the loader's file");
  visit("glibc", loader.glibc, "its version");
  visit("driver", loader.driver,
        "source of the driver's libraries in this run: a folder, or ldconfig; null without a driver");
  visit("finds_libcuda", loader.finds_libcuda, "this torch finds libcuda itself in the environment of the run");
}

void fields(auto& visit, SameAs<ProbeFigure> auto& figure) {
  visit("device", figure.device, "cuda:0");
  visit("target", figure.target, "target whose kernels ran the probe");
  visit("name", figure.name, "memory, launch, or instruction with its type");
  visit("unit", figure.unit, "unit of the figure");
  visit("value", figure.value, "median");
  visit("against", figure.against, "probe that alternated with this one");
  visit("ratio", figure.ratio, "median of the pairwise ratios value / value of against");
  visit("per_clock", figure.per_clock, "operations per clock and SM, by the device's own clock");
  visit("fits", figure.fits, "class of chips with this rate, within 3 %");
  visit("proved", figure.proved, "an instruction on known operands, or a tensor copy, produced the right bits");
  visit("samples", figure.samples, "all samples");
  visit("disturbed", figure.disturbed, "other users of the GPU; a disturbed figure is never judged");
  visit("intensity", figure.intensity, "operations per byte that must be moved; null if not stated");
}

void fields(auto& visit, SameAs<Confinement> auto& confinement) {
  visit("apart", confinement.apart, "runs in its own namespaces: no access to other processes or the network");
  visit("landlock", confinement.landlock,
        "Landlock ABI version of the kernel: the process writes only to its scratch folder; null if not restricted");
  visit("why_not", confinement.why_not, "reason why it may write elsewhere");
}

void fields(auto& visit, SameAs<NotRun> auto& one) {
  visit("what", one.what, "step that could not run, with the reason");
  visit("why", one.why, "the kind of obstacle");
  visit("device", one.device, "cuda:0");
}

void fields(auto& visit, SameAs<LibtorchRun> auto& run) {
  visit("path", run.path, "folder of libtorch_cpu.so");
  visit("loaded", run.loaded, "libtorch was loaded");
  visit("executed", run.executed, "matrix products were computed on the CPU and were right");
  visit("executed_on_gpu", run.executed_on_gpu,
        "matrix products were right on a GPU; null without a GPU, or for a build without CUDA");
  visit("version", run.version, "from the library, not from Python");
  visit("cpu_capability", run.cpu_capability, "the dispatcher's CPU capability");
  visit("areas", run.areas, "small programs, compared with FP64 references");
  visit("figures", run.figures, "matrix products of libtorch, with or without a pbprobe kernel for the same problem");
  visit("timings", run.timings, "start-up time, and time of each area if requested");
  visit("built_for", run.built_for, "SMs and PTX that it reports to be compiled for");
  visit("libraries", run.libraries, "libraries that it uses, as loaded");
  visit("starts", run.starts, "starts in separate processes, up to the first kernel");
  visit("kernels", run.kernels, "kernels that ran on a GPU, as reported by the driver");
  visit("speeds", run.speeds, "GPU rates of libtorch; against and ratio refer to the peak of pbprobe's probes");
  visit("loader", run.loader,
        "loader of its own libc, newer than the libc of this machine; null for the loader of this machine");
  visit("problem", run.problem, "failure with its fix");
  visit("obstacle", run.obstacle, "reason why it could not run; null if the problem is a fault");
  visit("intruded", run.intruded, "bytes that its code wrote to the result channel while it was loaded; null if none");
  visit("confinement", run.confinement, "restrictions of its process");
}

void fields(auto& visit, SameAs<Measurements> auto& measurements) {
  visit.constant("schema", "pbprobe.measurements/1");
  visit("rows", measurements.rows, "pbprobe's kernels, one row per case");
  visit("libtorch", measurements.libtorch, "results of the libtorch");
  visit("exact_cpus", measurements.exact_cpus, "CPUs on which every kernel was bit-exact");
  visit("probes", measurements.probes, "memory, launch and instruction rates of a GPU");
  visit("problems", measurements.problems, "faults: a kernel with a wrong result, a child that died");
  visit("notes", measurements.notes, "parts that were not measured, with the reason");
  visit("not_run", measurements.not_run, "steps that could not run, which proves no fault; null if all ran");
  visit("kernel_faults", measurements.kernel_faults,
        "GPU kernels of pbprobe that failed or computed wrong, with the trials; null if none");
  visit("gpu_use", measurements.gpu_use, "use by other processes, before and after the measurement");
  visit("traces", measurements.traces, "clock, power and temperature of each device during the measurement");
}

}  // namespace pbprobe
