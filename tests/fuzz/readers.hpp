// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Functions of the fuzz targets: they make all calls that the audit makes to a reader. Unit tests run the functions on
// the committed seeds, so that a seed that once crashed stays fixed without a fuzzer.
#pragma once

#include <cstdint>
#include <span>

namespace pbprobe::fuzz {

void read_elf_file(std::span<const uint8_t> input);
void read_machine_code(std::span<const uint8_t> input);
void read_fatbin_section(std::span<const uint8_t> input);
void read_zip_file(std::span<const uint8_t> input);
void read_fatbin_entry(std::span<const uint8_t> input);
void read_version_text(std::span<const uint8_t> input);
void read_wheel(std::span<const uint8_t> input);
void read_store_paths(std::span<const uint8_t> input);
void read_facts(std::span<const uint8_t> input);

}  // namespace pbprobe::fuzz
