// What a design comes to by itself: nodes with what the file says laid over the catalog's, labels
// and lookups, edits of rare texts, goals and what is written of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design/part_ids.h"
#include "model/design/slurm_fleets.h"
#include "model/design_text/edit.h"
#include "model/design_text/profiles.h"
#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"
#include "model/design_text/write_design.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ResolvedNode, has_what_the_file_says_over_the_catalog) {
  const design::Fleet fleet{.name = "f",
                            .node = "dgx-h100",
                            .custom = design::CustomNode{.accelerator = "h200-sxm",
                                                         .accelerators = 6,
                                                         .accelerators_per_host = 3,
                                                         .sockets = 4,
                                                         .cores = 111,
                                                         .memory = terabytes(3),
                                                         .memory_bandwidth = gbytes_per_s(777),
                                                         .matrix_rate = tflops_per_s(5),
                                                         .compute_nics = 5,
                                                         .nic_rate = gbits_per_s(123),
                                                         .storage_nics = 7,
                                                         .storage_nic_rate = gbits_per_s(321),
                                                         .local_nvme = terabytes(9),
                                                         .rack_units = 11,
                                                         .max_power = kilowatts(12),
                                                         .typical_power = kilowatts(9),
                                                         .idle_power = kilowatts(3),
                                                         .price = usd(99)}};
  const design::FleetNode n = design::resolve_node(fleet, design::catalog());
  EXPECT_EQ(n.part.id, "dgx-h100");
  EXPECT_EQ(n.part.accelerator_id, "h200-sxm");
  EXPECT_EQ(n.part.accelerators, 6);
  EXPECT_EQ(n.part.accelerators_per_host, 3);
  EXPECT_EQ(n.part.host_cpus, 4);
  EXPECT_EQ(n.part.compute_nics, 5);
  EXPECT_EQ(n.part.nic_rate, gbits_per_s(123));
  EXPECT_EQ(n.part.local_nvme, terabytes(9));
  EXPECT_EQ(n.part.rack_units, 11);
  EXPECT_EQ(n.part.max_power, kilowatts(12));
  EXPECT_EQ(n.part.typical_train_power, kilowatts(9));
  EXPECT_EQ(n.part.idle_power, kilowatts(3));
  ASSERT_TRUE(n.part.price);
  EXPECT_EQ(n.part.price->low, usd(99));
  EXPECT_EQ(n.part.price->high, usd(99));
  EXPECT_EQ(n.cores, 111);
  EXPECT_EQ(n.memory, terabytes(3));
  EXPECT_EQ(n.memory_bandwidth, gbytes_per_s(777));
  EXPECT_EQ(n.matrix_rate, tflops_per_s(5));
  EXPECT_EQ(n.storage_nics, 7);
  EXPECT_EQ(n.storage_nic_rate, gbits_per_s(321));
  ASSERT_NE(n.accelerator, nullptr);
  EXPECT_EQ(n.accelerator->id, "h200-sxm");
}

TEST(ResolvedNode, is_the_catalogs_where_nothing_is_said) {
  const design::FleetNode n =
      design::resolve_node({.name = "f", .node = "dgx-h100"}, design::catalog());
  EXPECT_EQ(n.part.accelerators_per_host, 8);
  EXPECT_EQ(n.part.rack_units, 8);
  EXPECT_EQ(n.accelerator, design::catalog().accelerator("h100-sxm"));
  EXPECT_EQ(n.rewired, nullptr);
  const design::FleetNode fewer = design::resolve_node(
      {.name = "f", .node = "dgx-h100", .custom = design::CustomNode{.accelerators = 4}},
      design::catalog());
  EXPECT_EQ(fewer.part.accelerators_per_host, 4) << "one host of that many";
  const design::FleetNode own = design::resolve_node(
      {.name = "mine", .custom = design::CustomNode{.accelerators = 0}}, design::catalog());
  EXPECT_EQ(own.part.id, "mine");
  EXPECT_EQ(own.part.name, "mine");
  EXPECT_EQ(own.part.provenance.reference, "design/mine");
  EXPECT_EQ(own.part.provenance.source, "the design file");
  EXPECT_EQ(own.part.provenance.basis, catalog::FactBasis::derived);
  EXPECT_EQ(own.part.provenance.confidence, catalog::Confidence::medium);
  EXPECT_EQ(own.accelerator, nullptr);
}

