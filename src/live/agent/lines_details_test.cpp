// Lines that agents write and read, at their edges: journals, fences, metrics, stragglers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/agent/exporter_slurm.h"
#include "live/agent/journal_lines.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/recover.h"
#include "live/agent/slurm_parse.h"
#include "live/agent/slurm_port.h"
#include "live/agent/straggler_input.h"

namespace orrery::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LinesDetails, an_action_of_the_lifecycle_says_whence_how_large_and_why) {
  const storage::LifecycleAction copy{.kind = storage::LifecycleActionKind::copy,
                                      .item = "step-7",
                                      .place = "cold",
                                      .from = "hot",
                                      .size = bytes(12345),
                                      .why = "two copies"};
  EXPECT_EQ(line_of({.action = copy, .good = true, .said = "ok"}),
            R"({"kind":"copy","item":"step-7","place":"cold","from":"hot","size_bytes":12345.0,)"
            R"("why":"two copies","good":true,"said":"ok"})");
  EXPECT_EQ(line_of({.action = {.kind = storage::LifecycleActionKind::alert, .item = "i"},
                     .good = false,
                     .said = ""}),
            R"({"kind":"alert","item":"i","why":"","good":false})");
}

TEST(LinesDetails, lines_that_are_no_objects_are_no_events) {
  for (const char* line : {"[]", "7", "\"verified\"", "{}"}) {
    const auto memory = recall_lifecycle(lifecycle_header() + "\n" + line + "\n", "j");
    ASSERT_FALSE(memory) << line;
    EXPECT_EQ(memory.error().front().place.line, 2);
    EXPECT_EQ(memory.error().front().what, "this line is no event");
  }
}

TEST(LinesDetails, an_action_of_recovery_is_written_whole) {
  const failure::RecoveryAction action{.kind = failure::ActionKind::drain_node,
                                       .job = "17",
                                       .nodes = {"n1", "n2"},
                                       .why = "slow",
                                       .key = "drain/n1"};
  EXPECT_EQ(line_of(action),
            fmt::format(R"({{"kind":"act","action":"{}","job":"17","nodes":["n1","n2"],)"
                        R"("why":"slow","key":"drain/n1"}})",
                        to_text(failure::ActionKind::drain_node)));
}

TEST(LinesDetails, words_that_are_none_are_faults_with_their_number) {
  const auto why = [](const std::string& line) {
    const auto ticks = replay(line + "\n", "j");
    EXPECT_FALSE(ticks) << line;
    return ticks ? std::string() : ticks.error().front().why;
  };
  EXPECT_THAT(why(R"({"kind":"seen","at_s":1,"nodes":[{"name":"n","fence":"wooden"}]})"),
              HasSubstr("501] no such fence"));
  EXPECT_THAT(why(R"({"kind":"seen","at_s":1,"jobs":[{"id":"7","phase":"new"}]})"),
              HasSubstr("501] no such phase"));
  EXPECT_THAT(why(R"({"kind":"surprise","at_s":1})"), HasSubstr("501] no look before it"));
  EXPECT_THAT(recall("{\"kind\":\"surprise\",\"at_s\":1}\n", "j", {}).error().front().why,
              HasSubstr("501] no such kind: surprise"));
}

// What a line does not say is not so.
TEST(LinesDetails, a_bare_line_has_nothing_set) {
  const auto ticks = replay(
      "{\"kind\":\"seen\",\"at_s\":5,\"nodes\":[{\"name\":\"n\"}],\"jobs\":[{\"id\":\"7\","
      "\"phase\":\"running\"}]}\n{\"kind\":\"tried\",\"at_s\":6}\n",
      "j");
  ASSERT_TRUE(ticks) << to_text(ticks.error());
  ASSERT_EQ(ticks->size(), 1U);
  const failure::NodeView node{.name = "n"};
  EXPECT_EQ(ticks->front().view.nodes.at(0), node);
  EXPECT_FALSE(node.down || node.silent || node.drained || node.broken || node.spare);
  const failure::JobView& job = ticks->front().view.jobs.at(0);
  EXPECT_EQ(job.restarts, 0);
  EXPECT_TRUE(job.requeueable);
  EXPECT_FALSE(job.held || job.launch_failed || job.waits_for_time);
  EXPECT_EQ(job.eligible, Seconds());
  EXPECT_EQ(job.ended, Seconds());
  const failure::RecoveryEvent& tried = ticks->front().tried.at(0);
  EXPECT_EQ(tried.weight, 0);
  EXPECT_EQ(tried.restarts, 0);
  EXPECT_EQ(tried.lasted, Seconds());
  EXPECT_FALSE(tried.good);
}

