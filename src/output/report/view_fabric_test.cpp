#include "output/report/view_fabric.h"

#include <gmock/gmock.h>

#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "model/jobs/build_machine.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

design::Design fabric_design(const std::vector<design_text::Change>& edits) {
  std::string text(design_text::find_template("superpod-h100")->text);
  std::vector<design_text::Change> all = {{"workloads", ""}, {"goals", ""}};
  all.insert(all.end(), edits.begin(), edits.end());
  for (const design_text::Change& e : all) {
    text = design_text::edit_text(text, e, machine::known().catalog()).value().text;
  }
  return design_of(text);
}

Json drawn_fabric(const design::Design& d, const FabricViewQuestion& q = {}) {
  return Json::parse(text_of(fabric_view_json(jobs::build_machine(d, machine::known()), q)));
}

const Json& with_id(const Json& list, const std::string& id) {
  static const Json none;
  for (const Json& item : list) {
    if (item["id"] == id) return item;
  }
  ADD_FAILURE() << "no " << id;
  return none;
}

// A rail-optimised unit of 32 nodes: leaf i has the i-th NIC of each node.
TEST(ViewFabric, leaf_endpoints_are_a_node_range_and_a_rail) {
  const Json v = drawn_fabric(fabric_design({}));
  std::map<int, int> by_rail;
  for (const Json& g : v["endpoint_groups"]) {
    EXPECT_EQ(g["rails"], 1);
    EXPECT_EQ(g["endpoints"], g["nodes"]);
    EXPECT_EQ(with_id(v["switches"], g["leaf"])["rail"], g["rail_from"]);
    by_rail[g["rail_from"].get<int>()] += g["nodes"].get<int>();
  }
  ASSERT_EQ(by_rail.size(), 8U);
  for (const auto& [rail, nodes] : by_rail) EXPECT_EQ(nodes, 127) << rail;
  EXPECT_EQ(v["endpoint_groups"][0]["node_from"], 0);
}

// A plain fat tree has all NICs of a node on one leaf: a range of eight rails from the first.
TEST(ViewFabric, a_leaf_of_whole_nodes_has_all_rails) {
  const Json v = drawn_fabric(fabric_design({{"fabric.compute.topology", "fat-tree"}}));
  int nodes = 0;
  for (const Json& g : v["endpoint_groups"]) {
    EXPECT_EQ(g["rail_from"], 0);
    EXPECT_EQ(g["rails"], 8);
    EXPECT_EQ(g["endpoints"].get<int>(), 8 * g["nodes"].get<int>());
    EXPECT_EQ(g["node_from"], nodes);
    nodes += g["nodes"].get<int>();
  }
  EXPECT_EQ(nodes, 127);
}

TEST(ViewFabric, a_single_rail_has_no_name) {
  const Json v = drawn_fabric(fabric_design({}), {.network = "management"});
  for (const Json& s : v["switches"]) EXPECT_TRUE(s["rail"].is_null()) << s;
  EXPECT_EQ(v["network"], "management");
}

TEST(ViewFabric, tiers_count_all_switches) {
  const design::Design d = fabric_design({});
  const auto counts = [](const Json& v) {
    std::map<std::string, int> all;
    for (const Json& t : v["switch_counts"]) all[t["tier"]] = t["count"];
    return all;
  };
  const Json one_by_one = drawn_fabric(d);
  const Json together = drawn_fabric(d, {.detail = FabricDetail::aggregated});
  EXPECT_EQ(counts(one_by_one), counts(together));
  EXPECT_EQ(counts(together)["spine"], 16);
  EXPECT_LT(together["switches"].size(), one_by_one["switches"].size());
  std::set<std::string> ids;
  for (const Json& s : together["switches"]) EXPECT_TRUE(ids.insert(s["id"]).second) << s["id"];
}

