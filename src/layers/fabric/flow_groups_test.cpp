// Solving only what an event affects, compared with solving everything; cancelling; observers.
#include "layers/fabric/flow_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/base/random.h"
#include "layers/fabric/flow_engine.h"
#include "layers/fabric/traffic.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A job that all-reduces over two rings, one in each direction, over the hosts of one leaf: in a
// step every host sends a part to both neighbours, and the next step begins when all have arrived.
class RingJob final : public sim::EventHandler, public FlowObserver {
 public:
  RingJob(FlowEngine& engine, const FabricGraph& graph, Router& router, int leaf, int hosts,
          double part)
      : engine_(engine), graph_(graph), part_(part), steps_left_(2 * (hosts - 1)) {
    for (int h = 0; h < hosts; ++h) {
      for (const int other : {(h + 1) % hosts, (h + hosts - 1) % hosts}) {
        router.route(leaf * hosts + h, leaf * hosts + other, 0, paths_.emplace_back());
      }
    }
  }

  void on_event(sim::Kernel&, std::uint32_t, std::uint64_t) override {
    if (steps_left_-- == 0) return;
    flying_ = paths_.size();
    for (const auto& path : paths_) {
      engine_.start(
          {.path = path, .bytes = part_, .latency = path_latency(graph_, path), .observer = this});
    }
  }
  void on_flow_done(sim::Kernel& kernel, FlowId flow, std::uint64_t) override {
    ends.push_back(engine_.finish_time(flow).ns());
    if (--flying_ == 0) on_event(kernel, 0, 0);
  }

  std::vector<std::int64_t> ends;

 private:
  FlowEngine& engine_;
  const FabricGraph& graph_;
  double part_;
  int steps_left_;
  std::vector<std::vector<LinkId>> paths_;
  std::size_t flying_ = 0;
};

struct Rings {
  std::vector<std::vector<std::int64_t>> ends;  // by job
  std::uint64_t visits = 0;
};

// Jobs of different sizes that begin at different times, from `begin` on.
Rings run_rings(int jobs, sim::SimTime begin, Seconds length, FlowOptions options) {
  constexpr int kHosts = 4;
  const FabricGraph graph = build_tree({.hosts_per_leaf = kHosts,
                                        .leaves_per_group = jobs,
                                        .leaf_uplinks = kHosts,
                                        .spines_per_group = kHosts});
  Router router(graph, {});
  sim::Kernel kernel;
  FlowEngine engine(kernel, capacities_of(graph), options);
  engine.keep_finished(false);
  std::vector<std::unique_ptr<RingJob>> rings;
  for (int j = 0; j < jobs; ++j) {
    rings.push_back(std::make_unique<RingJob>(engine, graph, router, j, kHosts, 1e6 + 1e3 * j));
    kernel.schedule(begin + sim::SimTime::nanoseconds(37 * j), sim::EventRank::start,
                    *rings.back());
  }
  kernel.run(begin.after(length));
  Rings out{.visits = engine.visits()};
  for (const auto& ring : rings) out.ends.push_back(ring->ends);
  return out;
}

// 1,024 jobs on separate leaves: an event solves only its own job's flows again.
TEST(FlowGroups, thousand_rings_are_solved_separately) {
  const Seconds length = microseconds(45);  // all begin, and some dozen steps end
  const Rings apart = run_rings(1024, sim::SimTime(), length, {});
  const Rings whole = run_rings(1024, sim::SimTime(), length, {.whole = true});
  std::size_t ended = 0;
  for (const auto& job : apart.ends) ended += job.size();
  EXPECT_GT(ended, 300u);
  EXPECT_EQ(apart.ends, whole.ends);
  EXPECT_GE(whole.visits, 50 * apart.visits);
  RecordProperty("visits_apart", std::to_string(apart.visits));
  RecordProperty("visits_whole", std::to_string(whole.visits));
}

// The same steps, more than a year after the clock's start, take equally long to the nanosecond.
TEST(FlowGroups, times_are_exact_after_a_simulated_year) {
  const sim::SimTime late = sim::SimTime::from(days(1000));
  const Rings now = run_rings(8, sim::SimTime(), seconds(1), {});
  const Rings then = run_rings(8, late, seconds(1), {});
  ASSERT_EQ(now.ends.size(), then.ends.size());
  for (std::size_t j = 0; j < now.ends.size(); ++j) {
    ASSERT_EQ(now.ends[j].size(), 48u);  // 6 steps of 8 flows
    for (std::size_t i = 0; i < now.ends[j].size(); ++i) {
      EXPECT_EQ(now.ends[j][i] + late.ns(), then.ends[j][i]);
    }
  }
}

