// Pages of what is known, whole: tables of the catalog as lists and rows, words that are explained,
// and calibrations that are read from measurements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

// A note is too wide for a list; source and date stand on the page of the row.
TEST(KnownWords, a_table_is_listed_without_what_is_wide) {
  EXPECT_EQ(spoken({"catalog", "reserved-discounts"}).out,
            "reserved_discounts: 2 rows\n==========================\n"
            "  id      term_years  discount_low  discount_high  basis  confidence\n"
            "  1-year           1           0.2           0.35  seen   medium\n"
            "  3-year           3           0.4            0.6  seen   medium\n"
            "`orrery catalog reserved_discounts ID` shows a row with its source; --format csv or "
            "json has every\ncolumn.\n");
}

// 4 + 26 + 19 + 15 + 15 and 10 of confidence, and five gaps of two: 99 of the 100 columns. The next
// column has 16.
TEST(KnownWords, a_table_is_listed_as_far_as_the_line_goes) {
  const std::string text = spoken({"catalog", "Redundancy"}).out;
  EXPECT_THAT(text, StartsWith("redundancy: 6 rows\n==================\n  id    name             "
                               "           capacity_multiplier  usable_fraction  extra_capex_low  "
                               "confidence\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  3n/2  3N/2 distributed (catcher)                  1.5            "
                        "0.667              0.3  medium\n"));
  EXPECT_THAT(spoken({"catalog", "redundancy", "--format", "markdown"}).out,
              StartsWith("# redundancy: 6 rows\n\n| id | name | capacity_multiplier | "
                         "usable_fraction | extra_capex_low | confidence |\n"
                         "| --- | --- | ---: | ---: | ---: | --- |\n"
                         "| n | N | 1 | 1 | 0.0 | medium |\n"));
}

TEST(KnownWords, a_row_says_how_sure_it_is_and_what_nobody_stated) {
  EXPECT_EQ(spoken({"catalog", "power_chain", "utility-transformer-mv"}).out,
            "power_chain/utility-transformer-mv\n==================================\n"
            "  name               utility transformer MV\n"
            "  efficiency_low     0.985\n"
            "  efficiency_typ     0.99\n"
            "  efficiency_high    0.995\n"
            "  model              no-load + load^2\n"
            "  redundancy_effect  2N runs each at <50% load\n"
            "  source             industry handbooks\n"
            "  date               2026-11\n"
            "  basis              recall\n"
            "  confidence         medium (80 % interval of +-10 %)\n");
  EXPECT_THAT(spoken({"catalog", "redundancy", "flex"}).out,
              HasSubstr("\n  confidence           low (80 % interval of +-"));
  EXPECT_THAT(spoken({"catalog", "power_capping", "generic-fit"}).out,
              AllOf(HasSubstr("\nNot stated: cap_w"), Not(HasSubstr("\n  cap_w "))));
}

TEST(KnownWords, numbers_of_a_column_of_numbers_are_numbers) {
  const Json table = Json::parse(spoken({"catalog", "reserved_discounts", "--format", "json"}).out);
  EXPECT_EQ(table["schema_version"], 1);
  EXPECT_EQ(table["table"], "reserved_discounts");
  ASSERT_EQ(table["rows"].size(), 2U);
  EXPECT_EQ(table["rows"][1]["id"], "3-year");
  EXPECT_EQ(table["rows"][1]["term_years"], 3);
  EXPECT_EQ(table["rows"][1]["discount_high"], 0.6);
  EXPECT_EQ(table["rows"][1]["date"], "2026") << "a date is none, though it looks like one";
  // One row has "200-700" there, another has nothing.
  const Json caps = Json::parse(spoken({"catalog", "power_capping", "--format", "json"}).out);
  EXPECT_EQ(caps["rows"][0]["cap_w"], "600");
  EXPECT_TRUE(caps["rows"][8]["cap_w"].is_null());
  const std::string csv =
      spoken({"catalog", "power_capping", "generic-fit", "--format", "csv"}).out;
  EXPECT_THAT(csv, StartsWith("id,gpu,workload,cap_w,cap_fraction,"));
  EXPECT_THAT(csv, HasSubstr("\ngeneric-fit,generic,"));
}

