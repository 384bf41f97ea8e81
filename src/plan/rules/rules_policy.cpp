// Law, security and support: where data may be stored, which parts need a licence, what must be
// encrypted.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/text.h"
#include "model/design/part_ids.h"
#include "model/design_text/write_design.h"
#include "model/jobs/failover_ways.h"
#include "model/jobs/replica_start.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

const catalog::GridRegion* region_of(const review::Review& r, const design::StorageTier& tier) {
  if (!tier.region.empty()) return r.catalog().region(tier.region);
  const design::Site* site = find_site(r.design(), tier.site);
  return site ? r.catalog().region(site->region) : nullptr;
}

std::string region_name(const catalog::GridRegion* region, std::string_view fallback) {
  return region ? region->id : std::string(fallback);
}

// Replaces one tier's name by another's at the first place where a workload names it.
std::optional<Edit> edit_tier(const design::Workload& w, const std::string& from,
                              const std::string& to) {
  const std::string path = machine::path_of(w);
  if (const auto* serve = std::get_if<design::Serve>(&w.task)) {
    return serve->weights_tier == from ? std::optional(Edit{path + ".weights_tier", name_text(to)})
                                       : std::nullopt;
  }
  const auto* train = std::get_if<design::Train>(&w.task);
  const auto* batch = std::get_if<design::Batch>(&w.task);
  const std::string data = train ? train->dataset.tier : batch ? batch->dataset.tier : "";
  if (data == from) return Edit{path + ".dataset.tier", name_text(to)};
  if (train == nullptr) return std::nullopt;
  if (train->features && train->features->tier == from)
    return Edit{path + ".features.tier", name_text(to)};
  if (!train->checkpoint) return std::nullopt;
  std::vector<std::string> targets;
  for (const std::string& label : train->checkpoint->to) {
    const std::string& next = label == from ? to : label;
    if (std::ranges::find(targets, next) == targets.end()) targets.push_back(next);
  }
  return Edit{path + ".checkpoint.to", list_text(targets)};
}

// Returns a shared tier of the design that `allows` accepts, preferably of the same class.
template <class Allows>
const design::StorageTier* other_tier(const review::Review& r, const design::StorageTier& tier,
                                      Allows allows) {
  const design::StorageTier* found = nullptr;
  for (const design::StorageTier& t : r.design().storage) {
    if (&t == &tier || t.tier == design::Tier::node_nvme || !t.caches.empty() || !allows(t))
      continue;
    if (t.tier == tier.tier) return &t;
    if (found == nullptr) found = &t;
  }
  return found;
}

// Returns a fleet inside the residency that has accelerators if the present one has.
const machine::Fleet* fleet_inside(const review::Review& r, const std::string& residency,
                                   const machine::Fleet& present) {
  for (const machine::Fleet& v : r.fleets()) {
    const bool alike = (v.accelerator() != nullptr) == (present.accelerator() != nullptr);
    if (alike && design::is_inside(residency, v.region)) return &v;
  }
  return nullptr;
}

// Offers another tier inside the residency, or moves this one to where the workload runs.
std::optional<Edit> edit_residency(const review::Review& r, const design::Workload& w,
                                   const design::StorageTier& tier, const std::string& label) {
  const std::string& residency = w.terms.residency;
  const design::StorageTier* other = other_tier(r, tier, [&](const design::StorageTier& t) {
    return design::is_inside(residency, region_of(r, t));
  });
  if (other != nullptr) return edit_tier(w, label, std::string(other->label()));
  const machine::Fleet* fleet = fleet_of(r.fleets(), w);
  if (fleet == nullptr || fleet->site == nullptr || !design::is_inside(residency, fleet->region)) {
    return std::nullopt;
  }
  if (!tier.region.empty()) return Edit{path_of(r, tier) + ".region", fleet->region->id};
  return Edit{path_of(r, tier) + ".site", name_text(fleet->site->name)};
}

std::optional<Finding> residency_of_compute(const review::Review& r, const Rule& rule,
                                            const design::Workload& w, const std::string& residency,
                                            const machine::Fleet* fleet) {
  if (residency.empty() || fleet == nullptr || design::is_inside(residency, fleet->region)) {
    return std::nullopt;
  }
  Finding f = finding_at(r, rule, machine::path_of(w) + ".residency");
  f.what =
      fmt::format("'{}' must stay in {}, but fleet '{}' is in {}.", label_of(r.design(), w),
                  residency, fleet->fleet->name, region_name(fleet->region, "an unknown region"));
  f.why = "A workload with a residency may not run outside that region or country.";
  f.fix = "Run it on a fleet in that region, or change the residency.";
  return f;
}

