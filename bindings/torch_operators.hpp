// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Operators that can be called without torch's dispatcher. Each throws std::runtime_error for shapes and types that it
// does not support, and if this machine has no kernel for them.
#pragma once

#include "bindings/torch_abi.hpp"

namespace pbprobe::ops {

// Returns a[m,k] · b[k,n] in the operands' type, or for batches [b,m,k] · [b,k,n].
torch_abi::Tensor mm(const torch_abi::TensorView& a, const torch_abi::TensorView& b);

// Returns x[…,k] · weight[n,k]ᵀ + bias[n]; a null bias adds nothing.
torch_abi::Tensor linear(const torch_abi::TensorView& x, const torch_abi::TensorView& weight,
                         const torch_abi::TensorView* bias);

// Returns a[m,k] · b[k,n] of INT8 (a: or UINT8) as INT32, exact modulo 2^32, as torch._int_mm does.
torch_abi::Tensor int_mm(const torch_abi::TensorView& a, const torch_abi::TensorView& b);

}  // namespace pbprobe::ops
