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
  FIELD(double, gflops, "median") = 0;
  FIELD(double, ratio, "ours / peer: median of the pairs' ratios") = 0;
  FIELD(std::vector<double>, samples_us, "microseconds of each sample");
};

// One kernel on one shape, verified before it was timed.
struct BenchRow {
  FIELD(std::string, kernel, "the kernel that ran");  // "gemm_fp32_8x48_avx512"
  FIELD(std::string, target, "target of the kernel");
  FIELD(std::string, dtype, "type of A and B");
  FIELD(int64_t, m, "rows of C") = 0;
  FIELD(int64_t, n, "columns of C") = 0;
  FIELD(int64_t, k, "the length that is summed over") = 0;
  FIELD(std::string, layout, "nt: A[m,k] B[n,k]; nn: A[m,k] B[k,n]; tn: A[k,m] B[k,n]; tt: A[k,m] B[n,k]");
  FIELD(std::string, out, "type of C");
  FIELD(std::string, instruction, "instruction path: \"wgmma\", \"fma\"");
  FIELD_AS(std::string, shape_class, "class", "class of shapes");
  FIELD(int64_t, threads, "0: a GPU kernel") = 1;
  FIELD(double, gflops, "2·m·n·k over the median time") = 0;
  FIELD(std::optional<double>, peak_fraction,
        "share of the peak measured in the same run; null with the reason in note");
  FIELD(std::optional<double>, peak_gflops, "best rate of the peak loop of its instruction in the same run");
  FIELD(bool, best, "dispatch chooses this kernel for the problem") = false;
  FIELD(std::optional<double>, clock_ghz, "clock during the timing");
  FIELD(bool, prepacked_b, "B was packed once, outside the timed part; peers read unpacked B") = false;
  FIELD(std::string, plan, "tile, split and packing");
  FIELD(std::optional<double>, model_us, "time predicted by the dispatch model; null for a CPU kernel");
  FIELD(std::vector<double>, samples_us, "microseconds of each sample");
  FIELD(ByName<PeerFigure>, peers, "other implementations in the same run, interleaved");
  FIELD(std::optional<std::string>, note, "remark needed to read the figure");
  FIELD(std::optional<std::string>, disturbed, "other users of the device; a disturbed figure is never judged");
};

// Class of shapes whose GPU time depends mainly on the launch; such rows have no share of a peak.
inline constexpr std::string_view kLaunchBound = "launch-bound";
inline constexpr double kLaunchBoundUs = 50;  // a launch takes 2 to 5 us
// Reports whether a GPU row is launch-bound: its time is below kLaunchBoundUs.
[[nodiscard]] inline bool launch_decides(const BenchRow& row) {
  const double flops = 2.0 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  return row.threads == 0 && row.gflops > 0 && flops / (row.gflops * 1e3) < kLaunchBoundUs;
}

// Matrix product of libtorch in the same run as the rows, including problems without a pbprobe kernel.
struct LibtorchFigure {
  FIELD(std::string, device, "cpu or cuda:0");
  FIELD(std::string, dtype, "type of A and B");
  FIELD(int64_t, m, "rows of C") = 0;
  FIELD(int64_t, n, "columns of C") = 0;
  FIELD(int64_t, k, "the length that is summed over") = 0;
  FIELD(std::string, layout, "layout of A and B: nt, nn, tn, tt");
  FIELD(int64_t, threads, "0: on a GPU") = 1;
  FIELD(double, gflops, "2·m·n·k over the median time") = 0;
  FIELD(std::vector<double>, samples_us, "microseconds of each sample");
  FIELD(std::optional<std::string>, disturbed, "other users of the device; a disturbed figure is never judged");
};

// A small program of one area, compared with a reference in FP64.
struct LibtorchArea {
  FIELD(std::string, area, "area that was tested");  // "softmax"
  FIELD(std::string, device, "cpu or cuda:0");
  FIELD(std::optional<std::string>, problem, "wrong result, or reason why it could not run; null if right or skipped");
  FIELD(std::optional<std::string>, skipped, "reason for skipping");
  FIELD(std::optional<Obstacle>, obstacle, "reason why it could not run; null if the problem is a fault");
};

