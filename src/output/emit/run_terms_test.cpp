#include "output/emit/run_terms.h"

#include <gmock/gmock.h>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/emit/escape.h"
#include "output/emit/kubernetes.h"
#include "output/emit/review_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {
namespace {

using ::testing::HasSubstr;
using testing::HasSubstr;
using ::testing::Not;
using testing::Not;

std::string value_in(const review::TrainView& t, std::string_view name) {
  for (const RunVariable& v : run_variables(t)) {
    if (v.name == name) return v.value;
  }
  return "none";
}

std::string emitted(const std::string& hot, const std::string& kind) {
  std::string text(design_text::find_template("superpod-h100")->text);
  for (const design_text::Change& change :
       {design_text::Change{"storage[0]", hot}, design_text::Change{"scheduler.kind", kind}}) {
    const auto edited = design_text::edit_text(text, change, machine::known().catalog());
    EXPECT_TRUE(edited) << (edited ? "" : to_text(edited.error()));
    if (edited) text = edited->text;
  }
  const auto design = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(design) << (design ? "" : to_text(design.error()));
  if (!design) return {};
  const review::Review review = review::run_stages(*design, machine::known());
  const EmitSource source{.design = "pod", .version = "", .digest = "none"};
  const auto files = kind == "slurm" ? emit_slurm(review, source) : emit_kubernetes(review, source);
  EXPECT_TRUE(files) << (files ? "" : to_text(files.error()));
  std::string all;
  if (files) {
    for (const EmittedFile& f : *files) all += f.text;
  }
  return all;
}

TEST(RunTerms, a_storage_profile_is_on_classes_and_claims) {
  const std::string text =
      emitted("{ tier: hot, profile: checkpoint-burst, device: tlc-gen4 }", "kubernetes");
  EXPECT_THAT(text, HasSubstr("orrery/storage-profile: checkpoint-burst"));
  EXPECT_THAT(text, HasSubstr("device: tlc-gen4"));
  EXPECT_THAT(text, HasSubstr("protection: { data: 8, parity: 2 }"));
  EXPECT_THAT(text, HasSubstr("ORRERY_CHECKPOINT_PROFILE"));
}

TEST(RunTerms, a_storage_profile_reaches_slurm_runs) {
  const std::string text = emitted("{ tier: hot, profile: live-training }", "slurm");
  EXPECT_THAT(text, HasSubstr("ORRERY_DATA_PROFILE=live-training"));
}

TEST(RunTerms, no_profile_leaves_no_trace) {
  const std::string text =
      emitted("{ tier: hot, kind: parallel-fs, read: 160 GB/s, write: 80 GB/s, capacity: 2 PB }",
              "kubernetes");
  EXPECT_THAT(text, Not(HasSubstr("profile")));
}

TEST(RunTerms, run_variables_follow_from_the_review) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.step.step = seconds(2.34567);
  t.checkpoint->interval = seconds(100);
  t.checkpoint->stall.safe = seconds(40);
  EXPECT_EQ(value_in(t, "ORRERY_STEP_S"), "2.346");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_STEPS"), "43");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_INTERVAL_S"), "100");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_MODE"), "async");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_TIER"), "node-nvme");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_SAFE_TIER"), "hot");
  EXPECT_EQ(time_to_save(t), seconds(100));
  t.checkpoint->interval = seconds(1);
  t.checkpoint->async = false;
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_STEPS"), "1");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_MODE"), "sync");
  t.checkpoint.reset();
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_STEPS"), "none");
  EXPECT_EQ(time_to_save(t), seconds(300));
}

TEST(RunTerms, run_variables_are_equal_under_both_schedulers) {
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

TEST(RunTerms, a_run_without_checkpoints_gets_time_to_stop) {
  const auto r = reviewed(read_template("superpod-h100"));
  review::TrainView train = r->review->trains.front();
  EXPECT_GT(time_to_save(train), train.checkpoint->stall.safe);
  train.checkpoint.reset();
  EXPECT_EQ(time_to_save(train), seconds(300));
  EXPECT_EQ(run_variables(train).size(), 2u);
}

}  // namespace
}  // namespace orrery::emit
