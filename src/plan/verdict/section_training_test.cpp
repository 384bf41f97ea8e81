#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

// 960 accelerators, a step of 2.5 s and 7.2 M tokens, known to a tenth; goodput 0.9, between 0.8
// and 0.96.
review::Review stepping() {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.accelerators = 960;
  t.hosts = 120;
  t.step.step = seconds(2.5);
  t.step.units_per_step = 7.2e6;
  t.step.error = 0.1;
  t.step.parts = {{"kernels", seconds(2)}, {"waiting", seconds(0.5)}, {"none", Seconds()}};
  t.step.flops_utilisation = 0.4;
  t.step.memory = gigabytes(60);
  t.step.memory_error = 0.05;
  t.step.memory_limit = gigabytes(80);
  t.goodput = 0.9;
  t.goodput_low = 0.8;
  t.goodput_high = 0.96;
  t.units = 2e12;
  t.units_per_s = 7.2e6 / 2.5 * 0.9;
  t.run_time = days(9);
  return r;
}

TEST(SectionTraining, rates_and_times) {
  const review::Review r = stepping();
  const figures::Section s =
      section_named(training_sections(r), figures::Layer::training, "pretrain");
  expect_figure(s, "step_time", 2.5, 2.25, 2.75);
  const auto& inputs = figure_of_section(s, "step_time").inputs;
  ASSERT_EQ(inputs.size(), 2U) << "what takes no time is no part";
  EXPECT_EQ(inputs[0].name, "kernels");
  EXPECT_EQ(inputs[0].value, "2 s (80 %)");
  expect_figure(s, "mfu", 0.4, 0.36, 0.44);
  expect_figure(s, "memory", 60e9, 57e9, 63e9);
  expect_figure(s, "rate_per_accelerator", 3000, 2700, 3300);
  expect_figure(s, "useful_rate", 2.592e6, 2.592e6 * 0.9, 2.592e6 * 1.1);
  // Slower by 0.9/0.8 - 1 = 0.125, faster by 1 - 0.9/0.96 = 0.0625, each combined with a tenth.
  const double below = std::hypot(0.1, 0.0625);
  const double above = std::hypot(0.1, 0.125);
  expect_figure(s, "run_time", 9 * 86400, 9 * 86400 * (1 - below), 9 * 86400 * (1 + above));
  expect_figure(s, "accelerator_hours", 960 * 216, 960 * 216 * (1 - below),
                960 * 216 * (1 + above));
  EXPECT_NE(s.limit, "");
}

TEST(SectionTraining, unknown_goodput_bounds_widen_the_run_time) {
  review::Review r = stepping();
  r.trains[0].goodput_low = 0;
  r.trains[0].goodput_high = 0;
  r.trains[0].step.parts.clear();
  r.trains[0].step.memory = Bytes();
  const figures::Section s =
      section_named(training_sections(r), figures::Layer::training, "pretrain");
  const Estimate& e = figure_of_section(s, "run_time").estimate;
  EXPECT_NEAR(e.low / e.value, 0.9, 1e-9);
  EXPECT_NEAR(e.high / e.value, 1 + std::hypot(0.1, 1), 1e-9);
  EXPECT_EQ(s.limit, "");
  EXPECT_FALSE(has_figure(s, "memory"));
  r.trains[0].run_time = Seconds();
  EXPECT_FALSE(has_figure(section_named(training_sections(r), figures::Layer::training, "pretrain"),
                          "run_time"));
  r.trains[0].infeasible = "too large";
  const auto all = training_sections(r);
  ASSERT_EQ(all.size(), 1U);
}

TEST(SectionTraining, checkpoint_times_and_intervals) {
  review::Review r = stepping();
  jobs::SavePlan& k = *r.trains[0].checkpoint;
  r.trains[0].parameters = 7e9;
  k.size = gigabytes(98);
  k.files = 1234567;
  k.async = true;
  k.drain = {.server = seconds(10),
             .network = seconds(4),
             .serialise = seconds(3),
             .uneven = seconds(0.2),
             .metadata = seconds(1),
             .commit = seconds(2),
             .total = seconds(20)};
  k.stall = {};
  k.stall.total = seconds(6);
  k.stall.snapshot = seconds(1);
  k.stall.wait = seconds(2);
  k.stall.interference = seconds(3);
  k.interval = minutes(30);
  k.interval_given = false;
  k.interval_limit = failure::IntervalLimit::optimum;
  k.restore.total = seconds(8);
  k.restore.server = seconds(7);
  k.restore.network = seconds(5);
  k.exposure.loss_per_save = 0.02;
  k.host_memory = gigabytes(32);
  const auto section = [&] {
    return section_named(training_sections(r), figures::Layer::storage, "pretrain checkpoint");
  };
  figures::Section s = section();
  expect_figure(s, "checkpoint_size", 98e9, 98e9 * 0.995, 98e9 * 1.005);
  expect_figure(s, "write_time", 20, 15, 25);
  expect_figure(s, "stall", 6, 4.5, 7.5);
  expect_figure(s, "interval", 1800, 1350, 2250);
  expect_figure(s, "restore_time", 8, 6, 10);
  expect_figure(s, "loss_per_save", 0.02, 0.01, 0.03);
  expect_figure(s, "host_memory", 32e9, 32e9, 32e9);
  k.drain.uneven = seconds(0.1);  // half a per cent is left out
  k.interval_limit = failure::IntervalLimit::drain;
  k.async = false;
  k.safe = nullptr;
  k.host_memory = Bytes();
  s = section();
  EXPECT_FALSE(has_figure(s, "host_memory"));
  k.interval_given = true;
  expect_figure(section(), "interval", 1800, 1800, 1800);
}

