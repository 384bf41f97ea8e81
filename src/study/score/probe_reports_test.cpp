// Reports of storage probes and DLIO's summaries at their limits, and the file that a measured tier
// becomes, line by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/score/dlio_summary.h"
#include "study/score/storage_probe.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

std::string report(const std::string& more) {
  return R"({"schema_version":1,"kind":"storage-probe",)" + more + "}";
}

TEST(ProbeReports, texts_of_a_report_are_taken_where_they_are_texts) {
  const auto p = read_storage_probe(
      report(R"("target":"/x","target_kind":"bucket","conditions":{"streams":"7"},"figures":[])"),
      "p");
  ASSERT_TRUE(p) << to_text(p.error());
  EXPECT_EQ(p->target, "/x");
  EXPECT_EQ(p->kind, "bucket");
  EXPECT_EQ(p->streams, 7);
  const auto odd = read_storage_probe(
      report(R"("target":5,"target_kind":[],"conditions":{"streams":9},"figures":[])"), "p");
  ASSERT_TRUE(odd) << to_text(odd.error());
  EXPECT_EQ(odd->target, "");
  EXPECT_EQ(odd->kind, "");
  EXPECT_EQ(odd->streams, 4);
  const auto streams = [](const std::string& text) {
    return read_storage_probe(report(R"("conditions":{"streams":")" + text + R"("},"figures":[])"),
                              "p")
        ->streams;
  };
  EXPECT_EQ(streams("1"), 1);
  EXPECT_EQ(streams("99999"), 99999);
  EXPECT_EQ(streams("100000"), 4);
  EXPECT_EQ(streams("-3"), 4);
  EXPECT_TRUE(read_storage_probe(report(R"("conditions":7,"figures":[])"), "p"));
  EXPECT_FALSE(read_storage_probe(report(R"("figures":{})"), "p"));
  EXPECT_TRUE(looks_like_storage_probe(" \n{"));
  EXPECT_FALSE(looks_like_storage_probe("op,seconds\n"));
}

// The report, its list and a figure are three levels: five of the figure's own make eight.
TEST(ProbeReports, eight_levels_and_a_mebibyte_are_read_and_no_more) {
  const auto deep = [](int more) {
    return read_storage_probe(report(R"("figures":[{"id":"x","value_s":1,"a":)" +
                                     std::string(static_cast<std::size_t>(more), '[') +
                                     std::string(static_cast<std::size_t>(more), ']') + "}]"),
                              "p");
  };
  EXPECT_TRUE(deep(5));
  EXPECT_FALSE(deep(6));
  const std::string small = report(R"("figures":[])");
  const std::size_t most = std::size_t{1} << 20;
  EXPECT_TRUE(read_storage_probe(small + std::string(most - small.size(), ' '), "p"));
  const auto large = read_storage_probe(small + std::string(most - small.size() + 1, ' '), "p");
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().front().what, HasSubstr("too large or too deep"));
}

TEST(ProbeReports, a_figure_has_an_id_and_a_value_of_any_unit) {
  const auto figure = [](const std::string& text) {
    const auto p = read_storage_probe(report(R"("figures":[)" + text + "]"), "p");
    return p ? p->figures.front() : MeasuredFigure{.id = "none", .value = -1};
  };
  for (const char* unit : {"bytes_per_s", "per_s", "s", "bytes", "factor"}) {
    const MeasuredFigure f = figure(std::string(R"({"id":"a","value_)") + unit + R"(":3,"low_)" +
                                    unit + R"(":2,"high_)" + unit + R"(":5})");
    EXPECT_EQ(f.value, 3) << unit;
    EXPECT_EQ(f.low, 2) << unit;
    EXPECT_EQ(f.high, 5) << unit;
  }
  EXPECT_EQ(figure(R"({"id":"a","value_s":0})").value, 0);
  EXPECT_EQ(figure(R"({"id":"a","value_s":3})").low, 3);
  EXPECT_EQ(figure(R"({"id":"a","value_s":3})").high, 3);
  EXPECT_EQ(figure(R"({"id":"a","value_s":"3"})").id, "none");
  EXPECT_EQ(figure(R"({"value_s":3})").id, "none");
  EXPECT_EQ(figure("7").id, "none");
}

