#include "live/store/moment.h"

#include <gtest/gtest.h>

#include <ctime>

namespace orrery::store {
namespace {

// The same moment formatted by the C library.
std::string by_libc(rows::TimeMs moment, const char* format) {
  const std::time_t seconds = moment / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

TEST(MomentText, agrees_with_the_c_library_and_is_read_back) {
  // Every month and day of the week, a leap day, both ends of a day, and the last second of 2099.
  std::vector<rows::TimeMs> moments = {0, 86'399'999, 951'782'400'000, 951'868'799'000,
                                       4'102'444'799'000};
  for (int i = 0; i < 36; ++i) moments.push_back(1'369'353'600'000 + i * 2'735'999'000LL);
  for (const rows::TimeMs moment : moments) {
    EXPECT_EQ(amz_time(moment), by_libc(moment, "%Y%m%dT%H%M%SZ"));
    EXPECT_EQ(http_time(moment), by_libc(moment, "%a, %d %b %Y %H:%M:%S GMT"));
    EXPECT_EQ(xml_time(moment).substr(0, 19), by_libc(moment, "%Y-%m-%dT%H:%M:%S"));
    const rows::TimeMs second = moment / 1000 * 1000;
    EXPECT_EQ(moment_of_amz(amz_time(moment)), second);
    EXPECT_EQ(moment_of_http(http_time(moment)), second);
    EXPECT_EQ(moment_of_iso(xml_time(moment)), moment);
    EXPECT_EQ(moment_of_iso(xml_time(moment).substr(0, 10)), moment / kDayMs * kDayMs);
  }
}

TEST(MomentText, iso_8601_may_have_a_fraction_and_the_zone_utc) {
  const rows::TimeMs midnight = 1'369'353'600'000;
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00"), midnight);
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00Z"), midnight);
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00+00:00"), midnight);
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00+0000"), midnight);
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00.5Z"), midnight + 500);
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00.05Z"), midnight + 50);
  EXPECT_EQ(moment_of_iso("2013-05-24T00:00:00.45678Z"), midnight + 456)
      << "truncated, not rounded";
  EXPECT_EQ(moment_of_iso("2013-05-24T23:59:60Z"), midnight + kDayMs) << "a leap second";
}

TEST(MomentText, malformed_moments_are_refused) {
  for (const char* bad :
       {"", "2013", "2013-13-01", "2013-02-30", "2013-00-10", "2013-05-24T", "2013-05-24T24:00:00Z",
        "2013-05-24T00:60:00Z", "2013-05-24T00:00:61Z", "2013-05-24T00:00:00+01:00",
        "2013-05-24 00:00:00Z", "2013-05-2x", "1969-12-31", "20130524"}) {
    EXPECT_FALSE(moment_of_iso(bad)) << bad;
  }
  for (const char* bad :
       {"", "20130524T000000", "20130524 000000Z", "2013052xT000000Z", "20130524T240000Z",
        "20130524T006000Z", "20131324T000000Z", "20130524T0000000Z", "-0130524T000000Z"}) {
    EXPECT_FALSE(moment_of_amz(bad)) << bad;
  }
  for (const char* bad : {"", "Fri, 24 May 2013", "Fri, 24 Mai 2013 00:00:00 GMT",
                          "Fri, 24 May 2013 0:00:00 GMT", "Fri, xx May 2013 00:00:00 GMT",
                          "Fri, 24 May 2013 00:00:00 GMT more", "Fri, 32 May 2013 00:00:00 GMT",
                          "Fri, 24 May 2013 25:00:00 GMT", "Fri, 24 May 2013 00:00:000 GMT"}) {
    EXPECT_FALSE(moment_of_http(bad)) << bad;
  }
}

}  // namespace
}  // namespace orrery::store
