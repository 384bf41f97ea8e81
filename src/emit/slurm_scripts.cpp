// The scripts: health checks around jobs, tenants for sacctmgr, one submit script a training run.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "emit/escape.h"
#include "emit/run_terms.h"
#include "emit/slurm_parts.h"
#include "emit/stamp.h"

namespace orrery {
namespace {

// A run longer than this is cut into pieces that requeue themselves: a job that holds its nodes for
// weeks keeps maintenance out.
constexpr Seconds kLongestWall = hours(24 * 7);
constexpr double kSignalMost = 65535;  // Slurm's limit of --signal

// The checks, for bash. What differs between fleets is set by the `case` that precedes it.
constexpr std::string_view kHealthBody = R"sh(
faults=0
fault() {
  faults=$((faults + 1))
  printf '%s: %s\n' "$node" "$1" >&2
  logger -t orrery-health -- "$node: $1" 2>/dev/null
}

# A driver that hangs is a fault, not a reason to hang with it.
smi() { timeout 30 nvidia-smi "$@"; }

check_gpus() {
  [ "$gpus" -gt 0 ] || return
  if [ "$vendor" != nvidia ]; then
    local found
    found=$(ls $devices 2>/dev/null | wc -l)
    [ "$found" -eq "$gpus" ] || fault "$found of $gpus accelerators are there"
    return
  fi
  local list
  if ! list=$(smi --query-gpu=index,ecc.errors.uncorrected.volatile.total \
                  --format=csv,noheader,nounits); then
    fault "nvidia-smi failed"
    return
  fi
  local found
  found=$(printf '%s\n' "$list" | grep -c '^[0-9]')
  [ "$found" -eq "$gpus" ] || fault "$found of $gpus GPUs answer"
  while IFS=, read -r index errors; do
    errors=${errors//[^0-9]/}
    [ "${errors:-0}" -eq 0 ] || fault "GPU $index has $errors uncorrected memory errors"
  done <<<"$list"
}

check_remapped_rows() {
  [ "$vendor" = nvidia ] && [ "$gpus" -gt 0 ] || return
  local bus pending failure
  while IFS=, read -r bus pending failure; do
    case "${pending// /}" in Yes | 1) fault "GPU $bus waits for a reset to remap a row" ;; esac
    case "${failure// /}" in Yes | 1) fault "GPU $bus has no spare row left" ;; esac
  done < <(smi --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure \
               --format=csv,noheader 2>/dev/null)
}

# Uncorrected memory, row remap failure, NVLink, fallen off the bus, uncontained memory error: the
# codes after which a GPU is not to be trusted. Others are the program's fault.
check_xid() {
  [ "$vendor" = nvidia ] && [ "$gpus" -gt 0 ] || return
  local line
  line=$(journalctl -k -q --no-pager --since=-1h 2>/dev/null |
         grep -E 'NVRM: Xid \(.*\): (48|64|74|79|95),' | tail -n 1)
  [ -z "$line" ] || fault "fatal XID: ${line##*NVRM: }"
}

check_nvlink() {
  [ "$nvlink" -eq 1 ] || return
  local down
  down=$(smi nvlink --status 2>/dev/null | grep -ci inactive)
  [ "$down" -eq 0 ] || fault "$down NVLinks are inactive"
}

check_disks() {
  local path used
  for path in "${disks[@]}"; do
    used=$(df -P -- "$path" 2>/dev/null | awk 'NR == 2 { sub("%", "", $5); print $5 }')
    [ -n "$used" ] || { fault "$path cannot be read"; continue; }
    [ "$used" -lt "$disk_percent_max" ] || fault "$path is $used % full"
  done
}

check_mounts() {
  local path
  for path in "${mounts[@]}"; do
    timeout 10 mountpoint -q -- "$path" || fault "$path is not mounted, or hangs"
  done
}

check_gpus
check_remapped_rows
check_xid
check_nvlink
check_disks
check_mounts
[ "$faults" -eq 0 ]
)sh";

