// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/repeat.hpp"

#include <algorithm>

namespace pbprobe {

Result<int64_t> repeat_launches(const Launches& launches, int64_t most, double seconds, const SecondsClock& clock) {
  std::vector<std::byte> first;
  std::vector<std::byte> next;
  const double end = clock() + seconds;
  int64_t done = 0;
  for (; done < most && (done < 2 || clock() < end); ++done) {
    PBPROBE_CHECK(launches.launch(), "launch {} of {}", done + 1, most);
    PBPROBE_CHECK(launches.read(done == 0 ? first : next), "launch {} of {}", done + 1, most);
    if (done == 0 || next == first) continue;
    const auto place = std::mismatch(first.begin(), first.end(), next.begin(), next.end()).first - first.begin();
    return make_error(ErrorCode::malformed, "launch {} of {} gave other bits than the first: byte {} of C differs",
                      done + 1, most, place);
  }
  return done;
}

}  // namespace pbprobe
