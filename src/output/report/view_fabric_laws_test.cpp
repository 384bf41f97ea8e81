// The fabric as it is drawn, and completions: names by plane, ranges of nodes and rails, what is
// lost and where it tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "model/jobs/build_machine.h"
#include "output/report/view_completions.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fixture.h"
#include "output/report/view_run.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

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

// A rail-optimised unit of 32 nodes: leaf i has the i-th NIC of each.
TEST(fabric_laws, endpoints_of_a_leaf_are_a_range_of_nodes_and_one_rail) {
  const Json v = drawn_fabric(fabric_design({}));
  std::map<int, int> by_rail;
  for (const Json& g : v["endpoint_groups"]) {
    EXPECT_EQ(g["rails"], 1);
    EXPECT_EQ(g["endpoints"], g["nodes"]) << "one NIC of each node";
    EXPECT_EQ(with_id(v["switches"], g["leaf"])["rail"], g["rail_from"]);
    by_rail[g["rail_from"].get<int>()] += g["nodes"].get<int>();
  }
  ASSERT_EQ(by_rail.size(), 8U);
  for (const auto& [rail, nodes] : by_rail) EXPECT_EQ(nodes, 127) << rail;
  EXPECT_EQ(v["endpoint_groups"][0]["node_from"], 0);
}

// A plain fat tree has all NICs of a node on one leaf: a range of eight rails from the first.
TEST(fabric_laws, a_leaf_of_whole_nodes_has_all_their_rails) {
  const Json v = drawn_fabric(fabric_design({{"fabric.compute.topology", "fat-tree"}}));
  int nodes = 0;
  for (const Json& g : v["endpoint_groups"]) {
    EXPECT_EQ(g["rail_from"], 0);
    EXPECT_EQ(g["rails"], 8);
    EXPECT_EQ(g["endpoints"].get<int>(), 8 * g["nodes"].get<int>());
    EXPECT_EQ(g["node_from"], nodes) << "one behind the other";
    nodes += g["nodes"].get<int>();
  }
  EXPECT_EQ(nodes, 127);
}

TEST(fabric_laws, a_network_of_one_rail_names_none) {
  const Json v = drawn_fabric(fabric_design({}), {.network = "management"});
  for (const Json& s : v["switches"]) EXPECT_TRUE(s["rail"].is_null()) << s;
  EXPECT_EQ(v["network"], "management");
}

