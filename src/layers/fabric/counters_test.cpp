#include "layers/fabric/counters.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::fabric {
namespace {

constexpr const char* kHeader =
    "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";

TEST(Counters, each_rule_has_its_row) {
  const std::string text = std::string(kHeader) +
                           "leaf1,1,node3,10,450e9,0,400,0,0,0,0\n"           // busy, no marks
                           "leaf1,2,node4,10,1e9,0,400,0,5,0,0\n"             // pauses, no marks
                           "leaf1,3,node5,10,1e9,0,400,0,0,9,2\n"             // drops
                           "leaf2,1,node9,10,1e6,0,400,500000,0,5,0\n"        // storm from a node
                           "leaf2,33,spine1,10,1e6,0,400,0,400000,5,0\n"      // and it spreads
                           "leaf3,1,node11,10,450e9,0,400,100,50,90000,0\n";  // healthy
  const auto table = CsvTable::parse(text, "counters.csv");
  ASSERT_TRUE(table.has_value());
  std::vector<std::string> codes;
  for (const Diagnostic& d : judge_counters(*table)) codes.push_back(d.code);
  EXPECT_THAT(codes, testing::UnorderedElementsAre(
                         "counters.no-marks", "counters.pause-before-mark", "counters.drops",
                         "counters.pause-storm", "counters.storm-spreads"));
}

TEST(Counters, bad_fields_are_errors) {
  const auto table = CsvTable::parse(std::string(kHeader) + "a,1,b,10,x,0,400,0,0,-1,0\n", "c.csv");
  const Diagnostics found = judge_counters(*table);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_TRUE(has_errors(found));
}

std::vector<std::string> judged(const std::string& rows) {
  const auto table = CsvTable::parse(kHeader + rows, "counters.csv");
  std::vector<std::string> out;
  for (const Diagnostic& d : judge_counters(*table)) {
    out.push_back(fmt::format("{}: {}", d.place.line, d.code));
  }
  return out;
}

// 400 Gb/s for ten seconds is 500 GB; a storm is more than 10,000 pauses per second.
TEST(Counters, counters_are_judged_per_second) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(judged("leaf1,1,n1,10,400e9,0,400,0,0,0,0\n"), IsEmpty());
  EXPECT_THAT(judged("leaf1,1,n1,10,401e9,0,400,0,0,0,0\n"), ElementsAre("2: counters.no-marks"));
  EXPECT_THAT(judged("leaf1,1,n1,20,401e9,0,400,0,0,0,0\n"), IsEmpty());
  EXPECT_THAT(judged("leaf1,1,n1,0,401e9,0,400,99e9,99e9,1,0\n"), IsEmpty()) << "no time";
  EXPECT_THAT(judged("leaf1,1,n1,10,0,0,400,100000,0,1,0\n"), IsEmpty());
  EXPECT_THAT(judged("leaf1,7,n1,10,0,0,400,100001,0,1,0\n"),
              ElementsAre("2: counters.pause-storm"));
  // It spreads if the paused switch itself pauses others, and not from a different switch.
  EXPECT_THAT(judged("leaf1,7,n1,10,0,0,400,200000,0,1,0\nleaf1,8,s1,10,0,0,400,0,100000,1,0\n"),
              testing::SizeIs(1));
  EXPECT_THAT(judged("leaf1,8,s1,10,0,0,400,0,100001,1,0\nleaf1,7,n1,10,0,0,400,200000,0,1,0\n"),
              ElementsAre("2: counters.storm-spreads", "3: counters.pause-storm"));
  EXPECT_THAT(judged("leaf1,7,n1,10,0,0,400,200000,0,1,0\nleaf2,8,s1,10,0,0,400,0,100001,1,0\n"),
              testing::SizeIs(1));
}

}  // namespace
}  // namespace orrery::fabric
