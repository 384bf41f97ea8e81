// What `orrery fabric` prints, whole: losses and why some cost nothing, storms, paths, comparisons
// and logs, for networks small enough to be worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

std::string fabric_said(std::vector<std::string> words) {
  words.insert(words.begin(), "fabric");
  const VerbAnswer a = spoken(words);
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  return a.out;
}
Json fabric_told(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  return Json::parse(fabric_said(words), nullptr, false);
}

// 64 nodes of 8 rails: leaves of 32 nodes, so that nodes 2 and 34 exchange. Without spine 2 two
// flows share a link: 100 MB at 25 instead of 50 GB/s.
TEST(FabricWords, of_a_loss_that_halves_the_rate) {
  EXPECT_EQ(fabric_said({"what-if", "--nodes", "64", "--lose", "spine", "--number", "2"}),
            "Without spine 2\n===============\n"
            "Every endpoint sends 100 MB half-way round: 2 ms before, 4 ms after; a collective "
            "keeps 50 % of its\nnetwork rate (50 % by the closed form).\n"
            "Felt by jobs on nodes 2, 3, 10, 11, 18, 19, 26, 27, 34, 35, 42, 43, 50, 51, 58, 59. "
            "Limiting link:\nleaf 0 -> spine 3.\n");
}

// Forty nodes leave a leaf of eight, whose flows all go by one spine; or by all of them.
TEST(FabricWords, of_a_loss_that_costs_nothing) {
  const std::vector<std::string> words = {"what-if", "--nodes", "40", "--number", "31"};
  EXPECT_EQ(fabric_said(words),
            "Without leaf 0 - spine 7\n========================\n"
            "Every endpoint sends 100 MB half-way round: 8 ms before, 8 ms after; a collective "
            "keeps 100 % of its\nnetwork rate (50 % by the closed form). It is no slower because "
            "leaf 8 -> spine 0 binds, and the\nother ways have room.\n"
            "Felt by jobs on nodes none. Limiting link: leaf 8 -> spine 0.\n");
  std::vector<std::string> adaptive = words;
  adaptive.insert(adaptive.end(), {"--routing", "adaptive", "--format", "markdown"});
  EXPECT_EQ(fabric_said(adaptive),
            "# Without leaf 0 - spine 7\n\n"
            "Every endpoint sends 100 MB half-way round: 2 ms before, 2 ms after; a collective "
            "keeps 100 % of its network rate (96.9 % by the closed form). It is no slower because "
            "node 0 rail 0 -> leaf 0 binds, and the other ways have room.\n\n"
            "Felt by jobs on nodes none. Limiting link: node 0 rail 0 -> leaf 0.\n");
}

TEST(FabricWords, of_a_loss_under_hashing) {
  const std::string text =
      fabric_said({"what-if", "--nodes", "64", "--routing", "ecmp", "--lose", "link"});
  EXPECT_EQ(text,
            "Without leaf 0 - spine 0\n========================\n"
            "Every endpoint sends 100 MB half-way round: 10 ms before, 10 ms after; a collective "
            "keeps 100 % of\nits network rate. Hashing decides it: 5 flows meet on the worst link "
            "before, 5 after. It is no\nslower because others collide elsewhere just as badly.\n"
            "Felt by jobs on nodes 2, 4, 18, 22, 36, 37. Limiting link: spine 6 -> leaf 2.\n");
}

