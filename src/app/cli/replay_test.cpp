#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using ReplayCommand = VerbTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReplayVerb : public testing::Test {
 protected:
  VerbAnswer play(const std::string& trace, const std::vector<std::string>& more,
                  const std::string& design = {}) const {
    folder.write("t.csv", trace);
    std::vector<std::string> words = {"simulate", "--replay", folder.at("t.csv")};
    if (!design.empty()) {
      folder.write("d.yaml", design);
      words.insert(words.begin() + 1, folder.at("d.yaml"));
    }
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  Json played(const std::string& trace, std::vector<std::string> more) const {
    more.insert(more.end(), {"--format", "json"});
    const VerbAnswer a = play(trace, more);
    EXPECT_EQ(a.code, ExitCode::good) << a.err;
    return Json::parse(a.out, nullptr, false);
  }
  void expect_refused_replay(const std::vector<std::string>& more) const {
    const VerbAnswer a = play("submit,run,gpus\n0,100,16\n0,100,8\n", more);
    EXPECT_EQ(a.code, ExitCode::bad_input) << more.back();
    EXPECT_EQ(codes_in(a.err), "usage.replay") << more.back();
  }

  agent::TestFolder folder;
};

// They start at 0, 1000, 1100 and 1200 s and so wait 0, 999, 1098 and 1197 s: 3294 s, of which a
// quarter is 823.5 s.
constexpr const char* kQueue = "submit,run,gpus\n0,1000,4\n1,100,4\n2,100,4\n3,70,2\n";

TEST_F(ReplayVerb, json_has_all_waits) {
  const Json all = played(kQueue, {"--gpus", "4", "--policy", "fifo", "--why", "50 s"});
  EXPECT_EQ(all["schema_version"], 1);
  EXPECT_EQ(all["trace"], folder.at("t.csv"));
  EXPECT_EQ(all["format"], "csv");
  EXPECT_EQ(all["left_out"], 0);
  EXPECT_EQ(all["nodes"], 1);
  EXPECT_EQ(all["seed"], 1);
  const Json& p = all["policies"][0];
  EXPECT_EQ(p["policy"], "fifo");
  EXPECT_EQ(p["rejected"], 0);
  EXPECT_EQ(p["span_s"], 1270);
  EXPECT_EQ(p["wait"]["mean_s"], 823.5);
  EXPECT_EQ(p["wait"]["median_s"], (999 + 1098) / 2.0);
  EXPECT_EQ(p["wait"]["max_s"], 1197);
  // Between the third and the fourth of four values, at 0.9 x 3 and 0.99 x 3.
  EXPECT_NEAR(p["wait"]["p90_s"].get<double>(), 1098 + 0.7 * 99, 1e-9);
  EXPECT_NEAR(p["wait"]["p99_s"].get<double>(), 1098 + 0.97 * 99, 1e-9);
  // (1 + 1099/100 + 1198/100 + 1267/70) / 4.
  EXPECT_NEAR(p["slowdown"].get<double>(), (1 + 10.99 + 11.98 + 1267 / 70.0) / 4, 1e-9);
  EXPECT_EQ(p["node_failures"], 0);
  EXPECT_EQ(p["stops"], 0);
  EXPECT_EQ(p["gpu_seconds"], Json::parse(R"({"productive":4940,"lost":0,"idle":140,"down":0})"));
  ASSERT_EQ(p["waiting"].size(), 3U);
  EXPECT_EQ(p["waiting"][2]["job"], 3);
  EXPECT_EQ(p["waiting"][2]["reason"], "resources");
  EXPECT_FALSE(p["waiting"][2]["text"].empty());
  EXPECT_FALSE(played(kQueue, {"--gpus", "4"})["policies"][0].contains("waiting"));
}

TEST_F(ReplayVerb, policies_are_reported_in_order) {
  const Json all = played(kQueue, {"--gpus", "4", "--policy", "slurm", "--policy", "fifo"});
  ASSERT_EQ(all["policies"].size(), 2U);
  EXPECT_EQ(all["policies"][0]["policy"], "slurm");
  EXPECT_EQ(all["policies"][1]["policy"], "fifo");
  EXPECT_EQ(played(kQueue, {"--gpus", "4"})["policies"][0]["policy"], "easy");
  // A policy that reserves nodes needs nodes with names.
  EXPECT_EQ(played(kQueue, {"--gpus", "4", "--policy", "easy-sticky"})["nodes"], 4);
}

// By default a leaf has 32 nodes: of 34 nodes, a job of two takes the small leaf, whose nodes fail
// at other times.
TEST_F(ReplayVerb, a_switch_has_32_nodes_by_default) {
  const std::string jobs = "submit,run,gpus\n0,5000,2\n0,6000,2\n100,7000,3\n";
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--nodes",     "34",    "--gpus-per-node", "1",
                                      "--placement", "tree",  "--mtbf",          "2 h",
                                      "--repair",    "10 min"};
    words.insert(words.end(), more.begin(), more.end());
    return played(jobs, words)["policies"].dump();
  };
  EXPECT_EQ(with({}), with({"--nodes-per-leaf", "32"}));
  EXPECT_NE(with({}), with({"--nodes-per-leaf", "34"}));
}