TEST(KnownWords, a_word_is_told_with_all_that_it_means) {
  EXPECT_EQ(spoken({"explain", "TP"}).out,
            "The word tp\n-----------\n"
            "tensor parallelism: matrices split over devices; also the number of devices of such "
            "a group\n\n"
            "In the design file\n------------------\n"
            "  - `tp` of layout: tensor parallel; left out: 1\n"
            "  - `tp` of serve: accelerators that share one layer; left out: the least that fits\n"
            "  - `tp` of inference: accelerators that share one layer; left out: the least that "
            "fits\n");
  EXPECT_EQ(spoken({"explain", "storage.local-only"}).out,
            "The rule storage.local-only (error)\n-----------------------------------\n"
            "some copy of a checkpoint outlives the node that wrote it. Source: "
            "docs/models/checkpoint.md\n");
  EXPECT_EQ(spoken({"explain", "calc tco"}).out,
            "The verb calc tco\n-----------------\n"
            "What owning costs, per year and per useful hour. See: orrery help calc tco\n");
  EXPECT_EQ(spoken({"explain", "recovery.detect"}).out,
            "In the design file\n------------------\n"
            "  - `detect` of recovery: from the fault to the alarm; in s; left out: the failure "
            "model's figure\n");
}

TEST(KnownWords, a_figure_is_told_as_a_template_has_it) {
  const std::string text = spoken({"explain", "goodput"}).out;
  EXPECT_THAT(text, StartsWith("The word goodput\n----------------\n"));
  EXPECT_THAT(text, HasSubstr("\nThe figure goodput, as in the template superpod-h100\n"
                              "----------------------------------------------------\n"));
  EXPECT_THAT(text, HasSubstr("\nOf your own design: orrery explain my.yaml failure.goodput\n"));
  EXPECT_THAT(text, EndsWith("The goal goodput\n----------------\n"
                             "share of the training fleet's time that becomes progress\n"));
  EXPECT_EQ(text.find("failure.goodput of "), text.rfind("failure.goodput of ")) << "one of a kind";
}

TEST(KnownWords, topics_are_pages_of_their_own) {
  EXPECT_EQ(spoken({"explain", "rules", "policy.residency"}).out,
            "policy.residency\n================\n"
            "  - policy.residency (cluster, error): a workload tagged with a region is neither "
            "placed nor stored\n    outside it. Source: data residency law, as the design tags "
            "it\n");
  EXPECT_EQ(spoken({"explain", "glossary", "Tp"}).out,
            "Glossary\n========\n"
            "The short words of the design file, the reports, the JSON and the code, which mean "
            "the same in all\nof them.\n"
            "  - tp (tensor parallelism): matrices split over devices; also the number of devices "
            "of such a group\n");
  for (const char* file : {"-x/y", "x.yaml", "x.yml", "x.json"}) {
    const VerbAnswer a = spoken({"explain", std::string("/no/such/") + file});
    EXPECT_THAT(a.err, HasSubstr("[file.unreadable]")) << file;
  }
}

class CalibrateWords : public testing::Test {
 protected:
  VerbAnswer calibrate(const std::string& text, const std::vector<std::string>& more = {}) const {
    folder.write("m", text);
    std::vector<std::string> words = {"calibrate", folder.at("m")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  agent::TestFolder folder;
};

constexpr const char* kBusyDlio = R"({"num_accelerators": 16, "num_hosts": 2, "metric": {
    "train_au_mean_percentage": 98.0, "train_au_meet_expectation": "success",
    "train_io_mean_MB_per_second": 20000.0, "train_io_stdev_MB_per_second": 2000.0,
    "save_checkpoint_io_mean_GB_per_second": 3.5}})";

