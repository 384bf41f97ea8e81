#include "study/score/storage_probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/verdict/verdict.h"
#include "study/score/calibrate.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_compare.h"
#include "study/score/tier_fixture.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;
using testing::Not;

RowFields tier_row(const RowFields& more) {
  return with_fields({{"tier", "hot"},
                      {"parameter", "read_bytes_per_s"},
                      {"value", "7"},
                      {"error", "0.2"},
                      {"fit", "a probe"}},
                     more);
}

TEST(StorageProbe, a_tier_has_one_row_per_parameter) {
  machine::TierMeasurement m{.tier = "hot", .error = 0.2, .source = "a, probe"};
  m.read = BytesPerSecond(7e9);
  m.write = BytesPerSecond(5e9);
  m.creates = PerSecond(300);
  m.first_byte = Seconds(0.0025);
  m.stream_rate = BytesPerSecond(2e9);
  const std::string text = tier_calibration_csv(m);
  const auto read = read_tier_calibration(CsvTable::parse(text, "t.csv").value());
  ASSERT_TRUE(read) << text;
  ASSERT_EQ(read->size(), 1U);
  const machine::TierMeasurement& back = read->front();
  EXPECT_EQ(back.tier, "hot");
  EXPECT_EQ(back.read, m.read);
  EXPECT_EQ(back.write, m.write);
  EXPECT_EQ(back.creates, m.creates);
  EXPECT_EQ(back.first_byte, m.first_byte);
  EXPECT_EQ(back.stream_rate, m.stream_rate);
  EXPECT_EQ(back.error, 0.2);
  EXPECT_EQ(back.source, "a, probe");
}

TEST(StorageProbe, useless_rows_of_a_tier_are_refused) {
  const std::string parameter = [] {
    machine::TierMeasurement m{.tier = "hot"};
    m.read = BytesPerSecond(1);
    const CsvTable t = CsvTable::parse(tier_calibration_csv(m), "t.csv").value();
    return std::string(t.text(t.rows()[0], "parameter"));
  }();
  const auto read = [&](const RowFields& more) {
    return read_tier_calibration(
        table_of({tier_row(with_fields({{"parameter", parameter}}, more))}));
  };
  ASSERT_TRUE(read({}));
  EXPECT_EQ(read({})->front().read, BytesPerSecond(7));
  EXPECT_EQ(read({{"error", "-1"}})->front().error, 0);
  EXPECT_EQ(read({{"error", "3"}})->front().error, 0.9);
  EXPECT_EQ(read({{"error", ""}})->front().error, 0.1);
  for (const RowFields& bad : {RowFields{{"tier", ""}},
                               {{"value", "0"}},
                               {{"value", "-2"}},
                               {{"value", "x"}},
                               {{"parameter", "speed"}}}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused) << bad.begin()->first;
    ASSERT_EQ(refused.error().size(), 1U);
    const Diagnostic& d = refused.error()[0];
    EXPECT_EQ(d.code, "calibration.row");
    EXPECT_EQ(d.place.file, "rows.csv");
    EXPECT_EQ(d.place.line, 2);
    EXPECT_EQ(d.place.column, 1);
  }
}

std::string report(const std::string& more) {
  return R"({"schema_version":1,"kind":"storage-probe",)" + more + "}";
}

