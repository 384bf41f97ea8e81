#include "model/design_text/check_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/catalog/config_json.h"
#include "core/catalog/named_file.h"
#include "model/design/names.h"
#include "model/design/slurm_fleets.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

// Of a Reed-Solomon code over bytes.
constexpr int kMostShards = 255;

ValueReader::Fault no_files(const std::string& name, const char* way_out) {
  return {"design.no-files", fmt::format("`{}` cannot be read here", name),
          "no files are at hand in this place", way_out};
}

class NameCheck {
 public:
  NameCheck(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file)
      : d_(design), v_(values), read_file_(read_file) {
    for (const design::Site& s : d_.sites) sites_.push_back(s.name);
    for (const design::Fleet& f : d_.fleet) fleets_.push_back(f.name);
    for (const design::StorageTier& t : d_.storage) tiers_.emplace_back(t.label());
    // Every node has its own drives, whether or not a tier describes them.
    tiers_.emplace_back(word_of(design::Tier::node_nvme));
  }

  void run() {
    unique("sites", d_.sites, &design::Site::name, "site");
    unique("fleet", d_.fleet, &design::Fleet::name, "fleet");
    unique("storage", d_.storage, &design::StorageTier::label, "storage tier");
    for (std::size_t i = 0; i < d_.fleet.size(); ++i) fleet(d_.fleet[i], at("fleet", i));
    for (std::size_t i = 0; i < d_.storage.size(); ++i) tier(d_.storage[i], at("storage", i));
    for (std::size_t i = 0; i < d_.fabric.wan.size(); ++i) {
      wan(d_.fabric.wan[i], at("fabric.wan", i));
    }
    unique("scheduler.partitions", d_.scheduler.partitions, &design::SchedulerPartition::name,
           "partition");
    for (std::size_t i = 0; i < d_.scheduler.partitions.size(); ++i) {
      partition(d_.scheduler.partitions[i], at("scheduler.partitions", i));
    }
    if (!d_.scheduler.fair_share && d_.places.given("scheduler.fair_share_by")) {
      complain("scheduler.fair_share_by",
               {"design.fair-share", "`fair_share` is off", "past use moves nobody, by any formula",
                "add `fair_share: true`, or leave this out"});
    }
    unique("scheduler.qos", d_.scheduler.qos, &design::Qos::name, "QOS");
    for (std::size_t i = 0; i < d_.scheduler.qos.size(); ++i) {
      qos(d_.scheduler.qos[i], at("scheduler.qos", i));
    }
    for (std::size_t i = 0; i < d_.workloads.size(); ++i) {
      const std::string path = at("workloads", i) + '.' + design::kind_of(d_.workloads[i]);
      partition_of(d_.workloads[i], path + ".partition");
      qos_of(d_.workloads[i], path + ".qos");
      workload(d_.workloads[i], path);
    }
  }

 private:
  static std::string at(std::string_view list, std::size_t i) {
    return fmt::format("{}[{}]", list, i);
  }

  void complain(std::string_view path, ValueReader::Fault fault) {
    v_.complain(d_.places.find(path), std::move(fault));
  }

