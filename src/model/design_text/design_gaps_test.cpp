// What a design says by the way: keys at its top, files that are read once, orders that do not
// matter, the schema of its values, and goals in whole sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/edit.h"
#include "model/design_text/profiles.h"
#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"
#include "model/design_text/schema.h"
#include "model/design_text/shape.h"
#include "model/design_text/write_design.h"
#include "model/design_text/write_value.h"

namespace orrery::design_text::design_gaps_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;

constexpr const char* kHead = "orrery: 1\nname: a\nsite: { region: usa }\n";

std::string with(const std::string& more, const std::string& fleet = {}) {
  return kHead + std::string("fleet: [{ name: f, node: dgx-h100, count: 8") + fleet + " }]\n" +
         more;
}

TEST(DesignGaps, a_key_at_the_top_that_nobody_knows_is_named) {
  EXPECT_THAT(said_of(with("colour: red\nstorages: []\n")),
              ElementsAre("design.unknown-key at colour:: the design has no field `colour`",
                          "design.unknown-key at storages:: the design has no field `storages`"));
  EXPECT_THAT(said_of("orrery: 1\nname: a\nfleet: [{ name: f, node: dgx-h100, count: 8 }]\n"),
              ElementsAre("design.missing at orrery:: the design lacks `site`"));
  EXPECT_THAT(said_of(with("sites: [{ name: x, region: usa }]\n")),
              ElementsAre("design.conflict at [{: both `site` and `sites` are given"));
  EXPECT_THAT(said_of("orrery: 3\n" + with("").substr(10)),
              ElementsAre("design.version at 3: this file says format 3"));
}

TEST(DesignGaps, a_place_that_is_not_given_is_that_around_it) {
  const auto d = read_design(with(""), design::catalog(), {.file = "d.yaml"});
  ASSERT_TRUE(d);
  EXPECT_EQ(design::place_of(*d, "site"), (Place{"d.yaml", 3, 7}));
  EXPECT_EQ(design::place_of(*d, "site.power"), (Place{"d.yaml", 3, 7}));
  EXPECT_EQ(design::place_of(*d, "site.region"), (Place{"d.yaml", 3, 17}));
  EXPECT_EQ(design::place_of(*d, "fleet"), (Place{"d.yaml", 4, 8}));
  EXPECT_EQ(design::place_of(*d, "storage"), (Place{"d.yaml", 1, 1}));
}

TEST(DesignGaps, slices_and_rules_stand_in_the_order_of_their_names) {
  const auto d = read_design(with("", ", mig: { 3g.40gb: 1, 1g.10gb: 2 }"), design::catalog());
  ASSERT_TRUE(d) << to_text(d.error());
  ASSERT_EQ(d->fleet[0].mig.size(), 2u);
  EXPECT_EQ(d->fleet[0].mig[0].profile, "1g.10gb");
  EXPECT_EQ(d->fleet[0].mig[0].count, 2);
  EXPECT_EQ(d->fleet[0].mig[1].profile, "3g.40gb");
  const auto t = read_design(
      with("storage: [{ tier: hot, kind: nfs }, { tier: cold, kind: object }]\n"
           "workloads:\n  - train: { model: llama-3-8b, tokens: 1T, sequence: 4096, batch: 64, "
           "checkpoint: { to: [hot, cold], keep: { hot: 3, cold: milestones } } }\n"),
      design::catalog());
  ASSERT_TRUE(t) << to_text(t.error());
  const auto& keep = std::get<design::Train>(t->workloads[0].task).checkpoint->keep;
  EXPECT_THAT(keep,
              ElementsAre(design::KeepRule{"cold", std::nullopt}, design::KeepRule{"hot", 3}));
}

TEST(DesignGaps, a_file_of_hours_is_read_once_for_all_that_name_it) {
  std::vector<std::string> read;
  const auto d = read_design(
      "orrery: 1\nname: a\nsites: [{ name: x, region: usa, hours: h.csv }, { name: y, region: usa, "
      "hours: h.csv }]\nfleet: [{ name: f, node: dgx-h100, count: 8, site: x }]\n",
      design::catalog(), {.read_file = [&](std::string_view path) -> Result<std::string> {
        read.emplace_back(path);
        std::string text = "dry_bulb_c\n";
        for (int i = 0; i < 24; ++i) text += "20\n";
        return text;
      }});
  ASSERT_TRUE(d) << to_text(d.error());
  EXPECT_THAT(read, ElementsAre("h.csv"));
  EXPECT_EQ(d->local_hours.size(), 1u);
}

