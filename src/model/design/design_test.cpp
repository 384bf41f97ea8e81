// Nodes with the file's fields applied to the catalog, lookups by name, and residency.
#include "model/design/design.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/design/catalog_fixture.h"
#include "model/design/part_ids.h"
#include "model/design/slurm_fleets.h"

namespace orrery::design {
namespace {

TEST(Design, node_takes_fields_of_the_file_over_the_catalog) {
  const Fleet fleet{.name = "f",
                    .node = "dgx-h100",
                    .custom = CustomNode{.accelerator = "h200-sxm",
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
  const FleetNode n = resolve_node(fleet, catalog());
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

TEST(Design, node_is_the_catalogs_by_default) {
  const FleetNode n = resolve_node({.name = "f", .node = "dgx-h100"}, catalog());
  EXPECT_EQ(n.part.accelerators_per_host, 8);
  EXPECT_EQ(n.part.rack_units, 8);
  EXPECT_EQ(n.accelerator, catalog().accelerator("h100-sxm"));
  EXPECT_EQ(n.rewired, nullptr);
  const FleetNode fewer = resolve_node(
      {.name = "f", .node = "dgx-h100", .custom = CustomNode{.accelerators = 4}}, catalog());
  EXPECT_EQ(fewer.part.accelerators_per_host, 4) << "one host of that many";
  const FleetNode own =
      resolve_node({.name = "mine", .custom = CustomNode{.accelerators = 0}}, catalog());
  EXPECT_EQ(own.part.id, "mine");
  EXPECT_EQ(own.part.name, "mine");
  EXPECT_EQ(own.part.provenance.reference, "design/mine");
  EXPECT_EQ(own.part.provenance.basis, catalog::FactBasis::derived);
  EXPECT_EQ(own.part.provenance.confidence, catalog::Confidence::medium);
  EXPECT_EQ(own.accelerator, nullptr);
}

// As many links as carry what NVLink's 450 GB/s did, unless they are counted.
TEST(Design, named_scale_up_links_replace_the_catalogs) {
  const catalog::EmergingPart& link = *catalog().emerging_part("ualink-200");
  ASSERT_TRUE(link.rate);
  Fleet fleet{.name = "f", .node = "dgx-h100", .custom = CustomNode{.scale_up = "ualink-200"}};
  const FleetNode same = resolve_node(fleet, catalog());
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
  EXPECT_DOUBLE_EQ(resolve_node(fleet, catalog()).accelerator->scaleup_per_direction->base(),
                   3 * link.rate->base());
}

// A count of accelerators without hosts means one host of that many.
TEST(Design, custom_accelerator_count_is_one_host) {
  const Fleet fleet{.name = "f", .node = "dgx-h100", .custom = CustomNode{.accelerators = 6}};
  const FleetNode n = resolve_node(fleet, catalog());
  EXPECT_EQ(n.part.accelerators, 6);
  EXPECT_EQ(n.part.accelerators_per_host, 6);
  const Fleet plain{.name = "f", .node = "dgx-h100"};
  EXPECT_EQ(resolve_node(plain, catalog()).part.accelerators_per_host, 8);
  const Fleet other{.name = "f", .node = "dgx-h100", .custom = CustomNode{.cores = 7}};
  EXPECT_EQ(resolve_node(other, catalog()).part.accelerators_per_host, 8);
  EXPECT_EQ(resolve_node(other, catalog()).cores, 7);
}

TEST(Design, entries_are_found_by_name) {
  Design d;
  EXPECT_EQ(find_site(d, ""), nullptr);
  d.sites = {{.name = "a", .hours = "h.csv"}, {.name = "b"}};
  EXPECT_EQ(find_site(d, ""), &d.sites[0]);
  EXPECT_EQ(find_site(d, "b"), &d.sites[1]);
  EXPECT_EQ(find_site(d, "c"), nullptr);
  EXPECT_EQ(find_hours(d, d.sites[0]), nullptr);
  d.local_hours = {{"x.csv", {}}, {"h.csv", {}}};
  EXPECT_EQ(find_hours(d, d.sites[0]), &d.local_hours[1].hours);
  EXPECT_EQ(find_hours(d, d.sites[1]), nullptr);
  EXPECT_EQ(place_of(d, "fleet"), Place{}) << "of no file";
  d.storage = {{.tier = Tier::hot}, {.name = "arch", .tier = Tier::cold}};
  EXPECT_EQ(d.storage[0].label(), "hot");
  EXPECT_EQ(d.storage[1].label(), "arch");
  EXPECT_EQ(find_tier(d, "hot"), &d.storage[0]);
  EXPECT_EQ(find_tier(d, "arch"), &d.storage[1]);
  EXPECT_EQ(find_tier(d, "cold"), nullptr);
  EXPECT_EQ(find_tier(d, ""), nullptr);
  EXPECT_EQ((Stage{.stage = DataStage::train}).label(), "train");
  EXPECT_EQ((Stage{.stage = DataStage::train, .name = "n"}).label(), "n");
  d.local_models = {{"m.json", {.id = "mine"}}};
  EXPECT_EQ(find_model(d, catalog(), "m.json"), &d.local_models[0].shape);
  EXPECT_EQ(find_model(d, catalog(), "llama-3-8b"), catalog().model("llama-3-8b"));
  EXPECT_TRUE(d.local_models[0] == (LocalModel{"m.json", {}})) << "a path is its text";
  EXPECT_FALSE(d.local_models[0] == (LocalModel{"n.json", {.id = "mine"}}));
  EXPECT_TRUE(d.local_hours[0] == (LocalHours{"x.csv", {}}));
  EXPECT_FALSE(d.local_hours[0] == (LocalHours{"y.csv", {}}));
}

TEST(Design, workloads_are_labelled_by_kind_and_number) {
  Design d;
  d.workloads.resize(5);
  d.workloads[0].task = Train{};
  d.workloads[1].task = Serve{};
  d.workloads[2].task = Train{};
  d.workloads[2].terms.name = "mine";
  d.workloads[3].task = Train{};
  d.workloads[4].task = Train{};
  EXPECT_EQ(label_of(d, d.workloads[0]), "train");
  EXPECT_EQ(label_of(d, d.workloads[1]), "serve");
  EXPECT_EQ(label_of(d, d.workloads[2]), "mine");
  EXPECT_EQ(label_of(d, d.workloads[3]), "train-2");
  EXPECT_EQ(label_of(d, d.workloads[4]), "train-3");
  EXPECT_STREQ(kind_of(d.workloads[1]), "serve");
  d.workloads[1].task = Jobs{};
  EXPECT_STREQ(kind_of(d.workloads[1]), "jobs");
  d.workloads[1].task = Batch{};
  EXPECT_STREQ(kind_of(d.workloads[1]), "batch");
}

TEST(Design, fleets_belong_to_slurm_or_kubernetes) {
  Design d;
  const auto is = [&](SchedulerKind kind, Partition partition) {
    d.scheduler.kind = kind;
    return is_slurms(d, {.partition = partition});
  };
  EXPECT_TRUE(is(SchedulerKind::slurm, Partition::kubernetes));
  EXPECT_FALSE(is(SchedulerKind::kubernetes, Partition::slurm));
  EXPECT_TRUE(is(SchedulerKind::both, Partition::slurm));
  EXPECT_FALSE(is(SchedulerKind::both, Partition::kubernetes));
}

TEST(Design, residency_is_a_region_a_country_or_the_eu) {
  const catalog::GridRegion* germany = catalog().region("deu");
  const catalog::GridRegion* usa = catalog().region("gcp-us-east4");
  ASSERT_TRUE(germany && usa);
  EXPECT_TRUE(is_inside("", nullptr));
  EXPECT_FALSE(is_inside("eu", nullptr));
  EXPECT_TRUE(is_inside("EU", germany));
  EXPECT_FALSE(is_inside("eu", usa));
  EXPECT_TRUE(is_inside("usa", usa));
  EXPECT_FALSE(is_inside("deu", usa));
  EXPECT_TRUE(is_inside(usa->id, usa));
  EXPECT_TRUE(is_inside("aws-us-east-1", usa)) << "by another name";
  EXPECT_FALSE(is_inside("aws-us-west-9", usa));
  EXPECT_TRUE(is_residency("eu", catalog()));
  EXPECT_TRUE(is_residency("deu", catalog()));
  EXPECT_TRUE(is_residency("aws-us-east-1", catalog()));
  EXPECT_FALSE(is_residency("mars", catalog()));
}

TEST(Design, arrivals_of_conversations_and_agents) {
  Arrivals a{.rate = PerSecond(10), .turns = 3, .cache_hits = 0.25};
  EXPECT_EQ(a.visits(), 3);
  EXPECT_EQ(a.pause(), seconds(30));
  EXPECT_EQ(a.reaching(), PerSecond(7.5));
  a.think_time = seconds(9);
  EXPECT_EQ(a.pause(), seconds(9));
  a.agent = AgentLoop{.calls = 6, .tool_time = seconds(2)};
  EXPECT_EQ(a.visits(), 6);
  EXPECT_EQ(a.pause(), seconds(2));
}

}  // namespace
}  // namespace orrery::design
