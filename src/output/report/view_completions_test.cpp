#include "output/report/view_completions.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

std::map<std::string, Json> fields() {
  const Json all = Json::parse(completions_json(machine::known().catalog()));
  std::map<std::string, Json> by_path;
  for (const Json& f : all["fields"]) {
    EXPECT_TRUE(by_path.emplace(f["path"], f).second) << f["path"];
    EXPECT_FALSE(f["description"].get<std::string>().empty()) << f["path"];
  }
  return by_path;
}

std::set<std::string> values_of(const Json& field) {
  std::set<std::string> all;
  for (const Json& v : field["values"]) all.insert(v["value"]);
  return all;
}

TEST(view_completions, ids_and_words_stand_where_they_may) {
  const auto all = fields();
  EXPECT_TRUE(values_of(all.at("fleet[].node")).contains("dgx-h100"));
  EXPECT_TRUE(values_of(all.at("site.cooling")).contains("direct-to-chip-1p"));
  EXPECT_TRUE(values_of(all.at("fabric.compute.routing")).contains("adaptive"));
  EXPECT_TRUE(values_of(all.at("workloads[].train.model")).contains("llama-3-70b"));
  EXPECT_TRUE(values_of(all.at("workloads[].train.checkpoint.every")).contains("auto"));
  EXPECT_EQ(values_of(all.at("scheduler.gang")), (std::set<std::string>{"true", "false"}));
  EXPECT_TRUE(values_of(all.at("goals")).contains("goodput"));
  for (const Json& v : all.at("fleet[].node")["values"]) {
    EXPECT_FALSE(v["detail"].get<std::string>().empty()) << v;
  }
}

// What is offered is taken: each id put into a design is known there.
TEST(view_completions, every_offered_cooling_and_node_can_be_read) {
  const auto all = fields();
  const std::string text =
      "orrery: 1\nname: x\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 1 "
      "}\n";
  for (const auto& [field, path] :
       std::map<std::string, std::string>{{"site.cooling", "site.cooling"},
                                          {"site.region", "site.region"},
                                          {"site.redundancy", "site.redundancy"},
                                          {"fleet[].node", "fleet[0].node"}}) {
    for (const std::string& value : values_of(all.at(field))) {
      const auto edited = design_text::edit_text(text, {path, value}, machine::known().catalog());
      ASSERT_TRUE(edited.has_value());
      EXPECT_TRUE(design_text::read_design(edited->text, machine::known().catalog()).has_value())
          << value;
    }
  }
}

}  // namespace
}  // namespace orrery::report
