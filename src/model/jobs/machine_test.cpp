// What a design comes to as a machine, and what becomes of tables that are missing or broken.
#include "model/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"

namespace orrery::jobs {
namespace {

using testing::HasSubstr;

design::Design template_named(std::string_view name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

// The shipped files with the text of one replaced; none: taken away.
std::vector<catalog::EmbeddedFile> files_with(std::string_view path,
                                              std::optional<std::string_view> text) {
  std::vector<catalog::EmbeddedFile> files;
  for (catalog::EmbeddedFile file : catalog::embedded_files()) {
    if (file.path == path && !text) continue;
    if (file.path == path) file.text = *text;
    files.push_back(file);
  }
  return files;
}

constexpr std::string_view kTables[] = {
    "catalog/nodes.csv",
    "catalog/refarch_storage.csv",
    "calibration/gemm.csv",
    "calibration/training_frameworks.csv",
    "calibration/collectives.csv",
    "calibration/failure_causes.csv",
    "calibration/node_failure_rates.csv",
    "calibration/dataset_kinds.csv",
    "calibration/serving_engines.csv",
    "calibration/serving_tuning.csv",
};

TEST(models, a_table_that_is_missing_is_an_error_with_its_name) {
  for (const std::string_view path : kTables) {
    const auto files = files_with(path, std::nullopt);
    const auto models = machine::load_models(files);
    ASSERT_FALSE(models.has_value()) << path;
    EXPECT_THAT(to_text(models.error()), HasSubstr(std::string(path)));
    EXPECT_EQ(models.error().front().code, "data.missing") << path;
  }
}

TEST(models, a_table_that_is_broken_is_an_error_with_its_name) {
  for (const std::string_view path : kTables) {
    const auto files = files_with(path, "id,value\n\"never closed\n");
    const auto models = machine::load_models(files);
    ASSERT_FALSE(models.has_value()) << path;
    EXPECT_THAT(to_text(models.error()), HasSubstr(std::string(path)));
  }
}

TEST(models, every_fault_is_told_at_once) {
  auto files = files_with("calibration/collectives.csv", "id\n\"never closed\n");
  std::erase_if(files, [](const catalog::EmbeddedFile& f) {
    return f.path == "calibration/dataset_kinds.csv";
  });
  const auto models = machine::load_models(files);
  ASSERT_FALSE(models.has_value());
  EXPECT_THAT(to_text(models.error()), HasSubstr("calibration/collectives.csv"));
  EXPECT_THAT(to_text(models.error()), HasSubstr("calibration/dataset_kinds.csv"));
}

TEST(machine, the_sample_stands_as_its_architecture_counts_it) {
  const machine::Machine m = build_machine(template_named("superpod-h100"), machine::known());
  ASSERT_EQ(m.fleets.size(), 1U);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].hosts, 127);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].accelerators, 1016);
  ASSERT_EQ(m.sites.size(), 1U);
  EXPECT_EQ(m.sites[design::SiteIndex(0)].path, "site");
  EXPECT_NE(m.sites[design::SiteIndex(0)].cooling, nullptr);
  // 8 GPUs of a host share NVLink, and each has a NIC of 400 Gb/s.
  const machine::Wiring w = machine::wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  EXPECT_EQ(w.domain, 8);
  EXPECT_DOUBLE_EQ(w.nics_per_host, 8);
  EXPECT_DOUBLE_EQ(w.nic_rate.base(), 50e9);
  EXPECT_EQ(w.network, catalog::NetworkKind::infiniband);
  EXPECT_TRUE(w.sharp);
}

