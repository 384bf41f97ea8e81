// The exporter's page, series by series: what each state, reason and file counts as, how long a
// look is kept, and what is said of the sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/text.h"
#include "live/agent/exporter.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::exporter_pages_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr double kNow = 1794722400;  // 2026-11-15T06:00:00 UTC

std::map<std::string, std::string> series_of(const std::string& text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto blank = line.rfind(' ');
    out.emplace(line.substr(0, blank), line.substr(blank + 1));
  }
  return out;
}

std::string state_of(const std::string& state, const std::string& reason = "none") {
  Diagnostics faults;
  const auto nodes = parse_sinfo("n;p;" + state + ";gpu:8;gpu:3;" + reason + ";\n", faults);
  return nodes.empty() ? "none" : nodes.front().state;
}

// GPUs are free where jobs may start: also beside those of a node that counts as allocated by its
// cores. What is out has none, and more used than there are leave none.
TEST(ExporterPages, gpus_are_free_only_where_jobs_may_start) {
  for (const char* state : {"idle", "mixed", "allocated"}) {
    EXPECT_EQ((SlurmNode{.state = state, .gpus = 8, .gpus_used = 3}.gpus_free()), 5) << state;
    EXPECT_EQ((SlurmNode{.state = state, .gpus = 8, .gpus_used = 9}.gpus_free()), 0) << state;
  }
  for (const char* state : {"drained", "spare", "down", "other"}) {
    EXPECT_EQ((SlurmNode{.state = state, .gpus = 8, .gpus_used = 3}.gpus_free()), 0) << state;
  }
}

TEST(ExporterPages, every_state_of_a_node_counts_as_one) {
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
  EXPECT_EQ(state_of("idle+drain", "a spare"), "drained") << "it begins the reason";
  EXPECT_EQ(state_of("idle", "spare"), "idle");
}

TEST(ExporterPages, who_waits_of_his_own_will_waits_for_no_place) {
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

TEST(ExporterPages, a_cluster_in_numbers) {
  Diagnostics faults;
  SlurmLook look;
  look.nodes = parse_sinfo(
      "a;p;idle;gpu:8;gpu:0;x;\na;q;idle;gpu:8;gpu:0;x;\nb;p;mixed;gpu:8;gpu:3;x;\n"
      "c;q;idle+drain;gpu:4;gpu:0;x;\n",
      faults);
  look.jobs = parse_squeue(
      "1;p;RUNNING;1;gres:gpu:3;N/A;9;2026-11-15T05:00:00;2026-11-15T05:20:00;None;\n"
      "2;p;PENDING;0;gres:gpu:2;N/A;7;2026-11-15T05:59:00;N/A;Resources;\n"
      "3;p;PENDING;1;gres:gpu:6;N/A;7;2026-11-15T05:58:00;N/A;QOSLimit;\n"
      "4;p;RUNNING;1;N/A;N/A;9;2026-11-13T05:00:00;2026-11-14T06:00:00;None;\n"
      "5;p;RUNNING;1;N/A;N/A;9;N/A;2026-11-15T05:00:00;None;\n",
      faults);
  ASSERT_TRUE(faults.empty());
  const auto series =
      series_of(exposition(slurm_metrics(look, Seconds(kNow)).value_or(MetricFamilies{})));
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
      // 1,200 s (ran), 60 and 120 s so far; one that began a day ago or has no date says nothing.
      {"queue_wait_seconds{partition=\"p\",quantile=\"0.5\"}", "120"},
      {"queue_wait_seconds{partition=\"p\",quantile=\"0.9\"}", "984"}};
  for (const auto& [name, value] : wanted) {
    const auto at = series.find("orrery_measured_" + name);
    ASSERT_NE(at, series.end()) << name;
    EXPECT_EQ(at->second, value) << name;
  }
}