// Does the same random things to an engine: starts, cancels, and loses and repairs links.
class Mischief final : public sim::EventHandler {
 public:
  Mischief(FlowEngine& engine, std::uint64_t seed) : engine_(engine), random_(seed, "mischief") {}
  void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t) override {
    if (--left_ < 0) return;
    const auto link = static_cast<LinkId>(random_.below(kLinks));
    const std::uint64_t what = random_.below(10);
    if (what == 0) {
      engine_.set_capacity(link, BytesPerSecond(random_.below(3) == 0 ? 0 : 100));
    } else if (what <= 2 && !flows.empty()) {
      cancelled_bytes += engine_.cancel(flows[random_.below(flows.size())]).base();
    } else {
      for (std::uint64_t n = 1 + random_.below(4); n > 0; --n) start();
    }
    kernel.schedule(kernel.now().after(Seconds(random_.uniform())), sim::EventRank::control, *this);
  }

  static constexpr std::uint64_t kLinks = 60;
  std::vector<FlowId> flows;
  double cancelled_bytes = 0;

 private:
  // Links form a row and a flow uses a few neighbours, so components grow, merge and split.
  void start() {
    std::vector<LinkId> path;
    const std::uint64_t first = random_.below(kLinks), hops = random_.below(4);
    for (std::uint64_t l = first; l < std::min(kLinks, first + hops); ++l) {
      path.push_back(static_cast<LinkId>(l));
    }
    flows.push_back(
        engine_.start({.path = path,
                       .bytes = 1000 * random_.uniform(),
                       .latency = random_.below(2) == 0 ? random_.uniform() : 0,
                       .weight = 0.5 + random_.uniform(),
                       .cap = random_.below(3) == 0 ? 40 * random_.uniform() : kUncapped,
                       .priority = static_cast<std::uint8_t>(random_.below(2))}));
  }
  FlowEngine& engine_;
  RandomStream random_;
  int left_ = 200;
};

struct Outcome {
  std::vector<std::int64_t> ends;  // -1: never
  double cancelled_bytes = 0;
  std::uint64_t visits = 0;
};

Outcome after_mischief(std::uint64_t seed, FlowOptions options) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, std::vector<double>(Mischief::kLinks, 100), options);
  Mischief mischief(engine, seed);
  kernel.schedule(sim::SimTime(), sim::EventRank::control, mischief);
  kernel.run();
  Outcome out{.cancelled_bytes = mischief.cancelled_bytes, .visits = engine.visits()};
  for (const FlowId f : mischief.flows) out.ends.push_back(engine.finish_time(f).ns());
  EXPECT_LT(engine.violation(), 1e-9);
  return out;
}

// Any difference would mean that a flow kept a rate that it should not have.
TEST(FlowGroups, separate_and_whole_solutions_agree) {
  std::uint64_t apart_visits = 0, whole_visits = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Outcome apart = after_mischief(seed, {}), whole = after_mischief(seed, {.whole = true});
    ASSERT_EQ(apart.ends.size(), whole.ends.size());
    for (std::size_t f = 0; f < apart.ends.size(); ++f) {
      EXPECT_NEAR(static_cast<double>(apart.ends[f]), static_cast<double>(whole.ends[f]), 1.0)
          << "seed " << seed << " flow " << f;
    }
    EXPECT_NEAR(apart.cancelled_bytes, whole.cancelled_bytes, 1e-4);
    apart_visits += apart.visits;
    whole_visits += whole.visits;
  }
  EXPECT_LT(2 * apart_visits, whole_visits);
}

// The groups alone: three flows on a row of links, and what remains when the middle one ends.
TEST(FlowGroups, groups_split_when_their_link_is_lost) {
  FlowTable table;
  table.paths = {0, 1, 1, 2, 2, 3};
  for (std::uint32_t f = 0; f < 3; ++f) table.flows.push_back({.path_begin = 2 * f, .hops = 2});
  FlowGroups groups;
  for (int l = 0; l < 4; ++l) groups.add_link();
  std::vector<FlowGroupId> met;
  const FlowGroupId all = groups.begin(table, {0, 1, 2}, met);
  EXPECT_THAT(met, IsEmpty());
  EXPECT_THAT(groups.divide(table, all), ElementsAre(all));
  groups[all].flows = {0, 2};
  const auto parts = groups.divide(table, all);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_FALSE(groups.is_living(all));
  EXPECT_THAT(groups[parts[0]].flows, ElementsAre(0));
  EXPECT_THAT(groups[parts[1]].flows, ElementsAre(2));
  EXPECT_EQ(groups.of_link(1), parts[0]);
  const FlowGroupId bridge = groups.begin(table, {1}, met);
  EXPECT_THAT(met, ElementsAre(parts[0], parts[1]));
  const FlowGroupId joined = groups.join(table, bridge, met);
  EXPECT_THAT(groups[joined].flows, ElementsAre(0, 2, 1));
  EXPECT_TRUE(groups[joined].is_component);
}

}  // namespace
}  // namespace orrery::fabric
