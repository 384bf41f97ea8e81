// `orrery fabric compare`: what routing leaves of a network's rate, on a leaf-spine network by its
// sizes or on a design's compute network, and what that makes of its training steps.
#include <fmt/format.h>

#include "app/cli/fabric_verbs.h"
#include "app/cli/session.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/fabric/hazards.h"
#include "model/jobs/resolve_jobs.h"
#include "model/jobs/train_run.h"
#include "model/machine/machine.h"

namespace orrery::cli {
namespace {

std::string percent(double share) { return significant(100 * share, 3) + " %"; }
std::string longer(double factor) { return significant(factor, 3) + "x"; }

struct CompareOptions {
  std::int64_t leaves = 32;
  std::int64_t hosts = 32;
  std::int64_t spines = 32;
  std::int64_t queue_pairs = 4;
  std::optional<std::string> design;
  Format format = Format::text;
};

// One row per routing: what it leaves to each pattern.
struct RoutingRow {
  std::string name;
  catalog::RoutingKind routing;
  int queue_pairs;
};

void add_patterns(report::Document& d, const machine::Network& n, int queue_pairs) {
  using fabric::CrossingPattern;
  using enum catalog::RoutingKind;
  report::Table t{.header = {"routing", "all traffic crosses leaves", "all-to-all", "tree", "ring"},
                  .flush_right = {false, true, true, true, true}};
  const RoutingRow own{"this design", n.wanted->routing, n.wanted->queue_pairs};
  for (const RoutingRow& row :
       {own, RoutingRow{"adaptive", adaptive, 1}, RoutingRow{"static", fixed, 1},
        RoutingRow{"hashed, one queue pair", ecmp, 1},
        RoutingRow{fmt::format("hashed, {} queue pairs", queue_pairs), ecmp, queue_pairs}}) {
    auto spec = *routed_spec(n);
    spec.routing = row.routing;
    spec.queue_pairs = row.queue_pairs;
    const fabric::RoutedTree tree(spec);
    const fabric::GroupPlace all{.members = spec.hosts, .scatter = spec.scattered ? 1.0 : 0.0};
    t.rows.push_back({row.name, percent(tree.left_of(1, 1)),
                      percent(tree.left(CrossingPattern::all_pairs, all)),
                      percent(tree.left(CrossingPattern::tree, all)),
                      percent(tree.left(CrossingPattern::ring, all))});
  }
  d.table(std::move(t));
}

// Returns the step with adaptive routing in the same layout.
void add_steps(report::Document& d, const jobs::LoadedMachine& loaded) {
  jobs::for_each_job<jobs::TrainJob>(*loaded.jobs, [&](const jobs::TrainJob& job) {
    if (!job.feasible()) return;
    auto spec = routed_spec(loaded.machine->networks_of(*job.fleet).compute);
    if (!spec) return;
    spec->routing = catalog::RoutingKind::adaptive;
    const auto even =
        step_on(job, *loaded.machine, std::make_shared<const fabric::RoutedTree>(*spec));
    if (!even) return;
    d.paragraph(fmt::format(
        "{}: a step takes {}, {} with adaptive routing in the same layout ({} %). {} % of it is "
        "communication that the network exposes.",
        job.label, brief(job.step.step), brief(*even),
        significant(100 * (job.step.step / *even - 1), 2),
        significant(100 * job.step.exposed_network_share, 2)));
  });
}

ExitCode compare_design(const CompareOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  auto design = load_design(*o.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  const jobs::LoadedMachine loaded = jobs::load_machine(std::move(*design), *models);
  const machine::Network& compute = loaded.machine->main_networks().compute;
  if (!compute.routed) {
    return refuse(
        terminal,
        {fabric_usage("the design's compute network has no leaves and spines: its routing "
                      "is not modelled",
                      "give --leaves, --hosts and --spines instead")});
  }
  report::Document d;
  d.heading(1, "What routing leaves of the compute network's rate");
  d.paragraph("Shares of the rate with adaptive routing and full bisection.");
  add_patterns(d, compute, static_cast<int>(o.queue_pairs));
  add_steps(d, loaded);
  print_document(terminal, o.format, d);
  return ExitCode::good;
}

ExitCode run_compare(const CompareOptions& o, Terminal& terminal) {
  constexpr std::int64_t kMost = 256;
  for (const std::int64_t n : {o.leaves, o.hosts, o.spines, o.queue_pairs}) {
    if (n < 1 || n > kMost) return refuse(terminal, {fabric_usage("counts are 1 to 256", "")});
  }
  if (o.design) return compare_design(o, terminal);
  const fabric::FabricComparison c =
      fabric::compare_fabrics(static_cast<int>(o.leaves), static_cast<int>(o.hosts),
                              static_cast<int>(o.spines), static_cast<int>(o.queue_pairs), 3);
  const auto row = [&](std::string name, double rate, Seconds latency) {
    return std::vector<std::string>{std::move(name), percent(rate),
                                    longer(c.infiniband_rate / rate), brief(latency)};
  };
  report::Document d;
  d.heading(1, "InfiniBand against RoCE on one leaf-spine network");
  d.table({.header = {"", "rate in a permutation", "collectives take", "3 switches"},
           .rows = {row("InfiniBand, adaptive routing", c.infiniband_rate, c.infiniband_latency),
                    row("static routes", c.static_rate, c.infiniband_latency),
                    row("RoCE, one queue pair, hashed", c.roce_hashed_rate, c.roce_latency),
                    row(fmt::format("RoCE, {} queue pairs", o.queue_pairs), c.roce_spread_rate,
                        c.roce_latency)},
           .flush_right = {false, true, true, true}});
  d.paragraph(
      "RoCE with packet spraying or adaptive routing performs as InfiniBand does. What remains is "
      "its latency, and the configuration that a lossless class needs.");
  print_document(terminal, o.format, d);
  return ExitCode::good;
}

void bind_compare(CompareOptions& o, Arguments& a) {
  a.option("--design", o.design,
           "show what routing leaves on the compute network of a design, and its steps", "FILE");
  a.option("--leaves", o.leaves, "leaves");
  a.option("--hosts", o.hosts, "hosts per leaf");
  a.option("--spines", o.spines, "spines");
  a.option("--queue-pairs", o.queue_pairs, "queue pairs per connection");
  a.format(o.format, {Format::text, Format::markdown});
}

}  // namespace

Verb fabric_compare_verb() {
  return fabric_sub_verb<CompareOptions>(
      "compare", "Compare InfiniBand and RoCE: bandwidth left after hash collisions",
      {"orrery fabric compare --queue-pairs 8", "orrery fabric compare --design my.yaml"},
      bind_compare, run_compare);
}

}  // namespace orrery::cli
