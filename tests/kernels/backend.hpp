// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Backend of kernels in tests: this CPU, or the GPU that their target's machine code fits.
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

// Returns why this machine cannot run a target's kernels; "" if it can.
std::string hardware_lacking(std::string_view target);

// A ParallelFor with threads of its own: as many as tasks.
ParallelFor threads();

class Backend {
 public:
  virtual ~Backend() = default;
  // Runs the plan on the data, with a workspace full of NaNs; checks the memory behind the workspace.
  virtual Result<void> run(const Plan& plan, CheckData& data) = 0;
  // A peak loop: operations it did, and seconds it took.
  struct Rate {
    double operations = 0;
    double seconds = 0;
    double clock_ghz = 0;
    uint64_t sink = 0;
  };
  virtual Result<Rate> run_peak(const Peak& peak, int64_t iterations) = 0;
  // Runs the loop's instruction once and returns its c (GPU).
  virtual Result<std::vector<uint32_t>> run_proof(const Peak& peak, const Proof& proof) {
    return make_error(ErrorCode::unsupported, "{}: {} words of a proof, and no GPU", peak.name, proof.c.size());
  }
  [[nodiscard]] virtual ChooseOptions options() const = 0;
  [[nodiscard]] virtual std::string device() const = 0;
  [[nodiscard]] virtual std::string capability() const { return {}; }  // capability of a GPU: "9.0"
  [[nodiscard]] virtual const GpuKernels* gpu_kernels() const { return nullptr; }
};

// For a target that this machine can run.
Result<std::unique_ptr<Backend>> make_bed(std::string_view target);

}  // namespace pbprobe::test
