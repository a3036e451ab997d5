// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Loops of tcgen05.mma on operands in shared memory. They show how fast one thread can feed the tensor cores of one SM,
// which is how every tcgen05 kernel feeds them. 128 rows, 256 columns, 192 of block-scaled types, 32 bytes of k; two
// accumulators in tensor memory alternate. Source: PTX ISA, tcgen05: descriptors, instruction descriptor, alloc, mma,
// commit, ld, st.
#pragma once

#include "kernels/cuda/tcgen05.hpp"
#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

enum class TensorKind { f16, tf32, i8, f8f6f4, mxf8f6f4, mxf4, nvf4 };

// Properties of each type: the kind, its codes, and the masks that make operands from random bits (kAnd keeps, kOr
// sets). Floats are near 1; FP8 has the exponent's highest bit cleared, so that numbers are finite and below 2.
struct PeakBf16 {
  using Accumulator = float;
  static constexpr TensorKind kKind = TensorKind::f16;
  static constexpr Tcgen05Codes kCodes = kTcgen05Bf16;
  static constexpr unsigned kAnd = 0x807f807fU;
  static constexpr unsigned kOr = 0x3f003f00U;
};
struct PeakFp16 {
  using Accumulator = float;
  static constexpr TensorKind kKind = TensorKind::f16;
  static constexpr Tcgen05Codes kCodes = kTcgen05Fp16;
  static constexpr unsigned kAnd = 0x83ff83ffU;
  static constexpr unsigned kOr = 0x38003800U;
};
struct PeakTf32 {
  using Accumulator = float;
  static constexpr TensorKind kKind = TensorKind::tf32;
  static constexpr Tcgen05Codes kCodes = kTcgen05Tf32;
  static constexpr unsigned kAnd = 0x807fe000U;
  static constexpr unsigned kOr = 0x3f000000U;
};
struct PeakInt8 {
  using Accumulator = int;
  static constexpr TensorKind kKind = TensorKind::i8;
  static constexpr Tcgen05Codes kCodes = kTcgen05Int8;
  static constexpr unsigned kAnd = 0xffffffffU;
  static constexpr unsigned kOr = 0;
};
struct PeakE4m3 {
  using Accumulator = float;
  static constexpr TensorKind kKind = TensorKind::f8f6f4;
  static constexpr Tcgen05Codes kCodes = kTcgen05E4m3;
  static constexpr unsigned kAnd = 0xbfbfbfbfU;
  static constexpr unsigned kOr = 0;
};
struct PeakE5m2 {
  using Accumulator = float;
  static constexpr TensorKind kKind = TensorKind::f8f6f4;
  static constexpr Tcgen05Codes kCodes = kTcgen05E5m2;
  static constexpr unsigned kAnd = 0xbfbfbfbfU;
  static constexpr unsigned kOr = 0;
};

// Block-scaled: every bit pattern of E2M1 is finite. kOnes: four scales of 1.
struct PeakMxE4m3 : PeakE4m3 {
  static constexpr TensorKind kKind = TensorKind::mxf8f6f4;
  static constexpr Tcgen05BlockCodes kCodes = kTcgen05MxE4m3;
  static constexpr unsigned kOnes = 0x7f7f7f7fU;
};
struct PeakMxE5m2 : PeakMxE4m3 {
  static constexpr Tcgen05BlockCodes kCodes = kTcgen05MxE5m2;
};
struct PeakMxE2m1 : PeakMxE4m3 {
  static constexpr TensorKind kKind = TensorKind::mxf4;
  static constexpr Tcgen05BlockCodes kCodes = kTcgen05MxE2m1;
  static constexpr unsigned kAnd = 0xffffffffU;
};
struct PeakNvE2m1 : PeakMxE2m1 {
  static constexpr TensorKind kKind = TensorKind::nvf4;
  static constexpr Tcgen05BlockCodes kCodes = kTcgen05NvE2m1;
  static constexpr unsigned kOnes = 0x38383838U;
};

template <class Type>
constexpr bool kScaled = Type::kKind >= TensorKind::mxf8f6f4;
constexpr int kPeakRows = 128;
constexpr int kPeakColumns = 256;  // lines of b
// Columns of an instruction: two accumulators must leave tensor memory for scales.
template <class Type>
constexpr int kStepColumns = kScaled<Type> ? 192 : kPeakColumns;
constexpr int kScalesAt = 2 * 192;  // columns of tensor memory, which hold ones for both operands
constexpr int kScalesColumns = 16;
constexpr int kProofColumns = 16;
constexpr int kPeakRounds = 16;  // instructions of one iteration
constexpr int kTensorColumns = 512;
constexpr int kRowBytes = 128;  // bytes of a line in shared memory: k of four instructions
constexpr int kPatternBytes = 8 * kRowBytes;

