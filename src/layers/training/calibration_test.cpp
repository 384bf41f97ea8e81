// The training tables as files of a few lines: what is read, what is refused, and which row is
// nearest.
#include "layers/training/calibration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layers/training/framework.h"

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

TEST(TrainingTables, framework_families_start_from_the_default) {
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

// 25.10 is a month from either neighbour, and the first applies; a non-numeric version is the
// newest.
TEST(TrainingTables, release_without_a_factor_takes_the_nearest) {
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

TEST(TrainingTables, retired_framework_has_a_successor) {
  const TrainingCalibration c = Tables{}.read().value();
  EXPECT_EQ(c.family_on("old", "", 2021, 8), "old");
  EXPECT_EQ(c.family_on("old", "", 2022, 8), "nemo");
  EXPECT_EQ(c.family_on("nemo", "25.09", 2022, 512), "nemo");
  EXPECT_EQ(c.family_on("nemo", "25.09", 2022, 513), "wide");
  EXPECT_EQ(c.family_on("nemo", "25.10", 2022, 513), "nemo") << "a release since";
  EXPECT_EQ(c.family_on("old", "25.07", 2022, 513), "wide") << "one after the other";
  EXPECT_EQ(c.family_on("nobody", "", 2030, 9999), "nobody");
}

TEST(TrainingTables, broken_rows_are_refused_with_their_line) {
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

// Versions are months: 25.12 is five months before 26.05 and six after 25.06; a name is newest.
TEST(Calibration, nearest_release_is_decided_by_version) {
  const std::vector<ReleaseFactor> years = {{"f", "25.06", 2}, {"f", "26.05", 3}};
  EXPECT_EQ(nearest_factor(years, "f", "25.12"), 3);
  EXPECT_EQ(nearest_factor(years, "f", "25.11"), 2);
  EXPECT_EQ(nearest_factor(years, "f", ""), 3) << "no release given counts as the newest";
  EXPECT_EQ(nearest_factor(years, "f", "26.x"), 3);
  const std::vector<ReleaseFactor> months = {{"f", "25.10", 2}, {"f", "25.11", 3}};
  EXPECT_EQ(nearest_factor(months, "f", "25.10.60"), 3) << "hundredths of a month";
  EXPECT_EQ(nearest_factor(months, "f", "25.10.40"), 2);
  EXPECT_EQ(nearest_factor(months, "f", "25.10.49.99"), 2) << "no more than a patch counts";
  const std::vector<ReleaseFactor> majors = {{"f", "2", 2}, {"f", "4", 3}};
  EXPECT_EQ(nearest_factor(majors, "f", "2.11"), 2);
  EXPECT_EQ(nearest_factor(majors, "f", "3.01"), 3);
}

// Each switch set to 1 and to 0.
TEST(Calibration, switches_are_read) {
  constexpr const char* kSwitches[] = {"fused_attention", "fused_pointwise", "dropout",
                                       "flash2",          "early_stop",      "cp_in_order",
                                       "reduces_whole",   "trains_mtp",      "lazy_gradients"};
  const auto with = [&](const char* name, const char* value) {
    const std::string frameworks =
        std::string("framework,parameter,value\ndefault,") + name + "," + value + "\n";
    const catalog::EmbeddedFile files[] = {
        {"calibration/training_accelerators.csv", "accelerator,parameter,value\n"},
        {"calibration/training_eras.csv", "framework,until,gpus,release,successor\n"},
        {"calibration/training_frameworks.csv", frameworks},
        {"calibration/training_intervals.csv", "unseen,class,width\n"},
        {"calibration/training_releases.csv", "framework,release,factor\n"},
        {"calibration/training_seen.csv", "subject,id\n"}};
    return read_training_calibration(catalog::Knowledge{.catalog = {}, .files = files});
  };
  for (const char* name : kSwitches) {
    for (const bool on : {true, false}) {
      const auto read = with(name, on ? "1" : "0");
      ASSERT_TRUE(read) << name;
      const FrameworkModel& f = read->frameworks.front();
      const bool all[] = {f.style.fused_attention,
                          f.style.fused_pointwise,
                          f.style.dropout,
                          f.flash2,
                          f.early_stop,
                          f.cp_in_order,
                          f.reduces_whole,
                          f.trains_mtp,
                          f.lazy_gradients};
      for (std::size_t i = 0; i < std::size(all); ++i) {
        const bool otherwise = i < 2;  // fused by default
        EXPECT_EQ(all[i], kSwitches[i] == std::string(name) ? on : otherwise) << name << ' ' << i;
      }
    }
  }
  EXPECT_EQ(with("selective_core", "1")->frameworks.front().selective, Selective::attention_core);
  EXPECT_EQ(with("selective_passes", "1")->frameworks.front().selective, Selective::passes);
  EXPECT_EQ(with("selective_alternate", "1")->frameworks.front().selective,
            Selective::alternate_products);
}

}  // namespace
}  // namespace orrery::training