// Either end of node 0's eighth rail: its message to node 32 and the one from there.
TEST(FabricWords, of_a_nic_and_a_plane_that_are_lost) {
  EXPECT_EQ(fabric_told({"what-if", "--nodes", "64", "--lose", "nic", "--number", "7"}),
            Json::parse(R"({"schema_version":1,"lost":"node 0 rail 7 - leaf 7",
                "before_s":0.0020006,"after_s":0.0020006,"share":0,"closed_form_share":0.5,
                "cut":2,"slowed":0,"limiting_link":"node 0 rail 0 -> leaf 0","nodes":[0,32]})"));
  EXPECT_THAT(fabric_said({"what-if", "--nodes", "64", "--lose", "nic", "--number", "7"}),
              EndsWith("\n2 messages have no way left: the job stops.\n"
                       "Felt by jobs on nodes 0, 32. Limiting link: node 0 rail 0 -> leaf 0.\n"));
  // 16 NICs of 2 x 50 GB/s: 100 MB in 2 ms over two planes of half of it each; twice that over one.
  const Json plane = fabric_told({"what-if", "--nodes", "8", "--nics", "2", "--planes", "2",
                                  "--lose", "plane", "--number", "1"});
  EXPECT_EQ(plane["lost"], "plane 1");
  EXPECT_NEAR(plane["before_s"].get<double>(), 0.002 + 3e-7, 1e-12);
  EXPECT_NEAR(plane["after_s"].get<double>(), 0.004 + 3e-7, 1e-12);
  EXPECT_NEAR(plane["share"].get<double>(), 0.0020003 / 0.0040003, 1e-9);
  EXPECT_EQ(plane["closed_form_share"], 0.5);
  EXPECT_EQ(plane["slowed"], 16);
  EXPECT_EQ(plane["cut"], 0);
  EXPECT_EQ(plane["nodes"], Json::parse("[0,1,2,3,4,5,6,7]"));
  EXPECT_EQ(plane["limiting_link"], "plane 0 node 0 rail 0 -> plane 0 leaf 0");
}

// Four of fifteen others send there. Of the 60 other messages four are the paused NIC's own; of the
// 56 left each of the four nodes has three that stop: 44 of 56 go on.
TEST(FabricWords, of_a_storm) {
  const std::vector<std::string> words = {"storm", "--nodes", "16", "--switch", "sn5600"};
  EXPECT_EQ(fabric_said(words),
            "One NIC pauses for good\n=======================\n"
            "Of 16 nodes that send to 4 others each, 26.7 % are stopped within 100 us, down to 0 % "
            "of their rate;\nmessages to others keep 78.6 %.\n"
            "No watchdog: it lasts until somebody shuts the port.\n");
  const Json storm = fabric_told(words);
  EXPECT_EQ(storm.size(), 9U);
  EXPECT_EQ(storm["schema_version"], 1);
  EXPECT_EQ(storm["nodes"], 16);
  EXPECT_NEAR(storm["reach"].get<double>(), 4 / 15.0, 1e-9);
  EXPECT_EQ(storm["left"], 0);
  EXPECT_NEAR(storm["spread_s"].get<double>(), 1e-4, 1e-12);
  EXPECT_EQ(storm["pauses"], 4);
  EXPECT_NEAR(storm["held"].get<double>(), 44 / 56.0, 1e-9);
  EXPECT_EQ(storm["back"], storm["held"]) << "nobody shuts the port";
  EXPECT_TRUE(storm["watchdog_s"].is_null());
  // Leaves of four: six of 23 others stop where routes are static; hashed ones meet more, and which
  // is the seed's.
  const auto with = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"storm", "--nodes",  "24",     "--nics",     "1", "--radix",
                                    "8",     "--switch", "sn5600", "--partners", "3"};
    all.insert(all.end(), more.begin(), more.end());
    return fabric_told(all);
  };
  EXPECT_NEAR(with({})["reach"].get<double>(), 6 / 23.0, 1e-9);
  EXPECT_NEAR(with({"--routing", "ecmp"})["reach"].get<double>(), 10 / 23.0, 1e-9);
  EXPECT_NEAR(with({"--routing", "adaptive"})["reach"].get<double>(), 12 / 23.0, 1e-9);
  EXPECT_NE(with({"--routing", "ecmp"}), with({"--routing", "ecmp", "--seed", "2"}));
}

