#include "app/server/job.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/server/job_board.h"
#include "app/server/json_body.h"
#include "core/base/json_writer.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

TEST(Job, json_has_time_left_while_running) {
  Job job{.id = 1, .state = JobState::running, .created_ms = 0};
  job.updated_ms = 1'709'210'096'000;  // the leap day of 2024
  job.candidates = 4, job.done = 3, job.remaining_s = 2.5, job.result = "{\"a\":1}";
  job.problem = "{\"b\":2}";
  const Json running = Json::parse(job_json(job, JobDetail::full));
  EXPECT_EQ(running["remaining_s"], 2.5);
  EXPECT_EQ(running["progress_ratio"], 0.75);
  EXPECT_EQ(running["created"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(running["updated"], "2024-02-29T12:34:56Z");
  EXPECT_EQ(running["result"], Json({{"a", 1}}));
  EXPECT_EQ(running["problem"], Json({{"b", 2}}));
  EXPECT_TRUE(running["best"].is_null());
  EXPECT_TRUE(Json::parse(job_json(job, JobDetail::brief))["result"].is_null());
  job.state = JobState::done;
  const Json done = Json::parse(job_json(job, JobDetail::full));
  EXPECT_TRUE(done["remaining_s"].is_null());
  EXPECT_EQ(done["progress_ratio"], 1);
}

TEST(Job, json_has_the_fields_of_the_contract) {
  const Job job{.id = 7, .task = "t", .created_ms = 1'763'184'173'000, .candidates = 4, .done = 1};
  EXPECT_EQ(job_json(job, JobDetail::full),
            R"({"schema_version":1,"kind":"job","id":"7","task":"t","title":"","state":"queued",)"
            R"("created":"2025-11-15T05:22:53Z","updated":"1970-01-01T00:00:00Z",)"
            R"("progress_ratio":0.25,"candidates":4,"done":1,"evaluated":0,"remaining_s":null,)"
            R"("best":null,"result":null,"problem":null})");
}

}  // namespace
}  // namespace orrery::server
