#include "live/agent/probe_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"

namespace orrery::agent::probe_report_tests {
namespace {

using testing::HasSubstr;

ProbeReport small_report() {
  ProbeReport report{.target = "/mnt/x", .kind = "folder"};
  report.conditions = {{"engine", "threads"}, {"seed", "7"}};
  for (const double v : {1e9, 2e9, 3e9}) report.add({"read", "reading", ProbeUnit::bytes_per_s}, v);
  report.add({"rate", "files", ProbeUnit::per_s}, 1234.5);
  report.add({"wait", "waiting", ProbeUnit::seconds}, 0.0025);
  report.add({"size", "bytes", ProbeUnit::bytes}, 4e6);
  report.add({"more", "faster by", ProbeUnit::factor}, 2.5);
  report.notices = {"mind this"};
  return report;
}

TEST(ProbeReport, figure_is_the_median_between_its_10th_and_90th_percentile) {
  ProbeReport report{.target = "there", .kind = "folder"};
  for (int i = 0; i <= 10; ++i) report.add({"x", "label", ProbeUnit::factor}, (i * 7) % 11);
  ASSERT_EQ(report.figures.size(), 1u);
  const ProbeFigure& f = *report.figure("x");
  EXPECT_EQ(f.samples.size(), 11u);
  EXPECT_EQ(f.value(), 5);
  EXPECT_EQ(f.low(), 1);
  EXPECT_EQ(f.high(), 9);
  EXPECT_EQ(report.figure("y"), nullptr);
}

TEST(ProbeReport, text_has_a_line_per_figure_with_its_spread) {
  ProbeReport report = small_report();
  const std::string text = probe_text(report);
  EXPECT_THAT(text, testing::ContainsRegex("reading +2 GB/s +1.2 GB/s .. 2.8 GB/s\n"));
  EXPECT_THAT(text, testing::ContainsRegex("files +1230 /s +1230 /s .. 1230 /s\n"));
  EXPECT_THAT(text, testing::ContainsRegex("waiting +2.5 ms +2.5 ms .. 2.5 ms\n"));
  EXPECT_THAT(text, testing::ContainsRegex("bytes +4 MB +4 MB .. 4 MB\n"));
  EXPECT_THAT(text, testing::ContainsRegex("faster by +2.5x +2.5x .. 2.5x\n"));
  for (const char* part : {"/mnt/x", "engine: threads\n", "seed: 7\n", "mind this\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  report.interrupted = true;
  EXPECT_THAT(probe_text(report), HasSubstr("interrupted"));
}

TEST(ProbeReport, csv_has_a_row_per_figure_in_base_units) {
  EXPECT_EQ(probe_csv(small_report()),
            "id,unit,value,low,high,repeats,label\n"
            "read,bytes_per_s,2e+09,1.2e+09,2.8e+09,3,reading\n"
            "rate,per_s,1234.5,1234.5,1234.5,1,files\n"
            "wait,s,0.0025,0.0025,0.0025,1,waiting\n"
            "size,bytes,4e+06,4e+06,4e+06,1,bytes\n"
            "more,factor,2.5,2.5,2.5,1,faster by\n");
}

TEST(ProbeReport, csv_quotes_labels) {
  ProbeReport report;
  report.add({"x", "a figure, with \"quotes\"", ProbeUnit::factor}, 1);
  const auto table = CsvTable::parse(probe_csv(report), "p.csv");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows().size(), 1u);
  EXPECT_EQ(table->text(table->rows().front(), "label"), "a figure, with \"quotes\"");
}

TEST(ProbeReport, json_keys_end_in_their_unit) {
  const auto json = nlohmann::json::parse(
      probe_json(small_report(), [](JsonWriter& more) { more.field("tier", "hot"); }));
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("kind"), "storage-probe");
  EXPECT_EQ(json.at("target"), "/mnt/x");
  EXPECT_EQ(json.at("target_kind"), "folder");
  EXPECT_EQ(json.at("conditions").at("engine"), "threads");
  EXPECT_EQ(json.at("conditions").at("seed"), "7");
  ASSERT_EQ(json.at("figures").size(), 5u);
  const auto& read = json.at("figures").at(0);
  EXPECT_EQ(read.at("id"), "read");
  EXPECT_EQ(read.at("label"), "reading");
  EXPECT_EQ(read.at("repeats"), 3);
  EXPECT_EQ(read.at("value_bytes_per_s"), 2e9);
  EXPECT_EQ(read.at("low_bytes_per_s"), 1.2e9);
  EXPECT_EQ(read.at("high_bytes_per_s"), 2.8e9);
  EXPECT_EQ(json.at("figures").at(1).at("value_per_s"), 1234.5);
  EXPECT_EQ(json.at("figures").at(2).at("value_s"), 0.0025);
  EXPECT_EQ(json.at("figures").at(3).at("value_bytes"), 4e6);
  EXPECT_EQ(json.at("figures").at(4).at("value_factor"), 2.5);
  EXPECT_EQ(json.at("notices").at(0), "mind this");
  EXPECT_EQ(json.at("interrupted"), false);
  EXPECT_EQ(json.at("tier"), "hot");
}

}  // namespace
}  // namespace orrery::agent::probe_report_tests
