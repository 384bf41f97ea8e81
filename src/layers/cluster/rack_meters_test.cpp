#include "layers/cluster/rack_meters.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/random.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/node_pool.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

sim::SimTime moment(double s) { return sim::SimTime::from(seconds(s)); }
NodeShare on(int host, int slots) { return {.node = host, .gpus = slots}; }

// Two racks with two hosts of four slots. Job 0 fills the first for 100 s at 10 W per slot (peak
// 30), then draws nothing for 100 s. Jobs 1 and 2 share the second from 50 s on.
TEST(RackMeters, draw_of_two_racks) {
  RackMeters m(4, 2, 4);
  m.placed(0, std::vector{on(0, 4), on(1, 4)}, moment(0));
  m.draws(0, watts(10), watts(30), moment(0));
  m.placed(1, std::vector{on(2, 2)}, moment(50));
  m.draws(1, watts(5), watts(8), moment(50));
  m.placed(2, std::vector{on(3, 4)}, moment(60));
  m.draws(2, watts(5), watts(6), moment(60));
  m.draws(0, watts(0), watts(0), moment(100));
  m.draws(1, watts(1), watts(1), moment(110));
  m.draws(2, watts(9), watts(9), moment(120));  // 2 x 1 + 4 x 9 = 38, below 2 x 8 + 4 x 6 = 40
  m.left(1, moment(150));
  const auto racks = m.until(moment(200));
  ASSERT_EQ(racks.size(), 2U);
  EXPECT_EQ(racks[0].hosts, 2);
  EXPECT_NEAR(racks[0].energy.base(), 8 * 10 * 100, 1e-9);
  EXPECT_NEAR(racks[0].highest.base(), 8 * 30, 1e-9);
  EXPECT_NEAR(racks[1].energy.base(), 2 * (5 * 60 + 1 * 40) + 4 * (5 * 60 + 9 * 80), 1e-9);
  EXPECT_NEAR(racks[1].highest.base(), 40, 1e-9);
}

// A job that loses a host continues to draw the same on the others.
TEST(RackMeters, shrunk_job_keeps_its_draw_per_host) {
  RackMeters m(3, 1, 4);
  m.placed(7, std::vector{on(2, 4), on(0, 4)}, moment(0));
  m.draws(7, watts(10), watts(20), moment(0));
  m.placed(7, std::vector{on(0, 4)}, moment(30));
  const auto racks = m.until(moment(100));
  EXPECT_NEAR(racks[0].energy.base(), 4 * 10 * 100, 1e-9);
  EXPECT_NEAR(racks[1].energy.base(), 0, 1e-9);
  EXPECT_NEAR(racks[2].energy.base(), 4 * 10 * 30, 1e-9);
  EXPECT_NEAR(racks[0].highest.base(), 80, 1e-9);
}

// A job that moves takes its draw and its peak along, both to a rack of its own and to a shared
// one.
TEST(RackMeters, moved_job_draws_in_its_new_rack) {
  RackMeters m(3, 1, 4);
  m.placed(7, std::vector{on(0, 4)}, moment(0));
  m.draws(7, watts(10), watts(20), moment(0));
  m.placed(7, std::vector{on(1, 4)}, moment(30));
  m.placed(7, std::vector{on(2, 3)}, moment(50));
  const auto racks = m.until(moment(100));
  EXPECT_NEAR(racks[0].energy.base(), 4 * 10 * 30, 1e-9);
  EXPECT_NEAR(racks[1].energy.base(), 4 * 10 * 20, 1e-9);
  EXPECT_NEAR(racks[2].energy.base(), 3 * 10 * 50, 1e-9);
  EXPECT_NEAR(racks[0].highest.base(), 80, 1e-9);
  EXPECT_NEAR(racks[1].highest.base(), 80, 1e-9);
  EXPECT_NEAR(racks[2].highest.base(), 60, 1e-9);
}

// Compared with an account that adds up every host at every change.
TEST(RackMeters, any_sequence_equals_counting_host_by_host) {
  RandomStream random(3, "racks");
  const auto below = [&](int n) {
    return static_cast<int>(random.below(static_cast<std::size_t>(n)));
  };
  for (int round = 0; round < 50; ++round) {
    constexpr int kHosts = 7, kPerRack = 3, kSlots = 2;
    RackMeters m(kHosts, kPerRack, kSlots);
    std::vector<double> energy(3), highest(3);
    std::map<JobIndex, std::vector<NodeShare>> jobs;
    std::map<JobIndex, std::pair<double, double>> levels;
    double now = 0;
    for (int event = 0; event < 60; ++event) {
      const double next = now + random.uniform() * 10;
      for (const auto& [job, where] : jobs) {
        for (const NodeShare& s : where) {
          energy[static_cast<std::size_t>(s.node / kPerRack)] +=
              s.gpus * levels[job].first * (next - now);
        }
      }
      now = next;
      const auto job = static_cast<JobIndex>(below(4));
      if (jobs.contains(job) && random.uniform() < 0.3) {
        m.left(job, moment(now));
        jobs.erase(job);
      } else if (!jobs.contains(job)) {
        std::vector<int> used(kHosts, 0);
        for (const auto& [other, where] : jobs) {
          for (const NodeShare& s : where) used[static_cast<std::size_t>(s.node)] += s.gpus;
        }
        std::vector<NodeShare> where;
        for (int h = kHosts - 1; h >= 0; --h) {
          const int free = kSlots - used[static_cast<std::size_t>(h)];
          if (free > 0 && random.uniform() < 0.6) where.push_back(on(h, 1 + below(free)));
        }
        if (where.empty()) continue;
        m.placed(job, where, moment(now));
        jobs[job] = where;
        levels[job] = {0, 0};
      } else {
        levels[job] = {random.uniform() * 10, 10 + random.uniform() * 10};
        m.draws(job, watts(levels[job].first), watts(levels[job].second), moment(now));
      }
      std::vector<double> sums(3);
      for (const auto& [j, where] : jobs) {
        for (const NodeShare& s : where) {
          sums[static_cast<std::size_t>(s.node / kPerRack)] += s.gpus * levels[j].second;
        }
      }
      for (std::size_t r = 0; r < 3; ++r) highest[r] = std::max(highest[r], sums[r]);
    }
    const auto racks = m.until(moment(now));
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_NEAR(racks[r].energy.base(), energy[r], 1e-6);
      EXPECT_NEAR(racks[r].highest.base(), highest[r], 1e-9);
    }
  }
}

TEST(RackMeters, last_rack_holds_the_remainder) {
  RackMeters meters(5, 2, 8);
  meters.placed(0, std::vector<NodeShare>{{.node = 4, .gpus = 8}}, at_s(0));
  meters.draws(0, Watts(100), Watts(150), at_s(10));
  const auto racks = meters.until(at_s(30));
  ASSERT_EQ(racks.size(), 3u);
  EXPECT_EQ(racks[0].hosts, 2);
  EXPECT_EQ(racks[2].hosts, 1);
  EXPECT_DOUBLE_EQ(racks[2].energy.base(), 8 * 100 * 20);
  EXPECT_DOUBLE_EQ(racks[2].highest.base(), 8 * 150);
  EXPECT_EQ(racks[1].energy.base(), 0);
}

}  // namespace
}  // namespace orrery::cluster
