// Which changes are tried for money, and which of them are worth offering.
#include "plan/rules/spend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "core/base/text.h"
#include "model/design/goals.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// Any change pays if a useful hour costs this much.
review::Review at_any_price(review::Review r) {
  r.cost.per_useful_hour = usd_per_hour(1e6);
  return r;
}

std::vector<std::string> spent_on(const review::Review& r) {
  std::vector<std::string> all;
  for (const Spend& s : best_spends(at_any_price(r))) {
    all.push_back(s.change.path + " = " + s.change.value.substr(0, 12));
  }
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> spent_in(const std::vector<design_text::Change>& changes) {
  return spent_on(review::edited_review("superpod-h100", changes));
}

TEST(Spend, changes_that_the_design_lacks_are_tried) {
  const auto all = spent_in({});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], "fleet[0].spares = 1");
  EXPECT_EQ(all[1], "scheduler.recovery.detect = 10 s");
  EXPECT_EQ(all[2], "scheduler.recovery.requeue = 2 s");
  EXPECT_TRUE(all[3].starts_with("storage[0] = ")) << "the hot tier and not the cold one";
}

bool is_tried(const std::vector<std::string>& all, const std::string& start) {
  return std::ranges::any_of(all, [&](const std::string& s) { return s.starts_with(start); });
}

TEST(Spend, faster_restart_and_detection_are_tried) {
  const auto with = [](const char* key, const char* value) {
    return spent_in({{std::string("scheduler.recovery.") + key, value}});
  };
  const std::string requeue = "scheduler.recovery.requeue = ";
  const std::string detect = "scheduler.recovery.detect = ";
  EXPECT_FALSE(is_tried(with("requeue", "2 s"), requeue));
  EXPECT_TRUE(is_tried(with("requeue", "2.1 s"), requeue));
  EXPECT_TRUE(is_tried(with("requeue", ""), requeue)) << "as it usually is";
  EXPECT_FALSE(is_tried(with("detect", "10 s"), detect));
  EXPECT_TRUE(is_tried(with("detect", "10.5 s"), detect));
  EXPECT_TRUE(is_tried(with("detect", ""), detect));
}

TEST(Spend, better_saves_are_tried) {
  const std::string path = "workloads[0].train.checkpoint.";
  EXPECT_TRUE(is_tried(spent_in({{path + "mode", "sync"}}), path + "mode = async"));
  EXPECT_TRUE(is_tried(spent_in({{path + "every", "1 h"}}), path + "every = auto"));
  const auto none = spent_in({{"workloads[0].train.checkpoint", ""}});
  EXPECT_FALSE(is_tried(none, path));
}

TEST(Spend, separate_storage_and_larger_tiers_are_tried) {
  const auto shared = spent_in({{"fabric.storage", "{ converged: true }"}});
  EXPECT_TRUE(is_tried(shared, "fabric.storage = "));
  EXPECT_FALSE(is_tried(spent_in({}), "fabric.storage"));
  const review::Review bare = review::edited_review("superpod-h100", {{"storage[0].read", ""},
                                                                      {"storage[0].write", ""},
                                                                      {"storage[0].capacity", ""},
                                                                      {"storage[1].name", "cold"},
                                                                      {"storage[1].tier", "warm"}});
  for (const Spend& s : best_spends(at_any_price(bare))) {
    if (s.change.path != "storage[0]") continue;
    EXPECT_NE(s.change.value.find("servers: 32"), std::string::npos) << s.change.value;
    EXPECT_EQ(s.change.value.find("read"), std::string::npos) << s.change.value;
    EXPECT_EQ(s.change.value.find("write"), std::string::npos) << s.change.value;
    EXPECT_EQ(s.change.value.find("capacity"), std::string::npos) << s.change.value;
  }
  EXPECT_TRUE(is_tried(spent_on(bare), "storage[1] = ")) << "a warm tier too";
}

TEST(Spend, first_feasible_run_is_improved) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].infeasible = "no";
  EXPECT_TRUE(best_spends(at_any_price(r)).empty());
  r.trains[0].infeasible.clear();
  r.trains.push_back(r.trains[0]);
  r.trains[0].infeasible = "no";
  r.trains[1].path = "workloads[7].train";
  EXPECT_EQ(spent_on(r).size(), 4U);
  EXPECT_TRUE(best_spends(at_any_price(review::lab_review("inference-pod"))).empty()) << "no run";
}

