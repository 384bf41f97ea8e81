// The files of a Slurm cluster (22.05 and later) for a design: what slurmctld and slurmd start
// from.
//
//   slurm.conf        policy: scheduler, preemption, timeouts; includes the next two
//   nodes.conf        hosts with cores, memory and GPUs (spares stand by drained), partitions
//   site.conf         host, ports, folders, authentication: the part that a site may own
//   topology.conf     the tree of emit/hosts.h
//   gres.conf         device files of the GPUs, or MIG slices by profile
//   cgroup.conf       what jobs are held to
//   accounting.sh     tenants, quotas and QOS for sacctmgr; needs slurmdbd
//   health.sh, prolog.sh, epilog.sh   checks around every job; a failed one drains the node
//   mount.sh          the object tiers as folders, where an object store is named
//   submit-NAME.sh    one a training run: planned nodes, wall time, checkpoint interval, signal
//
// The files are made from the review, so the interval in submit-NAME.sh is the one the plan chose.
#pragma once

#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "plan/review/stages.h"

namespace orrery::emit {

// All daemons on one machine, to try the files before a cluster exists: nodes differ by port only,
// GPUs are stand-in files DIR/gpu0.., processes are not confined. Policy, tree, GPUs, partitions
// and scripts are those of the real files.
struct SlurmTrial {
  std::string host = "localhost";
  std::string dir;             // state, spool, logs and the stand-in devices
  std::string munge_socket;    // empty: munge's own
  std::string user = "root";   // that runs the daemons
  int controller_port = 6817;  // nodes follow it, one port each
  bool cloud = false;          // nodes without a daemon, for `sbatch --test-only`
};

struct SlurmOptions {
  std::string controller = "slurm-controller";  // host of slurmctld
  std::string conf_dir = "/etc/slurm";          // where the files will lie
  std::string object_store = {};                // its address; empty: nothing is mounted
  std::optional<SlurmTrial> trial;
};

Result<EmittedFiles> emit_slurm(const review::Review& review, const EmitSource& source,
                                const SlurmOptions& options = {});

}  // namespace orrery::emit
