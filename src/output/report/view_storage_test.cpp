#include "output/report/view_storage.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

Json storage_view(const design::Design& d, const std::string& workload = "") {
  return Json::parse(text_of(storage_view_json(review::run_stages(d, machine::known()), workload)));
}

design::Design stored_sample_with(const std::vector<design_text::Change>& edits) {
  std::string text(design_text::find_template("superpod-h100")->text);
  for (const design_text::Change& edit : edits) {
    text = design_text::edit_text(text, edit, machine::known().catalog()).value().text;
  }
  return design_of(text);
}

TEST(storage_view, has_every_tier_with_its_figures) {
  const design::Design d = stored_sample_with({});
  const review::Review r = review::run_stages(d, machine::known());
  const Json view = Json::parse(text_of(storage_view_json(r, "")));
  ASSERT_EQ(view["tiers"].size(), r.tiers().size());
  for (std::size_t i = 0; i < r.tiers().size(); ++i) {
    const Json& t = view["tiers"][i];
    EXPECT_EQ(t["label"], r.tiers()[design::TierIndex(i)].label);
    EXPECT_DOUBLE_EQ(t["figures"]["read_bytes_per_s"]["value"],
                     r.tiers()[design::TierIndex(i)].read.base());
    EXPECT_GT(t["figures"]["latency_s"]["value"], 0);
    EXPECT_EQ(t["profile"], "");
  }
  EXPECT_GT(view["tiers"][0]["figures"]["nines"]["value"], 5);
  EXPECT_GT(view["tiers"][0]["used_ratio"], 0);
}

TEST(storage_view, tells_the_clocks_of_the_plan) {
  const design::Design d = stored_sample_with({});
  const review::Review r = review::run_stages(d, machine::known());
  const Json view = Json::parse(text_of(storage_view_json(r, "")));
  const review::TrainView* run = nullptr;
  for (const review::TrainView& t : r.trains) {
    if (t.label == view["workload"].get<std::string>()) run = &t;
  }
  ASSERT_NE(run, nullptr);
  const Json& clocks = view["run"]["clocks"];
  EXPECT_DOUBLE_EQ(clocks["stall_end_s"], run->checkpoint->stall.stall_end.base());
  EXPECT_DOUBLE_EQ(clocks["safe_s"], run->checkpoint->stall.safe.base());
  EXPECT_GE(clocks["safe_s"], clocks["stall_end_s"]);
  EXPECT_DOUBLE_EQ(clocks["interval_s"], run->checkpoint->interval.base());
}

// Three are kept on the hot tier: when the fifth is there, one has gone, and the policy said why.
TEST(storage_view, keeps_on_each_tier_what_the_rules_keep) {
  const Json lives = storage_view(stored_sample_with({}))["run"]["lives"];
  EXPECT_LE(lives["saves"], kMostSaves);
  std::map<std::string, int> left;
  for (const Json& s : lives["stays"]) {
    EXPECT_LT(s["save"], lives["saves"]);
    if (s["until_s"].is_null()) {
      ++left[s["place"]];
    } else {
      EXPECT_GE(s["until_s"], s["from_s"]);
    }
  }
  EXPECT_EQ(left["hot"], 3);
  std::set<std::string> kinds;
  double last = 0;
  for (const Json& m : lives["moves"]) {
    kinds.insert(m["kind"]);
    EXPECT_NE(m["why"], "");
    EXPECT_GE(m["at_s"].get<double>(), last);
    last = m["at_s"];
  }
  EXPECT_TRUE(kinds.contains("written") && kinds.contains("removed"));
}

TEST(storage_view, shows_a_profile_and_why_there_are_so_many_servers) {
  const Json view = storage_view(stored_sample_with(
      {{"storage[0]", "{ tier: hot, profile: checkpoint-burst, device: tlc-gen4 }"}}));
  const Json& hot = view["tiers"][0];
  EXPECT_EQ(hot["profile"], "checkpoint-burst");
  EXPECT_NE(hot["bound_by"], "");
  EXPECT_FALSE(hot["asks"].empty());
  bool own = false;
  for (const Json& s : hot["settings"]) {
    EXPECT_EQ(s["of_profile"], s["field"] != "device") << s;
    own = own || s["field"] == "device";
  }
  EXPECT_TRUE(own);
}

TEST(storage_view, of_a_design_that_saves_nothing_has_tiers_alone) {
  const Json view = storage_view(design_of(design_text::find_template("inference-pod")->text));
  EXPECT_TRUE(view["run"].is_null());
  EXPECT_FALSE(view["tiers"].empty());
  const auto wrong =
      storage_view_json(review::run_stages(stored_sample_with({}), machine::known()), "nobody");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error()[0].code, "storage.no-workload");
}

}  // namespace
}  // namespace orrery::report
