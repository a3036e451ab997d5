// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests generated from rows of the table: their common parts, and the tests of targets and of peak loops.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/gemm/table.hpp"
#include "tests/kernels/backend.hpp"

namespace pbprobe::test {

// A test whose body is a function.
void add(const std::string& suite, const char* name, std::function<void()> body);

// Backend of a kernel; prepare() skips or fails without one.
struct Ready {
  std::unique_ptr<Backend> backend;
  bool ready = false;
};
void prepare(const Kernel& kernel, Ready& to);

// "12.1" as numbers of machine code have it: "121".
std::string without_dot(std::string capability);

void register_target(const Target& target);
void register_peak(const Peak& peak);

}  // namespace pbprobe::test
