#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using FabricVerb = VerbTest;
using Json = nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json fabric_json(std::vector<std::string> words) {
  words.insert(words.begin(), "fabric");
  words.insert(words.end(), {"--format", "json"});
  const VerbAnswer a = spoken(words);
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  return Json::parse(a.out, nullptr, false);
}

VerbAnswer ask_fabric(std::vector<std::string> words, const std::string& file = {}) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out,
                    .err = err,
                    .read_file = [&](const std::string&) -> Result<std::string> { return file; }};
  words.insert(words.begin(), "fabric");
  const ExitCode code = run_command_line(all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

TEST(Fabric, a_pause_storm_stops_its_senders) {
  const VerbAnswer a = ask_fabric(
      {"storm", "--nodes", "48", "--switch", "sn5600", "--partners", "47", "--format", "json"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, AllOf(HasSubstr("\"reach\": 1,"), HasSubstr("\"watchdog_s\": null")));
  const std::string design =
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 80 }]\n"
      "fabric: { compute: { topology: rail-fat-tree, switch: sn5600, routing: adaptive, protocol: "
      "roce, roce: { pfc: true, pfc_watchdog: true, watchdog_time: 150 ms } } }\n";
  EXPECT_THAT(ask_fabric({"storm", "--design", "a.yaml"}, design).out,
              AllOf(HasSubstr("80 nodes"), HasSubstr("150 ms")));
  EXPECT_EQ(ask_fabric({"storm", "--partners", "0"}).code, ExitCode::bad_input);
}

TEST(Fabric, pause_counters_are_judged) {
  const std::string header =
      "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";
  EXPECT_EQ(ask_fabric({"counters", "c.csv"}, header + "a,1,b,10,1e9,0,400,0,0,9,0\n").code,
            ExitCode::good);
  const VerbAnswer bad = ask_fabric({"counters", "c.csv"}, header + "a,1,b,10,1e9,0,400,0,0,9,7\n");
  EXPECT_EQ(bad.code, ExitCode::fails_rule);
  EXPECT_THAT(bad.out, HasSubstr("counters.drops"));
}

