// What is emitted for a tier with a profile carries it: name and values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/emit/kubernetes.h"
#include "output/emit/slurm.h"
#include "plan/verdict/verdict.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(profiles_emitted, stand_on_classes_and_claims) {
  const std::string text =
      emitted("{ tier: hot, profile: checkpoint-burst, device: tlc-gen4 }", "kubernetes");
  EXPECT_THAT(text, HasSubstr("orrery/storage-profile: checkpoint-burst"));
  EXPECT_THAT(text, HasSubstr("device: tlc-gen4"));
  EXPECT_THAT(text, HasSubstr("protection: { data: 8, parity: 2 }"));
  EXPECT_THAT(text, HasSubstr("ORRERY_CHECKPOINT_PROFILE"));
}

TEST(profiles_emitted, reach_the_runs_of_slurm) {
  const std::string text = emitted("{ tier: hot, profile: live-training }", "slurm");
  EXPECT_THAT(text, HasSubstr("ORRERY_DATA_PROFILE=live-training"));
}

TEST(profiles_emitted, are_absent_where_there_is_none) {
  const std::string text =
      emitted("{ tier: hot, kind: parallel-fs, read: 160 GB/s, write: 80 GB/s, capacity: 2 PB }",
              "kubernetes");
  EXPECT_THAT(text, Not(HasSubstr("profile")));
}

}  // namespace
}  // namespace orrery::emit
