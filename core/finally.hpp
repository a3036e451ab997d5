// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

namespace pbprobe {

// Runs `action` at the end of the scope, also after an exception.
template <class Action>
struct Finally {
  Action action;
  ~Finally() { action(); }
};
template <class Action>
Finally(Action) -> Finally<Action>;

}  // namespace pbprobe
