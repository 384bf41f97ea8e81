// The schema and the reference page are made from the table of fields and must follow it.
#include "model/design_text/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design_text/shape.h"

namespace orrery::design_text {
namespace {

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

// Every reference leads to a definition, every section is closed, every key of the table is there.
TEST(Schema, follows_the_table) {
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

TEST(Reference, page_in_docs_is_current) {
  expect_file("docs/guide/design-file.md", design_reference());
}

TEST(Shape, every_section_is_there_once_and_documented) {
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
      // Every optional says what holds without it.
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

TEST(Examples, sample_is_the_template) {
  EXPECT_EQ(file_text(ORRERY_SOURCE_DIR "/examples/superpod-h100-4su.yaml"),
            file_text(ORRERY_SOURCE_DIR "/data/templates/superpod-h100.yaml"));
}

}  // namespace
}  // namespace orrery::design_text
