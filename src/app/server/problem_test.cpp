#include "app/server/problem.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/json_writer.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;

TEST(Problem, a_problem_has_status_and_diagnostics) {
  const Diagnostics faults = {
      {.code = "unit.none", .place = {"d.yaml", 3, 7}, .what = "w", .why = "y", .fix = "f"}};
  const Response r = refused_body(faults, "the design has errors");
  EXPECT_EQ(r.status, 422);
  const Json j = Json::parse(r.body);
  EXPECT_EQ(j["status"], 422);
  EXPECT_EQ(j["title"], "the design has errors");
  EXPECT_EQ(j["diagnostics"][0], Json({{"severity", "error"},
                                       {"code", "unit.none"},
                                       {"file", "d.yaml"},
                                       {"line", 3},
                                       {"column", 7},
                                       {"what", "w"},
                                       {"why", "y"},
                                       {"fix", "f"}}));
  EXPECT_EQ(refused_body({{.code = "body.field", .what = "w"}}, "t").status, 400);
}

}  // namespace
}  // namespace orrery::server
