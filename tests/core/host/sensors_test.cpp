// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/sensors.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/temp_folder.hpp"

namespace pbprobe {
namespace {

class SensorsOf : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  TracePoint at(double seconds) { return sensors().read(seconds).front().second; }
  Sensors& sensors() {
    if (!sensors_) sensors_.emplace(HostSources{.root = folder_.path().string()}, false);
    return *sensors_;
  }

 private:
  TempFolder folder_ = *TempFolder::make();
  std::optional<Sensors> sensors_;
};

TEST_F(SensorsOf, AMachineThatTellsNothingHasNothing) {
  EXPECT_EQ(sensors().read(0).size(), 1U);
  EXPECT_EQ(at(1).clock_mhz, std::nullopt);
  EXPECT_EQ(at(1).power_watts, std::nullopt);
  EXPECT_EQ(at(1).celsius, std::nullopt);
}

TEST_F(SensorsOf, TheCpuTellsItsFastestClockPackageTemperatureAndPower) {
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2100000");
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3400000");
  write("sys/class/thermal/thermal_zone0/type", "acpitz");
  write("sys/class/thermal/thermal_zone0/temp", "20000");
  write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp");
  write("sys/class/thermal/thermal_zone1/temp", "61500");
  write("sys/class/powercap/intel-rapl:0/energy_uj", "5000000");
  const TracePoint first = at(1);
  EXPECT_EQ(first.seconds, 1);
  EXPECT_EQ(first.clock_mhz, 3400);
  EXPECT_EQ(first.celsius, 61.5);
  EXPECT_EQ(first.power_watts, std::nullopt) << "power is a difference";
  write("sys/class/powercap/intel-rapl:0/energy_uj", "65000000");
  EXPECT_EQ(at(3).power_watts, 30) << "60 J in 2 s";
  write("sys/class/powercap/intel-rapl:0/energy_uj", "1000000");
  EXPECT_EQ(at(4).power_watts, std::nullopt) << "the counter began again";
}

TEST_F(SensorsOf, WithoutThermalZonesTheSensorsOfTheCpuAreAsked) {
  write("sys/class/hwmon/hwmon0/name", "nvme");
  write("sys/class/hwmon/hwmon0/temp1_input", "30000");
  write("sys/class/hwmon/hwmon1/name", "k10temp");
  write("sys/class/hwmon/hwmon1/temp1_input", "48250");
  EXPECT_EQ(at(0).celsius, 48.25);
}

}  // namespace
}  // namespace pbprobe
