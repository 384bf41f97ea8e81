#include "output/emit/slurm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/machine/partitions.h"
#include "output/emit/escape.h"
#include "output/emit/object_store.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {
namespace {

Result<std::vector<HostGres>> gres_of(const review::Review& review, const HostFleet& fleet) {
  const machine::Fleet& view = *fleet.view;
  std::vector<HostGres> out;
  if (view.accelerators_per_host == 0) return out;
  if (view.fleet->mig.empty()) {
    const std::string type = view.accelerator() ? view.accelerator()->id : "gpu";
    out.push_back({type, view.accelerators_per_host, false});
    return out;
  }
  Diagnostics faults;
  for (const design::MigSlices& slices : view.fleet->mig) {
    const auto name =
        checked_name(slices.profile, NameRule::slurm,
                     {"the MIG profile", design::place_of(review.design(), view.path + ".mig")});
    if (!name) gather(faults, name.error());
    out.push_back({slices.profile, slices.count * view.accelerators_per_host, true});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

// Assigns hosts to partitions; a fleet that no partition divides becomes one of its own name.
// Spares belong to all: a spare that is called in serves any run that lost a host.
class PartitionPlanner {
 public:
  explicit PartitionPlanner(SlurmPlan& plan) : plan_(plan) {}

  Diagnostics run() {
    const auto& wanted = plan_.review.design().scheduler.partitions;
    for (std::size_t i = 0; i < wanted.size(); ++i) add(wanted[i], i);
    for (const HostFleet& fleet : plan_.hosts.fleets) {
      if (!parts_of(fleet).empty()) continue;
      push(fleet.name(), {{fleet.index, 1, fleet.hosts()}}, std::nullopt);
    }
    return std::move(faults_);
  }

 private:
  std::vector<machine::FleetPartition> parts_of(const HostFleet& fleet) const {
    return machine::partitions_of(plan_.review.design(), plan_.review.fleets(), *fleet.view);
  }

  void add(const design::SchedulerPartition& p, std::size_t index) {
    const Place place = design::place_of(plan_.review.design(),
                                         fmt::format("scheduler.partitions[{}].name", index));
    const auto name = checked_name(p.name, NameRule::slurm, {"the partition", place});
    if (!name) return gather(faults_, name.error());
    for (const HostFleet& fleet : plan_.hosts.fleets) {
      for (const machine::FleetPartition& part : parts_of(fleet)) {
        if (part.partition == &p) push(p.name, ranges_of(part, fleet), p.time_limit);
      }
    }
  }

  static std::vector<HostRange> ranges_of(const machine::FleetPartition& part,
                                          const HostFleet& fleet) {
    HostRange own{fleet.index, part.first + 1, part.hosts};
    if (part.first + part.hosts == fleet.in_service) own.count += fleet.spares;
    std::vector<HostRange> ranges = {own};
    const bool is_apart = part.first + part.hosts < fleet.in_service && fleet.spares > 0;
    if (is_apart) ranges.push_back({fleet.index, fleet.in_service + 1, fleet.spares});
    return ranges;
  }

  // With preemption every partition gets a second one over the same hosts, whose jobs give way to
  // the first's.
  void push(const std::string& name, const std::vector<HostRange>& hosts,
            std::optional<Seconds> limit) {
    constexpr int kFirst = 10;
    constexpr int kYielding = 1;
    const bool preempts = plan_.review.design().scheduler.preemption != design::Preemption::none;
    plan_.partitions.push_back({.name = name,
                                .hosts = hosts,
                                .time_limit = limit,
                                .is_default = plan_.partitions.empty(),
                                .tier = kFirst});
    if (!preempts) return;
    plan_.partitions.push_back({.name = name + "-preemptible",
                                .hosts = hosts,
                                .time_limit = limit,
                                .tier = kYielding,
                                .preemptible = true});
  }

  SlurmPlan& plan_;
  Diagnostics faults_;
};

std::unexpected<Diagnostics> not_slurm(const design::Design& design) {
  return fail({.code = "emit.scheduler",
               .place = design::place_of(design, "scheduler.kind"),
               .what = "the design assigns no fleet to Slurm",
               .why = "scheduler.kind is kubernetes, or no fleet has `partition: slurm`",
               .fix = "set scheduler.kind to slurm or both, or emit kubernetes"});
}

Result<SlurmPlan> plan_of(const review::Review& review, const EmitSource& source,
                          const SlurmOptions& options) {
  auto hosts = hosts_of(review, HostsOf::slurm);
  if (!hosts) return std::unexpected(std::move(hosts.error()));
  if (hosts->fleets.empty()) return not_slurm(review.design());
  SlurmPlan plan{.review = review, .source = source, .options = options};
  plan.hosts = std::move(*hosts);
  Diagnostics faults;
  const auto cluster = checked_name(review.design().name, NameRule::slurm,
                                    {"the cluster", design::place_of(review.design(), "name")});
  if (cluster) {
    plan.cluster = lowered(*cluster);
  } else {
    gather(faults, cluster.error());
  }
  for (const HostFleet& fleet : plan.hosts.fleets) {
    auto gres = gres_of(review, fleet);
    if (!gres) gather(faults, gres.error());
    plan.fleets.push_back({host_shape(fleet), gres.value_or(std::vector<HostGres>())});
  }
  gather(faults, PartitionPlanner(plan).run());
  const design::Scheduler& scheduler = review.design().scheduler;
  plan.accounting = scheduler.fair_share || !scheduler.quotas.empty() || !scheduler.qos.empty();
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return plan;
}

// Checks folders and hosts from the command line, because they become lines of conf files and
// scripts.
Diagnostics check_options(const SlurmOptions& o) {
  Diagnostics faults;
  const auto check = [&faults](std::string_view option, const std::string& value) {
    const bool plain = std::ranges::all_of(value, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             std::string_view("/._-").contains(c);
    });
    if (plain && value.find("..") == std::string::npos) return;
    faults.push_back({.code = "emit.option",
                      .what = fmt::format("{} {} cannot be written into slurm.conf", option,
                                          comment_text(value, 40)),
                      .why = "a blank or a special character there would end the value",
                      .fix = "use letters, digits, `/`, `.`, `_` and `-`"});
  };
  check("the controller's name", o.controller);
  check("the folder", o.conf_dir);
  gather(faults, check_object_store(o.object_store));
  if (!o.trial) return faults;
  check("the trial's host", o.trial->host);
  check("the trial's folder", o.trial->dir);
  check("the munge socket", o.trial->munge_socket);
  check("the user", o.trial->user);
  return faults;
}

}  // namespace

std::string slurm_time(Seconds t) {
  const auto whole = static_cast<long long>(std::ceil(t / minutes(1)));
  return fmt::format("{}-{:02}:{:02}:00", whole / 1440, whole / 60 % 24, whole % 60);
}

Result<EmittedFiles> emit_slurm(const review::Review& review, const EmitSource& source,
                                const SlurmOptions& options) {
  if (Diagnostics faults = check_options(options); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  const auto plan = plan_of(review, source, options);
  if (!plan) return std::unexpected(plan.error());
  EmittedFiles files = {
      {"cgroup.conf", cgroup_conf(*plan)}, {"gres.conf", gres_conf(*plan)},
      {"nodes.conf", nodes_conf(*plan)},   {"site.conf", site_conf(*plan)},
      {"slurm.conf", slurm_conf(*plan)},   {"topology.conf", topology_conf(*plan)}};
  Diagnostics faults;
  const auto add = [&](std::string path, Result<std::string> text) {
    if (!text) return gather(faults, text.error());
    if (!text->empty()) files.push_back({std::move(path), std::move(*text), true});
  };
  add("accounting.sh", accounting_script(*plan));
  add("epilog.sh", hook_script(*plan, "epilog"));
  add("health.sh", health_script(*plan));
  add("mount.sh", mount_script(*plan));
  add("prolog.sh", hook_script(*plan, "prolog"));
  add("reservations.sh", reservations_script(*plan));
  const auto submits = submit_scripts(*plan);
  if (!submits) gather(faults, submits.error());
  if (!faults.empty()) return std::unexpected(std::move(faults));
  files.insert(files.end(), submits->begin(), submits->end());
  std::ranges::sort(files, {}, &EmittedFile::path);
  return files;
}

}  // namespace orrery::emit
