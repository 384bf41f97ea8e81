#include "app/server/served_files.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/console.h"
#include "app/server/console_fixture.h"
#include "core/base/json_writer.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::server::served_files_tests {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// Returns a day of carbon by the hour.
std::string hours(double carbon) {
  std::string text = "day,hour,carbon_g_per_kwh\n";
  for (int h = 0; h < 24; ++h) {
    text += "1," + std::to_string(h) + ',' + std::to_string(carbon + h) + '\n';
  }
  return text;
}

std::string design_with(const std::string& file) {
  return "orrery: 1\nname: sunny\nsite: { region: deu, hours: " + file +
         " }\nfleet: [{ name: n, node: dgx-h100, count: 4 }]\n"
         "workloads: [{ jobs: { name: all, rate: 2 /h, mean_duration: 1 h, sizes: [1] } }]\n";
}

class ServedFilesTest : public testing::Test {
 protected:
  void open(const std::string& text) {
    served = text;
    ConsoleSetting setting{.models = machine::known(), .version = "0"};
    setting.served = [this] {
      return Result<ServedDesign>(ServedDesign{.file = "my.yaml", .text = served});
    };
    setting.save = [this](const std::string& saved) -> Result<void> {
      served = saved;
      return {};
    };
    setting.read_file = [this](std::string_view name) -> Result<std::string> {
      read.emplace_back(name);
      const auto found = disk.find(std::string(name));
      if (found == disk.end()) return fail({.code = "file.missing", .what = "no such file"});
      return found->second;
    };
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
  }
  Response ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    return console->answer({.method = method,
                            .target = target,
                            .headers = {{"Host", "127.0.0.1:1"}, {"Authorization", "Bearer t"}},
                            .body = body},
                           {.port = 1, .token = "t"});
  }
  Response plan(const std::string& design) { return ask("POST", "/api/v1/plan", design); }
  static std::string body_of(const std::string& design, const std::string& more = {}) {
    return "{\"design\":" + json_escaped(design) + more + "}";
  }
  Json ended(const std::string& id) {
    for (int i = 0; i < 30'000; ++i) {
      Json job = Json::parse(ask("GET", "/api/v1/jobs/" + id).body);
      if (job["state"] == "done" || job["state"] == "failed") return job;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }

  std::string served;
  std::map<std::string, std::string> disk = {
      {"hours.csv", hours(100)}, {"other.csv", hours(300)}, {"/etc/hours.csv", hours(500)}};
  std::vector<std::string> read;  // names, in order
  std::unique_ptr<Console> console;
};

