#include "live/net/exposition.h"

#include <gtest/gtest.h>

namespace orrery::net {
namespace {

TEST(Exposition, family_has_its_help_and_type_before_its_samples) {
  Exposition to;
  to.family("reads_total", "counter", "Reads.");
  to.sample({{"tier", "hot"}, {"op", "get"}}, 3);
  to.sample({}, 0.5);
  to.single("up", "gauge", "Whether it runs.", 1);
  EXPECT_EQ(to.text(),
            "# HELP reads_total Reads.\n# TYPE reads_total counter\n"
            "reads_total{tier=\"hot\",op=\"get\"} 3\nreads_total 0.5\n"
            "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\n");
}

TEST(Exposition, histogram_lines_carry_their_suffix) {
  Exposition to;
  to.family("t", "histogram", "T.");
  to.sample({{"le", "+Inf"}}, 2, "_bucket");
  to.sample({}, 2, "_count");
  EXPECT_EQ(to.text(), "# HELP t T.\n# TYPE t histogram\nt_bucket{le=\"+Inf\"} 2\nt_count 2\n");
}

TEST(Exposition, text_of_others_cannot_end_a_label_or_a_line) {
  EXPECT_EQ(series_text("a", {{"b", "x\"y\\z\nw"}}), "a{b=\"x\\\"y\\\\z\\nw\"}");
  Exposition to;
  to.family("a", "gauge", "one\ntwo \"quoted\"");
  EXPECT_EQ(to.text(), "# HELP a one\\ntwo \"quoted\"\n# TYPE a gauge\n");
}

}  // namespace
}  // namespace orrery::net
