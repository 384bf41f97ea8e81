#include "output/report/view_completions.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string detail_of(const Json& field, const std::string& value) {
  for (const Json& v : field["values"]) {
    if (v["value"] == value) return v["detail"];
  }
  ADD_FAILURE() << field["path"] << " offers no " << value;
  return "";
}

std::map<std::string, Json> completions_by_path() {
  std::map<std::string, Json> all;
  const Json completions = Json::parse(completions_json(machine::known().catalog()));
  for (const Json& f : completions["fields"]) all[f["path"]] = f;
  return all;
}

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

TEST(ViewCompletions, completions_are_offered_for_their_field) {
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

// Every offered value is accepted: each id is known when put into a design.
TEST(ViewCompletions, every_offered_value_can_be_read) {
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

TEST(ViewCompletions, completions_offer_workloads_defaults_and_links) {
  const std::string text = completions_json(machine::known().catalog());
  for (const char* detail :
       {R"({"value":"train","detail":"training of a model, from scratch or continued"})",
        R"({"value":"serve","detail":"a model that answers requests"})",
        R"({"value":"jobs","detail":"jobs that a group sends to the queue"})",
        R"({"value":"batch","detail":"batch work with a deadline"})",
        R"({"value":"false","detail":"the default"},)", R"({"value":"true","detail":""},)"}) {
    std::string spaced(detail);
    EXPECT_THAT(text,
                HasSubstr(spaced.back() == ',' ? spaced.substr(0, spaced.size() - 1) : spaced));
  }
  for (const catalog::EmergingPart& p : machine::known().catalog().emerging) {
    if (p.kind != catalog::kScaleUpLink) continue;
    EXPECT_THAT(text, HasSubstr("\"" + p.id + "\",\"detail\":\"" + p.name));
  }
}

TEST(ViewCompletions, parts_are_described_by_their_main_numbers) {
  const auto all = completions_by_path();
  EXPECT_THAT(detail_of(all.at("fleet[].node"), "dgx-h100"), HasSubstr("8 x h100-sxm"));
  // 64 ports of 400 Gb/s.
  EXPECT_THAT(detail_of(all.at("fabric.compute.switch"), "qm9700"), HasSubstr("64 x 400 Gb/s"));
  EXPECT_THAT(detail_of(all.at("workloads[].train.model"), "mixtral-8x7b"), HasSubstr("active"));
  EXPECT_EQ(detail_of(all.at("workloads[].train.model"), "llama-3-70b").find("active"),
            std::string::npos);
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
    EXPECT_EQ(detail_of(all.at("fleet[].node"), n.id), n.name);
  }
}

TEST(ViewCompletions, fields_have_their_default) {
  const auto all = completions_by_path();
  int with = 0, without = 0;
  for (const auto& [path, f] : all) {
    const std::string text = f["description"];
    (text.find("Default: ") != std::string::npos ? with : without) += 1;
  }
  EXPECT_GT(with, 60);
  EXPECT_GT(without, 10);
  EXPECT_THAT(all.at("fabric.compute.oversubscription")["description"].get<std::string>(),
              HasSubstr("Default: 1"));
  EXPECT_EQ(all.at("name")["description"].get<std::string>().find("Default: "), std::string::npos);
  EXPECT_EQ(detail_of(all.at("workloads[].train.layout"), "auto"), "computed");
  EXPECT_TRUE(all.contains("storage[].metadata.servers"));
}

}  // namespace
}  // namespace orrery::report