TEST(FabricWords, of_a_design_are_those_of_its_compute_network) {
  const agent::TestFolder folder;
  const auto put = [&](const std::string& compute) {
    folder.write("d.yaml",
                 "orrery: 1\nname: a\nsite: { region: usa }\n"
                 "fleet: [{ name: f, node: dgx-h100, count: 20 }]\n" +
                     (compute.empty() ? "" : "fabric: { compute: { " + compute + " } }\n"));
    return folder.at("d.yaml");
  };
  const std::string roce =
      "topology: rail-fat-tree, switch: sn5600, protocol: roce, "
      "roce: { pfc: true, pfc_watchdog: true, watchdog_time: 150 ms }";
  const std::string design = put(roce + ", routing: ecmp");
  const Json one = fabric_told({"storm", "--design", design});
  EXPECT_EQ(one["nodes"], 20);
  EXPECT_NEAR(one["reach"].get<double>(), 4 / 19.0, 1e-9);
  EXPECT_EQ(one["watchdog_s"], 0.15);
  EXPECT_GT(one["back"].get<double>(), one["held"].get<double>());
  EXPECT_EQ(one, fabric_told({"storm", "--design", design, "--routing", "adaptive"}))
      << "the design says how it routes";
  EXPECT_THAT(fabric_said({"storm", "--design", design}),
              HasSubstr("\nThe watchdog shuts its port after 150 ms; then they have 100 % again."));
  // 20 nodes of 8 rails below leaves of 64 ports: three, and two spines above them.
  EXPECT_THAT(fabric_said({"bill", "--design", design, "--format", "markdown"}),
              AllOf(StartsWith("# rail-fat-tree of 160 endpoints\n\n2 tiers, 3 leaves, 2 spines, "
                               "0 cores; 4 links across at most; bisection 4 TB/s (100 % of full); "
                               "10.2 kW and "),
                    HasSubstr("\n| item | part | count | W each |\n| --- | --- | ---: | ---: |\n"
                              "| leaf switch | sn5600 | 3 | 940 |\n"
                              "| spine switch | sn5600 | 2 | 940 |\n")));
  EXPECT_EQ(spoken({"fabric", "bill", "--design", put("")}).err,
            "error: the design has no compute network of its own [fabric.usage]\n"
            "    fix: describe fabric.compute\n");
  EXPECT_THAT(
      spoken({"fabric", "bill", "--design", put("topology: torus, switch: sn5600")}).err,
      HasSubstr("error: the sizes of a torus must multiply to its endpoints [fabric.torus]\n"));
}

// Up to a spine and down again: 4 links of 150 ns. Endpoint 300 is the fifth rail of node 37.
TEST(FabricWords, of_a_path) {
  const std::vector<std::string> words = {"path", "--nodes", "64",        "--from", "0",
                                          "--to", "300",     "--routing", "ecmp"};
  const Json path = fabric_told(words);
  EXPECT_EQ(path["schema_version"], 1);
  EXPECT_NEAR(path["latency_s"].get<double>(), 6e-7, 1e-13);
  EXPECT_EQ(path["links"], Json::parse(R"(["node 0 rail 0 -> leaf 0","leaf 0 -> spine 0",
                                           "spine 0 -> leaf 12","leaf 12 -> node 37 rail 4"])"));
  std::vector<std::string> other = words;
  other.insert(other.end(), {"--seed", "2"});
  EXPECT_EQ(fabric_told(other)["links"][1], "leaf 0 -> spine 3");
  EXPECT_EQ(fabric_said(words),
            "node 0 rail 0 to node 37 rail 4\n===============================\n"
            "  - node 0 rail 0 -> leaf 0\n  - leaf 0 -> spine 0\n  - spine 0 -> leaf 12\n"
            "  - leaf 12 -> node 37 rail 4\n4 links, 600 ns of latency, ecmp routing.\n");
}

// Two rings of four and four pairs: 12 cables; the rings are cut twice each, 4 x 50 GB/s.
TEST(FabricWords, of_a_torus) {
  const std::vector<std::string> words = {"bill",       "--nodes", "4",       "--nics", "2",
                                          "--topology", "torus",   "--torus", "4x2"};
  EXPECT_THAT(fabric_said(words),
              StartsWith("torus of 8 endpoints\n====================\n"
                         "0 tiers, 0 leaves, 0 spines, 0 cores; 3 links across at most; bisection "
                         "200 GB/s (100 % of full); 0\nW and "));
  const Json bill = fabric_told(words);
  EXPECT_EQ(bill["topology"], "torus");
  EXPECT_EQ(bill["lines"][0], Json::parse(R"({"item":"cable between endpoints",
      "part":"mpo-trunk","count":12,"unit_power_w":0,"reference":"docs/models/fabric.md#bill"})"));
}

