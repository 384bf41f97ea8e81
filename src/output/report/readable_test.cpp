#include "output/report/readable.h"

#include <gtest/gtest.h>

namespace orrery::report {
namespace {

using figures::FigureId;
using figures::Unit;

figures::Figure figure(FigureId kind, double value, double low, double high) {
  figures::Figure f{.kind = kind};
  f.estimate = {.value = value, .low = low, .high = high};
  return f;
}

TEST(Readable, a_value_below_its_resolution_is_a_bound) {
  EXPECT_EQ(readable(4e-6, Unit::ratio), "under 0.1 %");
  EXPECT_EQ(readable(0.4e-9, Unit::seconds), "under 1 us");
  EXPECT_EQ(readable(0.3, Unit::usd_per_year), "under 1 USD/y");
  EXPECT_EQ(readable(0.002, Unit::count), "under 0.01");
}

TEST(Readable, zero_and_the_resolution_itself_are_written_out) {
  EXPECT_EQ(readable(0, Unit::ratio), "0 %");
  EXPECT_EQ(readable(0.001, Unit::ratio), "0.1 %");
  EXPECT_EQ(readable(0, Unit::seconds), "0 s");
  EXPECT_EQ(readable(1e-6, Unit::seconds), "1 us");
}

TEST(Readable, queue_waits_have_a_resolution_of_a_second) {
  EXPECT_EQ(readable(figure(FigureId::mean_wait, 2.18e-9, 0, 1)), "under 1 s");
  EXPECT_EQ(readable(figure(FigureId::request_wait, 0.012, 0, 1)), "12 ms");
}

TEST(Readable, rates_and_estimated_counts_have_three_digits) {
  EXPECT_EQ(readable(809'748, Unit::tokens_per_s), "810,000 tokens/s");
  EXPECT_EQ(readable(1'078, Unit::tokens_per_s), "1,080 tokens/s");
  EXPECT_EQ(readable(figure(FigureId::accelerator_hours, 521'308, 412'560, 630'343)), "521,000");
  EXPECT_EQ(readable(1'016, Unit::count), "1,016");
}

TEST(Readable, a_small_probability_keeps_its_digits) {
  EXPECT_EQ(readable(figure(FigureId::loss_per_save, 0.000412, 0, 1)), "0.0412 %");
}

TEST(Readable, an_interval_that_reads_the_same_at_both_ends_is_left_out) {
  EXPECT_EQ(readable_interval(figure(FigureId::goodput, 0.999, 0.99899, 0.99901)), "");
  EXPECT_EQ(readable_interval(figure(FigureId::goodput, 0.98, 0.972, 0.995)), "97.2 % .. 99.5 %");
  EXPECT_EQ(readable_interval(figure(FigureId::time_share, 1e-5, 1e-6, 0.02)),
            "under 0.1 % .. 2 %");
}

TEST(Readable, a_section_of_zeros_is_silent_unless_it_names_a_limit) {
  figures::Section s{.layer = figures::Layer::cluster, .name = "queue", .summary = "no jobs"};
  EXPECT_FALSE(is_silent(s));
  s.figures = {figure(FigureId::mean_wait, 0, 0, 0)};
  EXPECT_TRUE(is_silent(s));
  s.limit = "limits";
  EXPECT_FALSE(is_silent(s));
  s.limit.clear();
  s.figures.push_back(figure(FigureId::mean_wait, 1, 0, 2));
  EXPECT_FALSE(is_silent(s));
  EXPECT_TRUE(is_silent(figures::Section{}));
}

}  // namespace
}  // namespace orrery::report