// A count of accelerators without hosts means one host of that many.
TEST(DesignGaps, a_node_of_another_count_is_one_host) {
  const design::Fleet fleet{
      .name = "f", .node = "dgx-h100", .custom = design::CustomNode{.accelerators = 6}};
  const design::FleetNode n = design::resolve_node(fleet, design::catalog());
  EXPECT_EQ(n.part.accelerators, 6);
  EXPECT_EQ(n.part.accelerators_per_host, 6);
  const design::Fleet plain{.name = "f", .node = "dgx-h100"};
  EXPECT_EQ(design::resolve_node(plain, design::catalog()).part.accelerators_per_host, 8);
  const design::Fleet other{
      .name = "f", .node = "dgx-h100", .custom = design::CustomNode{.cores = 7}};
  EXPECT_EQ(design::resolve_node(other, design::catalog()).part.accelerators_per_host, 8);
  EXPECT_EQ(design::resolve_node(other, design::catalog()).cores, 7);
  EXPECT_EQ(design::Goal{}.bound, 0);
  EXPECT_EQ(design::Goal{}.comparison, design::Comparison::at_least);
}

TEST(DesignGaps, a_stage_does_not_wait_for_itself_by_another_spelling) {
  const auto d = read_design(
      with(
          "storage: [{ tier: hot, kind: nfs }]\npipeline:\n  stages:\n"
          "    - { stage: ingest, name: alpha, to: hot, size: 1 TB }\n"
          "    - { stage: archive, name: betta, from: hot, to: hot, size: 1 TB, after: [beta] }\n"),
      design::catalog());
  ASSERT_FALSE(d);
  const auto unknown =
      std::ranges::find(d.error(), std::string("design.unknown-name"), &Diagnostic::code);
  ASSERT_NE(unknown, d.error().end()) << to_text(d.error());
  EXPECT_EQ(unknown->what, "this file has no stage `beta`");
  EXPECT_EQ(unknown->fix, "add it, or name one of those there are");
}

TEST(DesignGaps, partitions_without_a_number_take_nothing) {
  EXPECT_THAT(said_of(with("scheduler: { partitions: [{ name: p }, { name: q, nodes: 8 }] }\n")),
              IsEmpty());
  EXPECT_THAT(said_of(with("scheduler: { partitions: [{ name: p }, { name: q, nodes: 9 }] }\n")),
              ElementsAre("design.partition at 9: partition `q` wants 9 nodes of fleet `f`, 8 are "
                          "left"));
}

// A profile that would take an entry's name or place is not obeyed in that.
TEST(DesignGaps, a_profile_leaves_an_entry_its_own) {
  catalog::Catalog c;
  c.storage_profiles = {
      {.id = "p", .settings = "{ tier: warm, name: stolen, site: x, servers: 3, caches: y }"}};
  Diagnostics faults;
  const auto entry = parse_yaml("{ profile: p, servers: 5 }", "f", faults);
  ASSERT_TRUE(entry);
  const YamlNode whole = with_profile(*entry, c);
  std::vector<std::string> keys;
  for (const YamlNode::Key& key : whole.keys) keys.push_back(key.text);
  EXPECT_THAT(keys, ElementsAre("profile", "servers", "tier"));
  EXPECT_EQ(whole.items[1].text, "5");
  EXPECT_EQ(whole.items[2].text, "warm");
  EXPECT_EQ(whole.items[2].mark.line, 1);
  EXPECT_EQ(whole.items[2].mark.column, 12) << "it stands where the profile is named";
}

