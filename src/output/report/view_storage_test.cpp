#include "output/report/view_storage.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

TEST(ViewStorage, save_intervals_are_those_of_the_plan) {
  const review::Review& r = small_review();
  for (const std::string name : {"pretrain", "second"}) {
    const Json view = Json::parse(text_of(storage_view_json(r, name)));
    const review::TrainView& t = r.trains[name == "pretrain" ? 0 : 1];
    const jobs::SavePlan& s = *t.checkpoint;
    const Json& clocks = view["run"]["clocks"];
    EXPECT_EQ(view["workload"], name);
    EXPECT_EQ(view["run"]["path"], t.path);
    EXPECT_EQ(clocks["interval_given"], true);
    EXPECT_EQ(clocks["async"], s.async);
    EXPECT_EQ(clocks["has_safe"], s.safe != nullptr);
    EXPECT_DOUBLE_EQ(clocks["loss_per_save"], s.exposure.loss_per_save);
    EXPECT_DOUBLE_EQ(clocks["restore_s"], s.restore.total.base());
    EXPECT_EQ(clocks["write"]["tier"], s.first->label);
    EXPECT_EQ(clocks["drain"]["tier"], (s.safe ? s.safe : s.first)->label);
    EXPECT_DOUBLE_EQ(clocks["write"]["total_s"], s.write.total.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["server_s"], s.write.server.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["network_s"], s.write.network.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["serialise_s"], s.write.serialise.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["metadata_s"], s.write.metadata.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["commit_s"], s.write.commit.base());
    EXPECT_EQ(clocks["later"].size(), s.later.size());
    const Json& lives = view["run"]["lives"];
    EXPECT_DOUBLE_EQ(lives["save_bytes"], s.size.base());
    EXPECT_EQ(lives["places"], name == "pretrain" ? Json({"node-nvme", "hot"}) : Json({"hot"}));
    EXPECT_TRUE(lives["milestones"].is_array());
    EXPECT_FALSE(lives["stays"].empty());
  }
  const auto none = storage_view_json(r, "no-such");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().code, "storage.no-workload");
}

TEST(ViewStorage, an_infeasible_run_saves_nothing) {
  review::Review r = small_review();
  r.trains[0].infeasible = "why not";
  ASSERT_FALSE(r.trains[0].feasible());
  const Json view = Json::parse(text_of(storage_view_json(r, "")));
  EXPECT_EQ(view["workload"], "second");
  EXPECT_EQ(view["workloads"], Json({"second"}));
  for (review::TrainView& t : r.trains) t.infeasible = "why not";
  EXPECT_TRUE(Json::parse(text_of(storage_view_json(r, "")))["run"].is_null());
}

TEST(ViewStorage, json_fields_of_storage) {
  const Json v = Json::parse(text_of(storage_view_json(two_node_review(), "words")));
  EXPECT_EQ(fields_of(v), "kind note run schema_version tiers workload workloads");
  ASSERT_FALSE(v["tiers"].empty());
  EXPECT_EQ(fields_of(v["tiers"][0]),
            "asks bound_by device devices encrypted figures in_nodes kind label latency_target_s "
            "path profile provider servers settings summary tier used_ratio versioned");
  ASSERT_FALSE(v["tiers"][0]["asks"].empty());
  EXPECT_EQ(fields_of(v["tiers"][0]["asks"][0]),
            "capacity_bytes read_bytes_per_s what write_bytes_per_s");
  EXPECT_EQ(fields_of(v["run"]), "clocks lives path");
  EXPECT_EQ(fields_of(v["run"]["lives"]), "end_s milestones moves places save_bytes saves stays");
  EXPECT_EQ(fields_of(v["run"]["lives"]["stays"][0]), "from_s place save until_s");
}

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

TEST(ViewStorage, every_tier_has_its_figures) {
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

TEST(ViewStorage, save_times_are_those_of_the_plan) {
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

// Three checkpoints are kept on the hot tier: when the fifth exists, one has been deleted, with the
// policy's reason.
TEST(ViewStorage, retention_follows_the_rules) {
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

TEST(ViewStorage, a_profile_and_its_server_counts_are_shown) {
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

TEST(ViewStorage, without_checkpoints_only_tiers_are_shown) {
  const Json view = storage_view(design_of(design_text::find_template("inference-pod")->text));
  EXPECT_TRUE(view["run"].is_null());
  EXPECT_FALSE(view["tiers"].empty());
  const auto wrong =
      storage_view_json(review::run_stages(stored_sample_with({}), machine::known()), "no-such");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error()[0].code, "storage.no-workload");
}

}  // namespace
}  // namespace orrery::report
