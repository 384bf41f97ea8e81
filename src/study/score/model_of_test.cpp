#include "study/score/model_of.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

TEST(ModelOf, a_model_is_known_by_any_of_its_names) {
  const auto id = [](std::string_view name) {
    const auto model = model_of(name, known_inputs());
    return model ? model->id : "none";
  };
  EXPECT_EQ(id("llama-3-8b"), "llama-3-8b");
  EXPECT_EQ(id("LLaMA v3.1 8B"), id("llama-3.1-8b"));
  EXPECT_EQ(id("meta-llama/Llama_3.1_8B"), id("llama-3.1-8b"));
  EXPECT_EQ(id("meta-llama/Llama-3.1-70B-Instruct-FP8"), id("llama-3.1-70b"));
  EXPECT_EQ(id("mistralai/Mixtral-8x7B-v0.1"), id("mixtral-8x7b"));
  EXPECT_NE(id("llama-3.1-8b"), "none");
  EXPECT_EQ(id("nobody/nothing"), "none");
  ScoreInputs own = known_inputs();
  own.model = [](std::string_view) {
    catalog::ModelShape m;
    m.id = "own";
    return std::optional(m);
  };
  EXPECT_EQ(model_of("nobody/nothing", own)->id, "own");
}

}  // namespace
}  // namespace orrery::score
