// The configuration files: slurm.conf and what it includes, topology.conf, gres.conf, cgroup.conf.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "model/figures/assumptions.h"
#include "output/emit/slurm_parts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

using figures::assumptions::kPodMemoryShare;
using figures::assumptions::kQuickDetection;
// Default time limit. Slurm's own default is the partition's limit, and backfill cannot fill gaps
// without knowing when jobs end. A day is a guess that users should improve.
constexpr std::string_view kDefaultTime = "1-00:00:00";
// Least SlurmdTimeout in seconds: the time from a node's last answer to DOWN. slurmctld asks every
// third of it, so a dead node is found after 1 to 4/3 of it; it is therefore set to three quarters
// of what the design allows for detection. Below 5 s a single late answer would be enough.
constexpr double kSlurmdTimeoutLeast = 5;
constexpr double kTimeoutOfDetection = 0.75;
// MessageTimeout for fast detection, in seconds. A request to a dead daemon is repeated for
// MessageTimeout (10 s by default), and DOWN comes in the third round of requests. With both
// settings, a job of a killed slurmd runs again within 15 s (tests/recovery_live_test).
constexpr int kMessageTimeoutQuick = 3;

std::string key(std::string_view name, std::string_view value) {
  return fmt::format("{}={}\n", name, value);
}

std::string scheduler_lines(const SlurmPlan& plan) {
  const design::Scheduler& s = plan.review.design().scheduler;
  if (s.backfill == design::Backfill::none) return key("SchedulerType", "sched/builtin");
  // The window must include the end of the longest job, or no place is reserved for a large one.
  Seconds longest = hours(24 * 7);
  for (const SlurmPartitionPlan& p : plan.partitions) {
    if (p.time_limit) longest = max(longest, *p.time_limit);
  }
  std::string parameters = fmt::format("bf_window={},bf_resolution=300,bf_continue",
                                       static_cast<long long>(std::ceil(longest / minutes(1))));
  // EASY reserves a place only for the head of the queue; conservative backfill does so for every
  // job.
  if (s.backfill == design::Backfill::easy) parameters += ",bf_job_part_count_reserve=1";
  // Without it, a wide job of a tenant whose quota is used up waits behind every small one.
  if (!s.quotas.empty()) parameters += ",assoc_limit_stop";
  return key("SchedulerType", "sched/backfill") + key("SchedulerParameters", parameters);
}

// Returns the kilowatts that jobs may draw at a site, above idle; jobs request theirs
// (slurm_scripts.cpp).
std::string power_lines(const SlurmPlan& plan) {
  if (!plan.review.design().scheduler.power_aware) return {};
  std::string licenses;
  for (const review::SiteView& s : plan.review.sites) {
    const std::optional<facility::PowerRoom> room = power_room(s);
    if (!room) continue;
    const double kilowatts_left = std::max(0.0, std::floor(room->left() / kilowatts(1)));
    licenses +=
        fmt::format("{}{}:{}", licenses.empty() ? "" : ",", power_license(s.index), kilowatts_left);
  }
  return licenses.empty() ? "" : key("Licenses", licenses);
}

std::string preemption_lines(const SlurmPlan& plan) {
  const auto& qos = plan.review.design().scheduler.qos;
  const bool by_qos =
      std::ranges::any_of(qos, [](const design::Qos& q) { return !q.preempts.empty(); });
  const std::string_view type = by_qos ? "preempt/qos" : "preempt/partition_prio";
  switch (plan.review.design().scheduler.preemption) {
    case design::Preemption::none:
      return key("PreemptMode", "OFF");
    case design::Preemption::requeue:
      return key("PreemptType", type) + key("PreemptMode", "REQUEUE");
    case design::Preemption::suspend:
      return key("PreemptType", type) + key("PreemptMode", "SUSPEND,GANG");
  }
  return {};
}

// Age and fair share need slurmdbd; without it Slurm reports this and ignores them.
std::string priority_lines(const SlurmPlan& plan) {
  std::string out =
      key("PriorityType", "priority/multifactor") + key("PriorityWeightPartition", "10000");
  if (plan.accounting && !plan.options.trial) {
    const design::Scheduler& s = plan.review.design().scheduler;
    const bool is_classic = s.fair_share_by == catalog::FairShareBy::classic;
    out += key("PriorityWeightAge", "1000") +
           key("PriorityWeightFairshare", s.fair_share ? "100000" : "0") +
           key("PriorityWeightQOS", "100000") + key("PriorityDecayHalfLife", "7-0");
    if (s.fair_share && is_classic) out += key("PriorityFlags", "NO_FAIR_TREE");
  }
  return out;
}

