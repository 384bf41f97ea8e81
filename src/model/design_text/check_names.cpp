#include "model/design_text/check_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/catalog/named_file.h"
#include "model/design/names.h"
#include "model/design/slurm_fleets.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

// Most shards of a Reed-Solomon code over bytes.
constexpr int kMostShards = 255;

class NameCheck {
 public:
  NameCheck(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file)
      : d_(design), v_(values), read_file_(read_file) {
    for (const design::Site& s : d_.sites) sites_.push_back(s.name);
    for (const design::Fleet& f : d_.fleet) fleets_.push_back(f.name);
    for (const design::StorageTier& t : d_.storage) tiers_.emplace_back(t.label());
    // Every node has drives of its own, even if no tier describes them.
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
      complain("scheduler.fair_share_by", {"design.fair-share", "`fair_share` is off",
                                           "without fair share its formula has no effect",
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
      // An empty name was missing and is reported already.
      if (fresh || label.empty()) continue;
      complain(at(list, i) + ".name",
               {"design.duplicate-name", fmt::format("two entries are the {} `{}`", noun, label),
                "other entries refer to it by this name", "give each entry its own `name`"});
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
                          : std::string("add it, or use an existing name")});
  }

  // Returns the partition's fleet; if it names none, Slurm's first, if there is one.
  const design::Fleet* fleet_of(const design::SchedulerPartition& p) const {
    const auto found = std::ranges::find_if(d_.fleet, [&](const design::Fleet& f) {
      return p.fleet.empty() ? design::is_slurms(d_, f) : f.name == p.fleet;
    });
    return found == d_.fleet.end() ? nullptr : &*found;
  }