StorageProbe probe_with(std::vector<MeasuredFigure> figures) {
  return {.target = "/data", .kind = "folder", .figures = std::move(figures)};
}

TEST(ProbeReports, the_error_is_the_widest_of_the_rates_and_a_twentieth_at_least) {
  const auto error = [](std::vector<MeasuredFigure> figures) {
    return tier_measurement(probe_with(std::move(figures)), {.tier = "node-nvme"})->error;
  };
  EXPECT_DOUBLE_EQ(error({{"sequential_read", 100, 97, 104}}), 0.05);
  EXPECT_DOUBLE_EQ(error({{"sequential_read", 100, 97, 120}}), 0.2);
  EXPECT_DOUBLE_EQ(error({{"sequential_read", 100, 97, 120}, {"sequential_write", 50, 35, 50}}),
                   0.3);
  EXPECT_DOUBLE_EQ(error({{"creates", 100, 10, 900}, {"first_byte", 1, 0.1, 9}}), 0.05)
      << "of rates alone";
}

TEST(ProbeReports, a_tier_s_figures_are_those_of_the_probe) {
  const auto m = tier_measurement(probe_with({{"sequential_read", 11, 11, 11},
                                              {"sequential_write", 12, 12, 12},
                                              {"creates", 13, 13, 13},
                                              {"first_byte", 14, 14, 14},
                                              {"stream_read", 15, 15, 15}}),
                                  {.tier = "scratch", .whole_tier = true});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->tier, "scratch");
  EXPECT_EQ(m->source, "orrery calibrate: probe of /data");
  EXPECT_EQ(tier_calibration_csv(*m),
            "tier,parameter,value,error,fit\n"
            "scratch,read_bytes_per_s,11,0.050,orrery calibrate: probe of /data\n"
            "scratch,write_bytes_per_s,12,0.050,orrery calibrate: probe of /data\n"
            "scratch,creates_per_s,13,0.050,orrery calibrate: probe of /data\n"
            "scratch,first_byte_s,14,0.050,orrery calibrate: probe of /data\n"
            "scratch,stream_rate_bytes_per_s,15,0.050,orrery calibrate: probe of /data\n");
  const std::string text = tier_calibration_text(*m);
  EXPECT_THAT(text, HasSubstr("tier scratch from orrery calibrate: probe of /data\n"));
  EXPECT_THAT(text, HasSubstr("  stream_rate_bytes_per_s    15\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("--whole-tier")));
  const auto nothing = tier_measurement(probe_with({{"sequential_read", 11}}), {.tier = "hot"});
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().front().what, HasSubstr("says anything of that tier"));
  const machine::TierMeasurement writes{.tier = "t", .write = BytesPerSecond(3), .source = "x"};
  EXPECT_THAT(tier_calibration_text(writes), testing::Not(HasSubstr("--whole-tier")));
}

TEST(ProbeReports, a_calibration_file_is_read_back_with_errors_and_sources) {
  const auto read = [](const std::string& rows) {
    return read_tier_calibration(
        *CsvTable::parse("tier,parameter,value,error,fit\n" + rows, "m.csv"));
  };
  const auto one = read("a,read_bytes_per_s,5,0.3,who\na,stream_rate_bytes_per_s,6,,who else\n");
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->front().stream_rate, BytesPerSecond(6));
  EXPECT_EQ(one->front().error, 0.3) << "a blank leaves what was";
  EXPECT_EQ(one->front().source, "who else");
  EXPECT_EQ(read("a,first_byte_s,5,-1,x\n")->front().error, 0);
  EXPECT_EQ(read("a,first_byte_s,5,0.01,x\n")->front().error, 0.01);
  EXPECT_EQ(read("a,first_byte_s,5,0.91,x\n")->front().error, 0.9);
  EXPECT_EQ(read("a,first_byte_s,5,,x\n")->front().first_byte, Seconds(5));
  const auto bad = read("a,first_byte_s,,0.1,x\na,nothing,1,0.1,x\n");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 2U);
  EXPECT_EQ(bad.error()[1].code, "calibration.row");
  EXPECT_EQ(bad.error()[1].place.file, "m.csv");
  EXPECT_EQ(bad.error()[1].place.line, 3);
  EXPECT_FALSE(is_tier_calibration(*CsvTable::parse("a,b\n1,2\n", "x.csv")));
}

