#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/server/assets.h"
#include "app/server/console.h"
#include "app/server/console_fixture.h"
#include "live/net/message.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using RoutesPageConsole = ConsoleTest;
using RoutesPagePage = ServerEdges;
using testing::HasSubstr;

// Users open this address: with the console it is the console's page, otherwise a page with the
// faults.
TEST_F(RoutesPagePage, a_design_with_faults_has_a_page) {
  const Response broken = asked("GET", "/");
  EXPECT_THAT(broken.content_type, HasSubstr("text/html"));
  if (has_console()) {
    EXPECT_EQ(broken.status, 200);
    EXPECT_THAT(header_in(broken, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
    return;
  }
  EXPECT_EQ(broken.status, 422);
  served = fail({.code = "file.unreadable", .what = "it went away"});
  const Response gone = asked("GET", "/");
  EXPECT_EQ(gone.status, 422);
  EXPECT_THAT(gone.body, HasSubstr("it went away"));
  served = ServedDesign{.file = "my.yaml",
                        .text =
                            "orrery: 1\nname: fine\nsite: { region: usa }\n"
                            "fleet: [{ name: n, node: dgx-h100, count: 2 }]\n"};
  const Response good = asked("GET", "/");
  EXPECT_EQ(good.status, 200);
}

TEST_F(RoutesPageConsole, machine_pages_have_their_content_type) {
  const Response health = ask("GET", "/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "{\"status\":\"ok\"}\n");
  const Response metrics = ask("GET", "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(metrics.body, HasSubstr("orrery_build_info{version=\"7.8\"} 1\n"));
  const Response contract = ask("GET", "/api/v1/openapi.yaml");
  EXPECT_EQ(contract.status, 200);
  EXPECT_EQ(contract.content_type, "application/yaml");
  EXPECT_EQ(contract.body, api_contract());
  EXPECT_THAT(contract.body, HasSubstr("openapi: 3"));
  for (const char* target : {"/api/v1/schema", "/api/v1/rules", "/api/v1/glossary",
                             "/api/v1/completions", "/api/v1/accuracy", "/api/v1/calc"}) {
    const Response r = ask("GET", target);
    EXPECT_EQ(r.status, 200) << target;
    EXPECT_EQ(r.content_type, "application/json") << target;
    EXPECT_TRUE(Json::accept(r.body)) << target;
  }
}

}  // namespace
}  // namespace orrery::server