  void partition(const design::SchedulerPartition& p, const std::string& path) {
    one_of(p.fleet, fleets_, path + ".fleet", "fleet");
    const design::Fleet* own = fleet_of(p);
    if (own == nullptr && !p.fleet.empty()) return;  // reported already
    if (own == nullptr || !design::is_slurms(d_, *own)) {
      return complain(
          path,
          {"design.partition", "partitions exist only in Slurm, and Kubernetes runs this fleet",
           "Kubernetes has no such limit", "use `quotas`, or put the nodes into a separate fleet"});
    }
    if (p.name != own->name && std::ranges::find(fleets_, p.name) != fleets_.end()) {
      complain(path + ".name",
               {"design.partition", fmt::format("`{}` is the name of another fleet", p.name),
                "a fleet without partitions becomes a partition with its own name",
                "choose another name"});
    }
    if (!p.nodes) return;
    // Partitions with a number of nodes do not overlap; they follow each other in the order of the
    // file.
    int taken = 0;
    for (const design::SchedulerPartition& other : d_.scheduler.partitions) {
      if (other.nodes && fleet_of(other) == own) taken += *other.nodes;
      if (&other == &p) break;
    }
    if (taken <= own->count) return;
    complain(path + ".nodes",
             {"design.partition",
              fmt::format("partition `{}` asks for {} nodes of fleet `{}`, but only {} are left",
                          p.name, *p.nodes, own->name, std::max(0, own->count - taken + *p.nodes)),
              "partitions with `nodes` do not overlap",
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
    complain(path,
             {"design.partition",
              fmt::format("partition `{}` has nodes of fleet `{}`, but the workload runs on `{}`",
                          found->name, own->name, fleet),
              {},
              "name a partition of its fleet, or choose another fleet"});
  }

  std::vector<std::string> qos_names() const {
    std::vector<std::string> all;
    for (const design::Qos& q : d_.scheduler.qos) all.push_back(q.name);
    return all;
  }

  void qos(const design::Qos& q, const std::string& path) {
    if (d_.scheduler.kind == design::SchedulerKind::kubernetes) {
      complain(path, {"design.qos", "a QOS exists only in Slurm, and the scheduler is Kubernetes",
                      "Kubernetes has no such limits", "use `priority` and `quotas`"});
    }
    for (const std::string& other : q.preempts) {
      one_of(other, qos_names(), path + ".preempts", "QOS");
    }
    if (!q.preempts.empty() && d_.scheduler.preemption == design::Preemption::none) {
      complain(path + ".preempts",
               {"design.qos", "`preempts` needs preemption, but `preemption` is none",
                "no job would be preempted", "set `preemption: requeue`"});
    }
  }

  // A training run or a service that is ended at its limit and queued again is not modelled.
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
                      "a training run or a service that is ended and queued again is not modelled",
                      "give it a QOS without `time_limit`"});
    }
  }

  void provider(const std::string& name, bool priced, std::string_view path) {
    const auto& known = v_.ids(design::Part::provider);
    if (name.empty() || priced || std::ranges::binary_search(known, name)) return;
    const auto close = nearest(name, known);
    complain(path, {"design.unknown-part",
                    fmt::format("the catalog has no prices for provider `{}`", name),
                    "without them the cost cannot be computed",
                    close ? fmt::format("did you mean `{}`? Otherwise give `price`", *close)
                          : std::string("give `price` as well")});
  }

  void fleet(const design::Fleet& f, const std::string& path) {
    one_of(f.site, sites_, path + ".site", "site");
    if (f.rent) provider(f.rent->provider, f.rent->price.has_value(), path + ".rent.provider");
    const bool described = f.custom && f.custom->accelerators &&
                           (f.custom->accelerator || *f.custom->accelerators == 0);
    // A node that was given but refused is reported already.
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

  // Published Weibull shapes of nodes and parts are between 0.4 and 2; far outside, all nodes would
  // fail at once or in the first second.
  void lifetime(double shape, const std::string& path) {
    constexpr double kLeast = 0.3;
    constexpr double kMost = 5;
    if (shape >= kLeast && shape <= kMost) return;
    complain(path,
             {"design.range", fmt::format("no node has a shape of {}", shape),
              "published shapes of nodes are between 0.4 and 2",
              fmt::format("write a shape from {} to {}; 1 is a constant rate", kLeast, kMost)});
  }

  void links(const design::Fleet& f, const std::string& path) {
    const bool named = f.custom->scale_up.has_value();
    if (f.custom->scale_up_links && !named) {
      complain(path + ".scale_up_links",
               {"design.missing", "`scale_up_links` has no effect without `scale_up`",
                "the accelerator's own link is as in the catalog",
                "add `scale_up: ualink-200`, or leave it out"});
    }
    if (named && resolve_node(f, v_.catalog()).part.accelerators == 0) {
      complain(path + ".scale_up",
               {"design.range", "`scale_up` joins accelerators, and this node has none",
                "it would have no effect", "leave it out"});
    }
  }

  // Checks that a node's mean draw is at most what its power supplies can deliver.
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

  // Erasure codes and cores apply to servers built from the design's own drives.
  void protection(const design::StorageTier& t, const std::string& path) {
    const catalog::StorageDevice* device = v_.catalog().storage_device(t.device);
    const bool is_appliance =
        device != nullptr && form_of(*device) == catalog::DeviceForm::appliance;
    const char* why = t.tier == design::Tier::node_nvme
                          ? "the nodes themselves serve the drives in them"
                      : !t.provider.empty() ? "a rented tier is protected as its provider sells it"
                      : is_appliance        ? "an appliance is protected as its vendor sells it"
                      : t.device.empty()    ? "the usual device of this tier may be an appliance"
                                            : nullptr;
    for (const auto& [key, is_given] : {std::pair{"protection", t.protection.has_value()},
                                        std::pair{"server_cores", t.server_cores.has_value()}}) {
      if (!is_given || why == nullptr) continue;
      complain(path + '.' + key,
               {"design.protection",
                fmt::format("`{}` applies only to servers with drives of their own", key), why,
                t.device.empty() && t.provider.empty() && t.tier != design::Tier::node_nvme
                    ? "name a drive: `device: tlc-gen5`"
                    : "remove it"});
    }
    if (!t.protection) return;
    const design::Protection& p = *t.protection;
    if (p.data + p.parity > kMostShards) {
      complain(path + ".protection",
               {"design.range", fmt::format("this erasure code has {} shards", p.data + p.parity),
                "codes over bytes have at most 255", "write 8 + 2, or 17 + 3"});
      return;
    }
    if (!t.usable) return;
    const double left = static_cast<double>(p.data) / (p.data + p.parity);
    if (*t.usable <= left + 1e-9) return;
    complain(path + ".usable",
             {"design.range",
              fmt::format("`usable` is {}, but {} + {} leaves {}", significant(*t.usable, 3),
                          p.data, p.parity, significant(left, 3)),
              "parity takes its share of the raw capacity first",
              fmt::format("write {} or less", significant(left * 0.8, 2))});
  }

  void wan(const design::WanLink& link, const std::string& path) {
    for (std::size_t i = 0; i < link.between.size(); ++i) {
      one_of(link.between[i], sites_, at(path + ".between", i), "site");
    }
    if (!d_.places.given(path + ".between")) return;  // missing, and reported already
    if (link.between.size() != 2 || link.between[0] == link.between[1]) {
      complain(path + ".between", {"design.range", "a WAN line joins two different sites",
                                   "traffic inside a site uses the site's own networks",
                                   "write between: [one, other] with the names of two sites"});
    }
  }

  void workload(design::Workload& w, const std::string& path) {
    if (!d_.places.given(path)) return;  // of an unknown kind
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
                 {"design.range", "`random_access` applies to training runs only",
                  "batch work reads its input once, from start to end", "leave it out"});
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
                              "each job takes one slice, whose kind is drawn at random",
                              fmt::format("leave `{}` out, or `mig`", key + 1)});
    }
    const auto fleet = w.terms.fleet.empty()
                           ? d_.fleet.begin()
                           : std::ranges::find(d_.fleet, w.terms.fleet, &design::Fleet::name);
    if (fleet == d_.fleet.end()) return;  // reported already
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
    complain(path,
             {"design.unknown-part", fmt::format("`{}` is not a known region or country", place),
              "residency is a region of the catalog, a country such as deu, or eu",
              close ? fmt::format("did you mean `{}`?", *close)
                    : std::string("see `orrery catalog regions`")});
  }

  void train(const design::Train& t, const std::string& path) {
    model_or_network(t.model, t.network.has_value(), path);
    one_of(t.dataset.tier, tiers_, path + ".dataset.tier", "storage tier");
    if (t.dataset.random_access > 0 && t.dataset.format == design::DataFormat::files) {
      complain(path + ".dataset.random_access",
               {"design.range",
                "`random_access` applies to samples in shards, but these are separate files",
                "each file is already read by itself",
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
           "every request is answered in exactly one zone", "let the shares add up to 1"});
    }
    check_service(s, path, d_.places, v_);
  }

  // Reads a CSV that the design names and checks its columns. Returns nothing after a complaint, or
  // if files cannot be read from here, which is a fault only if there is a `way_out`.
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
                      "a trace is used as it is; missing columns are not filled in",
                      fmt::format("its first line must name {}", listed(columns))});
      return std::nullopt;
    }
    return *std::move(table);
  }

  // Uses the mean lengths of a trace of requests if the design gives none.
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
      complain(path, {"design.trace-file", fmt::format("`{}` contains no requests", a.trace),
                      "a request has at least one input and one output token",
                      "add rows with input_tokens and output_tokens"});
      return;
    }
    if (!a.input_tokens) a.input_tokens = in / rows;
    if (!a.output_tokens) a.output_tokens = out / rows;
  }

  void jobs(const design::Jobs& j, const std::string& path) {
    const bool given = d_.places.given(path + ".trace") || (j.rate && j.mean_duration);
    if (!given) {
      complain(path, {"design.missing", "this queue lacks `trace`, or `rate` with `mean_duration`",
                      "one of them says how much work arrives",
                      "add `rate: 20 /h` and `mean_duration: 3 h`"});
    }
    if (!j.weights.empty() && j.weights.size() != j.sizes.size()) {
      complain(path + ".weights", {"design.range",
                                   "the numbers of weights and sizes differ",
                                   {},
                                   "give one weight per size"});
    }
  }

  void model_or_network(const std::string& name, bool network, const std::string& path) {
    if (name.empty() && d_.places.given(path + ".model")) return;  // given but refused
    if (name.empty() != network) {
      complain(path,
               {"design.missing",
                network ? "both `model` and `network` are given" : "this workload lacks `model`",
                "it says what is computed",
                network ? "keep only one of them" : "add `model: llama-3-8b`, or `network:`"});
    } else if (!name.empty()) {
      model(name, path + ".model");
    }
  }

  void model(const std::string& name, const std::string& path) {
    if (v_.catalog().model(name)) return;
    if (name.ends_with(".json")) {
      check_local_model(d_, v_, read_file_, name, path);
      return;
    }
    const auto close = nearest(name, v_.ids(design::Part::model));
    complain(path, {"design.unknown-part", fmt::format("the catalog has no model `{}`", name),
                    "models outside the catalog are read from the path of their config.json",
                    close ? fmt::format("did you mean `{}`?", *close)
                          : std::string("see `orrery catalog models`")});
  }

  design::Design& d_;
  ValueReader& v_;
  const catalog::ReadFile& read_file_;
  std::vector<std::string> sites_;
  std::vector<std::string> fleets_;
  std::vector<std::string> tiers_;
};

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