TEST(fabric_laws, tiers_count_their_switches_however_they_are_drawn) {
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

// A line's cables carry what they carry whichever end is called the upper one.
TEST(fabric_laws, a_lost_part_is_lost_once_for_each_time_it_is_named) {
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

TEST(fabric_laws, endpoints_are_no_part_that_can_be_named_as_lost) {
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

// An all-to-all goes up and down alike; what is sent in a time is no more than the capacity, and
// the busiest line is named.
TEST(fabric_laws, loads_are_shares_of_what_a_line_could_carry_in_the_time) {
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
  EXPECT_NEAR(all_up / all_down, 1, 1e-3) << "everybody sends as much as he gets";
  EXPECT_GT(uneven, 10) << "a cable has two ways, and paths are not each other's reverse";
  ASSERT_NE(limiting, "");
  const Json& line = with_id(v["links"], limiting);
  EXPECT_NEAR(std::max(line["load_up_ratio"].get<double>(), line["load_down_ratio"].get<double>()),
              most, 1e-4);
  EXPECT_GT(most, 0.5);
  // Half of the spines lost: the rest carry what they can in the longer time.
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
  EXPECT_GT(load(after), load(v)) << "what is left has more to do";
}

// Eight bytes are there before the launch of their kernel is over: no wire holds them up.
TEST(fabric_laws, a_network_that_does_not_bind_has_no_limiting_line) {
  const Json v = drawn_fabric(fabric_design({}), {.collective = {.bytes = Bytes(8)}});
  EXPECT_EQ(v["collective"]["before"]["limiting_link"], "");
}

TEST(fabric_laws, routers_of_a_dragonfly_stand_in_groups) {
  const Json v = drawn_fabric(fabric_design({{"fabric.compute.topology", "dragonfly"}}));
  std::map<int, int> groups;
  for (const Json& s : v["switches"]) {
    if (s["tier"] == "router") ++groups[s["group"].get<int>()];
  }
  ASSERT_GT(groups.size(), 1U);
  const int in_a_group = groups.begin()->second;
  for (const auto& [group, routers] : groups) EXPECT_EQ(routers, in_a_group) << group;
  // Inside a group every router has a line to every other.
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

TEST(fabric_laws, planes_have_names_of_their_own) {
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

TEST(fabric_laws, a_bill_says_how_many_lines_have_no_price) {
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

// More lines than are drawn one by one, unless the whole is asked for.
TEST(fabric_laws, the_whole_is_drawn_where_that_is_asked_for) {
  const design::Design d = fabric_design({{"fleet[0].count", "1024"},
                                          {"site.power", "20 MW"},
                                          {"fabric.compute.topology", "three-tier"}});
  const Json as_fits = drawn_fabric(d);
  const Json full = drawn_fabric(d, {.detail = FabricDetail::full});
  EXPECT_TRUE(as_fits["aggregated"]);
  EXPECT_FALSE(full["aggregated"]);
}

std::map<std::string, Json> completions_by_path() {
  std::map<std::string, Json> all;
  const Json told = Json::parse(completions_json(machine::known().catalog()));
  for (const Json& f : told["fields"]) all[f["path"]] = f;
  return all;
}

std::string detail_of(const Json& field, const std::string& value) {
  for (const Json& v : field["values"]) {
    if (v["value"] == value) return v["detail"];
  }
  ADD_FAILURE() << field["path"] << " offers no " << value;
  return "";
}

TEST(completions_laws, a_part_is_described_by_what_it_is_bought_for) {
  const auto all = completions_by_path();
  EXPECT_THAT(detail_of(all.at("fleet[].node"), "dgx-h100"), HasSubstr("8 x h100-sxm"));
  // 64 ports of 400 Gb/s.
  EXPECT_THAT(detail_of(all.at("fabric.compute.switch"), "qm9700"), HasSubstr("64 x 400 Gb/s"));
  EXPECT_THAT(detail_of(all.at("workloads[].train.model"), "mixtral-8x7b"), HasSubstr("active"));
  EXPECT_EQ(detail_of(all.at("workloads[].train.model"), "llama-3-70b").find("active"),
            std::string::npos)
      << "all of a dense model is active";
  int stages = 0;
  for (const auto& [path, field] : all) {
    for (const Json& v : field["values"]) {
      const std::string detail = v["detail"];
      const std::size_t at = detail.find(" % efficient");
      if (at == std::string::npos) continue;
      ++stages;
      const double percent = std::stod(detail.substr(detail.rfind(' ', at - 1) + 1));
      EXPECT_GT(percent, 50) << detail;
      EXPECT_LE(percent, 100) << detail;
    }
  }
  EXPECT_GT(stages, 3);
  for (const catalog::Node& n : machine::known().catalog().nodes) {
    if (n.accelerators > 0) continue;
    EXPECT_EQ(detail_of(all.at("fleet[].node"), n.id), n.name) << "no accelerators to speak of";
  }
}

TEST(completions_laws, a_field_says_what_it_is_where_it_is_left_out) {
  const auto all = completions_by_path();
  int told = 0, silent = 0;
  for (const auto& [path, f] : all) {
    const std::string text = f["description"];
    (text.find("Left out: ") != std::string::npos ? told : silent) += 1;
  }
  EXPECT_GT(told, 60);
  EXPECT_GT(silent, 10) << "what must be there has no other value";
  EXPECT_THAT(all.at("fabric.compute.oversubscription")["description"].get<std::string>(),
              HasSubstr("Left out: 1"));
  EXPECT_EQ(all.at("name")["description"].get<std::string>().find("Left out"), std::string::npos);
  EXPECT_EQ(detail_of(all.at("workloads[].train.layout"), "auto"), "computed");
  EXPECT_TRUE(all.contains("storage[].metadata.servers")) << "a section inside a list";
}

run::Run run_with_log(std::vector<world::RunEvent> log) {
  run::Run run{.design = "d", .simulated = Seconds(100)};
  run.fleets = {{.name = "train", .hosts = 4, .spares = 1, .accelerators_per_host = 8}};
  run.jobs = {"job"};
  run.log = std::move(log);
  return run;
}

world::RunEvent run_event(double t, sim::TraceKind kind, const char* track, const char* name,
                          double value = -1) {
  return {.at = sim::SimTime::from(Seconds(t)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

// A detection that no fault of its own instant began has no reason, and a reason ends with the
// outage.
TEST(run_view_laws, a_reason_is_of_the_same_instant_and_ends_when_it_steps_again) {
  using enum sim::TraceKind;
  const Json v = Json::parse(run_timeline_json(run_with_log(
      {run_event(5, instant, "train", "NIC", 2), run_event(10, begin, "job", "detection"),
       run_event(20, end, "job", "detection"), run_event(20, begin, "job", "productive"),
       run_event(30, instant, "train", "faulty GPU", 1), run_event(30, end, "job", "productive"),
       run_event(30, begin, "job", "detection"), run_event(40, end, "job", "detection"),
       run_event(40, begin, "job", "productive"), run_event(50, end, "job", "productive"),
       run_event(50, begin, "job", "too few hosts")})));
  EXPECT_EQ(v["spans"]["why"], Json({-1, -1, 1, -1, -1}));
  EXPECT_EQ(v["spans"]["end_s"].back(), 100.0) << "what goes on ends with the run";
}

TEST(run_view_laws, a_host_that_other_work_holds_is_no_runs) {
  run::Run run = run_with_log({});
  const auto at = [](double t) { return sim::SimTime::from(Seconds(t)); };
  run.host_log = {{.at = at(0), .host = 1, .mark = world::HostMark::held, .holder = 0},
                  {.at = at(1), .host = 1, .mark = world::HostMark::held, .holder = -1},
                  {.at = at(2), .host = 1, .mark = world::HostMark::free},
                  {.at = at(3), .host = 1, .mark = world::HostMark::reserve},
                  {.at = at(4), .host = 1, .mark = world::HostMark::repair}};
  EXPECT_EQ(Json::parse(run_timeline_json(run))["hosts"]["holder"], Json({0, -4, -1, -2, -3}));
}

}  // namespace
}  // namespace orrery::report
