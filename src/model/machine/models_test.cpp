// Tables that are missing or broken.
#include "model/machine/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::machine {
namespace {

using testing::HasSubstr;

// The shipped files with the text of one replaced; none: taken away.
std::vector<catalog::EmbeddedFile> files_with(std::string_view path,
                                              std::optional<std::string_view> text) {
  std::vector<catalog::EmbeddedFile> files;
  for (catalog::EmbeddedFile file : catalog::embedded_files()) {
    if (file.path == path && !text) continue;
    if (file.path == path) file.text = *text;
    files.push_back(file);
  }
  return files;
}

constexpr std::string_view kTables[] = {
    "catalog/nodes.csv",
    "catalog/refarch_storage.csv",
    "calibration/gemm.csv",
    "calibration/training_frameworks.csv",
    "calibration/collectives.csv",
    "calibration/failure_causes.csv",
    "calibration/node_failure_rates.csv",
    "calibration/dataset_kinds.csv",
    "calibration/serving_engines.csv",
    "calibration/serving_tuning.csv",
};

TEST(Models, missing_table_is_named) {
  for (const std::string_view path : kTables) {
    const auto files = files_with(path, std::nullopt);
    const auto models = load_models(files);
    ASSERT_FALSE(models.has_value()) << path;
    EXPECT_THAT(to_text(models.error()), HasSubstr(std::string(path)));
    EXPECT_EQ(models.error().front().code, "data.missing") << path;
  }
}

TEST(Models, broken_table_is_named) {
  for (const std::string_view path : kTables) {
    const auto files = files_with(path, "id,value\n\"never closed\n");
    const auto models = load_models(files);
    ASSERT_FALSE(models.has_value()) << path;
    EXPECT_THAT(to_text(models.error()), HasSubstr(std::string(path)));
  }
}

TEST(Models, all_faults_are_reported_at_once) {
  auto files = files_with("calibration/collectives.csv", "id\n\"never closed\n");
  std::erase_if(files, [](const catalog::EmbeddedFile& f) {
    return f.path == "calibration/dataset_kinds.csv";
  });
  const auto models = load_models(files);
  ASSERT_FALSE(models.has_value());
  EXPECT_THAT(to_text(models.error()), HasSubstr("calibration/collectives.csv"));
  EXPECT_THAT(to_text(models.error()), HasSubstr("calibration/dataset_kinds.csv"));
}

}  // namespace
}  // namespace orrery::machine