// 3.5 GiB/s are 3.758 GB/s. What kept the accelerators busy bounds the tier from below alone.
TEST_F(CalibrateWords, a_summary_of_dlio_gives_what_it_shows_and_says_what_it_does_not) {
  const VerbAnswer a = calibrate(kBusyDlio, {"--tier", "hot"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_EQ(a.out,
            "tier,parameter,value,error,fit\n"
            "hot,write_bytes_per_s,3758000000,0.050,\"orrery calibrate: DLIO, 16 accelerators of 2 "
            "hosts\"\n");
  EXPECT_EQ(a.err,
            "tier hot from orrery calibrate: DLIO, 16 accelerators of 2 hosts\n"
            "  read_bytes_per_s           as planned\n"
            "  write_bytes_per_s          3758000000\n"
            "  creates_per_s              as planned\n"
            "  first_byte_s               as planned\n"
            "  stream_rate_bytes_per_s    as planned\n"
            "  left out: read 21 GB/s: accelerators were busy 98 % of the time, so the tier gives "
            "at least that; more of them show what it gives at most\n");
}

TEST_F(CalibrateWords, a_probe_gives_a_tiers_rates_where_it_had_it_alone) {
  const std::string probe =
      R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"first_byte","value_s":0.001},)"
      R"({"id":"sequential_read","value_bytes_per_s":2e9,"low_bytes_per_s":1.8e9,)"
      R"("high_bytes_per_s":2.2e9}]})";
  const VerbAnswer shared = calibrate(probe, {"--tier", "hot"});
  EXPECT_EQ(shared.out,
            "tier,parameter,value,error,fit\n"
            "hot,first_byte_s,0.001,0.050,orrery calibrate: probe of \n");
  EXPECT_THAT(shared.err, HasSubstr("its rates stay as planned (--whole-tier says that it can)\n"));
  EXPECT_THAT(calibrate(probe, {"--tier", "hot", "--whole-tier"}).out,
              StartsWith("tier,parameter,value,error,fit\nhot,read_bytes_per_s,2000000000,"));
  EXPECT_EQ(calibrate(R"({"schema_version":1,"kind":"storage-probe"})", {"--tier", "hot"}).code,
            ExitCode::bad_input);
}

// As the drivers name them: the maker's name is left away, and a board's that follows.
TEST_F(CalibrateWords, an_accelerator_is_known_by_its_name) {
  const auto code = [&](const std::string& name, const std::vector<std::string>& more = {}) {
    const std::string err = calibrate("gpu,op,dtype,seconds\n" + name + ",idle,,1\n", more).err;
    const std::size_t from = err.find('[') + 1;
    return err.substr(from, err.find(']') - from);
  };
  for (const char* known : {"NVIDIA H200", "h200", "NVIDIA H100 80GB HBM3", "T4", "L40S",
                            "NVIDIA GB200", "NVIDIA A100-SXM4-80GB", "MI300X"}) {
    EXPECT_EQ(code(known), "calibrate.rows") << known;
  }
  for (const char* unknown : {"", "NVIDIA ", "Tesla V100", "H"}) {
    EXPECT_EQ(code(unknown), "calibrate.accelerator") << unknown;
  }
  EXPECT_EQ(code("Abacus 9", {"--accelerator", "h100-sxm"}), "calibrate.rows");
  EXPECT_EQ(code("NVIDIA H200", {"--accelerator", "abacus"}), "calibrate.accelerator");
  EXPECT_THAT(calibrate("gpu,op,dtype,seconds\n").err, HasSubstr("[calibrate.accelerator]"));
}

TEST_F(CalibrateWords, the_columns_say_of_what_a_file_is) {
  const std::string tuning = calibrate("id,silicon_tpot_ms\n").out;
  EXPECT_THAT(tuning, StartsWith("accelerator,engine,products,experts,decoding,"));
  EXPECT_EQ(calibrate("id,metric\n").out, tuning);
  EXPECT_THAT(calibrate("id,busbw_GBps_oop\n").out,
              StartsWith("group,name,parameter,value,unit,basis,fixed_by\nscaleup,NVLink2,"));
  EXPECT_EQ(calibrate("a,\"b\n").err,
            folder.at("m") + ": error: a quoted field is never closed [csv.quote]\n");
  EXPECT_EQ(spoken({"calibrate", "/no/such"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