// Shared memory: both operands, lines of 128 bytes whose 16-byte chunks are permuted within eight of them.
struct PeakRoom {
  unsigned a, b, barrier, tensor;  // addresses
  __device__ explicit PeakRoom(const void* shared) {
    a = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
    b = a + kPeakRows * kRowBytes;
    barrier = b + kPeakColumns * kRowBytes;
    tensor = barrier + 8;
  }
};

__device__ inline unsigned peak_chunk(unsigned operand, int line, int chunk) {
  return operand + line / 8 * kPatternBytes + line % 8 * kRowBytes + ((chunk ^ line % 8) << 4);
}

template <class Type>
__device__ inline unsigned instruction_of(int columns) {
  return tcgen05_instruction(Type::kCodes, kPeakRows, columns);
}

// d = a · b + (add ? d : 0), by one thread. `tensor`: where tensor memory begins.
template <class Type>
__device__ inline void multiply_tensor(unsigned tensor, unsigned d, unsigned long long a, unsigned long long b,
                                       unsigned instruction, unsigned add) {
#define PBPROBE_UMMA(kind)                                                                            \
  asm volatile("{\n .reg .pred add;\n setp.ne.b32 add, %4, 0;\n tcgen05.mma.cta_group::1.kind::" kind \
               " [%0], %1, %2, %3, add;\n}" ::"r"(d),                                                 \
               "l"(a), "l"(b), "r"(instruction), "r"(add)                                             \
               : "memory")
#define PBPROBE_UMMA_SCALED(kind)                                                                     \
  asm volatile("{\n .reg .pred add;\n setp.ne.b32 add, %4, 0;\n tcgen05.mma.cta_group::1.kind::" kind \
               " [%0], %1, %2, %3, [%5], [%5], add;\n}" ::"r"(d),                                     \
               "l"(a), "l"(b), "r"(instruction), "r"(add), "r"(tensor + kScalesAt)                    \
               : "memory")
  if constexpr (Type::kKind == TensorKind::i8) {
    PBPROBE_UMMA("i8");
  } else if constexpr (Type::kKind == TensorKind::f16) {
    PBPROBE_UMMA("f16");
  } else if constexpr (Type::kKind == TensorKind::f8f6f4) {
    PBPROBE_UMMA("f8f6f4");
  } else if constexpr (Type::kKind == TensorKind::mxf8f6f4) {
    PBPROBE_UMMA_SCALED("mxf8f6f4.block_scale.scale_vec::1X");
  } else if constexpr (Type::kKind == TensorKind::mxf4) {
    PBPROBE_UMMA_SCALED("mxf4nvf4.block_scale.scale_vec::2X");
  } else if constexpr (Type::kKind == TensorKind::nvf4) {
    PBPROBE_UMMA_SCALED("mxf4nvf4.block_scale.scale_vec::4X");
  } else {
    PBPROBE_UMMA("tf32");
  }
#undef PBPROBE_UMMA
#undef PBPROBE_UMMA_SCALED
}

// Writes ones as the scales of block-scaled types; each warp writes its own lanes.
template <class Type>
__device__ inline void write_scales(unsigned tensor) {
  if constexpr (kScaled<Type>) {
    const unsigned lanes = tensor + (threadIdx.x / 32 << 21) + kScalesAt;
    for (int i = 0; i < kScalesColumns; ++i) {
      asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(lanes + i), "r"(Type::kOnes) : "memory");
    }
    asm volatile("tcgen05.wait::st.sync.aligned;\n tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  }
}

// Allocates all of tensor memory by the first warp, and returns its address to every thread.
__device__ inline unsigned take_tensor_memory(const PeakRoom& room) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(room.barrier) : "memory");
  }
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(room.tensor),
                 "n"(kTensorColumns)
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  // Makes the operands that threads have written visible to the tensor cores.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  unsigned tensor;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(tensor) : "r"(room.tensor) : "memory");
  return tensor;
}

__device__ inline void give_tensor_memory(unsigned tensor) {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tensor), "n"(kTensorColumns));
  }
}

