#include "live/net/message.h"

#include <gtest/gtest.h>

namespace orrery::net {
namespace {

TEST(Message, headers_are_found_in_any_case_and_the_first_wins) {
  const HeaderList headers = {{"Content-Type", "a"}, {"content-type", "b"}, {"X-[^", "c"}};
  EXPECT_EQ(header_of(headers, "CONTENT-TYPE"), "a");
  EXPECT_EQ(header_of(headers, "content-typ"), "");
  EXPECT_EQ(header_of(headers, "x-[^"), "c") << "case matters only for letters";
  EXPECT_EQ(header_of(headers, "x-{~"), "");
}

TEST(Message, target_splits_into_path_and_parameters) {
  const Request request{.target = "/a/b?prefix=x&delimiter=&pre=y&flag&prefix=z"};
  EXPECT_EQ(path_of(request), "/a/b");
  EXPECT_EQ(query_value(request, "prefix"), "x");
  EXPECT_EQ(query_value(request, "pre"), "y") << "a name must match as a whole";
  EXPECT_EQ(query_value(request, "delimiter"), "");
  EXPECT_EQ(query_value(request, "flag"), "");
  EXPECT_EQ(query_value(request, "absent"), "");
  EXPECT_EQ(path_of({.target = "/plain"}), "/plain");
  EXPECT_EQ(query_value({.target = "/plain"}, "plain"), "");
}

TEST(Message, source_of_held_bytes_reads_from_any_offset) {
  const BodySource source = source_of("abcdef");
  char into[4];
  EXPECT_EQ(source(0, into), 4u);
  EXPECT_EQ(std::string_view(into, 4), "abcd");
  EXPECT_EQ(source(4, into), 2u);
  EXPECT_EQ(std::string_view(into, 2), "ef");
  EXPECT_EQ(source(6, into), 0u);
  EXPECT_EQ(source(99, into), 0u);
}

}  // namespace
}  // namespace orrery::net
