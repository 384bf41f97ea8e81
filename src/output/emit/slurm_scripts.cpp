// The scripts: health checks around jobs, tenants for sacctmgr, one submit script per training run.
// Their text is in data/emit/slurm; this file fills it in.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "output/emit/escape.h"
#include "output/emit/object_store.h"
#include "output/emit/run_terms.h"
#include "output/emit/script.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {
namespace {

using figures::assumptions::kLongestWall;
using figures::assumptions::kShortestWall;
using figures::assumptions::kWallMargin;
constexpr double kSignalMost = 65535;  // limit of Slurm's --signal

struct FleetHealth {
  int gpus = 0;
  std::string vendor = "none";
  std::string devices = "/dev/null";
  bool nvlink = false;
};

FleetHealth health_of(const SlurmPlan& plan, const machine::Fleet& view) {
  const catalog::Accelerator* part = view.accelerator();
  // A trial has stand-in devices and no driver to query.
  if (plan.options.trial || part == nullptr) return {};
  FleetHealth h{.gpus = view.accelerators_per_host, .vendor = "nvidia"};
  h.nvlink = part->scaleup_link.starts_with("NVLink") && view.accelerators_per_host > 1;
  if (part->vendor == "AMD") h.vendor = "amd", h.devices = "/dev/dri/renderD*";
  if (part->vendor == "Intel") h.vendor = "intel", h.devices = "/dev/accel/accel*";
  if (part->vendor == "AWS") h.vendor = "aws", h.devices = "/dev/neuron*";
  if (h.vendor != "nvidia") h.nvlink = false;
  return h;
}

// The longest name comes first: `a-1-07` belongs to fleet `a-1`, although `a-[0-9]*` also matches.
std::vector<Script> fleet_cases(const SlurmPlan& plan) {
  std::vector<HostFleet> order = plan.hosts.fleets.items();
  std::ranges::stable_sort(order, [](const HostFleet& a, const HostFleet& b) {
    return a.name().size() > b.name().size();
  });
  std::vector<Script> cases;
  for (const HostFleet& f : order) {
    const FleetHealth h = health_of(plan, *f.view);
    cases.push_back(Script::from_file("emit/slurm/health.fleet.sh")
                        .word("fleet", f.name())
                        .number("gpus", h.gpus)
                        .word("vendor", h.vendor)
                        .number("nvlink", h.nvlink ? 1 : 0)
                        .word("devices", h.devices));
  }
  return cases;
}

Result<std::vector<std::string>> mounts_of(const SlurmPlan& plan) {
  std::vector<std::string> out;
  Diagnostics faults;
  for (const machine::Tier& tier : plan.review.tiers()) {
    const bool mounts = !tier.per_node && (tier.tier->kind == design::TierKind::parallel_fs ||
                                           tier.tier->kind == design::TierKind::nfs);
    if (!mounts || plan.options.trial) continue;
    const auto name =
        checked_name(tier.label, NameRule::slurm,
                     {"the tier", design::place_of(plan.review.design(), tier.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    out.push_back("/mnt/" + *name);
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

int accelerators_of(const SlurmPlan& plan) {
  int all = 0;
  for (const HostFleet& f : plan.hosts.fleets) all += f.view->accelerators;
  return all;
}

Script tenant_lines(const design::Quota& quota, int all) {
  const int gpus = quota.accelerators.value_or(
      static_cast<int>(std::floor(quota.share.value_or(1) * all + 1e-9)));
  const int share = std::max(1, static_cast<int>(std::lround(100.0 * gpus / std::max(1, all))));
  return Script::from_file("emit/slurm/accounting.tenant.sh")
      .word("tenant", quota.tenant)
      .number("share", share)
      .number("gpus", gpus);
}

Script qos_lines(const design::Qos& q, const std::string& cluster) {
  std::string set = fmt::format("Priority={}", q.priority);
  if (q.max_nodes) set += fmt::format(" GrpTRES=node={}", *q.max_nodes);
  if (q.max_nodes_per_user) set += fmt::format(" MaxTRESPerUser=node={}", *q.max_nodes_per_user);
  if (q.max_jobs_per_user) set += fmt::format(" MaxJobsPerUser={}", *q.max_jobs_per_user);
  if (q.time_limit) set += fmt::format(" MaxWall={}", slurm_time(*q.time_limit));
  std::vector<std::string> words;
  for (const std::string_view word : split(set, ' ')) words.emplace_back(word);
  return Script::from_file("emit/slurm/accounting.qos.sh")
      .word("qos", q.name)
      .words("set", words)
      .word("cluster", cluster);
}

// Returns the preemption lines, which come after all QOS exist.
std::vector<Script> preempt_lines(const std::vector<design::Qos>& all) {
  std::vector<Script> lines;
  for (const design::Qos& q : all) {
    if (q.preempts.empty()) continue;
    lines.push_back(Script::from_text("run modify qos @qos@ set Preempt=@others@\n")
                        .word("qos", q.name)
                        .word("others", fmt::format("{}", fmt::join(q.preempts, ","))));
  }
  return lines;
}

// Returns nullptr if Slurm has no fleet of that name.
const HostFleet* fleet_named(const SlurmPlan& plan, const std::string& name) {
  for (const HostFleet& f : plan.hosts.fleets) {
    if (name.empty() || f.name() == name) return &f;
  }
  return nullptr;
}

// Returns the highest draw of the run's hosts above idle, in kilowatts; 0 if no site counts them.
int kilowatts_of(const SlurmPlan& plan, const review::SiteView& site,
                 const review::TrainView& train, const machine::Fleet& fleet) {
  if (!plan.review.design().scheduler.power_aware || !power_room(site)) return 0;
  for (const review::FleetPower& p : site.fleets) {
    if (p.fleet != &fleet) continue;
    const double nodes = static_cast<double>(train.hosts) * fleet.fleet->count / fleet.hosts;
    return static_cast<int>(std::ceil(facility::rise_of(p.node) * nodes / kilowatts(1)));
  }
  return 0;
}

std::string nodes_of(const review::TrainView& train) {
  const auto& e = train.elastic;
  return e ? fmt::format("{}-{}", e->least * e->unit_hosts, train.hosts)
           : std::to_string(train.hosts);
}

// Fills in what the script requests from Slurm.
void ask(Script& script, const SlurmPlan& plan, const review::TrainView& train,
         const HostFleet& fleet, const SlurmPartitionPlan& partition) {
  const SlurmFleet& shape = plan.fleets[fleet.index];
  const int gpus = fleet.view->accelerators_per_host;
  const int tasks = std::max(1, gpus);
  const int cores = shape.shape.sockets * shape.shape.cores_per_socket;
  Seconds wall = min(kLongestWall, train.run_time * kWallMargin);
  if (partition.time_limit) wall = min(wall, *partition.time_limit);
  wall = max(wall, kShortestWall);
  const Seconds lead = min(time_to_save(train), wall / 2);
  script.word("job", train.label)
      .word("partition", partition.name)
      .word("nodes", nodes_of(train))
      .number("tasks", tasks)
      .number("cpus", std::max(1, cores / tasks))
      .word("time", slurm_time(wall))
      .number("lead", static_cast<int>(std::min(kSignalMost, std::ceil(lead / seconds(1)))));
  std::vector<Script> gres;
  if (!shape.gres.empty() && !shape.gres.front().mig) {
    gres.push_back(Script::from_text("#SBATCH --gres=gpu:@type@:@count@\n")
                       .word("type", shape.gres.front().type)
                       .number("count", gpus));
  }
  script.lines("gres", gres);
  // A run that shrinks continues without a lost node, and its launcher restarts the other
  // processes.
  std::vector<Script> elastic;
  if (train.elastic) elastic.push_back(Script::from_text("#SBATCH --no-kill\n"));
  script.lines("elastic", elastic)
      .lines("launch",
             {Script::from_text(train.elastic ? "srun --no-kill --kill-on-bad-exit=0 -- \"$@\" &\n"
                                              : "srun --kill-on-bad-exit=1 -- \"$@\" &\n")});
  const TreeSwitch* leaf = leaf_of(plan.hosts, fleet.index, partition.hosts.front().from);
  int largest = 0;
  if (leaf) {
    for (const HostRange& r : leaf->hosts) largest += r.count;
  }
  std::vector<Script> switches;
  if (train.hosts <= largest) switches.push_back(Script::from_text("#SBATCH --switches=1\n"));
  script.lines("switches", switches);
  std::vector<Script> qos;
  if (!train.workload->terms.qos.empty()) {
    qos.push_back(
        Script::from_text("#SBATCH --qos=@qos@\n").word("qos", train.workload->terms.qos));
  }
  for (const design::Reservation& r : plan.review.design().scheduler.reservations) {
    const bool is_guest =
        std::ranges::find(r.tenants, train.workload->terms.tenant) != r.tenants.end();
    const HostFleet* of = fleet_named(plan, r.fleet);
    if (!is_guest || of == nullptr || of->view != fleet.view) continue;
    qos.push_back(
        Script::from_text("#SBATCH --reservation=@reservation@\n").word("reservation", r.name));
    break;  // jobs request it
  }
  script.lines("qos", qos);
  std::vector<Script> licenses;
  for (const review::SiteView& site : plan.review.sites) {
    const int kilowatts = kilowatts_of(plan, site, train, *fleet.view);
    if (kilowatts == 0) continue;
    licenses.push_back(Script::from_text("#SBATCH --licenses=@license@:@count@\n")
                           .word("license", power_license(site.index))
                           .number("count", kilowatts));
  }
  script.lines("licenses", licenses);
}

std::vector<Script> variable_lines(const review::TrainView& train) {
  std::vector<Script> lines;
  for (const RunVariable& v : run_variables(train)) {
    lines.push_back(
        Script::from_text("export @name@=@value@\n").word("name", v.name).word("value", v.value));
  }
  return lines;
}

Script reservation_lines(const SlurmPlan& plan, const design::Reservation& r, const HostFleet& f) {
  const int nodes = std::min(r.nodes.value_or(f.in_service) * f.hosts_per_node, f.in_service);
  const std::string hosts =
      hostlist(plan.hosts, {{f.index, f.in_service - nodes + 1, std::max(1, nodes)}});
  std::vector<std::string> words = {
      fmt::format("StartTime=now+{}minutes", std::llround(r.start / minutes(1))),
      fmt::format("Duration={}", std::max(1LL, std::llround(r.duration / minutes(1)))),
      "Nodes=" + hosts};
  std::string period;
  // Guests may start before the reservation, end after it and use nodes outside it. All
  // reservations take the fleet's last nodes, and Slurm refuses two at the same time unless they
  // allow it; maintenance always may overlap.
  std::string flags = r.tenants.empty() ? "MAINT,IGNORE_JOBS" : "FLEX,IGNORE_JOBS,OVERLAP";
  if (r.repeat != design::ReservationPeriod::once) {
    for (const char c : word_of(r.repeat)) period += static_cast<char>(c - 'a' + 'A');
    flags += "," + period;
  }
  words.push_back("Flags=" + flags);
  words.push_back(r.tenants.empty() ? "Users=root"
                                    : fmt::format("Accounts={}", fmt::join(r.tenants, ",")));
  return Script::from_text("make @name@ @words@\n").word("name", r.name).words("words", words);
}

}  // namespace

Result<std::string> reservations_script(const SlurmPlan& plan) {
  const auto& all = plan.review.design().scheduler.reservations;
  if (all.empty()) return std::string();
  Diagnostics faults;
  std::vector<Script> lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto name = checked_name(
        all[i].name, NameRule::slurm,
        {"the reservation", design::place_of(plan.review.design(),
                                             fmt::format("scheduler.reservations[{}].name", i))});
    if (!name) faults.insert(faults.end(), name.error().begin(), name.error().end());
    const HostFleet* fleet = fleet_named(plan, all[i].fleet);
    if (name && fleet) lines.push_back(reservation_lines(plan, all[i], *fleet));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  Script script = Script::from_file("emit/slurm/reservations.sh");
  return script.stamp(plan.source).lines("reservations", lines).text();
}

Result<std::string> accounting_script(const SlurmPlan& plan) {
  const design::Scheduler& s = plan.review.design().scheduler;
  if (s.quotas.empty() && s.qos.empty()) return std::string();
  Diagnostics faults;
  std::vector<Script> qos;
  for (std::size_t i = 0; i < s.qos.size(); ++i) {
    const auto name = checked_name(
        s.qos[i].name, NameRule::slurm,
        {"the QOS",
         design::place_of(plan.review.design(), fmt::format("scheduler.qos[{}].name", i))});
    if (!name) faults.insert(faults.end(), name.error().begin(), name.error().end());
    qos.push_back(qos_lines(s.qos[i], plan.cluster));
  }
  std::vector<Script> tenants;
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const auto name = checked_name(
        s.quotas[i].tenant, NameRule::slurm,
        {"the tenant",
         design::place_of(plan.review.design(), fmt::format("scheduler.quotas[{}].tenant", i))});
    if (!name) faults.insert(faults.end(), name.error().begin(), name.error().end());
    tenants.push_back(tenant_lines(s.quotas[i], accelerators_of(plan)));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  std::vector<Script> preemption;
  // A design that names its own QOS gets no others.
  std::vector<Script> stock;
  if (s.qos.empty()) stock.push_back(Script::from_file("emit/slurm/accounting.stock.sh"));
  if (s.qos.empty() && s.preemption != design::Preemption::none) {
    preemption.push_back(Script::from_file("emit/slurm/accounting.preemption.sh"));
  }
  return Script::from_file("emit/slurm/accounting.sh")
      .stamp(plan.source)
      .word("cluster", plan.cluster)
      .lines("stock", stock)
      .lines("preemption", preemption)
      .lines("qos", qos)
      .lines("preempts", preempt_lines(s.qos))
      .lines("tenants", tenants)
      .text();
}

Result<std::string> health_script(const SlurmPlan& plan) {
  const auto mounts = mounts_of(plan);
  if (!mounts) return std::unexpected(mounts.error());
  return Script::from_file("emit/slurm/health.sh")
      .stamp(plan.source)
      .lines("fleets", fleet_cases(plan))
      .words("mounts", *mounts)
      .text();
}

Result<std::string> hook_script(const SlurmPlan& plan, std::string_view when) {
  Script script = Script::from_file(fmt::format("emit/slurm/{}.sh", when));
  script.stamp(plan.source).word("health", plan.options.conf_dir + "/health.sh");
  if (when != "prolog") return script.text();
  std::vector<Script> mount;
  const auto mounts = mount_script(plan);
  if (!mounts) return std::unexpected(mounts.error());
  if (!mounts->empty()) {
    mount.push_back(Script::from_text("@mount@ || exit 1\n")
                        .word("mount", plan.options.conf_dir + "/mount.sh"));
  }
  return script.lines("mount", mount).text();
}

Result<EmittedFiles> submit_scripts(const SlurmPlan& plan) {
  EmittedFiles files;
  Diagnostics faults;
  for (const review::TrainView& train : plan.review.trains) {
    const auto fleet = std::ranges::find(plan.hosts.fleets, train.fleet, &HostFleet::view);
    if (!train.feasible() || fleet == plan.hosts.fleets.end()) continue;
    const std::string& asked = train.workload->terms.partition;
    const auto partition = std::ranges::find_if(plan.partitions, [&](const SlurmPartitionPlan& p) {
      return !p.preemptible && p.hosts.front().fleet == fleet->index &&
             (asked.empty() || p.name == asked);
    });
    const auto name = checked_name(
        train.label, NameRule::slurm,
        {"the workload", design::place_of(plan.review.design(), train.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    if (partition == plan.partitions.end()) continue;
    Script script = Script::from_file("emit/slurm/submit.sh");
    ask(script, plan, train, *fleet, *partition);
    auto text = script.stamp(plan.source)
                    .remark("step", brief(train.step.step))
                    .remark("run", brief(train.run_time))
                    .remark("useful", significant(train.goodput, 3))
                    .lines("variables", variable_lines(train))
                    .text();
    if (!text) return std::unexpected(std::move(text.error()));
    files.push_back({"submit-" + *name + ".sh", std::move(*text), true});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return files;
}

}  // namespace orrery::emit
