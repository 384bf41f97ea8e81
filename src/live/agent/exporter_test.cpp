// The page as Prometheus scrapes it: what each source provides, how long it is kept, and what the
// page says about sources that fail or hang.
#include "live/agent/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "core/base/text.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::exporter_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
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

// Returns the value of a series, or "no SERIES".
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

TEST(Exporter, page_shows_a_recorded_cluster) {
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
  // Job 13 asks for more but is held; of the others, 12 has the highest priority. It needs 16 GPUs
  // on two whole nodes, and only one node is free although 11 GPUs are.
  EXPECT_EQ(metric_line(page, "orrery_measured_queue_head_gpus{partition=\"batch\"}"), "16");
  EXPECT_EQ(metric_line(page, "orrery_measured_queue_head_nodes{partition=\"batch\"}"), "2");
  EXPECT_EQ(metric_line(page, "orrery_measured_queue_head_fitting_nodes{partition=\"batch\"}"),
            "1");
  // Waiting times: job 11 600 s, 12 so far 600 s, 14 so far 1200 s; the held job does not count.
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

TEST(Exporter, idle_cluster_has_every_metric) {
  Exporter exporter(setup_with(recorded("n1;p;idle;(null);(null);none;\n", "")));
  const std::string page = exporter.page();
  const auto families = metrics_from("slurm").value();
  ASSERT_GE(families.size(), 8u);
  for (const MetricFamily& f : families) EXPECT_THAT(page, HasSubstr("# TYPE " + f.name)) << page;
}

TEST(Exporter, failed_program_costs_only_its_own_metrics) {
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

// Scrapes are answered within the patience, from the last reading, with its age.
TEST(Exporter, hanging_program_delays_no_scrape) {
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

TEST(Exporter, slurm_is_asked_in_utc_and_at_most_once_a_second) {
  std::vector<Command> asked;
  ExporterSetup setup = setup_with([&asked](const Command& c) -> Result<CommandResult> {
    asked.push_back(c);
    return CommandResult{};
  });
  setup.question.conf = "/etc/slurm/x;y.conf";
  Exporter exporter(std::move(setup));
  exporter.page();
  exporter.page();  // within a second: the sources are not read again
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[0].words.front(), "sinfo");
  EXPECT_THAT(asked[1].environment, ElementsAre(std::pair<std::string, std::string>("TZ", "UTC"),
                                                std::pair<std::string, std::string>(
                                                    "SLURM_CONF", "/etc/slurm/x;y.conf")));
}

// Pages made from node files, with a clock that the test sets.
class ExporterFiles : public testing::Test {
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

TEST_F(ExporterFiles, family_of_several_files_is_merged) {
  file("a.prom",
       "orrery_measured_tier_latency_seconds{op=\"read\",tier=\"a\"} 1\n"
       "orrery_measured_step_time_seconds{rank=\"1\"} 2\n");
  file("b.prom",
       "orrery_measured_step_time_seconds{rank=\"2\"} 3\n"
       "orrery_measured_tier_latency_seconds{op=\"read\",tier=\"b\"} 4\n");
  Exporter exporter(setup());
  const std::string page = exporter.page();
  EXPECT_EQ(metric_line(page, "orrery_measured_step_time_seconds{rank=\"1\"}"), "2");
  EXPECT_EQ(metric_line(page, "orrery_measured_step_time_seconds{rank=\"2\"}"), "3");
  EXPECT_EQ(metric_line(page, "orrery_measured_tier_latency_seconds{op=\"read\",tier=\"a\"}"), "1");
  EXPECT_EQ(metric_line(page, "orrery_measured_tier_latency_seconds{op=\"read\",tier=\"b\"}"), "4");
  EXPECT_EQ(page.find("# TYPE orrery_measured_step"), page.rfind("# TYPE orrery_measured_step"));
}

TEST_F(ExporterFiles, metrics_of_a_failed_source_are_kept_for_a_minute) {
  file("a.prom", "orrery_measured_step_time_seconds{rank=\"1\"} 2\n");
  Exporter exporter(setup());
  const std::string rank = "orrery_measured_step_time_seconds{rank=\"1\"}";
  std::string page = exporter.page();
  const auto of = [&](const char* what) {
    return metric_line(page,
                       std::string("orrery_exporter_source_") + what + "{source=\"node-files\"}");
  };
  EXPECT_EQ(of("up"), "1");
  EXPECT_EQ(of("faults"), "0");
  EXPECT_EQ(of("age_seconds"), "0");
  EXPECT_EQ(of("last_good_timestamp_seconds"), shortest(kNow));
  EXPECT_EQ(metric_line(page, "orrery_exporter_source_up{source=\"plan\"}"), "0");
  EXPECT_EQ(metric_line(page, "orrery_exporter_looks_total"), "1");
  std::filesystem::remove_all(folder.path());
  now = kNow + 0.9;
  page = exporter.page();
  EXPECT_EQ(of("up"), "1") << "at most one reading per second";
  now = kNow + 60;
  page = exporter.page();
  EXPECT_EQ(of("up"), "0");
  EXPECT_EQ(of("faults"), "1");
  EXPECT_EQ(of("age_seconds"), "60");
  EXPECT_EQ(metric_line(page, rank), "2");
  EXPECT_EQ(metric_line(page, "orrery_exporter_looks_total"), "2");
  now = kNow + 61;
  page = exporter.page();
  EXPECT_EQ(metric_line(page, rank), "no " + rank);
  now = kNow - 100;  // the clock was set back, so the sources are read again
  page = exporter.page();
  EXPECT_EQ(metric_line(page, "orrery_exporter_looks_total"), "4");
  EXPECT_EQ(of("age_seconds"), "0");
}

TEST_F(ExporterFiles, faults_are_all_counted_and_logged_once_five_at_most) {
  std::string bad;
  for (int i = 0; i < 7; ++i) bad += "nonsense " + std::to_string(i) + "\n";
  file("a.prom", bad + "orrery_measured_step_time_seconds{rank=\"1\"} 2\n");
  file("b.prom", std::string(1 << 20, '#'));
  Exporter exporter(setup());
  const std::string page = exporter.page();
  EXPECT_THAT(page, HasSubstr("source_faults{source=\"node-files\"} 7\n"))
      << "a file of exactly 1 MiB is read";
  EXPECT_THAT(logged, testing::ElementsAre(5));
  now += 2;
  exporter.page();
  EXPECT_THAT(logged, SizeIs(1)) << "logged already";
  file("a.prom", "nonsense\n");
  now += 2;
  EXPECT_THAT(exporter.page(), HasSubstr("source_faults{source=\"node-files\"} 1\n"));
  EXPECT_THAT(logged, testing::ElementsAre(5, 1));
}

TEST_F(ExporterFiles, only_plain_prom_files_up_to_a_mebibyte_are_read) {
  const auto line = [](int rank) {
    return "orrery_measured_step_time_seconds{rank=\"" + std::to_string(rank) + "\"} 2\n";
  };
  file("a.prom", line(1));
  file("b.txt", line(2));
  file("target", line(3));
  ASSERT_EQ(::symlink("target", folder.at("c.prom").c_str()), 0);
  texts["c.prom"] = line(3);
  file("large.prom", "# " + std::string((1 << 20) + 1, 'x'));
  folder.write("large.prom", texts["large.prom"]);
  const std::string page = Exporter(setup()).page();
  EXPECT_THAT(page, HasSubstr("{rank=\"1\"} 2"));
  EXPECT_THAT(page, Not(HasSubstr("rank=\"2\"")));
  EXPECT_THAT(page, Not(HasSubstr("rank=\"3\""))) << "a link could lead anywhere";
  EXPECT_THAT(page, HasSubstr("source_faults{source=\"node-files\"} 1\n")) << "the large file";
}

TEST(Exporter, unreadable_lines_of_slurm_are_counted) {
  ExporterSetup setup{.slurm = true, .question = {}, .node_files = {}, .probes = {}};
  std::vector<std::size_t> logged;
  double now = 1;
  setup.patience = seconds(30);
  setup.now = [&now] { return Seconds(now); };
  setup.log = [&logged](const Diagnostics& d) { logged.push_back(d.size()); };
  setup.run = [](const Command& c) -> Result<CommandResult> {
    return CommandResult{
        .out = c.words.front() == "sinfo" ? "a;p;idle;gpu:8;gpu:0;x;\nhalf\nof it\n" : "no;job\n"};
  };
  Exporter exporter(std::move(setup));
  const std::string page = exporter.page();
  EXPECT_THAT(page, HasSubstr("orrery_exporter_source_faults{source=\"slurm\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("orrery_exporter_source_up{source=\"slurm\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("orrery_exporter_source_up{source=\"plan\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("orrery_exporter_source_age_seconds{source=\"slurm\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("orrery_measured_cluster_gpus{use=\"total\"} 8\n"));
  EXPECT_THAT(logged, testing::ElementsAre(3));
}

TEST(ExporterProbe, figures_become_metrics_of_the_tier) {
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
  EXPECT_FALSE(
      probe_metrics("id,unit,value,low,high,repeats,label\nsequential_read,bytes_per_s,0,0,0,5,x\n",
                    {"hot", "p.csv"}))
      << "figures must be above zero";
  EXPECT_FALSE(probe_metrics("nothing\n", {"hot", "p.csv"}).has_value());
  EXPECT_EQ(probe_file_of("hot=a/b.csv").path, "a/b.csv");
  EXPECT_EQ(probe_file_of("probes/cold.csv").tier, "cold");
}

TEST(ExporterProbe, unreadable_probe_does_not_hide_the_others) {
  const std::string head = "id,unit,value,low,high,repeats,label\n";
  ExporterSetup setup{
      .slurm = false, .question = {}, .node_files = {}, .probes = {{"hot", "gone"}, {"cold", "p"}}};
  setup.read_file = [&](const std::string& path) -> Result<std::string> {
    if (path == "gone") return fail({.code = "no.file", .what = path});
    return head + "sequential_write,bytes_per_s,3,3,3,5,x\n";
  };
  setup.now = [] { return Seconds(1794722400); };
  const std::string page = Exporter(std::move(setup)).page();
  EXPECT_THAT(page, HasSubstr("tier_bytes_per_second{op=\"write\",tier=\"cold\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("source_faults{source=\"probe\"} 1\n"));
}

}  // namespace
}  // namespace orrery::agent::exporter_tests
