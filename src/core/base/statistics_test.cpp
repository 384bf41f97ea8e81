#include "core/base/statistics.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/quantity.h"

namespace orrery {
namespace {

TEST(Statistics, quantile_is_between_its_neighbours) {
  const std::vector<double> v = {40, 10, 30, 20};
  EXPECT_EQ(quantile(v, 0), 10);
  EXPECT_EQ(quantile(v, 1), 40);
  EXPECT_EQ(quantile(v, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile(v, 0.9), 37);  // position 2.7
  EXPECT_DOUBLE_EQ(quantile(v, 0.9, Between::mixed), 37);
  EXPECT_EQ(quantile(v, 0.9, Between::lower), 30);
  EXPECT_EQ(quantile(v, 0.9, Between::higher), 40);
  // At a whole position there is nothing to interpolate.
  EXPECT_EQ(quantile(std::vector<double>{3, 1, 2}, 0.5, Between::higher), 2);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.9), 7);
}

TEST(Statistics, constant_sample_has_one_quantile) {
  const std::vector<double> v(7, 0.1);
  for (const double q : {0.0, 0.1, 0.37, 0.5, 0.9, 1.0}) EXPECT_EQ(quantile(v, q), 0.1) << q;
}

TEST(Statistics, median_of_an_even_sample_is_the_mean_of_the_middle_two) {
  EXPECT_EQ(median(std::vector<double>{9, 1, 3, 4}), 3.5);
  EXPECT_EQ(median(std::vector<double>{9, 1, 3}), 3);
  EXPECT_EQ(median(std::vector<Seconds>{seconds(4), seconds(1)}), seconds(2.5));
}

TEST(Statistics, means_count_every_value_with_its_weight) {
  EXPECT_EQ(mean(std::vector<double>{1, 2, 6}), 3);
  WeightedMean<Watts> power;
  EXPECT_EQ(power.value_or(watts(5)), watts(5));
  power.add(watts(100), 3);
  power.add(watts(200), 1);
  EXPECT_EQ(power.value_or(Watts()), watts(125));
}

TEST(Statistics, empty_sample_gives_zero) {
  EXPECT_EQ(quantile(std::vector<double>(), 0.5), 0);
  EXPECT_EQ(median(std::vector<Seconds>()), Seconds());
  EXPECT_EQ(mean(std::vector<double>()), 0);
}

TEST(Statistics, zero_weight_has_no_mean) {
  WeightedMean<double> mean;
  mean.add(5, 0);
  EXPECT_EQ(mean.value_or(-1), -1);
  mean.add(7, 0.5);
  mean.add(1, 1.5);
  EXPECT_DOUBLE_EQ(mean.value_or(-1), 2.5);
  EXPECT_EQ(quantile(std::vector<double>{1, 2, 4}, 0.75, Between::higher), 4);
  EXPECT_EQ(quantile(std::vector<double>{1, 2, 4}, 0.25, Between::lower), 1);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{1, 2, 4}, 0.75), 3);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{1, 2, 5}, 0.9, Between::mixed), 4.4);
}

}  // namespace
}  // namespace orrery
