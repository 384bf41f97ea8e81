#include "model/machine/site_load.h"

#include <gtest/gtest.h>

#include "layers/cost/rental.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

TEST(SiteLoad, load_is_owned_hosts_networks_and_storage) {
  const Machine m = machine_of_two_sites(
      "  - { name: a, node: dgx-h100, count: 4, spares: 1, site: one }\n"
      "  - { name: r, node: dgx-h100, count: 9, site: one, rent: { provider: aws } }\n"
      "  - { name: b, node: dgx-h100, count: 2, site: two }\n",
      "storage:\n  - { tier: hot, site: one, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: "
      "3 }\n  - { tier: cold, kind: object, site: two, provider: aws, capacity: 1 PB }\n");
  const SiteLoad one = load_of(m, design::SiteIndex(0));
  EXPECT_NEAR(one.hosts_nameplate / kilowatts(1), 5 * 10.2, 1e-9);
  EXPECT_EQ(one.climate, known().catalog().region("usa")->climate);
  const Networks& n = m.networks[design::SiteIndex(0)];
  const Watts wires = n.compute.bill.power() + n.storage.bill.power() + n.management.bill.power();
  EXPECT_NEAR(one.constant.base(), wires.base() + 3 * 1900, 1e-6);
  const facility::SitePowerRequest r = one.request(kilowatts(7));
  EXPECT_EQ(r.cooling_id, "air-contained");
  EXPECT_EQ(r.mean, kilowatts(7));
  EXPECT_NEAR(r.design.base(), one.hosts_nameplate.base() + one.constant.base(), 1e-6);
  EXPECT_EQ(r.grid, known().catalog().region("usa")->carbon);
  EXPECT_EQ(r.supply_c, 21);
  const SiteLoad two = load_of(m, design::SiteIndex(1));
  EXPECT_NEAR(two.hosts_nameplate / kilowatts(1), 2 * 10.2, 1e-9);
  const design::Site& site = m.design().sites[0];
  EXPECT_EQ(cooling_plant(site, kilowatts(9)).unit, kilowatts(300));
  EXPECT_EQ(cooling_plant(site, kilowatts(9)).heat, kilowatts(9));
}

TEST(SiteLoad, site_without_owned_hosts_draws_nothing) {
  const Machine m = lay_out(small_design("", "node: dgx-h100, rent: { provider: aws }"), known());
  EXPECT_EQ(load_of(m, design::SiteIndex(0)).hosts_nameplate, Watts(0));
  EXPECT_EQ(load_of(m, design::SiteIndex(0)).constant, Watts(0));
}

// A grid of two hours with 10 and 30 g/J. Work waits if it asks to and the hours are known.
TEST(SiteLoad, clean_work_needs_a_rule_and_hours) {
  Machine m = lay_out(
      small_design("workloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s } }\n"),
      known());
  const catalog::SiteHours hours_known{
      .carbon = {GramsPerJoule(10), GramsPerJoule(30)}, .pue = {}, .dry_c = {}};
  const catalog::SiteHours nothing;
  const design::CleanHours rule{.below = GramsPerJoule(12), .wait = hours(5)};
  design::Workload batch;
  batch.task = design::Batch{.clean_hours = rule};
  EXPECT_FALSE(clean_work(m, batch)) << "the site has no hours";
  m.sites[design::SiteIndex(0)].hours = &nothing;
  EXPECT_FALSE(clean_work(m, batch));
  m.sites[design::SiteIndex(0)].hours = &hours_known;
  const auto waits = clean_work(m, batch);
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->rule.below, GramsPerJoule(12));
  EXPECT_EQ(waits->rule.wait, hours(5));
  EXPECT_DOUBLE_EQ(waits->grid.mean().base(), 20);
  design::Workload jobs;
  jobs.task = design::Jobs{.clean_hours = rule};
  EXPECT_TRUE(clean_work(m, jobs));
  jobs.task = design::Jobs{};
  EXPECT_FALSE(clean_work(m, jobs));
  batch.task = design::Batch{};
  EXPECT_FALSE(clean_work(m, batch));
  EXPECT_FALSE(clean_work(m, m.design().workloads[0])) << "a service does not wait";
  batch.task = design::Batch{.clean_hours = rule};
  batch.terms.fleet = "nowhere";
  EXPECT_FALSE(clean_work(m, batch));
}

}  // namespace
}  // namespace orrery::machine