// The load of a line does not depend on which end is called the upper one.
TEST(ViewFabric, a_part_named_twice_is_lost_twice) {
  const design::Design d = fabric_design({});
  const Json lost = drawn_fabric(d, {.failed = {"spines-0", "spines-0", "leaf-0:spines-0"},
                                     .detail = FabricDetail::aggregated});
  int failed = 0;
  double capacity = 0;
  const Json whole = drawn_fabric(d, {.detail = FabricDetail::aggregated});
  for (const Json& l : lost["links"]) failed += l["failed"].get<int>();
  // Two spines of 32 leaves with two cables each, and a cable that may be one of theirs.
  EXPECT_GE(failed, 2 * 64);
  EXPECT_LE(failed, 2 * 64 + 1);
  for (std::size_t i = 0; i < lost["links"].size(); ++i) {
    const Json& now = lost["links"][i];
    const Json& before = whole["links"][i];
    const double each =
        before["capacity_bytes_per_s"].get<double>() / before["count"].get<double>();
    EXPECT_NEAR(now["capacity_bytes_per_s"].get<double>(),
                each * (now["count"].get<int>() - now["failed"].get<int>()), 1);
    capacity += now["capacity_bytes_per_s"].get<double>();
  }
  EXPECT_GT(capacity, 0);
}

TEST(ViewFabric, endpoints_cannot_be_lost_parts) {
  const Json v = drawn_fabric(fabric_design({}));
  const std::string group = v["endpoint_groups"][0]["id"];
  const auto r = fabric_view_json(jobs::build_machine(fabric_design({}), machine::known()),
                                  {.failed = {group}});
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().front().code, "fabric.no-such-part");
  const std::vector<std::string> many(65, "spine-0");
  const auto all =
      fabric_view_json(jobs::build_machine(fabric_design({}), machine::known()), {.failed = many});
  ASSERT_FALSE(all.has_value());
  EXPECT_THAT(to_text(all.error()), HasSubstr("64"));
  EXPECT_EQ(all.error().size(), 1U);
}

// An all-to-all loads both directions alike; no load exceeds the capacity, and the busiest line is
// named.
TEST(ViewFabric, loads_are_shares_of_capacity) {
  const compare::CollectiveAsk ask{.kind = workload::Collective::all_to_all};
  const design::Design d = fabric_design({});
  const Json v = drawn_fabric(d, {.collective = ask});
  const std::string limiting = v["collective"]["before"]["limiting_link"];
  double most = 0, all_up = 0, all_down = 0;
  int uneven = 0;
  for (const Json& l : v["links"]) {
    const double up = l["load_up_ratio"], down = l["load_down_ratio"];
    EXPECT_LE(up, 1);
    all_up += up, all_down += down;
    uneven += up != down;
    most = std::max({most, up, down});
  }
  EXPECT_NEAR(all_up / all_down, 1, 1e-3);
  EXPECT_GT(uneven, 10);
  ASSERT_NE(limiting, "");
  const Json& line = with_id(v["links"], limiting);
  EXPECT_NEAR(std::max(line["load_up_ratio"].get<double>(), line["load_down_ratio"].get<double>()),
              most, 1e-4);
  EXPECT_GT(most, 0.5);
  // With half of the spines lost, the others carry the traffic in a longer time.
  std::vector<std::string> half;
  for (int i = 0; i < 8; ++i) half.push_back("spine-" + std::to_string(i));
  const Json after = drawn_fabric(d, {.collective = ask, .failed = half});
  for (const Json& l : after["links"]) {
    if (l["capacity_bytes_per_s"] == 0) {
      EXPECT_EQ(l["load_up_ratio"], 0);
    }
  }
  const double slower = after["collective"]["slower_ratio"];
  EXPECT_NEAR(after["collective"]["after"]["time_s"].get<double>() /
                  after["collective"]["before"]["time_s"].get<double>(),
              1 + slower, 1e-9);
  const auto load = [](const Json& view) {
    return with_id(view["links"], "leaf-0:spine-15")["load_up_ratio"].get<double>();
  };
  EXPECT_GT(load(after), load(v));
}

// Eight bytes arrive before the launch of their kernel is over: no link limits them.
TEST(ViewFabric, a_network_that_does_not_limit_has_no_limiting_link) {
  const Json v = drawn_fabric(fabric_design({}), {.collective = {.bytes = Bytes(8)}});
  EXPECT_EQ(v["collective"]["before"]["limiting_link"], "");
}