TEST(DesignGaps, quotes_inside_brackets_end_where_they_end) {
  const auto after = [](std::string_view text, const std::string& path) {
    const auto edited = edit_text(text, {path, "y"}, design::catalog());
    return edited ? (edited->rewritten ? "anew" : edited->text) : edited.error().front().code;
  };
  EXPECT_EQ(after("a: ['x']\nb: 1\n", "a"), "a: y\nb: 1\n");
  EXPECT_EQ(after("a: [\"x\"]\nb: [2]\n", "a"), "a: y\nb: [2]\n");
  EXPECT_EQ(after("a: {'k':'x'}\nb: [2]\n", "a"), "a: y\nb: [2]\n");
  Diagnostics faults;
  EXPECT_FALSE(parse_yaml("a: \"xy\"\nb: " + std::string(33, '[') + "\n", "f", faults));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].fix, "check the brackets") << "the quotes before them are closed";
  EXPECT_EQ(faults[0].place, (Place{"f", 2, 36}));
}

std::string goal(const std::string& text) {
  const auto read = design::parse_goal(text);
  if (read) return to_text(*read);
  return read.error().code + ": " + read.error().what + " | " + read.error().fix;
}

TEST(DesignGaps, goals_are_read_back_or_refused_in_a_sentence) {
  EXPECT_EQ(goal("goodput>=90 %"), "goodput >= 0.9");
  EXPECT_EQ(goal("mfu > 0.4"), "mfu > 0.4");
  EXPECT_EQ(goal("cost <= 12 MUSD/y"), "cost <= 12 MUSD/y");
  EXPECT_EQ(goal("cost_per_gpu_hour < 3 USD/h"), "cost_per_gpu_hour < 3 USD/h");
  EXPECT_EQ(goal("ttft_p99 <= 500 ms"), "ttft_p99 <= 500 ms");
  const std::string syntax =
      "` is no goal | write a metric, one of < <= >= >, and a bound: goodput >= 0.90";
  for (const char* bad : {"goodput", "goodput = 0.9", "goodput >=", "goodput => 0.9", ""}) {
    EXPECT_EQ(goal(bad), "goal.syntax: `" + std::string(bad) + syntax);
  }
  EXPECT_EQ(goal("godput >= 0.9"),
            "goal.metric: there is no metric `godput` | did you mean `goodput`?");
  EXPECT_EQ(goal("happiness >= 0.9"),
            "goal.metric: there is no metric `happiness` | see docs/guide/design-file.md for the "
            "metrics");
  const std::string plain =
      "goal.unit: `goodput` is compared with a plain number | write it without a unit, as in "
      "goodput >= 0.90";
  EXPECT_EQ(goal("goodput >= 0.9 s"), plain);
  EXPECT_EQ(goal("goodput >= x %"), plain);
  EXPECT_EQ(goal("power <= 3"),
            "goal.unit: `3` is no bound for `power` | give it a unit such as MW");
  EXPECT_EQ(goal("power <= 3 s"),
            "goal.unit: `3 s` is no bound for `power` | give it a unit such as MW");
}

// Each value is bounded in the schema as the reader bounds it.
TEST(SchemaValues, are_bounded_as_the_reader_bounds_them) {
  const Json schema = Json::parse(design_schema(design::catalog()));
  const auto shapes = design_shape();
  int seen = 0;
  for (const SectionShape& section : shapes) {
    std::string name = section.name;
    std::ranges::replace(name, ' ', '-');
    const Json& made = section.name == "design" ? schema : schema["$defs"][name];
    for (const FieldShape& f : section.fields) {
      const bool counted = f.kind == ValueKind::number || f.kind == ValueKind::integer;
      if (!counted || f.is_list || f.field.automatic) continue;
      const Json& p = made["properties"][f.key];
      ++seen;
      const auto where = [&] { return name + '.' + f.key + ' ' + p.dump(); };
      EXPECT_EQ(p.contains("exclusiveMinimum"), f.field.range == design::Range::positive)
          << where();
      const bool from = f.field.range == design::Range::not_negative ||
                        f.field.range == design::Range::at_least_one;
      EXPECT_EQ(p.contains("minimum"), from) << where();
      if (from) {
        EXPECT_EQ(p["minimum"], f.field.range == design::Range::at_least_one ? 1 : 0) << where();
      }
      if (p.contains("exclusiveMinimum")) {
        EXPECT_EQ(p["exclusiveMinimum"], 0) << where();
      }
    }
  }
  EXPECT_GT(seen, 30);
}

