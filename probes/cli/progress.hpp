// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Progress on standard error: on a terminal one line with a bar, in a log one line every ten seconds. Also ends the
// program on a signal.
#pragma once

#include <string>
#include <string_view>

namespace pbprobe::cli {

// A step begins.
void show_progress(std::string_view step);
// Sets the expected total time, which scales the bar; 0 if unknown.
void expect_seconds(double seconds);
// Erases the progress line.
void clear_progress();

// Returns "#########-------   6 s of about 10  measuring", cut to so many columns; `expected` 0 (unknown) draws a bar
// that moves back and forth.
[[nodiscard]] std::string progress_line(std::string_view step, double seconds, double expected, size_t columns,
                                        bool unicode);

// Makes SIGINT, SIGTERM and SIGHUP end the program only after its children have ended and incomplete files are removed.
// Prints how far the run came.
void clean_up_when_stopped();
// Before a result is written: it does not return where the program is being stopped.
void wait_if_stopped();

}  // namespace pbprobe::cli
