// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <array>

#include "core/facts/comparison.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {
namespace {

constexpr std::array<EnumName<DriverState>, 5> kDriverStates{{
    {DriverState::ok, "ok"},
    {DriverState::no_driver, "no_driver"},
    {DriverState::too_old, "too_old"},
    {DriverState::no_gpu, "no_gpu"},
    {DriverState::gpu_bad, "gpu_bad"},
}};
constexpr std::array<EnumName<Obstacle>, 11> kObstacles{{
    {Obstacle::memory, "out_of_memory"},
    {Obstacle::busy, "busy"},
    {Obstacle::device, "device_failed"},
    {Obstacle::missing, "missing"},
    {Obstacle::time_limit, "time_limit"},
    {Obstacle::driver, "driver"},
    {Obstacle::permission, "not_permitted"},
    {Obstacle::no_device, "no_device"},
    {Obstacle::unsupported, "unsupported"},
    {Obstacle::killed, "killed"},
    {Obstacle::unexplained, "unexplained"},
}};
constexpr std::array<EnumName<Outcome>, 3> kOutcomes{{
    {Outcome::pass, "pass"},
    {Outcome::fail, "fail"},
    {Outcome::unknown, "unknown"},
}};
constexpr std::array<EnumName<Severity>, 3> kSeverities{{
    {Severity::fail, "fail"},
    {Severity::warn, "warn"},
    {Severity::note, "note"},
}};
constexpr std::array<EnumName<Subject>, 8> kSubjects{{
    {Subject::reading, "reading"},
    {Subject::artifact, "artifact"},
    {Subject::closure, "closure"},
    {Subject::cpu, "cpu"},
    {Subject::gpu, "gpu"},
    {Subject::running, "running"},
    {Subject::baseline, "baseline"},
    {Subject::recipe, "recipe"},
}};
constexpr std::array<EnumName<GpuCode>, 5> kGpuCodes{{
    {GpuCode::native, "native"},
    {GpuCode::same_major, "same_major"},
    {GpuCode::ptx, "ptx"},
    {GpuCode::none, "none"},
    {GpuCode::unknown, "unknown"},
}};
constexpr std::array<EnumName<Level>, 5> kLevels{{
    {Level::claimed, "claimed"},
    {Level::shipped, "shipped"},
    {Level::loaded, "loaded"},
    {Level::executed, "executed"},
    {Level::measured, "measured"},
}};
constexpr std::array<EnumName<Provider>, 5> kProviders{{
    {Provider::artifact, "artifact"},
    {Provider::outside, "outside"},
    {Provider::system, "system"},
    {Provider::driver, "driver"},
    {Provider::unresolved, "unresolved"},
}};
constexpr std::array<EnumName<CodeClass>, 8> kCodeClasses{{
    {CodeClass::unguarded, "unguarded"},
    {CodeClass::static_initializer, "static_initializer"},
    {CodeClass::default_capability, "default_capability"},
    {CodeClass::cpu_capability, "cpu_capability"},
    {CodeClass::dispatched, "dispatched"},
    {CodeClass::capability_leak, "capability_leak"},
    {CodeClass::unclassified, "unclassified"},
    {CodeClass::replaced, "replaced"},
}};
constexpr std::array<EnumName<LoadOutcome>, 3> kLoadOutcomes{{
    {LoadOutcome::loaded, "loaded"},
    {LoadOutcome::died, "died"},
    {LoadOutcome::unknown, "unknown"},
}};
constexpr std::array<EnumName<Stance>, 2> kStances{{
    {Stance::lenient, "lenient"},
    {Stance::strict, "strict"},
}};
constexpr std::array<EnumName<CheckState>, 4> kCheckStates{{
    {CheckState::passed, "passed"},
    {CheckState::found, "found"},
    {CheckState::unanswered, "unanswered"},
    {CheckState::not_asked, "not_asked"},
}};
constexpr std::array<EnumName<WaiverState>, 5> kWaiverStates{{
    {WaiverState::used, "used"},
    {WaiverState::expired, "expired"},
    {WaiverState::unused, "unused"},
    {WaiverState::too_broad, "too_broad"},
    {WaiverState::forbidden, "forbidden"},
}};
constexpr std::array<EnumName<InputKind>, 2> kInputKinds{{
    {InputKind::artifact, "artifact"},
    {InputKind::facts, "facts"},
}};
constexpr std::array<EnumName<OperatorState>, 5> kOperatorStates{{
    {OperatorState::right, "right"},
    {OperatorState::random, "random"},
    {OperatorState::wrong, "wrong"},
    {OperatorState::crashed, "crashed"},
    {OperatorState::not_run, "not_run"},
}};
constexpr std::array<EnumName<Change>, 3> kChanges{{
    {Change::gained, "gained"},
    {Change::lost, "lost"},
    {Change::changed, "changed"},
}};
constexpr std::array<EnumName<Shift>, 3> kShifts{{
    {Shift::faster, "faster"},
    {Shift::slower, "slower"},
    {Shift::not_shown, "not_shown"},
}};

constexpr std::array<EnumName<TorchAbi>, 4> kTorchAbis{{
    {TorchAbi::none, "none"},
    {TorchAbi::stable, "stable"},
    {TorchAbi::cxx, "cxx"},
    {TorchAbi::own, "own"},
}};

}  // namespace

std::span<const EnumName<DriverState>> enum_names(DriverState) {
  return kDriverStates;
}
std::span<const EnumName<Obstacle>> enum_names(Obstacle) {
  return kObstacles;
}
std::span<const EnumName<Outcome>> enum_names(Outcome) {
  return kOutcomes;
}
std::span<const EnumName<Severity>> enum_names(Severity) {
  return kSeverities;
}
std::span<const EnumName<Subject>> enum_names(Subject) {
  return kSubjects;
}
std::span<const EnumName<GpuCode>> enum_names(GpuCode) {
  return kGpuCodes;
}
std::span<const EnumName<Level>> enum_names(Level) {
  return kLevels;
}
std::span<const EnumName<LoadOutcome>> enum_names(LoadOutcome) {
  return kLoadOutcomes;
}
std::span<const EnumName<CodeClass>> enum_names(CodeClass) {
  return kCodeClasses;
}
std::span<const EnumName<Provider>> enum_names(Provider) {
  return kProviders;
}
std::span<const EnumName<Stance>> enum_names(Stance) {
  return kStances;
}
std::span<const EnumName<CheckState>> enum_names(CheckState) {
  return kCheckStates;
}
std::span<const EnumName<WaiverState>> enum_names(WaiverState) {
  return kWaiverStates;
}
std::span<const EnumName<TorchAbi>> enum_names(TorchAbi) {
  return kTorchAbis;
}
std::span<const EnumName<InputKind>> enum_names(InputKind) {
  return kInputKinds;
}
std::span<const EnumName<OperatorState>> enum_names(OperatorState) {
  return kOperatorStates;
}
std::span<const EnumName<Change>> enum_names(Change) {
  return kChanges;
}
std::span<const EnumName<Shift>> enum_names(Shift) {
  return kShifts;
}

}  // namespace pbprobe
