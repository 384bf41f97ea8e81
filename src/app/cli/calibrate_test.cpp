#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "live/agent/test_folder.h"
#include "model/machine/known_fixture.h"

namespace orrery::cli {
namespace {

using CalibrateVerb = VerbTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST_F(CalibrateWords, a_probe_calibrates_a_tier_it_had_alone) {
  const std::string probe =
      R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"first_byte","value_s":0.001},)"
      R"({"id":"sequential_read","value_bytes_per_s":2e9,"low_bytes_per_s":1.8e9,)"
      R"("high_bytes_per_s":2.2e9}]})";
  const VerbAnswer shared = calibrate(probe, {"--tier", "hot"});
  EXPECT_EQ(shared.out,
            "tier,parameter,value,error,fit\n"
            "hot,first_byte_s,0.001,0.050,orrery calibrate: probe of \n");
  EXPECT_THAT(shared.err, HasSubstr("--whole-tier"));
  EXPECT_THAT(calibrate(probe, {"--tier", "hot", "--whole-tier"}).out,
              StartsWith("tier,parameter,value,error,fit\nhot,read_bytes_per_s,2000000000,"));
  EXPECT_EQ(calibrate(R"({"schema_version":1,"kind":"storage-probe"})", {"--tier", "hot"}).code,
            ExitCode::bad_input);
}

// Device names as the drivers report them: the vendor's name and the board's are ignored.
TEST_F(CalibrateWords, an_accelerator_is_recognized_by_its_name) {
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

TEST_F(CalibrateWords, the_kind_of_file_follows_from_its_columns) {
  const std::string tuning = calibrate("id,silicon_tpot_ms\n").out;
  EXPECT_THAT(tuning, StartsWith("accelerator,engine,products,experts,decoding,"));
  EXPECT_EQ(calibrate("id,metric\n").out, tuning);
  EXPECT_THAT(calibrate("id,busbw_GBps_oop\n").out,
              StartsWith("group,name,parameter,value,unit,basis,fixed_by\nscaleup,NVLink2,"));
  EXPECT_EQ(codes_in(calibrate("a,\"b\n").err), "csv.quote");
  EXPECT_EQ(spoken({"calibrate", "/no/such"}).code, ExitCode::bad_input);
}

TEST_F(CalibrateVerb, a_dlio_summary_calibrates_a_tier) {
  const std::string file = put("summary.json", kDlio);
  const VerbAnswer none = spoken({"calibrate", file});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("[calibrate.tier]"));
  const VerbAnswer a = spoken({"calibrate", file, "--tier", "hot"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, AllOf(StartsWith("tier,parameter,value,error,fit\nhot,"),
                           HasSubstr("hot,read_bytes_per_s,20970000000,0.128,")));
  EXPECT_THAT(a.err, HasSubstr("hot"));
  const VerbAnswer busy = spoken(
      {"calibrate", put("b.json", R"({"num_accelerators": 1, "metric": {}})"), "--tier", "hot"});
  EXPECT_EQ(busy.code, ExitCode::bad_input);
}

TEST_F(CalibrateVerb, a_training_fit_prints_its_files) {
  const std::string rows = put("rows.csv", kTraining);
  const VerbAnswer all = spoken({"calibrate", rows, "--adjust"});
  EXPECT_EQ(all.code, ExitCode::good) << all.err;
  for (const char* part : {"frameworks", "accelerators", "releases", "seen"}) {
    EXPECT_THAT(all.out, HasSubstr("# data/calibration/training_" + std::string(part) + ".csv\n"));
    const VerbAnswer one = spoken({"calibrate", rows, "--adjust", "--part", part});
    EXPECT_EQ(one.code, ExitCode::good);
    EXPECT_FALSE(one.out.empty());
    EXPECT_THAT(one.out, Not(HasSubstr("# data/")));
    EXPECT_THAT(all.out, HasSubstr(one.out));
  }
  const VerbAnswer none = spoken({"calibrate", rows, "--adjust", "--part", "none"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
}

TEST_F(CalibrateVerb, training_intervals_are_a_separate_file) {
  const VerbAnswer a =
      spoken({"calibrate", put("rows.csv", "id,tokens_per_s_per_gpu\n"), "--part", "intervals"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, StartsWith("unseen,class,width,source\nmodel,dense,"));
}

TEST_F(CalibrateVerb, kind_and_subject_are_required) {
  const std::string report = put(
      "probe.json",
      R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"first_byte","value_s":0.001}]})");
  expect_code({"calibrate", report}, "calibrate.tier");
  EXPECT_EQ(say({"calibrate", report, "--tier", "hot"}).code, ExitCode::good);
  const std::string rows = put("probe.csv", "gpu,op,dtype,seconds\nNVIDIA H200,idle,,1\n");
  expect_code({"calibrate", rows}, "calibrate.rows");  // the accelerator is known but has no rows
  expect_code({"calibrate", put("x.csv", "gpu,op,dtype,seconds\nAbacus 9,idle,,1\n")},
              "calibrate.accelerator");
  const std::string lines =
      put("train.csv",
          "id,gpu,n_gpus,model,seq,gbs,precision,framework,certainty,tokens_per_s_per_gpu\n"
          "a,h100-sxm,8,llama-3-8b,4096,16,bf16,nemo,read,9000\n");
  expect_code({"calibrate", lines, "--adjust", "--part", "nosuch"}, "calibrate.part");
  expect_code({"score", "training", lines, "--explain", "b"}, "score.row");
  const std::string faulty =
      put("mine.csv", "accelerator,library,dtype,parameter,value\n,,bf16,efficiency,0.5\n");
  expect_code({"plan", sample("d.yaml"), "--calibration", faulty}, "calibration.row");
  const std::string other =
      put("tier.csv", "tier,parameter,value,error,fit\nlukewarm,first_byte_s,0.1,0.1,x\n");
  EXPECT_THAT(say({"plan", sample("d.yaml"), "--calibration", other}).err,
              HasSubstr("[calibration.tier]"));
}

}  // namespace
}  // namespace orrery::cli
