// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/json.hpp"

namespace pbprobe {

#define PBPROBE_DEFINE_JSON(T)                      \
  template Json detail::Writer::write<T>(const T&); \
  template Result<T> from_json<T>(const Json&);
PBPROBE_FACTS_WITH_JSON(PBPROBE_DEFINE_JSON)
#undef PBPROBE_DEFINE_JSON

}  // namespace pbprobe
