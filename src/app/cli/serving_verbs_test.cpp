// `orrery exporter` and `orrery serve`: what they print, answer and leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "app/server/assets.h"
#include "live/agent/test_folder.h"
#include "live/net/client.h"
#include "live/net/test_socket.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr const char* kServedDesign = R"(
orrery: 1
name: small
site: { region: usa, power: 100 kW, cooling: rear-door-active, rack: 44 kW }
fleet: [{ name: train, node: dgx-h100, count: 2 }]
fabric: { compute: { topology: rail-fat-tree, switch: qm9700 } }
storage:
  - { tier: hot, kind: parallel-fs, servers: 2, read: 20 GB/s, write: 10 GB/s, capacity: 100 TB }
workloads:
  - train: { name: tune, model: llama-3-8b, tokens: 1B, sequence: 4096, batch: 64,
             layout: { tp: 1, pp: 1 }, checkpoint: { every: 30 min, to: [hot] } }
)";

class ServingVerbs : public testing::Test {
 protected:
  ServingVerbs() { folder.write("d.yaml", kServedDesign); }
  std::string design() const { return folder.at("d.yaml"); }

  agent::TestFolder folder;
};

// One family a planned value, one sample a bound, and the workload beside it.
TEST_F(ServingVerbs, an_exporter_prints_the_plan_with_its_bounds) {
  const VerbAnswer a = spoken({"exporter", design(), "--once"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("# HELP orrery_plan_checkpoint_interval_seconds Time between two "
                               "saves. As planned.\n"
                               "# TYPE orrery_plan_checkpoint_interval_seconds gauge\n"));
  for (const char* bound : {"low", "value", "high"}) {
    EXPECT_THAT(a.out, HasSubstr("orrery_plan_checkpoint_interval_seconds{bound=\"" +
                                 std::string(bound) + "\",workload=\"tune\"} 1800\n"));
  }
  EXPECT_THAT(a.out, HasSubstr("# HELP orrery_plan_useful_units_per_second Tokens or samples a "
                               "second, at goodput. As planned.\n"));
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
  EXPECT_EQ(std::ranges::adjacent_find(helps), helps.end()) << "a family stands once";
  EXPECT_EQ(spoken({"exporter", folder.at("none.yaml"), "--once"}).code, ExitCode::bad_input);
}

TEST_F(ServingVerbs, an_exporter_reads_probes_and_node_files) {
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

TEST_F(ServingVerbs, an_exporter_answers_at_its_address_only_what_it_has) {
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
  EXPECT_EQ(front.body, "The metrics are at /metrics.\n");
  const net::Reply none = client.ask({.url = root + "/nothing"});
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.body, "Only /metrics is served here.\n");
  const net::Reply put = client.ask({.method = "POST", .url = at, .body = "x"});
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.header("allow"), "GET");
  EXPECT_EQ(client.ask({.method = "HEAD", .url = at}).status, 200);
  const net::Reply other = client.ask({.url = at, .headers = {{"Host", "example.org"}}});
  EXPECT_GE(other.status, 400) << "a name that leads here by somebody else's wish";
  const VerbAnswer ended = exporter.end();
  EXPECT_EQ(ended.code, ExitCode::good);
  EXPECT_EQ(ended.err, "Ctrl-C ends it.\n");
}