constexpr std::string_view kSubmitBody = R"sh(
if [ $# -eq 0 ]; then
  echo "usage: sbatch $(basename -- "$0") COMMAND [ARGUMENT ...]" >&2
  exit 2
fi

# Near the end of the wall time Slurm signals this shell. The ranks get the signal from srun, save
# and leave; then the job goes back into the queue and reads what it saved.
asked=0
ask_to_save() {
  asked=1
  kill -USR1 "$ranks" 2>/dev/null
}
trap ask_to_save USR1

srun --kill-on-bad-exit=1 -- "$@" &
ranks=$!
status=0
while :; do
  wait "$ranks"
  status=$?
  kill -0 "$ranks" 2>/dev/null || break
done
if [ "$asked" -eq 1 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
)sh";

std::string opening(const SlurmPlan& plan) { return "#!/bin/bash\n" + stamp(plan.source, "#"); }

struct FleetHealth {
  int gpus = 0;
  std::string vendor = "none";
  std::string devices = "/dev/null";
  bool nvlink = false;
};

FleetHealth health_of(const SlurmPlan& plan, std::size_t f) {
  const Fleet& view = *plan.hosts.fleets[f].view;
  const Accelerator* part = view.accelerator();
  // A trial has stand-in devices and no driver to ask.
  if (plan.options.trial || part == nullptr) return {};
  FleetHealth h{.gpus = view.accelerators_per_host, .vendor = "nvidia"};
  h.nvlink = part->scaleup_link.starts_with("NVLink") && view.accelerators_per_host > 1;
  if (part->vendor == "AMD") h.vendor = "amd", h.devices = "/dev/dri/renderD*";
  if (part->vendor == "Intel") h.vendor = "intel", h.devices = "/dev/accel/accel*";
  if (part->vendor == "AWS") h.vendor = "aws", h.devices = "/dev/neuron*";
  if (h.vendor != "nvidia") h.nvlink = false;
  return h;
}

// The longest name first: `a-1-07` is of fleet `a-1`, though `a-[0-9]*` takes it too.
std::string fleet_cases(const SlurmPlan& plan) {
  std::vector<std::size_t> order;
  for (std::size_t f = 0; f < plan.hosts.fleets.size(); ++f) order.push_back(f);
  std::ranges::stable_sort(order, [&plan](std::size_t a, std::size_t b) {
    return plan.hosts.fleets[a].name().size() > plan.hosts.fleets[b].name().size();
  });
  std::string out = "case \"$node\" in\n";
  for (const std::size_t f : order) {
    const FleetHealth h = health_of(plan, f);
    out += fmt::format("  {}-[0-9]*) gpus={} vendor={} nvlink={} devices={} ;;\n",
                       plan.hosts.fleets[f].name(), h.gpus, h.vendor, h.nvlink ? 1 : 0,
                       shell_word(h.devices));
  }
  return out + "  *) echo \"$node is no host of this cluster\" >&2; exit 1 ;;\nesac\n";
}

Result<std::string> mount_words(const SlurmPlan& plan) {
  std::string out;
  Diagnostics faults;
  for (const Tier& tier : plan.review.tiers()) {
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
    out += (out.empty() ? "" : " ") + shell_word("/mnt/" + *name);
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

int accelerators_of(const SlurmPlan& plan) {
  int all = 0;
  for (const HostFleet& f : plan.hosts.fleets) all += f.view->accelerators;
  return all;
}

std::string account_lines(const design::Quota& quota, int all) {
  const int gpus = quota.accelerators.value_or(
      static_cast<int>(std::floor(quota.share.value_or(1) * all + 1e-9)));
  const int share = std::max(1, static_cast<int>(std::lround(100.0 * gpus / std::max(1, all))));
  return fmt::format(
      "ensure account {0} Description={0} Organization={0}\n"
      "run modify account {0} set Fairshare={1} GrpTRES=gres/gpu={2}\n",
      quota.tenant, share, gpus);
}

std::string sbatch_lines(const SlurmPlan& plan, const TrainView& train, const HostFleet& fleet,
                         const SlurmPartitionPlan& partition) {
  const auto f = static_cast<std::size_t>(&fleet - plan.hosts.fleets.data());
  const SlurmFleet& shape = plan.fleets[f];
  const int gpus = fleet.view->accelerators_per_host;
  const int tasks = std::max(1, gpus);
  const int cores = shape.shape.sockets * shape.shape.cores_per_socket;
  Seconds wall = min(kLongestWall, train.run_time * 1.1);
  if (partition.time_limit) wall = min(wall, *partition.time_limit);
  wall = max(wall, minutes(10));
  const Seconds lead = min(time_to_save(train), wall / 2);
  std::string out;
  const auto option = [&out](std::string_view text) { out += fmt::format("#SBATCH {}\n", text); };
  option(fmt::format("--job-name={}", train.label));
  option(fmt::format("--partition={}", partition.name));
  option(fmt::format("--nodes={}", train.hosts));
  option(fmt::format("--ntasks-per-node={}", tasks));
  option(fmt::format("--cpus-per-task={}", std::max(1, cores / tasks)));
  if (!shape.gres.empty() && !shape.gres.front().mig) {
    option(fmt::format("--gres=gpu:{}:{}", shape.gres.front().type, gpus));
  }
  option("--exclusive");
  option(fmt::format("--time={}", slurm_time(wall)));
  option(fmt::format("--signal=B:USR1@{}",
                     static_cast<int>(std::min(kSignalMost, std::ceil(lead / seconds(1))))));
  option("--requeue");
  option("--open-mode=append");
  const TreeSwitch* leaf = leaf_of(plan.hosts, f, partition.hosts.front().from);
  int largest = 0;
  if (leaf) {
    for (const HostRange& r : leaf->hosts) largest += r.count;
  }
  if (train.hosts <= largest) option("--switches=1");
  return out;
}

std::string environment_lines(const TrainView& train) {
  std::string out;
  for (const RunVariable& v : run_variables(train)) {
    out += fmt::format("export {}={}\n", v.name, shell_word(v.value));
  }
  return out;
}

}  // namespace

Result<std::string> accounting_script(const SlurmPlan& plan) {
  const design::Scheduler& s = plan.review.design().scheduler;
  if (s.quotas.empty()) return std::string();
  Diagnostics faults;
  std::string accounts;
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const auto name = checked_name(
        s.quotas[i].tenant, NameRule::slurm,
        {"the tenant",
         design::place_of(plan.review.design(), fmt::format("scheduler.quotas[{}].tenant", i))});
    if (!name) faults.insert(faults.end(), name.error().begin(), name.error().end());
    accounts += account_lines(s.quotas[i], accelerators_of(plan));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  std::string out = opening(plan);
  out +=
      "# Tenants, their quotas and the qualities of service, in slurmdbd. Run it once slurmdbd\n"
      "# is up, and again after a change: what is there is only brought up to date.\n"
      "set -u\n"
      "run() { sacctmgr --immediate \"$@\" || echo \"sacctmgr $* failed\" >&2; }\n"
      "# Adding what is there says \"nothing new\" and fails, which is no fault here.\n"
      "ensure() { sacctmgr --immediate add \"$@\" >/dev/null 2>&1; true; }\n\n";
  out += fmt::format("ensure cluster {}\n", plan.cluster);
  out +=
      "ensure qos high\nrun modify qos high set Priority=100\n"
      "ensure qos normal\nrun modify qos normal set Priority=50\n";
  if (s.preemption != design::Preemption::none) {
    out +=
        "ensure qos preemptible\nrun modify qos preemptible set Priority=0 "
        "PreemptMode=requeue\n"
        "run modify qos high set Preempt=preemptible\n"
        "run modify qos normal set Preempt=preemptible\n";
  }
  return out + accounts;
}

Result<std::string> health_script(const SlurmPlan& plan) {
  const auto mounts = mount_words(plan);
  if (!mounts) return std::unexpected(mounts.error());
  std::string out = opening(plan);
  out +=
      "# Is this node fit for a job? Exit 0: yes. Otherwise each fault is a line on stderr and\n"
      "# in the log. prolog.sh and epilog.sh run it around every job, and Slurm drains the node\n"
      "# when it fails. Try it by hand: SLURMD_NODENAME=NODE health.sh\n"
      "set -u\n"
      "PATH=${PATH:-}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin  # Slurm gives hooks none\n"
      "node=${SLURMD_NODENAME:-$(hostname -s)}\n";
  out += fleet_cases(plan);
  out += fmt::format("disks=(/ /tmp)\ndisk_percent_max=95\nmounts=({})\n", *mounts);
  return out + std::string(kHealthBody);
}

std::string hook_script(const SlurmPlan& plan, std::string_view when) {
  const std::string_view effect = when == "prolog"
                                      ? "the node is drained and the job goes back to the queue"
                                      : "the node is drained before the next job";
  return opening(plan) + fmt::format(
                             "# Slurm's {}, as root on each node of a job. When it fails, {}.\n"
                             "exec {}\n",
                             when, effect, shell_word(plan.options.conf_dir + "/health.sh"));
}

Result<EmittedFiles> submit_scripts(const SlurmPlan& plan) {
  EmittedFiles files;
  Diagnostics faults;
  for (const TrainView& train : plan.review.trains) {
    const auto fleet = std::ranges::find(plan.hosts.fleets, train.fleet, &HostFleet::view);
    if (!train.feasible() || fleet == plan.hosts.fleets.end()) continue;
    const auto f = static_cast<std::size_t>(fleet - plan.hosts.fleets.begin());
    const auto partition = std::ranges::find_if(plan.partitions, [f](const SlurmPartitionPlan& p) {
      return !p.preemptible && p.hosts.front().fleet == f;
    });
    const auto name = checked_name(
        train.label, NameRule::slurm,
        {"the workload", design::place_of(plan.review.design(), train.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    if (partition == plan.partitions.end()) continue;
    std::string text = opening(plan) + sbatch_lines(plan, train, *fleet, *partition);
    text +=
        fmt::format("# Planned: {} a step, {} in all, {} of the wall time useful.\n",
                    brief(train.step.step), brief(train.run_time), significant(train.goodput, 3));
    text += environment_lines(train) + std::string(kSubmitBody);
    files.push_back({"submit-" + *name + ".sh", std::move(text), true});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return files;
}

}  // namespace orrery
