#include "output/report/view_hall.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/json_writer.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

int nodes_of(const review::FleetPower& p) { return p.fleet->fleet->count + p.fleet->fleet->spares; }
int nodes_per_rack(const review::FleetPower& p) { return std::max(1, p.rack.nodes); }
int racks_of(const review::FleetPower& p) {
  return (nodes_of(p) + nodes_per_rack(p) - 1) / nodes_per_rack(p);
}

void write_rack(JsonWriter& w, const review::FleetPower& p, double liquid_fraction, int number,
                int nodes) {
  const int row = number / kRackPositions + 1, position = number % kRackPositions + 1;
  const Watts power = p.node.nameplate * nodes;
  const Watts liquid = power * liquid_fraction;
  w.begin_object().field("id", fmt::format("r{}-{:02}", row, position)).field("kind", "fleet");
  w.field("fleet", p.fleet->fleet->name).field("row", row).field("position", position);
  w.field("nodes", nodes).field("power_w", power.base()).field("limit_w", p.rack.limit.base());
  w.field("density_ratio", p.rack.limit > Watts(0) ? power / p.rack.limit : 0.0);
  w.field("liquid_heat_w", liquid.base()).field("air_heat_w", (power - liquid).base());
  w.end_object();
}

void write_racks(JsonWriter& w, const review::SiteView& v) {
  int total = 0;
  for (const review::FleetPower& p : v.fleets) total += racks_of(p);
  w.field("racks_total", total).field("racks_shown", std::min(total, kMostRacksListed));
  w.key("racks").begin_array();
  int number = 0;
  for (const review::FleetPower& p : v.fleets) {
    int left = nodes_of(p);
    for (; left > 0 && number < kMostRacksListed; ++number) {
      const int nodes = std::min(left, nodes_per_rack(p));
      write_rack(w, p, v.cooling->liquid_heat_fraction, number, nodes);
      left -= nodes;
    }
  }
  w.end_array();
}

// Collects nodes and links, so that each flow is written once.
struct Sankey {
  struct Node {
    std::string id;
    std::string label;
    std::string_view kind;
    Watts power;
    const facility::StageLoad* stage = nullptr;
    std::string reference = {};
  };
  struct Link {
    std::string from;
    std::string to;
    Watts power;
  };
  std::vector<Node> nodes;
  std::vector<Link> links;

  void add(const std::string& from, Node node) {
    if (node.power <= Watts(0)) return;
    links.push_back({from, node.id, node.power});
    nodes.push_back(std::move(node));
  }
};

// Adds what the site draws besides the input of the power chain: by part, or as one flow if the PUE
// is given.
void add_overhead(Sankey& s, const review::SiteView& v) {
  if (!v.breakdown) {
    const Watts rest = v.draw_mean - v.it_mean - v.chain.loss;
    s.add("utility",
          {"overhead", "cooling and other overhead", "loss", rest, nullptr, v.pue.reference});
    return;
  }
  Watts cooling;
  for (const facility::PuePart& p : v.breakdown->parts) {
    if (p.name != "electrical loss") cooling += p.power;
  }
  s.add("utility",
        {"cooling", "cooling and other overhead", "stage", cooling, nullptr, v.pue.reference});
  for (const facility::PuePart& p : v.breakdown->parts) {
    if (p.name == "electrical loss") continue;
    std::string id = "overhead-" + p.name;
    std::ranges::replace(id, ' ', '-');
    s.add("cooling", {std::move(id), p.name, "loss", p.power, nullptr, "docs/models/pue.md"});
  }
}

void add_loads(Sankey& s, const review::SiteView& v, const std::string& from) {
  for (const review::FleetPower& p : v.fleets) {
    s.add(from, {"fleet-" + p.fleet->fleet->name, p.fleet->fleet->name, "load", p.all, nullptr,
                 p.node.reference});
  }
  s.add(from, {"fabric", "networks", "load", v.fabric, nullptr, "docs/models/fabric.md"});
  s.add(from, {"storage", "storage", "load", v.storage, nullptr, "docs/models/storage.md"});
}

Sankey sankey_of(const review::SiteView& v) {
  Sankey s;
  const Watts input = v.chain.stages.empty() ? v.it_mean : v.chain.input;
  s.nodes.push_back({"utility", "utility", "source", max(v.draw_mean, input)});
  std::string from = "utility";
  for (const facility::StageLoad& stage : v.chain.stages) {
    s.add(from,
          {stage.id, stage.name, "stage", stage.output + stage.loss, &stage, stage.reference});
    s.add(stage.id, {"loss-" + stage.id, "lost in " + stage.name, "loss", stage.loss, nullptr,
                     stage.reference});
    from = stage.id;
  }
  add_loads(s, v, from);
  add_overhead(s, v);
  return s;
}

void write_chain(JsonWriter& w, const review::SiteView& v) {
  const Sankey s = sankey_of(v);
  const Watts source = s.nodes.front().power;
  w.key("chain").begin_object().key("nodes").begin_array();
  for (const Sankey::Node& n : s.nodes) {
    w.begin_object().field("id", n.id).field("label", n.label).field("kind", n.kind);
    w.field("power_w", n.power.base());
    w.field("share_ratio", source > Watts(0) ? n.power / source : 0.0);
    if (n.stage) {
      w.field("efficiency_ratio", n.stage->efficiency).field("load_ratio", n.stage->unit_load);
    }
    if (!n.reference.empty()) w.field("reference", n.reference);
    w.end_object();
  }
  w.end_array().key("links").begin_array();
  for (const Sankey::Link& l : s.links) {
    w.begin_object().field("from", l.from).field("to", l.to).field("power_w", l.power.base());
    w.end_object();
  }
  w.end_array().end_object();
}

void write_pue(JsonWriter& w, const review::SiteView& v) {
  w.key("pue").begin_object().field("value", v.pue.middle).field("low", v.pue.low);
  w.field("high", v.pue.high).field("reference", v.pue.reference);
  w.key("free_cooling_ratio");
  v.breakdown ? w.value(v.breakdown->free_cooling) : w.null();
  w.key("wue_l_per_kwh");
  v.breakdown ? w.value(v.breakdown->wue_l_per_kwh) : w.null();
  w.key("parts").begin_array();
  if (v.breakdown) {
    for (const facility::PuePart& p : v.breakdown->parts) {
      w.begin_object().field("name", p.name).field("power_w", p.power.base());
      w.field("pue_share_ratio", v.it_mean > Watts(0) ? p.power / v.it_mean : 0.0).end_object();
    }
  }
  w.end_array().end_object();
}

void write_site(JsonWriter& w, const review::SiteView& v) {
  w.begin_object().field("name", v.site->name).field("region", v.site->region);
  w.field("cooling", v.site->cooling).key("power_limit_w");
  v.site->power ? w.value(v.site->power->base()) : w.null();
  w.key("peak_share_ratio");
  v.site->power ? w.value(v.draw_peak / *v.site->power) : w.null();
  w.field("it_nameplate_w", v.it_nameplate.base()).field("it_mean_w", v.it_mean.base());
  w.field("draw_peak_w", v.draw_peak.base()).field("draw_mean_w", v.draw_mean.base());
  write_racks(w, v);
  write_chain(w, v);
  write_pue(w, v);
  w.end_object();
}

}  // namespace

std::string hall_view_json(const review::Review& review) {
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "hall").key("sites").begin_array();
  for (const review::SiteView& v : review.sites) {
    if (v.has_machines()) write_site(w, v);
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
