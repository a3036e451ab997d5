// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The kernel table: every row of kernels.inc, whatever was built. It feeds dispatch, tests, peaks, bench and report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/result.hpp"
#include "core/targets.hpp"
#include "kernels/cpu/call.hpp"

namespace pbprobe {

enum class Layout : uint8_t;  // kernels/gemm/problem.hpp

// Rows, columns and k-block of one unit of the kernel: the register tile (CPU), the block's (GPU).
struct Tile {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// A small set of data types: `DTypes{DType::fp32, DType::bf16}`.
class DTypes {
 public:
  constexpr DTypes() = default;
  constexpr DTypes(std::initializer_list<DType> types) {
    for (DType type : types) bits_ = static_cast<uint16_t>(bits_ | (1U << static_cast<unsigned>(type)));
  }
  [[nodiscard]] constexpr bool operator==(const DTypes&) const = default;
  [[nodiscard]] constexpr bool has(DType type) const { return (bits_ >> static_cast<unsigned>(type) & 1U) != 0; }

 private:
  uint16_t bits_ = 0;
};

// Division of a GPU kernel's work among its blocks.
enum class GpuWork {
  blocks,      // a block takes a tile and, with split-K, a part of k
  warpgroups,  // persistent clusters, operands by TMA (kernels/cuda/hopper.cuh)
  tma_mma,     // like warpgroups, by mma.sync without clusters (kernels/cuda/tma_mma.cuh)
  small_m,     // swap-AB, split-K inside a cluster (kernels/cuda/hopper_skinny.cuh)
  clusters,    // like small_m, for any number of rows; clusters share operands (kernels/cuda/hopper_cluster.cuh)
};

// One kernel. A target that is not built keeps its rows: `built` is false and `function` null.
struct Kernel {
  std::string_view target;         // "avx512"
  std::string_view part = {};      // GPU: the further cubin that holds it ("blocks"); "" is the main one
  std::string_view name;           // "gemm_fp32_14x32_avx512"
  std::string_view function_name;  // "gemm_fp32_14x32": the function, and the beginning of the GPU symbols
  bool built = false;
  CpuFunction function = nullptr;  // nullptr for a GPU kernel, or if not built
  // Fields that kernels.inc states.
  DType dtype = DType::fp32;  // the type that users name; INT8 includes u8×s8
  DTypes a = {};              // types of A; if empty, dtype only
  DTypes b = {};              // types of B; if empty, dtype only
  DType accumulator = DType::fp32;
  DTypes c = {DType::fp32};  // types of C
  Tile tile = {};
  std::string_view instruction;  // instruction path of the target's row in targets.json that the kernel uses
  std::string_view peak;         // function_name of the loop that measures that path
  int64_t max_m = INT64_MAX;     // greatest number of rows (kernels for skinny problems)
  int64_t least_m = 0;           // not chosen for fewer rows, though it computes them
  bool in_place = false;         // CPU: reads B in place, and k in one pass
  int64_t k_block = 0;           // CPU: k of a pass; 0 if in_place
  int64_t cache_bytes = 0;       // CPU: bytes of the second-level cache for a block of A; 0: all of A
  int64_t packed_bytes = 4;      // CPU: bytes of one packed element
  int64_t line_bytes = 0;        // CPU: bytes of each packed row or column, besides its elements
  // CPU: m · n · k · packed_bytes that a thread must have to be worth calling: about 15 µs.
  int64_t least_work = 4 << 20;
  bool small_k = false;         // GPU: multiplies only the k that exists, not a whole stage
  bool reads_any_rows = false;  // GPU: unaligned rows need no pass that aligns them
  bool spills = false;  // GPU: ptxas spills some of its registers, which no other may (resources.json says how many)
  int64_t threads = 0;  // GPU: threads of a block
  int64_t shared_bytes = 0;  // GPU: dynamic shared memory of a block
  int64_t blocks = 1;        // GPU: blocks that an SM holds at once
  int64_t busy = 1;          // GPU: blocks that an SM needs; fewer take as long
  int64_t share = 0;         // GPU: percent of its path's peak on large problems, for the choice between tiles
  int64_t sms = 1;           // GPU: SMs that compute one tile together
  bool k_major = false;      // GPU: reads operands along k only; others are transposed first. CPU: is slow at others
  bool a_k_major = false;    // GPU: reads A along k only, and B in its layout
  GpuWork work = GpuWork::blocks;
  int64_t cluster = 1;  // GPU, warpgroups: blocks of a cluster, one tile below the other, which share B
  bool across = false;  // the tiles of a cluster are side by side and share A
  BlockScale block_scale = BlockScale::none;  // GPU: scales of its operands
  bool pingpong =
      false;  // a block's warpgroups compute tiles interleaved, and one is written while another is computed
};

// Returns the layout that a GPU kernel reads if the operands have `layout`. The other operands are transposed first.
[[nodiscard]] Layout layout_read(const Kernel& kernel, Layout layout);

// Reports whether the blocks of a cluster take parts of k of one tile, so that no second kernel reduces them.
[[nodiscard]] constexpr bool splits_in_cluster(const Kernel& kernel) {
  return kernel.work == GpuWork::small_m || kernel.work == GpuWork::clusters;
}
// Reports whether the kernel reads one scale of a whole operand, which is else repeated for each row or column first.
[[nodiscard]] constexpr bool reads_one_scale(const Kernel& kernel) {
  return kernel.work == GpuWork::clusters || (kernel.work == GpuWork::warpgroups && is_fp8(kernel.dtype));
}
// Reports whether the kernel also writes C stored [n,m], as GPU kernels of small M do.
[[nodiscard]] constexpr bool writes_c_nm(const Kernel& kernel) {
  return kernel.threads > 0 && kernel.max_m != INT64_MAX;
}
// Reports whether the kernel has a variant that reads unaligned rows of B, along k.
[[nodiscard]] bool reads_unaligned_rows(const Kernel& kernel);
inline constexpr std::string_view kUnalignedVariant = "_nt_unaligned";
// Returns the symbols of a GPU kernel in its cubin, without the target: one for each layout that it reads without a
// pass, and one for the unaligned variant.
[[nodiscard]] std::vector<std::string> symbols_of(const Kernel& kernel);
// Returns the symbols of passes, which align or transpose operands and reduce split-K (kernels/cuda/passes.cuh), and of
// memory probes (memory.cuh). The main cubin of every target has them.
[[nodiscard]] std::span<const std::string_view> pass_symbols();
// Returns the symbols of tensor_probes.cuh, which a target with warpgroup kernels has; empty for other targets.
[[nodiscard]] std::span<const std::string_view> tensor_probe_symbols(std::string_view target);

struct Peak;
// Returns the symbol that runs a GPU loop's instruction once: "proof_bf16" for "peak_bf16".
[[nodiscard]] std::string proof_symbol(const Peak& peak);

// A register-only loop that shows how fast an instruction path issues, or (cycles > 0) a dependent chain of a known
// length, which shows the clock.
struct Peak {
  std::string_view target;
  std::string_view part = {};      // see Kernel::part
  std::string_view name;           // "peak_fp32_avx512"
  std::string_view function_name;  // "peak_fp32"
  bool built = false;
  CpuLoop function = nullptr;  // nullptr for a GPU loop, or if not built
  DType dtype = DType::fp32;
  std::string_view instruction;
  int64_t operations = 0;  // operations of one iteration and (GPU) thread; FMA = 2
  int64_t cycles = 0;      // cycles of one iteration, for a clock chain
  bool spills = false;     // GPU: ptxas spills some of its registers, which no other may (resources.json says how many)
  int64_t threads = 0;     // GPU: threads of a block
  int64_t shared_bytes = 0;  // GPU: dynamic shared memory of a block
};

// Build result of one target: its cubin or digest, or the reason why it was not built. Every id of targets.json has
// one, and one more for each further cubin.
struct TargetBuild {
  std::string_view target;
  std::string_view part = {};  // name of a further cubin: "tcgen05", "blocks", "cluster"
  bool built = false;
  std::string_view why_not;          // one sentence with a remedy; "" if built
  std::string_view digest;           // SHA-256 of the cubin (GPU), or of the source closure and flags (CPU)
  std::span<const std::byte> frame;  // GPU: the cubin (PTX in the preset ptx) as the zstd frame that is embedded
  std::string_view ptx;              // GPU: SM of the PTX in the cubin ("80"); "" for machine code
  std::string_view source_digest;    // GPU: SHA-256 of the source closure and `ptx`, for evidence by way of PTX
  int64_t spill_bytes = 0;           // GPU: registers that ptxas spilled, all kernels together but memory probes
};

// Returns the kernels of all CPU and GPU targets in the order of kernels.inc: if two fit, the earlier one is preferred.
[[nodiscard]] std::span<const Kernel> kernel_table();
[[nodiscard]] std::span<const Peak> peak_table();            // peak loops and clock chains
[[nodiscard]] std::span<const TargetBuild> target_builds();  // main cubin or object of each target
// Returns the builds of further cubins.
[[nodiscard]] std::span<const TargetBuild> part_builds();

// Returns the kernel with this public name ("gemm_fp32_14x32_avx512"); nullptr if the table lacks it.
[[nodiscard]] const Kernel* find_kernel(std::string_view name);
// Returns the row, or an error that lists the existing names.
[[nodiscard]] Result<const Kernel*> require_kernel(std::string_view name);
// Returns the peak loop of the kernel's instruction, whose rate limits the kernel; nullptr if the table lacks it.
[[nodiscard]] const Peak* peak_of(const Kernel& kernel);
// Returns the loop of dependent instructions that measures the clock of a target; nullptr if the target has none.
[[nodiscard]] const Peak* clock_of(std::string_view target);
// Returns the target's build; nullptr for an id that targets.json lacks.
[[nodiscard]] const TargetBuild* find_build(std::string_view target);
// Returns the build of the cubin that contains the kernel or the loop.
[[nodiscard]] const TargetBuild& build_of(const Kernel& kernel);
[[nodiscard]] const TargetBuild& build_of(const Peak& peak);
// Returns the cubin of a GPU target. Decompresses the cubin on the first call and keeps it. Errors: malformed; limit
// (memory).
[[nodiscard]] Result<std::span<const std::byte>> cubin_of(const TargetBuild& build);

}  // namespace pbprobe
