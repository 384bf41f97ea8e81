// Designs drawn at random over the whole table of fields: every field, every word of every
// enumeration and every part of the catalog occurs.
//
// This is a visitor of visit_fields, like the reader and the writer, so a field that is added to
// the table is drawn without a change here. Values are drawn from the field's kind, unit and range.
// What the table does not say (names that must exist, shares that must add up) is corrected
// afterwards. Most of the designs are poor on purpose: the review must give a sensible answer to
// whatever the reader accepts.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/math.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "model/design/design.h"
#include "model/design/fields_design.h"
#include "model/design/goals.h"
#include "model/design/names.h"
#include "model/design/part_ids.h"
#include "model/design/slurm_fleets.h"
#include "model/design_text/read_design.h"

namespace orrery {

// Number of uses by "section.key", "section.key=word" and "part:id".
using UseCounts = std::map<std::string, int>;

// The files that a drawn design may name: a sunny day, with the PUE or with the weather.
inline Result<std::string> random_file(std::string_view path) {
  const bool has_pue = path == "pue.csv";
  std::string text = has_pue ? "carbon_g_per_kwh,pue\n" : "carbon_g_per_kwh,dry_bulb_c\n";
  for (int h = 0; h < 24; ++h) {
    const bool is_day = h >= 9 && h < 17;
    text += is_day ? "120," : "480,";
    text += has_pue ? (is_day ? "1.4\n" : "1.2\n") : (is_day ? "31\n" : "-4\n");
  }
  return text;
}

class RandomDesign {
 public:
  RandomDesign(std::uint64_t seed, const catalog::Catalog& catalog)
      : random_(seed, "design"), catalog_(catalog) {}

  design::Design draw() {
    design::Design d;
    sites_ = names("site", 1 + below(3));
    fleets_ = names("fleet", 1 + below(3));
    tiers_ = names("tier", below(4));
    section_ = "design";
    visit_fields(*this, d);
    put_right(d);
    return d;
  }
  const UseCounts& uses() const { return uses_; }