class ServeVerb : public ServingVerbs {
 protected:
  std::string save_body(const char* text) const {
    return nlohmann::json{{"text", text}, {"before", read_text_file(design()).value_or("")}}.dump();
  }
  std::vector<std::string> serve(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"serve", "--port", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Of the address that was printed: what stands before the token, and the token.
  static std::pair<std::string, std::string> parts(const std::string& line) {
    const std::size_t at = line.find("/?token=");
    return at == line.npos ? std::pair(line, std::string())
                           : std::pair(line.substr(0, at), line.substr(at + 8));
  }
  static net::Reply get(const std::string& line, const std::string& path,
                        const std::string& method = "GET", std::string_view body = {}) {
    const auto [root, token] = parts(line);
    net::HeaderList headers = {{"Authorization", "Bearer " + token}};
    if (!body.empty()) headers.push_back({"Content-Type", "application/json"});
    return net::Client().ask(
        {.method = method, .url = root + path, .headers = headers, .body = body});
  }
};

TEST_F(ServeVerb, serves_the_design_behind_a_token_of_32_digits) {
  VerbBeside served(serve({design(), "--state", ":memory:"}));
  const std::string line = served.first_line();
  ASSERT_THAT(line, MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/\\?token=[0-9a-f]{32}"));
  const net::Reply session = get(line, "/api/v1/session");
  EXPECT_EQ(session.status, 200) << session.body;
  EXPECT_THAT(session.body,
              AllOf(HasSubstr("\"sample\": false"), HasSubstr("\"small\""), HasSubstr(design())));
  EXPECT_EQ(net::Client().ask({.url = parts(line).first + "/api/v1/session"}).status, 401);
  EXPECT_THAT(get(line, "/api/v1/catalog/nodes/dgx-h100").body,
              AllOf(HasSubstr("\"table\": \"nodes\""), HasSubstr("\"dgx-h100\"")));
  EXPECT_EQ(get(line, "/api/v1/catalog/nodes/nosuch").status, 404);
  EXPECT_EQ(get(line, "/api/v1/catalog/--format").status, 404);
  // What is saved takes the file's place, with its rights.
  ::chmod(design().c_str(), 0640);
  const net::Reply saved = get(line, "/api/v1/save", "POST", save_body("orrery: 1\nname: new\n"));
  EXPECT_EQ(saved.status, 200) << saved.body;
  EXPECT_EQ(read_text_file(design()).value_or(""), "orrery: 1\nname: new\n");
  struct stat status = {};
  ::stat(design().c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_FALSE(std::filesystem::exists(design() + ".new"));
  const VerbAnswer ended = served.end();
  EXPECT_EQ(ended.code, ExitCode::good);
  EXPECT_THAT(ended.err,
              AllOf(StartsWith((server::has_console() ? "The console with " : "The review of ") +
                               design() + " is at\n"),
                    HasSubstr("Ctrl-C ends it.\n"), HasSubstr("Served; goodbye.\n")));
}

TEST_F(ServeVerb, without_a_name_the_sample_is_served_and_cannot_be_saved) {
  const Variable state("XDG_STATE_HOME", folder.at("state"));
  VerbBeside served(serve({}));
  const std::string line = served.first_line();
  const net::Reply session = get(line, "/api/v1/session");
  EXPECT_THAT(session.body, AllOf(HasSubstr("\"sample\": true"), HasSubstr("superpod-h100.yaml")));
  const net::Reply saved = get(line, "/api/v1/save", "POST", save_body("orrery: 1\nname: new\n"));
  EXPECT_EQ(saved.status, 409);
  EXPECT_THAT(served.end().err, HasSubstr("the sample design is at\n"));
  EXPECT_TRUE(std::filesystem::exists(folder.at("state/orrery/jobs.db")));
}

TEST_F(ServeVerb, jobs_are_kept_where_the_home_is_or_in_memory) {
  const Variable none("XDG_STATE_HOME", "not/absolute");
  {
    const Variable home("HOME", folder.at("home"));
    VerbBeside served(serve({design()}));
    EXPECT_THAT(served.first_line(), StartsWith("http://"));
    EXPECT_THAT(served.end().err, Not(HasSubstr("memory")));
    EXPECT_TRUE(std::filesystem::exists(folder.at("home/.local/state/orrery/jobs.db")));
  }
  const Variable home("HOME", "/dev/null");
  VerbBeside served(serve({design()}));
  EXPECT_THAT(served.first_line(), StartsWith("http://"));
  EXPECT_THAT(served.end().err, HasSubstr("Jobs of this server are kept in memory only.\n"));
  const VerbAnswer named = spoken(serve({design(), "--state", "/dev/null/x"}));
  EXPECT_EQ(named.code, ExitCode::bad_input) << "one that was named must do";
}

TEST_F(ServeVerb, listens_at_the_port_that_was_named) {
  const std::string port = std::to_string(net::free_port());
  VerbBeside served({"serve", design(), "--port", port, "--state", ":memory:"});
  EXPECT_THAT(served.first_line(), StartsWith("http://127.0.0.1:" + port + "/?token="));
}

TEST_F(ServeVerb, refuses_a_design_that_is_not_there_and_a_store_that_is_no_address) {
  const VerbAnswer gone = spoken(serve({folder.at("none.yaml")}));
  EXPECT_EQ(gone.code, ExitCode::bad_input);
  EXPECT_THAT(gone.err, HasSubstr("[file.unreadable]"));
  const VerbAnswer store = spoken(serve({design(), "--store", "ftp://x"}));
  EXPECT_EQ(store.code, ExitCode::bad_input);
  EXPECT_THAT(store.err, HasSubstr("[s3.endpoint]"));
}

}  // namespace
}  // namespace orrery::cli