// The issuing thread commits; all wait until its MMAs are complete.
__device__ inline void await_mma(const PeakRoom& room) {
  if (threadIdx.x == 0) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(room.barrier)
                 : "memory");
  }
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n .reg .pred done;\n mbarrier.try_wait.parity.shared::cta.b64 done, [%1], 0;\n selp.b32 %0, 1, 0, done;\n}"
        : "=r"(done)
        : "r"(room.barrier)
        : "memory");
  }
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// 32 bytes of k times 2 · kStepColumns · kPeakRounds operations a thread and iteration, an element's bytes less.
template <class Type>
__device__ inline void run_tensor_peak(GpuPeakSample* samples, long long iterations) {
  extern __shared__ char shared[];
  const PeakRoom room(shared);
  unsigned seed = (threadIdx.x * 64U + static_cast<unsigned>(wall_clock() % 8)) * 2654435761U;
  for (int line = static_cast<int>(threadIdx.x); line < kPeakRows + kPeakColumns;
       line += static_cast<int>(blockDim.x)) {
    for (int chunk = 0; chunk < kRowBytes / 16; ++chunk) {
      unsigned words[4];
      for (unsigned& word : words) {
        seed = (seed ^ seed >> 15) * 2246822519U + 0x9e3779b9U;
        word = ((seed ^ seed >> 13) & Type::kAnd) | Type::kOr;
      }
      store_shared(peak_chunk(room.a, line, chunk), make_uint4(words[0], words[1], words[2], words[3]));
    }
  }
  const unsigned tensor = take_tensor_memory(room);
  write_scales<Type>(tensor);
  const unsigned long long begin_ns = wall_clock();
  const unsigned long long begin = clock64();
  if (threadIdx.x == 0) {
    const unsigned instruction = instruction_of<Type>(kStepColumns<Type>);
#pragma unroll 1
    for (long long n = 0; n < iterations; ++n) {
#pragma unroll
      for (int i = 0; i < kPeakRounds; ++i) {
        const unsigned k = i / 2 % 4 * 32;
        multiply_tensor<Type>(tensor, tensor + i % 2 * kStepColumns<Type>, tcgen05_lines(room.a + k),
                              tcgen05_lines(room.b + k), instruction, n > 0 || i > 1);
      }
    }
  }
  await_mma(room);
  const unsigned long long end = clock64();
  const unsigned long long end_ns = wall_clock();
  unsigned sink;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n tcgen05.wait::ld.sync.aligned;"
               : "=r"(sink)
               : "r"(tensor + (threadIdx.x / 32 << 21))
               : "memory");
  give_tensor_memory(tensor);
  if (threadIdx.x == 0) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, sink};
  }
}

// One instruction of 128 rows and 16 columns: a and b by lines of 32 bytes, c by rows, one a thread.
template <class Type>
__device__ inline void run_tensor_proof(const unsigned* a, const unsigned* b, typename Type::Accumulator* c) {
  extern __shared__ char shared[];
  const PeakRoom room(shared);
  const int thread = static_cast<int>(threadIdx.x);
  for (int chunk = 0; chunk < 2; ++chunk) {
    const auto four = [&](const unsigned* from) {
      from += thread * 8 + chunk * 4;
      return make_uint4(from[0], from[1], from[2], from[3]);
    };
    store_shared(peak_chunk(room.a, thread, chunk), four(a));
    if (thread < kProofColumns) store_shared(peak_chunk(room.b, thread, chunk), four(b));
  }
  const unsigned tensor = take_tensor_memory(room);
  write_scales<Type>(tensor);
  const unsigned row = tensor + (threadIdx.x / 32 << 21);
  auto* acc = reinterpret_cast<unsigned*>(c) + thread * kProofColumns;
  for (int i = 0; i < kProofColumns; ++i) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(row + i), "r"(acc[i]) : "memory");
  }
  asm volatile("tcgen05.wait::st.sync.aligned;\n tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (thread == 0) {
    multiply_tensor<Type>(tensor, tensor, tcgen05_lines(room.a), tcgen05_lines(room.b),
                          instruction_of<Type>(kProofColumns), 1);
  }
  await_mma(room);
  for (int i = 0; i < kProofColumns; ++i) {
    unsigned value;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n tcgen05.wait::ld.sync.aligned;"
                 : "=r"(value)
                 : "r"(row + i)
                 : "memory");
    acc[i] = value;
  }
  give_tensor_memory(tensor);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// peak_tcgen05_<name>, and proof_tcgen05_<name>, which runs the instruction once.
#define PBPROBE_TCGEN05_PEAK(name, type)                                                                          \
  extern "C" __global__ void __launch_bounds__(128, 1)                                                            \
      peak_tcgen05_##name(pbprobe::GpuPeakSample* samples, long long iterations) {                                \
    pbprobe::PBPROBE_TARGET::run_tensor_peak<pbprobe::PBPROBE_TARGET::type>(samples, iterations);                 \
  }                                                                                                               \
  extern "C" __global__ void __launch_bounds__(128, 1)                                                            \
      proof_tcgen05_##name(const unsigned* a, const unsigned* b, pbprobe::PBPROBE_TARGET::type::Accumulator* c) { \
    pbprobe::PBPROBE_TARGET::run_tensor_proof<pbprobe::PBPROBE_TARGET::type>(a, b, c);                            \
  }
