// A day of storage as sections: every figure with its words, unit and interval.
#include <gtest/gtest.h>

#include <cmath>

#include "twin/storage/storage_run.h"

namespace orrery::twin_storage {

namespace {

using figures::Unit;

SaveTimes told_saves() {
  SaveTimes t{.saves = 1234,
              .stall = seconds(2),
              .longest_stall = seconds(3),
              .safe = seconds(10),
              .longest_safe = seconds(14)};
  t.stops = {{.tier = "node-nvme a", .mean = seconds(4), .longest = seconds(5), .saves = 1200},
             {.tier = "never", .saves = 0},
             {.tier = "cold", .mean = seconds(100), .longest = seconds(101), .saves = 3}};
  t.peer = seconds(6);
  t.restore = seconds(7);
  return t;
}

StorageRun told_day() {
  StorageRun day{.span = hours(6)};
  day.jobs = {{.label = "pretrain",
               .saves = told_saves(),
               .starved = 0.25,
               .hit_rate = 0.5,
               .hit_reads = 4000,
               .all_reduce = 1.5}};
  return day;
}

struct Told {
  std::string id;
  double value = 0;
  double low = 0;
  double high = 0;
  std::string formula;
};

void expect_figures(const figures::Section& s, const std::vector<Told>& wanted) {
  ASSERT_EQ(s.figures.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const figures::Figure& f = s.figures[i];
    EXPECT_EQ(f.id(), wanted[i].id);
    EXPECT_DOUBLE_EQ(f.estimate.value, wanted[i].value) << f.id();
    EXPECT_DOUBLE_EQ(f.estimate.low, wanted[i].low) << f.id();
    EXPECT_DOUBLE_EQ(f.estimate.high, wanted[i].high) << f.id();
    EXPECT_EQ(f.estimate.basis, Basis::derived) << f.id();
    EXPECT_EQ(f.estimate.reference, "docs/models/storage-in-time.md") << f.id();
    EXPECT_EQ(f.formula, wanted[i].formula) << f.id();
  }
}

TEST(StorageFigures, every_figure_of_a_run) {
  const auto sections = sections_of(told_day());
  ASSERT_EQ(sections.size(), 1u);
  const figures::Section& s = sections[0];
  EXPECT_EQ(s.layer, figures::Layer::storage);
  EXPECT_EQ(s.name, "pretrain on the clock");
  EXPECT_EQ(s.summary, "6 h of saves and reads on the links they share, 1,234 saves");
  const std::string why = "the storage network is separate: the burst does not meet the collective";
  expect_figures(s, {{"stall_end", 2, 2, 3, ""},
                     {"peer_copy", 6, 6, 6, ""},
                     {"safe", 10, 10, 14, ""},
                     {"on_node-nvme_a", 4, 4, 5, "1,200 saves reached it"},
                     {"on_cold", 100, 100, 100, "3 saves reached it"},
                     {"exposed", 8, 8, 12, "safe - end of the stall"},
                     {"read_back", 7, 7, 7, ""},
                     {"all_reduce_in_burst", 1.5, 1.5, 1.5, why},
                     {"starved", 0.25, 0.25, 0.25, "of the bytes that the steps use"},
                     {"hit_rate", 0.5, 0.5, 0.5, "4,000 reads of one host, with a warm cache"}});
  EXPECT_EQ(s.limit, "a save slows an all-reduce 1.5x: " + why);
}

TEST(StorageFigures, what_did_not_happen_has_no_figure) {
  StorageRun day = told_day();
  day.jobs[0].saves->peer.reset();
  day.jobs[0].is_converged = true;
  day.jobs[0].all_reduce = 1.001;
  day.jobs[0].hit_reads = 0;
  const auto s = sections_of(day)[0];
  EXPECT_EQ(s.limit, "") << "by a thousandth is not slower";
  ASSERT_EQ(s.figures.size(), 8u);
  EXPECT_EQ(s.figures[1].id(), "safe");
  EXPECT_EQ(s.figures[7].id(), "starved");
  day.jobs[0].all_reduce = 1.0011;
  EXPECT_NE(sections_of(day)[0].limit, "");
  day.jobs[0].saves.reset();
  const auto reads = sections_of(day)[0];
  EXPECT_EQ(reads.summary, "6 h of saves and reads on the links they share");
  ASSERT_EQ(reads.figures.size(), 1u);
  EXPECT_EQ(reads.figures[0].id(), "starved");
}

// A value a hundredth above the mean still counts as the mean.
TEST(StorageFigures, spans_within_one_percent_are_shown_once) {
  StorageRun day = told_day();
  const auto high = [&](double longest) {
    day.jobs[0].saves->longest_stall = Seconds(longest);
    return sections_of(day)[0].figures[0].estimate.high;
  };
  EXPECT_EQ(high(2.0199), 2);
  EXPECT_EQ(high(2.0205), 2.0205);
}

TEST(StorageFigures, runs_that_move_nothing_have_no_section) {
  StorageRun day{.span = days(1)};
  day.jobs = {{.label = "nothing"},
              {.label = "", .starved = 0.5},
              {.label = "late", .starved = 0.5},
              {.label = "cached", .hit_reads = 7}};
  const auto sections = sections_of(day);
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].name, "late on the clock");
  EXPECT_EQ(sections[1].name, "cached on the clock");
  EXPECT_EQ(sections[1].figures.size(), 2u);
}