// Six are worth it; five are shown, the cheapest first.
TEST(Spend, best_five_come_first) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.mode", "sync"},
                                              {"workloads[0].train.checkpoint.every", "1 h"}});
  const auto all = best_spends(at_any_price(r));
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1].unit_cost_after_usd, all[i].unit_cost_after_usd);
  }
}

// The figures of a change are those of a review of the changed design.
TEST(Spend, figures_are_those_of_the_changed_design) {
  const review::Review& r = review::lab_review("superpod-h100");
  design::Design d = r.design();
  d.fleet[0].spares = 1;
  const review::Review after = review::run_stages(d, machine::known());
  review::Review asked = at_any_price(r);
  asked.cost.goodput = 0.5;
  bool found = false;
  for (const Spend& s : best_spends(asked)) {
    if (s.change.path != "fleet[0].spares") continue;
    found = true;
    EXPECT_NEAR(s.cost_usd_per_year, (after.cost.annual - r.cost.annual).base(), 1e-3);
    EXPECT_EQ(s.goodput_before, 0.5);
    EXPECT_NEAR(s.goodput_after, after.cost.goodput, 1e-12);
    EXPECT_NEAR(s.unit_cost_before_usd, 1e6, 1e-3);
    EXPECT_NEAR(s.unit_cost_after_usd, after.cost.per_useful_hour.base() * 3600, 1e-9);
  }
  EXPECT_TRUE(found);
}

// A restart that an agent makes: in two seconds, and without a person.
TEST(Spend, automatic_restart_is_part_of_the_change) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"scheduler.recovery.automatic", "false"}});
  design::Design d = r.design();
  d.scheduler.recovery.requeue = seconds(2);
  d.scheduler.recovery.automatic = true;
  const review::Review after = review::run_stages(d, machine::known());
  ASSERT_GT(after.cost.goodput, r.cost.goodput);
  bool found = false;
  for (const Spend& s : best_spends(at_any_price(r))) {
    if (s.change.path != "scheduler.recovery.requeue") continue;
    found = true;
    EXPECT_NEAR(s.goodput_after, after.cost.goodput, 1e-12);
  }
  EXPECT_TRUE(found);
}

// A lower price by one in two thousand is listed if it, or the goodput, looks different.
TEST(Spend, gain_must_be_visible) {
  review::Review r = at_any_price(review::lab_review("superpod-h100"));
  const auto spare_node = [](const std::vector<Spend>& all) {
    const auto at =
        std::ranges::find(all, "fleet[0].spares", [](const Spend& s) { return s.change.path; });
    return at == all.end() ? std::optional<Spend>() : std::optional(*at);
  };
  const auto first = spare_node(best_spends(r));
  ASSERT_TRUE(first);
  const double after = first->unit_cost_after_usd;
  const auto offered = [&](double before, double goodput) {
    r.cost.per_useful_hour = usd_per_hour(before);
    r.cost.goodput = goodput;
    return spare_node(best_spends(r)).has_value();
  };
  const double other = first->goodput_after * 0.9;
  EXPECT_FALSE(offered(after * 1.000499, other));
  EXPECT_TRUE(offered(after * 1.000502, other));
  EXPECT_FALSE(offered(after, other));
  // To three digits: the next of them that the price rounds to.
  const double alike = after * 1.0006;
  ASSERT_EQ(significant(alike, 3), significant(after, 3));
  EXPECT_TRUE(offered(alike, other)) << "the goodput reads otherwise";
  EXPECT_FALSE(offered(alike, first->goodput_after)) << "nothing does";
  EXPECT_TRUE(offered(after * 1.02, first->goodput_after)) << "the price does";
}

TEST(Spend, doubled_tier_doubles_a_starved_runs_goodput) {
  const review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 16 }]\nfabric: { compute: "
      "{ topology: fat-tree, switch: qm9700 } }\nstorage: [{ name: lake, tier: hot, kind: "
      "parallel-fs, device: tlc-gen4, servers: 3, devices_per_server: 8, read: 4 GB/s, write: 3 "
      "GB/s, capacity: 90 TB }]\nworkloads: [{ train: { name: t, network: { params: 30M, forward: "
      "4 GFLOP }, batch: 3840, samples: 1B, dataset: { tier: lake, samples: 10M, sample_size: 600 "
      "kB } } }]\n");
  ASSERT_LT(r.trains.at(0).feed.loader.utilisation, 0.4) << "it starves";
  bool found = false;
  for (const Spend& s : best_spends(r)) {
    if (s.change.path != "storage[0]") continue;
    found = true;
    for (const char* line : {"servers: 6", "read: 8 GB/s", "write: 6 GB/s", "capacity: 0.18 PB"}) {
      EXPECT_NE(s.change.value.find(line), std::string::npos) << line << " in " << s.change.value;
    }
    EXPECT_NEAR(s.goodput_after / s.goodput_before, 2, 0.02);
    EXPECT_GT(s.cost_usd_per_year, 0);
  }
  EXPECT_TRUE(found);
}