void residency_of_zones(const review::Review& r, const Rule& rule, const design::Workload& w,
                        const design::Serve& serve, std::vector<Finding>& out) {
  for (std::size_t i = 0; i < serve.zones.size(); ++i) {
    design::Zone zone = serve.zones[i];
    const machine::Fleet* fleet = zone.fleet.empty() ? nullptr : find_fleet(r.fleets(), zone.fleet);
    for (const machine::Fleet& v : r.fleets()) {
      if (fleet == nullptr && v.site && v.site->name == zone.site) fleet = &v;
    }
    auto f = residency_of_compute(r, rule, w, zone.residency, fleet);
    if (!f) continue;
    if (const machine::Fleet* there = fleet_inside(r, zone.residency, *fleet)) {
      zone.site = there->site->name;
      zone.fleet = there->fleet->name;
      f->edit = Edit{fmt::format("{}.zones[{}]", machine::path_of(w), i),
                     design_text::section_text(zone)};
    }
    out.push_back(*std::move(f));
  }
}

// Finds sites outside the residency that a zone names for failover: no request is sent there,
// whatever the file says.
void residency_of_failover(const review::Review& r, const Rule& rule, const design::Workload& w,
                           const design::Serve& serve, std::vector<Finding>& out) {
  for (std::size_t i = 0; i < serve.zones.size(); ++i) {
    design::Zone zone = serve.zones[i];
    const std::string& tag = zone.residency.empty() ? w.terms.residency : zone.residency;
    std::vector<std::string> outside;
    std::erase_if(zone.failover, [&](const std::string& site) {
      const auto host = std::ranges::find(serve.zones, site, &design::Zone::site);
      const machine::Fleet* fleet =
          host != serve.zones.end() ? jobs::fleet_of_zone(r.fleets(), *host) : nullptr;
      if (fleet == nullptr || (design::is_inside(zone.residency, fleet->region) &&
                               design::is_inside(w.terms.residency, fleet->region))) {
        return false;
      }
      outside.push_back(site);
      return true;
    });
    if (outside.empty()) continue;
    if (zone.failover.empty()) zone.failover_after.reset();
    const std::string path = fmt::format("{}.zones[{}]", machine::path_of(w), i);
    Finding f = finding_at(r, rule, path + ".failover");
    f.what = fmt::format("'{} in {}' must stay in {}, but would go to {}.", label_of(r.design(), w),
                         zone.site, tag, fmt::join(outside, ", "));
    f.why = "Requests are data. None is sent outside, so users of a lost site get no answer.";
    f.fix = "Name sites inside the region, or none.";
    f.edit = Edit{path, design_text::section_text(zone)};
    out.push_back(std::move(f));
  }
}

void check_residency(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const machine::Fleet* fleet = fleet_of(r.fleets(), w);
    if (auto f = residency_of_compute(r, rule, w, w.terms.residency, fleet)) {
      if (const machine::Fleet* there = fleet_inside(r, w.terms.residency, *fleet)) {
        f->edit = Edit{machine::path_of(w) + ".fleet", name_text(there->fleet->name)};
      }
      out.push_back(*std::move(f));
    }
    if (const auto* serve = std::get_if<design::Serve>(&w.task)) {
      residency_of_zones(r, rule, w, *serve, out);
      residency_of_failover(r, rule, w, *serve, out);
    }
    if (w.terms.residency.empty()) continue;
    for (const std::string& label : tiers_used(w)) {
      const design::StorageTier* tier = find_tier(r.design(), label);
      if (tier == nullptr || design::is_inside(w.terms.residency, region_of(r, *tier))) continue;
      Finding f = finding_at(r, rule, machine::path_of(w) + ".residency");
      f.what = fmt::format("'{}' must stay in {}, but stores data on tier '{}' in {}.",
                           label_of(r.design(), w), w.terms.residency, label,
                           region_name(region_of(r, *tier), tier->region));
      f.why =
          "Data of a workload with a residency may not be stored outside that region or country.";
      f.fix = "Use a tier in that region, or change the residency.";
      f.edit = edit_residency(r, w, *tier, label);
      out.push_back(std::move(f));
    }
  }
}

