#include "model/design/design.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "model/design/names.h"

namespace orrery::design {

Mark PlaceMap::find(std::string_view path) const {
  while (true) {
    const auto at = marks_.find(path);
    if (at != marks_.end()) return at->second;
    const auto cut = path.find_last_of(".[");
    if (cut == std::string_view::npos) break;
    path = path.substr(0, cut);
  }
  const auto root = marks_.find(std::string_view());
  return root == marks_.end() ? Mark{} : root->second;
}

bool Design::operator==(const Design& o) const {
  const auto said = [](const Design& d) {
    return std::tie(d.format, d.name, d.version, d.description, d.sites, d.fleet, d.fabric,
                    d.storage, d.scheduler, d.workloads, d.pipeline, d.economics, d.goals);
  };
  return said(*this) == said(o);
}

Place place_of(const Design& design, std::string_view path) {
  if (design.file.empty()) return {};
  const Mark mark = design.places.find(path);
  return {design.file, mark.line, mark.column};
}

std::optional<SiteIndex> site_index(const Design& design, std::string_view name) {
  for (std::size_t i = 0; i < design.sites.size(); ++i) {
    if (name.empty() || design.sites[i].name == name) return SiteIndex(i);
  }
  return std::nullopt;
}

const Site* find_site(const Design& design, std::string_view name) {
  const auto at = site_index(design, name);
  return at ? &design.sites[at->value()] : nullptr;
}

Seconds length_of(ReservationPeriod period) {
  switch (period) {
    case ReservationPeriod::once:
      return {};
    case ReservationPeriod::hourly:
      return hours(1);
    case ReservationPeriod::daily:
      return days(1);
    case ReservationPeriod::weekly:
      return days(7);
  }
  return {};
}

const catalog::SiteHours* find_hours(const Design& design, const Site& site) {
  if (site.hours.empty()) return nullptr;
  const auto at = std::ranges::find(design.local_hours, site.hours, &LocalHours::path);
  return at == design.local_hours.end() ? nullptr : &at->hours;
}

std::string_view Stage::label() const {
  return name.empty() ? word_of(stage) : std::string_view(name);
}

std::string_view StorageTier::label() const {
  return name.empty() ? word_of(tier) : std::string_view(name);
}

const StorageTier* find_tier(const Design& design, std::string_view label) {
  if (label.empty()) return nullptr;
  const auto at = std::ranges::find(design.storage, label, &StorageTier::label);
  return at == design.storage.end() ? nullptr : &*at;
}

const catalog::ModelShape* find_model(const Design& design, const catalog::Catalog& catalog,
                                      std::string_view model) {
  const auto local = std::ranges::find(design.local_models, model, &LocalModel::path);
  return local != design.local_models.end() ? &local->shape : catalog.model(model);
}

const char* kind_of(const Workload& w) {
  static constexpr const char* kKinds[] = {"train", "serve", "jobs", "batch"};
  return kKinds[w.task.index()];
}

void number_workloads(Design& design) {
  for (std::size_t i = 0; i < design.workloads.size(); ++i) {
    design.workloads[i].index = WorkloadIndex(i);
  }
}

std::string label_of(const Design& design, const Workload& workload) {
  if (!workload.terms.name.empty()) return workload.terms.name;
  int ordinal = 1;
  for (const Workload& other : design.workloads) {
    if (&other == &workload) break;
    ordinal += other.terms.name.empty() && other.task.index() == workload.task.index();
  }
  const std::string kind = kind_of(workload);
  return ordinal == 1 ? kind : kind + '-' + std::to_string(ordinal);
}

namespace {

template <class T, class U>
void lay_over(T& target, const std::optional<U>& given) {
  if (given.has_value()) target = given.value();
}

template <class T>
void lay_over(std::optional<T>& target, const std::optional<T>& given) {
  if (given.has_value()) target = given;
}

void lay_over(FleetNode& n, const CustomNode& c) {
  catalog::Node& p = n.part;
  lay_over(p.accelerator_id, c.accelerator);
  lay_over(p.accelerators, c.accelerators);
  // If only `accelerators` changes, the node is one host with that many; `accelerators_per_host`
  // overrides this.
  if (c.accelerators) p.accelerators_per_host = *c.accelerators;
  lay_over(p.accelerators_per_host, c.accelerators_per_host);
  lay_over(p.host_cpus, c.sockets);
  lay_over(p.compute_nics, c.compute_nics);
  lay_over(p.nic_rate, c.nic_rate);
  lay_over(p.local_nvme, c.local_nvme);
  lay_over(p.rack_units, c.rack_units);
  lay_over(p.max_power, c.max_power);
  lay_over(p.typical_train_power, c.typical_power);
  lay_over(p.idle_power, c.idle_power);
  if (c.price) p.price = catalog::PriceRange{*c.price, *c.price};
  lay_over(n.cores, c.cores);
  lay_over(n.memory, c.memory);
  lay_over(n.memory_bandwidth, c.memory_bandwidth);
  lay_over(n.matrix_rate, c.matrix_rate);
  lay_over(n.storage_nics, c.storage_nics);
  lay_over(n.storage_nic_rate, c.storage_nic_rate);
}

// Latency through the switch of an NVLink domain, which the parameters of collectives were fitted
// to.
constexpr Seconds kMeasuredCrossing = nanoseconds(500);

// Returns the catalog's accelerator with other links to its neighbours.
std::shared_ptr<const catalog::Accelerator> rewired(const catalog::Accelerator& a,
                                                    const catalog::EmergingPart& link,
                                                    std::optional<int> links, int joined) {
  auto out = std::make_shared<catalog::Accelerator>(a);
  const BytesPerSecond own = a.scaleup_per_direction.value_or(BytesPerSecond(0));
  const int as_before = static_cast<int>(std::ceil(own / *link.rate - 1e-9));
  out->scaleup_link = link.name;
  out->scaleup_per_direction = *link.rate * links.value_or(std::max(1, as_before));
  out->scaleup_domain = joined;
  if (link.latency) out->scaleup_extra = *link.latency - kMeasuredCrossing;
  return out;
}

}  // namespace

FleetNode resolve_node(const Fleet& fleet, const catalog::Catalog& catalog) {
  FleetNode n;
  if (const catalog::Node* part = catalog.node(fleet.node)) n.part = *part;
  if (fleet.custom) lay_over(n, *fleet.custom);
  if (n.part.id.empty()) {
    n.part.id = fleet.name;
    n.part.name = fleet.name;
    n.part.provenance = {.reference = "design/" + fleet.name,
                         .source = "the design file",
                         .date = "",
                         .basis = catalog::FactBasis::derived,
                         .confidence = catalog::Confidence::medium};
  }
  if (n.part.accelerators > 0) n.accelerator = catalog.accelerator(n.part.accelerator_id);
  const bool other = n.accelerator && fleet.custom && fleet.custom->scale_up;
  const auto* link = other ? catalog.emerging_part(*fleet.custom->scale_up) : nullptr;
  if (link && link->rate) {
    n.rewired = rewired(*n.accelerator, *link, fleet.custom->scale_up_links, n.part.accelerators);
    n.accelerator = n.rewired.get();
  }
  return n;
}

}  // namespace orrery::design