design::Train& train_of(design::Design& d) { return std::get<design::Train>(d.workloads[0].task); }

TEST(Spend, spends_lower_the_price_and_best_comes_first) {
  design::Design d = review::lab_design("superpod-h100");
  train_of(d).checkpoint->mode = design::CheckpointMode::sync;
  d.storage[0].write = gbytes_per_s(5);
  const auto spends = best_spends(review::reviewed(d));
  ASSERT_FALSE(spends.empty());
  EXPECT_TRUE(spends[0].change.path.ends_with("checkpoint.mode")) << spends[0].what;
  double last = 0;
  for (const Spend& s : spends) {
    EXPECT_LT(s.unit_cost_after_usd, s.unit_cost_before_usd) << s.what;
    EXPECT_GE(s.unit_cost_after_usd, last) << s.what;
    last = s.unit_cost_after_usd;
  }
}

// Saves that stall, a fixed interval, nodes that fail often and wait long for repair: most changes
// pay here.
design::Design neglected() {
  design::Design d = design_text::read_design(design_text::find_template("superpod-h100")->text,
                                              machine::known().catalog())
                         .value();
  auto& checkpoint = std::get<design::Train>(d.workloads[0].task).checkpoint;
  checkpoint->mode = design::CheckpointMode::sync;
  checkpoint->every = hours(4);
  d.workloads.resize(1);
  d.workloads[0].terms.nodes = d.fleet[0].count;
  d.fleet[0].spares = 0;
  d.fleet[0].failures.node_mtbf = days(30);
  d.fleet[0].failures.repair = days(3);
  return d;
}

// Each offered change, put into the text of the design and reviewed, gives the price that the spend
// promised.
TEST(Spend, edits_of_the_file_give_the_promised_price) {
  int tried = 0;
  std::vector<design::Design> designs = {neglected()};
  for (const design_text::Template& t : design_text::templates()) {
    designs.push_back(design_text::read_design(t.text, machine::known().catalog()).value());
  }
  for (const design::Design& design : designs) {
    const std::string text = design_text::write_design(design);
    for (const Spend& s : best_spends(review::run_stages(design, machine::known()))) {
      // The reader can see that it changes something.
      const bool price_differs =
          significant(s.unit_cost_before_usd, 3) != significant(s.unit_cost_after_usd, 3);
      EXPECT_TRUE(price_differs || show(s.goodput_before, figures::Unit::ratio) !=
                                       show(s.goodput_after, figures::Unit::ratio))
          << design.name << ": " << s.what;
      const auto edited = design_text::edit_text(text, s.change, machine::known().catalog());
      ASSERT_TRUE(edited) << design.name << ": " << s.what;
      const auto changed = design_text::read_design(edited->text, machine::known().catalog());
      ASSERT_TRUE(changed) << design.name << ": " << s.what << '\n' << to_text(changed.error());
      const review::Review after = review::run_stages(*changed, machine::known());
      EXPECT_NEAR(after.cost.per_useful_hour.base() * 3600, s.unit_cost_after_usd,
                  1e-9 * s.unit_cost_after_usd)
          << design.name << ": " << s.what;
      ++tried;
    }
  }
  EXPECT_GE(tried, 5);
}

// A spare is bought for the fleet that trains, wherever it is in the file.
TEST(Spend, spare_goes_to_the_fleet_that_trains) {
  design::Design d = neglected();
  design::Fleet other = d.fleet.front();
  other.name = "other";
  other.count = 1;
  d.workloads[0].terms.fleet = d.fleet.front().name;
  d.fleet.insert(d.fleet.begin(), other);
  const auto spends = best_spends(review::run_stages(d, machine::known()));
  const auto spare =
      std::ranges::find(spends, "fleet[1].spares", [](const Spend& s) { return s.change.path; });
  ASSERT_NE(spare, spends.end());
  EXPECT_GT(spare->goodput_after, spare->goodput_before);
}

}  // namespace
}  // namespace orrery::rules