TEST(ViewFabric, dragonfly_routers_are_in_groups) {
  const Json v = drawn_fabric(fabric_design({{"fabric.compute.topology", "dragonfly"}}));
  std::map<int, int> groups;
  for (const Json& s : v["switches"]) {
    if (s["tier"] == "router") ++groups[s["group"].get<int>()];
  }
  ASSERT_GT(groups.size(), 1U);
  const int in_a_group = groups.begin()->second;
  for (const auto& [group, routers] : groups) EXPECT_EQ(routers, in_a_group) << group;
  // Within a group every router has a line to every other.
  std::map<int, std::set<std::string>> members;
  for (const Json& s : v["switches"]) members[s["group"].get<int>()].insert(s["id"]);
  const auto& first = members.begin()->second;
  std::size_t inside = 0;
  for (const Json& l : v["links"]) {
    inside += first.contains(l["from"]) && first.contains(l["to"]);
  }
  EXPECT_EQ(inside, first.size() * (first.size() - 1) / 2);
  const Json together = drawn_fabric(fabric_design({{"fabric.compute.topology", "dragonfly"}}),
                                     {.detail = FabricDetail::aggregated});
  EXPECT_EQ(together["switches"].size(), groups.size());
}

TEST(ViewFabric, planes_have_their_own_names) {
  const Json v = drawn_fabric(fabric_design({{"fabric.compute.topology", "twin-plane"}}));
  std::map<int, int> planes;
  for (const Json& s : v["switches"]) {
    ++planes[s["plane"].get<int>()];
    EXPECT_EQ(s["id"].get<std::string>().substr(0, 3),
              "p" + std::to_string(s["plane"].get<int>()) + "-");
  }
  EXPECT_EQ(planes.size(), 2U);
  EXPECT_EQ(planes[0], planes[1]);
}

TEST(ViewFabric, unpriced_bill_lines_are_counted) {
  const design::Design d = fabric_design({});
  const Json v = drawn_fabric(d);
  int unpriced = 0;
  double low = 0, high = 0, watts = 0;
  for (const Json& l : v["bill"]) {
    unpriced += !l.contains("unit_price_low_usd") && l["count"] > 0;
    if (l.contains("unit_price_low_usd")) {
      low += l["count"].get<double>() * l["unit_price_low_usd"].get<double>();
      high += l["count"].get<double>() * l["unit_price_high_usd"].get<double>();
    }
    watts += l["count"].get<double>() * l["unit_power_w"].get<double>();
  }
  EXPECT_EQ(v["bill_totals"]["unpriced"], unpriced);
  EXPECT_NEAR(v["bill_totals"]["price_low_usd"].get<double>(), low, 1e-6 * low + 1e-9);
  EXPECT_NEAR(v["bill_totals"]["price_high_usd"].get<double>(), high, 1e-6 * high + 1e-9);
  EXPECT_NEAR(v["bill_totals"]["power_w"].get<double>(), watts, 1e-6 * watts);
}

// More lines than are drawn one by one, unless the full drawing is requested.
TEST(ViewFabric, the_full_drawing_is_returned_if_asked) {
  const design::Design d = fabric_design({{"fleet[0].count", "1024"},
                                          {"site.power", "20 MW"},
                                          {"fabric.compute.topology", "three-tier"}});
  const Json as_fits = drawn_fabric(d);
  const Json full = drawn_fabric(d, {.detail = FabricDetail::full});
  EXPECT_TRUE(as_fits["aggregated"]);
  EXPECT_FALSE(full["aggregated"]);
}

Json fabric_view(const design::Design& d, const FabricViewQuestion& q = {}) {
  return Json::parse(text_of(fabric_view_json(jobs::build_machine(d, machine::known()), q)));
}

std::string edited(std::string text, const std::vector<design_text::Change>& edits) {
  for (const design_text::Change& e : edits) {
    text = design_text::edit_text(text, e, machine::known().catalog()).value().text;
  }
  return text;
}

