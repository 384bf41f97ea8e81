// Law, security and support: where data may lie, who may buy what, what must be encrypted.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "plan/rules.h"

namespace orrery {
namespace {

// A residency tag is a region id, an alias, or a country; "eu" stands for the member states we
// know.
constexpr std::string_view kEuropeanUnion[] = {"fra", "deu", "swe", "irl", "pol",
                                               "nld", "esp", "ita", "fin"};

bool inside(std::string_view residency, const GridRegion* region) {
  if (residency.empty()) return true;
  if (region == nullptr) return false;
  const std::string tag = lowered(residency);
  if (tag == region->id || tag == region->country) return true;
  if (tag == "eu")
    return std::ranges::find(kEuropeanUnion, region->country) != std::end(kEuropeanUnion);
  return std::ranges::find(region->aliases, tag) != region->aliases.end();
}

const GridRegion* region_of(const Review& r, const design::StorageTier& tier) {
  if (!tier.region.empty()) return r.catalog.region(tier.region);
  const design::Site* site = find_site(r.design, tier.site);
  return site ? r.catalog.region(site->region) : nullptr;
}

std::string region_name(const GridRegion* region, std::string_view fallback) {
  return region ? region->id : std::string(fallback);
}

// Labels of the tiers a workload reads or writes.
std::vector<std::string> tiers_used(const design::Workload& w) {
  std::vector<std::string> used;
  if (const auto* train = std::get_if<design::Train>(&w.task)) {
    if (!train->dataset.tier.empty()) used.push_back(train->dataset.tier);
    if (train->features && !train->features->tier.empty()) used.push_back(train->features->tier);
    if (train->checkpoint) {
      used.insert(used.end(), train->checkpoint->to.begin(), train->checkpoint->to.end());
    }
  } else if (const auto* serve = std::get_if<design::Serve>(&w.task)) {
    if (!serve->weights_tier.empty()) used.push_back(serve->weights_tier);
  } else if (const auto* batch = std::get_if<design::Batch>(&w.task)) {
    if (!batch->dataset.tier.empty()) used.push_back(batch->dataset.tier);
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

void residency_of_compute(const Review& r, const Rule& rule, const design::Workload& w,
                          const std::string& residency, const FleetView* fleet,
                          std::vector<Finding>& out) {
  if (residency.empty() || fleet == nullptr || inside(residency, fleet->region)) return;
  Finding f = finding_at(r, rule, path_of(r.design, w) + ".residency");
  f.what =
      fmt::format("'{}' must stay in {}, but fleet '{}' stands in {}.", label_of(r.design, w),
                  residency, fleet->fleet->name, region_name(fleet->region, "an unknown region"));
  f.why = "A workload tagged with a region may not be placed outside it.";
  f.fix = "Run it on a fleet of that region, or change the residency tag.";
  out.push_back(std::move(f));
}

void check_residency(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design.workloads) {
    residency_of_compute(r, rule, w, w.terms.residency, fleet_of(r.fleets, w), out);
    if (const auto* serve = std::get_if<design::Serve>(&w.task)) {
      for (const design::Zone& zone : serve->zones) {
        const FleetView* fleet =
            zone.fleet.empty() ? nullptr : find_fleet_view(r.fleets, zone.fleet);
        for (const FleetView& v : r.fleets) {
          if (fleet == nullptr && v.site && v.site->name == zone.site) fleet = &v;
        }
        residency_of_compute(r, rule, w, zone.residency, fleet, out);
      }
    }
    if (w.terms.residency.empty()) continue;
    for (const std::string& label : tiers_used(w)) {
      const design::StorageTier* tier = find_tier(r.design, label);
      if (tier == nullptr || inside(w.terms.residency, region_of(r, *tier))) continue;
      Finding f = finding_at(r, rule, path_of(r.design, w) + ".residency");
      f.what = fmt::format("'{}' must stay in {}, but it stores on tier '{}' in {}.",
                           label_of(r.design, w), w.terms.residency, label,
                           region_name(region_of(r, *tier), tier->region));
      f.why = "Data of a workload tagged with a region may not lie outside it.";
      f.fix = "Use a tier in that region, or change the residency tag.";
      out.push_back(std::move(f));
    }
  }
}

void check_export(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const FleetView& v : r.fleets) {
    if (v.accelerator() == nullptr || v.region == nullptr || v.rented()) continue;
    const ExportControl* control = r.catalog.export_control(v.accelerator()->id, v.region->country);
    if (control == nullptr) continue;
    Finding f = finding_at(r, rule, v.path + ".node");
    f.what = fmt::format("{} may need an export licence for {} ({}).", v.accelerator()->name,
                         v.region->country, control->rule);
    f.why = control->provenance.source + "; ask counsel before ordering.";
    f.fix = "Choose a part that is not listed for this country, or plan for the licence.";
    out.push_back(std::move(f));
  }
}

void check_air_gap(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  const auto complain = [&](const std::string& path, std::string what) {
    Finding f = finding_at(r, rule, path);
    f.what = std::move(what);
    f.why = "An air-gapped site reaches nothing outside: the call fails on the first day.";
    f.fix = "Mirror it inside the site, or drop air_gapped.";
    out.push_back(std::move(f));
  };
  for (const design::Workload& w : r.design.workloads) {
    const FleetView* fleet = fleet_of(r.fleets, w);
    if (fleet == nullptr || fleet->site == nullptr || !fleet->site->air_gapped) continue;
    for (const std::string& service : w.terms.external) {
      complain(path_of(r.design, w) + ".external",
               fmt::format("'{}' runs on air-gapped site '{}' but calls {}.", label_of(r.design, w),
                           fleet->site->name, service));
    }
    for (const std::string& label : tiers_used(w)) {
      const design::StorageTier* tier = find_tier(r.design, label);
      if (tier == nullptr || tier->provider.empty()) continue;
      complain(path_of(r.design, w),
               fmt::format("'{}' runs on air-gapped site '{}' but uses tier '{}' at {}.",
                           label_of(r.design, w), fleet->site->name, label, tier->provider));
    }
  }
}

void check_encryption_at_rest(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design.workloads) {
    if (!w.terms.encrypt_at_rest) continue;
    for (const std::string& label : tiers_used(w)) {
      const design::StorageTier* tier = find_tier(r.design, label);
      if (tier == nullptr || tier->encrypted) continue;
      const design::Site* site = find_site(r.design, tier->site);
      if (tier->provider.empty() && site && site->encryption_at_rest) continue;
      Finding f = finding_at(r, rule, path_of(r.design, w) + ".encrypt_at_rest");
      f.what = fmt::format("'{}' asks for encryption at rest; tier '{}' does not offer it.",
                           label_of(r.design, w), label);
      f.why = "Data would lie readable on drives that leave the hall when they fail.";
      f.fix = fmt::format("Set encrypted: true on tier '{}', or encryption_at_rest on the site.",
                          label);
      out.push_back(std::move(f));
    }
  }
}

void check_encryption_in_transit(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design.workloads) {
    const FleetView* fleet = fleet_of(r.fleets, w);
    if (!w.terms.encrypt_in_transit || fleet == nullptr) continue;
    const bool site_offers = fleet->site && fleet->site->encryption_in_transit;
    const bool networks_offer =
        r.design.fabric.compute.encrypted && r.design.fabric.storage.encrypted;
    if (site_offers || networks_offer) continue;
    Finding f = finding_at(r, rule, path_of(r.design, w) + ".encrypt_in_transit");
    f.what = fmt::format(
        "'{}' asks for encryption in transit; neither site '{}' nor its networks offer it.",
        label_of(r.design, w), fleet->site ? fleet->site->name : "");
    f.why = "Traffic between nodes and storage would cross the fabric in the clear.";
    f.fix =
        "Set encryption_in_transit on the site, or encrypted: true on the compute and storage "
        "networks.";
    out.push_back(std::move(f));
  }
}

