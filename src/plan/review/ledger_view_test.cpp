// What workloads hold of each fleet, by hand on the templates.
#include "plan/review/ledger_view.h"

#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

TEST(LedgerView, repeating_reservations_leave_a_queue_fewer_nodes) {
  design::Design d = lab_design("superpod-h100");
  std::erase_if(d.workloads, [](const design::Workload& w) {
    return !std::holds_alternative<design::Jobs>(w.task);
  });
  d.goals.clear();
  d.workloads[0].terms.nodes.reset();
  d.workloads[0].terms.tenant = "physics";
  const auto load = [](const design::Design& x) {
    return run_stages(x, machine::known()).jobs.front().queue.load;
  };
  const double before = load(d);
  d.scheduler.reservations = {{.name = "nights",
                               .nodes = 63,
                               .duration = hours(12),
                               .repeat = design::ReservationPeriod::daily}};
  EXPECT_NEAR(load(d), before / (1 - 63 * 0.5 / 127), 1e-9);
  d.scheduler.reservations.front().tenants = {"physics"};
  EXPECT_NEAR(load(d), before, 1e-12);
  d.scheduler.reservations.front().tenants.clear();
  d.scheduler.reservations.front().repeat = design::ReservationPeriod::once;
  EXPECT_NEAR(load(d), before, 1e-12);
}

TEST(LedgerView, queue_gets_the_nodes_that_others_leave) {
  design::Design d = lab_design("superpod-h100");  // 120 + 2 + 5 of 127
  const Review given = run_stages(d, machine::known());
  d.workloads[2].terms.nodes.reset();
  const Review left = run_stages(d, machine::known());
  EXPECT_NEAR(left.jobs[0].queue.load, given.jobs[0].queue.load, 1e-12) << "5 nodes either way";
  d.workloads[0].terms.nodes = 115;
  const Review ten = run_stages(d, machine::known());
  EXPECT_NEAR(ten.jobs[0].queue.load, given.jobs[0].queue.load / 2, 1e-12);
}

TEST(LedgerView, nodes_held_by_others_are_no_spares) {
  design::Design d = lab_design("superpod-h100");
  d.fleet[0].spares = 0;
  const Review shared = run_stages(d, machine::known());
  EXPECT_EQ(shared.trains[0].failure.spares, 5) << "the jobs of lower priority make way";
  d.scheduler.preemption = design::Preemption::none;
  EXPECT_EQ(run_stages(d, machine::known()).trains[0].failure.spares, 0) << "127 - 120 - 2 - 5";
  d.workloads.resize(1);
  EXPECT_EQ(run_stages(d, machine::known()).trains[0].failure.spares, 7);
}

TEST(LedgerView, only_jobs_of_lower_priority_make_way) {
  design::Design d = lab_design("superpod-h100");
  d.fleet[0].spares = 0;
  const int own = d.workloads[0].terms.priority;
  for (const int priority : {own - 1, own, own + 1}) {
    d.workloads[2].terms.priority = priority;
    EXPECT_EQ(run_stages(d, machine::known()).trains[0].failure.spares, priority < own ? 5 : 0)
        << priority;
  }
}

// 120 nodes depend on four leaves of 32 ports, the last of which is partly used. One is out for
// four hours in 1000 days, and the run with it, unless there are as many spares as nodes.
TEST(LedgerView, leaf_failures_need_spares_for_all_its_nodes) {
  design::Design d = lab_design("superpod-h100");
  d.workloads.resize(1);
  d.goals.clear();
  const auto up = [&](int spares, bool leaves) {
    d.fleet[0].count = 127;
    d.fleet[0].spares = spares;
    d.fleet[0].failures.leaf_mtbf.reset();
    if (leaves) d.fleet[0].failures.leaf_mtbf = days(1000);
    return 1 - run_stages(d, machine::known()).trains[0].failure.shortfall;
  };
  // Four sets of eight rails: any of the 32 leaves stops the hosts of its set.
  EXPECT_NEAR(up(0, true) / up(0, false), 1 - 32 * 4.0 / 24 / 1000, 1e-9);
  EXPECT_NEAR(up(10, true) / up(10, false), 1 - 32 * 4.0 / 24 / 1000, 1e-9);
  EXPECT_NEAR(up(40, true) / up(40, false), 1, 1e-9);
}

}  // namespace
}  // namespace orrery::review