// By hand, RA-11338-001: a rack is 18 hosts of 4 GPUs with a NIC each. 9 racks are 162 hosts on 4
// rails; a leaf of 64 ports takes 32 hosts of one rail, so 5 full units of 4 leaves and one leaf
// for the last two hosts; 21 leaves x 32 uplinks want 11 spines of 64, and 16 divides the uplinks.
TEST(machine, rails_belong_to_hosts_not_to_racks) {
  const machine::Machine m = build_machine(template_named("superpod-gb200"), machine::known());
  const machine::Network& compute = m.main_networks().compute;
  EXPECT_EQ(compute.nic_ports, 648);
  EXPECT_EQ(compute.ports_per_node, 4);
  const fabric::Topology& t = *compute.topology;
  EXPECT_EQ(t.endpoints, 648);
  EXPECT_EQ(t.leaves, 21);
  EXPECT_EQ(t.spines, 16);
  EXPECT_EQ(t.node_cables() + t.leaf_spine_cables(), 648 + 21 * 32);
  const machine::Wiring w = machine::wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  EXPECT_EQ(w.domain, 72);
  EXPECT_DOUBLE_EQ(w.nics_per_host, 4);
}

// Zones of seven, seven and five nodes (a spare among them) with eight NICs each: a network a zone.
TEST(machine, every_site_has_networks_of_its_own) {
  const machine::Machine m = build_machine(template_named("chatbot-zones"), machine::known());
  ASSERT_EQ(m.networks.size(), 3U);
  EXPECT_EQ(m.networks[design::SiteIndex(0)].compute.topology->endpoints, 56);
  EXPECT_EQ(m.networks[design::SiteIndex(1)].compute.topology->endpoints, 56);
  EXPECT_EQ(m.networks[design::SiteIndex(2)].compute.topology->endpoints, 40);
  for (const machine::Fleet& f : m.fleets) EXPECT_EQ(m.networks_of(f).site, f.site);
}

// Fleets of eight NICs and of one on a network: 10 x 8 + 16 x 1 ports are twelve hosts of eight.
TEST(machine, a_narrow_fleet_is_counted_by_its_own_ports) {
  design::Design d = template_named("superpod-h100");
  d.fleet[0].count = 10;
  d.fleet[0].nodes_per_rack.reset();
  d.fleet.push_back({.name = "cpus", .node = "cpu-2s-server", .count = 16});
  const machine::Machine m = build_machine(d, machine::known());
  EXPECT_EQ(m.main_networks().compute.nic_ports, 96);
  EXPECT_EQ(m.main_networks().compute.topology->endpoints, 96);
  // Thirteen single ports fill one host and begin another.
  d.fleet[1].count = 13;
  const machine::Machine odd = build_machine(d, machine::known());
  EXPECT_EQ(odd.main_networks().compute.nic_ports, 93);
  EXPECT_EQ(odd.main_networks().compute.topology->endpoints, 96);
}

// The way over two lines is their sum and their narrower one; the direct line is slower.
TEST(wan, takes_the_way_with_the_least_round_trip) {
  design::Design d = template_named("chatbot-zones");
  d.fabric.wan = {
      {.between = {"us-east", "us-west"}, .rate = gbits_per_s(10), .latency = milliseconds(60)},
      {.between = {"us-west", "europe"}, .rate = gbits_per_s(4), .latency = milliseconds(50)},
      {.between = {"europe", "us-east"}, .rate = gbits_per_s(100), .latency = milliseconds(120)}};
  const auto path = machine::wan_between(d, "europe", "us-east");
  ASSERT_TRUE(path);
  EXPECT_NEAR(path->latency.base(), 0.11, 1e-12);
  EXPECT_NEAR(path->rate.base(), 4e9 / 8, 1);
  EXPECT_EQ(path->slowest, 1U);
  d.fabric.wan.resize(1);
  EXPECT_FALSE(machine::wan_between(d, "europe", "us-east"));
}

TEST(machine, a_copy_shares_the_design_and_outlives_the_first) {
  std::optional<machine::Machine> copy;
  {
    const machine::Machine first = build_machine(template_named("chatbot-zones"), machine::known());
    copy = first;
  }
  ASSERT_EQ(copy->sites.size(), 3U);
  for (const machine::Fleet& f : copy->fleets) EXPECT_FALSE(f.fleet->name.empty());
}