TEST(ExporterPages, a_line_of_squeue_is_read_field_by_field) {
  Diagnostics faults;
  const auto jobs = parse_squeue(
      "7;p,q;PENDING;10000000;N/A;gres:gpu:9;-3;2026-11-15T05:00:00;N/A;Resources;\n"
      "8;p;RUNNING;10000001;N/A;N/A;1;N/A;N/A;None;\n",
      faults);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(faults, SizeIs(1)) << "so many nodes there are not";
  EXPECT_EQ(faults.front().code, "slurm.output");
  EXPECT_EQ(faults.front().place.file, "squeue");
  EXPECT_EQ(jobs[0].partition, "p");
  EXPECT_EQ(jobs[0].nodes, 10'000'000);
  EXPECT_EQ(jobs[0].priority, -3);
  EXPECT_EQ(jobs[0].submitted.base(), kNow - 3600);
  EXPECT_EQ(jobs[0].reason, "Resources");
  EXPECT_EQ(gpus_in("gpu:2000000"), 1'000'000) << "as many as can be";
  EXPECT_EQ(gpus_in("gres:gpu:-3"), 0);
  EXPECT_EQ(gpus_in("gres/gpu:4"), 0) << "another notation";
}

// A page made from node files, one after another, at a clock that the test sets.
class PagesTest : public testing::Test {
 protected:
  ExporterSetup setup() {
    ExporterSetup made{.slurm = false, .question = {}, .node_files = folder.path(), .probes = {}};
    made.patience = seconds(30);
    made.read_file = [this](const std::string& path) -> Result<std::string> {
      const auto at = texts.find(path.substr(path.rfind('/') + 1));
      if (at == texts.end()) return fail({.code = "no.file", .what = path});
      return at->second;
    };
    made.now = [this] { return Seconds(now); };
    made.log = [this](const Diagnostics& d) { logged.push_back(d.size()); };
    return made;
  }
  void file(const std::string& name, const std::string& text) {
    folder.write(name, "");
    texts[name] = text;
  }
  TestFolder folder;
  std::map<std::string, std::string> texts;
  double now = kNow;
  std::vector<std::size_t> logged;
};

TEST_F(PagesTest, a_family_of_several_files_is_one_and_others_stay_apart) {
  file("a.prom",
       "orrery_measured_tier_latency_seconds{op=\"read\",tier=\"a\"} 1\n"
       "orrery_measured_step_time_seconds{rank=\"1\"} 2\n");
  file("b.prom",
       "orrery_measured_step_time_seconds{rank=\"2\"} 3\n"
       "orrery_measured_tier_latency_seconds{op=\"read\",tier=\"b\"} 4\n");
  Exporter exporter(setup());
  const auto series = series_of(exporter.page());
  EXPECT_EQ(series.at("orrery_measured_step_time_seconds{rank=\"1\"}"), "2");
  EXPECT_EQ(series.at("orrery_measured_step_time_seconds{rank=\"2\"}"), "3");
  EXPECT_EQ(series.at("orrery_measured_tier_latency_seconds{op=\"read\",tier=\"a\"}"), "1");
  EXPECT_EQ(series.at("orrery_measured_tier_latency_seconds{op=\"read\",tier=\"b\"}"), "4");
}

TEST_F(PagesTest, a_source_is_told_by_its_last_look_and_kept_for_a_minute) {
  file("a.prom", "orrery_measured_step_time_seconds{rank=\"1\"} 2\n");
  Exporter exporter(setup());
  const std::string rank = "orrery_measured_step_time_seconds{rank=\"1\"}";
  auto series = series_of(exporter.page());
  const auto of = [&](const char* what) {
    return series.at(std::string("orrery_exporter_source_") + what + "{source=\"node-files\"}");
  };
  EXPECT_EQ(of("up"), "1");
  EXPECT_EQ(of("faults"), "0");
  EXPECT_EQ(of("age_seconds"), "0");
  EXPECT_EQ(of("last_good_timestamp_seconds"), shortest(kNow));
  EXPECT_EQ(series.at("orrery_exporter_source_up{source=\"plan\"}"), "0");
  EXPECT_EQ(series.at("orrery_exporter_looks_total"), "1");
  std::filesystem::remove_all(folder.path());
  now = kNow + 0.9;
  series = series_of(exporter.page());
  EXPECT_EQ(of("up"), "1") << "not looked at again within a second";
  now = kNow + 60;
  series = series_of(exporter.page());
  EXPECT_EQ(of("up"), "0");
  EXPECT_EQ(of("faults"), "1");
  EXPECT_EQ(of("age_seconds"), "60");
  EXPECT_EQ(series.at(rank), "2") << "a minute old";
  EXPECT_EQ(series.at("orrery_exporter_looks_total"), "2");
  now = kNow + 61;
  series = series_of(exporter.page());
  EXPECT_EQ(series.count(rank), 0u) << "no news any more";
  now = kNow - 100;  // the clock was set back: looked at again
  series = series_of(exporter.page());
  EXPECT_EQ(series.at("orrery_exporter_looks_total"), "4");
  EXPECT_EQ(of("age_seconds"), "0") << "not below nothing";
}

