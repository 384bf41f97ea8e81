#include "app/server/metrics.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace orrery::server {
namespace {

using testing::HasSubstr;

// A histogram: buckets are cumulative, the last one counts all, and the sum is that of the times.
TEST(Metrics, buckets_are_cumulative_and_inclusive) {
  Metrics m;
  m.count("/r", "GET", 200, 0.001);
  m.count("/r", "GET", 200, 0.002);
  m.count("/r", "POST", 404, 7);
  m.count("", "GET", 404, 0.1);
  const std::string text = m.text({});
  const auto bucket = [&](const char* le, int n) {
    return HasSubstr("orrery_http_request_seconds_bucket{route=\"/r\",le=\"" + std::string(le) +
                     "\"} " + std::to_string(n) + "\n");
  };
  EXPECT_THAT(text, bucket("0.001", 1));
  EXPECT_THAT(text, bucket("0.0025", 2));
  EXPECT_THAT(text, bucket("5", 2));
  EXPECT_THAT(text, bucket("+Inf", 3));
  EXPECT_THAT(text, HasSubstr("orrery_http_request_seconds_sum{route=\"/r\"} 7.003\n"));
  EXPECT_THAT(text, HasSubstr("orrery_http_request_seconds_count{route=\"/r\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"/r\",method=\"POST\",status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"other\",method=\"GET\",status=\"404\"} 1\n"));
}

TEST(Metrics, a_gauge_has_one_header) {
  const std::string text =
      Metrics().text({{.name = "g", .labels = {{"a", "1"}}, .value = 2, .help = "h"},
                      {.name = "g", .labels = {{"a", "2"}}, .value = 3, .help = "h"},
                      {.name = "k", .value = 4, .help = "i", .type = "counter"}});
  const std::size_t first = text.find("# HELP g h\n# TYPE g gauge\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("# HELP g", first + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("g{a=\"1\"} 2\ng{a=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE k counter\nk 4\n"));
  EXPECT_GT(resident_bytes(), 1e6);
}

}  // namespace
}  // namespace orrery::server