std::string dlio(const std::string& metric, const std::string& more = "") {
  return "{" + more + R"("num_accelerators": 16, "metric": {)" + metric + "}}";
}
constexpr const char* kReads =
    R"("train_au_mean_percentage": 62.0, "train_io_mean_MB_per_second": 20000.0)";

TEST(ProbeReports, a_summary_says_how_wide_its_rates_are) {
  const auto c = calibrate_from_dlio(
      dlio(std::string(kReads) +
           R"(, "train_io_stdev_MB_per_second": 1000.0, "checkpoint_size_GB": 100.0,
              "save_checkpoint_duration_mean_seconds": 8.0,
              "save_checkpoint_duration_stdev_seconds": 1.0,
              "load_checkpoint_io_mean_GB_per_second": 50.0)"),
      "s.json", "hot");
  ASSERT_TRUE(c) << to_text(c.error());
  EXPECT_NEAR(c->tier.write->base(), 100 * 1073741824.0 / 8, 1);
  EXPECT_NEAR(c->tier.error, 1.28 / 8, 1e-12) << "of the saves, wider than 0.064 of the reads";
  EXPECT_DOUBLE_EQ(c->tier.read->base(), 20000.0 * 1048576) << "reads of training come first";
  EXPECT_EQ(c->tier.source, "orrery calibrate: DLIO, 16 accelerators");
  const auto loads = calibrate_from_dlio(dlio(R"("load_checkpoint_io_mean_GB_per_second": 50.0,
              "load_checkpoint_io_stdev_GB_per_second": 10.0)",
                                              R"("num_hosts": 3, )"),
                                         "s.json", "hot");
  ASSERT_TRUE(loads);
  EXPECT_NEAR(loads->tier.error, 0.256, 1e-12);
  EXPECT_NEAR(loads->tier.read->base(), 50 * 1073741824.0, 1);
  EXPECT_FALSE(loads->tier.write);
  EXPECT_EQ(loads->tier.source, "orrery calibrate: DLIO, 16 accelerators of 3 hosts");
}

TEST(ProbeReports, nine_tenths_busy_is_not_held_up_by_the_tier) {
  const auto read = [](const char* busy) {
    return calibrate_from_dlio(dlio(std::string(R"("train_au_mean_percentage": )") + busy +
                                    R"(, "train_io_mean_MB_per_second": 100.0)"),
                               "s.json", "hot");
  };
  EXPECT_TRUE(read("89.9"));
  EXPECT_FALSE(read("90"));
  EXPECT_FALSE(read("92"));
  EXPECT_THAT(read("92").error().front().why, HasSubstr("busy 92 % of the time"));
  EXPECT_THAT(calibrate_from_dlio(dlio(""), "s.json", "hot").error().front().why,
              HasSubstr("neither reads nor checkpoints"));
}

TEST(ProbeReports, what_may_have_been_read_in_memory_is_left_out) {
  const auto taken = [](const std::string& more) {
    return calibrate_from_dlio(dlio(kReads, more), "s.json", "hot").has_value();
  };
  EXPECT_TRUE(taken(""));
  EXPECT_TRUE(taken(R"("potential_caching": false, )"));
  EXPECT_TRUE(taken(R"("potential_caching": 0, )"));
  EXPECT_FALSE(taken(R"("potential_caching": true, )"));
  EXPECT_FALSE(taken(R"("potential_caching": 1, )"));
  EXPECT_TRUE(taken(R"("potential_caching": [0, false], )"));
  EXPECT_FALSE(taken(R"("potential_caching": [0, true], )"));
  EXPECT_TRUE(taken(R"("potential_caching": true, "epochs": 1, )"));
  EXPECT_FALSE(taken(R"("potential_caching": true, "epochs": 2, )"));
}

TEST(ProbeReports, a_summary_has_eight_levels_at_most) {
  const auto deep = [](std::size_t more) {
    return calibrate_from_dlio(
               dlio(kReads, R"("hosts": )" + std::string(more, '[') + std::string(more, ']') + ","),
               "s.json", "hot")
        .has_value();
  };
  EXPECT_TRUE(deep(7));
  EXPECT_FALSE(deep(8));
}

}  // namespace
}  // namespace orrery::score