TEST_F(ReplayVerb, node_failures_have_their_cost) {
  const std::vector<std::string> often = {"--nodes", "2",      "--gpus-per-node", "4",
                                          "--mtbf",  "10 min", "--repair",        "1 min",
                                          "--seed",  "1"};
  const VerbAnswer a = play("submit,run,gpus\n0,3000,4\n", often);
  const Json from_scratch = played("submit,run,gpus\n0,3000,4\n", often);
  const Json& p = from_scratch["policies"][0];
  EXPECT_GT(p["node_failures"].get<int>(), p["stops"].get<int>());
  EXPECT_GT(p["stops"].get<int>(), 0);
  EXPECT_GT(p["gpu_seconds"]["down"].get<double>(), 0);
  std::vector<std::string> saved = often;
  saved.insert(saved.end(), {"--checkpoint", "1 min"});
  const Json with_saves = played("submit,run,gpus\n0,3000,4\n", saved);
  EXPECT_LT(with_saves["policies"][0]["gpu_seconds"]["lost"].get<double>(),
            p["gpu_seconds"]["lost"].get<double>());
  std::vector<std::string> slow = often;
  slow.insert(slow.end(), {"--requeue", "30 min"});
  EXPECT_GT(played("submit,run,gpus\n0,3000,4\n", slow)["policies"][0]["span_s"].get<double>(),
            p["span_s"].get<double>());
}

constexpr const char* kReplayDesign = R"(
orrery: 1
name: two
site: { region: usa }
fleet: [{ name: train, node: dgx-h100, count: 2 }]
scheduler: { kind: slurm, backfill: conservative }
)";

TEST_F(ReplayVerb, a_design_gives_fleet_and_scheduler) {
  const VerbAnswer own = play(kQueue, {}, kReplayDesign);
  EXPECT_EQ(own.code, ExitCode::good) << own.err;
  EXPECT_THAT(own.out, AllOf(HasSubstr("2 nodes, 16 GPUs"), HasSubstr("\nconservative: ")));
  EXPECT_THAT(play(kQueue, {"--policy", "fifo"}, kReplayDesign).out,
              AllOf(HasSubstr("\nfifo: "), Not(HasSubstr("conservative"))));
}

// One job every 80 s that runs 100 s on the whole pool: each waits 20 s longer than the last, and 5
// s to start.
std::string growing_queue() {
  std::string text = "submit,run,gpus,wait\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(80 * i) + ",100,4," + std::to_string(20 * i + 5) + '\n';
  }
  return text;
}

TEST_F(ReplayVerb, a_rewind_has_its_error_and_alternatives) {
  const std::string trace = growing_queue();
  const Json r = played(trace, {"--gpus", "4", "--policy", "fifo", "--rewind", "--more", "4"});
  EXPECT_EQ(r["schema_version"], 1);
  EXPECT_EQ(r["policy"], "fifo");
  EXPECT_EQ(r["fleet_share"], 1);
  EXPECT_EQ(r["start_delay_s"], 5);
  // 20 x 9.5 + 5 and 20 x 29.5 + 5; with twice the GPUs no job waits for another.
  EXPECT_EQ(r["first_half"], Json::parse(R"({"jobs":20,"recorded_wait_s":195,
                                             "simulated_wait_s":195,"error":0})"));
  EXPECT_EQ(r["second_half"], Json::parse(R"({"jobs":20,"recorded_wait_s":595,
                                              "simulated_wait_s":595,"error":0})"));
  EXPECT_EQ(r["what_if"], Json::parse(R"([
      {"name":"fifo","mean_wait_s":595,"low":595,"high":595},
      {"name":"fifo, 4 GPUs more","mean_wait_s":5,"low":5,"high":5}])"));
  EXPECT_EQ(play(kQueue, {"--gpus", "4", "--rewind"}).code, ExitCode::bad_input) << "no waits";
}

TEST_F(ReplayVerb, sizes_have_bounds) {
  expect_refused_replay({"--gpus", "10000001"});
  expect_refused_replay({"--nodes", "200001"});
  expect_refused_replay({"--nodes", "-1"});
  expect_refused_replay({"--gpus", "24", "--from", "2"});
  expect_refused_replay({"--gpus", "24", "--from", "-1"});
  expect_refused_replay({"--gpus", "24", "--rewind", "--more", "200001"});
  const std::string one = "submit,run,gpus\n0,100,8\n";
  EXPECT_EQ(play(one, {"--gpus", "10000000"}).code, ExitCode::good);
  EXPECT_EQ(play(one, {"--nodes", "1", "--gpus-per-node", "64"}).code, ExitCode::good);
  EXPECT_EQ(play(one, {"--gpus", "8", "--from", "0", "--mtbf", "0 s"}).code, ExitCode::good);
}

