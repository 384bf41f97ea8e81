// `orrery fabric`: studies one network by itself: its bill, a path, what a loss costs, counters and
// logs.
#include <fmt/format.h>

#include <memory>

#include "app/cli/fabric_verbs.h"
#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/fabric/bill.h"
#include "layers/fabric/counters.h"
#include "layers/fabric/storm_study.h"
#include "layers/fabric/what_if.h"
#include "model/jobs/resolve_jobs.h"
#include "model/jobs/train_run.h"
#include "model/machine/machine.h"
#include "output/report/document.h"

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
  std::string routing;  // empty: the design's, or static
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
  a.choice("--routing", o.routing, routing_words(),
           "routing policy; default: the design's, or static");
  a.seed(o.seed);
  a.format(o.format, {Format::text, Format::json, Format::markdown});
}

struct Built {
  fabric::Topology topology;
  catalog::Bill bill;
  fabric::PauseOptions pauses;
  catalog::RoutingKind routing = catalog::RoutingKind::fixed;
  int queue_pairs = 1;
  jobs::LoadedMachine design;  // empty without a design
};

Result<Built> from_design(const NetworkOptions& o, const machine::Models& models,
                          Terminal& terminal) {
  auto design = load_design(*o.design, models.catalog(), terminal);
  if (!design) return std::unexpected(design.error());
  const jobs::LoadedMachine loaded = jobs::load_machine(std::move(*design), models);
  const machine::Network& compute = loaded.machine->main_networks().compute;
  if (!compute.topology) {
    if (!compute.faults.empty()) return std::unexpected(compute.faults);
    return fail(
        fabric_usage("the design has no compute network of its own", "describe fabric.compute"));
  }
  return Built{.topology = *compute.topology,
               .bill = compute.bill,
               .pauses = pause_options(compute),
               .routing = compute.wanted->routing,
               .queue_pairs = compute.wanted->queue_pairs,
               .design = loaded};
}

Result<Built> from_options(const NetworkOptions& o, const catalog::Catalog& catalog) {
  const auto rate = parse_quantity<BytesPerSecond>(o.rate);
  Diagnostics faults;
  if (!catalog.switch_part(o.switch_id)) {
    faults.push_back(fabric_usage("the catalog has no switch " + o.switch_id,
                                  "`orrery catalog switches` lists them"));
  }
  if (!rate || !(rate->base() > 0))
    faults.push_back(fabric_usage("not a rate: " + o.rate, "400 Gb/s"));
  constexpr std::int64_t kMost = 1'000'000;
  if (o.nodes > kMost || o.nics > kMost || o.planes > 8 || o.radix.value_or(2) > kMost) {
    faults.push_back(fabric_usage("a number is out of range", "at most a million nodes"));
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
  return Built{.topology = std::move(built->topology), .bill = std::move(built->bill)};
}

Result<Built> build(const NetworkOptions& o, const machine::Models& models, Terminal& terminal) {
  auto b = o.design ? from_design(o, models, terminal) : from_options(o, models.catalog());
  if (b && !o.routing.empty()) {
    b->routing = from_any_word<catalog::RoutingKind>(o.routing).value_or(b->routing);
  }
  return b;
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
  print_document(terminal, o.format, d);
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
    return refuse(
        terminal,
        {fabric_usage(fmt::format("endpoints are numbered 0 to {}", g.endpoints - 1), "")});
  }
  fabric::Router router(g, {.kind = b->routing, .seed = o.seed});
  std::vector<fabric::LinkId> path;
  const bool found = router.route(static_cast<fabric::VertexId>(o.from),
                                  static_cast<fabric::VertexId>(o.to), 0, path);
  if (!found)
    return refuse(terminal,
                  {fabric_usage("no path: the endpoints may be in different planes", "")});
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
                          brief(Seconds(path_latency(g, path))), word_of(b->routing)));
  print_document(terminal, o.format, d);
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
  w.field("ring_share", r.ring_share).field("bisection_share", r.bisection_share);
  w.field("fullest_link", r.worst_link).field("fullest_link_after", r.worst_link_after);
  w.field("limiting_link", r.limiting_link).key("nodes").begin_array();
  for (const int n : r.nodes) w.value(n);
  return w.end_array().end_object().text() + "\n";
}

// Returns what is left of the network, and why a ring of all nodes does not feel the loss.
std::string left_text(const fabric::LossReport& r) {
  std::string text = fmt::format(
      "Left: {} % of full bisection; the fullest link carries {} NICs' messages, {} before.",
      significant(100 * r.bisection_share, 3), significant(r.worst_link_after, 3),
      significant(r.worst_link, 3));
  if (r.cut > 0) return text;
  if (r.ring_share < 0.995) {
    return text + fmt::format(" A ring in the order of the nodes keeps {} % of its rate.",
                              significant(100 * r.ring_share, 3));
  }
  return text +
         " A ring in the order of the nodes is no slower: most of its messages stay below their "
         "leaf, and the other uplinks have room for the rest.";
}