std::string accounting_lines(const SlurmPlan& plan) {
  if (plan.options.trial) {
    return "# A trial has no slurmdbd: quotas of tenants are not enforced.\n" +
           key("AccountingStorageType", "accounting_storage/none") +
           key("JobAcctGatherType", "jobacct_gather/none");
  }
  if (!plan.accounting) {
    return key("AccountingStorageType", "accounting_storage/none") +
           key("JobAcctGatherType", "jobacct_gather/cgroup");
  }
  return "# Tenants and their quotas are in slurmdbd; accounting.sh writes them there.\n" +
         key("AccountingStorageType", "accounting_storage/slurmdbd") +
         key("AccountingStorageHost", plan.options.controller) +
         key("AccountingStorageEnforce", "associations,limits,qos") +
         key("AccountingStorageTRES", "gres/gpu") +
         key("JobAcctGatherType", "jobacct_gather/cgroup");
}

bool memory_is_known(const SlurmPlan& plan) {
  return std::ranges::all_of(plan.fleets,
                             [](const SlurmFleet& f) { return f.shape.memory.has_value(); });
}

long long memory_mib(const HostShape& shape) {
  return static_cast<long long>(*shape.memory * kPodMemoryShare / mib(1));
}

constexpr std::string_view kTimeoutNote =
    R"(# A node that does not answer for SlurmdTimeout is set down and its jobs move; slurmctld asks every
# node three times in that time. A node that only hangs that long also loses its jobs, and with a
# short MessageTimeout a busy slurmctld refuses commands sooner. If that happens, raise both
# (scheduler: { recovery: { detect: 60 s } }).
)";

std::string timeout_lines(const SlurmPlan& plan) {
  const auto detect = plan.review.design().scheduler.recovery.detect;
  const double wanted = detect ? kTimeoutOfDetection * (*detect / seconds(1)) : 0;
  const bool is_quick = !detect || *detect <= kQuickDetection;
  return std::string(kTimeoutNote) +
         (is_quick ? key("MessageTimeout", std::to_string(kMessageTimeoutQuick)) : std::string()) +
         key("SlurmdTimeout",
             std::to_string(static_cast<int>(std::floor(std::max(kSlurmdTimeoutLeast, wanted))))) +
         key("SlurmctldTimeout", "120") + key("KillWait", "30") + key("ReturnToService", "1") +
         key("JobRequeue", "1");
}

std::string gres_text(const SlurmFleet& fleet) {
  std::string out;
  for (const HostGres& g : fleet.gres) {
    out += fmt::format("{}gpu:{}:{}", out.empty() ? "" : ",", g.type, g.count);
  }
  return out;
}

std::string node_line(const SlurmPlan& plan, HostRange hosts, int port, bool spare) {
  const SlurmFleet& fleet = plan.fleets[hosts.fleet];
  const HostShape& shape = fleet.shape;
  std::string line = "NodeName=" + hostlist(plan.hosts, {hosts});
  if (const auto& trial = plan.options.trial) {
    line += fmt::format(" NodeHostname={} NodeAddr=127.0.0.1", trial->host);
    line += hosts.count == 1 ? fmt::format(" Port={}", port)
                             : fmt::format(" Port=[{}-{}]", port, port + hosts.count - 1);
  }
  line += fmt::format(" Sockets={} CoresPerSocket={} ThreadsPerCore=1", shape.sockets,
                      shape.cores_per_socket);
  if (memory_is_known(plan)) line += fmt::format(" RealMemory={}", memory_mib(shape));
  if (!fleet.gres.empty()) line += " Gres=" + gres_text(fleet);
  const bool cloud = plan.options.trial && plan.options.trial->cloud;
  if (spare) return line + " State=DRAIN Reason=spare\n";
  return line + (cloud ? " State=CLOUD\n" : " State=UNKNOWN\n");
}

