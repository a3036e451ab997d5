// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

namespace pbprobe {

// Runs when its scope is left, by an exception too.
template <class Action>
struct Finally {
  Action action;
  ~Finally() { action(); }
};
template <class Action>
Finally(Action) -> Finally<Action>;

}  // namespace pbprobe
