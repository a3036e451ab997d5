// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/closure.hpp"

#include <gtest/gtest.h>

#include <sys/utsname.h>

#include <set>

#include <fmt/format.h>

#include "core/search_rules.hpp"

namespace pbprobe {
namespace {

File file(std::string path, std::vector<std::string> needed, std::vector<std::string> rpath = {},
          std::vector<std::string> runpath = {}) {
  File made;
  made.path = std::move(path);
  made.needed = std::move(needed);
  made.rpath = std::move(rpath);
  made.runpath = std::move(runpath);
  made.links.emplace();
  return made;
}

// Resolves among `files` and `outside`; returns the resolution of the first file's first dependency.
std::string resolve(std::vector<File> files, const std::set<std::string>& outside = {}) {
  std::set<std::string> inside;
  for (const auto& each : files) inside.insert(each.path);
  resolve_closure(files, [&](const std::string& path) -> std::optional<Found> {
    if (inside.contains(path)) return Found{Provider::artifact, path};
    if (outside.contains(path)) return Found{Provider::outside, path};
    return std::nullopt;
  });
  const Dependency& dependency = files.at(0).links->dependencies.at(0);
  return fmt::format("{} {} {}", name_of(dependency.provider), dependency.path.value_or("-"),
                     dependency.by.value_or("-"));
}

TEST(Closure, OriginIsTheFolderOfTheFile) {
  const File cudnn = file("nvidia/cudnn/lib/libcudnn.so.9", {});
  for (const char* origin : {"$ORIGIN", "${ORIGIN}"}) {
    const std::string folder = std::string(origin) + "/../../nvidia/cudnn/lib";
    EXPECT_EQ(resolve({file("torch/lib/liba.so", {"libcudnn.so.9"}, {folder}), cudnn}),
              "artifact nvidia/cudnn/lib/libcudnn.so.9 DT_RPATH of torch/lib/liba.so");
    EXPECT_EQ(resolve({file("torch/lib/liba.so", {"libcudnn.so.9"}, {}, {folder}), cudnn}),
              "artifact nvidia/cudnn/lib/libcudnn.so.9 DT_RUNPATH of torch/lib/liba.so");
  }
}

// Opened libraries are searched as ld.so does, by SONAME once loaded, and as cuDNN does with its own number.
TEST(Closure, SearchesForOpenedLibraries) {
  const auto opened = [](const std::string& name, std::vector<File> files) {
    files[0].links->opened = {{.name = name}};
    std::set<std::string> inside;
    for (const auto& each : files) inside.insert(each.path);
    resolve_closure(files, [&](const std::string& path) -> std::optional<Found> {
      if (inside.contains(path)) return Found{Provider::artifact, path};
      return std::nullopt;
    });
    const Dependency& dependency = files[0].links->opened->at(0);
    EXPECT_EQ(dependency.name, name);
    return fmt::format("{} {}", name_of(dependency.provider), dependency.path.value_or("-"));
  };
  File cudnn = file("lib/libcudnn.so.9", {}, {}, {"$ORIGIN"});
  cudnn.soname = "libcudnn.so.9";
  const File ops = file("lib/libcudnn_ops.so.9", {});
  EXPECT_EQ(opened("libcudnn_ops.so", {cudnn, ops}), "artifact lib/libcudnn_ops.so.9");
  EXPECT_EQ(opened("libcudnn_adv.so", {cudnn, ops}), "unresolved -");
  EXPECT_EQ(opened("libcuda.so.1", {cudnn}), "driver -");
  File elsewhere = file("other/libcupti.so.13", {});
  elsewhere.soname = "libcupti.so.13";
  EXPECT_EQ(opened("libcupti.so.13", {cudnn, elsewhere}), "artifact other/libcupti.so.13");
}

TEST(Closure, PrefersFirstFolder) {
  const std::vector<File> files{file("torch/lib/liba.so", {"libb.so"}, {"/opt/lib", "$ORIGIN"}),
                                file("torch/lib/libb.so", {})};
  EXPECT_EQ(resolve(files), "artifact torch/lib/libb.so DT_RPATH of torch/lib/liba.so");
  EXPECT_EQ(resolve(files, {"/opt/lib/libb.so"}), "outside /opt/lib/libb.so DT_RPATH of torch/lib/liba.so");
}

TEST(Closure, RpathIsIgnoredWhereThereIsARunpath) {
  EXPECT_EQ(resolve({file("a/liba.so", {"libb.so"}, {"$ORIGIN"}, {"/nowhere"}), file("a/libb.so", {})}),
            "unresolved - -");
}

TEST(Closure, AppliesDtRpathToDependencies) {
  // main loads liba, whose own tags lead nowhere; main's DT_RPATH holds libb as well, its DT_RUNPATH would not.
  const File library = file("x/liba.so", {"libb.so"});
  const File other = file("y/libb.so", {});
  EXPECT_EQ(resolve({library, other, file("main.so", {"liba.so"}, {"$ORIGIN/x", "$ORIGIN/y"})}),
            "artifact y/libb.so DT_RPATH of main.so");
  EXPECT_EQ(resolve({library, other, file("main.so", {"liba.so"}, {}, {"$ORIGIN/x", "$ORIGIN/y"})}), "unresolved - -");
}

TEST(Closure, IgnoresLoaderRpathIfFileHasRunpath) {
  EXPECT_EQ(resolve({file("x/liba.so", {"libb.so"}, {}, {"/nowhere"}), file("y/libb.so", {}),
                     file("main.so", {"liba.so"}, {"$ORIGIN/x", "$ORIGIN/y"})}),
            "unresolved - -");
}

TEST(Closure, FindsAlreadyLoadedLibraries) {
  EXPECT_EQ(resolve({file("x/liba.so", {"libb.so"}), file("y/libb.so", {}),
                     file("main.so", {"liba.so", "libb.so"}, {}, {"$ORIGIN/x", "$ORIGIN/y"})}),
            "artifact y/libb.so loaded before by main.so");
}

TEST(Closure, LoadersInACircleEnd) {
  EXPECT_EQ(resolve({file("a.so", {"missing.so", "b.so"}, {"$ORIGIN"}), file("b.so", {"a.so"}, {"$ORIGIN"})}),
            "unresolved - -");
}

TEST(Closure, MarksLibrariesOfOtherProcessorsOnly) {
  utsname system{};
  ASSERT_EQ(uname(&system), 0);
  const std::string here = system.machine, other = here == "aarch64" ? "x86_64" : "aarch64";
  for (const auto& [machine, by] :
       {std::pair(here, std::optional<std::string>()), {other, std::string(kNotSearched)}}) {
    std::vector<File> files{file("a.so", {"libgomp.so.1", "libc.so.6"})};
    files[0].machine = machine;
    resolve_closure(files, [](const std::string&) { return std::optional<Found>(); });
    mark_not_searched(files);
    EXPECT_EQ(files[0].links->dependencies[0].provider, Provider::unresolved);
    EXPECT_EQ(files[0].links->dependencies[0].by, by) << machine;
    EXPECT_EQ(files[0].links->dependencies[1].by, std::nullopt) << machine;
  }
}

// A platform tag lets a wheel take libz from the system of its users. On disk, the system's folders decide.
TEST(Closure, TakesAllowedLibrariesOfWheelFromSystem) {
  for (const bool in_wheel : {true, false}) {
    std::vector<File> files{file("a.so", {"libz.so.1", "libGL.so.1", "libmvec.so.1", "libusb-1.0.so.0"})};
    resolve_closure(
        files, [](const std::string&) { return std::optional<Found>(); }, in_wheel);
    const Provider allowed = in_wheel ? Provider::system : Provider::unresolved;
    std::vector<Provider> found;
    for (const auto& dependency : files[0].links->dependencies) found.push_back(dependency.provider);
    EXPECT_EQ(found, (std::vector{allowed, allowed, Provider::system, Provider::unresolved})) << in_wheel;
  }
}

TEST(Closure, DriverAndSystemAreNeverUnresolved) {
  EXPECT_EQ(resolve({file("a.so", {"libcuda.so.1"})}), "driver - -");
  EXPECT_EQ(resolve({file("a.so", {"libnvidia-ml.so.1"})}), "driver - -");
  EXPECT_EQ(resolve({file("a.so", {"libc.so.6"})}), "system - -");
  EXPECT_EQ(resolve({file("a.so", {"ld-linux-x86-64.so.2"})}), "system - -");
  EXPECT_EQ(resolve({file("a.so", {"libcudart.so.13"})}), "unresolved - -");
}

TEST(Closure, DefaultFoldersOfItsOwnMachineComeLast) {
  File needs = file("liba.so", {"libz.so.1"}, {}, {"/opt"});
  needs.machine = "aarch64";
  EXPECT_EQ(resolve({needs}, {"/usr/lib/aarch64-linux-gnu/libz.so.1"}),
            "system /usr/lib/aarch64-linux-gnu/libz.so.1 the system's default folders");
  EXPECT_EQ(resolve({needs}, {"/usr/lib/aarch64-linux-gnu/libz.so.1", "/opt/libz.so.1"}),
            "outside /opt/libz.so.1 DT_RUNPATH of liba.so");
  needs.machine = "x86_64";
  EXPECT_EQ(resolve({needs}, {"/usr/lib/aarch64-linux-gnu/libz.so.1"}), "unresolved - -");
}

}  // namespace
}  // namespace pbprobe