TEST(LinesDetails, a_journal_begins_with_its_version) {
  EXPECT_EQ(recovery_journal("j", {}).header,
            R"({"kind":"journal","of":"orrery agent recover","version":1})");
  EXPECT_EQ(lifecycle_header(), R"({"kind":"lifecycle","version":1})");
}

struct EndsWhenTold final : RunningCommand {
  explicit EndsWhenTold(std::optional<CommandResult>* told) : result(told) {}
  std::optional<CommandResult> poll() override { return *result; }
  std::optional<CommandResult>* result;
};

TEST(LinesDetails, a_fence_is_forgotten_when_its_node_is_well_and_it_has_ended) {
  std::string nodes = "n1;down;x;\n";
  const CommandRunner runner = [&](const Command& c) -> Result<CommandResult> {
    return CommandResult{.out = c.words[0] == "sinfo" ? nodes : ""};
  };
  std::optional<CommandResult> result;
  SlurmPort port({.fence = "fence"}, runner,
                 [&](const Command&) -> Result<std::unique_ptr<RunningCommand>> {
                   return std::make_unique<EndsWhenTold>(&result);
                 });
  const auto state = [&] { return port.look()->nodes.at(0).fence; };
  ASSERT_TRUE(port.act({.kind = failure::ActionKind::fence_node, .nodes = {"n1"}}));
  nodes = "n1;idle;x;\n";
  EXPECT_EQ(state(), failure::FenceState::under_way);
  EXPECT_EQ(state(), failure::FenceState::under_way) << "its program still runs";
  nodes = "n1;idle*;x;\n";
  result = CommandResult{};
  EXPECT_EQ(state(), failure::FenceState::off);
  EXPECT_EQ(state(), failure::FenceState::off) << "a silent node is not well";
  nodes = "n1;idle;x;\n";
  EXPECT_EQ(state(), failure::FenceState::off);
  EXPECT_EQ(state(), failure::FenceState::none);
}

TEST(LinesDetails, a_look_needs_every_program_to_answer) {
  for (const std::string failing : {"squeue", "sinfo", "scontrol"}) {
    const CommandRunner runner = [&](const Command& c) -> Result<CommandResult> {
      if (c.words[0] == failing) return CommandResult{.exit_code = 1, .err = "broken"};
      return CommandResult{.out = c.words[0] == "sinfo" ? "n1;idle;x;\n" : ""};
    };
    SlurmPort port({}, runner);
    const auto look = port.look();
    ASSERT_FALSE(look) << failing;
    EXPECT_EQ(look.error().front().place.file, failing);
  }
}

TEST(LinesDetails, a_line_that_cannot_be_read_is_quoted_up_to_200_bytes) {
  const std::string what = "cannot read this line: ";
  const auto jobs = parse_jobs("1;" + std::string(400, 'x') + "\n");
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().front().what, what + "1;" + std::string(198, 'x'));
  Diagnostics faults;
  parse_sinfo(std::string(400, 'y') + "\n", faults);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].what, what + std::string(200, 'y'));
}

TEST(LinesDetails, what_a_program_said_is_kept_up_to_300_bytes) {
  const CommandRunner runner = [](const Command& c) -> Result<CommandResult> {
    EXPECT_EQ(c.timeout, seconds(10));
    return CommandResult{.exit_code = 4, .err = "  " + std::string(500, 'e')};
  };
  const auto look = look_at_slurm({}, runner);
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().front().why, std::string(300, 'e'));
  EXPECT_EQ(look.error().front().what, "exit code 4");
}

