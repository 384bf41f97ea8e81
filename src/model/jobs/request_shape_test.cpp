#include "model/jobs/request_shape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// Lengths are log-normal: mean = median x exp(s^2 / 2) with s = ln(p99 / median) / 2.326.
TEST(RequestShape, lengths_come_from_the_mix_or_the_design) {
  struct Row {
    const char* trace;
    double input, output, input_p99, output_p99;
  };
  for (const Row& row : {Row{"chat", 1020, 129, 4142, 601}, Row{"code", 1469, 13, 7436, 251},
                         Row{"summary", 4096, 256, 16384, 1024}}) {
    const machine::Machine m =
        served("arrivals: { rate: 1 /s, trace: " + std::string(row.trace) + " }");
    const jobs::ServeLengths l = lengths_of(only_serve(m));
    EXPECT_EQ(l.prompt.length, row.input);
    EXPECT_EQ(l.output.length, row.output);
    EXPECT_EQ(l.prompt.p99, row.input_p99);
    EXPECT_EQ(l.output.p99, row.output_p99);
    const serving::RequestShape r = request_of(m, only_serve(m));
    const auto mean = [](double median, double p99) {
      const double s = std::log(p99 / median) / 2.326;
      return median * std::exp(s * s / 2);
    };
    EXPECT_NEAR(r.input / mean(row.input, row.input_p99), 1, 1e-3);
    EXPECT_NEAR(r.output / mean(row.output, row.output_p99), 1, 1e-3);
    EXPECT_EQ(r.input_p99, row.input_p99);
    EXPECT_EQ(r.output_p99, row.output_p99);
  }
  const machine::Machine m =
      served("arrivals: { rate: 1 /s, trace: chat, input_tokens: 77, shared_prefix: 0.5 }");
  const serving::RequestShape given = request_of(m, only_serve(m));
  EXPECT_DOUBLE_EQ(given.input, 77);
  EXPECT_DOUBLE_EQ(given.input_p99, 0);
  EXPECT_DOUBLE_EQ(given.cached_share, 0.5);
}

// A built-in mix has medians and tails; lengths given in the design have no tail.
TEST(RequestShape, given_lengths_have_no_tail) {
  const design::Design d = service_design(
      "  - serve: { name: a, model: llama-3-8b, arrivals: { rate: 1 /s, trace: code } }\n"
      "  - serve: { name: b, model: llama-3-8b, arrivals: { rate: 1 /s, trace: code, "
      "output_tokens: 50 } }\n"
      "  - serve: { name: c, model: llama-3-8b, prefix_cache: false, arrivals: { rate: 1 /s, "
      "input_tokens: 600, output_tokens: 50, shared_prefix: 0.5 } }\n"
      "  - serve: { name: e, model: llama-3-8b, arrivals: { rate: 1 /s, input_tokens: 600, "
      "output_tokens: 50, shared_prefix: 0.5 }, retrieval: { tier: fast, index: 1 TB, reads: 4, "
      "tokens: 400 } }\n");
  EXPECT_EQ(lengths_of(serve_at(d, 0)).prompt.length, 1469);
  EXPECT_EQ(lengths_of(serve_at(d, 0)).prompt.p99, 7436);
  EXPECT_EQ(lengths_of(serve_at(d, 0)).output.p99, 251);
  EXPECT_EQ(lengths_of(serve_at(d, 1)).prompt.p99, 7436);
  EXPECT_EQ(lengths_of(serve_at(d, 1)).output.length, 50);
  EXPECT_EQ(lengths_of(serve_at(d, 1)).output.p99, 0);
  const machine::Machine m = build_machine(d, machine::known());
  const serving::RequestShape mixed = request_of(m, serve_at(d, 0));
  EXPECT_EQ(mixed.input_p99, 7436);
  EXPECT_GT(mixed.input, 1469) << "the mean of a log-normal is above the median";
  EXPECT_EQ(request_of(m, serve_at(d, 2)).cached_share, 0) << "no prefix cache";
  const serving::RequestShape looked = request_of(m, serve_at(d, 3));
  EXPECT_EQ(looked.input, 1000);
  EXPECT_DOUBLE_EQ(looked.cached_share, 0.5 * 0.6) << "of the prompt without what was retrieved";
}

