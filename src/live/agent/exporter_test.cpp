#include "live/agent/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

namespace orrery::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// As sinfo and squeue of Slurm 22.05 print them, with a node in two partitions.
constexpr const char* kSinfo =
    "train-001;batch;idle;gpu:h100:8(S:0-1);gpu:h100:0(IDX:N/A);none;\n"
    "train-001;debug;idle;gpu:h100:8(S:0-1);gpu:h100:0(IDX:N/A);none;\n"
    "train-002;batch;mixed;gpu:h100:8(S:0-1);gpu:h100:5(IDX:0-2,4,6);none;\n"
    "train-003;batch;allocated;gpu:h100:8(S:0-1);gpu:h100:8(IDX:0-7);none;\n"
    "train-004;batch;down*+drain;gpu:h100:8;gpu:0;fatal: XID 79;\n"
    "train-005;batch;idle+drain;gpu:h100:8;gpu:0;spare;\n"
    "train-006;batch;mixed+drain;gpu:h100:8;gpu:4;health check;\n";

// 2026-11-15T06:00:00 UTC is 1794722400.
constexpr double kNow = 1794722400;
constexpr const char* kSqueue =
    "11;batch;RUNNING;1;gres:gpu:8;N/A;100;2026-11-15T05:00:00;2026-11-15T05:10:00;None;\n"
    "12;batch;PENDING;2;gres:gpu:h100:8;N/A;200;2026-11-15T05:50:00;N/A;Resources;\n"
    "13;batch;PENDING;1;N/A;gres:gpu:16;300;2026-11-15T05:30:00;N/A;JobHeldUser;\n"
    "14;batch,debug;PENDING;2;N/A;gres:gpu:8;150;2026-11-15T05:40:00;N/A;Priority;\n";

std::string metric_line(const std::string& page, const std::string& series) {
  const std::size_t at = page.find("\n" + series + " ");
  if (at == std::string::npos) return "no " + series;
  const std::size_t from = at + series.size() + 2;
  return page.substr(from, page.find('\n', from) - from);
}

CommandRunner recorded(const std::string& sinfo, const std::string& squeue) {
  return [=](const Command& c) -> Result<CommandResult> {
    return CommandResult{.out = c.words.front() == "sinfo" ? sinfo : squeue};
  };
}

ExporterSetup setup_with(CommandRunner run) {
  return {.plan = {{.name = "orrery_plan_x", .help = "x", .samples = {{{}, 1}}}},
          .slurm = true,
          .question = {},
          .node_files = {},
          .probes = {},
          .run = std::move(run),
          .read_file = [](const std::string& path) -> Result<std::string> {
            return fail({.code = "no.file", .what = path});
          },
          .now = [] { return Seconds(kNow); }};
}

