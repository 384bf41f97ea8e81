#include "model/jobs/speculation.h"

#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/request_shape.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

// Three guesses per step yield 2.3 tokens; the draft model has 8.03 of 70.55 billion weights.
TEST(Speculation, draft_model_costs_its_own_steps) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1 }]\n"
      "workloads: [{ serve: { name: s, model: llama-3-70b, draft_model: llama-3-8b, arrivals: { "
      "rate: 1 /s, input_tokens: 1000, output_tokens: 100, shared_prefix: 0.3 } } }]\n",
      machine::known().catalog());
  ASSERT_TRUE(d) << to_text(d.error());
  const machine::Machine m = build_machine(*d, machine::known());
  design::Serve serve = std::get<design::Serve>(m.design().workloads[0].task);
  const serving::RequestShape drafted = request_of(m, serve);
  EXPECT_EQ(drafted.checked_per_step, 4);
  EXPECT_NEAR(drafted.accepted_per_step, 2.3 / (1 + 3 * 8.0303 / 70.5537), 1e-5);
  EXPECT_EQ(drafted.input, 1000);
  EXPECT_NEAR(drafted.cached_share, 0.3, 1e-12);
  serve.draft_model.clear();
  const serving::RequestShape plain = request_of(m, serve);
  EXPECT_EQ(plain.checked_per_step, 1);
  EXPECT_EQ(plain.accepted_per_step, 1);
  serve.prefix_cache = false;
  EXPECT_EQ(request_of(m, serve).cached_share, 0);
}

}  // namespace
}  // namespace orrery::jobs