  // Called by visit_fields.
  template <class T>
  void operator()(std::string_view key, T& member, const design::Field& field) {
    if (key == "orrery" || !field.not_yet.empty()) return;
    field_ = &field;
    key_ = std::string(key);
    if (draw_it(member)) count(section_ + "." + std::string(key));
  }
  void sites(std::vector<design::Site>& all) { draw_list(all, sites_.size(), "site"); }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_.below(bound)); }
  bool chance(double share) { return random_.uniform() < share; }
  double log_uniform(double low, double high) {
    return low * math::exp(random_.uniform() * math::log(high / low));
  }
  void count(const std::string& what) { ++uses_[what]; }

  static std::vector<std::string> names(const std::string& noun, std::size_t n) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(noun + "-" + std::to_string(i + 1));
    return all;
  }
  std::string one_of(const std::vector<std::string>& all) {
    return all.empty() ? std::string() : all[below(all.size())];
  }

  template <int... E>
  bool draw_it(Quantity<E...>& q) {
    const auto one = parse_any_quantity("1 " + std::string(field_->unit));
    q = Quantity<E...>(rounded(one->base_units * log_uniform(0.1, 300)));
    return true;
  }
  // Rounds to three digits, as a person would write.
  static double rounded(double v) {
    if (v == 0) return 0;
    const double scale = math::pow(10, 2 - std::floor(std::log10(std::fabs(v))));
    return std::round(v * scale) / scale;
  }
  bool draw_it(double& v) {
    using design::Range;
    if (is_share(field_->range)) {
      v = std::round(random_.uniform() * 100) / 100;
      if (field_->range == Range::positive_fraction) v = std::max(v, 0.01);
    } else if (key_ == "params" || key_ == "tokens" || key_ == "rows") {
      v = rounded(log_uniform(1e7, 1e12));
    } else if (key_ == "pue") {
      v = 1 + std::round(random_.uniform() * 100) / 100;
    } else if (key_ == "shape") {
      v = rounded(log_uniform(0.3, 5));
    } else if (key_ == "supply_temperature" || key_ == "cooling_design") {
      v = 5 + static_cast<double>(below(45));
    } else {
      v = rounded(log_uniform(field_->range == Range::at_least_one ? 1 : 0.5, 1000));
    }
    return true;
  }
  bool draw_it(int& v) {
    constexpr std::string_view kSmall[] = {"tp", "pp", "vp", "dp", "cp", "ep", "mbs", "planes"};
    const bool small = std::ranges::find(kSmall, key_) != std::end(kSmall);
    if (small) {
      v = 1 << below(key_ == "planes" ? 2 : 4);
    } else if (key_ == "priority" || key_ == "spares") {
      v = static_cast<int>(below(10));
    } else if (key_ == "batch") {
      v = 1 << (4 + below(8));
    } else if (key_ == "sequence") {
      v = 1 << (9 + below(6));
    } else {
      const bool many = chance(0.05);
      v = static_cast<int>(std::lround(log_uniform(1, many ? 3000 : 40)));
    }
    return true;
  }
  bool draw_it(bool& v) {
    v = chance(0.5);
    if (v) count(section_ + "." + key_ + "=true");
    return v;
  }
  bool draw_it(std::string& v) {
    using design::Part;
    if (field_->part != Part::none) {
      const bool network_part = field_->part == Part::switch_part;
      if (!field_->required && !network_part && chance(0.4)) return false;
      v = one_of(ids(field_->part));
      count("part:" + v);
    } else if (key_ == "site") {
      v = one_of(sites_);
    } else if (key_ == "fleet") {
      v = one_of(fleets_);
    } else if (key_ == "tier" || key_ == "weights_tier") {
      v = chance(0.5) ? one_of(tiers_) : "";
    } else if (key_ == "caches") {
      v = chance(0.2) ? one_of(tiers_) : "";
    } else if (key_ == "residency") {
      v = chance(0.8) ? "" : one_of({"eu", "deu", "usa"});
    } else if (key_ == "trace") {
      v = section_ == "arrivals" ? one_of({"chat", "code", "summary"}) : "";
    } else if (key_ == "hours") {
      if (chance(0.7)) return false;
      v = one_of({"pue.csv", "weather.csv"});
    } else if (key_ == "place") {
      v = chance(0.8) ? "" : "rados:pool/space";
    } else if (key_ == "engine") {
      v = one_of({"vllm", "sglang", "tensorrt-llm"});
    } else {
      v = key_ + "-" + std::to_string(below(50));
    }
    return !v.empty();
  }
  template <class T>
    requires std::is_enum_v<T>
  bool draw_it(T& v) {
    const auto all = word_list<T>();
    const std::size_t i = below(all.size());
    v = static_cast<T>(i);
    count(section_ + "." + key_ + "=" + std::string(all[i]));
    return true;
  }
  template <class T>
  bool draw_it(std::optional<T>& v) {
    if (!field_->required && chance(0.6)) return false;
    v.emplace();
    draw_it(*v);
    return true;
  }
  bool draw_it(std::vector<design::MigSlices>&) {
    return false;
  }  // put_right fills this in,
     // because it knows the profiles
  bool draw_it(std::vector<design::KeepRule>&) { return false; }
  bool draw_it(std::vector<design::Goal>& goals) {
    const auto metrics = design::goal_metrics();
    const design::GoalMetric& m = metrics[below(metrics.size())];
    goals.push_back({.metric = std::string(m.name),
                     .comparison = static_cast<design::Comparison>(below(4)),
                     .bound = rounded(log_uniform(0.1, 1e6)),
                     .dimension = m.dimension});
    return true;
  }
  bool draw_it(std::vector<design::Fleet>& all) { return draw_list(all, fleets_.size(), "fleet"); }
  bool draw_it(std::vector<design::StorageTier>& all) {
    return draw_list(all, tiers_.size(), "storage");
  }
  bool draw_it(std::vector<design::Workload>& all) {
    const std::size_t n = 1 + below(3);
    for (std::size_t i = 0; i < n; ++i) {
      all.emplace_back();
      switch (below(4)) {
        case 0:
          all.back().task = design::Train{};
          break;
        case 1:
          all.back().task = design::Serve{};
          break;
        case 2:
          all.back().task = design::Jobs{};
          break;
        default:
          all.back().task = design::Batch{};
      }
      const std::string outer = std::exchange(section_, design::kind_of(all.back()));
      visit_fields(*this, all.back().terms);
      std::visit([&](auto& task) { visit_fields(*this, task); }, all.back().task);
      section_ = outer;
    }
    return true;
  }
  bool draw_it(std::vector<std::string>& v) {
    if (key_ == "to") {
      v = {chance(0.5) || tiers_.empty() ? "node-nvme" : one_of(tiers_)};
    } else if (key_ == "targets") {
      v = {"qkv", "mlp"};
    } else if (key_ == "between" || key_ == "failover") {
      v = {sites_.front(), sites_.back()};
    } else if (field_->part != design::Part::none && chance(0.3)) {
      v = {one_of(ids(field_->part))};
      count("part:" + v.front());
    } else if (key_ == "external" && chance(0.2)) {
      v = {"hugging-face-hub"};
    } else {
      return false;
    }
    return true;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  bool draw_it(std::vector<T>& v) {
    if (key_ == "weights" || chance(0.5)) return false;
    v = key_ == "sizes" ? std::vector<T>{T(1), T(8)} : std::vector<T>{T(4), T(4)};
    return true;
  }
  template <class T>
  bool draw_it(std::vector<T>& v) {
    return draw_list(v, chance(0.3) ? 1 + below(2) : 0, key_);
  }
  template <class T>
    requires requires(RandomDesign& r, T& t) { visit_fields(r, t); }
  bool draw_it(T& section) {
    const std::string outer = std::exchange(section_, key_);
    visit_fields(*this, section);
    section_ = outer;
    return true;
  }
  template <class T>
  bool draw_list(std::vector<T>& all, std::size_t n, const std::string& section) {
    const std::string outer = std::exchange(section_, section);
    for (std::size_t i = 0; i < n; ++i) {
      all.emplace_back();
      visit_fields(*this, all.back());
    }
    section_ = outer;
    return n > 0;
  }

  const std::vector<std::string>& ids(design::Part part) {
    auto& all = ids_[part];
    if (all.empty()) all = part_ids(catalog_, part);
    return all;
  }

  void put_right(design::Design& d);
  static void put_cascades_right(design::Design& d);
  void put_partitions_right(design::Design& d);
  void put_qos_right(design::Design& d);
  void put_pipeline_right(design::Design& d);
  void put_reservations_right(design::Design& d);
  static void put_hours_right(design::Design& d);
  static void put_pauses_right(design::RoceChecklist& roce);
  bool put_right(design::Stage& s, design::Design& d);
  void put_right(design::Fleet& f);
  void put_right(design::StorageTier& t);
  void put_power_right(design::Fleet& f);
  void put_right(design::Train& t);
  void put_right(design::Serve& s);
  void put_right(design::Jobs& j);
  static void put_right(design::Dataset& d) {
    d.epochs = std::max(1.0, d.epochs);
    if (d.format == design::DataFormat::files) d.random_access = 0;
  }

  RandomStream random_;
  const catalog::Catalog& catalog_;
  std::vector<std::string> sites_, fleets_, tiers_;
  std::string section_;
  std::string key_;
  const design::Field* field_ = nullptr;
  std::map<design::Part, std::vector<std::string>> ids_;
  UseCounts uses_;
};

