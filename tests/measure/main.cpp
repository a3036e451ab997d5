// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The test program is its own child: started as `… measure --request-fd N --result-fd M` it is what pbprobe measure is;
// with --fault=… before that it is a program that misbehaves before it answers.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include <gtest/gtest.h>

#include "probes/measure/child/child.hpp"

namespace {

[[noreturn]] void misbehave(std::string_view fault, int result_descriptor) {
  if (fault == "exit") _exit(3);
  if (fault == "abort") std::abort();
  if (fault == "daemon" && fork() == 0) setsid();
  if (fault == "hang" || fault == "daemon") {
    std::signal(SIGTERM, SIG_IGN);
    while (true) pause();
  }
  static constexpr char kText[] = "Usage: something [else]\n";
  [[maybe_unused]] const ssize_t written = write(result_descriptor, kText, std::strlen(kText));
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kFault = "--fault=";
  const bool fault = argc > 1 && std::string_view(argv[1]).substr(0, kFault.size()) == kFault;
  const int first = fault ? 2 : 1;
  if (argc >= first + 5 && std::string_view(argv[first]) == "measure") {
    const int result = std::atoi(argv[first + 4]);
    if (fault) misbehave(std::string_view(argv[1]).substr(kFault.size()), result);
    return pbprobe::measure_main(std::atoi(argv[first + 2]), result, argc > first + 5);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
