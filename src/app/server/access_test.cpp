#include "app/server/access.h"

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "app/server/console.h"
#include "app/server/console_fixture.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "live/net/client.h"
#include "live/net/running_server_fixture.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using AccessRoute = RouteTest;
using testing::HasSubstr;

constexpr int kPort = 8117;
const AccessRules kAccess{.port = kPort, .token = "0123456789abcdef"};

Request from(const std::string& host, const std::string& target, net::HeaderList more = {}) {
  more.emplace_back("Host", host);
  return {.target = target, .headers = std::move(more)};
}

Request ours(const std::string& target, net::HeaderList more = {}) {
  return from("127.0.0.1:8117", target, std::move(more));
}

int status_of(const Request& request) {
  const std::optional<Response> answer = check_access(request, kAccess);
  return answer ? answer->status : 200;
}

TEST(Access, the_first_url_trades_the_token_for_a_cookie) {
  EXPECT_EQ(first_url(kAccess), "http://127.0.0.1:8117/?token=0123456789abcdef");
  const auto welcome = check_access(ours("/?token=0123456789abcdef"), kAccess);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, 303);
  const std::string cookies = "other=1; orrery_8117=0123456789abcdef";
  EXPECT_EQ(status_of(ours("/", {{"Cookie", cookies}})), 200);
}

TEST(Access, requests_without_the_token_are_refused) {
  EXPECT_EQ(status_of(ours("/")), 401);
  EXPECT_EQ(status_of(ours("/?token=0123456789abcdee")), 401);
  EXPECT_EQ(status_of(ours("/?token=")), 401);
  EXPECT_EQ(status_of(ours("/api/v1/plan?token=0123456789abcdef")), 401);
  EXPECT_EQ(status_of(ours("/", {{"Cookie", "orrery_8118=0123456789abcdef"}})), 401);
  EXPECT_EQ(status_of(ours("/api/v1/plan", {{"Authorization", "Bearer 0123456789abcdef"}})), 200);
  EXPECT_EQ(status_of(ours("/healthz")), 200);
}

TEST(Access, duplicate_host_or_origin_is_refused) {
  const std::string token = "Bearer 0123456789abcdef";
  for (const char* name : {"Host", "host", "HOST"}) {
    for (const char* other : {"evil.example", "127.0.0.1:8117"}) {
      EXPECT_EQ(status_of(ours("/healthz", {{name, other}})), 400) << name << other;
    }
  }
  EXPECT_EQ(status_of(ours("/api/v1/plan", {{"Authorization", token},
                                            {"Origin", "http://127.0.0.1:8117"},
                                            {"origin", "http://evil.example"}})),
            400);
}

TEST(Access, a_busy_server_sends_retry_after) {
  const Response busy = browser_options().refusal(503, "busy");
  EXPECT_EQ(net::header_of(busy.headers, "retry-after"), "1");
  EXPECT_EQ(net::header_of(browser_options().refusal(400, "x").headers, "retry-after"), "");
}

TEST(Access, an_empty_secret_is_refused) {
  EXPECT_TRUE(check_access(ours("/?token="), {.port = kPort, .token = ""}));
}

TEST(Access, foreign_hosts_and_origins_are_refused) {
  for (const char* host : {"evil.example", "evil.example:8117", "127.0.0.1", "127.0.0.1:80", "",
                           "127.0.0.1:8117.evil.example"}) {
    EXPECT_EQ(status_of(from(host, "/healthz")), 421) << host;
  }
  const std::string token = "Bearer 0123456789abcdef";
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1:8117",
                             "http://127.0.0.1:3000", "http://127.0.0.1:8117.evil.example"}) {
    EXPECT_EQ(status_of(ours("/", {{"Authorization", token}, {"Origin", origin}})), 403) << origin;
  }
  const net::HeaderList same = {{"Authorization", token}, {"Origin", "http://localhost:8117"}};
  EXPECT_EQ(status_of(from("localhost:8117", "/", same)), 200);
}

