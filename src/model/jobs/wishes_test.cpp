// What a wish leaves of the layouts to try, and what is left where a design says little: runs
// without a network, fleets without nodes, tiers that are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_training.h"
#include "model/jobs/tier_asks.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/partitions.h"

namespace orrery::jobs {
namespace {

using testing::ElementsAre;

training::LayoutSpace wide_space() {
  return {.tp = {1, 2},
          .pp = {1, 4},
          .vp = {1, 3},
          .cp = {1, 5},
          .ep = {1, 6},
          .microbatch = {1, 7},
          .sharding = {catalog::Sharding::none, catalog::Sharding::zero1},
          .recompute = {catalog::Recompute::none, catalog::Recompute::full},
          .schedule = {catalog::Schedule::one_f_one_b, catalog::Schedule::dualpipe},
          .sequence_parallel = {true, false}};
}

TEST(LayoutWishes, leave_what_they_do_not_name) {
  const training::LayoutSpace all = narrowed(wide_space(), {});
  EXPECT_THAT(all.tp, ElementsAre(1, 2));
  EXPECT_THAT(all.vp, ElementsAre(1, 3));
  EXPECT_THAT(all.sequence_parallel, ElementsAre(true, false));
  EXPECT_TRUE(all.partial_recompute);
  EXPECT_FALSE(all.async_tp);
  EXPECT_THAT(narrowed(wide_space(), {.pp = 1}).vp, ElementsAre(1)) << "one stage has no chunks";
}

TEST(LayoutWishes, fix_what_they_name) {
  const training::LayoutSpace one = narrowed(wide_space(), {.tp = 2,
                                                            .pp = 4,
                                                            .vp = 3,
                                                            .cp = 5,
                                                            .ep = 6,
                                                            .microbatch = 7,
                                                            .sharding = catalog::Sharding::zero3,
                                                            .recompute = catalog::Recompute::full,
                                                            .schedule = catalog::Schedule::dualpipe,
                                                            .sequence_parallel = false,
                                                            .async_tp = true});
  EXPECT_THAT(one.tp, ElementsAre(2));
  EXPECT_THAT(one.pp, ElementsAre(4));
  EXPECT_THAT(one.vp, ElementsAre(3));
  EXPECT_THAT(one.cp, ElementsAre(5));
  EXPECT_THAT(one.ep, ElementsAre(6));
  EXPECT_THAT(one.microbatch, ElementsAre(7));
  EXPECT_THAT(one.sharding, ElementsAre(catalog::Sharding::zero3));
  EXPECT_THAT(one.recompute, ElementsAre(catalog::Recompute::full));
  EXPECT_THAT(one.schedule, ElementsAre(catalog::Schedule::dualpipe));
  EXPECT_THAT(one.sequence_parallel, ElementsAre(false));
  EXPECT_TRUE(one.async_tp);
  EXPECT_FALSE(one.partial_recompute);
}

TEST(LayoutWishes, are_tried_among_the_usual_choices) {
  TrainingQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
                  .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                  .gpus = 16};
  q.sequence = 4096;
  q.batch = 32;
  const training::LayoutSpace usual = space_of(q, job_of(q));
  EXPECT_THAT(usual.cp, ElementsAre(1));
  EXPECT_THAT(usual.sharding, ElementsAre(catalog::Sharding::zero1));
  EXPECT_THAT(usual.schedule, ElementsAre(catalog::Schedule::one_f_one_b));
  EXPECT_THAT(usual.sequence_parallel, ElementsAre(true));
  q.layout.sharding = catalog::Sharding::zero3;
  EXPECT_THAT(space_of(q, job_of(q)).sharding, ElementsAre(catalog::Sharding::zero3));
}

design::Design plain_design(const std::string& storage) {
  return design_text::read_design(
             "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, "
             "count: 4 }\nstorage:\n  - { tier: hot, kind: parallel-fs, " +
                 storage +
                 " }\nworkloads:\n  - train: { model: llama-3-8b, tokens: 1B, batch: 64, sequence: "
                 "4096, dataset: { kind: image, size: 1 TB, tier: hot } }\n",
             machine::known().catalog())
      .value();
}

// A model's samples are its tokens of four bytes, and what else they are comes on top.
TEST(LittleSaid, of_samples_and_runs) {
  machine::Models no_kinds = machine::known();
  no_kinds.dataset_kinds.clear();
  design::Design d = plain_design("read: 40 GB/s, capacity: 1 PB");
  const machine::Machine m = build_machine(d, no_kinds);
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_feed(job, m);
  EXPECT_EQ(job.feed.sample, kilobytes(100) + Bytes(4096 * 4));
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.dataset.kind = design::DataKind::text;
  const machine::Machine text = build_machine(d, machine::known());
  TrainJob words = name_job(text, text.design().workloads[0]);
  fill_step(words, text);
  fill_feed(words, text);
  EXPECT_EQ(words.feed.sample, Bytes(4096 * 4));
  EXPECT_EQ(words.feed.decode, Seconds(0));
  train.model.clear();
  const machine::Machine none = build_machine(d, machine::known());
  EXPECT_EQ(name_job(none, none.design().workloads[0]).parameters, 0);
}

TEST(LittleSaid, of_nodes_and_servers) {
  design::Design d = plain_design(
      "device: tlc-gen4, capacity: 1 PB, servers: 2, "
      "devices_per_server: 3");
  d.scheduler.partitions = {{.name = "p", .nodes = 2}};
  const machine::Machine m = build_machine(d, machine::known());
  const auto counted =
      machine::purchase_of(m.tiers[design::TierIndex(0)], machine::known().catalog());
  ASSERT_TRUE(counted);
  EXPECT_TRUE(counted->as_counted);
  EXPECT_EQ(counted->devices, 6) << "as the design counts them, whatever it is to hold";
  d.storage[0].device.clear();
  d.storage[0].read = gbytes_per_s(1);
  const machine::Machine usual = build_machine(d, machine::known());
  EXPECT_FALSE(machine::purchase_of(usual.tiers[design::TierIndex(0)], machine::known().catalog())
                   ->as_counted);
  d.fleet[0].count = 0;
  const machine::Machine empty = build_machine(d, machine::known());
  const auto parts =
      partitions_of(empty.design(), empty.fleets, empty.fleets[design::FleetIndex(0)]);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].hosts, 0);
}

}  // namespace
}  // namespace orrery::jobs