// As many links as carry what NVLink's 450 GB/s did, unless they are counted.
TEST(ResolvedNode, has_other_links_where_they_are_named) {
  const catalog::EmergingPart& link = *design::catalog().emerging_part("ualink-200");
  ASSERT_TRUE(link.rate);
  design::Fleet fleet{
      .name = "f", .node = "dgx-h100", .custom = design::CustomNode{.scale_up = "ualink-200"}};
  const design::FleetNode same = design::resolve_node(fleet, design::catalog());
  ASSERT_NE(same.rewired, nullptr);
  EXPECT_EQ(same.accelerator, same.rewired.get());
  EXPECT_EQ(same.accelerator->scaleup_link, link.name);
  EXPECT_EQ(same.accelerator->scaleup_domain, 8);
  const double links = std::ceil(450e9 / link.rate->base() - 1e-9);
  EXPECT_DOUBLE_EQ(same.accelerator->scaleup_per_direction->base(), links * link.rate->base());
  if (link.latency) {
    EXPECT_DOUBLE_EQ(same.accelerator->scaleup_extra.base(), link.latency->base() - 500e-9);
  }
  fleet.custom->scale_up_links = 3;
  EXPECT_DOUBLE_EQ(
      design::resolve_node(fleet, design::catalog()).accelerator->scaleup_per_direction->base(),
      3 * link.rate->base());
}

TEST(Lookups, by_name_by_word_and_by_place) {
  design::Design d;
  EXPECT_EQ(design::find_site(d, ""), nullptr);
  d.sites = {{.name = "a", .hours = "h.csv"}, {.name = "b"}};
  EXPECT_EQ(design::find_site(d, ""), &d.sites[0]);
  EXPECT_EQ(design::find_site(d, "b"), &d.sites[1]);
  EXPECT_EQ(design::find_site(d, "c"), nullptr);
  EXPECT_EQ(design::find_hours(d, d.sites[0]), nullptr);
  d.local_hours = {{"x.csv", {}}, {"h.csv", {}}};
  EXPECT_EQ(design::find_hours(d, d.sites[0]), &d.local_hours[1].hours);
  EXPECT_EQ(design::find_hours(d, d.sites[1]), nullptr);
  EXPECT_EQ(design::place_of(d, "fleet"), Place{}) << "of no file";
  d.storage = {{.tier = design::Tier::hot}, {.name = "arch", .tier = design::Tier::cold}};
  EXPECT_EQ(d.storage[0].label(), "hot");
  EXPECT_EQ(d.storage[1].label(), "arch");
  EXPECT_EQ(design::find_tier(d, "hot"), &d.storage[0]);
  EXPECT_EQ(design::find_tier(d, "arch"), &d.storage[1]);
  EXPECT_EQ(design::find_tier(d, "cold"), nullptr);
  EXPECT_EQ(design::find_tier(d, ""), nullptr);
  EXPECT_EQ((design::Stage{.stage = design::DataStage::train}).label(), "train");
  EXPECT_EQ((design::Stage{.stage = design::DataStage::train, .name = "n"}).label(), "n");
  d.local_models = {{"m.json", {.id = "mine"}}};
  EXPECT_EQ(design::find_model(d, design::catalog(), "m.json"), &d.local_models[0].shape);
  EXPECT_EQ(design::find_model(d, design::catalog(), "llama-3-8b"),
            design::catalog().model("llama-3-8b"));
  EXPECT_TRUE(d.local_models[0] == (design::LocalModel{"m.json", {}})) << "a path is its text";
  EXPECT_FALSE(d.local_models[0] == (design::LocalModel{"n.json", {.id = "mine"}}));
  EXPECT_TRUE(d.local_hours[0] == (design::LocalHours{"x.csv", {}}));
  EXPECT_FALSE(d.local_hours[0] == (design::LocalHours{"y.csv", {}}));
}

TEST(Lookups, workloads_are_called_by_kind_and_number) {
  design::Design d;
  d.workloads.resize(5);
  d.workloads[0].task = design::Train{};
  d.workloads[1].task = design::Serve{};
  d.workloads[2].task = design::Train{};
  d.workloads[2].terms.name = "mine";
  d.workloads[3].task = design::Train{};
  d.workloads[4].task = design::Train{};
  EXPECT_EQ(design::label_of(d, d.workloads[0]), "train");
  EXPECT_EQ(design::label_of(d, d.workloads[1]), "serve");
  EXPECT_EQ(design::label_of(d, d.workloads[2]), "mine");
  EXPECT_EQ(design::label_of(d, d.workloads[3]), "train-2");
  EXPECT_EQ(design::label_of(d, d.workloads[4]), "train-3");
  EXPECT_STREQ(design::kind_of(d.workloads[1]), "serve");
  d.workloads[1].task = design::Jobs{};
  EXPECT_STREQ(design::kind_of(d.workloads[1]), "jobs");
  d.workloads[1].task = design::Batch{};
  EXPECT_STREQ(design::kind_of(d.workloads[1]), "batch");
}

