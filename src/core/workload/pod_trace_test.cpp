#include "core/workload/pod_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace orrery::workload {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kPodHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

TEST(PodTrace, pod_row_is_read) {
  const auto pods =
      read_pods(std::string(kPodHead) + "p,100,200,1,300,V100M32|T4\nq,1,2,8,1000,\n", "p.csv");
  ASSERT_TRUE(pods) << to_text(pods.error());
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ((*pods)[0].cpu_milli, 100);
  EXPECT_EQ((*pods)[0].memory_mib, 200);
  EXPECT_EQ((*pods)[0].gpus, 1);
  EXPECT_EQ((*pods)[0].gpu_milli, 300);
  EXPECT_THAT((*pods)[0].models, testing::ElementsAre("V100M32", "T4"));
  EXPECT_TRUE((*pods)[1].models.empty());
}

TEST(PodTrace, invalid_pods_are_refused_with_their_line) {
  const auto what = [](const std::string& text) {
    const auto pods = read_pods(text, "p.csv");
    return pods ? "" : pods.error().front().what;
  };
  const std::string head = kPodHead;
  EXPECT_THAT(what(head + "p,-1,1,1,1000,\n"), HasSubstr("cpu_milli"));
  EXPECT_THAT(what(head + "p,1,3e9,1,1000,\n"), HasSubstr("memory_mib"));
  EXPECT_THAT(what(head + "p,1,1,2,500,\n"), Not(IsEmpty()));
  EXPECT_EQ(what(head + "p,1,1,2,1000,\n"), "");
  EXPECT_THAT(what(head), HasSubstr("no pods"));
  EXPECT_THAT(what("name,cpu_milli,memory_mib,num_gpu\np,1,1,1\n"), HasSubstr("gpu_milli"));
  EXPECT_TRUE(looks_like_pods(head));
  EXPECT_FALSE(looks_like_pods("submit,run,gpus\n"));
  EXPECT_FALSE(looks_like_pods("sn,cpu_milli,memory_mib,gpu,model\n")) << "nodes are no pods";
}

TEST(PodTrace, node_has_at_most_eight_gpus) {
  const std::string head = "sn,cpu_milli,memory_mib,gpu,model\n";
  const auto nodes = read_pod_nodes(head + "a,100,200,8,T4\n", "n.csv");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->front().gpus, 8);
  EXPECT_EQ(nodes->front().model, "T4");
  EXPECT_EQ(nodes->front().memory_mib, 200);
  EXPECT_FALSE(read_pod_nodes(head + "a,100,200,9,T4\n", "n.csv"));
  EXPECT_FALSE(read_pod_nodes("sn,cpu_milli,memory_mib,gpu\na,1,1,1\n", "n.csv"));
}

constexpr const char* kPodColumns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

TEST(PodTrace, pod_counts_are_bounded) {
  const std::string head = kPodColumns;
  const auto most = read_pods(head + "p,2000000000,0,0,0,\n", "p.csv");
  ASSERT_TRUE(most) << to_text(most.error());
  EXPECT_EQ(most->at(0).cpu_milli, 2'000'000'000);
  EXPECT_EQ(most->at(0).memory_mib, 0);
  EXPECT_FALSE(read_pods(head + "p,2000000001,0,0,0,\n", "p.csv"));
  EXPECT_FALSE(read_pods(head + "p,,0,0,0,\n", "p.csv"));
  EXPECT_TRUE(read_pods(head + "p,1,1,1,999,\n", "p.csv")) << "a part of one";
  const auto bad = read_pods(head + "p,1,1,1,1000,\nq,1,x,2,999,\n", "p.csv");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 2U);
  EXPECT_THAT(bad.error()[0].what, HasSubstr("memory_mib"));
  EXPECT_THAT(bad.error()[1].what, AllOf(HasSubstr("gpu_milli"), HasSubstr("1000")));
  EXPECT_EQ(bad.error()[1].place.line, 3);
  EXPECT_EQ(bad.error()[1].place.file, "p.csv");
  EXPECT_EQ(bad.error()[1].code, "trace.row");
}

TEST(PodTrace, malformed_pod_tables_are_refused) {
  const std::string torn = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1\n";
  EXPECT_FALSE(read_pods(torn, "p.csv"));
  EXPECT_FALSE(read_pods("", "p.csv"));
  EXPECT_FALSE(read_pod_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1\n", "n.csv"));
  const auto lacking = read_pods("name,memory_mib,gpu_milli\np,1,1\n", "p.csv");
  ASSERT_FALSE(lacking);
  ASSERT_EQ(lacking.error().size(), 2U);
  EXPECT_EQ(lacking.error()[0].what, "column cpu_milli is missing");
  EXPECT_EQ(lacking.error()[1].what, "column num_gpu is missing");
  EXPECT_EQ(lacking.error()[0].place.line, 1);
  EXPECT_FALSE(looks_like_pods("cpu_milli\ngpu_milli\n")) << "the first line alone says it";
  EXPECT_FALSE(looks_like_pods("gpu_milli\n"));
}

TEST(PodTrace, pod_node_rows_are_read) {
  const std::string head = "sn,cpu_milli,memory_mib,gpu,model\n";
  const auto nodes = read_pod_nodes(head + "a,100,200,3,T4\nb,300,400,0,\n", "n.csv");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[0].cpu_milli, 100);
  EXPECT_EQ((*nodes)[0].memory_mib, 200);
  EXPECT_EQ((*nodes)[0].gpus, 3);
  EXPECT_EQ((*nodes)[1].gpus, 0);
  EXPECT_EQ((*nodes)[1].model, "");
  const auto wide = read_pod_nodes(head + "a,1,2,8,T4\nb,1,2,9,T4\n", "n.csv");
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error()[0].what, HasSubstr("8"));
  EXPECT_EQ(wide.error()[0].place.line, 3);
}

}  // namespace
}  // namespace orrery::workload
