#include "app/cli/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb_fixture.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using SessionFormats = FormatsTest;
using testing::AllOf;
using testing::HasSubstr;

TEST(Session, file_names_in_a_design_are_relative_to_its_folder) {
  std::ostringstream out;
  std::vector<std::string> asked;
  Terminal terminal{
      .out = out, .err = out, .read_file = [&](const std::string& path) -> Result<std::string> {
        asked.push_back(path);
        return std::string();
      }};
  const auto read = [&](const std::string& design, const std::string& path) {
    EXPECT_TRUE(files_beside(design, terminal)(path));
    return asked.back();
  };
  EXPECT_EQ(read("designs/mine.yaml", "hours.csv"), "designs/hours.csv");
  EXPECT_EQ(read("/a/mine.yaml", "../h.csv"), "/a/../h.csv");
  EXPECT_EQ(read("mine.yaml", "hours.csv"), "hours.csv");
  EXPECT_EQ(read("designs/mine.yaml", "/data/hours.csv"), "/data/hours.csv");
  EXPECT_EQ(read("-", "hours.csv"), "hours.csv");
}

TEST_F(SessionFormats, calibration_files_are_applied) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  folder.write("mine.csv",
               "accelerator,library,dtype,parameter,value\n"
               "h100-sxm,cublas,bf16,efficiency,0.5\n");
  folder.write("hot.csv",
               "tier,parameter,value,error,fit\nhot,read_bytes_per_s,7000000000,0.1,x\n");
  const auto shipped = shipped_models();
  ASSERT_TRUE(shipped);
  EXPECT_TRUE(shipped->tiers.empty());
  const auto both = calibrated_models({folder.at("mine.csv"), folder.at("hot.csv")}, terminal);
  ASSERT_TRUE(both) << to_text(both.error());
  ASSERT_EQ(both->tiers.size(), 1U);
  EXPECT_EQ(both->tiers[0].tier, "hot");
  EXPECT_EQ(both->tiers[0].read->base(), 7e9);
  const auto faulty = [&](const char* rows) {
    folder.write("bad.csv", std::string("accelerator,library,dtype,parameter,value\n") + rows);
    const auto read = calibrated_models({folder.at("bad.csv"), folder.at("none.csv")}, terminal);
    EXPECT_FALSE(read);
    return read ? 0 : static_cast<int>(read.error().size());
  };
  EXPECT_EQ(faulty(",cublas,bf16,efficiency,0.5\n"), 2);
  EXPECT_EQ(faulty("h100-sxm,cublas,bf16,,0.5\n"), 2);
  EXPECT_EQ(faulty("h100-sxm,cublas,bf16,efficiency,much\n"), 2);
  EXPECT_EQ(faulty(",,,,\n,,,,\n"), 3);
  EXPECT_EQ(faulty("h100-sxm,cublas,bf16,efficiency,0.5\n"), 1);
}

TEST_F(SessionFormats, calibration_of_an_unknown_tier_is_a_warning) {
  const auto warned = [&](const char* tier) {
    folder.write("tier.csv", "tier,parameter,value,error,fit\n" + std::string(tier) +
                                 ",read_bytes_per_s,7000000000,0.1,x\n");
    return spoken({"plan", design(), "--brief", "--calibration", folder.at("tier.csv")}).err;
  };
  EXPECT_THAT(warned("lukewarm"),
              AllOf(HasSubstr("the design has no tier \"lukewarm\" [calibration.tier]"),
                    HasSubstr(folder.at("tier.csv"))));
  EXPECT_EQ(warned("hot"), "");
  EXPECT_EQ(warned("node-nvme"), "");
}

}  // namespace
}  // namespace orrery::cli