// Library that libtorch uses, as loaded.
struct LibtorchLibrary {
  FIELD(std::string, name, "name of the library");  // "cuDNN"
  FIELD(std::optional<std::string>, compiled,
        "version that libtorch was compiled with; null if libtorch does not report it");
  FIELD(std::optional<std::string>, running, "version that the loaded library reports; null if it reports none");
  FIELD(std::optional<std::string>, path, "the file that was loaded");
};

// Two environments for starting libtorch: the driver compiles no PTX, or compiles all PTX despite machine code.
inline constexpr std::string_view kWithoutPtx = "CUDA_DISABLE_PTX_JIT=1";
inline constexpr std::string_view kForcedPtx = "CUDA_FORCE_PTX_JIT=1";

// Libtorch started in a process of its own, up to its first kernel on a GPU.
struct LibtorchStart {
  FIELD(std::string, how, "environment of the process");  // "empty driver cache", "filled driver cache"
  FIELD(std::string, device, "cpu or cuda:0");
  FIELD(std::optional<double>, first_tensor_seconds, "CUDA's initialization, and memory for the first tensor");
  FIELD(std::optional<double>, first_kernel_seconds, "until the result is available");
  FIELD(std::optional<std::string>, cpu_capability, "the dispatcher's CPU capability");
  FIELD(std::optional<std::string>, problem, "failure; null if it computed correctly");
  FIELD(std::optional<Obstacle>, obstacle, "reason why it could not run; null if the problem is a fault");
};

// A kernel of libtorch or of its libraries that ran on a GPU, by the driver's own word.
struct LibtorchKernel {
  FIELD(std::string, operation, "operation called in libtorch");  // "mm bf16"
  FIELD(std::string, device, "\"cuda:0\"");
  FIELD(std::string, name, "name reported by the driver, shortened");
  FIELD(std::string, machine_code, "SM that its code is for");     // the SM that its code is for: "sm_90"
  FIELD(std::string, ptx, "PTX that its code was compiled from");  // "compute_90"
};

// Time that libtorch takes for one area, in this process.
struct AreaTiming {
  FIELD(std::string, area, "start: from before it is loaded to its first right product");
  FIELD(std::string, device, "cpu or cuda:0");
  FIELD(std::vector<double>, samples_us, "time of one call");
  FIELD(std::optional<std::string>, disturbed, "other users of the device; a disturbed figure is never judged");
};

// Dynamic loader of a libtorch that has its own libc, newer than the libc of this machine.
struct ForeignLoader {
  FIELD(std::string, path, "the loader's file");  // "/nix/store/…-glibc-2.40/lib/ld-linux-x86-64.so.2"
  FIELD(std::string, glibc, "its version");       // "2.40"
  FIELD(std::optional<std::string>, driver,
        "source of the driver's libraries in this run: a folder, or ldconfig; null without a driver");
  FIELD(bool, finds_libcuda, "this torch finds libcuda itself in the environment of the run") = false;
};

// Result of one GPU probe: a memory rate, a launch time or an instruction rate.
struct ProbeFigure {
  FIELD(std::string, device, "cuda:0");
  FIELD(std::string, target, "target whose kernels ran the probe");
  FIELD(std::string, name, "memory, launch, or instruction with its type");
  FIELD(std::string, unit, "unit of the figure");  // "GB/s", "bytes/clock/SM", "us", "Gop/s"
  FIELD(double, value, "median") = 0;
  FIELD(std::optional<std::string>, against, "probe that alternated with this one");
  FIELD(std::optional<double>, ratio, "median of the pairwise ratios value / value of against");
  FIELD(std::optional<double>, per_clock, "operations per clock and SM, by the device's own clock");
  FIELD(std::optional<std::string>, fits, "class of chips with this rate, within 3 %");
  FIELD(std::optional<bool>, proved, "an instruction on known operands, or a tensor copy, produced the right bits");
  FIELD(std::vector<double>, samples, "all samples");
  FIELD(std::optional<std::string>, disturbed, "other users of the device; a disturbed figure is never judged");
  FIELD(std::optional<double>, intensity, "operations per byte that must be moved; null if not stated");
};

