// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/fleet/facts.hpp"

#include <array>

#include "core/facts/node.hpp"

namespace pbprobe {
namespace {

constexpr std::array<EnumName<RankState>, 4> kRankStates{{
    {RankState::running, "running"},
    {RankState::finished, "finished"},
    {RankState::died, "died"},
    {RankState::hung, "hung"},
}};
constexpr std::array<EnumName<PhaseState>, 4> kPhaseStates{{
    {PhaseState::running, "running"},
    {PhaseState::done, "done"},
    {PhaseState::skipped, "skipped"},
    {PhaseState::failed, "failed"},
}};
constexpr std::array<EnumName<FleetFault>, 11> kFleetFaults{{
    {FleetFault::wrong, "wrong"},
    {FleetFault::died, "died"},
    {FleetFault::hung, "hung"},
    {FleetFault::missing, "missing"},
    {FleetFault::slow, "slow"},
    {FleetFault::late, "late"},
    {FleetFault::slow_link, "slow_link"},
    {FleetFault::lossy_link, "lossy_link"},
    {FleetFault::slower, "slower"},
    {FleetFault::different, "different"},
    {FleetFault::error, "error"},
}};

}  // namespace

std::span<const EnumName<RankState>> enum_names(RankState) {
  return kRankStates;
}
std::span<const EnumName<PhaseState>> enum_names(PhaseState) {
  return kPhaseStates;
}
std::span<const EnumName<FleetFault>> enum_names(FleetFault) {
  return kFleetFaults;
}

}  // namespace pbprobe
