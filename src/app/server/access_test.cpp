// Who may speak to the server, as plain function calls.
#include "app/server/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "live/net/client.h"
#include "live/net/running_server_fixture.h"

namespace orrery::server {
namespace {

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

TEST(Access, refuses_without_the_token) {
  EXPECT_EQ(status_of(ours("/")), 401);
  EXPECT_EQ(status_of(ours("/?token=0123456789abcdee")), 401);
  EXPECT_EQ(status_of(ours("/?token=")), 401);
  EXPECT_EQ(status_of(ours("/api/v1/plan?token=0123456789abcdef")), 401);
  EXPECT_EQ(status_of(ours("/", {{"Cookie", "orrery_8118=0123456789abcdef"}})), 401);
  EXPECT_EQ(status_of(ours("/api/v1/plan", {{"Authorization", "Bearer 0123456789abcdef"}})), 200);
  EXPECT_EQ(status_of(ours("/healthz")), 200);
}

TEST(Access, of_two_hosts_or_origins_none_is_believed) {
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

TEST(Access, who_is_turned_away_for_now_is_told_when_to_come_again) {
  const Response busy = browser_options().refusal(503, "busy");
  EXPECT_EQ(net::header_of(busy.headers, "retry-after"), "1");
  EXPECT_EQ(net::header_of(browser_options().refusal(400, "x").headers, "retry-after"), "");
}

TEST(Access, an_empty_secret_lets_nobody_in) {
  EXPECT_TRUE(check_access(ours("/?token="), {.port = kPort, .token = ""}));
}

TEST(Access, refuses_foreign_hosts_and_origins_even_with_the_token) {
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

// Before a handler and over a socket, as `orrery serve` joins them.
TEST(Access, guards_what_is_behind_it) {
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

}  // namespace
}  // namespace orrery::server