TEST(SchemaValues, have_the_shapes_of_their_kinds) {
  const Json schema = Json::parse(design_schema(design::catalog()));
  const Json& network = schema["$defs"]["network"]["properties"];
  EXPECT_EQ(network["queue_pairs"]["type"], "integer");
  EXPECT_EQ(network["queue_pairs"]["default"], 1);
  EXPECT_EQ(network["sharp"]["type"], "boolean");
  EXPECT_EQ(network["sharp"]["default"], false);
  EXPECT_EQ(network["dimensions"]["type"], "array");
  EXPECT_EQ(network["dimensions"]["items"]["type"], "integer");
  EXPECT_EQ(network["oversubscription"]["type"], Json({"number", "string"}));
  EXPECT_EQ(network["port_rate"]["type"], "string");
  EXPECT_EQ(network["switch"]["enum"][0], "") << "none";
  const Json& workloads = schema["properties"]["workloads"]["items"];
  EXPECT_EQ(workloads["type"], "object");
  EXPECT_EQ(workloads["minProperties"], 1);
  EXPECT_EQ(workloads["maxProperties"], 1);
  EXPECT_EQ(workloads["additionalProperties"], false);
  EXPECT_EQ(workloads["properties"]["train"]["$ref"], "#/$defs/train");
  EXPECT_EQ(workloads["properties"].size(), 4u);
  const Json& goals = schema["properties"]["goals"]["items"];
  EXPECT_EQ(goals["type"], "string");
  EXPECT_EQ(goals["pattern"].get<std::string>().substr(0, 14), "^(goodput|mfu|");
  const Json& mig = schema["$defs"]["fleet-entry"]["properties"]["mig"];
  EXPECT_EQ(mig["additionalProperties"], Json({{"type", "integer"}, {"minimum", 1}}));
  const Json& keep = schema["$defs"]["checkpoint"]["properties"]["keep"]["additionalProperties"];
  EXPECT_EQ(keep["anyOf"][0], Json({{"const", "milestones"}}));
  EXPECT_EQ(keep["anyOf"][1], Json({{"type", "integer"}, {"minimum", 1}}));
  const Json& train = schema["$defs"]["train"]["properties"];
  EXPECT_TRUE(train["model"].contains("examples")) << "it may be a file";
  EXPECT_FALSE(train["model"].contains("enum"));
  const Json& every = schema["$defs"]["checkpoint"]["properties"]["every"];
  EXPECT_EQ(every["anyOf"][0], Json({{"const", "auto"}}));
  EXPECT_EQ(every["anyOf"][1]["type"], "string");
  EXPECT_EQ(every["anyOf"][1]["examples"].size(), 1u);
}

// The unit that a field likes, where it says the value in about as many digits.
TEST(DesignGaps, values_are_written_in_the_unit_of_their_field) {
  const design::Field rate{.doc = "", .unit = "Gb/s"};
  EXPECT_EQ(quantity_text(5e10, DimensionOf<BytesPerSecond>::value, rate), "400 Gb/s");
  EXPECT_EQ(quantity_text(1e12, DimensionOf<BytesPerSecond>::value, rate), "1 TB/s")
      << "8000 Gb/s has three digits more";
  EXPECT_EQ(quantity_text(1.25e9, DimensionOf<BytesPerSecond>::value, rate), "10 Gb/s");
  EXPECT_EQ(quantity_text(2, DimensionOf<Seconds>::value, {.doc = "", .unit = "no unit"}), "2 s");
  const design::Field plain{.doc = ""};
  EXPECT_EQ(number_text(2e12, plain), "2T");
  EXPECT_EQ(number_text(1.5e9, plain), "1.5B");
  EXPECT_EQ(number_text(3e6, plain), "3M");
  EXPECT_EQ(number_text(1e6, plain), "1M");
  EXPECT_EQ(number_text(999'999, plain), "999999");
  EXPECT_EQ(number_text(1'234'567, plain), "1234567") << "1.234567M is no shorter";
  EXPECT_EQ(number_text(27.5, {.doc = "", .unit = "C"}), "27.5 C");
}

}  // namespace
}  // namespace orrery::design_text::design_gaps_tests
