#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

TEST(SectionCompute, peak_memory_and_draw_of_one_accelerator) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.step.device_power = watts(600);
  const auto section = [&] { return words_section(compute_sections(r), "train"); };
  figures::Section s = section();
  expect_words(s, "peak", {.value = 989.4e12, .basis = Basis::vendor});
  expect_words(s, "device_memory", {.value = 80e9, .basis = Basis::vendor});
  expect_words(s, "memory_rate", {.value = 3.35e12, .basis = Basis::vendor});
  expect_words(s, "power_limit", {.value = 700, .basis = Basis::vendor});
  expect_words(s, "draw_pretrain", {600, 0.06, 0.06, Basis::fitted});
  EXPECT_EQ(s.limit, "");
  t.step.device_power = watts(679);  // 0.97 of it
  EXPECT_NE(section().limit, "");
  t.step.device_power = watts(678.9);
  EXPECT_EQ(section().limit, "");
  t.step.device_power = Watts();
  EXPECT_EQ(words_figure(section(), "draw_pretrain"), nullptr);
  t.step.device_power = watts(600);
  t.infeasible = "no";
  EXPECT_EQ(words_figure(section(), "draw_pretrain"), nullptr);
  EXPECT_TRUE(compute_sections(review::lab_review("fraud-cpu")).empty()) << "it has none";
}

TEST(SectionCompute, lower_power_cap_is_the_limit) {
  const auto limit = [](double cap) {
    design::Design d = review::lab_design("inference-pod");
    d.fleet[0].power_cap = watts(cap);
    const figures::Section s =
        words_section(compute_sections(review::run_stages(std::move(d), machine::known())), "pod");
    return words_figure(s, "power_limit")->estimate.value;
  };
  EXPECT_EQ(limit(500), 500);
  EXPECT_EQ(limit(900), 700) << "an H200 draws no more";
}

}  // namespace
}  // namespace orrery::verdict
