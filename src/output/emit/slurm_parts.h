// The pieces of emit_slurm: what its files are written from, and one function per file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/facility/power_admission.h"
#include "output/emit/host_shape.h"
#include "output/emit/hosts.h"
#include "output/emit/slurm.h"

namespace orrery::emit {

// GPUs of one kind on a host: "gpu:h100-sxm:8", or a MIG profile's slices on all of its GPUs.
struct HostGres {
  std::string type;
  int count = 0;
  bool mig = false;
};

struct SlurmFleet {
  HostShape shape;
  std::vector<HostGres> gres;
};

struct SlurmPartitionPlan {
  std::string name;
  std::vector<HostRange> hosts;
  std::optional<Seconds> time_limit;
  bool is_default = false;
  int tier = 1;  // PriorityTier
  bool preemptible = false;
};

struct SlurmPlan {
  const review::Review& review;
  const EmitSource& source;
  const SlurmOptions& options;
  Hosts hosts;
  IndexedVector<HostFleetIndex, SlurmFleet> fleets;
  std::vector<SlurmPartitionPlan> partitions;
  std::string cluster;      // ClusterName
  bool accounting = false;  // quotas or fair share require slurmdbd
};

std::string slurm_conf(const SlurmPlan& plan);
std::string nodes_conf(const SlurmPlan& plan);
std::string site_conf(const SlurmPlan& plan);
std::string topology_conf(const SlurmPlan& plan);
std::string gres_conf(const SlurmPlan& plan);
std::string cgroup_conf(const SlurmPlan& plan);
// Empty if the design has no tenants.
Result<std::string> accounting_script(const SlurmPlan& plan);
// Empty if the design has no reservations.
Result<std::string> reservations_script(const SlurmPlan& plan);
Result<std::string> health_script(const SlurmPlan& plan);
// `when` is "prolog" or "epilog".
Result<std::string> hook_script(const SlurmPlan& plan, std::string_view when);
Result<EmittedFiles> submit_scripts(const SlurmPlan& plan);

// Returns the power that jobs may draw at a site; none if the site's power is not given.
std::optional<facility::PowerRoom> power_room(const review::SiteView& site);
// Returns the name of the license that represents one kilowatt of the site.
std::string power_license(design::SiteIndex site);

// Returns "1-04:30:00" for Slurm's time limits, rounded up to a minute.
std::string slurm_time(Seconds t);

}  // namespace orrery::emit
