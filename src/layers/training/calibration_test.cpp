// The tables of training as files of a few lines: what is read, what is refused, who is next.
#include "layers/training/calibration.h"

#include <gtest/gtest.h>

namespace orrery::training {
namespace {

struct Tables {
  std::string frameworks =
      "framework,parameter,value\ndefault,straggler,0.02\ndefault,fused_attention,1\n"
      "default,quantise_row,1.5\nold,fused_attention,0\nold,flash2,1\nold,selective_passes,1\n";
  std::string accelerators =
      "accelerator,parameter,value\ndefault,matrix,1.1\nh100,network,1.3\nh100,matrix_8bit,0.9\n";
  std::string releases =
      "framework,release,factor\nnemo,25.09,2\nnemo,25.11,1.5\nnemo,26.04.01,1.2\nother,25.10,9\n";
  std::string seen = "subject,id\nmodel,llama\n";
  std::string widths = "unseen,class,width\nmodel,moe,0.3\nmodel,dense,0.1\n";
  std::string eras =
      "framework,until,gpus,release,successor\nold,2021,,,nemo\nnemo,2030,512,25.09,wide\n";

  Result<TrainingCalibration> read() const {
    const catalog::EmbeddedFile files[] = {{"calibration/training_accelerators.csv", accelerators},
                                           {"calibration/training_eras.csv", eras},
                                           {"calibration/training_frameworks.csv", frameworks},
                                           {"calibration/training_intervals.csv", widths},
                                           {"calibration/training_releases.csv", releases},
                                           {"calibration/training_seen.csv", seen}};
    return read_training_calibration(catalog::Knowledge{.catalog = {}, .files = files});
  }
};

TEST(TrainingTables, FamiliesStartFromTheDefault) {
  const auto c = Tables{}.read();
  ASSERT_TRUE(c);
  const FrameworkModel plain = c->framework("nobody", "");
  EXPECT_EQ(plain.id, "default");
  EXPECT_EQ(plain.straggler, 0.02);
  EXPECT_TRUE(plain.style.fused_attention);
  EXPECT_FALSE(plain.flash2);
  EXPECT_EQ(plain.style.quantise_row, 1.5);
  EXPECT_EQ(plain.selective, Selective::attention_core);
  const FrameworkModel old = c->framework("old", "");
  EXPECT_EQ(old.straggler, 0.02);
  EXPECT_FALSE(old.style.fused_attention) << "a switch that is written as 0 is off";
  EXPECT_TRUE(old.flash2);
  EXPECT_EQ(old.selective, Selective::passes);
  EXPECT_TRUE(c->knows_framework("old"));
  EXPECT_FALSE(c->knows_framework("nobody"));
  EXPECT_EQ(c->accelerator("h100").matrix, 1.1);
  EXPECT_EQ(c->accelerator("h100").network, 1.3);
  EXPECT_EQ(c->accelerator("h100").matrix_8bit, 0.9);
  EXPECT_EQ(c->accelerator("new").network, 1);
  EXPECT_EQ(c->accelerator("new").matrix, 1.1);
  EXPECT_TRUE(c->saw(Unseen::model, "llama"));
  EXPECT_FALSE(c->saw(Unseen::model, "other"));
  EXPECT_FALSE(c->saw(Unseen::framework, "llama"));
  EXPECT_EQ(c->unseen_width(Unseen::model, true), 0.3);
  EXPECT_EQ(c->unseen_width(Unseen::model, false), 0.1);
  EXPECT_EQ(c->unseen_width(Unseen::layout, true), 0);
}

// 25.10 is a month from either neighbour, of which the first holds; what is no number is newest.
TEST(TrainingTables, AReleaseWithoutAFactorTakesTheNearestOne) {
  const TrainingCalibration c = Tables{}.read().value();
  EXPECT_EQ(c.release_factor("nemo", "25.11"), 1.5);
  EXPECT_EQ(c.release_factor("nemo", "24.01"), 2);
  EXPECT_EQ(c.release_factor("nemo", "25.10"), 2);
  EXPECT_EQ(c.release_factor("nemo", "25.12"), 1.5);
  EXPECT_EQ(c.release_factor("nemo", "26.04"), 1.2);
  EXPECT_EQ(c.release_factor("nemo", "26.01"), 1.5);
  EXPECT_EQ(c.release_factor("nemo", "26.02"), 1.2) << "two months, and three";
  EXPECT_EQ(c.release_factor("nemo", "main"), 1.2);
  EXPECT_EQ(c.release_factor("unknown", "25.10"), 1);
  EXPECT_EQ(c.framework("nemo", "25.11").overhead_factor, 1.5);
  EXPECT_EQ(nearest_factor(c.releases, "nemo", "25.09",
                           [](const ReleaseFactor& r) { return r.release != "25.09"; }),
            1.5);
}

TEST(TrainingTables, ANameThatOutlivedItsSoftwareHasASuccessor) {
  const TrainingCalibration c = Tables{}.read().value();
  EXPECT_EQ(c.family_on("old", "", 2021, 8), "old");
  EXPECT_EQ(c.family_on("old", "", 2022, 8), "nemo");
  EXPECT_EQ(c.family_on("nemo", "25.09", 2022, 512), "nemo");
  EXPECT_EQ(c.family_on("nemo", "25.09", 2022, 513), "wide");
  EXPECT_EQ(c.family_on("nemo", "25.10", 2022, 513), "nemo") << "a release since";
  EXPECT_EQ(c.family_on("old", "25.07", 2022, 513), "wide") << "one after the other";
  EXPECT_EQ(c.family_on("nobody", "", 2030, 9999), "nobody");
}

TEST(TrainingTables, EveryBrokenRowIsRefusedByItsLine) {
  const auto lines = [](const Tables& t) {
    const auto read = t.read();
    std::vector<int> all;
    if (read) return all;
    for (const Diagnostic& d : read.error()) all.push_back(d.place.line);
    return all;
  };
  Tables t;
  EXPECT_EQ(lines(t), std::vector<int>{});
  t.frameworks += "old,straggler,\nold,none,1\nold,selective_core,0\n";
  EXPECT_EQ(lines(t), (std::vector<int>{8, 9, 10}));
  t = {};
  t.accelerators += "h100,none,1\nh100,matrix,\n";
  EXPECT_EQ(lines(t), (std::vector<int>{5, 6}));
  t = {};
  t.releases += "nemo,26.06,\n";
  t.seen += "thing,x\n";
  t.widths += "thing,moe,1\nmodel,moe,\n";
  t.eras += "x,,,,y\n";
  EXPECT_EQ(lines(t), (std::vector<int>{6, 3, 4, 5, 4}));
  t = {};
  t.frameworks = "framework,parameter,value\nold,straggler,0.02\n";
  EXPECT_EQ(lines(t), std::vector<int>{0}) << "the first is the default";
}

}  // namespace
}  // namespace orrery::training