void check_tenants(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design.workloads) {
    const FleetView* fleet = fleet_of(r.fleets, w);
    if (!w.terms.isolate_tenant || fleet == nullptr || fleet->site == nullptr) continue;
    if (fleet->site->tenant_isolation) continue;
    Finding f = finding_at(r, rule, path_of(r.design, w) + ".isolate_tenant");
    f.what =
        fmt::format("'{}' must be kept apart from other tenants; site '{}' does not segment them.",
                    label_of(r.design, w), fleet->site->name);
    f.why = "Without partition keys or tenant networks one tenant's nodes can reach another's.";
    f.fix = "Set tenant_isolation on the site, or give the workload a site of its own.";
    out.push_back(std::move(f));
  }
}

void check_engine(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr) continue;
    const ServingEngine* engine = r.catalog.engine(serve->engine);
    if (engine == nullptr || engine->status == EngineStatus::active) continue;
    Finding f = finding_at(r, rule, path_of(r.design, w) + ".engine");
    f.what = fmt::format("{} is {} since {}.", engine->name, to_text(engine->status),
                         engine->status_since);
    f.why = "It gets no fixes and no support for new models (" + engine->provenance.source + ").";
    f.fix = fmt::format("Use {}.",
                        engine->replaced_by.empty() ? "vllm or sglang" : engine->replaced_by);
    f.edit = Finding::Edit{path_of(r.design, w) + ".engine", "vllm"};
    out.push_back(std::move(f));
  }
}

constexpr Rule kRules[] = {
    {"policy.residency", Layer::cluster, Severity::error,
     "a workload tagged with a region is neither placed nor stored outside it",
     "data residency law, as the design tags it", check_residency},
    {"policy.export-control", Layer::compute, Severity::warning,
     "a controlled accelerator is not bought for a listed country unasked",
     "US BIS advanced computing rules (catalog export_controls)", check_export},
    {"policy.air-gap", Layer::cluster, Severity::error,
     "an air-gapped site depends on nothing outside", "definition of an air gap", check_air_gap},
    {"policy.encryption-at-rest", Layer::storage, Severity::error,
     "tiers of a workload that asks for encryption at rest offer it", "the workload's own terms",
     check_encryption_at_rest},
    {"policy.encryption-in-transit", Layer::fabric, Severity::error,
     "networks of a workload that asks for encryption in transit offer it",
     "the workload's own terms", check_encryption_in_transit},
    {"policy.tenant-isolation", Layer::cluster, Severity::error,
     "a workload that must be kept apart runs where tenants are segmented",
     "the workload's own terms", check_tenants},
    {"serving.engine-retired", Layer::serving, Severity::error,
     "the serving engine is still maintained", "catalog engines (TGI archived 2026-03-21)",
     check_engine},
};

}  // namespace

std::span<const Rule> policy_rules() { return kRules; }

}  // namespace orrery