TEST(Fabric, log_times_are_compared_with_the_model) {
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

TEST(Fabric, an_impossible_network_is_refused) {
  EXPECT_EQ(ask_fabric({"bill", "--nodes", "0"}).code, ExitCode::bad_input);
  EXPECT_EQ(ask_fabric({"bill", "--switch", "abacus"}).code, ExitCode::bad_input);
  EXPECT_EQ(ask_fabric({"bill", "--nodes", "999999999"}).code, ExitCode::bad_input);
}

class FabricLog : public testing::Test {
 protected:
  FabricLog() {
    // 17 GB in 62.6 ms; a MiB in 60 us where 31 us are expected.
    folder.write(
        "x.log",
        "# Collective test starting: all_reduce_perf\n"
        " 17179869184 4294967296 float sum -1 62648 274.23 479.90 0 62636 274.28 479.99 0\n"
        " 1048576 262144 float sum -1 60.1 17.45 30.53 0 61.3 17.11 29.93 0\n");
  }
  VerbAnswer log(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"fabric", "log", folder.at("x.log")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  agent::TestFolder folder;
};

TEST_F(FabricLog, the_log_uses_the_described_network) {
  const std::string usual = log({"--ranks", "16"}).out;
  for (const auto& [option, value] :
       {std::pair("--nics", "4"), std::pair("--rate", "200 Gb/s"), std::pair("--network", "efa"),
        std::pair("--gpus-per-node", "4"), std::pair("--gpu", "a100-80-sxm")}) {
    EXPECT_NE(log({"--ranks", "16", option, value}).out, usual) << option;
  }
  EXPECT_EQ(log({"--ranks", "2"}).code, ExitCode::good);
  EXPECT_EQ(log({"--ranks", "16", "--gpus-per-node", "1"}).code, ExitCode::good);
  EXPECT_EQ(log({"--ranks", "16", "--gpus-per-node", "1024"}).code, ExitCode::good);
}

TEST_F(FabricLog, all_errors_are_reported_at_once) {
  EXPECT_EQ(
      codes_in(log({"--rate", "x", "--gpu", "y", "--ranks", "1", "--gpus-per-node", "0"}).err),
      "fabric.usage fabric.usage fabric.usage fabric.usage");
  EXPECT_EQ(codes_in(log({"--gpus-per-node", "1025"}).err), "fabric.usage");
  EXPECT_EQ(spoken({"fabric", "log", folder.at("none")}).code, ExitCode::bad_input);
}

TEST(Fabric, an_invalid_network_is_refused_by_every_verb) {
  for (const char* verb : {"bill", "path", "what-if", "storm"}) {
    const VerbAnswer a = spoken({"fabric", verb, "--switch", "abacus"});
    EXPECT_EQ(a.code, ExitCode::bad_input) << verb;
    EXPECT_EQ(codes_in(a.err), "fabric.usage");
    EXPECT_EQ(a.out, "");
  }
}

TEST(Fabric, a_missing_part_is_refused) {
  const auto said = [](const std::string& lose, const std::string& number) {
    const VerbAnswer a =
        spoken({"fabric", "what-if", "--nodes", "8", "--lose", lose, "--number", number});
    return a.code == ExitCode::good ? "good" : codes_in(a.err);
  };
  const std::string none = "fabric.no-such-part";
  EXPECT_EQ(said("spine", "99"), none);
  EXPECT_EQ(said("link", "100000000"), none);
  EXPECT_EQ(said("link", "100000001"), "fabric.usage");
  EXPECT_EQ(said("link", "-1"), "fabric.usage");
  EXPECT_EQ(said("nic", "63"), "good");
  EXPECT_EQ(said("nic", "64"), none);
}

TEST(Fabric, path_ends_count_from_zero) {
  const auto said = [](const std::string& from, const std::string& to) {
    const VerbAnswer a =
        spoken({"fabric", "path", "--nodes", "4", "--nics", "1", "--from", from, "--to", to});
    return a.code == ExitCode::good ? a.out : codes_in(a.err);
  };
  const std::string outside = "fabric.usage";
  EXPECT_EQ(said("0", "4"), outside);
  EXPECT_EQ(said("4", "0"), outside);
  EXPECT_EQ(said("-1", "0"), outside);
  EXPECT_EQ(said("0", "-1"), outside);
  EXPECT_THAT(said("0", "3"), HasSubstr("2 links, 300 ns"));
  EXPECT_THAT(said("3", "0"), HasSubstr("  - node 3 -> leaf 0\n  - leaf 0 -> node 0\n"));
}

// Four nodes with two NICs below one switch: 4 x 50 GB/s bisection, 747 W and twelve transceivers
// of 15.5 W.
TEST(Fabric, bill_of_one_switch) {
  const Json bill = fabric_json({"bill", "--nodes", "4", "--nics", "2"});
  const std::pair<const char*, double> numbers[] = {{"schema_version", 1},
                                                    {"tiers", 1},
                                                    {"endpoints", 8},
                                                    {"leaf", 1},
                                                    {"spine", 0},
                                                    {"core", 0},
                                                    {"node_leaf_cables", 8},
                                                    {"manager_cables", 4},
                                                    {"leaf_spine_cables", 0},
                                                    {"spine_core_cables", 0},
                                                    {"diameter_links", 2},
                                                    {"bisection_bytes_per_s", 2e11},
                                                    {"bisection_share", 1},
                                                    {"power_w", 747 + 12 * 15.5}};
  for (const auto& [name, value] : numbers) EXPECT_EQ(bill[name], value) << name;
  EXPECT_EQ(bill["topology"], "rail-fat-tree");
  EXPECT_LT(bill["price_low_usd"].get<double>(), bill["price_high_usd"].get<double>());
  double watts = 0;
  for (const Json& line : bill["lines"]) {
    watts += line["count"].get<double>() * line["unit_power_w"].get<double>();
  }
  EXPECT_DOUBLE_EQ(watts, 747 + 12 * 15.5);
  EXPECT_EQ(bill["lines"][0], Json::parse(R"({"item":"leaf switch","part":"qm9700","count":1,
      "unit_power_w":747,"reference":"switches/qm9700"})"));
}

// Each option changes the quantity that it names.
TEST(Fabric, options_describe_the_network) {
  const std::vector<std::string> eight = {"bill", "--nodes", "4", "--nics", "2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = eight;
    words.insert(words.end(), more.begin(), more.end());
    return fabric_json(words);
  };
  EXPECT_EQ(with({"--rate", "200 Gb/s"})["bisection_bytes_per_s"], 1e11);
  EXPECT_EQ(with({"--planes", "2"})["leaf"], 2);
  EXPECT_EQ(with({"--radix", "4"})["tiers"], 2);
  const Json torus = fabric_json(
      {"bill", "--topology", "torus", "--torus", "4x4", "--nodes", "16", "--nics", "1"});
  // A ring of four is cut twice, in each of four rings: 8 x 50 GB/s. At most two steps in each
  // dimension.
  EXPECT_EQ(torus["bisection_bytes_per_s"], 4e11);
  EXPECT_EQ(torus["diameter_links"], 4);
  EXPECT_EQ(torus["endpoints"], 16);
  const Json thin = fabric_json({"bill", "--nodes", "127", "--oversubscription", "2"});
  const Json full = fabric_json({"bill", "--nodes", "127"});
  EXPECT_LT(thin["leaf_spine_cables"].get<int>(), full["leaf_spine_cables"].get<int>());
  EXPECT_NEAR(thin["bisection_share"].get<double>(), 0.5, 0.05);
}

TEST(Fabric, a_path_has_its_latency) {
  const Json path =
      fabric_json({"path", "--nodes", "4", "--nics", "2", "--from", "0", "--to", "7"});
  EXPECT_THAT(path["links"].get<std::vector<std::string>>(),
              ElementsAre("node 0 rail 0 -> leaf 0", "leaf 0 -> node 3 rail 1"));
  EXPECT_NEAR(path["latency_s"].get<double>(), 3e-7, 1e-12);
}

// Without a leaf, its 64 rails have no other path; without one of its links to a spine they do.
TEST(Fabric, what_a_loss_costs) {
  const Json leaf = fabric_json({"what-if", "--nodes", "64", "--lose", "leaf", "--number", "3"});
  EXPECT_EQ(leaf["lost"], "leaf 3");
  EXPECT_EQ(leaf["cut"], 64);
  EXPECT_EQ(leaf["slowed"], 0);
  EXPECT_EQ(leaf["share"], 0);
  EXPECT_NEAR(leaf["before_s"].get<double>(), 100e6 / 50e9, 1e-5);
  // 31 of the leaf's 32 links remain: 31/32 = 96.9 %.
  const std::vector<std::string> words = {"what-if", "--nodes", "64", "--routing", "adaptive"};
  const Json link = fabric_json(words);
  EXPECT_EQ(link["lost"], "leaf 0 - spine 0");
  EXPECT_EQ(link["cut"], 0);
  EXPECT_NEAR(link["closed_form_share"].get<double>(), 31 / 32.0, 1e-9);
  EXPECT_NEAR(link["after_s"].get<double>() * link["share"].get<double>(),
              link["before_s"].get<double>(), 1e-9);
  EXPECT_EQ(spoken({"fabric", "what-if", "--number", "-1"}).code, ExitCode::bad_input);
  EXPECT_EQ(spoken({"fabric", "what-if", "--number", "100000001"}).code, ExitCode::bad_input);
}

TEST(Fabric, comparison_and_storm_counts_have_bounds) {
  for (const char* option : {"--leaves", "--hosts", "--spines", "--queue-pairs"}) {
    EXPECT_EQ(spoken({"fabric", "compare", option, "0"}).code, ExitCode::bad_input) << option;
    EXPECT_EQ(spoken({"fabric", "compare", option, "257"}).code, ExitCode::bad_input) << option;
  }
  const VerbAnswer small = spoken({"fabric", "compare", "--leaves", "1", "--hosts", "1", "--spines",
                                   "1", "--queue-pairs", "1"});
  EXPECT_EQ(small.code, ExitCode::good);
  EXPECT_EQ(spoken({"fabric", "storm", "--partners", "257"}).code, ExitCode::bad_input);
  const VerbAnswer storm =
      spoken({"fabric", "storm", "--nodes", "16", "--switch", "sn5600", "--partners", "4"});
  // Four of the fifteen other nodes send to the paused NIC.
  EXPECT_THAT(storm.out, HasSubstr("26.7 %"));
}

TEST_F(FabricVerb, network_options_have_bounds) {
  expect_code({"fabric", "bill", "--rate", "0 Gb/s"}, "fabric.usage");
  expect_code({"fabric", "bill", "--planes", "9"}, "fabric.usage");
  expect_code({"fabric", "path", "--nodes", "4", "--from", "0", "--to", "32"}, "fabric.usage");
  expect_code({"fabric", "path", "--nodes", "4", "--from", "32", "--to", "0"}, "fabric.usage");
  EXPECT_EQ(say({"fabric", "path", "--nodes", "4", "--from", "31", "--to", "0"}).code,
            ExitCode::good);
}

}  // namespace
}  // namespace orrery::cli