// Returns the sample with another compute network.
design::Design sample_with(const std::vector<design_text::Change>& edits) {
  std::vector<design_text::Change> all = {{"workloads", ""}, {"goals", ""}};
  all.insert(all.end(), edits.begin(), edits.end());
  return design_of(edited(std::string(design_text::find_template("superpod-h100")->text), all));
}

const Json* find(const Json& list, const std::string& id) {
  for (const Json& item : list) {
    if (item["id"] == id) return &item;
  }
  return nullptr;
}

// Expects that every named id exists, every endpoint has a place, and no share exceeds the whole.
void expect_whole(const Json& v) {
  std::set<std::string> ids;
  for (const Json& s : v["switches"]) EXPECT_TRUE(ids.insert(s["id"]).second) << s["id"];
  std::int64_t endpoints = 0;
  for (const Json& e : v["endpoint_groups"]) {
    EXPECT_TRUE(ids.contains(e["leaf"]));
    EXPECT_TRUE(ids.insert(e["id"]).second) << e["id"];
    endpoints += e["endpoints"].get<std::int64_t>();
  }
  EXPECT_EQ(endpoints, v["endpoint_groups"].empty() ? 0 : v["endpoints"].get<std::int64_t>());
  std::set<std::string> links;
  for (const Json& l : v["links"]) {
    EXPECT_TRUE(ids.contains(l["from"]) && ids.contains(l["to"])) << l;
    EXPECT_TRUE(links.insert(l["id"]).second);
    EXPECT_LE(l["load_up_ratio"], 1.0);
    EXPECT_GE(l["load_down_ratio"], 0.0);
  }
  EXPECT_GE(v["collective"]["before"]["time_s"], 0);
}

TEST(ViewFabric, template_networks_are_consistent) {
  for (const design_text::Template& t : design_text::templates()) {
    const design::Design d = template_design(t.name);
    for (const char* network : {"compute", "storage", "management"}) {
      const auto r =
          fabric_view_json(jobs::build_machine(d, machine::known()), {.network = network});
      if (!r) {
        EXPECT_THAT(to_text(r.error()), HasSubstr("fabric.no-network")) << t.name;
        continue;
      }
      SCOPED_TRACE(std::string(t.name) + ' ' + network);
      expect_whole(Json::parse(*r));
    }
  }
}

TEST(ViewFabric, the_sample_is_the_published_superpod) {
  const Json v = fabric_view(template_design("superpod-h100"));
  EXPECT_EQ(v["topology"], "rail-fat-tree");
  std::map<std::string, int> tiers;
  for (const Json& s : v["switches"]) ++tiers[s["tier"]];
  // DGX SuperPOD H100 RA, 4 SU: 32 leaves, 16 spines.
  EXPECT_EQ(tiers["leaf"], 32);
  EXPECT_EQ(tiers["spine"], 16);
  EXPECT_THAT(v["endpoint_groups"], SizeIs(32));
  EXPECT_EQ((*find(v["switches"], "leaf-3"))["rail"], 3);
  EXPECT_EQ((*find(v["links"], "leaf-0:spine-1"))["count"], 2);
  EXPECT_TRUE(v["collective"]["after"].is_null());
  EXPECT_EQ(v["collective"]["ranks"], 1016);
  EXPECT_EQ(v["networks"], Json({"compute", "storage", "management"}));
}

TEST(ViewFabric, ring_and_all_to_all_load_the_uplinks) {
  const design::Design d = sample_with({{"fabric.compute.sharp", "false"}});
  const Json a2a = fabric_view(d, {.collective = {.kind = workload::Collective::all_to_all}});
  const Json gather = fabric_view(d, {.collective = {.kind = workload::Collective::all_gather}});
  const auto up = [](const Json& v) {
    return (*find(v["links"], "leaf-0:spine-1"))["load_up_ratio"].get<double>();
  };
  EXPECT_GT(up(a2a), 3 * up(gather));
}

