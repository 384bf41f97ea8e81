// The schema and the reference page are made from the table of fields and must follow it.
#include "model/design_text/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/design/catalog_fixture.h"
#include "model/design_text/said_fixture.h"
#include "model/design_text/shape.h"

namespace orrery::design_text {
namespace {

// Every reference leads to a definition, every section is closed, every key of the table exists.
TEST(Schema, schema_follows_the_table) {
  const auto schema = nlohmann::json::parse(design_schema(design::catalog()));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  const auto shape = design_shape();
  for (const SectionShape& section : shape) {
    std::string name = section.name;
    std::ranges::replace(name, ' ', '-');
    const auto& made = section.name == "design" ? schema : schema["$defs"][name];
    EXPECT_EQ(made["additionalProperties"], false) << name;
    EXPECT_EQ(made["properties"].size(), section.fields.size()) << name;
    for (const FieldShape& f : section.fields) {
      ASSERT_TRUE(made["properties"].contains(f.key)) << name << '.' << f.key;
      const auto& property = made["properties"][f.key];
      if (f.kind != ValueKind::section || f.is_list || f.field.automatic) continue;
      const std::string target = property["$ref"];
      EXPECT_TRUE(schema["$defs"].contains(target.substr(8))) << target;
    }
  }
  const auto& switches = schema["$defs"]["network"]["properties"]["switch"]["enum"];
  EXPECT_NE(std::find(switches.begin(), switches.end(), "qm9700"), switches.end());
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// ORRERY_UPDATE=1 writes the file instead, to be reviewed as a diff.
void expect_file(const std::string& path, const std::string& made) {
  const std::string full = std::string(ORRERY_SOURCE_DIR) + '/' + path;
  if (std::getenv("ORRERY_UPDATE")) std::ofstream(full, std::ios::binary) << made;
  EXPECT_TRUE(file_text(full) == made) << path << " is stale: run the test with ORRERY_UPDATE=1";
}

TEST(Schema, reference_page_in_docs_is_current) {
  expect_file("docs/guide/design-file.md", design_reference());
}

TEST(Schema, every_section_is_there_once_and_documented) {
  const auto all = design_shape();
  std::set<std::string> names;
  for (const SectionShape& section : all) {
    EXPECT_TRUE(names.insert(section.name).second) << section.name;
    EXPECT_FALSE(section.fields.empty()) << section.name;
    std::set<std::string> keys;
    for (const FieldShape& f : section.fields) {
      EXPECT_TRUE(keys.insert(f.key).second) << section.name << '.' << f.key;
      EXPECT_FALSE(f.field.doc.empty()) << section.name << '.' << f.key;
      // A quantity must be able to say which unit to write.
      if (f.kind == ValueKind::quantity) {
        const auto one = parse_any_quantity("1 " + std::string(f.field.unit));
        ASSERT_TRUE(one) << section.name << '.' << f.key;
        EXPECT_EQ(one->dimension, f.dimension) << section.name << '.' << f.key;
      }
      // Every optional documents what holds without it.
      if (f.is_optional) {
        EXPECT_FALSE(f.field.absent.empty()) << section.name << '.' << f.key;
      }
    }
  }
  for (const char* name : {"design", "site", "fleet entry", "network", "storage tier", "scheduler",
                           "train", "serve", "jobs", "batch", "economics"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Schema, sample_is_the_template) {
  EXPECT_EQ(file_text(ORRERY_SOURCE_DIR "/examples/superpod-h100-4su.yaml"),
            file_text(ORRERY_SOURCE_DIR "/data/templates/superpod-h100.yaml"));
}

using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;

// Each value is bounded in the schema as the reader bounds it.
TEST(Schema, values_have_the_bounds_of_the_reader) {
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

TEST(Schema, values_have_the_shapes_of_their_kinds) {
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

}  // namespace
}  // namespace orrery::design_text
