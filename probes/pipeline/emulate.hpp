// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Emulation of another CPU by QEMU's user mode: a build machine without the hardware tests whether libtorch starts and
// computes correctly on the minimum CPU of its claim. Speeds are meaningless under emulation and are not measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/facts/claim.hpp"
#include "core/facts/host.hpp"
#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe {

// CPU to emulate, and pbprobe and the libc for it.
struct Emulation {
  std::string cpu;                // name in `qemu-… -cpu help`: "SandyBridge", "max,sve-default-vector-length=32"
  std::filesystem::path program;  // pbprobe for the emulated platform; empty for this program
  std::filesystem::path sysroot;  // folder of the emulated libc; empty for /usr/TRIPLET
};

struct Emulator {
  std::vector<std::string> words;  // starts pbprobe in it; arguments follow
  std::string sentence;            // "emulated by qemu-x86_64-static -cpu SandyBridge"
  Host host;                       // host that pbprobe detects under emulation
};

// Starts pbprobe under QEMU. `self` is the file of this program. Errors: not_found (no QEMU, no program), malformed
// (not a Linux program), usage (QEMU does not know the CPU), failed_child (pbprobe does not start under QEMU).
[[nodiscard]] Result<Emulator> find_emulator(const Emulation& emulation, const std::filesystem::path& self);

// Loads libtorch on an emulated CPU for each claimed CPU row; returns nothing without a claimed row. `artifact` as for
// audit(). `program` is the pbprobe to run; empty for this program. Uses one core for some seconds; may run in parallel
// with an audit of the same artifact.
[[nodiscard]] std::vector<EmulatedLoad> load_emulated(const std::filesystem::path& artifact, const Claim& claim,
                                                      const std::filesystem::path& program);

}  // namespace pbprobe