TEST(StorageFigures, every_figure_of_a_tier) {
  StorageRun day{.span = days(1)};
  day.tiers = {{.label = "hot",
                .use = {.requests = 4,
                        .waited = seconds(6),
                        .longest_wait = seconds(5),
                        .transfers = 3,
                        .most_at_once = 7},
                .read_share = 0.1,
                .write_share = 0.2},
               {.label = "drives", .use = {.waited = seconds(6), .transfers = 3}}};
  const auto sections = sections_of(day);
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].layer, figures::Layer::storage);
  EXPECT_EQ(sections[0].name, "hot tier on the clock");
  expect_figures(sections[0], {{"read_share", 0.1, 0.1, 0.1, ""},
                               {"write_share", 0.2, 0.2, 0.2, ""},
                               {"most_at_once", 7, 7, 7, ""},
                               {"request_wait", 2, 2, 5, ""}});
  EXPECT_EQ(sections[1].figures.size(), 3u) << "without requests there is no wait";
}

TEST(StorageFigures, figures_of_a_day_by_hand) {
  StorageRun day{.span = days(1)};
  SaveTimes t{.saves = 3,
              .stall = seconds(2),
              .longest_stall = seconds(3),
              .safe = seconds(10),
              .longest_safe = seconds(10.05)};
  t.stops = {{.tier = "node-nvme", .mean = seconds(4), .longest = seconds(5), .saves = 3},
             {.tier = "cold", .saves = 0}};
  t.restore = seconds(7);
  day.jobs = {{.label = "pretrain",
               .saves = t,
               .starved = 0.25,
               .hit_rate = 0.5,
               .hit_reads = 9,
               .all_reduce = 1.5},
              {.label = "nothing"}};
  day.tiers = {{.label = "hot",
                .use = {.requests = 4,
                        .waited = seconds(6),
                        .longest_wait = seconds(5),
                        .transfers = 3,
                        .most_at_once = 2},
                .read_share = 0.1,
                .write_share = 0.2}};
  const auto sections = sections_of(day);
  ASSERT_EQ(sections.size(), 2u);
  const auto figure = [&](std::size_t s, std::string_view id) {
    for (const figures::Figure& f : sections[s].figures) {
      if (f.id() == id) return f.estimate;
    }
    return Estimate{.value = -1};
  };
  EXPECT_EQ(figure(0, "stall_end").value, 2);
  EXPECT_EQ(figure(0, "stall_end").high, 3);
  EXPECT_EQ(figure(0, "safe").high, 10) << "within a hundredth they are one";
  EXPECT_EQ(figure(0, "on_node-nvme").value, 4);
  EXPECT_EQ(figure(0, "on_cold").value, -1);
  EXPECT_EQ(figure(0, "peer_copy").value, -1);
  EXPECT_EQ(figure(0, "exposed").value, 8);
  EXPECT_EQ(figure(0, "read_back").value, 7);
  EXPECT_EQ(figure(0, "all_reduce_in_burst").value, 1.5);
  EXPECT_EQ(figure(0, "starved").value, 0.25);
  EXPECT_EQ(figure(0, "hit_rate").value, 0.5);
  EXPECT_TRUE(sections[0].limit.starts_with("a save slows an all-reduce 1.5x"));
  EXPECT_EQ(figure(1, "read_share").value, 0.1);
  EXPECT_EQ(figure(1, "write_share").value, 0.2);
  EXPECT_EQ(figure(1, "most_at_once").value, 2);
  EXPECT_EQ(figure(1, "request_wait").value, 2);
  EXPECT_EQ(figure(1, "request_wait").high, 5);
}

}  // namespace
}  // namespace orrery::twin_storage