TEST_F(ServedFilesTest, files_of_the_served_design_reach_every_route) {
  const std::string text = design_with("hours.csv");
  open(text);
  EXPECT_EQ(plan(text).status, 200) << plan(text).body;
  const std::string more = text + "goals: [carbon <= 600 t]\n";
  EXPECT_EQ(plan(more).status, 200);
  EXPECT_EQ(
      ask("POST", "/api/v1/edit", body_of(text, R"(,"path":"fleet[0].count","value":"8")")).status,
      200);
  EXPECT_EQ(ask("POST", "/api/v1/hall", body_of(text)).status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/prices", body_of(text)).status, 200);
  const std::string two = R"({"name":"a","text":)" + json_escaped(text) +
                          R"(},{"name":"b","text":)" + json_escaped(more) + "}";
  const Response compared =
      ask("POST", "/api/v1/compare", R"({"same_workloads":true,"designs":[)" + two + "]}");
  EXPECT_EQ(compared.status, 200) << compared.body;
  const Response run =
      ask("POST", "/api/v1/runs", body_of(text, R"(,"span":"2 d","replications":1)"));
  EXPECT_EQ(run.status, 202) << run.body;
}

TEST_F(ServedFilesTest, other_file_names_are_not_read) {
  open(design_with("hours.csv"));
  for (const char* name : {"other.csv", "/etc/hours.csv", "./hours.csv", "../hours.csv",
                           "x/../hours.csv", "HOURS.CSV"}) {
    read.clear();
    const Response refused = plan(design_with(name));
    EXPECT_EQ(refused.status, 422) << name;
    EXPECT_THAT(refused.body, HasSubstr("design.no-files")) << name;
    EXPECT_TRUE(read.empty()) << name << " was read as " << read.front();
  }
}

TEST_F(ServedFilesTest, the_sample_has_no_files) {
  open("orrery: 1\nname: plain\nsite: { region: deu }\n");
  EXPECT_EQ(plan(design_with("hours.csv")).status, 422);
  EXPECT_TRUE(read.empty());
}

TEST_F(ServedFilesTest, saving_a_file_name_does_not_open_it) {
  const std::string before = design_with("hours.csv");
  open(before);
  const auto save = [this](const std::string& text, const std::string& old) {
    return ask("POST", "/api/v1/save",
               "{\"text\":" + json_escaped(text) + ",\"before\":" + json_escaped(old) + "}");
  };
  const std::string hostile = design_with("/etc/hours.csv");
  ASSERT_EQ(save(hostile, before).status, 200);
  EXPECT_EQ(plan(hostile).status, 422);
  (void)ask("GET", "/api/v1/session");
  (void)ask("GET", "/");
  EXPECT_THAT(read, Not(testing::Contains("/etc/hours.csv")));
  const std::string next = hostile + "# again\n";
  ASSERT_EQ(save(next, hostile).status, 200);
  EXPECT_EQ(plan(next).status, 422);
  EXPECT_EQ(plan(before).status, 200);
}

TEST_F(ServedFilesTest, a_name_added_on_disk_is_allowed) {
  open(design_with("hours.csv"));
  EXPECT_EQ(plan(design_with("other.csv")).status, 422);
  served = design_with("other.csv");
  EXPECT_EQ(plan(design_with("other.csv")).status, 200);
  served = "orrery: 1\nname: [half";
  EXPECT_EQ(plan(design_with("other.csv")).status, 200);
}

TEST_F(ServedFilesTest, a_changed_file_changes_the_review) {
  const std::string text = design_with("hours.csv");
  open(text);
  const std::string before = plan(text).body;
  disk["hours.csv"] = hours(900);
  EXPECT_NE(plan(text).body, before);
  disk.erase("hours.csv");
  EXPECT_EQ(plan(text).status, 422);
}

TEST_F(ServedFilesTest, a_run_keeps_its_files) {
  const std::string text = design_with("hours.csv");
  open(text);
  const Response started =
      ask("POST", "/api/v1/runs", body_of(text, R"(,"span":"2 d","replications":1)"));
  ASSERT_EQ(started.status, 202) << started.body;
  const std::string id = Json::parse(started.body)["id"];
  disk.clear();
  served = "orrery: 1\nname: other\n";
  EXPECT_EQ(ended(id)["state"], "done");
  EXPECT_EQ(ask("GET", "/api/v1/runs/" + id + "/hall").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/runs/" + id + "/timeline").status, 200);
}

TEST_F(ServedFilesTest, a_request_cannot_bring_files) {
  open(design_with("hours.csv"));
  const std::string files = R"(,"files":{"mine.csv":)" + json_escaped(hours(1)) + "}";
  EXPECT_EQ(ask("POST", "/api/v1/runs", body_of(design_with("mine.csv"), files)).status, 400);
  EXPECT_EQ(ask("POST", "/api/v1/jobs",
                body_of(design_with("mine.csv"), files + R"(,"kind":"search-layout")"))
                .status,
            400);
}

// The price of an edit is the cost per year after it, less the cost before it.
TEST_F(ServedFilesTest, edit_prices_are_differences_of_reviews) {
  const std::string pod(design_text::find_template("inference-pod")->text);
  open(pod);
  const std::string hot = R"(,"path":"site.cooling","value":"air-perimeter")";
  const std::string text = Json::parse(ask("POST", "/api/v1/edit", body_of(pod, hot)).body)["text"];
  const Json verdict = Json::parse(plan(text).body);
  const Json prices = Json::parse(ask("POST", "/api/v1/prices", body_of(text)).body);
  EXPECT_EQ(prices["digest"], verdict["digest"]);
  const auto annual = [](const Json& v) {
    for (const Json& s : v["sections"]) {
      if (s["layer"] == "cost") return s["figures"]["annual_usd_per_year"]["value"].get<double>();
    }
    return 0.0;
  };
  std::size_t offered = 0;
  for (const Json& finding : verdict["findings"]) offered += finding.contains("edit");
  ASSERT_GT(offered, 0u);
  ASSERT_EQ(prices["edits"].size(), offered);
  for (const Json& edit : prices["edits"]) {
    const std::string change =
        ",\"path\":" + edit["path"].dump() + ",\"value\":" + edit["value"].dump();
    const Json after = Json::parse(ask("POST", "/api/v1/edit", body_of(text, change)).body);
    const double cost = annual(Json::parse(plan(after["text"].get<std::string>()).body));
    EXPECT_NEAR(edit["cost_usd_per_year"].get<double>(), cost - annual(verdict), 1e-6 * cost);
  }
}

}  // namespace
}  // namespace orrery::server::served_files_tests