// A job that has ended waits for nothing, however lately it began.
TEST(LinesDetails, waits_are_of_jobs_that_wait_or_run) {
  const double now = 1794722400;
  const auto wait = [now](const SlurmJob& job) {
    SlurmLook look{.nodes = {{.name = "n", .partition = "p", .state = "idle"}}, .jobs = {job}};
    const std::string page = exposition(slurm_metrics(look, Seconds(now)).value());
    const std::string key = R"(orrery_measured_queue_wait_seconds{partition="p",quantile="0.5"} )";
    const std::size_t at = page.find(key);
    EXPECT_NE(at, std::string::npos) << page;
    return std::stod(page.substr(at + key.size()));
  };
  SlurmJob job{.partition = "p", .submitted = Seconds(now - 500), .started = Seconds(now - 300)};
  EXPECT_FALSE(job.pending);
  EXPECT_FALSE(job.running);
  EXPECT_EQ(job.nodes, 1);
  EXPECT_EQ(wait(job), 0);
  job.running = true;
  EXPECT_EQ(wait(job), 200);
  job.started = Seconds(now - 86400);
  job.submitted = Seconds(now - 86500);
  EXPECT_EQ(wait(job), 0) << "a day ago";
  job.started = Seconds(now - 86399);
  EXPECT_EQ(wait(job), 101);
  job.started = Seconds(0);
  EXPECT_EQ(wait(job), 0);
  job.running = false, job.pending = true, job.reason = "Resources";
  EXPECT_EQ(wait(job), 86500);
  job.reason = "Dependency";
  EXPECT_EQ(wait(job), 0) << "for another job";
}

TEST(LinesDetails, gpus_are_counted_as_slurm_names_them) {
  EXPECT_EQ(gpus_in("gpu"), 1);
  EXPECT_EQ(gpus_in("gpu:h100:8(S:0-1),shard:4"), 8);
  EXPECT_EQ(gpus_in("gres:gpu:2,gpu:a100:3"), 5);
  EXPECT_EQ(gpus_in("gpu:h100:4(IDX:0,2-3),gpu:1"), 5);
  EXPECT_EQ(gpus_in(""), 0);
  EXPECT_EQ(gpus_in("gpu:2000000"), 1000000);
}

TEST(LinesDetails, names_of_metrics_begin_with_any_letter) {
  const MetricFamilies known = {{.name = "az_AZ09", .samples = {}}, {.name = "Za", .samples = {}}};
  const ParsedMetrics p = parse_metrics("az_AZ09{zZ=\"1\"} 2\nZa 3\n9a 4\n", "f.prom", known);
  ASSERT_EQ(p.families.size(), 2U);
  EXPECT_EQ(p.families[0].samples.at(0).value, 2);
  EXPECT_EQ(p.families[0].samples[0].labels.at(0).first, "zZ");
  EXPECT_EQ(p.families[1].samples.at(0).value, 3);
  EXPECT_EQ(p.faults.size(), 1U);
  EXPECT_EQ(parse_metrics("Za{a=\"1\" b=\"2\"} 3\n", "f", known).faults.size(), 1U)
      << "labels have commas between them";
}

TEST(LinesDetails, steps_have_their_columns_and_twenty_faults_are_shown) {
  const auto bare = step_times_from_csv("time\n1\n", "s.csv");
  ASSERT_FALSE(bare);
  ASSERT_EQ(bare.error().size(), 3U);
  EXPECT_EQ(bare.error()[0].what, "no column `step`");
  EXPECT_EQ(bare.error()[1].what, "no column `rank`");
  EXPECT_EQ(bare.error()[2].what, "no column `seconds`");
  EXPECT_EQ(bare.error()[2].place.line, 1);
  EXPECT_EQ(bare.error()[2].place.file, "s.csv");
  std::string rows = "step,rank,seconds\n";
  for (int i = 0; i < 30; ++i) rows += "1,2,0\n";
  const auto many = step_times_from_csv(rows, "s.csv");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().size(), 20U);
  EXPECT_EQ(many.error()[0].place.line, 2);
  const auto one = step_times_from_csv("step,rank,seconds\n1,2,0.5\n", "s.csv");
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().front().what, "fewer than two ranks");
  EXPECT_EQ(one.error().front().place.line, 0);
}

TEST(LinesDetails, an_answer_nests_sixteen_deep_at_most) {
  const auto why = [](std::size_t depth) {
    const std::string text = R"({"status":"error","error":)" + std::string(depth - 1, '[') +
                             std::string(depth - 1, ']') + "}";
    return step_times_from_prometheus(text, "p.json").error().front().why;
  };
  EXPECT_THAT(why(16), Not(HasSubstr("too deep")));
  EXPECT_EQ(why(17), "it nests too deep");
  const std::string braces(50, '{');
  const auto quoted =
      step_times_from_prometheus(R"({"status":"\")" + braces + R"(","error":"e"})", "p.json");
  EXPECT_EQ(quoted.error().front().why, "its status is not success: e");
}

}  // namespace
}  // namespace orrery::agent
