// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Another CPU than this machine's, emulated by QEMU's user mode: a build machine without the hardware tries whether a
// libtorch starts and computes correctly on the minimum CPU that it claims. Speeds say nothing, and are not measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/facts/host.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct Emulation {
  std::string cpu;                // as `qemu-… -cpu help` names it: "SandyBridge", "max,sve-default-vector-length=32"
  std::filesystem::path program;  // pbprobe for the emulated platform; empty: this one
  std::filesystem::path sysroot;  // where its libc lies; empty: /usr/TRIPLET where the program is another platform's
};

struct Emulator {
  std::vector<std::string> words;  // starts pbprobe in it; arguments follow
  std::string sentence;            // "emulated by qemu-x86_64-static -cpu SandyBridge"
  Host host;                       // what pbprobe sees in there
};

// `self`: this program's file. Errors: not_found (no QEMU, no program), malformed (no program for Linux), usage (QEMU
// does not know that CPU), failed_child (pbprobe does not start in there).
[[nodiscard]] Result<Emulator> find_emulator(const Emulation& emulation, const std::filesystem::path& self);

}  // namespace pbprobe