// Restrictions of the child process.
struct Confinement {
  FIELD(bool, apart, "runs in its own namespaces: no access to other processes or the network") = false;
  FIELD(std::optional<int64_t>, landlock,
        "Landlock ABI version of the kernel: the process writes only to its scratch folder; null if not restricted");
  FIELD(std::optional<std::string>, why_not, "reason why it may write elsewhere");  // folder; null if not restricted
};

// Something that could not run, so that nothing is known of it.
struct NotRun {
  FIELD(std::string, what, "step that could not run, with the reason");
  FIELD(Obstacle, why, "the kind of obstacle") = Obstacle::unexplained;
  FIELD(std::optional<std::string>, device, "cuda:0");
};

// Results of loading and running a libtorch in a child process.
struct LibtorchRun {
  FIELD(std::string, path, "folder of libtorch_cpu.so");
  FIELD(bool, loaded, "libtorch was loaded") = false;
  FIELD(bool, executed, "matrix products were computed on the CPU and were right") = false;
  FIELD(std::optional<bool>, executed_on_gpu,
        "matrix products were right on a GPU; null without a GPU, or for a build without CUDA");
  FIELD(std::optional<std::string>, version, "from the library, not from Python");
  FIELD(std::optional<std::string>, cpu_capability, "the dispatcher's CPU capability");
  FIELD(std::vector<LibtorchArea>, areas, "small programs, compared with FP64 references");
  FIELD(std::vector<LibtorchFigure>, figures,
        "matrix products of libtorch, with or without a pbprobe kernel for the same problem");
  FIELD(std::vector<AreaTiming>, timings, "start-up time, and time of each area if requested");
  FIELD(std::vector<std::string>, built_for, "SMs and PTX that it reports to be compiled for");
  FIELD(std::vector<LibtorchLibrary>, libraries, "libraries that it uses, as loaded");
  FIELD(std::vector<LibtorchStart>, starts, "starts in separate processes, up to the first kernel");
  FIELD(std::vector<LibtorchKernel>, kernels, "kernels that ran on a GPU, as reported by the driver");
  FIELD(std::vector<ProbeFigure>, speeds,
        "GPU rates of libtorch; against and ratio refer to the peak of pbprobe's probes");
  FIELD(std::optional<ForeignLoader>, loader,
        "loader of its own libc, newer than the libc of this machine; null for the loader of this machine");
  FIELD(std::optional<std::string>, problem, "failure with its fix");
  FIELD(std::optional<Obstacle>, obstacle, "reason why it could not run; null if the problem is a fault");
  FIELD(std::optional<std::string>, intruded,
        "bytes that its code wrote to the result channel while it was loaded; null if none");
  FIELD(std::optional<Confinement>, confinement, "restrictions of its process");
};

struct Measurements {
  SCHEMA("pbprobe.measurements/1");
  FIELD(std::vector<BenchRow>, rows, "pbprobe's kernels, one row per case");
  FIELD(std::optional<LibtorchRun>, libtorch, "results of the libtorch");
  // CPUs on which every kernel was bit-exact; empty if not tested
  FIELD(std::vector<int64_t>, exact_cpus, "CPUs on which every kernel was bit-exact");
  FIELD(std::vector<ProbeFigure>, probes, "memory, launch and instruction rates of a GPU");
  FIELD(std::vector<std::string>, problems, "faults: a kernel with a wrong result, a child that died");
  FIELD(std::vector<std::string>, notes, "parts that were not measured, with the reason");
  FIELD(std::optional<std::vector<NotRun>>, not_run,
        "steps that could not run, which proves no fault; null if all ran");
  FIELD(std::optional<std::vector<KernelFault>>, kernel_faults,
        "GPU kernels of pbprobe that failed or computed wrong, with the trials; null if none");
  // other users, before and after; null if not reported
  FIELD(std::optional<std::vector<GpuUse>>, gpu_use, "use by other processes, before and after the measurement");
  // one per device; null if not recorded
  FIELD(std::optional<std::vector<DeviceTrace>>, traces,
        "clock, power and temperature of each device during the measurement");
};

}  // namespace pbprobe