void check_export(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Fleet& v : r.fleets()) {
    if (v.accelerator() == nullptr || v.region == nullptr || v.rented()) continue;
    const catalog::ExportControl* control =
        r.catalog().export_control(v.accelerator()->id, v.region->country);
    if (control == nullptr) continue;
    Finding f = finding_at(r, rule, v.path + ".node");
    f.what = fmt::format("{} may need an export licence for {} ({}).", v.accelerator()->name,
                         v.region->country, control->rule);
    f.why = control->provenance.source + "; ask legal counsel before you order.";
    f.fix = "Choose a part that is not listed for this country, or plan time for the licence.";
    out.push_back(std::move(f));
  }
}

Finding outside_call(const review::Review& r, const Rule& rule, const std::string& path,
                     std::string what) {
  Finding f = finding_at(r, rule, path);
  f.what = std::move(what);
  f.why = "An air-gapped site can reach nothing outside, so the call always fails.";
  return f;
}

void check_air_gap(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const machine::Fleet* fleet = fleet_of(r.fleets(), w);
    if (fleet == nullptr || fleet->site == nullptr || !fleet->site->air_gapped) continue;
    const std::string path = machine::path_of(w);
    const std::string where = fmt::format("'{}' runs on air-gapped site '{}'",
                                          label_of(r.design(), w), fleet->site->name);
    if (!w.terms.external.empty()) {
      Finding f =
          outside_call(r, rule, path + ".external",
                       fmt::format("{} but calls {}.", where, fmt::join(w.terms.external, ", ")));
      f.fix =
          "Mirror the service inside the site and remove it from `external`, or drop air_gapped.";
      f.edit = Edit{path + ".external", ""};
      out.push_back(std::move(f));
    }
    for (const std::string& label : tiers_used(w)) {
      const design::StorageTier* tier = find_tier(r.design(), label);
      if (tier == nullptr || tier->provider.empty()) continue;
      Finding f = outside_call(
          r, rule, path, fmt::format("{} but uses tier '{}' at {}.", where, label, tier->provider));
      f.fix = "Use a tier inside the site, or drop air_gapped.";
      const design::StorageTier* own = other_tier(r, *tier, [&](const design::StorageTier& t) {
        return t.provider.empty() && find_site(r.design(), t.site) == fleet->site;
      });
      if (own != nullptr) f.edit = edit_tier(w, label, std::string(own->label()));
      out.push_back(std::move(f));
    }
  }
  for (const review::StageView& s : r.pipeline.stages) {
    if (s.stage->stage != design::DataStage::ingest || s.to == nullptr) continue;
    const design::Site* site = find_site(r.design(), s.to->tier->site);
    if (site == nullptr || !site->air_gapped) continue;
    Finding f = outside_call(
        r, rule, s.path,
        fmt::format("Stage '{}' takes data from outside into the air-gapped site '{}'.", s.label,
                    site->name));
    f.fix = "Carry the data in by hand and start with a copy between tiers, or drop air_gapped.";
    out.push_back(std::move(f));
  }
}

void check_encryption_at_rest(const review::Review& r, const Rule& rule,
                              std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    if (!w.terms.encrypt_at_rest) continue;
    for (const std::string& label : tiers_used(w)) {
      const design::StorageTier* tier = find_tier(r.design(), label);
      if (tier == nullptr || tier->encrypted) continue;
      const design::Site* site = find_site(r.design(), tier->site);
      if (tier->provider.empty() && site && site->encryption_at_rest) continue;
      Finding f = finding_at(r, rule, machine::path_of(w) + ".encrypt_at_rest");
      f.what = fmt::format("'{}' requires encryption at rest, but tier '{}' does not encrypt.",
                           label_of(r.design(), w), label);
      f.why = "Failed drives leave the hall with readable data.";
      f.fix = fmt::format("Set encrypted: true on tier '{}', or encryption_at_rest on the site.",
                          label);
      f.edit = Edit{path_of(r, *tier) + ".encrypted", "true"};
      out.push_back(std::move(f));
    }
  }
}

