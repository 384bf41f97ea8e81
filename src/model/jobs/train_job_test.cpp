#include "model/jobs/train_job.h"

#include <gtest/gtest.h>

#include "layers/fabric/collective_model.h"
#include "model/jobs/train_job_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

TEST(TrainJob, samples_and_epochs_give_the_run_time) {
  PlainRun given(kNet + ", batch: 3200, samples: 1M");
  EXPECT_EQ(given.costs().units, 1e6);
  machine::expect_close(given.job.raw_time.base(), 1e6 / given.job.raw_rate());
  PlainRun of_data(kNet + ", batch: 3200, dataset: { samples: 2M, epochs: 3 }");
  EXPECT_EQ(of_data.costs().units, 6e6);
}

// A host has 400 GB/s on the compute network; collectives get what the reads leave.
TEST(TrainJob, storage_on_the_compute_network_slows_the_steps) {
  const FedRun r("read: 900 GB/s", "samples: 10M, sample_size: 3 MB",
                 "  storage: { converged: true }\n");
  const TrainJob& j = r.job;
  ASSERT_GT(j.step.exposed_network_share, 0);
  const BytesPerSecond feed = j.feed.wanted / 4;
  const double left = fabric::free_share({.capacity = gbytes_per_s(400), .storage = feed});
  EXPECT_LT(left, 1);
  EXPECT_NEAR(j.contended.feeding, j.step.exposed_network_share * (1 / left - 1), 1e-12);
  EXPECT_EQ(j.contended.draining, j.contended.feeding) << "the run saves nothing";
  const FedRun own("read: 900 GB/s", "samples: 10M, sample_size: 3 MB");
  EXPECT_EQ(own.job.contended.feeding, 0);
}

}  // namespace
}  // namespace orrery::jobs