TEST(ExporterSlurm, a_job_that_ends_or_is_held_up_neither_waits_nor_runs) {
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

TEST(ExporterSlurm, counts_gpus_in_every_notation) {
  EXPECT_EQ(gpus_in("gpu:h100:8(S:0-1)"), 8);
  EXPECT_EQ(gpus_in("gpu:h100:5(IDX:0-2,4,6)"), 5);
  EXPECT_EQ(gpus_in("gres:gpu:4"), 4);
  EXPECT_EQ(gpus_in("gpu"), 1);
  EXPECT_EQ(gpus_in("gpu:a:2,gpu:b:3,shard:40"), 5);
  EXPECT_EQ(gpus_in("(null)"), 0);
  EXPECT_EQ(gpus_in("N/A"), 0);
  EXPECT_EQ(gpus_in("gpu:999999999999999999999"), 1);
  EXPECT_EQ(gpus_in("gpu:h100:8(((,"), 8);
}

TEST(ExporterSlurm, a_page_of_a_recorded_cluster) {
  Exporter exporter(setup_with(recorded(kSinfo, kSqueue)));
  const std::string page = exporter.page();
  EXPECT_EQ(metric_line(page, "orrery_measured_nodes{state=\"idle\"}"), "1");
  EXPECT_EQ(metric_line(page, "orrery_measured_nodes{state=\"down\"}"), "1");
  EXPECT_EQ(metric_line(page, "orrery_measured_nodes{state=\"spare\"}"), "1");
  EXPECT_EQ(metric_line(page, "orrery_measured_nodes{state=\"drained\"}"), "1");
  EXPECT_EQ(metric_line(page, "orrery_measured_nodes{state=\"other\"}"), "0");
  EXPECT_EQ(metric_line(page, "orrery_measured_cluster_gpus{use=\"total\"}"), "48");
  EXPECT_EQ(metric_line(page, "orrery_measured_gpus{partition=\"batch\",use=\"free\"}"), "11");
  EXPECT_EQ(metric_line(page, "orrery_measured_gpus{partition=\"debug\",use=\"free\"}"), "8");
  // Job 13 asks for more but is held; 12 has the higher priority of the rest. 16 GPUs on two whole
  // nodes, of which one is free: 11 are free in all.
  EXPECT_EQ(metric_line(page, "orrery_measured_queue_head_gpus{partition=\"batch\"}"), "16");
  EXPECT_EQ(metric_line(page, "orrery_measured_queue_head_nodes{partition=\"batch\"}"), "2");
  EXPECT_EQ(metric_line(page, "orrery_measured_queue_head_fitting_nodes{partition=\"batch\"}"),
            "1");
  // Waits of 600 (ran), 600 (12 so far) and 1200 (14 so far); the held one does not count.
  EXPECT_EQ(
      metric_line(page, "orrery_measured_queue_wait_seconds{partition=\"batch\",quantile=\"0.5\"}"),
      "600");
  EXPECT_EQ(
      metric_line(page, "orrery_measured_queue_wait_seconds{partition=\"batch\",quantile=\"0.9\"}"),
      "1080");
  EXPECT_EQ(metric_line(page,
                        "orrery_measured_jobs{partition=\"batch\",reason=\"JobHeldUser\",state="
                        "\"pending\"}"),
            "1");
  EXPECT_EQ(metric_line(page, "orrery_exporter_source_up{source=\"slurm\"}"), "1");
  EXPECT_EQ(metric_line(page, "orrery_exporter_source_faults{source=\"slurm\"}"), "0");
}

TEST(ExporterSlurm, an_idle_cluster_has_every_metric) {
  Exporter exporter(setup_with(recorded("n1;p;idle;(null);(null);none;\n", "")));
  const std::string page = exporter.page();
  const auto families = metrics_from("slurm").value();
  ASSERT_GE(families.size(), 8u);
  for (const MetricFamily& f : families) EXPECT_THAT(page, HasSubstr("# TYPE " + f.name)) << page;
}

TEST(ExporterSlurm, lines_that_cannot_be_read_are_counted_and_left_out) {
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

TEST(ExporterSlurm, programs_that_fail_cost_only_their_own_metrics) {
  Diagnostics logged;
  ExporterSetup setup = setup_with([](const Command&) -> Result<CommandResult> {
    return CommandResult{.exit_code = 1, .err = "Unable to contact slurm controller"};
  });
  setup.log = [&logged](const Diagnostics& d) { logged.insert(logged.end(), d.begin(), d.end()); };
  Exporter exporter(std::move(setup));
  const std::string page = exporter.page();
  EXPECT_EQ(metric_line(page, "orrery_exporter_source_up{source=\"slurm\"}"), "0");
  EXPECT_THAT(page, Not(HasSubstr("orrery_measured_")));
  EXPECT_EQ(metric_line(page, "orrery_plan_x"), "1");
  ASSERT_THAT(logged, SizeIs(1));
  EXPECT_THAT(logged.front().why, HasSubstr("Unable to contact"));
}

// A Slurm that hangs: scrapes are answered in the patience, from the last look, with its age.
TEST(ExporterSlurm, a_program_that_hangs_delays_no_scrape) {
  std::atomic<bool> hangs = false;
  std::atomic<double> now = kNow;
  ExporterSetup setup = setup_with([&](const Command& c) -> Result<CommandResult> {
    while (hangs) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return recorded(kSinfo, kSqueue)(c);
  });
  setup.patience = seconds(0.05);
  setup.now = [&now] { return Seconds(now); };
  Exporter exporter(std::move(setup));
  const std::string nodes = "orrery_measured_nodes{state=\"idle\"}";
  const std::string up = "orrery_exporter_source_up{source=\"slurm\"}";
  const std::string age = "orrery_exporter_source_age_seconds{source=\"slurm\"}";
  for (int i = 0; i < 100 && metric_line(exporter.page(), nodes) != "1"; ++i) {
  }
  EXPECT_EQ(metric_line(exporter.page(), age), "0");
  hangs = true;
  now = kNow + 15;
  const auto before = std::chrono::steady_clock::now();
  const std::string late = exporter.page();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
  EXPECT_EQ(metric_line(late, nodes), "1");
  EXPECT_EQ(metric_line(late, up), "0");
  EXPECT_EQ(metric_line(late, age), "15");
  now = kNow + 100;
  EXPECT_EQ(metric_line(exporter.page(), nodes), "no " + nodes);
  EXPECT_EQ(metric_line(exporter.page(), "orrery_plan_x"), "1");
  hangs = false;
  for (int i = 0; i < 100 && metric_line(exporter.page(), up) != "1"; ++i) {
  }
  EXPECT_EQ(metric_line(exporter.page(), nodes), "1");
}

TEST(ExporterSlurm, asks_without_a_shell_and_in_utc) {
  std::vector<Command> asked;
  ExporterSetup setup = setup_with([&asked](const Command& c) -> Result<CommandResult> {
    asked.push_back(c);
    return CommandResult{};
  });
  setup.question.conf = "/etc/slurm/x;y.conf";
  Exporter exporter(std::move(setup));
  exporter.page();
  exporter.page();  // within a second: not asked again
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[0].words.front(), "sinfo");
  EXPECT_THAT(asked[1].environment, ElementsAre(std::pair<std::string, std::string>("TZ", "UTC"),
                                                std::pair<std::string, std::string>(
                                                    "SLURM_CONF", "/etc/slurm/x;y.conf")));
}

TEST(ExporterMetrics, text_is_escaped_and_reads_back) {
  const std::string odd = "a\\b\"c\nd{}=, \xc3\xbc";
  const MetricFamilies one = {
      {.name = "orrery_measured_step_time_seconds",
       .help = "back\\slash\nand break",
       .samples = {{{{"workload", odd}, {"node", "n"}}, 0.25}, {{{"workload", "w"}}, -1e-9}}}};
  const std::string text = exposition(one);
  EXPECT_THAT(text,
              HasSubstr("# HELP orrery_measured_step_time_seconds back\\\\slash\\nand break\n"));
  EXPECT_THAT(text, HasSubstr("node=\"n\",workload=\"a\\\\b\\\"c\\nd{}=, \xc3\xbc\"} 0.25\n"));
  const ParsedMetrics back = parse_metrics(text, "x.prom", one);
  EXPECT_THAT(back.faults, IsEmpty());
  ASSERT_THAT(back.families, SizeIs(1));
  EXPECT_EQ(exposition({{.name = back.families[0].name,
                         .help = one[0].help,
                         .samples = {back.families[0].samples[2], back.families[0].samples[3]}}}),
            text);
}

TEST(ExporterMetrics, a_series_that_stands_twice_is_written_once) {
  const std::string text = exposition({{.name = "a", .help = "h", .samples = {{{{"x", "1"}}, 1}}},
                                       {.name = "a", .help = "h", .samples = {{{{"x", "1"}}, 2}}}});
  EXPECT_EQ(text, "# HELP a h\n# TYPE a gauge\na{x=\"1\"} 1\n");
}

// A family's lines stand together, wherever its parts came from, and families by their names.
TEST(ExporterMetrics, families_are_united_and_sorted) {
  const MetricFamily late{.name = "b", .help = "hb", .samples = {{{{"x", "1"}}, 1}}};
  const MetricFamily early{.name = "a", .help = "ha", .samples = {{{{"z", "1"}, {"y", "2"}}, 2}}};
  const MetricFamily more{.name = "b", .help = "hb", .samples = {{{{"x", "0"}}, 3}}};
  EXPECT_EQ(exposition({late, early, more}),
            "# HELP a ha\n# TYPE a gauge\na{y=\"2\",z=\"1\"} 2\n"
            "# HELP b hb\n# TYPE b gauge\nb{x=\"1\"} 1\nb{x=\"0\"} 3\n");
}

TEST(ExporterMetrics, hostile_lines_are_faults_and_the_rest_counts) {
  const auto known = metrics_from("files").value();
  const std::string name = "orrery_measured_step_time_seconds";
  for (const std::string& bad :
       {name + "{workload=\"w} 1", name + "{workload='w'} 1", name + " 1 1700000000",
        name + "{__name__=\"x\"} 1", name + "{a=\"1\",a=\"2\"} 1", name + "{a=\"1\"", name + " one",
        name + "{1a=\"x\"} 1", std::string("node_cpu_seconds 3"), std::string("{} 1"),
        name + "{a=\"" + std::string(10'000, 'x') + "\"} 1", name + "{a=\"\xff\"} 1"}) {
    const ParsedMetrics parsed =
        parse_metrics(bad + "\n" + name + "{rank=\"1\",} 2\n# x\n\n", "f.prom", known);
    EXPECT_THAT(parsed.faults, SizeIs(1)) << bad.substr(0, 80);
    ASSERT_THAT(parsed.families, SizeIs(1)) << bad.substr(0, 80);
    EXPECT_EQ(parsed.families.front().samples.size(), 1u);
  }
}

TEST(ExporterProbe, figures_of_a_probe_become_metrics_of_its_tier) {
  const std::string csv =
      "id,unit,value,low,high,repeats,label\nsequential_read,bytes_per_s,2e9,1e9,3e9,5,\"a, b\"\n"
      "first_byte,seconds,0.0005,0.0004,0.0006,5,x\nrandom_read,per_s,1000,900,1100,5,y\n";
  const auto found = probe_metrics(csv, {"hot", "p.csv"});
  ASSERT_TRUE(found.has_value());
  const std::string text = exposition(*found);
  EXPECT_THAT(text,
              HasSubstr("orrery_measured_tier_bytes_per_second{op=\"read\",tier=\"hot\"} 2e+09"));
  EXPECT_THAT(text,
              HasSubstr("orrery_measured_tier_latency_seconds{op=\"read\",tier=\"hot\"} 5e-04"));
  EXPECT_FALSE(probe_metrics("nothing\n", {"hot", "p.csv"}).has_value());
  EXPECT_EQ(probe_file_of("hot=a/b.csv").path, "a/b.csv");
  EXPECT_EQ(probe_file_of("probes/cold.csv").tier, "cold");
}

}  // namespace
}  // namespace orrery::agent