TEST_F(ReplayVerb, rows_without_gpus_are_counted) {
  const VerbAnswer a = play("submit,run,gpus,limit\n0,100,4,200\n5,100,0,200\n", {"--gpus", "4"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, HasSubstr("1 rows"));
}

TEST_F(ReplayVerb, pods_are_placed_up_to_the_load) {
  folder.write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,64000,64000,8,T4\n");
  const std::string pods =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1000,1000,1,500,\n";
  const std::vector<std::string> on = {"--pod-nodes", folder.at("nodes.csv")};
  // 1.3 x 8 GPUs in halves: 20 of 20.8 pods, of which 16 fit.
  const VerbAnswer both = play(pods, on);
  EXPECT_EQ(both.code, ExitCode::good) << both.err;
  const Json quarter =
      played(pods, {"--pod-nodes", folder.at("nodes.csv"), "--policy", "fgd", "--load", "0.25"});
  EXPECT_EQ(quarter["load"], 0.25);
  EXPECT_EQ(quarter["nodes"], 1);
  EXPECT_EQ(quarter["policies"], Json::parse(R"([{"policy":"fgd","pods":4,"placed":4,
      "turned_away":0,"allocated":0.25,"fragmented":0}])"));
  EXPECT_EQ(play(pods, {"--pod-nodes", folder.at("nodes.csv"), "--load", "10"}).code,
            ExitCode::good);
}

TEST_F(ReplayCommand, a_replay_needs_a_fleet_and_valid_times) {
  const std::string jobs = put("jobs.csv", kJobs);
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "--replay", jobs};
    words.insert(words.end(), more.begin(), more.end());
    expect_code(words, "usage.replay");
  };
  refused({});
  refused({"--gpus", "4", "--nodes", "1"});
  refused({"--gpus", "-1"});
  refused({"--nodes", "1", "--gpus-per-node", "65"});
  refused({"--nodes", "1", "--gpus-per-node", "0"});
  refused({"--nodes", "1", "--placement", "nowhere"});
  refused({"--gpus", "4", "--policy", "nosuch"});
  refused({"--gpus", "4", "--mtbf", "-1 d"});
  refused({"--gpus", "4", "--repair", "4"});
  refused({"--gpus", "4", "--from", "4"});
  refused({"--gpus", "4", "--take", "-1"});
  refused({"--gpus", "4", "--trace-format", "nosuch"});
  refused({"--gpus", "4", "--rewind", "--more", "-1"});
  expect_code({"simulate",
               put("cpu.yaml",
                   "orrery: 1\nname: x\nsite: { region: usa }\nfleet:\n"
                   "  - { name: a, node: dgx-h100, count: 1, partition: kubernetes }\n"
                   "scheduler: { kind: kubernetes }\n"),
               "--replay", jobs},
              "replay.fleet");
}

TEST_F(ReplayCommand, a_replay_takes_the_selected_jobs) {
  const std::string jobs = put("jobs.csv", kJobs);
  const auto played = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "--replay", jobs,       "--gpus", "4",
                                      "--policy", "fifo",     "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer a = say(words);
    EXPECT_EQ(a.code, ExitCode::good) << a.err;
    return Json::parse(a.out);
  };
  const Json all = played({});
  EXPECT_EQ(all["jobs"], 4);
  EXPECT_EQ(all["gpus"], 4);
  const Json& p = all["policies"][0];
  EXPECT_EQ(p["finished"], 4);
  EXPECT_NEAR(p["wait"]["max_s"].get<double>(), 990, 1) << "110 until 1,100";
  EXPECT_NEAR(p["wait"]["mean_s"].get<double>(), 990 / 4.0, 1);
  // 4,000 + 400 + 200 + 50 GPU-seconds.
  EXPECT_NEAR(p["gpu_seconds"]["productive"].get<double>(), 4650, 1);
  const Json one = played({"--from", "1", "--take", "1"});
  EXPECT_EQ(one["jobs"], 1);
  EXPECT_NEAR(one["policies"][0]["span_s"].get<double>(), 100, 1);
  EXPECT_EQ(played({"--take", "3"})["jobs"], 3);
  EXPECT_EQ(played({"--take", "99"})["jobs"], 4);
}

TEST_F(ReplayCommand, pods_need_nodes_and_a_load) {
  const std::string pods =
      put("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1000,1000,1,500,\n");
  const std::string nodes =
      put("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,64000,64000,8,T4\n");
  const std::vector<std::string> replay = {"simulate", "--replay", pods};
  expect_code({"simulate", "--replay", pods}, "usage.replay");
  expect_code({"simulate", "--replay", pods, "--pod-nodes", nodes, "--load", "0"}, "usage.replay");
  expect_code({"simulate", "--replay", pods, "--pod-nodes", nodes, "--load", "10.1"},
              "usage.replay");
  const VerbAnswer a = say({"simulate", "--replay", pods, "--pod-nodes", nodes, "--load", "0.5"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("50.00 %"));
}

}  // namespace
}  // namespace orrery::cli
