// What edits are made of: rounded amounts, quoted names, batches and replicas that would do. That
// they cure what rules find is tests/fixes_test.cpp's concern.
#include "plan/rules/edits.h"

#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/batch_split.h"
#include "model/machine/known_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/stages.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

design::Design template_named(std::string_view name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

TEST(edits, amounts_have_two_digits_and_are_not_below) {
  EXPECT_EQ(at_least(terabytes(12.83)), "13 TB");
  EXPECT_EQ(at_least(kilowatts(10.2)), "11 kW");
  EXPECT_EQ(at_least(kilowatts(44)), "44 kW");
  for (double amount = 1; amount < 1e15; amount *= 1.37) {
    const double read = parse_quantity<Bytes>(at_least(Bytes(amount))).value().base();
    EXPECT_GE(read, amount);
    EXPECT_LE(read, amount * 1.11);
  }
}

TEST(edits, names_are_quoted_where_yaml_would_misread_them) {
  EXPECT_EQ(name_text("node-nvme"), "node-nvme");
  EXPECT_EQ(name_text("a, b"), "\"a, b\"");
  EXPECT_EQ(list_text(std::vector<std::string>{"hot", "x: y"}), "[hot, \"x: y\"]");
}

TEST(edits, storage_gets_the_compute_networks_switches_and_keeps_its_own_words) {
  design::Networks fabric = template_named("av-vision").fabric;
  fabric.storage = {.converged = true, .ports_per_node = 1};
  const design::Network own = separate_storage(fabric);
  EXPECT_FALSE(own.converged);
  EXPECT_EQ(own.topology, design::NamedTopology::fat_tree);
  EXPECT_EQ(own.switch_part, fabric.compute.switch_part);
  EXPECT_TRUE(own.roce == fabric.compute.roce) << "the same switches, set up alike";
  EXPECT_EQ(own.ports_per_node, 1);
  fabric.storage = {.topology = design::NamedTopology::three_tier, .converged = true};
  EXPECT_EQ(separate_storage(fabric).topology, design::NamedTopology::three_tier);
}

TEST(edits, the_nearest_batch_is_a_multiple_that_the_accelerators_share) {
  design::Design d = template_named("av-vision");  // a plain network on 512
  auto& train = std::get<design::Train>(d.workloads[0].task);
  const auto nearest = [&](int batch) {
    train.batch = batch;
    return nearest_batch(review::run_stages(d, machine::known()).trains.at(0), 512);
  };
  EXPECT_EQ(nearest(3200), 3072);
  EXPECT_EQ(nearest(3500), 3584);
  EXPECT_EQ(nearest(1), 512);
  EXPECT_EQ(nearest(4096), 4096);
  // One accelerator takes any batch, and the least is one; of two as near the larger is said.
  train.batch = 1;
  EXPECT_EQ(nearest_batch(review::run_stages(d, machine::known()).trains.at(0), 1), 1);
  EXPECT_EQ(nearest(3328), 3584);
}

TEST(edits, replicas_for_an_availability_are_the_least) {
  design::Design d = template_named("inference-pod");
  std::get<design::Serve>(d.workloads[0].task).replicas.reset();
  const review::Review r = review::run_stages(d, machine::known());
  const review::ServeView& v = r.serves.at(0);
  for (const double wanted : {0.99, 0.999, 0.99999, 0.9999999}) {
    const auto replicas = review::replicas_for_availability(v, wanted, *r.machine);
    ASSERT_TRUE(replicas) << wanted;
    EXPECT_GE(review::availability_with(v, *replicas, *r.machine), wanted);
    if (*replicas > v.replicas) {
      EXPECT_LT(review::availability_with(v, *replicas - 1, *r.machine), wanted);
    }
  }
}

TEST(edits, a_service_split_by_zones_rounds_halves_up_and_leaves_one_each) {
  const design::Design d = template_named("chatbot-zones");
  const review::Review r = review::run_stages(d, machine::known());
  ASSERT_EQ(r.serves.size(), 3u);
  EXPECT_EQ(r.serves[0].replicas_here(20), 8);
  EXPECT_EQ(r.serves[1].replicas_here(10), 3) << "a quarter of ten";
  EXPECT_EQ(r.serves[1].replicas_here(1), 1);
}

}  // namespace
}  // namespace orrery::rules
