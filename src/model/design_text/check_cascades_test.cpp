// Services that pass requests on, replicas on slices and windows of nodes that are kept: what is
// refused, where, why and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text::check_cascades_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Lines = std::vector<std::string>;

// "code at WORD: what | why | fix", one a fault.
Lines refusals(const std::string& more, const std::string& fleet = "") {
  const std::string text =
      "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 8" +
      fleet + " }\n  - { name: b, node: dgx-h100, count: 4 }\n" + more;
  const auto design = read_design(text, design::catalog(), {.file = "d.yaml"});
  Lines lines;
  if (design) return lines;
  for (const Diagnostic& d : design.error()) {
    lines.push_back(d.code + " at " + word_at(text, d.place) + ": " + d.what + " | " + d.why +
                    " | " + d.fix);
  }
  return lines;
}

std::string modelled(const std::string& name, const std::string& rate, const std::string& more) {
  return "  - serve: { name: " + name + ", model: llama-3-8b, arrivals: { rate: " + rate +
         " /s, trace: chat }" + more + " }\n";
}

std::string plain(const std::string& name, const std::string& more) {
  return "  - serve: { name: " + name +
         ", network: { params: 1M, forward: 1 GFLOP }, arrivals: { rate: 1 /s }" + more + " }\n";
}

std::string passes_to(const std::string& name) {
  return ", escalate: { service: " + name + ", share: 0.1 }";
}

const char* const kCircle =
    ": services escalate in a circle | no answer would ever stay | end the chain with a service "
    "that answers all";

TEST(CheckCascades, a_chain_ends_with_one_that_answers) {
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("y")) +
                       modelled("y", "0", passes_to("z")) + modelled("z", "0", "")),
              IsEmpty());
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("x"))),
              ElementsAre(std::string("design.cascade at x") + kCircle));
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("y")) +
                       modelled("y", "1", passes_to("z")) + modelled("z", "1", passes_to("x"))),
              ElementsAre(std::string("design.cascade at y") + kCircle,
                          std::string("design.cascade at z") + kCircle,
                          std::string("design.cascade at x") + kCircle));
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("nobody"))),
              ElementsAre("design.unknown-name at nobody: this file has no service `nobody` |  | "
                          "name a workload of kind `serve`"));
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("job")) +
                       "  - jobs: { name: job, rate: 1 /h, mean_duration: 1 h }\n"),
              ElementsAre("design.unknown-name at job: this file has no service `job` |  | name a "
                          "workload of kind `serve`"));
}

TEST(CheckCascades, both_ends_answer_in_tokens_and_once) {
  const std::string network =
      "design.cascade at {: a plain network has no larger model to go to | its requests are "
      "samples, and not answered in tokens | leave `escalate` out";
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("y")) + plain("y", "")),
              ElementsAre(network));
  EXPECT_THAT(refusals("workloads:\n" + plain("x", passes_to("y")) + modelled("y", "1", "")),
              ElementsAre(network));
  const std::string talks =
      "  - serve: { name: y, model: llama-3-8b, arrivals: { rate: 1 /s, trace: chat, turns: 3 } "
      "}\n";
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("y")) + talks),
              ElementsAre("design.cascade at {: talks and tasks that escalate are not modelled | "
                          "the larger model would have none of their history | leave `escalate` "
                          "out"));
}

TEST(CheckCascades, a_service_is_asked_by_somebody) {
  const auto nobody = [](const std::string& at) {
    return "design.range at " + at +
           ": nobody asks this service | its rate is 0, and no other service escalates to it | "
           "write a rate";
  };
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "0", "")), ElementsAre(nobody("0")));
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "0.001", "")), IsEmpty());
  EXPECT_THAT(refusals("workloads:\n" + modelled("x", "1", passes_to("y")) +
                       modelled("y", "0", "") + modelled("z", "0", "")),
              ElementsAre(nobody("0")))
      << "only the last";
  EXPECT_THAT(refusals("workloads:\n  - jobs: { name: j, rate: 1 /h, mean_duration: 1 h }\n" +
                       modelled("x", "1", "") + modelled("y", "0", "")),
              ElementsAre(nobody("0")));
}