TEST(Lookups, which_fleets_are_slurms) {
  design::Design d;
  const auto is = [&](design::SchedulerKind kind, design::Partition partition) {
    d.scheduler.kind = kind;
    return design::is_slurms(d, {.partition = partition});
  };
  EXPECT_TRUE(is(design::SchedulerKind::slurm, design::Partition::kubernetes));
  EXPECT_FALSE(is(design::SchedulerKind::kubernetes, design::Partition::slurm));
  EXPECT_TRUE(is(design::SchedulerKind::both, design::Partition::slurm));
  EXPECT_FALSE(is(design::SchedulerKind::both, design::Partition::kubernetes));
}

TEST(Residency, is_a_region_a_country_or_the_union) {
  const catalog::GridRegion* germany = design::catalog().region("deu");
  const catalog::GridRegion* usa = design::catalog().region("gcp-us-east4");
  ASSERT_TRUE(germany && usa);
  EXPECT_TRUE(design::is_inside("", nullptr));
  EXPECT_FALSE(design::is_inside("eu", nullptr));
  EXPECT_TRUE(design::is_inside("EU", germany));
  EXPECT_FALSE(design::is_inside("eu", usa));
  EXPECT_TRUE(design::is_inside("usa", usa));
  EXPECT_FALSE(design::is_inside("deu", usa));
  EXPECT_TRUE(design::is_inside(usa->id, usa));
  EXPECT_TRUE(design::is_inside("aws-us-east-1", usa)) << "by another name";
  EXPECT_FALSE(design::is_inside("aws-us-west-9", usa));
  EXPECT_TRUE(design::is_residency("eu", design::catalog()));
  EXPECT_TRUE(design::is_residency("deu", design::catalog()));
  EXPECT_TRUE(design::is_residency("aws-us-east-1", design::catalog()));
  EXPECT_FALSE(design::is_residency("mars", design::catalog()));
}

TEST(Arrivals, follow_from_who_asks) {
  design::Arrivals a{.rate = PerSecond(10), .turns = 3, .cache_hits = 0.25};
  EXPECT_EQ(a.visits(), 3);
  EXPECT_EQ(a.pause(), seconds(30));
  EXPECT_EQ(a.reaching(), PerSecond(7.5));
  a.think_time = seconds(9);
  EXPECT_EQ(a.pause(), seconds(9));
  a.agent = design::AgentLoop{.calls = 6, .tool_time = seconds(2)};
  EXPECT_EQ(a.visits(), 6);
  EXPECT_EQ(a.pause(), seconds(2));
  EXPECT_EQ(design::AgentLoop{}.calls, 2);
  EXPECT_EQ(design::Arrivals{}.turns, 1);
  EXPECT_EQ(design::Arrivals{}.peak, 1);
  EXPECT_EQ(design::Zone{}.share, 1);
  EXPECT_EQ(design::Autoscale{}.min, 1);
  EXPECT_EQ(design::Autoscale{}.max, 1);
  EXPECT_EQ(design::Autoscale{}.period, seconds(15));
  EXPECT_EQ(design::Autoscale{}.lag, seconds(15));
  EXPECT_EQ(design::Autoscale{}.hold, minutes(5));
  EXPECT_EQ(design::Adapters{}.count, 1);
  EXPECT_EQ(design::Adapters{}.rank, 16);
  EXPECT_EQ(design::Adapters{}.slots, 8);
  EXPECT_EQ(design::Adapters{}.skew, 1);
  EXPECT_EQ(design::kFailoverAfter, minutes(1));
}

std::string edited(std::string_view text, const Change& edit) {
  const auto r = edit_text(text, edit, design::catalog());
  return r ? (r->rewritten ? "rewritten: " : "") + r->text : to_text(r.error());
}

