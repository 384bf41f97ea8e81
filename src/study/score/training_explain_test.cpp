#include "study/score/training_explain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

TEST(TrainingExplain, an_explanation_adds_up) {
  const CsvTable table = *CsvTable::parse(
      training_csv("a,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,25.02,read,4000,,,x\n"),
      "t.csv");
  const auto text = explain_training_row(table, known_inputs(), "a");
  ASSERT_TRUE(text) << to_text(text.error());
  const auto number = [&](const std::string& label) {
    const std::size_t at = text->find("  " + label);
    EXPECT_NE(at, std::string::npos) << label;
    return std::stod(text->substr(at + 2 + label.size()));
  };
  // 16 sequences of 4,096 tokens on eight devices at 4,000 tokens/s each: 2.048 s.
  EXPECT_NEAR(number("measured"), 2.048, 1e-4);
  EXPECT_NEAR(number("difference"), 2.048 - number("predicted"), 2e-4);
  double seconds = 0, percent = 0;
  for (std::size_t at = text->find("difference"); (at = text->find('\n', at)) != std::string::npos;
       ++at) {
    const std::string line = text->substr(at + 1, text->find('\n', at + 1) - at - 1);
    if (line.size() < 19) continue;
    seconds += std::stod(line.substr(19));
    percent += std::stod(line.substr(line.find(" s ") + 3));
  }
  EXPECT_NEAR(seconds, number("predicted"), 2e-3);
  EXPECT_NEAR(percent, 100, 0.6);
  EXPECT_THAT(*text, HasSubstr("cannot explain it"));
}

TEST(TrainingExplain, a_row_is_explained_by_its_parts) {
  const ScoreInputs inputs{machine::known(), nullptr};
  const auto text = explain_training_row(outside_rows(), inputs, "bloom-176b");
  ASSERT_TRUE(text) << to_text(text.error());
  EXPECT_NE(text->find("matrix products"), std::string::npos) << *text;
  EXPECT_NE(text->find("times as long"), std::string::npos) << *text;
  EXPECT_FALSE(explain_training_row(outside_rows(), inputs, "no-such-row"));
}

}  // namespace
}  // namespace orrery::score