inline void RandomDesign::put_pauses_right(design::RoceChecklist& roce) {
  if (roce.ecn_kmin && roce.ecn_kmax) roce.ecn_kmax = max(*roce.ecn_kmax, *roce.ecn_kmin * 4);
  if (roce.watchdog_time) roce.pfc_watchdog = true;
}

// Typical and idle power must not exceed the nameplate, wherever the three values come from.
inline void RandomDesign::put_power_right(design::Fleet& f) {
  if (!f.custom) return;
  design::CustomNode& c = *f.custom;
  const catalog::Node part = resolve_node(f, catalog_).part;
  const Watts most = part.max_power.value_or(Watts(1e12));
  if (part.typical_train_power.value_or(Watts(0)) > most) c.typical_power = most / 2;
  if (part.idle_power.value_or(Watts(0)) > most) c.idle_power = most / 4;
}

inline void RandomDesign::put_right(design::Fleet& f) {
  if (f.custom && f.custom->max_power) {
    f.custom->max_power = std::max(*f.custom->max_power, kilowatts(1));
  }
  put_power_right(f);
  if (f.custom && resolve_node(f, catalog_).part.accelerators == 0) f.custom->scale_up.reset();
  if (f.custom && !f.custom->scale_up) f.custom->scale_up_links.reset();
  if (f.node.empty() && !(f.custom && f.custom->accelerators && f.custom->accelerator)) {
    f.node = one_of(ids(design::Part::node));
    count("part:" + f.node);
  }
  const design::FleetNode node = resolve_node(f, catalog_);
  const catalog::Accelerator* a = node.accelerator;
  for (const catalog::MigProfile& p : catalog_.mig_profiles) {
    if (a == nullptr || p.accelerator_id != a->id || !chance(0.1)) continue;
    f.mig.push_back({p.profile, 1 + static_cast<int>(below(7))});
    count("fleet.mig");
    break;
  }
}

