// The output of sinfo and squeue as nodes and jobs, and the metrics made from it.
#include "live/agent/exporter_slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/text.h"
#include "live/agent/slurm_fixture.h"

namespace orrery::agent::exporter_slurm_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNow = 1794722400;  // 2026-11-15T06:00:00 UTC

SlurmLook look_of(const std::string& sinfo, const std::string& squeue) {
  SlurmLook look;
  look.nodes = parse_sinfo(sinfo, look.faults);
  look.jobs = parse_squeue(squeue, look.faults);
  EXPECT_THAT(look.faults, IsEmpty());
  return look;
}

// The values on the page by series, without "orrery_measured_".
std::map<std::string, std::string> series_of(const SlurmLook& look, double now = kNow) {
  std::map<std::string, std::string> out;
  const std::string page = exposition(slurm_metrics(look, Seconds(now)).value());
  for (const std::string_view line : split(page, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto blank = line.rfind(' ');
    const std::size_t prefix = std::string_view("orrery_measured_").size();
    out.emplace(line.substr(prefix, blank - prefix), line.substr(blank + 1));
  }
  return out;
}

TEST(ExporterSlurm, gpus_are_counted_in_every_notation) {
  for (const auto& [text, count] :
       std::vector<std::pair<const char*, int>>{{"gpu:h100:8(S:0-1)", 8},
                                                {"gpu:h100:8(S:0-1),shard:4", 8},
                                                {"gpu:h100:5(IDX:0-2,4,6)", 5},
                                                {"gpu:h100:4(IDX:0,2-3),gpu:1", 5},
                                                {"gres:gpu:4", 4},
                                                {"gres:gpu:2,gpu:a100:3", 5},
                                                {"gpu", 1},
                                                {"gpu,gres:gpu,gpu:a100", 3},
                                                {"gpu:a:2,gpu:b:3,shard:40", 5},
                                                {"", 0},
                                                {"(null)", 0},
                                                {"N/A", 0},
                                                {"gres/gpu:4", 0},
                                                {"gres:gpu:-3", 0},
                                                {"gpu:2000000", 1'000'000},
                                                {"gpu:999999999999999999999", 1},
                                                {"gpu:2(a(b),gpu:9),gpu:3", 5},
                                                {"gpu:h100:8(((,", 8}}) {
    EXPECT_EQ(gpus_in(text), count) << text;
  }
}

TEST(ExporterSlurm, node_is_read_field_by_field) {
  Diagnostics faults;
  const auto nodes = parse_sinfo(
      " n1 ; p ; mixed ; gpu:h100:8(S:0-1),shard:4 ; gpu:h100:3(IDX:0,2-3) ; x ;", faults);
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_EQ(nodes[0].name, "n1");
  EXPECT_EQ(nodes[0].partition, "p");
  EXPECT_EQ(nodes[0].state, "mixed");
  EXPECT_EQ(nodes[0].gpus, 8);
  EXPECT_EQ(nodes[0].gpus_used, 3);
  EXPECT_EQ(nodes[0].gpus_free(), 5);
}

TEST(ExporterSlurm, job_is_read_field_by_field) {
  Diagnostics faults;
  const auto jobs = parse_squeue(
      "7;p,q;PENDING;10000000;N/A;gres:gpu:9;-3;2026-11-15T05:00:00;N/A;Resources;\n"
      "8;p;RUNNING;10000001;N/A;N/A;1;N/A;N/A;None;\n",
      faults);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(faults, SizeIs(1)) << "more than 10,000,000 nodes";
  EXPECT_EQ(faults.front().code, "slurm.output");
  EXPECT_EQ(faults.front().place.file, "squeue");
  EXPECT_EQ(jobs[0].partition, "p");
  EXPECT_EQ(jobs[0].nodes, 10'000'000);
  EXPECT_EQ(jobs[0].priority, -3);
  EXPECT_EQ(jobs[0].submitted.base(), kNow - 3600);
  EXPECT_EQ(jobs[0].reason, "Resources");
}

TEST(ExporterSlurm, completing_and_suspended_jobs_neither_wait_nor_run) {
  Diagnostics faults;
  const auto jobs = parse_squeue(
      "1;p;COMPLETING;1;N/A;N/A;1;N/A;N/A;None;\n2;p;SUSPENDED;1;N/A;N/A;1;N/A;N/A;None;\n"
      "3;p;RUNNING;1;N/A;N/A;1;N/A;N/A;None;\n4;p;PENDING;1;N/A;N/A;1;N/A;N/A;None;\n",
      faults);
  ASSERT_THAT(jobs, SizeIs(4));
  EXPECT_FALSE(jobs[0].running || jobs[0].pending);
  EXPECT_FALSE(jobs[1].running || jobs[1].pending);
  EXPECT_TRUE(jobs[2].running && !jobs[2].pending);
  EXPECT_TRUE(jobs[3].pending && !jobs[3].running);
}

std::string state_of(const std::string& state, const std::string& reason = "none") {
  Diagnostics faults;
  const auto nodes = parse_sinfo("n;p;" + state + ";gpu:8;gpu:3;" + reason + ";\n", faults);
  return nodes.empty() ? "none" : nodes.front().state;
}

TEST(ExporterSlurm, every_state_of_a_node_counts_as_one_of_seven) {
  for (const auto& [said, counts] :
       std::vector<std::pair<std::string, std::string>>{{"idle", "idle"},
                                                        {"IDLE", "idle"},
                                                        {"mixed", "mixed"},
                                                        {"allocated", "allocated"},
                                                        {"completing", "allocated"},
                                                        {"down", "down"},
                                                        {"down*+drain", "down"},
                                                        {"drained", "drained"},
                                                        {"mixed+drain", "drained"},
                                                        {"fail", "drained"},
                                                        {"failing", "drained"},
                                                        {"maint", "drained"},
                                                        {"idle+not_responding", "other"},
                                                        {"idle+reboot", "other"},
                                                        {"idle+power", "other"},
                                                        {"down+powered_down", "other"},
                                                        {"unknown", "other"},
                                                        {"future", "other"}}) {
    EXPECT_EQ(state_of(said), counts) << said;
  }
  EXPECT_EQ(state_of("idle+drain", "spare of rack 3"), "spare");
  EXPECT_EQ(state_of("idle+drain", "a spare"), "drained") << "not at the start of the reason";
  EXPECT_EQ(state_of("idle", "spare"), "idle");
}

// A node may be allocated by its cores only. If more GPUs are used than exist, none are free.
TEST(ExporterSlurm, gpus_are_free_only_on_usable_nodes) {
  for (const char* state : {"idle", "mixed", "allocated"}) {
    EXPECT_EQ((SlurmNode{.state = state, .gpus = 8, .gpus_used = 3}.gpus_free()), 5) << state;
    EXPECT_EQ((SlurmNode{.state = state, .gpus = 8, .gpus_used = 9}.gpus_free()), 0) << state;
  }
  for (const char* state : {"drained", "spare", "down", "other"}) {
    EXPECT_EQ((SlurmNode{.state = state, .gpus = 8, .gpus_used = 3}.gpus_free()), 0) << state;
  }
}

TEST(ExporterSlurm, held_dependent_and_delayed_jobs_do_not_wait_for_a_place) {
  const auto waits = [](const std::string& state, const std::string& reason) {
    Diagnostics faults;
    const auto jobs =
        parse_squeue("1;p;" + state + ";1;N/A;N/A;1;N/A;N/A;" + reason + ";\n", faults);
    return !jobs.empty() && jobs.front().waits_for_place();
  };
  for (const char* own : {"JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied",
                          "BeginTime", "JobHoldMaxRequeue"}) {
    EXPECT_FALSE(waits("PENDING", own)) << own;
  }
  EXPECT_TRUE(waits("PENDING", "Resources") && waits("PENDING", "Priority"));
  EXPECT_FALSE(waits("RUNNING", "Resources"));
}

TEST(ExporterSlurm, incomplete_line_is_a_fault_and_left_out) {
  Diagnostics faults;
  EXPECT_THAT(parse_sinfo("n;p;idle;gpu:8;gpu:0;none\n", faults), SizeIs(1));
  EXPECT_THAT(parse_squeue("1;p;RUNNING;1;N/A;N/A;1;N/A;N/A;None\n", faults), SizeIs(1));
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_THAT(parse_sinfo("n;p;idle;gpu:8;gpu:0\n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(1));
  EXPECT_THAT(parse_squeue("1;p;RUNNING;1;N/A;N/A;1;N/A;N/A\n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(2));
  EXPECT_THAT(parse_sinfo("n;p;;gpu:8;gpu:0;none;\n", faults), IsEmpty())
      << "the line has no state";
  EXPECT_THAT(parse_sinfo(";p;idle;gpu:8;gpu:0;none;\n", faults), IsEmpty())
      << "the line has no name";
  EXPECT_THAT(parse_squeue(";p;RUNNING;1;N/A;N/A;1;N/A;N/A;None;\n", faults), IsEmpty());
  EXPECT_THAT(parse_squeue("1;p;RUNNING;many;N/A;N/A;1;N/A;N/A;None;\n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(6));
  EXPECT_THAT(parse_sinfo("\n   \n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(6)) << "an empty line is not a fault";
}

TEST(ExporterSlurm, odd_lines_are_counted_and_the_rest_is_read) {
  Diagnostics faults;
  EXPECT_THAT(
      parse_sinfo("n1;p;idle;gpu:8;gpu:0;a reason\nwith a break;\nslurm_load: error\n;;;;;;\n",
                  faults),
      SizeIs(1));
  EXPECT_THAT(faults, SizeIs(3));
  faults.clear();
  EXPECT_THAT(parse_squeue("1;p;RUNNING;many;N/A;N/A;1;N/A;N/A;None;\n"
                           "2;p;RUNNING;-4;N/A;N/A;1;N/A;N/A;None;\n"
                           "3;p;RUNNING\n"
                           "4;p;PENDING;1;N/A;N/A;x;soon;N/A;Resources;\n",
                           faults),
              SizeIs(1));
  EXPECT_THAT(faults, SizeIs(3));
  EXPECT_THAT(parse_sinfo(std::string(100'000, ';') + "\n\xff\xfe\n", faults), IsEmpty());
}

TEST(ExporterSlurm, gpus_of_a_job_are_divided_by_its_nodes_and_rounded_up) {
  const auto per_node = [](const std::string& nodes, const std::string& each,
                           const std::string& all) {
    Diagnostics faults;
    const auto jobs = parse_squeue(
        "1;p;PENDING;" + nodes + ";" + each + ";" + all + ";1;N/A;N/A;Resources;\n", faults);
    return jobs.size() == 1 ? jobs.front().gpus_per_node : -1;
  };
  EXPECT_EQ(per_node("5", "N/A", "gres:gpu:12"), 3);
  EXPECT_EQ(per_node("5", "N/A", "gres:gpu:15"), 3);
  EXPECT_EQ(per_node("5", "N/A", "gres:gpu:16"), 4);
  EXPECT_EQ(per_node("5", "gres:gpu:2", "gres:gpu:16"), 2) << "GPUs per node take precedence";
  EXPECT_EQ(per_node("0", "N/A", "gres:gpu:4"), 4) << "no nodes yet counts as one";
  EXPECT_EQ(per_node("5", "N/A", "N/A"), 0);
  EXPECT_EQ(per_node("-1", "N/A", "N/A"), -1);
}

TEST(ExporterSlurm, nodes_gpus_queue_heads_and_waits_of_a_cluster_are_counted) {
  const SlurmLook look = look_of(
      "a;p;idle;gpu:8;gpu:0;x;\na;q;idle;gpu:8;gpu:0;x;\nb;p;mixed;gpu:8;gpu:3;x;\n"
      "c;q;idle+drain;gpu:4;gpu:0;x;\n",
      "1;p;RUNNING;1;gres:gpu:3;N/A;9;2026-11-15T05:00:00;2026-11-15T05:20:00;None;\n"
      "2;p;PENDING;0;gres:gpu:2;N/A;7;2026-11-15T05:59:00;N/A;Resources;\n"
      "3;p;PENDING;1;gres:gpu:6;N/A;7;2026-11-15T05:58:00;N/A;QOSLimit;\n"
      "4;p;RUNNING;1;N/A;N/A;9;2026-11-13T05:00:00;2026-11-14T06:00:00;None;\n"
      "5;p;RUNNING;1;N/A;N/A;9;N/A;2026-11-15T05:00:00;None;\n");
  const auto series = series_of(look);
  const std::map<std::string, std::string> wanted = {
      {"nodes{state=\"idle\"}", "1"},
      {"nodes{state=\"mixed\"}", "1"},
      {"nodes{state=\"drained\"}", "1"},
      {"nodes{state=\"allocated\"}", "0"},
      {"nodes{state=\"spare\"}", "0"},
      {"nodes{state=\"down\"}", "0"},
      {"nodes{state=\"other\"}", "0"},
      {"cluster_gpus{use=\"total\"}", "20"},
      {"cluster_gpus{use=\"allocated\"}", "3"},
      {"cluster_gpus{use=\"free\"}", "13"},
      {"gpus{partition=\"p\",use=\"total\"}", "16"},
      {"gpus{partition=\"p\",use=\"allocated\"}", "3"},
      {"gpus{partition=\"p\",use=\"free\"}", "13"},
      {"gpus{partition=\"q\",use=\"total\"}", "12"},
      {"gpus{partition=\"q\",use=\"free\"}", "8"},
      {"jobs{partition=\"p\",reason=\"\",state=\"running\"}", "3"},
      {"jobs{partition=\"p\",reason=\"Resources\",state=\"pending\"}", "1"},
      {"jobs{partition=\"p\",reason=\"Priority\",state=\"pending\"}", "0"},
      {"jobs{partition=\"p\",reason=\"QOSLimit\",state=\"pending\"}", "1"},
      {"queue_head_nodes{partition=\"p\"}", "1"},
      {"queue_head_gpus{partition=\"p\"}", "6"},
      {"queue_head_fitting_nodes{partition=\"p\"}", "1"},
      {"queue_head_nodes{partition=\"q\"}", "0"},
      {"queue_head_gpus{partition=\"q\"}", "0"},
      {"queue_head_fitting_nodes{partition=\"q\"}", "0"},
      // Waits: 1,200 s before the start, 60 and 120 s so far. A job that began a day ago and one
      // without a date do not count.
      {"queue_wait_seconds{partition=\"p\",quantile=\"0.5\"}", "120"},
      {"queue_wait_seconds{partition=\"p\",quantile=\"0.9\"}", "984"}};
  for (const auto& [name, value] : wanted) {
    const auto at = series.find(name);
    ASSERT_NE(at, series.end()) << name;
    EXPECT_EQ(at->second, value) << name;
  }
}

TEST(ExporterSlurm, head_of_a_queue_has_the_highest_priority_and_is_the_oldest) {
  const SlurmLook look = look_of(
      "a;p;idle;gpu:8;gpu:0;x;\nb;p;mixed;gpu:8;gpu:4;x;\nc;p;completing;gpu:8;gpu:8;x;\n"
      "d;p;down+powered_down;gpu:8;gpu:0;x;\ne;q;idle;gpu:8;gpu:0;x;\n",
      "1;p;PENDING;3;N/A;gres:gpu:10;50;2026-11-15T05:50:00;N/A;Priority;\n"
      "2;p;PENDING;2;N/A;gres:gpu:8;50;2026-11-15T05:40:00;N/A;Resources;\n"
      "3;p;PENDING;9;N/A;gres:gpu:9;99;2026-11-15T05:40:00;N/A;Dependency;\n"
      "5;q;PENDING;1;N/A;N/A;50;2026-11-15T05:00:00;N/A;Resources;\n");
  auto series = series_of(look);
  EXPECT_EQ(series["queue_head_nodes{partition=\"p\"}"], "2") << "job 2 is older than job 1";
  EXPECT_EQ(series["queue_head_gpus{partition=\"p\"}"], "8") << "two nodes with four GPUs each";
  EXPECT_EQ(series["queue_head_fitting_nodes{partition=\"p\"}"], "2") << "nodes a and b";
  EXPECT_EQ(series["queue_head_fitting_nodes{partition=\"q\"}"], "1")
      << "without GPUs an idle node fits";
  SlurmLook urgent = look;
  urgent.jobs[0].priority = 51;
  EXPECT_EQ(series_of(urgent)["queue_head_nodes{partition=\"p\"}"], "3");
}

TEST(ExporterSlurm, clock_behind_the_controller_gives_no_negative_wait) {
  const SlurmLook look = look_of("a;p;idle;gpu:8;gpu:0;x;\n",
                                 "1;p;PENDING;3;N/A;N/A;50;2026-11-15T05:50:00;N/A;Priority;\n");
  for (const auto& [name, value] : series_of(look, 1794720000)) {
    EXPECT_FALSE(value.starts_with('-')) << name;
  }
}

TEST(ExporterSlurm, wait_counts_jobs_that_wait_or_started_within_a_day) {
  const double now = kNow;
  const auto wait = [now](const SlurmJob& job) {
    SlurmLook look{.nodes = {{.name = "n", .partition = "p", .state = "idle"}}, .jobs = {job}};
    return std::stod(series_of(look, now)[R"(queue_wait_seconds{partition="p",quantile="0.5"})"]);
  };
  SlurmJob job{.partition = "p", .submitted = Seconds(now - 500), .started = Seconds(now - 300)};
  EXPECT_EQ(wait(job), 0) << "it has ended";
  job.running = true;
  EXPECT_EQ(wait(job), 200);
  job.started = Seconds(now - 86400);
  job.submitted = Seconds(now - 86500);
  EXPECT_EQ(wait(job), 0) << "a day ago";
  job.started = Seconds(now - 86399);
  EXPECT_EQ(wait(job), 101);
  job.started = Seconds(0);
  EXPECT_EQ(wait(job), 0);
  job.running = false;
  job.pending = true;
  job.reason = "Resources";
  EXPECT_EQ(wait(job), 86500);
  job.reason = "Dependency";
  EXPECT_EQ(wait(job), 0) << "it waits for another job";
}

TEST(ExporterSlurm, failed_program_is_a_fault_with_what_it_printed) {
  for (const char* failing : {"sinfo", "squeue"}) {
    SlurmTables slurm{.failing = failing};
    const auto look = look_at_slurm({}, slurm.runner());
    ASSERT_FALSE(look) << failing;
    EXPECT_EQ(look.error().front().code, "slurm.failed");
    EXPECT_EQ(look.error().front().place.file, failing);
    EXPECT_EQ(look.error().front().why, "broken");
  }
  const auto look = look_at_slurm({}, [](const Command&) -> Result<CommandResult> {
    return CommandResult{.exit_code = 4, .err = "  " + std::string(500, 'e')};
  });
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().front().why, std::string(300, 'e'));
}

}  // namespace
}  // namespace orrery::agent::exporter_slurm_tests