std::string partition_line(const SlurmPlan& plan, const SlurmPartitionPlan& p) {
  const std::string limit = p.time_limit ? slurm_time(*p.time_limit) : "UNLIMITED";
  const std::string usual =
      p.time_limit && *p.time_limit < days(1) ? limit : std::string(kDefaultTime);
  std::string line = fmt::format(
      "PartitionName={} Nodes={} Default={} MaxTime={} DefaultTime={} PriorityTier={}", p.name,
      hostlist(plan.hosts, p.hosts), p.is_default ? "YES" : "NO", limit, usual, p.tier);
  if (plan.review.design().scheduler.preemption == design::Preemption::none) {
    return line + " State=UP\n";
  }
  const bool suspends = plan.review.design().scheduler.preemption == design::Preemption::suspend;
  line += std::string(" PreemptMode=") + (!p.preemptible ? "OFF"
                                          : suspends     ? "SUSPEND"
                                                         : "REQUEUE");
  return line + " State=UP\n";
}

// Returns the device files of an accelerator by vendor. Other vendors' devices are counted without
// a file.
std::string device_files(const catalog::Accelerator* part, int count) {
  const auto range = [count](std::string_view prefix, int first) {
    return count == 1 ? fmt::format("{}{}", prefix, first)
                      : fmt::format("{}[{}-{}]", prefix, first, first + count - 1);
  };
  const std::string vendor = part ? part->vendor : "";
  if (vendor == "NVIDIA") return range("/dev/nvidia", 0);
  if (vendor == "AMD") return range("/dev/dri/renderD", 128);
  if (vendor == "Intel") return range("/dev/accel/accel", 0);
  if (vendor == "AWS") return range("/dev/neuron", 0);
  return {};
}

std::string gres_lines(const SlurmPlan& plan, const HostFleet& fleet) {
  const std::string nodes = hostlist(plan.hosts, {{fleet.index, 1, fleet.hosts()}});
  const auto& trial = plan.options.trial;
  std::string out;
  int device = 0;
  for (const HostGres& g : plan.fleets[fleet.index].gres) {
    std::string where = fmt::format("Count={}", g.count);
    if (trial) {
      // Slices of a trial are separate devices, so that no two share a file.
      where = fmt::format("File={}/gpu[{}-{}]", trial->dir, device, device + g.count - 1);
      if (g.count == 1) where = fmt::format("File={}/gpu{}", trial->dir, device);
      device += g.count;
    } else if (g.mig) {
      // nvml finds the device files of slices and their capabilities; they differ from node to
      // node.
      return fmt::format("NodeName={} AutoDetect=nvml\n", nodes);
    } else if (const auto files = device_files(fleet.view->accelerator(), g.count);
               !files.empty()) {
      where = "File=" + files;
    }
    out += fmt::format("NodeName={} Name=gpu Type={} {}\n", nodes, g.type, where);
  }
  return out;
}

}  // namespace

std::optional<facility::PowerRoom> power_room(const review::SiteView& site) {
  if (!site.site->power) return std::nullopt;
  facility::PowerRoom room{
      .feed = *site.site->power, .pue = site.pue.middle, .always = site.fabric + site.storage};
  for (const review::FleetPower& p : site.fleets) {
    room.always += p.node.idle * (p.fleet->fleet->count + p.fleet->fleet->spares);
  }
  return room;
}

std::string power_license(design::SiteIndex site) {
  return fmt::format("site{}_kw", site.value() + 1);
}

std::string slurm_conf(const SlurmPlan& plan) {
  const bool any_gres =
      std::ranges::any_of(plan.fleets, [](const SlurmFleet& f) { return !f.gres.empty(); });
  const bool tree = plan.review.design().scheduler.topology != design::PlacementTopology::none;
  std::string out = stamp(plan.source, "#");
  out += key("ClusterName", plan.cluster) + "Include site.conf\n\n";
  out += key("SelectType", "select/cons_tres") +
         key("SelectTypeParameters", memory_is_known(plan) ? "CR_Core_Memory" : "CR_Core");
  if (any_gres) out += key("GresTypes", "gpu");
  out += tree ? key("TopologyPlugin", "topology/tree") : key("TopologyPlugin", "topology/none");
  out += '\n' + scheduler_lines(plan) + preemption_lines(plan) + priority_lines(plan) +
         power_lines(plan);
  out += '\n' + timeout_lines(plan);
  out += key("Prolog", plan.options.conf_dir + "/prolog.sh") +
         key("Epilog", plan.options.conf_dir + "/epilog.sh") + key("PrologFlags", "Alloc");
  out += '\n' + accounting_lines(plan);
  return out + "\nInclude nodes.conf\n";
}

