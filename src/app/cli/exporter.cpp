// `orrery exporter DESIGN`: serves planned and measured values side by side for Prometheus to
// scrape.
#include "live/agent/exporter.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "app/server/access.h"
#include "app/server/message.h"
#include "model/design_text/write_design.h"
#include "output/emit/prometheus.h"
#include "output/emit/prometheus_plan.h"
#include "plan/verdict/verdict.h"

namespace orrery::cli {
namespace {

// Media type of Prometheus's text format.
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

struct ExporterOptions {
  std::string design;
  int port = emit::kOrreryExporterPort;
  bool slurm = false;
  std::string slurm_conf;
  std::string node_files;
  std::vector<std::string> probes;
  bool once = false;
};

// Returns orrery_plan_NAME families with one sample per bound, so that a panel can draw the band.
agent::MetricFamilies plan_families(const std::vector<emit::PlannedValue>& plan) {
  agent::MetricFamilies families;
  for (const emit::PlannedValue& v : plan) {
    const std::string name = "orrery_plan_" + v.metric;
    if (families.empty() || families.back().name != name) {
      families.push_back({.name = name, .help = v.help + " Planned value.", .samples = {}});
    }
    const std::pair<const char*, double> bounds[] = {
        {"value", v.estimate.value}, {"low", v.estimate.low}, {"high", v.estimate.high}};
    for (const auto& [bound, value] : bounds) {
      auto labels = v.labels;
      labels.emplace_back("bound", bound);
      families.back().samples.push_back({std::move(labels), value});
    }
  }
  return families;
}

agent::MetricFamily info_family(const design::Design& design) {
  return {.name = "orrery_exporter_info",
          .help = "Design that the planned values come from.",
          .samples = {{{{"design", design.name},
                        {"version", design.version},
                        {"digest", design_text::design_digest(design)}},
                       1}}};
}

Seconds wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return Seconds(std::chrono::duration<double>(since).count());
}

net::Response answer(const net::Request& request, int port, agent::Exporter& exporter) {
  if (auto refusal = server::check_host(request, port)) return *refusal;
  const std::string_view path = net::path_of(request);
  if (path != "/metrics" && path != "/") {
    return {.status = 404, .body = "Only /metrics is served here.\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return {.status = 405, .body = "Only GET is supported.\n", .headers = {{"Allow", "GET"}}};
  }
  if (path == "/") return {.body = "The metrics are at /metrics.\n"};
  return {.content_type = kMetricsType, .body = exporter.page()};
}

agent::ExporterSetup setup_of(const ExporterOptions& options, agent::MetricFamilies plan,
                              Terminal& terminal) {
  agent::ExporterSetup setup{
      .plan = std::move(plan),
      .slurm = options.slurm,
      .question = {.conf = options.slurm_conf},
      .node_files = options.node_files,
      .probes = {},
      .patience = options.once ? minutes(1) : agent::ExporterSetup{}.patience,
      .run = agent::run_until(terminal.interrupted),
      .read_file = terminal.read_file,
      .now = wall_clock,
      .log = [&terminal](const Diagnostics& all) { terminal.err << to_text(all); }};
  for (const std::string& probe : options.probes)
    setup.probes.push_back(agent::probe_file_of(probe));
  return setup;
}

ExitCode serve_metrics(const ExporterOptions& options, agent::Exporter& exporter,
                       Terminal& terminal) {
  net::ServerOptions listening = server::browser_options();
  listening.port = options.port;
  auto port = std::make_shared<std::atomic<int>>(0);
  auto server = net::Server::listen(listening, [&exporter, port](const net::Request& request) {
    return answer(request, *port, exporter);
  });
  if (!server) return refuse(terminal, server.error());
  *port = (*server)->port();
  terminal.out << fmt::format("http://127.0.0.1:{}/metrics", (*server)->port()) << '\n'
               << std::flush;
  terminal.err << "Press Ctrl-C to stop.\n";
  (*server)->run(terminal.interrupted);
  return ExitCode::good;
}

ExitCode run_exporter(const ExporterOptions& options, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto design = load_design(options.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  const review::Review review = review::run_stages(*design, *models);
  agent::MetricFamilies plan = plan_families(emit::planned_values(review));
  plan.push_back(info_family(*design));
  agent::Exporter exporter(setup_of(options, std::move(plan), terminal));
  if (!options.once) return serve_metrics(options, exporter, terminal);
  terminal.out << exporter.page();
  return ExitCode::good;
}

}  // namespace

Verb exporter_verb() {
  return {.name = "exporter",
          .summary = "Serve planned and measured values of a cluster as Prometheus metrics",
          .examples = {"orrery exporter my.yaml --slurm",
                       "orrery exporter my.yaml --slurm --node-files /var/lib/orrery/metrics",
                       "orrery exporter my.yaml --probe hot=probe.csv --once"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<ExporterOptions>();
            arguments.positional("DESIGN", options->design, "design file with the planned values");
            arguments.port(options->port);
            arguments.flag("--slurm", options->slurm,
                           "ask sinfo and squeue for nodes, GPUs and the queue");
            arguments.option("--slurm-conf", options->slurm_conf,
                             "slurm.conf, if it is not in its default place", "FILE");
            arguments.option("--node-files", options->node_files,
                             "folder of *.prom files that jobs and health checks write", "DIR");
            arguments.option("--probe", options->probes,
                             "CSV of `orrery probe storage`, as TIER=FILE or TIER.csv; repeatable",
                             "FILE");
            arguments.flag("--once", options->once, "print the metrics once and exit");
            return [options](Terminal& terminal) { return run_exporter(*options, terminal); };
          }};
}

}  // namespace orrery::cli