// Called directly and over a socket, as `orrery serve` does.
TEST(Access, all_routes_are_guarded) {
  std::atomic<int> port = 0;  // known only once the server runs
  const net::RunningServer server(
      [&port](const Request& request) {
        const auto refusal = check_access(request, {.port = port, .token = "secret-token"});
        return refusal ? *refusal : Response{.body = "inside"};
      },
      browser_options());
  port = server.port;
  net::Client client;
  const auto ask = [&](const std::string& method, const std::string& target,
                       const net::HeaderList& headers) {
    return client.ask({.method = method, .url = server.url(target), .headers = headers});
  };
  const std::pair<std::string, std::string> token = {"Authorization", "Bearer secret-token"};
  const net::Reply good = ask("GET", "/", {token});
  EXPECT_EQ(good.body, "inside");
  EXPECT_EQ(good.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(good.header("Cache-Control"), "no-store");
  EXPECT_THAT(std::string(good.header("Content-Security-Policy")),
              testing::HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(ask("GET", "/", {}).status, 401);
  EXPECT_EQ(ask("GET", "/?token=secret-token", {}).status, 303);
  EXPECT_EQ(ask("GET", "/", {{"Host", "rebound.example"}, token}).status, 421);
  EXPECT_EQ(ask("POST", "/api/v1/plan", {{"Origin", "http://evil.example"}, token}).status, 403);
  const std::string large(2 << 20, 'x');
  const net::Reply refused = client.ask({.method = "PUT", .url = server.url("/"), .body = large});
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.header("Content-Type"), "application/problem+json");
}

const AccessRules kGuarded{.port = 8117, .token = "0123456789abcdef"};

Request asked_with(net::HeaderList headers, const std::string& target = "/",
                   const std::string& method = "GET") {
  headers.emplace_back("Host", "127.0.0.1:8117");
  return {.method = method, .target = target, .headers = std::move(headers)};
}

int answered(const Request& request) {
  const std::optional<Response> answer = check_access(request, kGuarded);
  return answer ? answer->status : 200;
}

TEST(Access, the_cookie_is_found_among_others) {
  for (const char* cookies :
       {"orrery_8117=0123456789abcdef", "orrery_8117=0123456789abcdef; other=1",
        "a=b;orrery_8117=0123456789abcdef;c=d", "orrery_811=x;  orrery_8117=0123456789abcdef  "}) {
    EXPECT_EQ(answered(asked_with({{"Cookie", cookies}})), 200) << cookies;
  }
  for (const char* cookies :
       {"orrery_8117=0123456789abcde", "orrery_8117=0123456789abcdef0", "orrery_8117",
        "orrery_81170123456789abcdef", "xorrery_8117=0123456789abcdef", "orrery_8117=", ""}) {
    EXPECT_EQ(answered(asked_with({{"Cookie", cookies}})), 401) << cookies;
  }
}

TEST(Access, a_bearer_needs_the_whole_secret) {
  for (const char* given : {"Bearer 0123456789abcde", "Bearer 0123456789abcdefg", "Bearer ",
                            "0123456789abcdef", "Basic 0123456789abcdef"}) {
    EXPECT_EQ(answered(asked_with({{"Authorization", given}})), 401) << given;
  }
  EXPECT_EQ(answered(asked_with({{"Authorization", "Bearer 0123456789abcdef"}})), 200);
}

TEST(Access, the_token_is_traded_at_the_first_page_only) {
  const auto welcome = check_access(asked_with({}, "/?token=0123456789abcdef"), kGuarded);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->body, "");
  EXPECT_EQ(net::header_of(welcome->headers, "location"), "/");
  EXPECT_EQ(net::header_of(welcome->headers, "set-cookie"),
            "orrery_8117=0123456789abcdef; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(answered(asked_with({}, "/?token=0123456789abcdef", "POST")), 401);
}

TEST(Access, a_browser_without_the_token_gets_a_page_that_asks_for_it) {
  const auto page = check_access(asked_with({{"Accept", "text/html,*/*"}}, "/?page=run"), kGuarded);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 401);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page->body, testing::HasSubstr("orrery serve"));
  EXPECT_THAT(page->body, testing::Not(testing::HasSubstr(kGuarded.token)));
  const auto scripts = check_access(asked_with({{"Accept", "*/*"}}), kGuarded);
  ASSERT_TRUE(scripts);
  EXPECT_EQ(scripts->content_type, "application/problem+json");
}

