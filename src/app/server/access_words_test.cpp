// Who is let in and what the others are told: secrets among other cookies, near misses, and the
// words of every refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/server/access.h"

namespace orrery::server {
namespace {

using testing::HasSubstr;

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

TEST(AccessWords, the_cookie_is_found_wherever_it_stands) {
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

TEST(AccessWords, a_bearer_has_the_whole_secret) {
  for (const char* given : {"Bearer 0123456789abcde", "Bearer 0123456789abcdefg", "Bearer ",
                            "0123456789abcdef", "Basic 0123456789abcdef"}) {
    EXPECT_EQ(answered(asked_with({{"Authorization", given}})), 401) << given;
  }
  EXPECT_EQ(answered(asked_with({{"Authorization", "Bearer 0123456789abcdef"}})), 200);
}

TEST(AccessWords, the_token_is_traded_once_at_the_first_page) {
  const auto welcome = check_access(asked_with({}, "/?token=0123456789abcdef"), kGuarded);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->body, "");
  EXPECT_EQ(net::header_of(welcome->headers, "location"), "/");
  EXPECT_EQ(net::header_of(welcome->headers, "set-cookie"),
            "orrery_8117=0123456789abcdef; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(answered(asked_with({}, "/?token=0123456789abcdef", "POST")), 401);
}

TEST(AccessWords, every_refusal_says_why) {
  const auto body = [](const Request& request) {
    const auto answer = check_access(request, kGuarded);
    return answer ? std::to_string(answer->status) + " " + answer->body : "none";
  };
  EXPECT_THAT(body(asked_with({})),
              AllOf(testing::StartsWith("401 "),
                    HasSubstr("open the address that `orrery serve` printed: it carries the "
                              "token")));
  EXPECT_THAT(
      body(asked_with({{"Origin", "http://evil.example"}})),
      AllOf(testing::StartsWith("403 "), HasSubstr("requests from other sites are refused")));
  EXPECT_THAT(body(asked_with({{"Origin", "x"}, {"Origin", "x"}})),
              AllOf(testing::StartsWith("400 "), HasSubstr("more than one Origin")));
  EXPECT_THAT(body(asked_with({{"Host", "x"}})),
              AllOf(testing::StartsWith("400 "), HasSubstr("more than one Host")));
  EXPECT_THAT(body({.headers = {{"Host", "evil.example"}}}),
              AllOf(testing::StartsWith("421 "),
                    HasSubstr("this server answers to 127.0.0.1 and localhost only")));
  EXPECT_EQ(body(asked_with({}, "/healthz")), "none");
}

}  // namespace
}  // namespace orrery::server