std::string nodes_conf(const SlurmPlan& plan) {
  std::string out = stamp(plan.source, "#");
  int port = plan.options.trial ? plan.options.trial->controller_port + 1 : 0;
  for (const HostFleet& fleet : plan.hosts.fleets) {
    if (plan.fleets[fleet.index].shape.assumed) {
      out +=
          "# Cores are an assumption, 16 per accelerator: correct them with the output of `slurmd "
          "-C`.\n";
    }
    out += node_line(plan, {fleet.index, 1, fleet.in_service}, port, false);
    port += fleet.in_service;
    if (fleet.spares == 0) continue;
    out +=
        "# Spares are drained; `scontrol update nodename=... state=resume` puts one into "
        "service.\n";
    out += node_line(plan, {fleet.index, fleet.in_service + 1, fleet.spares}, port, true);
    port += fleet.spares;
  }
  out += '\n';
  for (const SlurmPartitionPlan& p : plan.partitions) out += partition_line(plan, p);
  return out;
}

std::string site_conf(const SlurmPlan& plan) {
  const SlurmOptions& o = plan.options;
  std::string out = stamp(plan.source, "#");
  if (!o.trial) {
    return out + key("SlurmctldHost", o.controller) + key("SlurmUser", "slurm") +
           key("AuthType", "auth/munge") + key("StateSaveLocation", "/var/spool/slurmctld") +
           key("SlurmdSpoolDir", "/var/spool/slurmd") +
           key("SlurmctldPidFile", "/run/slurmctld.pid") + key("SlurmdPidFile", "/run/slurmd.pid") +
           key("SlurmctldLogFile", "/var/log/slurm/slurmctld.log") +
           key("SlurmdLogFile", "/var/log/slurm/slurmd.log") +
           key("ProctrackType", "proctrack/cgroup") +
           key("TaskPlugin", "task/cgroup,task/affinity") + key("MpiDefault", "none");
  }
  const SlurmTrial& t = *o.trial;
  out += "# A trial on one machine: every daemon runs here, and nodes differ in their ports.\n";
  out += key("SlurmctldHost", t.host + "(127.0.0.1)") +
         key("SlurmctldPort", std::to_string(t.controller_port)) + key("SlurmUser", t.user) +
         key("SlurmdUser", t.user) + key("AuthType", "auth/munge");
  if (!t.munge_socket.empty()) out += key("AuthInfo", "socket=" + t.munge_socket);
  return out + key("StateSaveLocation", t.dir + "/state") +
         key("SlurmdSpoolDir", t.dir + "/spool-%n") +
         key("SlurmctldPidFile", t.dir + "/slurmctld.pid") +
         key("SlurmdPidFile", t.dir + "/slurmd-%n.pid") +
         key("SlurmctldLogFile", t.dir + "/slurmctld.log") +
         key("SlurmdLogFile", t.dir + "/slurmd-%n.log") +
         key("ProctrackType", "proctrack/linuxproc") + key("TaskPlugin", "task/none") +
         key("MpiDefault", "none") + key("MailProg", "/bin/true") +
         key("SlurmdParameters", "config_overrides");
}

std::string topology_conf(const SlurmPlan& plan) {
  std::string out = stamp(plan.source, "#");
  for (const TreeSwitch& s : plan.hosts.tree) {
    if (s.switches.empty()) {
      out += fmt::format("SwitchName={} Nodes={}\n", s.name, hostlist(plan.hosts, s.hosts));
      continue;
    }
    std::string names;
    for (const std::string& name : s.switches) names += (names.empty() ? "" : ",") + name;
    out += fmt::format("SwitchName={} Switches={}\n", s.name, names);
  }
  return out;
}

std::string gres_conf(const SlurmPlan& plan) {
  std::string out = stamp(plan.source, "#");
  for (const HostFleet& fleet : plan.hosts.fleets) out += gres_lines(plan, fleet);
  return out;
}

std::string cgroup_conf(const SlurmPlan& plan) {
  std::string out = stamp(plan.source, "#");
  if (plan.options.trial) return out + key("ConstrainCores", "no") + key("ConstrainDevices", "no");
  out += key("ConstrainCores", "yes") + key("ConstrainDevices", "yes");
  if (memory_is_known(plan)) out += key("ConstrainRAMSpace", "yes");
  return out;
}

}  // namespace orrery::emit
