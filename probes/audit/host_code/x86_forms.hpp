// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CPU features of x86 instruction forms, from Zydis. Each form is looked up once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

// Cache of the CPU features that each encoding of an x86-64 instruction (form) needs, by the tables of Zydis.
class X86Forms {
 public:
  static constexpr uint32_t kLegacy = 0;                  // map:2 opcode:8 66:1 rep:2 W:1 reg:3 register:1
  static constexpr uint32_t kVex = kLegacy + (1U << 18);  // map:2 opcode:8 pp:2 W:1 L:1 reg:3 register:1
  static constexpr uint32_t kXop = kVex + (1U << 18);     // map:2 opcode:8 pp:2 W:1 L:1 reg:3 register:1
  static constexpr uint32_t kEvex = kXop + (1U << 18);    // map:3 opcode:8 pp:2 W:1 L:2 b:1 reg:3 register:1
  static constexpr uint32_t kForms = kEvex + (1U << 21);
  static constexpr uint32_t kVaried = kForms;  // no form: the whole ModRM byte selects the instruction (0F 01)
  static constexpr uint8_t kInvalid = 0;       // no instruction, as Zydis sees it

  // Returns the number of the feature set that a form needs. `code` begins with an instruction of the form.
  [[nodiscard]] uint8_t find_set(uint32_t form, std::span<const uint8_t> code) {
    const uint8_t known = form == kVaried ? kInvalid : sets_[form].load(std::memory_order_relaxed);
    return known != kInvalid ? known : ask(form, code);
  }

  // Returns the number for an opcode of one byte that belongs to no base set; kInvalid for all others. `operand`: its
  // ModRM byte.
  [[nodiscard]] static uint8_t set_of_plain(uint8_t opcode, uint8_t operand);

  [[nodiscard]] static FeatureSet features(uint8_t set);

  // Number of APX: code with the prefix REX2, or legacy instructions in EVEX.
  static constexpr uint8_t kApx = 247;

  // Returns the instance that all threads share.
  [[nodiscard]] static X86Forms& shared();

 private:
  X86Forms() : sets_(new std::atomic<uint8_t>[kForms]()) {}
  uint8_t ask(uint32_t form, std::span<const uint8_t> code);
  std::unique_ptr<std::atomic<uint8_t>[]> sets_;
};

}  // namespace pbprobe
