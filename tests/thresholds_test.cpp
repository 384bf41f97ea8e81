// Rules at their thresholds: one per cent to either side of the figure that a rule compares, read
// from the review itself, the finding appears or does not.
//
// Designs that break a rule by far are in tests/golden/rules/. This test detects a comparison that
// is inverted or off by a few per cent.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/text.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

using figures::Layer;

std::string with(std::string text, const std::string& path, const std::string& value) {
  return design_text::edit_text(text, {path, value}, machine::known().catalog()).value().text;
}

verdict::Verdict verdict_on(const std::string& text) {
  const auto design = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(design) << (design ? "" : to_text(design.error()));
  return verdict::verdict_of(review::run_stages(design.value(), machine::known()),
                             {.spends = false});
}

bool finds(const std::string& text, std::string_view rule) {
  return std::ranges::any_of(verdict_on(text).findings,
                             [&](const rules::Finding& f) { return f.rule == rule; });
}

// A limit that the design sets on a figure of the review.
struct Limit {
  const char* rule;
  const char* name;  // name of the template
  const char* path;  // place of the limit in the design
  Layer layer;
  const char* figure;
  const char* unit;  // base unit of the figure, as written in the file
};

void PrintTo(const Limit& l, std::ostream* out) { *out << l.rule << " on " << l.name; }

class EveryLimit : public testing::TestWithParam<Limit> {};

TEST_P(EveryLimit, one_per_cent_below_the_figure_breaks_and_one_above_does_not) {
  const Limit& l = GetParam();
  const std::string text(design_text::find_template(l.name)->text);
  const verdict::Verdict verdict = verdict_on(text);
  const figures::Figure* figure = verdict.figure(l.layer, l.figure);
  ASSERT_NE(figure, nullptr);
  const auto limited = [&](double factor) {
    return with(text, l.path,
                fmt::format("{} {}", shortest(figure->estimate.value * factor), l.unit));
  };
  EXPECT_FALSE(finds(limited(1.01), l.rule));
  EXPECT_TRUE(finds(limited(0.99), l.rule));
}

INSTANTIATE_TEST_SUITE_P(
    limits, EveryLimit,
    testing::Values(Limit{"facility.power-above-site", "superpod-h100", "site.power",
                          Layer::facility, "draw_nameplate", "W"},
                    Limit{"facility.power-above-site", "fraud-cpu", "site.power", Layer::facility,
                          "draw_nameplate", "W"},
                    Limit{"facility.rack-above-cooling", "superpod-h100", "site.rack",
                          Layer::facility, "rack_power_train", "W"},
                    Limit{"workload.deadline", "superpod-h100", "workloads[0].train.deadline",
                          Layer::training, "run_time", "s"},
                    Limit{"workload.deadline", "fraud-cpu", "workloads[0].batch.repeat.window",
                          Layer::cluster, "duration", "s"},
                    Limit{"storage.capacity", "superpod-h100", "storage[0].capacity",
                          Layer::storage, "used", "B"},
                    Limit{"storage.drain-interval", "superpod-h100",
                          "workloads[0].train.checkpoint.every", Layer::storage, "write_time",
                          "s"}),
    [](const auto& one) {
      std::string name = std::string(one.param.rule) + "_" + one.param.name;
      std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
      return name;
    });

TEST(thresholds, whole_numbers_are_enough_at_the_number_and_not_one_below) {
  const std::string text(design_text::find_template("superpod-h100")->text);
  // 120 nodes of the run, 2 of the service and 5 of the group.
  EXPECT_FALSE(finds(with(text, "fleet[0].count", "127"), "cluster.nodes"));
  EXPECT_TRUE(finds(with(text, "fleet[0].count", "126"), "cluster.nodes"));
  // Four nodes per rack.
  EXPECT_FALSE(finds(with(text, "site.racks", "32"), "facility.rack-positions"));
  EXPECT_TRUE(finds(with(text, "site.racks", "31"), "facility.rack-positions"));
}

TEST(thresholds, a_queue_is_stable_up_to_the_capacity_of_the_fleet) {
  const std::string text(design_text::find_template("superpod-h100")->text);
  const verdict::Verdict verdict = verdict_on(text);
  const double load = verdict.figure(Layer::cluster, "load")->estimate.value;
  const auto at = [&](double share) {
    return with(text, "workloads[2].jobs.rate", shortest(7 / load * share) + " /h");
  };
  EXPECT_FALSE(finds(at(0.99), "cluster.gangs"));
  EXPECT_TRUE(finds(at(1.01), "cluster.gangs"));
}

TEST(thresholds, availability_goals_hold_up_to_the_computed_availability) {
  const std::string text(design_text::find_template("inference-pod")->text);
  const verdict::Verdict verdict = verdict_on(text);
  const double down = 1 - verdict.figure(Layer::serving, "availability")->estimate.value;
  ASSERT_GT(down, 0);
  const auto asked = [&](double factor) {
    return with(text, "workloads[0].serve.availability", shortest(1 - down * factor));
  };
  EXPECT_FALSE(finds(asked(1.01), "serving.availability"));
  EXPECT_TRUE(finds(asked(0.99), "serving.availability"));
}

TEST(thresholds, failover_needs_whole_replicas_and_enough_bandwidth_elsewhere) {
  const std::string text(design_text::find_template("chatbot-zones")->text);
  const verdict::Verdict verdict = verdict_on(text);
  const double load = verdict.figure(Layer::serving, "failover_load")->estimate.value;
  const auto needed = static_cast<int>(std::ceil(11 * load));
  const auto with_replicas = [&](int n) {
    return with(text, "workloads[0].serve.zones[1].replicas", std::to_string(n));
  };
  EXPECT_FALSE(finds(with_replicas(needed), "serving.failover"));
  EXPECT_TRUE(finds(with_replicas(needed - 1), "serving.failover"));
  const double bytes = verdict.figure(Layer::serving, "failover_bytes")->estimate.value;
  const auto line = [&](double factor) {
    return with(text, "fabric.wan[0].rate", shortest(bytes * factor) + " B/s");
  };
  EXPECT_FALSE(finds(line(1.01), "serving.failover"));
  EXPECT_TRUE(finds(line(0.99), "serving.failover"));
}

TEST(thresholds, a_goal_is_met_at_its_bound_and_missed_beyond) {
  const std::string text(design_text::find_template("fraud-cpu")->text);
  const verdict::Verdict verdict = verdict_on(text);
  const double draw = verdict.figure(Layer::facility, "draw_nameplate")->estimate.value;
  const auto met = [&](double factor) {
    return verdict_on(
               with(text, "goals", fmt::format("[ power <= {} W ]", shortest(draw * factor))))
        .goals.at(0)
        .met;
  };
  EXPECT_TRUE(met(1.01));
  EXPECT_FALSE(met(0.99));
}

}  // namespace
}  // namespace orrery
