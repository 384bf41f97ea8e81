// The exporter at its edges: the shortest lines that are read, partitions that share nothing, the
// head of a queue among equals, and what is said of a source whose lines are left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/text.h"
#include "live/agent/exporter.h"
#include "live/agent/slurm_parse.h"

namespace orrery::agent::exporter_bounds_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kSix = 1794722400;  // 2026-11-15T06:00:00 UTC

SlurmLook look_of(const std::string& sinfo, const std::string& squeue) {
  SlurmLook look;
  look.nodes = parse_sinfo(sinfo, look.faults);
  look.jobs = parse_squeue(squeue, look.faults);
  return look;
}

std::string page_of(const SlurmLook& look) {
  return exposition(slurm_metrics(look, Seconds(kSix)).value());
}

std::string pending(int id, const std::string& partition, int nodes, const std::string& gpus,
                    int priority, const std::string& submitted) {
  return std::to_string(id) + ";" + partition + ";PENDING;" + std::to_string(nodes) + ";" + gpus +
         ";N/A;" + std::to_string(priority) + ";2026-11-15T" + submitted + ";N/A;Resources;\n";
}

TEST(ExporterBounds, a_line_needs_its_fields_and_no_more) {
  Diagnostics faults;
  EXPECT_THAT(parse_sinfo("n;p;idle;gpu:8;gpu:0;none\n", faults), SizeIs(1));
  EXPECT_THAT(parse_squeue("1;p;RUNNING;1;N/A;N/A;1;N/A;N/A;None\n", faults), SizeIs(1));
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_THAT(parse_sinfo("n;p;idle;gpu:8;gpu:0\n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(1));
  EXPECT_THAT(parse_squeue("1;p;RUNNING;1;N/A;N/A;1;N/A;N/A\n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(2));
  EXPECT_THAT(parse_sinfo("n;p;;gpu:8;gpu:0;none;\n", faults), IsEmpty()) << "no state";
  EXPECT_THAT(parse_sinfo(";p;idle;gpu:8;gpu:0;none;\n", faults), IsEmpty()) << "no name";
  EXPECT_THAT(parse_squeue(";p;RUNNING;1;N/A;N/A;1;N/A;N/A;None;\n", faults), IsEmpty());
  EXPECT_THAT(parse_squeue("1;p;RUNNING;many;N/A;N/A;1;N/A;N/A;None;\n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(6));
  EXPECT_THAT(parse_sinfo("\n   \n", faults), IsEmpty());
  EXPECT_THAT(faults, SizeIs(6)) << "nothing is no fault";
}

TEST(ExporterBounds, a_node_is_read_field_by_field) {
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
  EXPECT_EQ(gpus_in("gpu:2),gpu:3"), 4) << "a word that is no number is one; the rest counts";
  EXPECT_EQ(gpus_in("gpu:2(a(b),gpu:9),gpu:3"), 5) << "within them nothing counts";
  EXPECT_EQ(gpus_in("gpu,gres:gpu,gpu:a100"), 3);
  EXPECT_EQ(gpus_in("gpu:1000000"), 1'000'000);
}

// Of equal priority the one who came first is the head, wherever it stands in the answer.
TEST(ExporterBounds, the_head_among_equals_came_first) {
  const std::string nodes = "a;p;idle;gpu:8;gpu:0;x;\n";
  const auto gpus = [&](const std::string& jobs) {
    const std::string page = page_of(look_of(nodes, jobs));
    const std::string name = "orrery_measured_queue_head_gpus{partition=\"p\"} ";
    const auto at = page.find(name);
    return at == std::string::npos
               ? std::string()
               : page.substr(at + name.size(), page.find('\n', at) - at - name.size());
  };
  const std::string early = pending(1, "p", 1, "gres:gpu:2", 5, "05:00:00");
  const std::string late = pending(2, "p", 1, "gres:gpu:3", 5, "05:30:00");
  const std::string urgent = pending(3, "p", 2, "gres:gpu:4", 6, "05:50:00");
  EXPECT_EQ(gpus(early + late), "2");
  EXPECT_EQ(gpus(late + early), "2");
  EXPECT_EQ(gpus(early + urgent), "8") << "two nodes of four";
  EXPECT_EQ(gpus(urgent + early), "8");
}

TEST(ExporterBounds, a_head_without_gpus_fits_where_a_node_is_idle) {
  const std::string nodes =
      "a;p;idle;gpu:8;gpu:8;x;\nb;p;mixed;gpu:8;gpu:0;x;\nc;p;idle;N/A;N/A;x;\n"
      "d;q;idle;gpu:8;gpu:0;x;\n";
  const std::string page = page_of(look_of(nodes, pending(1, "p", 2, "N/A", 5, "05:00:00")));
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_fitting_nodes{partition=\"p\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_nodes{partition=\"p\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_gpus{partition=\"p\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_fitting_nodes{partition=\"q\"} 0\n"));
  const std::string four = page_of(look_of(nodes, pending(1, "p", 1, "gres:gpu:8", 5, "05:00:00")));
  EXPECT_THAT(four, HasSubstr("orrery_measured_queue_head_fitting_nodes{partition=\"p\"} 1\n"));
}

// Waits of 10 and 30 minutes in p, of one hour in q.
TEST(ExporterBounds, partitions_count_their_own_jobs) {
  const std::string page = page_of(look_of(
      "a;p;idle;gpu:8;gpu:0;x;\nb;q;mixed;gpu:4;gpu:1;x;\n",
      pending(1, "p", 1, "N/A", 5, "05:50:00") + pending(2, "p", 1, "N/A", 5, "05:30:00") +
          pending(3, "q", 1, "N/A", 5, "05:00:00") +
          "4;q;RUNNING;1;N/A;N/A;1;N/A;N/A;None;\n5;p;COMPLETING;1;N/A;N/A;1;N/A;N/A;None;\n"));
  const auto has = [&page](const std::string& line) {
    EXPECT_THAT(page, HasSubstr("orrery_measured_" + line + '\n'));
  };
  has(R"(jobs{partition="p",reason="Resources",state="pending"} 2)");
  has(R"(jobs{partition="q",reason="Resources",state="pending"} 1)");
  has(R"(jobs{partition="p",reason="",state="running"} 0)");
  has(R"(jobs{partition="q",reason="",state="running"} 1)");
  has(R"(queue_wait_seconds{partition="p",quantile="0.5"} 1200)");  // half-way from 600 to 1,800
  has(R"(queue_wait_seconds{partition="p",quantile="0.9"} 1680)");  // nine tenths of the way
  has(R"(queue_wait_seconds{partition="q",quantile="0.5"} 3600)");
  has(R"(gpus{partition="q",use="total"} 4)");
  has(R"(gpus{partition="q",use="allocated"} 1)");
  has(R"(gpus{partition="q",use="free"} 3)");
  has(R"(gpus{partition="p",use="free"} 8)");
  has(R"(cluster_gpus{use="free"} 11)");
}

TEST(ExporterBounds, a_mark_of_silence_counts_beside_others) {
  for (const char* state : {"idle*", "idle~*", "idle*~", "idle*+drain~", "drain~+idle*"}) {
    EXPECT_TRUE(parse_nodes(std::string("n;") + state + ";x;\n").value().front().silent) << state;
  }
  EXPECT_FALSE(parse_nodes("n;idle~+drain#;x;\n").value().front().silent);
}

TEST(ExporterBounds, lines_of_slurm_that_are_left_out_are_counted) {
  ExporterSetup setup{.slurm = true, .question = {}, .node_files = {}, .probes = {}};
  EXPECT_EQ(setup.patience, seconds(2));
  EXPECT_EQ(setup.question.timeout, seconds(10));
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
  EXPECT_THAT(page, HasSubstr("orrery_exporter_source_age_seconds{source=\"slurm\"} 0\n"))
      << "a second after 1970 is a time";
  EXPECT_THAT(page, HasSubstr("orrery_measured_cluster_gpus{use=\"total\"} 8\n"));
  EXPECT_THAT(logged, testing::ElementsAre(3));
  now = 1.9;
  EXPECT_THAT(exporter.page(), HasSubstr("orrery_exporter_looks_total 1\n")) << "not yet again";
  now = 2;
  EXPECT_THAT(exporter.page(), HasSubstr("orrery_exporter_looks_total 2\n"));
}

TEST(ExporterBounds, help_has_its_quotes_and_labels_are_escaped) {
  EXPECT_EQ(exposition({{.name = "m",
                         .type = "counter",
                         .help = "a \"b\" \\ c\nd",
                         .samples = {{{{"z", "1"}, {"a", "q\"\\\n"}}, 1.5}, {{}, 2}}}}),
            "# HELP m a \"b\" \\\\ c\\nd\n# TYPE m counter\nm 2\n"
            "m{a=\"q\\\"\\\\\\n\",z=\"1\"} 1.5\n");
  EXPECT_EQ(exposition({{.name = "none", .help = "h", .samples = {}}}), "");
  const MetricFamilies known = {{.name = "m", .help = "h", .samples = {}}};
  const auto taken = [&](const std::string& line) {
    return parse_metrics(line, "f", known).families.size() == 1;
  };
  EXPECT_FALSE(taken("m{=\"x\"} 1")) << "a label has a name";
  EXPECT_FALSE(taken("m{1a=\"x\"} 1"));
  EXPECT_FALSE(taken("m{__a=\"x\"} 1"));
  EXPECT_TRUE(taken("m{_a=\"x\"} 1"));
  EXPECT_FALSE(taken("m{a=\"x\",a=\"y\"} 1"));
  EXPECT_FALSE(taken("m{a=x} 1"));
  EXPECT_FALSE(taken("m{a \"x\"} 1"));
  EXPECT_FALSE(taken("m{a=\"x} 1"));
  EXPECT_FALSE(taken("m{,} 1"));
  EXPECT_FALSE(taken("m"));
  EXPECT_FALSE(taken("{} 1"));
  EXPECT_FALSE(taken("m1 1")) << "another name";
}

}  // namespace
}  // namespace orrery::agent::exporter_bounds_tests