TEST(StorageProbe, a_figure_has_an_id_and_a_value) {
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

TEST(StorageProbe, error_is_the_widest_but_at_least_5_percent) {
  const auto error = [](std::vector<MeasuredFigure> figures) {
    return tier_measurement(probe_with(std::move(figures)), {.tier = "node-nvme"})->error;
  };
  EXPECT_DOUBLE_EQ(error({{"sequential_read", 100, 97, 104}}), 0.05);
  EXPECT_DOUBLE_EQ(error({{"sequential_read", 100, 97, 120}}), 0.2);
  EXPECT_DOUBLE_EQ(error({{"sequential_read", 100, 97, 120}, {"sequential_write", 50, 35, 50}}),
                   0.3);
  EXPECT_DOUBLE_EQ(error({{"creates", 100, 10, 900}, {"first_byte", 1, 0.1, 9}}), 0.05);
}

TEST(StorageProbe, tier_figures_come_from_the_probe) {
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
  EXPECT_THAT(text, HasSubstr("scratch"));
  EXPECT_THAT(text, HasSubstr("  stream_rate_bytes_per_s    15\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("--whole-tier")));
  const auto nothing = tier_measurement(probe_with({{"sequential_read", 11}}), {.tier = "hot"});
  ASSERT_FALSE(nothing);
  const machine::TierMeasurement writes{.tier = "t", .write = BytesPerSecond(3), .source = "x"};
  EXPECT_THAT(tier_calibration_text(writes), testing::Not(HasSubstr("--whole-tier")));
}

TEST(StorageProbe, the_interval_is_the_wider_side) {
  const auto measured = [](const std::string& figures) {
    const auto probe = read_storage_probe(
        R"({"schema_version":1,"kind":"storage-probe","target":"/x","target_kind":"folder",)"
        R"("conditions":{"streams":"16"},"figures":[)" +
            figures + "]}",
        "p.json");
    EXPECT_TRUE(probe) << to_text(probe.error());
    return *probe;
  };
  const StorageProbe p = measured(
      R"({"id":"sequential_read","value_bytes_per_s":100,"low_bytes_per_s":60,"high_bytes_per_s":110},)"
      R"({"id":"sequential_write","value_bytes_per_s":0},{"id":"first_byte","value_s":0.5})");
  EXPECT_EQ(p.streams, 16);
  EXPECT_EQ(p.figure("sequential_read")->low, 60);
  const auto m = tier_measurement(p, {.tier = "node-nvme"});
  ASSERT_TRUE(m);
  EXPECT_NEAR(m->error, 0.4, 1e-12) << "60 for 100, not 110";
  EXPECT_FALSE(m->write);
  const std::string text = tier_calibration_text(*m);
  EXPECT_THAT(text, HasSubstr("as planned"));
  EXPECT_THAT(text, Not(HasSubstr("--whole-tier")));
  EXPECT_EQ(tier_measurement(measured(R"({"id":"sequential_read","value_bytes_per_s":100})"),
                             {.tier = "hot", .whole_tier = true})
                ->read,
            BytesPerSecond(100));
}

TEST(StorageProbe, invalid_reports_are_refused) {
  const auto code = [](const std::string& text) {
    const auto probe = read_storage_probe(text, "p.json");
    return probe ? "none" : probe.error().front().code;
  };
  const auto with = [](const std::string& figure, const std::string& version = "1") {
    return R"({"schema_version":)" + version + R"(,"kind":"storage-probe","figures":[)" + figure +
           "]}";
  };
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1})")), "none");
  EXPECT_EQ(code(with(R"({"id":"x","value_s":-1})")), "calibrate.storage-report");
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1})", "2")), "calibrate.storage-report");
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1,"a":[[[[[[[1]]]]]]]})")), "calibrate.storage-report")
      << "too deep";
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1})") + std::string(1 << 20, ' ')),
            "calibrate.storage-report")
      << "too large";
  const auto streams = read_storage_probe(
      R"({"schema_version":1,"kind":"storage-probe","conditions":{"streams":"0"},"figures":[]})",
      "p");
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->streams, 4);
}

TEST(StorageProbe, rows_of_a_tier_are_merged) {
  const auto read = [](const std::string& rows) {
    return read_tier_calibration(
        *CsvTable::parse("tier,parameter,value,error,fit\n" + rows, "m.csv"));
  };
  const auto both =
      read("hot,read_bytes_per_s,5,0.1,x\nhot,write_bytes_per_s,4,3,x\ncold,creates_per_s,3,,x\n");
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ((*both)[0].read, BytesPerSecond(5));
  EXPECT_EQ((*both)[0].write, BytesPerSecond(4));
  EXPECT_EQ((*both)[0].error, 0.9);
  EXPECT_EQ((*both)[1].creates, PerSecond(3));
  EXPECT_FALSE(read("hot,read_bytes_per_s,0,0.1,x\n"));
  EXPECT_FALSE(read(",read_bytes_per_s,1,0.1,x\n"));
}

constexpr const char* kReport = R"({"schema_version":1,"kind":"storage-probe","target":"/scratch",
 "target_kind":"folder","conditions":{"engine":"io_uring"},"figures":[
 {"id":"sequential_read","repeats":3,"value_bytes_per_s":4e9,"low_bytes_per_s":3.6e9,"high_bytes_per_s":4.1e9},
 {"id":"sequential_write","value_bytes_per_s":2e9},
 {"id":"creates","value_per_s":9000},
 {"id":"first_byte","value_s":0.00008}],"notices":[],"interrupted":false})";

