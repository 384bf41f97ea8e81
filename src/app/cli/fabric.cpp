// `orrery fabric`: studies one network by itself: its bill, a path, what a loss costs, counters and
// logs.
#include <fmt/format.h>

#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/fabric/bill.h"
#include "layers/fabric/counters.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/nccl_log.h"
#include "layers/fabric/storm_study.h"
#include "layers/fabric/what_if.h"
#include "model/jobs/build_machine.h"
#include "model/machine/machine.h"
#include "output/report/document.h"
#include "study/score/log_standing.h"

namespace orrery::cli {
namespace {

// The network to study: the compute network of a design, or one described by options.
struct NetworkOptions {
  std::optional<std::string> design;
  std::string topology = "rail-fat-tree";
  std::int64_t nodes = 127;
  std::int64_t nics = 8;
  std::string switch_id = "qm9700";
  std::optional<std::int64_t> radix;
  std::string rate = "400 Gb/s";
  std::int64_t planes = 1;
  double oversubscription = 1;
  std::string torus;
  std::string routing = "static";
  std::int64_t queue_pairs = 1;
  std::uint64_t seed = 1;
  Format format = Format::text;
};

std::vector<std::string> routing_words() {
  std::vector<std::string> words;
  // Words of the design file; the older words are accepted too.
  for (const auto& row : words_of(catalog::RoutingKind{}).rows()) words.emplace_back(row.word);
  for (const auto& row : words_of(catalog::RoutingKind{}).rows()) {
    if (row.other_or_word() != row.word) words.emplace_back(row.other_or_word());
  }
  return words;
}

void bind_network(NetworkOptions& o, Arguments& a) {
  a.option("--design", o.design, "use the compute network of a design instead of the options",
           "FILE");
  const auto kinds = word_list<catalog::TopologyKind>();
  a.choice("--topology", o.topology, {kinds.begin(), kinds.end()}, "kind of topology");
  a.option("--nodes", o.nodes, "number of nodes");
  a.option("--nics", o.nics, "NICs per node on this network");
  a.option("--switch", o.switch_id, "catalog id of the switch", "ID");
  a.option("--radix", o.radix, "switch ports at the NIC's rate; default: from the catalog");
  a.option("--rate", o.rate, "line rate of a NIC", "Gb/s");
  a.option("--planes", o.planes, "number of planes");
  a.option("--oversubscription", o.oversubscription,
           "bandwidth down over bandwidth up at the leaf");
  a.option("--torus", o.torus, "dimensions of a torus, such as 16x16x4", "SIZES");
  a.choice("--routing", o.routing, routing_words(), "routing policy");
  a.seed(o.seed);
  a.format(o.format, {Format::text, Format::json, Format::markdown});
}

catalog::RoutingKind routing_of(const std::string& text) {
  return from_any_word<catalog::RoutingKind>(text).value_or(catalog::RoutingKind::fixed);
}

struct Built {
  fabric::Topology topology;
  catalog::Bill bill;
  fabric::PauseOptions pauses;
  std::optional<catalog::RoutingKind> routing;  // routing of the design
  int queue_pairs = 1;
};

Diagnostic usage(std::string what, std::string fix) {
  return {.severity = Severity::error,
          .code = "fabric.usage",
          .what = std::move(what),
          .fix = std::move(fix)};
}

Result<Built> from_design(const NetworkOptions& o, const machine::Models& models,
                          Terminal& terminal) {
  auto design = load_design(*o.design, models.catalog(), terminal);
  if (!design) return std::unexpected(design.error());
  const machine::Machine machine = jobs::build_machine(std::move(*design), models);
  const machine::Network& compute = machine.main_networks().compute;
  if (!compute.topology) {
    if (!compute.faults.empty()) return std::unexpected(compute.faults);
    return fail(usage("the design has no compute network of its own", "describe fabric.compute"));
  }
  return Built{*compute.topology, compute.bill, pause_options(compute), compute.wanted->routing,
               compute.wanted->queue_pairs};
}

Result<Built> from_options(const NetworkOptions& o, const catalog::Catalog& catalog) {
  const auto rate = parse_quantity<BytesPerSecond>(o.rate);
  Diagnostics faults;
  if (!catalog.switch_part(o.switch_id)) {
    faults.push_back(
        usage("the catalog has no switch " + o.switch_id, "`orrery catalog switches` lists them"));
  }
  if (!rate || !(rate->base() > 0)) faults.push_back(usage("not a rate: " + o.rate, "400 Gb/s"));
  constexpr std::int64_t kMost = 1'000'000;
  if (o.nodes > kMost || o.nics > kMost || o.planes > 8 || o.radix.value_or(2) > kMost) {
    faults.push_back(usage("a number is out of range", "at most a million nodes"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  machine::PlainNetwork wanted{.kind = from_word<catalog::TopologyKind>(o.topology)
                                           .value_or(catalog::TopologyKind::rail_fat_tree),
                               .nodes = static_cast<int>(o.nodes),
                               .ports_per_node = static_cast<int>(o.nics),
                               .switch_part = catalog.switch_part(o.switch_id),
                               .port_rate = *rate,
                               .planes = static_cast<int>(o.planes),
                               .oversubscription = o.oversubscription};
  if (o.radix) wanted.radix = static_cast<int>(*o.radix);
  for (const std::string_view k : split(o.torus, 'x')) {
    if (const auto size = parse_integer(k)) wanted.torus.push_back(static_cast<int>(*size));
  }
  auto built = build_network(wanted, catalog);
  if (!built) return std::unexpected(std::move(built.error()));
  return Built{std::move(built->topology), std::move(built->bill), {}, {}, 1};
}

Result<Built> build(const NetworkOptions& o, const machine::Models& models, Terminal& terminal) {
  return o.design ? from_design(o, models, terminal) : from_options(o, models.catalog());
}

void print(Terminal& terminal, Format format, const report::Document& d) {
  terminal.out << (format == Format::markdown ? to_markdown(d) : to_text(d, terminal.style));
}

std::string bill_json(const Built& b) {
  const fabric::Topology& t = b.topology;
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("topology", to_text(t.spec.kind));
  w.field("tiers", t.tiers).field("endpoints", t.endpoints).field("leaf", t.leaves);
  w.field("spine", t.spines).field("core", t.cores).field("node_leaf_cables", t.node_cables());
  w.field("manager_cables", t.manager_links).field("leaf_spine_cables", t.leaf_spine_cables());
  w.field("spine_core_cables", t.spine_core_cables()).field("diameter_links", diameter_links(t));
  w.field("bisection_bytes_per_s", bisection(t).base());
  w.field("bisection_share", bisection_share(t)).field("power_w", b.bill.power().base());
  w.field("price_low_usd", b.bill.price().low.base());
  w.field("price_high_usd", b.bill.price().high.base());
  w.key("lines").begin_array();
  for (const catalog::BillLine& line : b.bill.lines) {
    w.begin_object().field("item", line.item).field("part", line.part_id);
    w.field("count", line.count).field("unit_power_w", line.unit_power.base());
    w.field("reference", line.reference).end_object();
  }
  w.end_array().end_object();
  return w.text() + "\n";
}

ExitCode run_bill(const NetworkOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto b = build(o, *models, terminal);
  if (!b) return refuse(terminal, b.error());
  if (o.format == Format::json) {
    terminal.out << bill_json(*b);
    return ExitCode::good;
  }
  const fabric::Topology& t = b->topology;
  report::Document d;
  d.heading(1, fmt::format("{} of {} endpoints", to_text(t.spec.kind), t.endpoints));
  d.paragraph(
      fmt::format("{} tiers, {} leaves, {} spines, {} cores; at most {} links between endpoints; "
                  "bisection {} ({} % of full); draws {}; costs {} to {}.",
                  t.tiers, t.leaves, t.spines, t.cores, diameter_links(t), brief(bisection(t)),
                  significant(100 * bisection_share(t), 3), brief(b->bill.power()),
                  brief(b->bill.price().low), brief(b->bill.price().high)));
  report::Table table{.header = {"item", "part", "count", "W each"},
                      .flush_right = {false, false, true, true}};
  for (const catalog::BillLine& line : b->bill.lines) {
    table.rows.push_back({line.item, line.part_id, grouped(static_cast<std::int64_t>(line.count)),
                          significant(line.unit_power.base(), 3)});
  }
  d.table(std::move(table));
  print(terminal, o.format, d);
  return ExitCode::good;
}

struct PathOptions : NetworkOptions {
  std::int64_t from = 0;
  std::int64_t to = 1;
};

ExitCode run_path(const PathOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto b = build(o, *models, terminal);
  if (!b) return refuse(terminal, b.error());
  const fabric::FabricGraph g = build_graph(b->topology);
  if (o.from < 0 || o.to < 0 || o.from >= g.endpoints || o.to >= g.endpoints) {
    return refuse(terminal,
                  {usage(fmt::format("endpoints are numbered 0 to {}", g.endpoints - 1), "")});
  }
  fabric::Router router(g, {.kind = routing_of(o.routing), .seed = o.seed});
  std::vector<fabric::LinkId> path;
  const bool found = router.route(static_cast<fabric::VertexId>(o.from),
                                  static_cast<fabric::VertexId>(o.to), 0, path);
  if (!found)
    return refuse(terminal, {usage("no path: the endpoints may be in different planes", "")});
  if (o.format == Format::json) {
    JsonWriter w;
    w.begin_object().field("schema_version", 1).field("latency_s", path_latency(g, path));
    w.key("links").begin_array();
    for (const fabric::LinkId l : path) w.value(g.link_name(l));
    terminal.out << w.end_array().end_object().text() << '\n';
    return ExitCode::good;
  }
  report::Document d;
  d.heading(1, fmt::format("{} to {}", g.vertex_name(static_cast<fabric::VertexId>(o.from)),
                           g.vertex_name(static_cast<fabric::VertexId>(o.to))));
  std::vector<std::string> links;
  for (const fabric::LinkId l : path) links.push_back(g.link_name(l));
  d.bullets(std::move(links));
  d.paragraph(fmt::format("{} links, {} latency, {} routing.", path.size(),
                          brief(Seconds(path_latency(g, path))), o.routing));
  print(terminal, o.format, d);
  return ExitCode::good;
}

struct LossOptions : NetworkOptions {
  std::string lose = "link";
  std::int64_t number = 0;
};

std::string loss_json(const fabric::LossReport& r) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("lost", r.lost);
  w.field("before_s", r.before.base()).field("after_s", r.after.base()).field("share", r.share);
  w.field("closed_form_share", r.closed_form_share).field("cut", r.cut).field("slowed", r.slowed);
  w.field("limiting_link", r.limiting_link).key("nodes").begin_array();
  for (const int n : r.nodes) w.value(n);
  return w.end_array().end_object().text() + "\n";
}

// Returns the cost of a loss as a sentence, which also says why if the loss costs nothing.
std::string loss_text(const fabric::LossReport& r, catalog::RoutingKind routing) {
  if (r.cut > 0) return fmt::format("{} messages have no path left: the job stops.", r.cut);
  std::string text = fmt::format(
      "Every endpoint sends 100 MB to the endpoint half-way round: {} before the loss, {} after; a "
      "collective keeps {} % of its network rate",
      brief(r.before), brief(r.after), significant(100 * r.share, 3));
  if (routing == catalog::RoutingKind::ecmp) {
    // If the hash already put many flows on one link before the loss, the effect of the loss is
    // hidden.
    text += fmt::format(
        ". The cause is hashing: the busiest link carries {} flows before the loss, {} after.",
        significant(r.before / r.alone, 2), significant(r.after / r.alone, 2));
    if (r.share > 0.995)
      text += " It is no slower because flows already collide as badly on other links.";
    return text;
  }
  text += fmt::format(" ({} % by the closed form).", significant(100 * r.closed_form_share, 3));
  if (r.share > 0.995) {
    text +=
        fmt::format(" It is no slower because {} is the bottleneck and the other paths have room.",
                    r.limiting_link);
  }
  return text;
}

ExitCode run_loss(const LossOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto b = build(o, *models, terminal);
  if (!b) return refuse(terminal, b.error());
  if (o.number < 0 || o.number > 100'000'000) return refuse(terminal, {usage("no such part", "")});
  const auto r = study_loss(b->topology,
                            {.loss = fabric::loss_from(o.lose).value_or(fabric::Loss::leaf_uplink),
                             .number = static_cast<int>(o.number),
                             .routing = {.kind = routing_of(o.routing), .seed = o.seed}});
  if (!r) return refuse(terminal, r.error());
  if (o.format == Format::json) {
    terminal.out << loss_json(*r);
    return ExitCode::good;
  }
  report::Document d;
  d.heading(1, "Without " + r->lost);
  d.paragraph(loss_text(*r, routing_of(o.routing)));
  std::string nodes;
  for (const int n : r->nodes) nodes += (nodes.empty() ? "" : ", ") + std::to_string(n);
  d.paragraph(fmt::format("Affects jobs on nodes {}. Limiting link: {}.",
                          nodes.empty() ? "none" : nodes, r->limiting_link));
  print(terminal, o.format, d);
  return ExitCode::good;
}

struct StormOptions : NetworkOptions {
  std::int64_t partners = 4;
};

ExitCode run_storm(const StormOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto b = build(o, *models, terminal);
  if (!b) return refuse(terminal, b.error());
  if (o.partners < 1 || o.partners > 256) return refuse(terminal, {usage("1 to 256 partners", "")});
  const auto r = study_storm(
      b->topology, {.routing = {.kind = b->routing.value_or(routing_of(o.routing)), .seed = o.seed},
                    .queue_pairs = b->queue_pairs,
                    .partners = static_cast<int>(o.partners),
                    .options = b->pauses});
  if (!r) return refuse(terminal, r.error());
  if (o.format == Format::json) {
    JsonWriter w;
    w.begin_object().field("schema_version", 1).field("nodes", r->nodes).field("reach", r->reach);
    w.field("left", r->left).field("spread_s", r->spread.base()).field("pauses", r->pauses);
    w.field("held", r->held).field("back", r->back).key("watchdog_s");
    b->pauses.watchdog ? w.value(b->pauses.watchdog->base()) : w.null();
    terminal.out << w.end_object().text() << '\n';
    return ExitCode::good;
  }
  const auto percent = [](double share) { return significant(100 * share, 3) + " %"; };
  report::Document d;
  d.heading(1, "A NIC that never stops sending pause frames");
  d.paragraph(
      fmt::format("Of {} nodes that send to {} others each, {} are slowed within {}, to {} of "
                  "their rate; messages between other nodes keep {}.",
                  grouped(r->nodes), o.partners, percent(r->reach), brief(r->spread),
                  percent(r->left), percent(r->held)));
  d.paragraph(
      b->pauses.watchdog
          ? fmt::format("The watchdog shuts the NIC's port after {}; then they have {} again.",
                        brief(*b->pauses.watchdog), percent(r->back))
          : "There is no watchdog: the storm lasts until an operator shuts the port.");
  print(terminal, o.format, d);
  return ExitCode::good;
}

void bind_storm(StormOptions& o, Arguments& a) {
  a.option("--partners", o.partners, "other nodes that each node sends to");
  bind_network(o, a);
}

struct FileOptions {
  std::string file;
  Format format = Format::text;
};

ExitCode run_counters(const FileOptions& o, Terminal& terminal) {
  const auto text = terminal.read_file(o.file);
  if (!text) return refuse(terminal, text.error());
  const auto table = CsvTable::parse(*text, o.file);
  if (!table) return refuse(terminal, table.error());
  const Diagnostics found = fabric::judge_counters(*table);
  if (has_errors(found)) return refuse(terminal, found);
  terminal.out << (found.empty() ? "The counters show nothing wrong.\n" : to_text(found) + "\n");
  return found.empty() ? ExitCode::good : ExitCode::fails_rule;
}

struct LogOptions : FileOptions {
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

ExitCode run_log(const LogOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto text = terminal.read_file(o.file);
  if (!text) return refuse(terminal, text.error());
  const auto log = fabric::parse_nccl_log(*text, o.file);
  if (!log) return refuse(terminal, log.error());
  const catalog::Accelerator* a = models->catalog().accelerator(o.gpu);
  const auto rate = parse_quantity<BytesPerSecond>(o.rate);
  const auto ranks =
      static_cast<int>(o.ranks.value_or(log->ranks_solved.value_or(log->ranks_stated.value_or(0))));
  Diagnostics faults;
  if (!a)
    faults.push_back(usage("the catalog has no accelerator " + o.gpu,
                           "`orrery catalog accelerators` lists them"));
  if (!rate) faults.push_back(usage("not a rate: " + o.rate, "400 Gb/s"));
  if (ranks < 2) faults.push_back(usage("the log does not say how many ranks ran", "give --ranks"));
  if (o.per_node < 1 || o.per_node > 1024) faults.push_back(usage("--gpus-per-node", "8"));
  if (!faults.empty()) return refuse(terminal, faults);
  const auto per_host = static_cast<int>(o.per_node);
  const machine::Wiring wiring{.accelerator = a,
                               .domain = score::domain_of_host(*a, per_host),
                               .accelerators_per_host = per_host,
                               .nics_per_host = static_cast<double>(o.nics),
                               .nic_rate = *rate,
                               .network = fabric::network_kind_from(o.network, a->scaleup_link)};
  const score::LogStanding standing = score::stand_log(*log, ranks, wiring, models->collectives);
  print(terminal, o.format, log_document(standing, *log, ranks));
  return ExitCode::good;
}

struct CompareOptions {
  std::int64_t leaves = 32;
  std::int64_t hosts = 32;
  std::int64_t spines = 32;
  std::int64_t queue_pairs = 4;
  Format format = Format::text;
};

ExitCode run_compare(const CompareOptions& o, Terminal& terminal) {
  constexpr std::int64_t kMost = 256;
  for (const std::int64_t n : {o.leaves, o.hosts, o.spines, o.queue_pairs}) {
    if (n < 1 || n > kMost) return refuse(terminal, {usage("counts are 1 to 256", "")});
  }
  const fabric::FabricComparison c =
      fabric::compare_fabrics(static_cast<int>(o.leaves), static_cast<int>(o.hosts),
                              static_cast<int>(o.spines), static_cast<int>(o.queue_pairs), 3);
  const auto percent = [](double share) { return significant(100 * share, 3) + " %"; };
  report::Document d;
  d.heading(1, "InfiniBand against RoCE on one leaf-spine network");
  d.table({.header = {"", "share of the wire rate in a permutation", "switch latency of 3 hops"},
           .rows = {{"InfiniBand, adaptive routing", percent(c.infiniband_rate),
                     brief(c.infiniband_latency)},
                    {"RoCE, one queue pair, hashed", percent(c.roce_hashed_rate),
                     brief(c.roce_latency)},
                    {fmt::format("RoCE, {} queue pairs", o.queue_pairs),
                     percent(c.roce_spread_rate), brief(c.roce_latency)}},
           .flush_right = {false, true, true}});
  d.paragraph(
      "RoCE with packet spraying or adaptive routing performs as InfiniBand does. What remains is "
      "its latency, and the configuration that a lossless class needs.");
  print(terminal, o.format, d);
  return ExitCode::good;
}

void bind_compare(CompareOptions& o, Arguments& a) {
  a.option("--leaves", o.leaves, "leaves");
  a.option("--hosts", o.hosts, "hosts per leaf");
  a.option("--spines", o.spines, "spines");
  a.option("--queue-pairs", o.queue_pairs, "queue pairs per connection");
  a.format(o.format, {Format::text, Format::markdown});
}

template <class Options>
Verb sub_verb(const std::string& name, const std::string& summary,
              const std::vector<std::string>& examples, void (*bind)(Options&, Arguments&),
              ExitCode (*run)(const Options&, Terminal&)) {
  return {.name = name,
          .summary = summary,
          .examples = examples,
          .prepare = [bind, run](Arguments& arguments) -> Run {
            auto options = std::make_shared<Options>();
            bind(*options, arguments);
            return [run, options](Terminal& terminal) { return run(*options, terminal); };
          }};
}

void bind_path(PathOptions& o, Arguments& a) {
  a.option("--from", o.from, "number of the endpoint, from 0: node x NICs + NIC");
  a.option("--to", o.to, "endpoint");
  bind_network(o, a);
}

void bind_loss(LossOptions& o, Arguments& a) {
  a.choice("--lose", o.lose, {"nic", "link", "plane", "leaf", "spine"},
           "kind of part that is lost");
  a.option("--number", o.number, "number of the lost part, from 0");
  bind_network(o, a);
}

void bind_file(FileOptions& o, Arguments& a) {
  a.positional("FILE", o.file,
               "counters as CSV: switch,port,peer,seconds,tx_bytes,rx_bytes,"
               "speed_gbps,pause_rx,pause_tx,ecn_marked,drops");
}

void bind_log(LogOptions& o, Arguments& a) {
  a.positional("FILE", o.file, "output file of nccl-tests");
  a.option("--gpu", o.gpu, "catalog id of the accelerator", "ID");
  a.option("--gpus-per-node", o.per_node, "accelerators per host");
  a.option("--nics", o.nics, "NICs per host");
  a.option("--rate", o.rate, "line rate of a NIC", "Gb/s");
  a.option("--network", o.network, "infiniband, roce, efa, tcpxo, tcpx", "KIND");
  a.option("--ranks", o.ranks, "number of ranks, if the log does not say");
  a.format(o.format, {Format::text, Format::markdown});
}

}  // namespace

Verb fabric_verb() {
  Verb v{.name = "fabric",
         .summary = "Study one network: bill, path, losses, storms, counters, nccl-tests logs",
         .examples = {"orrery fabric bill --nodes 127 --nics 8 --switch qm9700",
                      "orrery fabric what-if --lose spine --routing adaptive"}};
  v.verbs.push_back(sub_verb<NetworkOptions>(
      "bill", "List switches, cables and optics; give power, price, diameter and bisection",
      {"orrery fabric bill --nodes 127 --nics 8", "orrery fabric bill --design my.yaml"},
      bind_network, run_bill));
  v.verbs.push_back(sub_verb<PathOptions>("path", "List the links between two endpoints",
                                          {"orrery fabric path --from 0 --to 1000"}, bind_path,
                                          run_path));
  v.verbs.push_back(sub_verb<LossOptions>(
      "what-if", "Show what the loss of a part costs, and which jobs it affects",
      {"orrery fabric what-if --lose link --number 5"}, bind_loss, run_loss));
  v.verbs.push_back(sub_verb<StormOptions>(
      "storm", "Simulate a NIC that never stops pausing a lossless network",
      {"orrery fabric storm --design my.yaml", "orrery fabric storm --nodes 64 --routing adaptive"},
      bind_storm, run_storm));
  v.verbs.push_back(sub_verb<CompareOptions>(
      "compare", "Compare InfiniBand and RoCE: bandwidth left after hash collisions",
      {"orrery fabric compare --queue-pairs 8"}, bind_compare, run_compare));
  v.verbs.push_back(
      sub_verb<FileOptions>("counters", "Check the switch counters of a lossless network",
                            {"orrery fabric counters counters.csv"}, bind_file, run_counters));
  v.verbs.push_back(sub_verb<LogOptions>("log", "Compare nccl-tests output with the expected rates",
                                         {"orrery fabric log all_reduce.log --gpu h100-sxm"},
                                         bind_log, run_log));
  return v;
}

}  // namespace orrery::cli
