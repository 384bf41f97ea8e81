// Routes and access rules as plain function calls; the sockets are in http_server_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/access.h"
#include "server/handlers.h"
#include "server/problem.h"

namespace orrery {
namespace {

using testing::HasSubstr;

Services services() {
  return {.review_page = [] { return Result<std::string>("<h1>review</h1>"); },
          .plan = [](std::string_view design) -> Result<std::string> {
            if (design == "good") return "{\"verdict\":true}";
            return fail({.code = "unit.missing",
                         .place = {"design.yaml", 3, 7},
                         .what = "no unit",
                         .why = "2 could be kW or MW",
                         .fix = "write 2 MW"});
          },
          .catalog = [](std::string_view path) -> std::optional<std::string> {
            if (path == "nodes/dgx-h100") return "{\"id\":\"dgx-h100\"}";
            return std::nullopt;
          }};
}

Response get(const std::string& target) { return handle({.target = target}, services()); }

TEST(Handlers, serve_the_review_and_health) {
  EXPECT_EQ(get("/").body, "<h1>review</h1>");
  EXPECT_EQ(get("/").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(get("/healthz").body, "{\"status\":\"ok\"}\n");
}

TEST(Handlers, plan_gives_the_verdict_or_all_diagnostics) {
  const Request good{.method = "POST", .target = "/api/v1/plan", .body = "good"};
  EXPECT_EQ(handle(good, services()).status, 200);
  EXPECT_EQ(handle(good, services()).content_type, "application/json");
  const Response bad =
      handle({.method = "POST", .target = "/api/v1/plan", .body = "bad"}, services());
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(bad.content_type, "application/problem+json");
  EXPECT_THAT(bad.body, HasSubstr("\"code\": \"unit.missing\""));
  EXPECT_THAT(bad.body, HasSubstr("\"line\": 3"));
  EXPECT_EQ(handle({.method = "POST", .target = "/api/v1/plan", .body = "\xff"}, services()).status,
            400);
}

TEST(Handlers, catalog_finds_parts_and_nothing_else) {
  EXPECT_EQ(get("/api/v1/catalog/nodes/dgx-h100").status, 200);
  for (const char* none :
       {"/api/v1/catalog/nodes/none", "/api/v1/catalog/../../etc/passwd", "/api/v1/catalogue",
        "/api/v1/catalog/%2e%2e/%2e%2e/etc/passwd", "/../etc/passwd", "/etc/passwd", "//", "",
        "/api/v2/plan", "/api/v1/catalog/nodes/dgx-h100\\..\\x"}) {
    EXPECT_EQ(get(none).status, 404) << none;
  }
}

TEST(Handlers, name_the_method_an_address_takes) {
  const Response wrong = get("/api/v1/plan");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.front(), std::pair("Allow" + std::string(), std::string("POST")));
  EXPECT_EQ(handle({.method = "DELETE", .target = "/"}, services()).status, 405);
}

constexpr int kPort = 8117;
const AccessRules kRules{.port = kPort, .token = "0123456789abcdef"};

Request ours(const std::string& target) { return {.target = target, .host = "127.0.0.1:8117"}; }

int status_of(const Request& request) {
  const std::optional<Response> answer = check_access(request, kRules);
  return answer ? answer->status : 200;
}

TEST(Access, the_first_url_trades_the_token_for_a_cookie) {
  EXPECT_EQ(first_url(kRules), "http://127.0.0.1:8117/?token=0123456789abcdef");
  const auto welcome = check_access(ours("/?token=0123456789abcdef"), kRules);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, 303);
  Request next = ours("/");
  next.cookie = "other=1; orrery_8117=0123456789abcdef";
  EXPECT_EQ(status_of(next), 200);
}

TEST(Access, refuses_without_the_token) {
  EXPECT_EQ(status_of(ours("/")), 401);
  EXPECT_EQ(status_of(ours("/?token=0123456789abcdee")), 401);
  EXPECT_EQ(status_of(ours("/?token=")), 401);
  EXPECT_EQ(status_of(ours("/api/v1/plan?token=0123456789abcdef")), 401);
  Request cookie = ours("/");
  cookie.cookie = "orrery_8118=0123456789abcdef";
  EXPECT_EQ(status_of(cookie), 401);
  Request script = ours("/api/v1/plan");
  script.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(status_of(script), 200);
  EXPECT_EQ(status_of(ours("/healthz")), 200);
}

TEST(Access, an_empty_secret_lets_nobody_in) {
  EXPECT_TRUE(check_access(ours("/?token="), {.port = kPort, .token = ""}));
}

TEST(Access, refuses_foreign_hosts_and_origins_even_with_the_token) {
  for (const char* host : {"evil.example", "evil.example:8117", "127.0.0.1", "127.0.0.1:80", "",
                           "127.0.0.1:8117.evil.example"}) {
    Request request = ours("/healthz");
    request.host = host;
    EXPECT_EQ(status_of(request), 421) << host;
  }
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1:8117",
                             "http://127.0.0.1:3000", "http://127.0.0.1:8117.evil.example"}) {
    Request request = ours("/");
    request.authorization = "Bearer 0123456789abcdef";
    request.origin = origin;
    EXPECT_EQ(status_of(request), 403) << origin;
  }
  Request same = ours("/");
  same.host = "localhost:8117";
  same.origin = "http://localhost:8117";
  same.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(status_of(same), 200);
}

}  // namespace
}  // namespace orrery