void check_encryption_in_transit(const review::Review& r, const Rule& rule,
                                 std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const machine::Fleet* fleet = fleet_of(r.fleets(), w);
    if (!w.terms.encrypt_in_transit || fleet == nullptr) continue;
    const bool site_offers = fleet->site && fleet->site->encryption_in_transit;
    const bool networks_offer =
        r.design().fabric.compute.encrypted && r.design().fabric.storage.encrypted;
    if (site_offers || networks_offer) continue;
    Finding f = finding_at(r, rule, machine::path_of(w) + ".encrypt_in_transit");
    f.what = fmt::format(
        "'{}' requires encryption in transit, but neither site '{}' nor its networks encrypt.",
        label_of(r.design(), w), fleet->site ? fleet->site->name : "");
    f.why = "Traffic between nodes and storage would cross the fabric unencrypted.";
    f.fix =
        "Set encryption_in_transit on the site, or encrypted: true on the compute and storage "
        "networks.";
    if (fleet->site) f.edit = Edit{site_of(r, *fleet).path + ".encryption_in_transit", "true"};
    out.push_back(std::move(f));
  }
}

void check_tenants(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const machine::Fleet* fleet = fleet_of(r.fleets(), w);
    if (!w.terms.isolate_tenant || fleet == nullptr || fleet->site == nullptr) continue;
    if (fleet->site->tenant_isolation) continue;
    Finding f = finding_at(r, rule, machine::path_of(w) + ".isolate_tenant");
    f.what = fmt::format(
        "'{}' must be kept apart from other tenants, but site '{}' does not isolate tenants.",
        label_of(r.design(), w), fleet->site->name);
    f.why = "Without partition keys or tenant networks, one tenant's nodes can reach another's.";
    f.fix = "Set tenant_isolation on the site, or give the workload its own site.";
    f.edit = Edit{site_of(r, *fleet).path + ".tenant_isolation", "true"};
    out.push_back(std::move(f));
  }
}

void check_engine(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr) continue;
    const catalog::ServingEngine* engine = r.catalog().engine(serve->engine);
    if (engine == nullptr || engine->status == catalog::EngineStatus::active) continue;
    Finding f = finding_at(r, rule, machine::path_of(w) + ".engine");
    const bool kept = engine->status == catalog::EngineStatus::maintenance;
    const std::string since = engine->status_since.empty() ? "" : " since " + engine->status_since;
    f.what = fmt::format("{} is {}{}{}.", engine->name, kept ? "in " : "", to_text(engine->status),
                         since);
    f.why = "It gets no fixes and no support for new models (" + engine->provenance.source + ").";
    const std::string next = engine->replaced_by.empty() ? "vllm" : engine->replaced_by;
    f.fix = fmt::format("Use {}.", next);
    f.edit = Edit{machine::path_of(w) + ".engine", next};
    out.push_back(std::move(f));
  }
}

constexpr Rule kPolicyRules[] = {
    {"policy.residency", figures::Layer::cluster, Severity::error,
     "a workload with a residency neither runs nor stores data outside it",
     "data residency law, as the design tags it", check_residency},
    {"policy.export-control", figures::Layer::compute, Severity::warning,
     "accelerators that need an export licence are pointed out",
     "US BIS advanced computing rules (catalog export_controls)", check_export},
    {"policy.air-gap", figures::Layer::cluster, Severity::error,
     "an air-gapped site depends on nothing outside", "definition of an air gap", check_air_gap},
    {"policy.encryption-at-rest", figures::Layer::storage, Severity::error,
     "tiers of a workload that requires encryption at rest encrypt", "the workload's own terms",
     check_encryption_at_rest},
    {"policy.encryption-in-transit", figures::Layer::fabric, Severity::error,
     "networks of a workload that requires encryption in transit encrypt",
     "the workload's own terms", check_encryption_in_transit},
    {"policy.tenant-isolation", figures::Layer::cluster, Severity::error,
     "a workload that must be kept apart runs where tenants are isolated",
     "the workload's own terms", check_tenants},
    {"serving.engine-retired", figures::Layer::serving, Severity::error,
     "the serving engine is still maintained", "catalog engines (TGI archived 2026-03-21)",
     check_engine},
};

}  // namespace

std::span<const Rule> policy_rules() { return kPolicyRules; }

}  // namespace orrery::rules