TEST(ViewFabric, a_lost_spine_slows_and_a_lost_leaf_cuts) {
  const design::Design d = template_design("superpod-h100");
  const compare::CollectiveAsk ask{.kind = workload::Collective::all_to_all};
  // Three quarters of an all-to-all leave their leaf, which is too much for half of the spines.
  std::vector<std::string> half;
  for (int i = 0; i < 8; ++i) half.push_back("spine-" + std::to_string(i));
  const Json spine = fabric_view(d, {.collective = ask, .failed = half});
  EXPECT_TRUE((*find(spine["switches"], "spine-0"))["failed"]);
  EXPECT_EQ((*find(spine["links"], "leaf-0:spine-0"))["failed"], 2);
  EXPECT_EQ((*find(spine["links"], "leaf-0:spine-0"))["capacity_bytes_per_s"], 0);
  EXPECT_EQ(spine["collective"]["cut"], 0);
  EXPECT_GT(spine["collective"]["slowed"], 0);
  EXPECT_GT(spine["collective"]["after"]["time_s"], spine["collective"]["before"]["time_s"]);
  EXPECT_NEAR(spine["collective"]["before"]["time_s"].get<double>() *
                  (1 + spine["collective"]["slower_ratio"].get<double>()),
              spine["collective"]["after"]["time_s"], 1e-12);

  const Json leaf = fabric_view(d, {.collective = ask, .failed = {"leaf-0"}});
  EXPECT_GT(leaf["collective"]["cut"], 0);
  EXPECT_THAT(leaf["collective"]["note"].get<std::string>(), HasSubstr("no path left"));
}

TEST(ViewFabric, a_cable_named_twice_is_two_cables) {
  const design::Design d = template_design("superpod-h100");
  const Json one = fabric_view(d, {.failed = {"leaf-0:spine-1"}});
  const Json two = fabric_view(d, {.failed = {"leaf-0:spine-1", "leaf-0:spine-1"}});
  EXPECT_EQ((*find(one["links"], "leaf-0:spine-1"))["failed"], 1);
  EXPECT_EQ((*find(two["links"], "leaf-0:spine-1"))["failed"], 2);
  const auto r = fabric_view_json(
      jobs::build_machine(d, machine::known()),
      {.failed = {"leaf-0:spine-1", "leaf-0:spine-1", "leaf-0:spine-1", "leaf-99"}});
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error(), SizeIs(2));
}

TEST(ViewFabric, other_topologies_are_drawn) {
  const design::Design planes = sample_with({{"fabric.compute.topology", "twin-plane"}});
  const Json twin = fabric_view(planes);
  expect_whole(twin);
  EXPECT_NE(find(twin["switches"], "p1-leaf-0"), nullptr);
  const Json lost = fabric_view(planes, {.failed = {"p1-leaf-0"}});
  EXPECT_EQ(lost["collective"]["cut"], 0);

  expect_whole(fabric_view(sample_with({{"fabric.compute.topology", "dragonfly"}})));
  expect_whole(fabric_view(
      sample_with({{"fabric.compute.topology", "rail-only"}, {"fleet[0].count", "32"}})));
  const Json torus = fabric_view(sample_with({{"fabric.compute.topology", "torus"},
                                              {"fabric.compute.dimensions", "[8, 8, 16]"},
                                              {"fleet[0].count", "128"}}));
  expect_whole(torus);
  EXPECT_THAT(torus["switches"], SizeIs(1024));
}

// "Smooth to 16,384 endpoints": under 2 MB, and under half a second of CPU time (`orrery bench
// view_fabric_16k_lost`). The limit here allows for sanitizers and does not count other processes.
TEST(ViewFabric, sixteen_thousand_endpoints_stay_small_and_quick) {
  const design::Design d = sample_with({{"fleet[0].count", "2048"},
                                        {"site.power", "40 MW"},
                                        {"fabric.compute.topology", "three-tier"}});
  for (const std::vector<std::string>& failed :
       {std::vector<std::string>{}, {"spines-0", "leaf-0:spines-0"}}) {
    const std::clock_t start = std::clock();
    const std::string text = text_of(fabric_view_json(
        jobs::build_machine(d, machine::known()),
        {.collective = {.kind = workload::Collective::all_to_all}, .failed = failed}));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(text.size(), 2'000'000U);
    EXPECT_LT(seconds, 10);
    const Json v = Json::parse(text);
    EXPECT_EQ(v["endpoints"], 16384);
    EXPECT_TRUE(v["aggregated"]);
    expect_whole(v);
  }
}

