#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/served_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"
#include "live/net/client.h"
#include "live/net/test_socket.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

// One family per planned value, one sample per bound, with the label of the workload.
TEST_F(ServingVerbs, planned_metrics_have_bounds) {
  const VerbAnswer a = spoken({"exporter", design(), "--once"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("\n# TYPE orrery_plan_checkpoint_interval_seconds gauge\n"));
  for (const char* bound : {"low", "value", "high"}) {
    EXPECT_THAT(a.out, HasSubstr("orrery_plan_checkpoint_interval_seconds{bound=\"" +
                                 std::string(bound) + "\",workload=\"tune\"} 1800\n"));
  }
  EXPECT_THAT(a.out,
              HasSubstr("\norrery_plan_useful_units_per_second{bound=\"low\",workload=\"tune\"} "));
  EXPECT_THAT(a.out, HasSubstr("orrery_exporter_info{design=\"small\",digest=\""));
  EXPECT_THAT(a.out, HasSubstr("orrery_exporter_source_up{source=\"plan\"} 1\n"));
  std::istringstream lines(a.out);
  std::vector<std::string> helps;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) helps.push_back(line);
  }
  std::ranges::sort(helps);
  EXPECT_EQ(std::ranges::adjacent_find(helps), helps.end());
  EXPECT_EQ(spoken({"exporter", folder.at("none.yaml"), "--once"}).code, ExitCode::bad_input);
}

TEST_F(ServingVerbs, probes_and_node_files_are_exported) {
  folder.write("probe.csv",
               "id,unit,value,low,high,repeats,label\n"
               "sequential_read,bytes_per_s,7e9,6e9,8e9,3,x\n");
  folder.write(
      "files/n1.prom",
      "orrery_measured_step_time_seconds{workload=\"tune\",rank=\"1\",node=\"n1\"} 0.875\n");
  const VerbAnswer a =
      spoken({"exporter", design(), "--once", "--probe", "hot=" + folder.at("probe.csv"),
              "--node-files", folder.at("files")});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, AllOf(HasSubstr("{op=\"read\",tier=\"hot\"} 7e+09\n"), HasSubstr(" 0.875\n")));
  EXPECT_THAT(a.out, HasSubstr("orrery_exporter_source_up{source=\"probe\"} 1\n"));
  const VerbAnswer gone =
      spoken({"exporter", design(), "--once", "--probe", "hot=" + folder.at("none.csv")});
  EXPECT_THAT(gone.out, HasSubstr("orrery_exporter_source_up{source=\"probe\"} 0\n"));
  EXPECT_THAT(gone.err, HasSubstr("none.csv"));
}

TEST_F(ServingVerbs, http_serves_metrics_only) {
  VerbBeside exporter({"exporter", design(), "--port", "0"});
  const std::string at = exporter.first_line();
  ASSERT_THAT(at, MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/metrics"));
  const std::string root = at.substr(0, at.rfind('/'));
  net::Client client;
  const net::Reply metrics = client.ask({.url = at});
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(metrics.body, HasSubstr("orrery_plan_checkpoint_interval_seconds"));
  const net::Reply front = client.ask({.url = root + "/"});
  EXPECT_EQ(front.status, 200);
  EXPECT_THAT(front.body, HasSubstr("/metrics"));
  const net::Reply none = client.ask({.url = root + "/nothing"});
  EXPECT_EQ(none.status, 404);
  const net::Reply put = client.ask({.method = "POST", .url = at, .body = "x"});
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.header("allow"), "GET");
  EXPECT_EQ(client.ask({.method = "HEAD", .url = at}).status, 200);
  const net::Reply other = client.ask({.url = at, .headers = {{"Host", "example.org"}}});
  EXPECT_GE(other.status, 400);
  const VerbAnswer ended = exporter.end();
  EXPECT_EQ(ended.code, ExitCode::good);
}

}  // namespace
}  // namespace orrery::cli
