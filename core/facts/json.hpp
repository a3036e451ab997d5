// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// core/json.hpp for the facts: readers and writers are compiled once, in json.cpp. Compiling the reader and writer of
// Report takes five seconds.
#pragma once

#include "core/facts/report.hpp"
#include "core/json.hpp"

#define PBPROBE_FACTS_WITH_JSON(X) X(Report) X(Inventory) X(Host) X(Measurements) X(Verdict) X(Policy) X(Claim)

namespace pbprobe {

#define PBPROBE_DECLARE_JSON(T)                            \
  extern template Json detail::Writer::write<T>(const T&); \
  extern template Result<T> from_json<T>(const Json&);
PBPROBE_FACTS_WITH_JSON(PBPROBE_DECLARE_JSON)
#undef PBPROBE_DECLARE_JSON

}  // namespace pbprobe