TEST(StorageProbe, write_rate_is_that_of_safe_checkpoints) {
  const auto blocks =
      tier_measurement(probe_of("folder", {{"sequential_write", 2e9}}), {"node-nvme", false});
  EXPECT_EQ(blocks->write, gbytes_per_s(2));
  const auto saved =
      tier_measurement(probe_of("folder", {{"sequential_write", 2e9}, {"checkpoint_rate", 5e8}}),
                       {"node-nvme", false});
  EXPECT_EQ(saved->write, gbytes_per_s(0.5));
}

TEST(StorageProbe, reports_are_read_with_units) {
  const auto probe = read_storage_probe(kReport, "p.json");
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->figure("sequential_read")->value, 4e9);
  EXPECT_EQ(probe->figure("sequential_read")->low, 3.6e9);
  EXPECT_EQ(probe->figure("creates")->high, 9000);
  EXPECT_EQ(probe->figure("random_read"), nullptr);
}

TEST(StorageProbe, hostile_reports_are_refused) {
  for (const std::string& bad :
       {std::string("{}"), std::string("not json"), std::string(R"({"kind":7,"figures":[]})"),
        std::string(R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"x"}]})"),
        std::string(
            R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":7,"value_s":1}]})"),
        std::string(R"({"schema_version":2,"kind":"storage-probe","figures":[]})"),
        std::string(100'000, '['), std::string(2'000'000, ' ') + "{}"}) {
    const auto probe = read_storage_probe(bad, "p.json");
    ASSERT_FALSE(probe) << bad.substr(0, 60);
    EXPECT_EQ(probe.error()[0].code, "calibrate.storage-report");
  }
}

TEST(StorageProbe, local_drives_are_measured_as_a_whole) {
  const auto m = tier_measurement(*read_storage_probe(kReport, "p"), {.tier = "node-nvme"});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->read, BytesPerSecond(4e9));
  EXPECT_EQ(m->write, BytesPerSecond(2e9));
  EXPECT_EQ(m->creates, PerSecond(9000));
  EXPECT_NEAR(m->error, 0.1, 1e-9);
}

TEST(StorageProbe, one_client_does_not_calibrate_a_shared_tier) {
  const auto probe = *read_storage_probe(kReport, "p");
  const auto shared = tier_measurement(probe, {.tier = "hot"});
  ASSERT_TRUE(shared);
  EXPECT_FALSE(shared->read);
  EXPECT_FALSE(shared->creates);
  EXPECT_TRUE(shared->first_byte);
  EXPECT_THAT(tier_calibration_text(*shared), HasSubstr("--whole-tier"));
  EXPECT_TRUE(tier_measurement(probe, {.tier = "hot", .whole_tier = true})->read);
}

TEST(StorageProbe, calibration_files_round_trip) {
  const auto m = tier_measurement(*read_storage_probe(kReport, "p"), {.tier = "node-nvme"});
  const auto table = CsvTable::parse(tier_calibration_csv(*m), "mine.csv");
  ASSERT_TRUE(table);
  EXPECT_TRUE(is_tier_calibration(*table));
  const auto back = read_tier_calibration(*table);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ(back->front().read, m->read);
  EXPECT_EQ(back->front().first_byte, m->first_byte);
  EXPECT_NEAR(back->front().error, m->error, 1e-3);
}

TEST(StorageProbe, useless_rows_are_refused_with_their_line) {
  const auto table = CsvTable::parse(
      "tier,parameter,value,error,fit\nhot,speed,1,0.1,x\nhot,read_bytes_per_s,-1,0.1,x\n", "m");
  const auto read = read_tier_calibration(*table);
  ASSERT_FALSE(read);
  ASSERT_EQ(read.error().size(), 2u);
  EXPECT_EQ(read.error()[0].place.line, 2);
}

TEST(StorageProbe, a_plan_uses_the_calibration) {
  TierReview world;
  const verdict::Verdict before =
      verdict::verdict_of(world.design, world.models, {.spends = false});
  world.models.tiers = {
      {.tier = "hot", .write = BytesPerSecond(1e9), .error = 0.07, .source = "me"}};
  const verdict::Verdict after = verdict::verdict_of(world.design, world.models, {.spends = false});
  const figures::Figure* write = after.figure(figures::Layer::storage, "write", "hot tier");
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->estimate.value, 1e9);
  EXPECT_EQ(write->estimate.basis, Basis::measured);
  EXPECT_EQ(write->estimate.reference, "me");
  EXPECT_NEAR(write->estimate.high, 1.07e9, 1);
  EXPECT_EQ(after.figure(figures::Layer::storage, "read", "hot tier")->estimate.value,
            before.figure(figures::Layer::storage, "read", "hot tier")->estimate.value);
}

}  // namespace
}  // namespace orrery::score
