#include "twin/serve_run.h"

#include <gtest/gtest.h>

#include "twin/run_fixture.h"

namespace orrery::twin {
namespace {

design::Design serving_design() {
  design::Design d = sample_design();
  d.workloads.resize(1);
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.tp = 1;
  serve.replicas = 4;
  serve.arrivals = {.rate = PerSecond(20), .peak = 1.5, .trace = "chat"};
  serve.objective.ttft_p99 = seconds(1);
  serve.objective.tpot_p99 = milliseconds(50);
  d.workloads.front().task = serve;
  return d;
}

double served_figure(const machine::Section& s, std::string_view id) {
  for (const machine::Figure& f : s.figures) {
    if (f.id == id) return f.estimate.value;
  }
  ADD_FAILURE() << "no figure " << id;
  return 0;
}

machine::Section served_section(const design::Design& d) {
  const machine::Machine m = build_machine(d, machine::known());
  const auto sections = serving_sections(m, 1);
  EXPECT_EQ(sections.size(), 1u);
  return sections.front();
}

TEST(ServeRun, ALostReplicaIsSeenInTheFirstTokens) {
  const machine::Section s = served_section(serving_design());
  EXPECT_GT(served_figure(s, "run_ttft_p99"), served_figure(s, "run_ttft_p50"));
  EXPECT_GT(served_figure(s, "run_goodput"), 0.9);
  EXPECT_GE(served_figure(s, "run_loss_ttft_p99"), served_figure(s, "run_ttft_p99"));
}

TEST(ServeRun, FewerReplicasServeLater) {
  design::Design d = serving_design();
  const double four = served_figure(served_section(d), "run_latency_p99");
  std::get<design::Serve>(d.workloads.front().task).replicas = 1;
  EXPECT_GT(served_figure(served_section(d), "run_latency_p99"), four);
}

TEST(ServeRun, PrefillApartKeepsTokensEven) {
  design::Design d = serving_design();
  auto& serve = std::get<design::Serve>(d.workloads.front().task);
  const double joined = served_figure(served_section(d), "run_tpot_p99");
  serve.disaggregated = true;
  serve.prefill_replicas = 2;
  const machine::Section apart = served_section(d);
  EXPECT_NE(apart.summary.find("for prefill"), std::string::npos);
  EXPECT_LT(served_figure(apart, "run_tpot_p99"), joined);
}

TEST(ServeRun, AServiceWithoutRequestsSaysSo) {
  design::Design d = serving_design();
  std::get<design::Serve>(d.workloads.front().task).arrivals.rate = PerSecond(0);
  EXPECT_EQ(served_section(d).summary, "no requests come");
}

}  // namespace
}  // namespace orrery::twin