TEST(CheckCascades, a_replica_on_slices) {
  const std::string one = ", mig: { 1g.10gb: 7 }";
  const auto with = [&](const std::string& fields, const std::string& mig) {
    return refusals("workloads:\n" + modelled("x", "1", fields), mig);
  };
  const std::string joined =
      ": a replica on a slice is on one | no link joins slices | leave it out, or serve on whole "
      "accelerators";
  EXPECT_THAT(with(", pp: 1, tp: 1", one), IsEmpty());
  EXPECT_THAT(with(", pp: 3, tp: 2", one), ElementsAre("design.mig at 3" + joined));
  EXPECT_THAT(with(", tp: 2", one), ElementsAre("design.mig at 2" + joined));
  EXPECT_THAT(with(", disaggregated: true, tp: 2", one),
              ElementsAre("design.mig at true: prefill and decode apart on slices are not modelled "
                          "| a slice has no port of its own to send keys through | leave it out, "
                          "or serve on whole accelerators"));
  EXPECT_THAT(with(", tp: 2", ", mig: { 1g.10gb: 3, 2g.20gb: 2 }"),
              ElementsAre("design.mig at {: the accelerators of its fleet are cut into slices of "
                          "several sizes | services that share an accelerator are not modelled | "
                          "cut them into one size, or give the service a fleet of its own"));
  EXPECT_THAT(with(", tp: 2, fleet: b", one), IsEmpty());
}

TEST(CheckCascades, windows_are_kept_on_slurms_nodes) {
  const auto with = [](const std::string& kind, const std::string& fields,
                       const std::string& fleet = "") {
    return refusals("scheduler:\n  kind: " + kind +
                        "\n  quotas: [{ tenant: amy, share: 0.5 }]\n  reservations:\n    - { name: "
                        "r, start: 0 h, duration: 1 h" +
                        fields + " }\n",
                    fleet);
  };
  const std::string kubernetes =
      "design.reservation at {: a reservation is Slurm's, and its fleet is run by Kubernetes | "
      "Kubernetes would not hold it | cordon the nodes there, or use Slurm";
  const std::string away = ", partition: kubernetes";
  EXPECT_THAT(with("both", ", fleet: a", away), ElementsAre(kubernetes));
  EXPECT_THAT(with("both", ", fleet: a", ", partition: slurm"), IsEmpty());
  EXPECT_THAT(with("kubernetes", ""), ElementsAre(kubernetes));
  EXPECT_THAT(with("both", ", nodes: 4", away), IsEmpty()) << "Slurm's first fleet is b";
  EXPECT_THAT(with("both", ", nodes: 5", away),
              ElementsAre("design.reservation at 5: `r` wants 5 nodes of fleet `b`, which has 4 |  "
                          "| lower `nodes`, or leave it out for the whole fleet"));
  EXPECT_THAT(with("slurm", ", fleet: ab"),
              ElementsAre("design.unknown-name at ab: this file has no fleet `ab` |  | did you "
                          "mean `a`?"));
  EXPECT_THAT(with("slurm", ", fleet: elsewhere"),
              ElementsAre("design.unknown-name at elsewhere: this file has no fleet `elsewhere` |  "
                          "| name one of those there are"));
  const std::string account = " | a tenant's quota makes the account that a reservation names | ";
  EXPECT_THAT(with("slurm", ", tenants: [amyy, amy, somebody]"),
              ElementsAre("design.unknown-name at [amyy: no quota is of the tenant `amyy`" +
                              account + "did you mean `amy`?",
                          "design.unknown-name at [amyy: no quota is of the tenant `somebody`" +
                              account + "add it to `scheduler: { quotas: [...] }`"));
  EXPECT_THAT(with("slurm", ", repeat: hourly"),
              ElementsAre("design.reservation at 1: a window of `r` ends after the next opens | "
                          "its nodes would never be free | make it shorter, or let it repeat less "
                          "often"));
}

}  // namespace
}  // namespace orrery::design_text::check_cascades_tests