inline void RandomDesign::put_right(design::Train& t) {
  if (t.network && chance(0.5)) {
    t.model.clear();
  } else {
    t.network.reset();
    if (t.model.empty()) t.model = one_of(ids(design::Part::model));
  }
  put_right(t.dataset);
  if (t.checkpoint && chance(0.5)) {
    const std::string tier = t.checkpoint->to.front();
    if (chance(0.5)) {
      t.checkpoint->keep.push_back({tier, 3});
    } else {
      t.checkpoint->keep.push_back({tier, std::nullopt});
    }
    count("checkpoint.keep");
  }
}

inline void RandomDesign::put_right(design::Serve& s) {
  if (s.network && chance(0.5)) {
    s.model.clear();
  } else {
    s.network.reset();
    if (s.model.empty()) s.model = one_of(ids(design::Part::model));
  }
  // Conversations need transformers that prefill and decode in one place and use no draft model.
  if (s.model.empty() || s.disaggregated || !s.draft_model.empty()) {
    s.arrivals.turns = 1;
    s.arrivals.agent.reset();
  }
  s.arrivals.turns = s.arrivals.agent ? 1 : std::min(s.arrivals.turns, 16);
  if (s.arrivals.agent) s.arrivals.agent->calls = std::min(s.arrivals.agent->calls, 16);
  if (!s.arrivals.agent) s.objective.task_p99.reset();
  if (s.arrivals.turns <= 1) s.arrivals.think_time.reset();
  s.arrivals.cache_hits = s.arrivals.visits() > 1 ? 0 : std::min(s.arrivals.cache_hits, 0.9);
  if (s.model.empty() || s.arrivals.agent) s.retrieval.reset();
  if (s.retrieval && s.retrieval->tier.empty()) s.retrieval->tier = "node-nvme";
  if (s.retrieval) s.retrieval->reads = std::max<double>(s.retrieval->reads, s.retrieval->hops);
  if (s.retrieval) s.retrieval->tokens = std::min(s.retrieval->tokens, 1e4);
  if (s.model.empty()) s.max_batch.reset();
  if (s.model.empty()) s.router = catalog::ServeRouter::least_requests;
  if (s.disaggregated) s.autoscale.reset();
  if (s.autoscale) s.replicas.reset();
  if (s.autoscale) s.autoscale->max = std::max(s.autoscale->min, s.autoscale->max);
  if (s.model.empty() || !s.prefix_cache) s.kv_tier.reset();
  if (s.kv_tier && s.kv_tier->tier.empty()) s.kv_tier->tier = design::kHostMemory;
  if (s.model.empty() || s.disaggregated) s.adapters.reset();
  if (s.adapters) {
    s.adapters->count = std::min(s.adapters->count, 1000);
    s.adapters->rank = std::min(s.adapters->rank, design::kHighestRank);
    s.adapters->slots = std::min(s.adapters->slots, 64);
    s.adapters->skew = std::min(s.adapters->skew, 3.0);
  }
  for (design::Zone& z : s.zones) {
    z.share = 1.0 / static_cast<double>(s.zones.size());
    if (s.autoscale) z.replicas.reset();
    // The failover target must be another site with a zone of the service, and be named once.
    if (z.failover.size() > 1 && z.failover[0] == z.failover[1]) z.failover.pop_back();
    std::erase_if(z.failover, [&](const std::string& site) {
      return site == z.site ||
             std::ranges::find(s.zones, site, &design::Zone::site) == s.zones.end();
    });
    if (z.failover.empty()) z.failover_after.reset();
  }
}

inline void RandomDesign::put_right(design::Jobs& j) {
  if (!j.rate || !j.mean_duration) {
    j.rate = PerSecond(0.002);
    j.mean_duration = hours(1);
  }
  if (chance(0.3)) {
    j.weights.assign(j.sizes.size(), 1.0);
    count("jobs.weights");
  }
}