  template <class T, class Name>
  void unique(std::string_view list, const std::vector<T>& all, Name name, std::string_view noun) {
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string label(std::invoke(name, all[i]));
      const auto [first, fresh] = seen.emplace(label, i);
      // An empty name was missing, which has been said.
      if (fresh || label.empty()) continue;
      complain(at(list, i) + ".name",
               {"design.duplicate-name", fmt::format("two entries are the {} `{}`", noun, label),
                "others refer to it by that name", "give each a `name` of its own"});
    }
  }

  void one_of(const std::string& name, const std::vector<std::string>& known, std::string_view path,
              std::string_view noun) {
    if (name.empty() || known.empty() || std::ranges::find(known, name) != known.end()) return;
    const auto close = nearest(name, known);
    complain(path, {"design.unknown-name",
                    fmt::format("this file has no {} `{}`", noun, name),
                    {},
                    close ? fmt::format("did you mean `{}`?", *close)
                          : std::string("add it, or name one of those there are")});
  }

  // None: Slurm's first, where it has one.
  const design::Fleet* fleet_of(const design::SchedulerPartition& p) const {
    const auto found = std::ranges::find_if(d_.fleet, [&](const design::Fleet& f) {
      return p.fleet.empty() ? design::is_slurms(d_, f) : f.name == p.fleet;
    });
    return found == d_.fleet.end() ? nullptr : &*found;
  }

  void partition(const design::SchedulerPartition& p, const std::string& path) {
    one_of(p.fleet, fleets_, path + ".fleet", "fleet");
    const design::Fleet* own = fleet_of(p);
    if (own == nullptr && !p.fleet.empty()) return;  // which has been said
    if (own == nullptr || !design::is_slurms(d_, *own)) {
      return complain(
          path, {"design.partition", "a partition is Slurm's, and its fleet is run by Kubernetes",
                 "Kubernetes would not hold it", "use `quotas`, or a fleet of its own"});
    }
    if (p.name != own->name && std::ranges::find(fleets_, p.name) != fleets_.end()) {
      complain(path + ".name",
               {"design.partition", fmt::format("`{}` is the name of another fleet", p.name),
                "a fleet without partitions is one under its own name", "choose another"});
    }
    if (!p.nodes) return;
    // Those with a number lie apart, in the order of the file.
    int taken = 0;
    for (const design::SchedulerPartition& other : d_.scheduler.partitions) {
      if (other.nodes && fleet_of(other) == own) taken += *other.nodes;
      if (&other == &p) break;
    }
    if (taken <= own->count) return;
    complain(path + ".nodes",
             {"design.partition",
              fmt::format("partition `{}` wants {} nodes of fleet `{}`, {} are left", p.name,
                          *p.nodes, own->name, std::max(0, own->count - taken + *p.nodes)),
              "partitions with `nodes` lie apart, one after the other",
              "lower `nodes`, or leave it out to share the whole fleet"});
  }

  void partition_of(const design::Workload& w, const std::string& path) {
    if (w.terms.partition.empty()) return;
    const auto& all = d_.scheduler.partitions;
    const auto found = std::ranges::find(all, w.terms.partition, &design::SchedulerPartition::name);
    if (found == all.end()) {
      std::vector<std::string> names;
      for (const design::SchedulerPartition& p : all) names.push_back(p.name);
      const auto close = nearest(w.terms.partition, names);
      return complain(path, {"design.unknown-name",
                             fmt::format("the scheduler has no partition `{}`", w.terms.partition),
                             {},
                             close ? fmt::format("did you mean `{}`?", *close)
                                   : std::string("add it to `scheduler: { partitions: [...] }`")});
    }
    const design::Fleet* own = fleet_of(*found);
    const std::string& fleet =
        w.terms.fleet.empty() && !fleets_.empty() ? fleets_[0] : w.terms.fleet;
    if (own == nullptr || own->name == fleet) return;
    complain(path, {"design.partition",
                    fmt::format("partition `{}` has nodes of fleet `{}`, the workload runs on `{}`",
                                found->name, own->name, fleet),
                    {},
                    "name a partition of its fleet, or another fleet"});
  }

  std::vector<std::string> qos_names() const {
    std::vector<std::string> all;
    for (const design::Qos& q : d_.scheduler.qos) all.push_back(q.name);
    return all;
  }

  void qos(const design::Qos& q, const std::string& path) {
    if (d_.scheduler.kind == design::SchedulerKind::kubernetes) {
      complain(path, {"design.qos", "a QOS is Slurm's, and the scheduler is Kubernetes",
                      "Kubernetes would not hold it", "use `priority` and `quotas`"});
    }
    for (const std::string& other : q.preempts) {
      one_of(other, qos_names(), path + ".preempts", "QOS");
    }
    if (!q.preempts.empty() && d_.scheduler.preemption == design::Preemption::none) {
      complain(path + ".preempts", {"design.qos", "`preempts` while `preemption` is none",
                                    "nobody would be stopped", "set `preemption: requeue`"});
    }
  }

  // A run or a service that is ended at its limit and queued again is not modelled.
  void qos_of(const design::Workload& w, const std::string& path) {
    const std::string& name = w.terms.qos;
    if (name.empty()) return;
    const auto& all = d_.scheduler.qos;
    const auto found = std::ranges::find(all, name, &design::Qos::name);
    if (found == all.end()) {
      const auto close = nearest(name, qos_names());
      complain(path, {"design.unknown-name",
                      fmt::format("the scheduler has no QOS `{}`", name),
                      {},
                      close ? fmt::format("did you mean `{}`?", *close)
                            : std::string("add it to `scheduler: { qos: [...] }`")});
      return;
    }
    const bool is_ended = std::holds_alternative<design::Jobs>(w.task) ||
                          std::holds_alternative<design::Batch>(w.task);
    if (found->time_limit && !is_ended) {
      complain(path, {"design.qos", fmt::format("the QOS `{}` ends jobs at its time limit", name),
                      "a training run or a service that is cut and queued again is not modelled",
                      "give it a QOS without `time_limit`"});
    }
  }

  void provider(const std::string& name, bool priced, std::string_view path) {
    const auto& known = v_.ids(design::Part::provider);
    if (name.empty() || priced || std::ranges::binary_search(known, name)) return;
    const auto close = nearest(name, known);
    complain(path, {"design.unknown-part",
                    fmt::format("the catalog has no prices of provider `{}`", name),
                    "so it cannot say what this costs",
                    close ? fmt::format("did you mean `{}`? Otherwise give `price`", *close)
                          : std::string("give `price` beside it")});
  }

  void fleet(const design::Fleet& f, const std::string& path) {
    one_of(f.site, sites_, path + ".site", "site");
    if (f.rent) provider(f.rent->provider, f.rent->price.has_value(), path + ".rent.provider");
    const bool described = f.custom && f.custom->accelerators &&
                           (f.custom->accelerator || *f.custom->accelerators == 0);
    // A node that was given and refused has been spoken of.
    if (f.node.empty() && !described && !d_.places.given(path + ".node")) {
      complain(path, {"design.missing", "this entry of `fleet` lacks `node`",
                      "a node comes from the catalog, or `custom` gives its accelerators",
                      "add `node: dgx-h100`, or custom: { accelerators: 0, cores: 64 }"});
    }
    for (const design::MigSlices& slices : f.mig) mig(f, slices, path + ".mig");
    if (f.custom) {
      power(f, path + ".custom");
      links(f, path + ".custom");
    }
    if (f.failures.shape) lifetime(*f.failures.shape, path + ".failures.shape");
  }

  // Published lives of nodes and their parts lie between 0.4 and 2; far beyond, all nodes would
  // fail at once or in the first second.
  void lifetime(double shape, const std::string& path) {
    constexpr double kLeast = 0.3;
    constexpr double kMost = 5;
    if (shape >= kLeast && shape <= kMost) return;
    complain(path, {"design.range", fmt::format("a shape of {} is no node's", shape),
                    "lives of nodes that were published have shapes from 0.4 to 2",
                    fmt::format("write one from {} to {}; 1 is a constant rate", kLeast, kMost)});
  }

  void links(const design::Fleet& f, const std::string& path) {
    const bool named = f.custom->scale_up.has_value();
    if (f.custom->scale_up_links && !named) {
      complain(path + ".scale_up_links",
               {"design.missing", "`scale_up_links` counts links that `scale_up` does not name",
                "the accelerator's own link is as the catalog has it",
                "add `scale_up: ualink-200`, or leave it out"});
    }
    if (named && resolve_node(f, v_.catalog()).part.accelerators == 0) {
      complain(path + ".scale_up",
               {"design.range", "`scale_up` joins accelerators, and this node has none",
                "nothing would follow from it", "leave it out"});
    }
  }

  // What a node draws on average is no more than what its supplies are made for.
  void power(const design::Fleet& f, const std::string& path) {
    const catalog::Node node = design::resolve_node(f, v_.catalog()).part;
    if (!node.max_power) return;
    const auto check = [&](const std::optional<Watts>& watts, std::string_view key) {
      if (!watts || *watts <= *node.max_power) return;
      const std::string at = path + '.' + std::string(key);
      complain(d_.places.given(at) ? at : path + ".max_power",
               {"design.range",
                fmt::format("`{}` of {} is above the nameplate of {}", key, brief(*watts),
                            brief(*node.max_power)),
                "a node draws at most its nameplate",
                fmt::format("write at most {}, or a higher max_power", brief(*node.max_power))});
    };
    check(node.typical_train_power, "typical_power");
    check(node.idle_power, "idle_power");
  }

  void mig(const design::Fleet& f, const design::MigSlices& slices, const std::string& path) {
    const design::FleetNode node = design::resolve_node(f, v_.catalog());
    if (!node.accelerator) return;
    std::vector<std::string> known;
    for (const catalog::MigProfile& p : v_.catalog().mig_profiles) {
      if (p.accelerator_id == node.accelerator->id) known.push_back(p.profile);
    }
    if (std::ranges::find(known, slices.profile) != known.end()) return;
    const auto close = nearest(slices.profile, known);
    complain(path + '.' + slices.profile,
             {"design.unknown-part",
              fmt::format("`{}` has no MIG profile `{}`", node.accelerator->id, slices.profile),
              {},
              close ? fmt::format("did you mean `{}`?", *close)
                    : std::string("remove `mig`, or choose another accelerator")});
  }

  void tier(const design::StorageTier& t, const std::string& path) {
    one_of(t.site, sites_, path + ".site", "site");
    one_of(t.caches, tiers_, path + ".caches", "storage tier");
    provider(t.provider, t.price.has_value(), path + ".provider");
    protection(t, path);
  }

  // Codes and cores are of servers that are built of the design's own drives.
  void protection(const design::StorageTier& t, const std::string& path) {
    const catalog::StorageDevice* device = v_.catalog().storage_device(t.device);
    const bool is_appliance =
        device != nullptr && form_of(*device) == catalog::DeviceForm::appliance;
    const char* why = t.tier == design::Tier::node_nvme
                          ? "drives in the nodes are served by the nodes"
                      : !t.provider.empty() ? "a rented tier is as its provider sells it"
                      : is_appliance        ? "an appliance is as it is sold"
                      : t.device.empty()    ? "the usual device of a tier may be an appliance"
                                            : nullptr;
    for (const auto& [key, is_given] : {std::pair{"protection", t.protection.has_value()},
                                        std::pair{"server_cores", t.server_cores.has_value()}}) {
      if (!is_given || why == nullptr) continue;
      complain(path + '.' + key,
               {"design.protection",
                fmt::format("`{}` is of servers with drives of their own", key), why,
                t.device.empty() && t.provider.empty() && t.tier != design::Tier::node_nvme
                    ? "name a drive: `device: tlc-gen5`"
                    : "take it away"});
    }
    if (!t.protection) return;
    const design::Protection& p = *t.protection;
    if (p.data + p.parity > kMostShards) {
      complain(path + ".protection",
               {"design.range", fmt::format("a code of {} shards", p.data + p.parity),
                "codes over bytes have 255 at the most", "write 8 + 2, or 17 + 3"});
      return;
    }
    if (!t.usable) return;
    const double left = static_cast<double>(p.data) / (p.data + p.parity);
    if (*t.usable <= left + 1e-9) return;
    complain(path + ".usable",
             {"design.range",
              fmt::format("`usable` is {}, and {} + {} leaves {}", significant(*t.usable, 3),
                          p.data, p.parity, significant(left, 3)),
              "parity takes its share of the raw capacity first",
              fmt::format("write {} or less", significant(left * 0.8, 2))});
  }

  void wan(const design::WanLink& link, const std::string& path) {
    for (std::size_t i = 0; i < link.between.size(); ++i) {
      one_of(link.between[i], sites_, at(path + ".between", i), "site");
    }
    if (!d_.places.given(path + ".between")) return;  // missing, which has been said
    if (link.between.size() != 2 || link.between[0] == link.between[1]) {
      complain(path + ".between", {"design.range", "a line of the WAN joins two sites",
                                   "what happens inside one site is its own networks' business",
                                   "write between: [one, other] with the names of two sites"});
    }
  }

  void workload(design::Workload& w, const std::string& path) {
    if (!d_.places.given(path)) return;  // of no known kind
    one_of(w.terms.fleet, fleets_, path + ".fleet", "fleet");
    residency(w.terms.residency, path + ".residency");
    if (const auto* train = std::get_if<design::Train>(&w.task)) this->train(*train, path);
    if (auto* serve = std::get_if<design::Serve>(&w.task)) {
      this->serve(*serve, path);
      request_trace(serve->arrivals, path + ".arrivals.trace");
    }
    if (const auto* batch = std::get_if<design::Batch>(&w.task)) {
      check_inference(*batch, path, d_.places, v_);
      if (batch->inference) model(batch->inference->model, path + ".inference.model");
      one_of(batch->dataset.tier, tiers_, path + ".dataset.tier", "storage tier");
      if (batch->dataset.random_access > 0) {
        complain(path + ".dataset.random_access",
                 {"design.range", "`random_access` is of training runs",
                  "batch work is taken to read its input through once", "leave it out"});
      }
    }
    if (const auto* jobs = std::get_if<design::Jobs>(&w.task)) {
      this->jobs(*jobs, path);
      if (!jobs->mig.empty()) sliced(w, *jobs, path);
      if (!jobs->trace.empty()) {
        table_in(jobs->trace, {"submit_s", "duration_s", "accelerators"}, path + ".trace");
      }
    }
  }

  void sliced(const design::Workload& w, const design::Jobs& jobs, const std::string& path) {
    for (const char* key : {".sizes", ".weights", ".trace", ".clean_hours"}) {
      if (d_.places.given(path + key))
        complain(path + key, {"design.mig", "these jobs ask for slices of accelerators",
                              "each takes one slice, and is drawn as it comes",
                              fmt::format("leave `{}` out, or `mig`", key + 1)});
    }
    const auto fleet = w.terms.fleet.empty()
                           ? d_.fleet.begin()
                           : std::ranges::find(d_.fleet, w.terms.fleet, &design::Fleet::name);
    if (fleet == d_.fleet.end()) return;  // which has been said
    if (!design::resolve_node(*fleet, v_.catalog()).accelerator) {
      complain(path + ".mig", {"design.mig",
                               "its fleet has no accelerators to slice",
                               {},
                               "name another fleet, or leave this out"});
    }
    for (const design::MigSlices& slices : jobs.mig) mig(*fleet, slices, path + ".mig");
  }

  void residency(const std::string& place, const std::string& path) {
    if (place.empty() || design::is_residency(place, v_.catalog())) return;
    const auto close = nearest(place, v_.ids(design::Part::region));
    complain(path, {"design.unknown-part", fmt::format("`{}` is no region or country", place),
                    "residency is a region of the catalog, a country such as deu, or eu",
                    close ? fmt::format("did you mean `{}`?", *close)
                          : std::string("see `orrery catalog regions`")});
  }

  void train(const design::Train& t, const std::string& path) {
    model_or_network(t.model, t.network.has_value(), path);
    one_of(t.dataset.tier, tiers_, path + ".dataset.tier", "storage tier");
    if (t.dataset.random_access > 0 && t.dataset.format == design::DataFormat::files) {
      complain(path + ".dataset.random_access",
               {"design.range", "`random_access` is of samples in shards, and these are files",
                "every one of them is read by itself already",
                "write `format: shards`, or leave "
                "`random_access` out"});
    }
    if (t.features) one_of(t.features->tier, tiers_, path + ".features.tier", "storage tier");
    if (!t.checkpoint) return;
    const std::string save = path + ".checkpoint";
    for (std::size_t i = 0; i < t.checkpoint->to.size(); ++i) {
      one_of(t.checkpoint->to[i], tiers_, at(save + ".to", i), "storage tier");
    }
    for (const design::KeepRule& rule : t.checkpoint->keep) {
      one_of(rule.tier, tiers_, save + ".keep." + rule.tier, "storage tier");
    }
  }

  void serve(const design::Serve& s, const std::string& path) {
    model_or_network(s.model, s.network.has_value(), path);
    if (!s.draft_model.empty()) model(s.draft_model, path + ".draft_model");
    one_of(s.weights_tier, tiers_, path + ".weights_tier", "storage tier");
    if (s.retrieval) one_of(s.retrieval->tier, tiers_, path + ".retrieval.tier", "storage tier");
    if (s.kv_tier) {
      std::vector<std::string> known = tiers_;
      known.emplace_back(design::kHostMemory);
      one_of(s.kv_tier->tier, known, path + ".kv_tier.tier", "storage tier");
    }
    double shares = 0;
    for (std::size_t i = 0; i < s.zones.size(); ++i) {
      const std::string zone = at(path + ".zones", i);
      one_of(s.zones[i].site, sites_, zone + ".site", "site");
      one_of(s.zones[i].fleet, fleets_, zone + ".fleet", "fleet");
      residency(s.zones[i].residency, zone + ".residency");
      for (std::size_t f = 0; f < s.zones[i].failover.size(); ++f) {
        one_of(s.zones[i].failover[f], sites_, at(zone + ".failover", f), "site");
      }
      shares += s.zones[i].share;
    }
    if (!s.zones.empty() && std::fabs(shares - 1) > 0.005) {
      complain(
          path + ".zones",
          {"design.range", fmt::format("the zones' shares add up to {}", significant(shares, 3)),
           "every request is answered in one of them", "let the shares add up to 1"});
    }
    check_service(s, path, d_.places, v_);
  }

  // A CSV that the design names, with the columns it needs; none after a complaint, or if this
  // place does not give the file, which is a fault where there is a `way_out` of it.
  std::optional<CsvTable> table_in(const std::string& name, std::vector<std::string_view> columns,
                                   const std::string& path, const char* way_out = nullptr) {
    const auto text = catalog::named_file(read_file_, name);
    if (!text && way_out) complain(path, no_files(name, way_out));
    if (!text) return std::nullopt;
    auto table =
        *text ? CsvTable::parse(**text, name) : Result<CsvTable>(std::unexpected(text->error()));
    if (!table) {
      const Diagnostic& fault = table.error().front();
      complain(path, {"design.trace-file", fmt::format("`{}`: {}", name, fault.what), fault.why,
                      fault.fix});
      return std::nullopt;
    }
    for (const std::string_view column : columns) {
      if (table->column(column)) continue;
      complain(path, {"design.trace-file", fmt::format("`{}` has no column `{}`", name, column),
                      "a trace is used as it is, and nothing is made up for what it lacks",
                      fmt::format("its first line must name {}", listed(columns))});
      return std::nullopt;
    }
    return *std::move(table);
  }

  // Mean lengths of a trace of requests stand where the design gives none.
  void request_trace(design::Arrivals& a, const std::string& path) {
    constexpr std::string_view kMixes[] = {"", "chat", "code", "summary"};
    if (std::ranges::find(kMixes, a.trace) != std::end(kMixes)) return;
    const auto table =
        table_in(a.trace, {"input_tokens", "output_tokens"}, path, "write chat, code or summary");
    if (!table) return;
    double rows = 0, in = 0, out = 0;
    for (const CsvRow& row : table->rows()) {
      const auto input = table->number(row, "input_tokens");
      const auto output = table->number(row, "output_tokens");
      if (!input || !output || *input < 0 || *output < 0) continue;
      ++rows, in += *input, out += *output;
    }
    if (rows == 0 || in < rows || out < rows) {
      complain(path, {"design.trace-file", fmt::format("`{}` holds no requests", a.trace),
                      "a request has at least one token in and one out",
                      "give rows with input_tokens and output_tokens"});
      return;
    }
    if (!a.input_tokens) a.input_tokens = in / rows;
    if (!a.output_tokens) a.output_tokens = out / rows;
  }

  void jobs(const design::Jobs& j, const std::string& path) {
    const bool given = d_.places.given(path + ".trace") || (j.rate && j.mean_duration);
    if (!given) {
      complain(path, {"design.missing", "jobs lacks `trace`, or `rate` with `mean_duration`",
                      "one of them says how much work comes",
                      "add `rate: 20 /h` and `mean_duration: 3 h`"});
    }
    if (!j.weights.empty() && j.weights.size() != j.sizes.size()) {
      complain(path + ".weights", {"design.range",
                                   "there are not as many weights as sizes",
                                   {},
                                   "give one weight for each size"});
    }
  }

  void model_or_network(const std::string& name, bool network, const std::string& path) {
    if (name.empty() && d_.places.given(path + ".model")) return;  // given, and refused
    if (name.empty() != network) {
      complain(path,
               {"design.missing",
                network ? "both `model` and `network` are given" : "this workload lacks `model`",
                "it says what is computed",
                network ? "keep one of them" : "add `model: llama-3-8b`, or `network:`"});
    } else if (!name.empty()) {
      model(name, path + ".model");
    }
  }

  void model(const std::string& name, const std::string& path) {
    if (v_.catalog().model(name)) return;
    if (name.ends_with(".json")) {
      local_model(name, path);
      return;
    }
    const auto close = nearest(name, v_.ids(design::Part::model));
    complain(path, {"design.unknown-part", fmt::format("the catalog has no model `{}`", name),
                    "other models are read from the path of their config.json",
                    close ? fmt::format("did you mean `{}`?", *close)
                          : std::string("see `orrery catalog models`")});
  }

  void local_model(const std::string& name, const std::string& path);

  design::Design& d_;
  ValueReader& v_;
  const catalog::ReadFile& read_file_;
  std::vector<std::string> sites_;
  std::vector<std::string> fleets_;
  std::vector<std::string> tiers_;
};

void NameCheck::local_model(const std::string& name, const std::string& path) {
  if (std::ranges::find(d_.local_models, name, &design::LocalModel::path) != d_.local_models.end())
    return;
  const auto text = catalog::named_file(read_file_, name);
  if (!text) return complain(path, no_files(name, "name a model of the catalog"));
  auto shape = *text ? catalog::model_from_config_json(**text, name)
                     : Result<catalog::ModelShape>(std::unexpected(text->error()));
  if (shape) {
    d_.local_models.push_back({name, *std::move(shape)});
    return;
  }
  for (const Diagnostic& fault : shape.error()) {
    complain(path, {"design.model-file", fmt::format("`{}`: {}", name, fault.what), fault.why,
                    fault.fix});
  }
}

}  // namespace

void check_names(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file) {
  NameCheck(design, values, read_file).run();
  check_hours(design, values, read_file);
  check_marking(design, values);
  check_places(design, values);
  check_pipeline(design, values);
  check_reservations(design, values);
  check_cascades(design, values);
  check_slices(design, values);
}

}  // namespace orrery::design_text