// Returns the uplinks and core links that a lost part leaves to the leaf that feels it most.
fabric::LinksUp left_after(const fabric::Topology& t, fabric::Loss loss) {
  if (loss == fabric::Loss::spine) {
    const int spines = std::max(1, t.groups.front().spines);
    const double left = 1 - 1.0 / spines;
    return {.uplinks = left, .core_links = left};
  }
  if (loss == fabric::Loss::leaf_uplink) return {.uplinks = 1 - 1.0 / std::max(1, t.leaf_uplinks)};
  return {};
}

// Returns a sentence per training run: its step before and after the loss of a spine or an uplink.
std::vector<std::string> steps_after(const Built& b, fabric::Loss loss) {
  std::vector<std::string> out;
  if (!b.design.machine || (loss != fabric::Loss::spine && loss != fabric::Loss::leaf_uplink)) {
    return out;
  }
  jobs::for_each_job<jobs::TrainJob>(*b.design.jobs, [&](const jobs::TrainJob& job) {
    if (!job.feasible()) return;
    const machine::Network& n = b.design.machine->networks_of(*job.fleet).compute;
    const auto spec = routed_spec(n, left_after(b.topology, loss));
    if (!n.routed || !spec) return;
    const auto tree = std::make_shared<const fabric::RoutedTree>(*spec);
    const auto after = step_on(job, *b.design.machine, tree);
    if (!after) return;
    const double more = *after / job.step.step - 1;
    out.push_back(fmt::format(
        "{}: a step takes {} before the loss, {} after ({} % more; {} % of it is communication "
        "that the network exposes).",
        job.label, brief(job.step.step), brief(*after), significant(100 * std::max(0.0, more), 2),
        significant(100 * job.step.exposed_network_share, 2)));
  });
  return out;
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
  if (o.number < 0 || o.number > 100'000'000)
    return refuse(terminal, {fabric_usage("no such part", "")});
  const auto r = study_loss(b->topology,
                            {.loss = fabric::loss_from(o.lose).value_or(fabric::Loss::leaf_uplink),
                             .number = static_cast<int>(o.number),
                             .routing = {.kind = b->routing, .seed = o.seed},
                             .queue_pairs = b->queue_pairs});
  if (!r) return refuse(terminal, r.error());
  if (o.format == Format::json) {
    terminal.out << loss_json(*r);
    return ExitCode::good;
  }
  report::Document d;
  d.heading(1, "Without " + r->lost);
  d.paragraph(loss_text(*r, b->routing));
  d.paragraph(left_text(*r));
  for (const std::string& line :
       steps_after(*b, fabric::loss_from(o.lose).value_or(fabric::Loss::leaf_uplink))) {
    d.paragraph(line);
  }
  std::string nodes;
  for (const int n : r->nodes) nodes += (nodes.empty() ? "" : ", ") + std::to_string(n);
  d.paragraph(fmt::format("Affects jobs on nodes {}. Limiting link: {}.",
                          nodes.empty() ? "none" : nodes, r->limiting_link));
  print_document(terminal, o.format, d);
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
  if (o.partners < 1 || o.partners > 256)
    return refuse(terminal, {fabric_usage("1 to 256 partners", "")});
  const auto r = study_storm(b->topology, {.routing = {.kind = b->routing, .seed = o.seed},
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
  print_document(terminal, o.format, d);
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

}  // namespace

Verb fabric_verb() {
  Verb v{.name = "fabric",
         .summary = "Study one network: bill, path, losses, storms, counters, nccl-tests logs",
         .examples = {"orrery fabric bill --nodes 127 --nics 8 --switch qm9700",
                      "orrery fabric what-if --lose spine --routing adaptive"}};
  v.verbs.push_back(fabric_sub_verb<NetworkOptions>(
      "bill", "List switches, cables and optics; give power, price, diameter and bisection",
      {"orrery fabric bill --nodes 127 --nics 8", "orrery fabric bill --design my.yaml"},
      bind_network, run_bill));
  v.verbs.push_back(fabric_sub_verb<PathOptions>("path", "List the links between two endpoints",
                                                 {"orrery fabric path --from 0 --to 1000"},
                                                 bind_path, run_path));
  v.verbs.push_back(fabric_sub_verb<LossOptions>(
      "what-if", "Show what the loss of a part costs, and which jobs it affects",
      {"orrery fabric what-if --lose link --number 5"}, bind_loss, run_loss));
  v.verbs.push_back(fabric_sub_verb<StormOptions>(
      "storm", "Simulate a NIC that never stops pausing a lossless network",
      {"orrery fabric storm --design my.yaml", "orrery fabric storm --nodes 64 --routing adaptive"},
      bind_storm, run_storm));
  v.verbs.push_back(fabric_compare_verb());
  v.verbs.push_back(fabric_sub_verb<FileOptions>(
      "counters", "Check the switch counters of a lossless network",
      {"orrery fabric counters counters.csv"}, bind_file, run_counters));
  v.verbs.push_back(fabric_log_verb());
  return v;
}

}  // namespace orrery::cli
