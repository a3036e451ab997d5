// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

namespace pbprobe {

// Runs `action` at the end of the scope, also after an exception.
template <class Action>
struct ScopeExit {
  Action action;
  ~ScopeExit() { action(); }
};
template <class Action>
ScopeExit(Action) -> ScopeExit<Action>;

}  // namespace pbprobe