TEST(EditRareTexts, quotes_comments_and_empty_lists) {
  EXPECT_EQ(edited("a: \"x\\\"y\" # c\nb: 1\n", {"a", "z"}), "a: z # c\nb: 1\n");
  EXPECT_EQ(edited("a: 'it''s' # c\n", {"a", "z"}), "a: z # c\n");
  EXPECT_EQ(edited("a: { b: 'x}', c: \"y\\\\\" } # d\n", {"a", "1"}), "a: 1 # d\n");
  EXPECT_EQ(edited("a: [] # c\n", {"a[0]", "x"}), "a: [x] # c\n");
  EXPECT_EQ(edited("a: { b: [] }\n", {"a.b[0]", "x"}), "a: { b: [x] }\n");
  EXPECT_EQ(edited("a: {} # c\n", {"a.b[0].c", "1"}), "a: { b: [{ c: 1 }] } # c\n");
  EXPECT_EQ(edited("a: [1, # }\n    2]\nb: 3\n", {"a", "x"}), "a: x\nb: 3\n");
  EXPECT_EQ(edited("\"a b\": 1\nc: 2\n", {"c", "3"}), "\"a b\": 1\nc: 3\n");
  EXPECT_EQ(edited("a: ~\nb: 1\n", {"a", "2"}), "a: 2\nb: 1\n");
  EXPECT_EQ(edited("a: null # n\nb: 1\n", {"a", "2"}), "a: 2 # n\nb: 1\n");
  EXPECT_EQ(edited("a:\n  - x # first\n  - y\n", {"a[0]", "z"}), "a:\n  - z # first\n  - y\n");
  EXPECT_EQ(edited("a: [x, y, z]\n", {"a[1]", ""}), "a: [x, z]\n");
  EXPECT_EQ(edited("a: [x, y]\n", {"a[1]", ""}), "a: [x]\n");
  EXPECT_EQ(edited("a: [x]\n", {"a[0]", ""}), "a: []\n");
  EXPECT_EQ(edited("a:\n  b: 1\n  c: 2 # two\nd: 3\n", {"a.c", ""}), "a:\n  b: 1\nd: 3\n");
  EXPECT_EQ(edited("a:\n  - x\n  - y\n", {"a[1]", ""}), "a:\n  - x\n");
  EXPECT_EQ(edited("a:\n  - b: 1\n", {"a[0].c", "2"}), "a:\n  - b: 1\n    c: 2\n");
}

TEST(WrittenDesign, one_site_stands_alone_and_several_in_a_list) {
  const auto text = [](const std::string& sites) {
    return write_design(read_design("orrery: 1\nname: t\n" + sites +
                                        "fleet:\n  - { name: a, node: dgx-h100, count: 1 }\n",
                                    design::catalog())
                            .value());
  };
  EXPECT_TRUE(text("sites:\n  - { name: x, region: usa }\n").contains("site:"));
  EXPECT_FALSE(text("sites:\n  - { name: x, region: usa }\n").contains("sites:"));
  EXPECT_TRUE(text("sites:\n  - { name: x, region: usa }\n  - { name: y, region: deu }\n")
                  .contains("sites:"));
}

TEST(WrittenDesign, a_tier_without_a_profile_says_what_differs) {
  design::StorageTier tier{.tier = design::Tier::hot, .kind = design::TierKind::object};
  EXPECT_FALSE(section_text(tier).contains("encrypted"));
  tier.encrypted = !tier.encrypted;
  EXPECT_TRUE(section_text(tier).contains("encrypted"));
  const YamlNode node = tier_node({.tier = design::Tier::hot, .kind = design::TierKind::object});
  const auto has = [&](std::string_view key) {
    return std::ranges::find(node.keys, key, &YamlNode::Key::text) != node.keys.end();
  };
  EXPECT_TRUE(has("encrypted")) << "all that a profile could say otherwise";
  EXPECT_TRUE(has("device")) << "even that it has none";
  EXPECT_FALSE(has("name")) << "its own, and empty";
  EXPECT_FALSE(has("provider"));
  EXPECT_FALSE(has("servers")) << "left open";
}

TEST(WrittenGoals, have_a_unit_of_their_metric) {
  const auto text = [](const char* goal) { return to_text(*design::parse_goal(goal)); };
  EXPECT_EQ(text("goodput>=0.9"), "goodput >= 0.9");
  EXPECT_EQ(text("goodput >= 90 %"), "goodput >= 0.9");
  EXPECT_EQ(text("cost < 12 MUSD/y"), "cost < 12 MUSD/y");
  EXPECT_EQ(text("cost_per_gpu_hour <= 2.5 USD/h"), "cost_per_gpu_hour <= 2.5 USD/h");
  EXPECT_EQ(text("ttft_p99 <= 500 ms"), "ttft_p99 <= 500 ms");
  const auto code = [](const char* goal) {
    const auto g = design::parse_goal(goal);
    return g ? "" : g.error().code;
  };
  EXPECT_EQ(code("goodput"), "goal.syntax");
  EXPECT_EQ(code("goodput >="), "goal.syntax");
  EXPECT_EQ(code("goodput == 1"), "goal.syntax");
  EXPECT_EQ(code("godput >= 1"), "goal.metric");
  EXPECT_EQ(code("goodput >= 1 s"), "goal.unit");
  EXPECT_EQ(code("goodput >= x %"), "goal.unit");
  EXPECT_EQ(code("step_time <= 1 kW"), "goal.unit");
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: "
                      "dgx-h100, count: 1 }\ngoals: [ goodput >= 0.9, godput >= 1 ]\n"),
              ElementsAre("goal.metric at godput: there is no metric `godput`"));
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: "
                      "dgx-h100, count: 1 }\ngoals: [ goodput >= 0.9 ]\n"),
              IsEmpty());
}

}  // namespace
}  // namespace orrery::design_text
