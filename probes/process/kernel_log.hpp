// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Xid messages of NVIDIA's driver in the kernel log (/dev/kmsg).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

// Returns the records of /dev/kmsg; nullopt if this process may not read it, as in most containers.
[[nodiscard]] std::optional<std::vector<std::string>> read_kernel_log();

// Returns the time of the kernel log's clock, in microseconds since the machine was started.
[[nodiscard]] int64_t kernel_log_now();

// Returns the newest Xid message from `since_us` on: "Xid (PCI:0000:1b:00): 13, pid=12, …"; nullopt without one.
[[nodiscard]] std::optional<std::string> find_xid(const std::vector<std::string>& records, int64_t since_us);

// Reports whether the Xid says that the hardware failed: memory, a link, or a GPU that is off the bus. Source: NVIDIA,
// Xid Errors, "Xid Error Listing".
[[nodiscard]] bool is_hardware_xid(std::string_view message);

}  // namespace pbprobe