// Text that follows a cookie in its header is not part of it.
TEST(Access, a_secret_ends_with_its_cookie) {
  const auto status = [](const std::string& cookie) {
    const auto refusal = check_access(
        {.target = "/api/v1/session", .headers = {{"Host", "localhost:8117"}, {"Cookie", cookie}}},
        kWordRules);
    return refusal ? refusal->status : 200;
  };
  EXPECT_EQ(status("orrery_8117=0123456789abcdef; other=1"), 200);
  EXPECT_EQ(status("other=1; orrery_8117=0123456789abcdef;x=2"), 200);
  EXPECT_EQ(status("orrery_8117=0123456789abcdee; other=1"), 401);
  EXPECT_EQ(status("orrery_8117=1123456789abcdef"), 401);
  EXPECT_EQ(status("orrery_8117="), 401);
  EXPECT_EQ(first_url(kWordRules), "http://127.0.0.1:8117/?token=0123456789abcdef");
  const auto words = [](net::HeaderList headers) {
    const auto refusal = check_access({.target = "/x", .headers = std::move(headers)}, kWordRules);
    return refusal ? std::to_string(refusal->status) : "none";
  };
  EXPECT_EQ(words({{"Host", "localhost:8117"}}), "401");
  EXPECT_EQ(words({{"Host", "localhost:8118"}}), "421");
  EXPECT_EQ(words({{"Host", "localhost:8117"}, {"host", "localhost:8117"}}), "400");
  EXPECT_EQ(words({{"Host", "localhost:8117"}, {"Origin", "http://evil"}}), "403");
  EXPECT_EQ(words({{"Host", "localhost:8117"}, {"Origin", "https://localhost:8117"}}), "403");
  EXPECT_EQ(words({{"Host", "localhost:8117"},
                   {"Origin", "http://localhost:8117"},
                   {"origin", "http://localhost:8117"}}),
            "400");
}

// A cookie has a name, a sign and a value; a cookie of another name is ignored.
TEST_F(AccessRoute, the_cookie_name_has_the_port) {
  const auto status = [](const std::string& method, const std::string& target,
                         const std::string& cookie) {
    net::HeaderList headers = {{"Host", "127.0.0.1:8117"}};
    if (!cookie.empty()) headers.emplace_back("Cookie", cookie);
    const auto refusal =
        check_access({.method = method, .target = target, .headers = headers}, kLawRules);
    return refusal ? refusal->status : 200;
  };
  EXPECT_EQ(status("GET", "/", "orrery_8117=0123456789abcdef"), 200);
  EXPECT_EQ(status("GET", "/", "orrery_8117 0123456789abcdef"), 401);
  EXPECT_EQ(status("GET", "/", "orrery_81170=0123456789abcdef"), 401);
  EXPECT_EQ(status("GET", "/", "orrery_8117=0123456789abcdefg"), 401);
  EXPECT_EQ(status("POST", "/?token=0123456789abcdef", ""), 401);
  const auto welcome = check_access(
      {.target = "/?token=0123456789abcdef", .headers = {{"Host", "127.0.0.1:8117"}}}, kLawRules);
  ASSERT_TRUE(welcome);
  const std::string_view cookie = net::header_of(welcome->headers, "set-cookie");
  EXPECT_THAT(std::string(cookie), HasSubstr("HttpOnly"));
  EXPECT_THAT(std::string(cookie), HasSubstr("SameSite=Strict"));
  EXPECT_EQ(net::header_of(welcome->headers, "location"), "/");
}

}  // namespace
}  // namespace orrery::server
