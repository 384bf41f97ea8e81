// Slurm's answers on either side of what they may be: how many hosts a list has, how often a job
// began again, rows that stand twice, and every word of a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/agent/exporter_slurm.h"
#include "live/agent/slurm_parse.h"

namespace orrery::agent::slurm_bounds_tests {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::string slurm_fault(const Diagnostics& faults) {
  const Diagnostic& d = faults.front();
  return d.code + '|' + d.place.file + '|' + d.what + '|' + d.why + '|' + d.fix;
}

TEST(SlurmBounds, a_list_has_two_hundred_thousand_hosts_at_most) {
  EXPECT_THAT(expand_hosts("n[1-200000]").value(), SizeIs(200'000));
  EXPECT_FALSE(expand_hosts("n[1-200001]"));
  EXPECT_FALSE(expand_hosts("n[1-200000],m"));
  EXPECT_THAT(expand_hosts("n[0-2]").value(), ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(expand_hosts("n[098-101]x").value(), ElementsAre("n098x", "n099x", "n100x", "n101x"));
}

TEST(SlurmBounds, a_job_began_again_a_thousand_million_times_at_most) {
  EXPECT_EQ(parse_jobs("1;RUNNING;1000000000;1;N/A;N/A;n1;None;\n").value().front().restarts,
            1'000'000'000);
  EXPECT_FALSE(parse_jobs("1;RUNNING;1000000001;1;N/A;N/A;n1;None;\n"));
  EXPECT_EQ(parse_jobs("1;RUNNING;0;1;N/A;N/A;n1;None\n").value().front().restarts, 0)
      << "eight fields are a row";
  EXPECT_FALSE(parse_jobs("1;RUNNING;0;1;N/A;N/A;n1\n")) << "and seven are none";
}

TEST(SlurmBounds, of_rows_that_stand_twice_the_first_counts) {
  const auto jobs = parse_jobs(
      "9;RUNNING;1;1;N/A;N/A;n1;None;\n10;RUNNING;2;1;N/A;N/A;n2;None;\n"
      "9;FAILED;3;1;N/A;N/A;n3;None;\n");
  ASSERT_TRUE(jobs);
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ((*jobs)[0].id, "10") << "in the order of their letters";
  EXPECT_EQ((*jobs)[1].id, "9");
  EXPECT_EQ((*jobs)[1].restarts, 1);
  const auto nodes = parse_nodes("b;idle;x;\na;down;x;\nb;down;x;\n");
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(failure::NodeView{.name = "a", .down = true},
                                  failure::NodeView{.name = "b"}));
}

TEST(SlurmBounds, lines_that_are_no_rows_of_nodes_are_passed_over) {
  const auto nodes = parse_nodes("a;idle;one\n;idle;two;\nrest of a reason\nb;idle\n\n");
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(failure::NodeView{.name = "a"}));
  EXPECT_EQ(parse_nodes("n; IDLE+DRAIN ;  spare;\n").value().front(),
            (failure::NodeView{.name = "n", .drained = true, .spare = true}))
      << "in any case, with blanks around";
  EXPECT_EQ(
      parse_nodes("n;drain;kept;\nm;drain;bad disk;\n", {.spare = "kept", .broken = "bad"}).value(),
      (std::vector<failure::NodeView>{{.name = "m", .drained = true, .broken = true},
                                      {.name = "n", .drained = true, .spare = true}}));
}

TEST(SlurmBounds, a_fault_quotes_the_line_and_names_the_program) {
  const std::string rest =
      " is not in the form asked for|check that the client programs are of Slurm 22.05 or later";
  EXPECT_EQ(slurm_fault(parse_jobs("7;RUNNING\n").error()),
            "slurm.output|squeue|cannot read this line: 7;RUNNING|the answer of squeue" + rest);
  EXPECT_EQ(slurm_fault(parse_nodes("").error()),
            "slurm.output|sinfo|cannot read this line: (no nodes)|the answer of sinfo" + rest);
  EXPECT_EQ(slurm_fault(parse_nodes("n;;x;\n").error()),
            "slurm.output|sinfo|cannot read this line: n;;x;|the answer of sinfo" + rest);
  EXPECT_EQ(slurm_fault(expand_hosts("n[").error()),
            "slurm.output|host list|cannot read this line: n[|the answer of host list" + rest);
  Diagnostics faults;
  EXPECT_TRUE(parse_sinfo("half a line\n", faults).empty());
  EXPECT_EQ(slurm_fault(faults),
            "slurm.output|sinfo|cannot read this line: half a line|it is left out of the metrics|"
            "check that the client programs are of Slurm 22.05 or later");
  EXPECT_EQ(faults.front().severity, Severity::warning);
}

TEST(SlurmBounds, each_digit_of_a_time_counts) {
  // 2001-09-09T01:46:40 is a thousand million seconds after 1970.
  EXPECT_EQ(parse_slurm_time("2001-09-09T01:46:40").base(), 1e9);
  EXPECT_EQ(parse_slurm_time("2011-09-09T01:46:40").base() - 1e9, 3652 * 86'400.0);
  EXPECT_EQ(parse_slurm_time("2001-10-09T01:46:40").base() - 1e9, 30 * 86'400.0);
  EXPECT_EQ(parse_slurm_time("2001-09-19T01:46:40").base() - 1e9, 10 * 86'400.0);
  EXPECT_EQ(parse_slurm_time("2001-09-09T11:46:40").base() - 1e9, 36'000);
  EXPECT_EQ(parse_slurm_time("2001-09-09T01:56:40").base() - 1e9, 600);
  EXPECT_EQ(parse_slurm_time("2001-09-09T01:46:59").base() - 1e9, 19);
  for (const char* none : {"2001-09-09T01:46:4", "2001-09-09T01:46:400", "2001-09-09 01:46:40",
                           "2001-09-09T01-46:40", "2001-09-09T01:46.40", "2001-09-0:T01:46:40",
                           "2001-09-0/T01:46:40", "2001-00-09T01:46:40"}) {
    EXPECT_EQ(parse_slurm_time(none), Seconds()) << none;
  }
}

// Of twelve GPUs on five nodes a node has three: it takes the larger part.
TEST(SlurmBounds, gpus_of_a_job_are_shared_by_its_nodes) {
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
  EXPECT_EQ(per_node("5", "gres:gpu:2", "gres:gpu:16"), 2) << "what is said of a node goes first";
  EXPECT_EQ(per_node("0", "N/A", "gres:gpu:4"), 4) << "of no nodes yet one is meant";
  EXPECT_EQ(per_node("5", "N/A", "N/A"), 0);
  EXPECT_EQ(per_node("-1", "N/A", "N/A"), -1);
}

}  // namespace
}  // namespace orrery::agent::slurm_bounds_tests