// By hand: 40 + 60 of 127 nodes by number, one run without a number.
TEST(ledger, books_the_nodes_that_workloads_ask_for_by_number) {
  design::Design d = template_named("superpod-h100");
  d.workloads.assign(3, d.workloads.front());
  d.workloads[0].terms.nodes = 40;
  d.workloads[1].terms.nodes.reset();
  d.workloads[2].terms.nodes = 60;
  d.workloads[2].terms.name = "more";
  const machine::Machine m = build_machine(d, machine::known());
  const machine::FleetBook& book = m.book_of(m.fleets[design::FleetIndex(0)]);
  ASSERT_EQ(book.bookings.size(), 2U);
  EXPECT_EQ(book.asked(), 100);
  EXPECT_EQ(book.largest_given()->workload->terms.name, "more");
}

// By hand, of 20 nodes: 8 given by number and 2 of a service are held; two runs of 6 and 4 nodes
// that take half of the time follow one another and need 6, three more would need 6 + 4 + 6 halves
// = 8.
TEST(ledger, runs_that_end_take_turns_beside_what_is_held) {
  design::Design d;
  d.workloads.resize(5);
  machine::FleetBook b{.count = 20, .bookings = {}};
  book(b, {.workload = &d.workloads[0], .nodes = 8, .needed = 8, .given = true});
  book(b, {.workload = &d.workloads[1], .nodes = 2, .needed = 0.5});
  book(b, {.workload = &d.workloads[2], .nodes = 6, .needed = 6, .share = 0.5});
  book(b, {.workload = &d.workloads[3], .nodes = 4, .needed = 4, .share = 0.5});
  EXPECT_DOUBLE_EQ(b.held(), 10);
  EXPECT_DOUBLE_EQ(b.in_turn(), 6);
  EXPECT_DOUBLE_EQ(b.idle(), 4);
  EXPECT_DOUBLE_EQ(b.over(), 0);
  EXPECT_DOUBLE_EQ(b.used(), 8 + 0.5 + 3 + 2);
  EXPECT_DOUBLE_EQ(b.held_beside(d.workloads[1]), 8);
  book(b, {.workload = &d.workloads[4], .nodes = 6, .needed = 6, .share = 0.5});
  EXPECT_DOUBLE_EQ(b.in_turn(), 8);
  b.count = 17;
  EXPECT_DOUBLE_EQ(b.over(), 1);
  EXPECT_DOUBLE_EQ(b.idle(), 0);
}

TEST(ledger, a_booking_by_number_keeps_its_nodes_and_learns_what_it_needs) {
  design::Design d;
  d.workloads.resize(1);
  machine::FleetBook b{.count = 4, .bookings = {}};
  book(b, {.workload = &d.workloads[0], .nodes = 3, .needed = 3, .given = true});
  book(b, {.workload = &d.workloads[0], .nodes = 1, .needed = 1, .share = 0.25});
  ASSERT_EQ(b.bookings.size(), 1U);
  EXPECT_DOUBLE_EQ(b.booked(), 3) << "kept while it does not run";
  EXPECT_DOUBLE_EQ(b.used(), 0.25);
}

// A fleet of 127 nodes fails as the published runs of that size do, between OPT's 14.1 and RSC-1's
// 23.7 per 1000 node-days; lemons and the design's own rate change that.
TEST(failures, follow_the_design_where_it_says_more_than_the_published_fleet) {
  design::Design d = template_named("superpod-h100");
  const auto rate = [&d] {
    const machine::Machine m = build_machine(d, machine::known());
    return m.failures_of(m.fleets[design::FleetIndex(0)]).rate.base() * 86400;
  };
  EXPECT_GT(rate(), 14.1e-3);
  EXPECT_LT(rate(), 23.7e-3);
  d.fleet[0].failures.node_mtbf = days(50);
  EXPECT_NEAR(rate(), 1.0 / 50, 1e-12);
  d.fleet[0].failures.lemon_share = 0.1;
  d.fleet[0].failures.lemon_factor = 5;
  EXPECT_NEAR(rate(), (0.9 + 0.1 * 5) / 50, 1e-12);
}

}  // namespace
}  // namespace orrery::jobs
