// `orrery fabric log`: nccl-tests output against the rates that its machine should reach.
#include <fmt/format.h>

#include "app/cli/fabric_verbs.h"
#include "app/cli/session.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/fabric/nccl_log.h"
#include "model/jobs/build_machine.h"
#include "model/machine/machine.h"
#include "study/score/log_standing.h"

namespace orrery::cli {
namespace {

struct LogOptions {
  std::string file;
  Format format = Format::text;
  std::optional<std::string> design;
  std::string gpu = "h100-sxm";
  std::int64_t per_node = 8;
  std::int64_t nics = 8;
  std::string rate = "400 Gb/s";
  std::string network = "infiniband";
  std::optional<std::int64_t> ranks;
};

report::Document log_document(const score::LogStanding& standing, const fabric::NcclLog& log,
                              int ranks) {
  report::Document d;
  d.heading(1, fmt::format("{} over {} ranks: measured against expected",
                           log.kind ? to_text(*log.kind) : "collective", ranks));
  for (const Diagnostic& n : log.notes) d.paragraph(n.what + ". " + n.fix + ".");
  report::Table t{
      .header = {"size", "measured", "expected", "80 % interval", "bus GB/s", "verdict"},
      .flush_right = {true, true, true, true, true, false}};
  for (const score::LogLine& line : standing.lines) {
    const Estimate& e = line.expected.seconds;
    t.rows.push_back({brief(Bytes(line.measured.bytes)), brief(Seconds(line.seconds())),
                      brief(Seconds(e.value)),
                      brief(Seconds(e.low)) + " .. " + brief(Seconds(e.high)),
                      significant(line.measured.busbw, 4),
                      line.slow()   ? "slow"
                      : line.fast() ? "fast"
                                    : "as expected"});
  }
  d.table(std::move(t));
  if (!standing.reasons.empty()) {
    d.heading(2, "Likely reasons");
    std::vector<std::string> items;
    for (const fabric::GapReason& r : standing.reasons)
      items.push_back(r.reason + ". Check: " + r.check + ".");
    d.bullets(std::move(items));
  }
  return d;
}

Result<machine::Wiring> wiring_from_options(const LogOptions& o, const catalog::Catalog& catalog) {
  const catalog::Accelerator* a = catalog.accelerator(o.gpu);
  const auto rate = parse_quantity<BytesPerSecond>(o.rate);
  Diagnostics faults;
  if (!a) {
    faults.push_back(fabric_usage("the catalog has no accelerator " + o.gpu,
                                  "`orrery catalog accelerators` lists them"));
  }
  if (!rate) faults.push_back(fabric_usage("not a rate: " + o.rate, "400 Gb/s"));
  if (o.per_node < 1 || o.per_node > 1024) {
    faults.push_back(fabric_usage("--gpus-per-node", "8"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  const auto per_host = static_cast<int>(o.per_node);
  return machine::Wiring{.accelerator = a,
                         .domain = score::domain_of_host(*a, per_host),
                         .accelerators_per_host = per_host,
                         .nics_per_host = static_cast<double>(o.nics),
                         .nic_rate = *rate,
                         .network = fabric::network_kind_from(o.network, a->scaleup_link)};
}

// Returns the wiring of the design's first fleet with accelerators.
Result<machine::Wiring> wiring_from_design(const std::string& path, const machine::Models& models,
                                           Terminal& terminal) {
  auto design = load_design(path, models.catalog(), terminal);
  if (!design) return std::unexpected(design.error());
  const machine::Machine machine = jobs::build_machine(std::move(*design), models);
  for (const machine::Fleet& fleet : machine.fleets) {
    if (fleet.accelerator()) return wiring_of(fleet, machine.networks_of(fleet));
  }
  return fail(fabric_usage("the design has no fleet with accelerators", "give --gpu instead"));
}

// InfiniBand and RoCE have the same fitted curve; what tells them apart is the network as built.
bool equals_infiniband(const machine::Wiring& w, const fabric::CollectiveParameters& parameters) {
  if (w.network != catalog::NetworkKind::roce || w.routed.tree) return false;
  const fabric::NetworkCurve a = parameters.network(catalog::NetworkKind::roce).curve;
  const fabric::NetworkCurve b = parameters.network(catalog::NetworkKind::infiniband).curve;
  return a.share == b.share && a.latency == b.latency && a.ramp == b.ramp && a.fill == b.fill;
}

ExitCode run_log(const LogOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto text = terminal.read_file(o.file);
  if (!text) return refuse(terminal, text.error());
  const auto log = fabric::parse_nccl_log(*text, o.file);
  if (!log) return refuse(terminal, log.error());
  const auto wiring = o.design ? wiring_from_design(*o.design, *models, terminal)
                               : wiring_from_options(o, models->catalog());
  Diagnostics faults = wiring ? Diagnostics{} : wiring.error();
  const int per_host = wiring ? wiring->accelerators_per_host : 1;
  const auto ranks = static_cast<int>(o.ranks.value_or(ranks_of(*log, per_host)));
  if (ranks < 2) {
    faults.push_back(fabric_usage("the log does not say how many ranks ran", "give --ranks"));
  }
  if (!faults.empty()) return refuse(terminal, faults);
  const score::LogStanding standing = score::stand_log(*log, ranks, *wiring, models->collectives);
  report::Document d = log_document(standing, *log, ranks);
  if (equals_infiniband(*wiring, models->collectives)) {
    d.paragraph(
        "RoCE is expected to be as fast as InfiniBand: both have the same fitted parameters "
        "(docs/models/collectives.md). Hash collisions make the difference; --design counts them.");
  }
  print_document(terminal, o.format, d);
  return ExitCode::good;
}

void bind_log(LogOptions& o, Arguments& a) {
  a.positional("FILE", o.file, "output file of nccl-tests");
  a.option("--design", o.design,
           "use the first fleet of a design and its network instead of the options", "FILE");
  a.option("--gpu", o.gpu, "catalog id of the accelerator", "ID");
  a.option("--gpus-per-node", o.per_node, "accelerators per host");
  a.option("--nics", o.nics, "NICs per host");
  a.option("--rate", o.rate, "line rate of a NIC", "Gb/s");
  a.option("--network", o.network, "infiniband, roce, efa, tcpxo, tcpx", "KIND");
  a.option("--ranks", o.ranks,
           "number of ranks; default: the rank lines of the header, or the bandwidths");
  a.format(o.format, {Format::text, Format::markdown});
}

}  // namespace

Verb fabric_log_verb() {
  return fabric_sub_verb<LogOptions>("log", "Compare nccl-tests output with the expected rates",
                                     {"orrery fabric log all_reduce.log --gpu h100-sxm"}, bind_log,
                                     run_log);
}

}  // namespace orrery::cli