TEST(RequestShape, task_bound_leaves_tokens_what_tools_leave) {
  const design::Design d = service_design(
      "  - serve: { name: s, model: llama-3-8b, objective: { task_p99: 20 s }, arrivals: { "
      "rate: 1 /s, input_tokens: 1000, output_tokens: 100, agent: { calls: 5, tool_time: 2 s, "
      "tool_tokens: 200 } } }\n");
  // (20 s - 4 x 2 s) / (5 x 100)
  EXPECT_NEAR(target_of(serve_at(d, 0), 100).tpot_p99.base(), 0.024, 1e-12);
  const machine::Machine m = build_machine(d, machine::known());
  const serving::RequestShape r = request_of(m, serve_at(d, 0));
  // New: (1,000 + 4 x 200) / 5; before: (1,100 + 1,400 + 1,700 + 2,000) / 5.
  EXPECT_NEAR(r.input, 360 + 1240, 1e-9);
  EXPECT_NEAR(r.cached_share, 1240.0 / 1600, 1e-9);
}

TEST(RequestShape, bound_on_whole_requests_bounds_their_tokens) {
  design::Serve s;
  s.objective.tpot_p99 = milliseconds(50);
  EXPECT_EQ(target_of(s, 100).tpot_p99, milliseconds(50));
  s.objective.latency_p99 = seconds(10);
  EXPECT_EQ(target_of(s, 100).tpot_p99, milliseconds(50));
  EXPECT_EQ(target_of(s, 400).tpot_p99, milliseconds(25));
  s.objective.tpot_p99.reset();
  EXPECT_EQ(target_of(s, 100).tpot_p99, milliseconds(100));
  EXPECT_EQ(target_of(s, 0).tpot_p99, seconds(10));
  EXPECT_EQ(target_of(s, 100).ttft_p99, Seconds(0));
}

// If tools take longer than the task may, its tokens are left a microsecond.
TEST(RequestShape, tightest_bound_is_the_target) {
  design::Serve s;
  s.objective.ttft_p99 = seconds(2);
  EXPECT_EQ(target_of(s, 100).ttft_p99, seconds(2));
  EXPECT_EQ(target_of(s, 100).tpot_p99, Seconds(0)) << "no bound";
  EXPECT_EQ(target_of(s, 100).ttft_mean, Seconds(0));
  s.arrivals.agent = design::AgentLoop{.calls = 3, .tool_time = seconds(2)};
  s.objective.task_p99 = seconds(3);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 1e-6 / 300);
  s.objective.task_p99 = seconds(34);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 30.0 / 300);
  s.objective.latency_p99 = seconds(5);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 5.0 / 100) << "of a call";
  s.objective.latency_p99 = seconds(50);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 30.0 / 300) << "of the task";
}

TEST(RequestShape, task_is_its_calls_and_tools) {
  design::Serve serve;
  serve.arrivals.agent = design::AgentLoop{.calls = 4, .tool_time = seconds(3)};
  serving::ServingPoint p;
  p.ttft = seconds(1);
  p.tpot = milliseconds(100);
  p.whole_p99 = seconds(9);
  const traffic::TaskCase task = task_of(serve, {.input = 5, .output = 11}, p);
  EXPECT_EQ(task.calls, 4);
  EXPECT_DOUBLE_EQ(task.call.base(), 1 + 10 * 0.1);
  EXPECT_EQ(task.call_p99, seconds(9));
  EXPECT_EQ(task.tool, seconds(3));
  serve.arrivals.agent.reset();
  EXPECT_EQ(task_of(serve, {}, p).calls, 1);
}

TEST(RequestShape, unknown_draft_models_change_nothing) {
  const machine::Machine m = edge_service("arrivals: { rate: 1 /s, trace: chat }");
  design::Serve serve = edge_serve(m);
  EXPECT_EQ(request_of(m, serve).checked_per_step, 1);
  serve.draft_model = "llama-3-8b";
  EXPECT_EQ(request_of(m, serve).checked_per_step, 4);
  EXPECT_DOUBLE_EQ(request_of(m, serve).accepted_per_step, 2.3 / 4) << "as large as the model";
  serve.draft_model = "unknown";
  EXPECT_EQ(request_of(m, serve).checked_per_step, 1);
  serve.draft_model = "llama-3-8b";
  serve.model = "";
  EXPECT_EQ(request_of(m, serve).checked_per_step, 1);
  serve.model = "unknown";
  EXPECT_EQ(request_of(m, serve).accepted_per_step, 1);
}

}  // namespace
}  // namespace orrery::jobs
