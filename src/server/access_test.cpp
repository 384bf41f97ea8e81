// Who may speak to the server, as plain function calls.
#include "server/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr int kPort = 8117;
const AccessRules kAccess{.port = kPort, .token = "0123456789abcdef"};

Request ours(const std::string& target) { return {.target = target, .host = "127.0.0.1:8117"}; }

int status_of(const Request& request) {
  const std::optional<Response> answer = check_access(request, kAccess);
  return answer ? answer->status : 200;
}

TEST(Access, the_first_url_trades_the_token_for_a_cookie) {
  EXPECT_EQ(first_url(kAccess), "http://127.0.0.1:8117/?token=0123456789abcdef");
  const auto welcome = check_access(ours("/?token=0123456789abcdef"), kAccess);
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
