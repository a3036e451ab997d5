// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where kernels run in tests: this CPU, or the GPU that their target's machine code fits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/facts/host.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/cuda/host/probes.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/checker.hpp"

namespace pbprobe::test {

// This machine, detected once.
const Host& this_host();

// PBPROBE_REQUIRE_HARDWARE=1: what is missing is a failure, not a skip.
bool hardware_required();

// PBPROBE_EVIDENCE_VIA=words: an emulator runs this, named so in evidence records. Less is run, and no rate is asked
// for.
bool emulated();

// PBPROBE_EXPECT_REFUSED=1: this machine is there to lack the ISA.
bool refusal_expected();

// Why this machine cannot run a target's kernels; empty: it can.
std::string hardware_lacking(std::string_view target);

// A ParallelFor with threads of its own: as many as tasks.
ParallelFor threads();

class Backend {
 public:
  virtual ~Backend() = default;
  // Runs the plan on the data; the workspace is full of NaNs, and what lies behind it is checked.
  virtual Result<void> run(const Plan& plan, CheckData& data) = 0;
  // A peak loop: operations it did, and seconds it took.
  struct Rate {
    double operations = 0;
    double seconds = 0;
    double clock_ghz = 0;
    uint64_t sink = 0;
  };
  virtual Result<Rate> run_peak(const Peak& peak, int64_t iterations) = 0;
  // What the loop's instruction leaves in c, run once (GPU).
  virtual Result<std::vector<uint32_t>> run_proof(const Peak& peak, const Proof& proof) {
    return make_error(ErrorCode::unsupported, "{}: {} words of a proof, and no GPU", peak.name, proof.c.size());
  }
  [[nodiscard]] virtual ChooseOptions options() const = 0;
  [[nodiscard]] virtual std::string device() const = 0;
  [[nodiscard]] virtual std::string capability() const { return {}; }  // of a GPU: "9.0"
  [[nodiscard]] virtual const GpuKernels* gpu_kernels() const { return nullptr; }
};

// For a target that this machine can run.
Result<std::unique_ptr<Backend>> make_bed(std::string_view target);

}  // namespace pbprobe::test