TEST_F(PagesTest, faults_are_counted_all_and_logged_five_at_a_time_once) {
  std::string bad;
  for (int i = 0; i < 7; ++i) bad += "nonsense " + std::to_string(i) + "\n";
  file("a.prom", bad + "orrery_measured_step_time_seconds{rank=\"1\"} 2\n");
  file("b.prom", std::string(1 << 20, '#'));
  Exporter exporter(setup());
  const std::string page = exporter.page();
  EXPECT_THAT(page, HasSubstr("source_faults{source=\"node-files\"} 7\n"))
      << "a file of just a MiB is read";
  EXPECT_THAT(logged, testing::ElementsAre(5));
  now += 2;
  exporter.page();
  EXPECT_THAT(logged, SizeIs(1)) << "said already";
  file("a.prom", "nonsense\n");
  now += 2;
  EXPECT_THAT(exporter.page(), HasSubstr("source_faults{source=\"node-files\"} 1\n"));
  EXPECT_THAT(logged, testing::ElementsAre(5, 1));
}

TEST_F(PagesTest, a_program_that_fails_says_why) {
  std::vector<Diagnostic> said;
  for (const CommandResult& bad : {CommandResult{.exit_code = 3, .err = " no controller \n"},
                                   CommandResult{.timed_out = true}}) {
    const auto look =
        look_at_slurm({}, [&](const Command&) -> Result<CommandResult> { return bad; });
    ASSERT_FALSE(look);
    said.push_back(look.error().front());
  }
  EXPECT_EQ(said[0].code, "slurm.failed");
  EXPECT_EQ(said[0].what, "exit code 3");
  EXPECT_EQ(said[0].why, "no controller");
  EXPECT_EQ(said[1].what, "no answer in time");
  // Each of the two programs is needed.
  for (const char* broken : {"sinfo", "squeue"}) {
    const auto look = look_at_slurm({}, [&](const Command& c) -> Result<CommandResult> {
      return CommandResult{.exit_code = c.words.front() == broken ? 1 : 0};
    });
    ASSERT_FALSE(look) << broken;
    EXPECT_EQ(look.error().front().place.file, broken);
  }
}

TEST(ExporterPages, a_line_has_its_limits) {
  const MetricFamilies known = {{.name = "m", .help = "h", .samples = {}}};
  const auto taken = [&](const std::string& line) {
    return parse_metrics(line, "f", known).families.size() == 1;
  };
  EXPECT_TRUE(taken("m 1"));
  EXPECT_TRUE(taken("m{} 1"));
  EXPECT_TRUE(taken("m { a = \"x\" , b = \"y\" } 1"));
  EXPECT_FALSE(taken("m{a=\"x\" b=\"y\"} 1"));
  EXPECT_FALSE(taken("m{a=\"x\"} one"));
  EXPECT_FALSE(taken("m{a=\"x\\"));
  const auto labels = [](int count) {
    std::string line = "m{";
    for (int i = 0; i < count; ++i) line += "l" + std::to_string(i) + "=\"x\",";
    return line + "} 1";
  };
  EXPECT_TRUE(taken(labels(16)));
  EXPECT_FALSE(taken(labels(17)));
  const std::string head = "m{a=\"", tail = "\"} 1";
  EXPECT_TRUE(taken(head + std::string(8192 - head.size() - tail.size(), 'x') + tail));
  EXPECT_FALSE(taken(head + std::string(8193 - head.size() - tail.size(), 'x') + tail));
  const auto fault = parse_metrics("m 1\n\nbad line\n", "f.prom", known).faults;
  ASSERT_THAT(fault, SizeIs(1));
  EXPECT_EQ(fault.front().place.line, 3);
  EXPECT_EQ(fault.front().code, "exporter.line");
}

}  // namespace
}  // namespace orrery::agent::exporter_pages_tests
