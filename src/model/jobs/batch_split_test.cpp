#include "model/jobs/batch_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "layers/fabric/collective_model.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/value_reader.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/train_job.h"
#include "model/jobs/train_job_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

machine::Machine machine_of_two_sites(const std::string& fleet, const std::string& more = "") {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa, cooling: air-contained, "
      "supply_temperature: 21 C, cooling_unit: 300 kW }\n  - { name: two, region: deu }\nfleet:\n" +
          fleet + more,
      machine::known().catalog());
  EXPECT_TRUE(read) << to_text(read.error());
  return build_machine(read.value(), machine::known());
}

TrainJob job_on(const design::Workload& w, const design::Train& train,
                const machine::Fleet& fleet) {
  TrainJob job;
  job.workload = &w;
  job.train = &train;
  job.fleet = &fleet;
  return job;
}

// 32 devices in hosts of 8.
TEST(BatchSplit, batch_spreads_over_counts_that_divide_it) {
  const machine::Machine m =
      machine_of_two_sites("  - { name: a, node: dgx-h100, count: 4, site: one }\n");
  design::Workload w;
  design::Train train{.batch = 96};
  const catalog::ModelShape model{.layers = 6};
  TrainJob job = job_on(w, train, m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(accelerators_for(job), 32);
  w.terms.nodes = 3;
  EXPECT_EQ(accelerators_for(job), 24);
  w.terms.nodes = 9;
  EXPECT_EQ(accelerators_for(job), 32);
  EXPECT_TRUE(batch_spreads(job, 32));
  EXPECT_FALSE(batch_spreads(job, 40));
  EXPECT_FALSE(batch_spreads(job, 0));
  EXPECT_THAT(counts_to_try(job, 32), ElementsAre(32, 24));
  train.batch = 40;
  EXPECT_THAT(counts_to_try(job, 32), IsEmpty()) << "8 is less than half";
  EXPECT_EQ(nearest_batch(job, 32), 32);
  train.batch = 50;
  EXPECT_EQ(nearest_batch(job, 32), 64);
  train.batch = 7;
  EXPECT_THAT(counts_to_try(job, 8), ElementsAre(1))
      << "fewer samples than a host has accelerators";
  EXPECT_EQ(nearest_batch(job, 32), 32) << "no smaller batch works";
  job.model = &model;
  train.batch = 5;
  EXPECT_TRUE(batch_spreads(job, 5));
  EXPECT_TRUE(batch_spreads(job, 40)) << "five replicas of tp 8";
  EXPECT_FALSE(batch_spreads(job, 35));
  EXPECT_TRUE(batch_spreads(job, 30)) << "five replicas of six stages";
  train.layout = design::Layout{.tp = 2, .pp = 3, .mbs = 5};
  train.layout->cp = 2;
  train.batch = 30;
  EXPECT_TRUE(batch_spreads(job, 24)) << "two replicas of 12 accelerators, five samples each";
  EXPECT_TRUE(batch_spreads(job, 36)) << "three replicas";
  EXPECT_FALSE(batch_spreads(job, 48)) << "30 samples do not spread over four replicas";
  EXPECT_FALSE(batch_spreads(job, 32)) << "32 is no multiple of 12";
  train.layout->dp = 2;
  EXPECT_THAT(counts_to_try(job, 32), ElementsAre(24));
  EXPECT_THAT(counts_to_try(job, 23), IsEmpty());
  EXPECT_FALSE(batch_spreads(job, 12)) << "the layout says two replicas";
}

TEST(BatchSplit, microbatches_stages_and_layouts_limit_the_split) {
  const machine::Machine m = build_machine(machine::small_design(""), machine::known());
  design::Workload w;
  design::Train train{.batch = 6};
  catalog::ModelShape model{.layers = 2};
  TrainJob job = job_on(w, train, m.fleets[design::FleetIndex(0)]);
  job.model = &model;
  EXPECT_TRUE(batch_spreads(job, 3));
  train.batch = 1;
  EXPECT_FALSE(batch_spreads(job, 3)) << "one of three would have no sample";
  EXPECT_TRUE(batch_spreads(job, 2)) << "two pipeline stages";
  model.layers = 61;
  EXPECT_TRUE(batch_spreads(job, 61)) << "one layer per stage";
  model.layers = 67;
  EXPECT_FALSE(batch_spreads(job, 67)) << "more than 64 stages";
  model.layers = 64;
  EXPECT_TRUE(batch_spreads(job, 512)) << "64 stages of 8";
  EXPECT_FALSE(batch_spreads(job, 1024));
  train.layout = design::Layout{.tp = 1, .pp = 1, .mbs = 1};
  train.batch = 6;
  EXPECT_TRUE(batch_spreads(job, 6));
  train.layout->mbs = 5;
  EXPECT_FALSE(batch_spreads(job, 3)) << "three of five are fifteen";
  train.layout->mbs = 0;
  EXPECT_TRUE(batch_spreads(job, 3)) << "at least one";
  train.layout->dp = 2;
  EXPECT_THAT(counts_to_try(job, 64), ElementsAre(2))
      << "the dp of the layout, whatever is available";
  train.layout->dp = 4;
  EXPECT_THAT(counts_to_try(job, 64), IsEmpty()) << "six of four";
}

TEST(BatchSplit, nearest_batch_is_within_the_limits_of_the_file) {
  const machine::Machine m = build_machine(machine::small_design(""), machine::known());
  design::Workload w;
  design::Train train{.batch = 1};
  TrainJob job = job_on(w, train, m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(nearest_batch(job, 1), 1);
  EXPECT_EQ(nearest_batch(job, 0), std::nullopt);
  // 10,000,001 is 11 x 909,091, and more than a design may ask for.
  ASSERT_EQ(design_text::kMostCount, 10'000'000);
  train.batch = 10'000'000;
  EXPECT_EQ(nearest_batch(job, 11), 10'000'001 - 11);
  EXPECT_EQ(nearest_batch(job, 10), 10'000'000);
  train.batch = 15;
  EXPECT_EQ(nearest_batch(job, 10), 20) << "the larger of two at the same distance";
}

// At least half of the available accelerators are used: 48 of 96.
TEST(BatchSplit, at_most_half_of_the_accelerators_stay_idle) {
  const FedRun r("read: 4 GB/s", "samples: 10M, sample_size: 150 kB");
  TrainJob job = r.job;
  design::Train train = *job.train;
  job.train = &train;
  job.model = nullptr;
  const auto counts = [&](int batch, int available) {
    train.batch = batch;
    return counts_to_try(job, available);
  };
  EXPECT_EQ(counts(48, 96), std::vector<int>{48});
  EXPECT_EQ(counts(40, 96), std::vector<int>{});
  EXPECT_EQ(counts(96 * 88, 96), (std::vector<int>{96, 88}));
  EXPECT_EQ(counts(96 * 88 * 5, 96), (std::vector<int>{96, 88})) << "at most two candidates";
  EXPECT_EQ(counts(56, 97), std::vector<int>{}) << "candidates below 97 go down by whole hosts";
  EXPECT_EQ(counts(57, 97), std::vector<int>{57});
}

}  // namespace
}  // namespace orrery::jobs
