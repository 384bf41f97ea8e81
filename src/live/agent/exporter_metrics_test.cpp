#include "live/agent/exporter_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent::exporter_metrics_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ExporterMetrics, text_is_escaped_and_reads_back) {
  const std::string odd = "a\\b\"c\nd{}=, \xc3\xbc";
  const MetricFamilies one = {
      {.name = "orrery_measured_step_time_seconds",
       .help = "back\\slash\nand break",
       .samples = {{{{"workload", odd}, {"node", "n"}}, 0.25}, {{{"workload", "w"}}, -1e-9}}}};
  const std::string text = exposition(one);
  EXPECT_THAT(text,
              HasSubstr("# HELP orrery_measured_step_time_seconds back\\\\slash\\nand break\n"));
  EXPECT_THAT(text, HasSubstr("node=\"n\",workload=\"a\\\\b\\\"c\\nd{}=, \xc3\xbc\"} 0.25\n"));
  const ParsedMetrics back = parse_metrics(text, "x.prom", one);
  EXPECT_THAT(back.faults, IsEmpty());
  ASSERT_THAT(back.families, SizeIs(1));
  EXPECT_EQ(exposition({{.name = back.families[0].name,
                         .help = one[0].help,
                         .samples = {back.families[0].samples[2], back.families[0].samples[3]}}}),
            text);
}

TEST(ExporterMetrics, series_that_occurs_twice_is_written_once) {
  const std::string text = exposition({{.name = "a", .help = "h", .samples = {{{{"x", "1"}}, 1}}},
                                       {.name = "a", .help = "h", .samples = {{{{"x", "1"}}, 2}}}});
  EXPECT_EQ(text, "# HELP a h\n# TYPE a gauge\na{x=\"1\"} 1\n");
}

TEST(ExporterMetrics, families_are_merged_and_sorted) {
  const MetricFamily late{.name = "b", .help = "hb", .samples = {{{{"x", "1"}}, 1}}};
  const MetricFamily early{.name = "a", .help = "ha", .samples = {{{{"z", "1"}, {"y", "2"}}, 2}}};
  const MetricFamily more{.name = "b", .help = "hb", .samples = {{{{"x", "0"}}, 3}}};
  EXPECT_EQ(exposition({late, early, more}),
            "# HELP a ha\n# TYPE a gauge\na{y=\"2\",z=\"1\"} 2\n"
            "# HELP b hb\n# TYPE b gauge\nb{x=\"1\"} 1\nb{x=\"0\"} 3\n");
}

TEST(ExporterMetrics, hostile_line_is_a_fault_and_the_rest_counts) {
  const auto known = metrics_from("files").value();
  const std::string name = "orrery_measured_step_time_seconds";
  for (const std::string& bad :
       {name + "{workload=\"w} 1", name + "{workload='w'} 1", name + " 1 1700000000",
        name + "{__name__=\"x\"} 1", name + "{a=\"1\",a=\"2\"} 1", name + "{a=\"1\"", name + " one",
        name + "{1a=\"x\"} 1", std::string("node_cpu_seconds 3"), std::string("{} 1"),
        name + "{a=\"" + std::string(10'000, 'x') + "\"} 1", name + "{a=\"\xff\"} 1"}) {
    const ParsedMetrics parsed =
        parse_metrics(bad + "\n" + name + "{rank=\"1\",} 2\n# x\n\n", "f.prom", known);
    EXPECT_THAT(parsed.faults, SizeIs(1)) << bad.substr(0, 80);
    ASSERT_THAT(parsed.families, SizeIs(1)) << bad.substr(0, 80);
    EXPECT_EQ(parsed.families.front().samples.size(), 1u);
  }
}

TEST(ExporterMetrics, malformed_labels_are_faults) {
  const MetricFamilies known = {{.name = "m", .help = "h", .samples = {}}};
  for (const char* line :
       {"m{ 1", "m{a 1", "m{a= 1", "m{a=\"x\" 1", "m{a=\"x\", 1", "m{__a 1", "m{__a=\"x\"} 1",
        "m{a=\"x\",a=\"y\"} 1", "m{a=\"x\",a=\"y\" 1", "m{,} 1", "m{a=\"x\",,} 1", "m} 1",
        "m{a=\"x\" b=\"y\"} 1", "m{=\"x\"} 1"}) {
    const ParsedMetrics parsed = parse_metrics(line, "f", known);
    EXPECT_TRUE(parsed.families.empty()) << line;
    EXPECT_EQ(parsed.faults.size(), 1U) << line;
  }
  const ParsedMetrics good = parse_metrics("m{a=\"x\",b=\"y\",} 1.5\nm 2\n", "f", known);
  EXPECT_TRUE(good.faults.empty());
  ASSERT_EQ(good.families.size(), 1U);
  ASSERT_EQ(good.families[0].samples.size(), 2U);
  using Labels = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(good.families[0].samples[0].labels, (Labels{{"a", "x"}, {"b", "y"}}));
  EXPECT_EQ(good.families[0].samples[0].value, 1.5);
  EXPECT_TRUE(good.families[0].samples[1].labels.empty());
  EXPECT_EQ(good.families[0].samples[1].value, 2);
}

TEST(ExporterMetrics, line_has_at_most_16_labels_and_8_kib) {
  const MetricFamilies known = {{.name = "m", .help = "h", .samples = {}}};
  const auto accepted = [&](const std::string& line) {
    return parse_metrics(line, "f", known).families.size() == 1;
  };
  const auto labels = [](int count) {
    std::string line = "m{";
    for (int i = 0; i < count; ++i) line += "l" + std::to_string(i) + "=\"x\",";
    return line + "} 1";
  };
  EXPECT_TRUE(accepted(labels(16)));
  EXPECT_FALSE(accepted(labels(17)));
  const std::string head = "m{a=\"", tail = "\"} 1";
  EXPECT_TRUE(accepted(head + std::string(8192 - head.size() - tail.size(), 'x') + tail));
  EXPECT_FALSE(accepted(head + std::string(8193 - head.size() - tail.size(), 'x') + tail));
  const auto faults = parse_metrics("m 1\n\nbad line\n", "f.prom", known).faults;
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults.front().place.line, 3);
  EXPECT_EQ(faults.front().code, "exporter.line");
}

}  // namespace
}  // namespace orrery::agent::exporter_metrics_tests
