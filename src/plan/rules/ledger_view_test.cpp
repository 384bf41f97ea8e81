// The account of the fleets over all workloads, by hand arithmetic on the templates.
#include "plan/review/ledger_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/stages.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

design::Design of_template(std::string_view name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

const Finding* found(const std::vector<Finding>& all, std::string_view rule) {
  const auto at = std::ranges::find(all, rule, &Finding::rule);
  return at == all.end() ? nullptr : &*at;
}

// 16 nodes of training and a service without a number, on a fleet of `count`.
design::Design train_and_serve(int count) {
  design::Design d = of_template("superpod-h100");
  d.fleet[0].count = count;
  d.goals.clear();
  d.workloads.resize(2);
  d.workloads[0].terms.nodes = 16;
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.layout.reset();
  train.batch = 512;
  d.workloads[1].terms.nodes.reset();
  auto& serve = std::get<design::Serve>(d.workloads[1].task);
  serve.replicas = 3;
  serve.tp = 8;  // a node each
  return d;
}

TEST(ledger, a_service_without_a_number_is_booked_beside_the_run) {
  for (const int count : {16, 17, 18}) {
    const review::Review r = review::run_stages(train_and_serve(count), machine::known());
    const machine::FleetBook& book = r.book_of(r.fleets()[design::FleetIndex(0)]);
    EXPECT_DOUBLE_EQ(book.booked(), 19) << "16 + 3 x 8 / 8";
    const auto findings = check_rules(r);
    const Finding* f = found(findings, "cluster.nodes");
    ASSERT_NE(f, nullptr) << count;
    EXPECT_EQ(f->severity, Severity::error);
    EXPECT_EQ(f->edit->path, "fleet[0].count");
    EXPECT_EQ(f->edit->value, "19");
  }
  const review::Review enough = review::run_stages(train_and_serve(19), machine::known());
  EXPECT_EQ(found(check_rules(enough), "cluster.nodes"), nullptr);
}

TEST(ledger, a_run_without_a_number_gives_way_to_the_service) {
  design::Design d = train_and_serve(19);
  d.workloads[0].terms.nodes.reset();
  std::get<design::Train>(d.workloads[0].task).batch = 19 * 8;
  const review::Review r = review::run_stages(d, machine::known());
  EXPECT_DOUBLE_EQ(r.book_of(r.fleets()[design::FleetIndex(0)]).booked(), 19 + 3);
  const auto findings = check_rules(r);
  const Finding* f = found(findings, "cluster.nodes");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->edit->path, "workloads[0].train.nodes");
  EXPECT_EQ(f->edit->value, "16");
}

// Ten times the nodes for the same 120 of the run cost nearly ten times as much a useful hour.
TEST(ledger, idle_machines_are_in_the_price_of_a_useful_hour) {
  design::Design few = of_template("superpod-h100");
  few.workloads.resize(1);  // 120 of 127 nodes
  design::Design many = few;
  many.fleet[0].count = 1270;
  many.sites[0].power.reset();
  many.sites[0].racks.reset();
  const review::Review a = review::run_stages(few, machine::known());
  const review::Review b = review::run_stages(many, machine::known());
  EXPECT_NEAR(a.cost.use, 120.0 / 127, 1e-9);
  EXPECT_NEAR(b.cost.use, 120.0 / 1270, 1e-9);
  const double yearly = b.cost.annual / a.cost.annual;
  EXPECT_NEAR(b.cost.per_useful_hour / a.cost.per_useful_hour,
              yearly * a.cost.goodput / b.cost.goodput, 1e-6)
      << "the same useful hours, a larger bill";
  EXPECT_GT(yearly, 5);
  const auto findings = check_rules(b);
  const Finding* idle = found(findings, "cluster.idle-nodes");
  ASSERT_NE(idle, nullptr);
  EXPECT_TRUE(idle->what.starts_with("1,149 of 1,270 nodes"))
      << "120 and one that stands by: " << idle->what;
}

TEST(ledger, runs_a_year_count) {
  design::Design d = of_template("superpod-h100");
  d.workloads.resize(1);
  const review::Review always = review::run_stages(d, machine::known());
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.runs = 1;
  const review::Review once = review::run_stages(d, machine::known());
  train.runs = 2;
  const review::Review twice = review::run_stages(d, machine::known());
  const double share = once.trains[0].run_time / years(1);
  ASSERT_LT(2 * share, 1);
  EXPECT_NEAR(once.cost.use / always.cost.use, share, 1e-9);
  EXPECT_NEAR(twice.cost.use / once.cost.use, 2, 1e-9);
  EXPECT_NEAR(once.cost.per_useful_hour / twice.cost.per_useful_hour,
              2 * (once.cost.annual / twice.cost.annual), 1e-6);
  EXPECT_LT(once.sites[0].it_mean, always.sites[0].it_mean) << "idle nodes draw less";
}

TEST(ledger, more_replicas_than_are_needed_are_a_finding_with_its_money) {
  design::Design d = of_template("inference-pod");
  auto& serve = std::get<design::Serve>(d.workloads[0].task);
  serve.replicas = 16;
  serve.arrivals.rate = PerSecond(20);
  d.workloads[0].terms.availability.reset();
  const review::Review r = review::run_stages(d, machine::known());
  const double enough = review::enough_replicas(r.serves[0], *r.machine);
  ASSERT_LT(enough, 10);
  const auto findings = check_rules(r);
  const Finding* f = found(findings, "serving.over-provision");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->edit->path, "workloads[0].serve.replicas");
  EXPECT_EQ(std::stod(f->edit->value), enough);
  const double wasted = r.cost.annual.base() * (16 - enough) * 4 / 64;
  EXPECT_NE(f->what.find(figures::show(wasted, figures::Unit::usd_per_year)), std::string::npos)
      << f->what;
  EXPECT_NEAR(r.cost.use, enough / 16, 1e-9);
}

