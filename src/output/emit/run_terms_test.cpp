// A run hears the same of its plan whichever scheduler starts it.
#include "output/emit/run_terms.h"

#include <gmock/gmock.h>

#include "output/emit/escape.h"
#include "output/emit/kubernetes.h"
#include "output/emit/review_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;

TEST(RunTerms, AreTheSameUnderBothSchedulers) {
  design::Design design = read_template("superpod-h100");
  const auto slurm = reviewed(design);
  design.scheduler.kind = design::SchedulerKind::kubernetes;
  const auto kubernetes = reviewed(design);
  const review::TrainView& train = slurm->review->trains.front();
  const std::string script =
      text_of(emit_slurm(*slurm->review, slurm->source).value(), "submit-" + train.label + ".sh");
  const std::string job = text_of(emit_kubernetes(*kubernetes->review, kubernetes->source).value(),
                                  "job-" + train.label + ".yaml");
  const std::vector<RunVariable> variables = run_variables(train);
  ASSERT_EQ(variables.size(), 7u);
  for (const RunVariable& v : variables) {
    EXPECT_THAT(script,
                HasSubstr("export " + std::string(v.name) + '=' + shell_word(v.value) + '\n'));
    EXPECT_THAT(job, HasSubstr("name: " + std::string(v.name) + '\n'));
    EXPECT_THAT(job, HasSubstr(v.value));
  }
}

TEST(RunTerms, ARunWithoutCheckpointsStillGetsTimeToGo) {
  const auto r = reviewed(read_template("superpod-h100"));
  review::TrainView train = r->review->trains.front();
  EXPECT_GT(time_to_save(train), train.checkpoint->stall.safe);
  train.checkpoint.reset();
  EXPECT_EQ(time_to_save(train), seconds(300));
  EXPECT_EQ(run_variables(train).size(), 2u);
}

}  // namespace
}  // namespace orrery::emit
