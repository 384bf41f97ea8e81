// For tests: a world with events set by the test, so that every second of it can be worked out by
// hand.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/jobs/build_machine.h"
#include "twin/world/sample_fixture.h"
#include "twin/world/world.h"

namespace orrery::world {

inline constexpr failure::FaultScope kTakesHost = failure::FaultScope::host;
inline constexpr failure::FaultScope kTakesProcess = failure::FaultScope::process;

// `Spec` is a WorldSpec, or something that adds processes to one. A reset repairs every host in 200
// s; hosts draw 2 kW idle and 10 kW at their peak.
template <class Spec>
class ClockedWorld : public sim::EventHandler {
 public:
  ClockedWorld(design::Design d, Spec (*spec_of)(const machine::Machine&, Seconds), Seconds horizon)
      : machine(jobs::build_machine(std::move(d), machine::known())),
        scenario(spec_of(machine, horizon)) {
    for (FleetPart& part : scenario.fleets) {
      part.repair = {.reset = seconds(200), .hands = hours(3), .hands_share = 0};
      part.host_power = {.nameplate = Watts(12000), .peak = Watts(10000), .idle = Watts(2000)};
      part.host_power.accelerators = Watts(6000);
    }
  }
  ~ClockedWorld() {
    if (world) world->kernel().forget(*this);
  }
  ClockedWorld(const ClockedWorld&) = delete;
  ClockedWorld& operator=(const ClockedWorld&) = delete;

  void at(double second, std::function<void(World&)> what) {
    calls_.emplace_back(second, std::move(what));
  }
  void strike(double second, int host, const failure::FaultCause& cause) {
    at(second,
       [host, cause](World& w) { w.faults().strike(kFirstFleet, host_at(host), cause, 0); });
  }
  // Records in bins of a second unless `bins` says otherwise.
  World& run(bool is_recorded = false, int bins = 0) {
    const sim::SimTime end = sim::SimTime::from(scenario.horizon);
    if (bins == 0) bins = static_cast<int>(scenario.horizon.base());
    if (is_recorded) recorder = std::make_unique<Recorder>(end, bins);
    world = std::make_unique<World>(scenario, 5, true, recorder.get());
    populate();
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      world->kernel().schedule(sim::SimTime::from(Seconds(calls_[c].first)),
                               sim::EventRank::control, *this, 0, c);
    }
    EXPECT_TRUE(world->run({}));
    EXPECT_TRUE(world->is_sound());
    if (recorder) series = recorder->series(end);
    return *world;
  }
  void on_event(sim::Kernel&, std::uint32_t, std::uint64_t data) override {
    calls_[data].second(*world);
  }
  // The value of a series column in the given second.
  double level(const std::string& column, std::size_t second) const {
    for (std::size_t c = 0; c < series.columns.size(); ++c) {
      if (series.columns[c] == column) return series.means[second][c];
    }
    ADD_FAILURE() << "no column " << column;
    return -1;
  }
  double booked_s(Cause cause, design::FleetIndex fleet = {}) const {
    const GpuTime booked = world->fleet(fleet).slots().ledger().booked()[cluster::at(cause)];
    return static_cast<double>(booked) / 1e9;
  }

  machine::Machine machine;
  Spec scenario;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<World> world;
  Series series;

 protected:
  // Adds processes to the world before it runs.
  virtual void populate() {}

 private:
  std::vector<std::pair<double, std::function<void(World&)>>> calls_;
};

// A world without processes.
struct IdleWorld : ClockedWorld<WorldSpec> {
  IdleWorld(design::Design d, Seconds horizon)
      : ClockedWorld(std::move(d), &world_spec_of, horizon) {}
};

}  // namespace orrery::world
