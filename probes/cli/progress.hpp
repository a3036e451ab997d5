// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What is being done, on standard error: on a terminal one line with a bar, which is written over; in a log a line
// every ten seconds. And what is left of it where somebody stops the program.
#pragma once

#include <string>
#include <string_view>

namespace pbprobe::cli {

// A step begins.
void show_progress(std::string_view step);
// How long the whole may take: what a bar is a part of. 0: nobody knows.
void expect_seconds(double seconds);
// It is over: nothing of it stays on the terminal.
void clear_progress();

// "[#####-----]  6 s of about 10  measuring" in so many columns; `known` 0: a bar that moves to and fro.
[[nodiscard]] std::string progress_line(std::string_view step, double seconds, double expected, size_t columns,
                                        bool unicode);

// From now on SIGINT, SIGTERM and SIGHUP end the program only once its children are ended and what is half written is
// removed, with a line that says how far it came.
void clean_up_when_stopped();
// Before a result is written: it does not return where the program is being stopped.
void wait_if_stopped();

}  // namespace pbprobe::cli
