#include "live/net/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Head, text_follows_the_rfc) {
  const Response from{.content_type = "text/plain", .headers = {{"ETag", "\"x\""}}};
  EXPECT_EQ(head_text(from, {}, {.length = 3}),
            "HTTP/1.1 200 OK\r\nServer: orrery\r\nContent-Type: text/plain\r\nETag: \"x\"\r\n"
            "Content-Length: 3\r\n\r\n");
  EXPECT_EQ(head_text({.status = 404, .content_type = ""}, {}, {.chunked = true}),
            "HTTP/1.1 404 Not Found\r\nServer: orrery\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(Head, connection_header_is_sent_only_if_it_differs_from_the_version_default) {
  EXPECT_THAT(head_text({}, {}, {.version = 11}), Not(HasSubstr("Connection")));
  EXPECT_THAT(head_text({}, {}, {.version = 11, .keep_alive = false}),
              HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(head_text({}, {}, {.version = 10}), StartsWith("HTTP/1.0 200 OK\r\n"));
  EXPECT_THAT(head_text({}, {}, {.version = 10}), HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_THAT(head_text({}, {}, {.version = 10, .keep_alive = false}),
              Not(HasSubstr("Connection")));
}

TEST(Head, response_headers_override_defaults_and_fixed_headers_override_both) {
  const ServerOptions options{.default_headers = {{"X-Frame", "deny"}, {"Cache-Control", "none"}},
                              .fixed_headers = {{"Strict", "yes"}}};
  const Response from{.headers = {{"cache-control", "day"},
                                  {"Set-Cookie", "a"},
                                  {"Set-Cookie", "b"},
                                  {"strict", "no"},
                                  {"content-type", "image/png"}}};
  const std::string text = head_text(from, options, {});
  EXPECT_THAT(text, HasSubstr("X-Frame: deny\r\n"));
  EXPECT_THAT(text, HasSubstr("cache-control: day\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("none")));
  EXPECT_THAT(text, HasSubstr("Set-Cookie: a\r\nSet-Cookie: b\r\n"));
  EXPECT_THAT(text, HasSubstr("Strict: yes\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("strict: no")));
  EXPECT_THAT(text, HasSubstr("content-type: image/png\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("text/plain")));
}

TEST(Head, no_header_can_inject_another_or_change_the_framing) {
  const Response from{.headers = {{"A", "x\r\nEvil: 1"},
                                  {"B\n", "y"},
                                  {"C", std::string("z\0", 2)},
                                  {"transfer-encoding", "chunked"},
                                  {"Content-length", "99"},
                                  {"connection", "upgrade"}}};
  const std::string text = head_text(from, {}, {.length = 0});
  EXPECT_THAT(text, Not(HasSubstr("Evil")));
  EXPECT_THAT(text, Not(HasSubstr(": y")));
  EXPECT_THAT(text, Not(HasSubstr(": z")));
  EXPECT_THAT(text, Not(HasSubstr("chunked")));
  EXPECT_THAT(text, Not(HasSubstr("99")));
  EXPECT_THAT(text, EndsWith("\r\nContent-Length: 0\r\n\r\n"));
}

TEST(Head, head_and_304_announce_the_length_without_a_body) {
  EXPECT_TRUE(has_body({.body = "abc"}, false));
  EXPECT_FALSE(has_body({.body = "abc"}, true));
  EXPECT_FALSE(has_body({.status = 304}, false));
  EXPECT_EQ(said_length({.body = "abc"}, false), 3u);
  EXPECT_EQ(said_length({.body = "abc"}, true), 3u);
  EXPECT_EQ(said_length({.length = 7}, true), 7u);
  EXPECT_EQ(said_length({.status = 204}, false), std::nullopt);
  EXPECT_EQ(said_length({.status = 304, .length = 7}, false), 7u);
}

}  // namespace
}  // namespace orrery::net