// One host of one leaf meets nobody; 3 hops of 150 and of 600 ns.
TEST(FabricWords, of_a_comparison) {
  EXPECT_EQ(fabric_said({"compare", "--leaves", "1", "--hosts", "1", "--spines", "1",
                         "--queue-pairs", "1", "--format", "markdown"}),
            "# InfiniBand against RoCE on one leaf-spine network\n\n"
            "|  | wire left to a permutation | switch latency of 3 hops |\n"
            "| --- | ---: | ---: |\n"
            "| InfiniBand, adaptive routing | 100 % | 450 ns |\n"
            "| RoCE, one queue pair hashed | 100 % | 1.8 us |\n"
            "| RoCE, 1 queue pairs | 100 % | 1.8 us |\n\n"
            "RoCE that sprays packets or routes adaptively does as InfiniBand does; what is then "
            "left are its latency and the checklist of a lossless class.\n");
  const auto with = [](const char* option, const char* value) {
    std::vector<std::string> words = {"compare", "--leaves",      "4", "--hosts", "4", "--spines",
                                      "4",       "--queue-pairs", "2"};
    words.insert(words.end(), {option, value});
    for (std::size_t i = 1; i + 2 < words.size(); i += 2) {
      if (words[i] == option)
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                    words.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    }
    return fabric_said(words);
  };
  const std::string usual = with("--leaves", "4");
  EXPECT_THAT(usual, HasSubstr("\n  RoCE, 2 queue pairs "));
  for (const char* option : {"--leaves", "--hosts", "--spines", "--queue-pairs"}) {
    EXPECT_NE(with(option, "3"), usual) << option;
  }
}

class FabricLog : public testing::Test {
 protected:
  FabricLog() {
    // 17 GB in 62.6 ms, and a MiB in 60 us where 31 are expected.
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

TEST_F(FabricLog, a_line_has_its_size_its_time_and_its_verdict) {
  const std::string text = log({"--format", "markdown"}).out;
  EXPECT_THAT(text, StartsWith("# all_reduce over 8 ranks: measured against expected\n\n"
                               "| size | measured | expected | 80 % interval | bus GB/s | verdict "
                               "|\n| ---: | ---: | ---: | ---: | ---: | --- |\n"
                               "| 17.2 GB | 62.6 ms | "));
  EXPECT_THAT(text, HasSubstr(" | 479.9 | as expected |\n| 1.05 MB | 60.1 us | "));
  EXPECT_THAT(text, HasSubstr(" | 30.53 | slow |\n"));
  EXPECT_THAT(text,
              HasSubstr("\n## Likely reasons\n\n- NVLink SHARP is off or some NVLink is down. "
                        "Check: NCCL_NVLS_ENABLE, nvidia-smi nvlink -s, the fabric manager."));
  // Sixteen ranks need the network, and would take longer.
  const std::string wide = log({"--ranks", "16"}).out;
  EXPECT_THAT(wide, StartsWith("all_reduce over 16 ranks: measured against expected\n===="));
  EXPECT_THAT(wide, HasSubstr("479.9  fast\n"));
  EXPECT_THAT(wide, Not(HasSubstr("Likely reasons")));
}

TEST_F(FabricLog, the_machine_is_the_one_that_was_described) {
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

TEST_F(FabricLog, all_that_is_wrong_is_said_at_once) {
  EXPECT_EQ(log({"--rate", "x", "--gpu", "y", "--ranks", "1", "--gpus-per-node", "0"}).err,
            "error: no accelerator y [fabric.usage]\n    fix: see orrery catalog accelerators\n"
            "error: not a rate: x [fabric.usage]\n    fix: 400 Gb/s\n"
            "error: the log does not tell the ranks [fabric.usage]\n    fix: give --ranks\n"
            "error: --gpus-per-node [fabric.usage]\n    fix: 8\n");
  EXPECT_EQ(log({"--gpus-per-node", "1025"}).err,
            "error: --gpus-per-node [fabric.usage]\n    fix: 8\n");
  EXPECT_EQ(spoken({"fabric", "log", folder.at("none")}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