TEST(ViewFabric, unknown_networks_and_parts_are_refused) {
  const auto none =
      fabric_view_json(jobs::build_machine(template_design("cloud-rental"), machine::known()),
                       {.network = "storage"});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(to_text(none.error()), HasSubstr("fabric.no-network"));
}

// Two hosts with eight NICs at 50 GB/s on one leaf.
TEST(ViewFabric, json_fields_of_a_network) {
  const Json v = Json::parse(text_of(fabric_view_json(*two_node_review().machine, {})));
  EXPECT_EQ(
      fields_of(v),
      "aggregated bill bill_totals bisection_share_ratio collective diameter_links "
      "endpoint_groups endpoints kind link_rate_bytes_per_s links network networks nodes "
      "notes planes rails schema_version switch_counts switches tiers topology worst_link_ratio");
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["kind"], "fabric");
  EXPECT_EQ(v["network"], "compute");
  EXPECT_EQ(v["networks"], Json::array({"compute"}));
  EXPECT_EQ(v["topology"], "fat-tree");
  EXPECT_EQ(v["nodes"], 2);
  EXPECT_EQ(v["endpoints"], 16);
  EXPECT_EQ(v["rails"], 8);
  EXPECT_EQ(v["planes"], 1);
  EXPECT_EQ(v["tiers"], 1);
  EXPECT_EQ(v["link_rate_bytes_per_s"], 50e9);
  EXPECT_EQ(v["diameter_links"], 2);
  EXPECT_EQ(v["aggregated"], false);
  EXPECT_EQ(v["notes"], Json::array());
  EXPECT_EQ(v["switches"], Json::parse(R"([{"id": "leaf-0", "tier": "leaf", "plane": 0,
      "group": 0, "rail": null, "count": 1, "failed": false}])"));
  EXPECT_EQ(v["switch_counts"], Json::parse(R"([{"tier": "leaf", "count": 1}])"));
  EXPECT_EQ(v["endpoint_groups"], Json::parse(R"([{"id": "nodes-0", "leaf": "leaf-0", "plane": 0,
      "node_from": 0, "nodes": 2, "rail_from": 0, "rails": 8, "endpoints": 16}])"));
  ASSERT_EQ(v["links"].size(), 1U);
  Json line = v["links"][0];
  EXPECT_EQ(fields_of(line),
            "capacity_bytes_per_s count failed from id load_down_ratio load_up_ratio to");
  EXPECT_EQ(line["from"], "nodes-0");
  EXPECT_EQ(line["to"], "leaf-0");
  EXPECT_EQ(line["id"], "nodes-0:leaf-0");
  EXPECT_EQ(line["count"], 16);
  EXPECT_EQ(line["failed"], 0);
  EXPECT_EQ(line["capacity_bytes_per_s"], 16 * 50e9);
  EXPECT_EQ(fields_of(v["collective"]),
            "after before bytes cut kind note ranks slowed slower_ratio");
  EXPECT_EQ(v["collective"]["ranks"], 16);
  EXPECT_EQ(v["collective"]["after"], nullptr);
  EXPECT_EQ(fields_of(v["collective"]["before"]),
            "bus_bandwidth_bytes_per_s limiting_link time_high_s time_low_s time_s");
  EXPECT_EQ(fields_of(v["bill_totals"]), "power_w price_high_usd price_low_usd unpriced");
  EXPECT_LT(v["collective"]["before"]["time_low_s"], v["collective"]["before"]["time_s"]);
  EXPECT_LT(v["collective"]["before"]["time_s"], v["collective"]["before"]["time_high_s"]);
}

}  // namespace
}  // namespace orrery::report