TEST(SectionTraining, data_rates_and_cores) {
  review::Review r = stepping();
  jobs::FeedPlan& f = r.trains[0].feed;
  ASSERT_TRUE(f.known);
  f.sample = kilobytes(32);
  f.object = megabytes(64);
  f.wanted = gbytes_per_s(12);
  f.loader.utilisation = 0.8;
  f.loader.storage_samples_per_s = 123.4;
  f.loader.decode_samples_per_s = std::numeric_limits<double>::infinity();
  f.loader.demand_samples_per_s = 456.7;
  f.loader.limit = storage::LoaderLimit::device_copy;
  f.moving_cores = 0.009;
  figures::Section s =
      section_named(training_sections(r), figures::Layer::storage, "pretrain data");
  expect_figure(s, "read_rate", 12e9, 12e9 * 0.9, 12e9 * 1.1);
  expect_figure(s, "accelerator_utilisation", 0.8, 0.76, 0.8);
  EXPECT_NE(s.limit, "");
  EXPECT_FALSE(has_figure(s, "moving_cores"));
  f.moving_cores = 2;
  f.loader.decode_samples_per_s = 789.1;
  s = section_named(training_sections(r), figures::Layer::storage, "pretrain data");
  expect_figure(s, "moving_cores", 2, 1.8, 2.2);
}

// Nine days at 18 hours between failures: 12 of them, scattered by 1.2816 / sqrt 12.
TEST(SectionTraining, failures_and_goodput) {
  review::Review r = stepping();
  review::TrainView& t = r.trains[0];
  jobs::FailurePlan& f = t.failure;
  f.mtbf = hours(18);
  f.rate_low = 0.5;
  f.rate_high = 3;
  f.restart = minutes(10);
  f.restart_factor = 2;
  f.detect = seconds(60);
  f.requeue = seconds(30);
  f.start = seconds(90);
  f.attempts = 1.25;
  f.hands = seconds(40);
  f.node_rate = PerSecond(0.00462 / 86400);
  f.shared_rate = PerSecond(0.2 / 86400);
  f.spares = 3;
  f.shortfall = 0.01;
  f.slow = 1.02;
  t.contention = 0.03;
  t.efficiency = 0.95;
  t.feed.loader.utilisation = 0.98;
  t.shares.saving = 0.005;
  t.shares.lost_work = 0.006;
  t.shares.restarting = 0.007;
  t.checkpoint->restore.total = seconds(20);
  figures::Section s = section_named(training_sections(r), figures::Layer::failure, "pretrain");
  expect_figure(s, "mtbf", 64800, 21600, 129600);
  expect_figure(s, "restart", 600, 300, 1200);
  const double factor = std::exp(std::hypot(std::log(3), 1.2816 / std::sqrt(12)));
  expect_figure(s, "interruptions", 12, 12 / factor, 12 * factor);
  EXPECT_FALSE(figure_of_section(s, "interruptions").inputs.empty());
  expect_figure(s, "goodput", 0.9, 0.8, 0.96);
  EXPECT_NE(s.limit, "");
  f.rate_low = 0;
  f.rate_high = 0.5;
  f.shared_rate = PerSecond();
  t.run_time = f.mtbf * 0.0099;
  t.contention = 0;
  s = section_named(training_sections(r), figures::Layer::failure, "pretrain");
  expect_figure(s, "mtbf", 64800, 64800, 64800);
  EXPECT_FALSE(has_figure(s, "interruptions")) << "fewer than one run in a hundred";
  EXPECT_NE(s.limit, "");
  t.run_time = f.mtbf * 0.25;
  s = section_named(training_sections(r), figures::Layer::failure, "pretrain");
  const double alone = std::exp(1.2816);
  EXPECT_NEAR(figure_of_section(s, "interruptions").estimate.high, 0.25 * alone, 1e-9);
}

TEST(SectionTraining, cores_that_move_data) {
  review::Review r = review::lab_review("av-vision");
  review::TrainView& v = r.trains.at(0);
  v.feed.moving_cores = 0.0099;
  EXPECT_EQ(hand_figure(training_sections(r), "moving_cores").id, "");
  v.feed.moving_cores = 0.01;
  expect_ends(hand_figure(training_sections(r), "moving_cores"), 0.1, 0.1);
  v.feed.moving_cores = 2;
  v.feed.wanted = gbytes_per_s(64);
  v.hosts = 32;
  v.hosts = 0;
  expect_ends(hand_figure(training_sections(r), "accelerator_utilisation"), 0.05, 0);
}

// 3 % of the step and 4 % of the goodput are 5 % together; on the slow side, 12 % and 5 % are 13 %.
TEST(SectionTraining, run_time_combines_step_and_goodput_errors) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& v = r.trains.at(0);
  v.step.error = 0.03;
  v.goodput = 0.96;
  v.goodput_high = 1;
  v.goodput_low = 0.96 / 1.04;
  expect_ends(hand_figure(training_sections(r), "run_time"), 0.05, 0.05);
  expect_ends(hand_figure(training_sections(r), "accelerator_hours"), 0.05, 0.05);
  v.goodput_low = 0;
  v.goodput_high = 0;
  expect_ends(hand_figure(training_sections(r), "run_time"), 0.03, std::hypot(0.03, 1));
  v.goodput_low = 2;
  v.goodput_high = 0.5;
  expect_ends(hand_figure(training_sections(r), "run_time"), 0.03, 0.03);
}

}  // namespace
}  // namespace orrery::verdict
