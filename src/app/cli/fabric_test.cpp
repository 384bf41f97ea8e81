// `orrery fabric` as a person meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"

namespace orrery::cli {

Verb fabric_verb();

namespace {

using testing::AllOf;
using testing::HasSubstr;

VerbAnswer ask_fabric(std::vector<std::string> words, const std::string& file = {}) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out,
                    .err = err,
                    .read_file = [&](const std::string&) -> Result<std::string> { return file; }};
  words.insert(words.begin(), "fabric");
  const ExitCode code = run_command_line({fabric_verb()}, words, terminal);
  return {code, out.str(), err.str()};
}

TEST(FabricVerb, BillOfTheSample) {
  const VerbAnswer a = ask_fabric({"bill", "--nodes", "127", "--nics", "8", "--format", "json"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, AllOf(HasSubstr("\"leaf\": 32"), HasSubstr("\"spine\": 16"),
                           HasSubstr("\"node_leaf_cables\": 1016"),
                           HasSubstr("\"leaf_spine_cables\": 1024")));
}

TEST(FabricVerb, PathNamesItsLinks) {
  const VerbAnswer a = ask_fabric({"path", "--from", "0", "--to", "1000"});
  EXPECT_THAT(a.out, AllOf(HasSubstr("node 0 rail 0 -> leaf 0"), HasSubstr("4 links")));
  EXPECT_EQ(ask_fabric({"path", "--to", "99999999"}).code, ExitCode::bad_input);
}

TEST(FabricVerb, WhatIfNamesTheLossAndWhoFeelsIt) {
  const VerbAnswer a = ask_fabric({"what-if", "--lose", "link", "--number", "5"});
  EXPECT_THAT(a.out, AllOf(HasSubstr("leaf 0 - spine 5"), HasSubstr("50 %"),
                           HasSubstr("leaf 0 -> spine 6")));
}

TEST(FabricVerb, AStormStopsThoseWhoSendThere) {
  const VerbAnswer a = ask_fabric(
      {"storm", "--nodes", "48", "--switch", "sn5600", "--partners", "47", "--format", "json"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, AllOf(HasSubstr("\"reach\": 1,"), HasSubstr("\"watchdog_s\": null")));
  const std::string design =
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 80 }]\n"
      "fabric: { compute: { topology: rail-fat-tree, switch: sn5600, routing: adaptive, protocol: "
      "roce, roce: { pfc: true, pfc_watchdog: true, watchdog_time: 150 ms } } }\n";
  EXPECT_THAT(ask_fabric({"storm", "--design", "a.yaml"}, design).out,
              AllOf(HasSubstr("Of 80 nodes"), HasSubstr("shuts its port after 150 ms")));
  EXPECT_EQ(ask_fabric({"storm", "--partners", "0"}).code, ExitCode::bad_input);
}

TEST(FabricVerb, CountersAreJudged) {
  const std::string header =
      "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";
  EXPECT_EQ(ask_fabric({"counters", "c.csv"}, header + "a,1,b,10,1e9,0,400,0,0,9,0\n").code,
            ExitCode::good);
  const VerbAnswer bad = ask_fabric({"counters", "c.csv"}, header + "a,1,b,10,1e9,0,400,0,0,9,7\n");
  EXPECT_EQ(bad.code, ExitCode::fails_rule);
  EXPECT_THAT(bad.out, HasSubstr("counters.drops"));
}

TEST(FabricVerb, ALogIsSetAgainstWhatIsExpected) {
  const std::string log =
      "# Collective test starting: all_reduce_perf\n"
      " 17179869184 4294967296 float sum -1 62648 274.23 479.90 0 62636 274.28 479.99 0\n";
  const VerbAnswer a = ask_fabric({"log", "x.log"}, log);
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, AllOf(HasSubstr("8 ranks"), HasSubstr("as expected")));
  const std::string slow =
      "# Collective test starting: all_reduce_perf\n"
      " 17179869184 4294967296 float sum -1 124000 138.5 242.4 0 124000 138.5 242.4 0\n";
  EXPECT_THAT(ask_fabric({"log", "x.log"}, slow).out,
              AllOf(HasSubstr("slow"), HasSubstr("NVLink")));
  EXPECT_EQ(ask_fabric({"log", "x.log"}, "nothing").code, ExitCode::bad_input);
}

TEST(FabricVerb, ComparesInfiniBandAndRoce) {
  EXPECT_THAT(ask_fabric({"compare"}).out,
              AllOf(HasSubstr("InfiniBand"), HasSubstr("RoCE, 4 queue pairs")));
}

TEST(FabricVerb, AnImpossibleNetworkIsRefused) {
  EXPECT_EQ(ask_fabric({"bill", "--nodes", "0"}).code, ExitCode::bad_input);
  EXPECT_EQ(ask_fabric({"bill", "--switch", "abacus"}).code, ExitCode::bad_input);
  EXPECT_EQ(ask_fabric({"bill", "--nodes", "999999999"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