// Erasure codes and cores need servers with their own drives, and a tier with a profile takes its
// values from the profile.
inline void RandomDesign::put_right(design::StorageTier& t) {
  const std::string name = t.name;
  if (!t.profile.empty() && chance(0.5)) {
    const auto read = design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1 "
        "}]\n"
        "storage: [{ profile: " +
            t.profile + " }]\n",
        catalog_);
    if (read) t = read->storage.front();
    t.name = name;
    count("storage.profile");
    return;
  }
  t.profile.clear();
  const catalog::StorageDevice* device = catalog_.storage_device(t.device);
  const bool is_built = device != nullptr && t.provider.empty() &&
                        t.tier != design::Tier::node_nvme &&
                        form_of(*device) != catalog::DeviceForm::appliance;
  if (!is_built) {
    t.protection.reset();
    t.server_cores.reset();
  }
  if (!t.protection) return;
  t.protection->data = std::min(t.protection->data, 60);
  t.protection->parity = std::min(t.protection->parity, 20);
  const design::Protection& p = *t.protection;
  if (t.usable) t.usable = 0.5 * p.data / (p.data + p.parity);
}

inline void RandomDesign::put_right(design::Design& d) {
  d.name = "random";
  for (std::size_t i = 0; i < d.sites.size(); ++i) d.sites[i].name = sites_[i];
  for (std::size_t i = 0; i < d.fleet.size(); ++i) {
    d.fleet[i].name = fleets_[i];
    put_right(d.fleet[i]);
  }
  for (std::size_t i = 0; i < d.storage.size(); ++i) {
    design::StorageTier& t = d.storage[i];
    t.name = tiers_[i];
    if (t.caches == t.name) t.caches.clear();
    put_right(t);
    if (t.tier == design::Tier::node_nvme || t.tier == design::Tier::gpu_direct) t.place.clear();
    if (!t.place.empty()) t.place = "rados:pool/" + t.name;  // each tier its own
  }
  std::vector<design::WanLink>& wan = d.fabric.wan;
  if (sites_.size() < 2) wan.clear();
  if (wan.size() > 1) wan.resize(1);
  for (std::size_t i = 0; i < d.workloads.size(); ++i) {
    design::Workload& w = d.workloads[i];
    w.terms.name = "work-" + std::to_string(i + 1);
    if (auto* train = std::get_if<design::Train>(&w.task)) put_right(*train);
    if (auto* serve = std::get_if<design::Serve>(&w.task)) put_right(*serve);
    if (auto* jobs = std::get_if<design::Jobs>(&w.task)) put_right(*jobs);
    if (auto* batch = std::get_if<design::Batch>(&w.task)) {
      put_right(batch->dataset);
      if (batch->inference) batch->core_hours = batch->accelerator_hours = std::nullopt;
      batch->dataset.random_access = 0;
    }
  }
  put_cascades_right(d);
  put_partitions_right(d);
  put_qos_right(d);
  put_pipeline_right(d);
  put_reservations_right(d);
  put_hours_right(d);
  put_pauses_right(d.fabric.compute.roce);
  put_pauses_right(d.fabric.storage.roce);
  if (!d.scheduler.fair_share) d.scheduler.fair_share_by = catalog::FairShareBy::fair_tree;
}

// Work that waits for clean hours needs a site with hours, and a site with hours must not also give
// a PUE.
inline void RandomDesign::put_hours_right(design::Design& d) {
  for (const design::Workload& w : d.workloads) {
    const auto* jobs = std::get_if<design::Jobs>(&w.task);
    const auto* batch = std::get_if<design::Batch>(&w.task);
    if (!(jobs && jobs->clean_hours) && !(batch && batch->clean_hours)) continue;
    const auto fleet = w.terms.fleet.empty()
                           ? d.fleet.begin()
                           : std::ranges::find(d.fleet, w.terms.fleet, &design::Fleet::name);
    for (design::Site& s : d.sites) {
      const bool is_own = fleet->site.empty() ? &s == d.sites.data() : s.name == fleet->site;
      if (is_own && s.hours.empty()) s.hours = "weather.csv";
    }
  }
  for (design::Site& s : d.sites) {
    if (!s.hours.empty()) s.pue.reset();
    if (!s.outage_mtbf) s.outage = s.battery = s.generator = std::nullopt;
    if (s.hours != "weather.csv") s.cooling_design.reset();
  }
}

}  // namespace orrery

#include "random_design_parts.h"