TEST(ledger, a_queue_has_what_the_others_leave) {
  design::Design d = of_template("superpod-h100");  // 120 + 2 + 5 of 127
  const review::Review given = review::run_stages(d, machine::known());
  d.workloads[2].terms.nodes.reset();
  const review::Review left = review::run_stages(d, machine::known());
  EXPECT_NEAR(left.jobs[0].queue.load, given.jobs[0].queue.load, 1e-12) << "5 nodes either way";
  d.workloads[0].terms.nodes = 115;
  const review::Review ten = review::run_stages(d, machine::known());
  EXPECT_NEAR(ten.jobs[0].queue.load, given.jobs[0].queue.load / 2, 1e-12);
}

TEST(ledger, a_run_has_no_spare_that_another_workload_holds) {
  design::Design d = of_template("superpod-h100");
  d.fleet[0].spares = 0;
  const review::Review shared = review::run_stages(d, machine::known());
  EXPECT_EQ(shared.trains[0].failure.spares, 5) << "the jobs of lower priority make way";
  d.scheduler.preemption = design::Preemption::none;
  EXPECT_EQ(review::run_stages(d, machine::known()).trains[0].failure.spares, 0)
      << "127 - 120 - 2 - 5";
  d.workloads.resize(1);
  EXPECT_EQ(review::run_stages(d, machine::known()).trains[0].failure.spares, 7);
}

TEST(ledger, jobs_make_way_for_a_run_only_where_they_are_below_it) {
  design::Design d = of_template("superpod-h100");
  d.fleet[0].spares = 0;
  const int own = d.workloads[0].terms.priority;
  for (const int priority : {own - 1, own, own + 1}) {
    d.workloads[2].terms.priority = priority;
    EXPECT_EQ(review::run_stages(d, machine::known()).trains[0].failure.spares,
              priority < own ? 5 : 0)
        << priority;
  }
}

// 120 nodes hang on four leaves of 32, the last of them on a part of one. One is out four hours in
// 1000 days, and the run with it, unless as many nodes as it takes stand by.
TEST(ledger, a_leaf_takes_its_part_of_the_time_where_no_spares_replace_it) {
  design::Design d = of_template("superpod-h100");
  d.workloads.resize(1);
  d.goals.clear();
  const auto up = [&](int spares, bool leaves) {
    d.fleet[0].count = 127;
    d.fleet[0].spares = spares;
    d.fleet[0].failures.leaf_mtbf.reset();
    if (leaves) d.fleet[0].failures.leaf_mtbf = days(1000);
    return 1 - review::run_stages(d, machine::known()).trains[0].failure.shortfall;
  };
  EXPECT_NEAR(up(0, true) / up(0, false), 1 - 4 * 4.0 / 24 / 1000, 1e-9);
  EXPECT_NEAR(up(10, true) / up(10, false), 1 - 4 * 4.0 / 24 / 1000, 1e-9);
  EXPECT_NEAR(up(40, true) / up(40, false), 1, 1e-9);
}

TEST(ledger, what_is_rented_by_the_hour_is_paid_while_it_is_held) {
  design::Design d = of_template("cloud-rental");
  for (design::Fleet& f : d.fleet) f.rent->contract = catalog::Contract::on_demand;
  d.workloads.resize(1);
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.repeat.reset();
  train.runs.reset();
  const review::Review always = review::run_stages(d, machine::known());
  train.runs = 1;
  const review::Review once = review::run_stages(d, machine::known());
  const double share = once.trains[0].run_time / years(1);
  EXPECT_NEAR(once.cost.rented[0].per_year / always.cost.rented[0].per_year, share, 1e-9);
  for (design::Fleet& f : d.fleet) f.rent->contract = catalog::Contract::reserved;
  const review::Review reserved = review::run_stages(d, machine::known());
  EXPECT_NEAR(reserved.cost.rented[0].per_year / (reserved.cost.rented[0].rental.billed * years(1)),
              reserved.fleets()[design::FleetIndex(0)].accelerators, 1e-6);
}

TEST(ledger, two_schedulers_on_one_fleet_are_told_how_to_part_it) {
  design::Design d = train_and_serve(19);
  EXPECT_EQ(found(check_rules(review::run_stages(d, machine::known())), "cluster.partitions"),
            nullptr);
  d.scheduler.kind = design::SchedulerKind::both;
  const auto findings = check_rules(review::run_stages(d, machine::known()));
  const Finding* f = found(findings, "cluster.partitions");
  ASSERT_NE(f, nullptr);
  EXPECT_NE(f->fix.find("3 nodes with `partition: kubernetes`, 16 with"), std::string::npos)
      << f->fix;
}

TEST(LedgerView, windows_that_come_back_leave_a_queue_fewer_nodes) {
  design::Design d = of_template("superpod-h100");
  std::erase_if(d.workloads, [](const design::Workload& w) {
    return !std::holds_alternative<design::Jobs>(w.task);
  });
  d.goals.clear();
  d.workloads[0].terms.nodes.reset();
  d.workloads[0].terms.tenant = "physics";
  const auto load = [](const design::Design& x) {
    return review::run_stages(x, machine::known()).jobs.front().queue.load;
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

}  // namespace
}  // namespace orrery::rules
