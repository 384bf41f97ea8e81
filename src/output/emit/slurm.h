// The files of a Slurm cluster (22.05 and later) for a design: the configuration of slurmctld
// and slurmd.
//
//   slurm.conf        policy: scheduler, preemption, timeouts; includes the next two
//   nodes.conf        hosts with cores, memory and GPUs (spares are drained), partitions
//   site.conf         host, ports, folders, authentication: the part that a site may change
//   topology.conf     the tree of emit/hosts.h
//   gres.conf         device files of the GPUs, or MIG slices by profile
//   cgroup.conf       limits that jobs are confined to
//   accounting.sh     tenants, quotas and QOS for sacctmgr; needs slurmdbd
//   health.sh, prolog.sh, epilog.sh   checks around every job; a failed one drains the node
//   mount.sh          the object tiers as folders, if an object store is named
//   submit-NAME.sh    one per training run: planned nodes, wall time, checkpoint interval, signal
//
// The files are made from the review, so the interval in submit-NAME.sh is the planned one.
#pragma once

#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "plan/review/stages.h"

namespace orrery::emit {

// All daemons on one machine, to try the files before a cluster exists. Nodes differ only in their
// port, GPUs are stand-in files DIR/gpu0.., and processes are not confined. Policy, tree, GPUs,
// partitions and scripts are those of the real files.
struct SlurmTrial {
  std::string host = "localhost";
  std::string dir;             // folder for state, spool, logs and the stand-in devices
  std::string munge_socket;    // empty: munge's own
  std::string user = "root";   // runs the daemons
  int controller_port = 6817;  // nodes use the ports after it, one each
  bool cloud = false;          // nodes without a daemon, for `sbatch --test-only`
};

struct SlurmOptions {
  std::string controller = "slurm-controller";  // host of slurmctld
  std::string conf_dir = "/etc/slurm";          // folder of the files on the machines
  std::string object_store = {};                // its address; empty: nothing is mounted
  std::optional<SlurmTrial> trial;
};

Result<EmittedFiles> emit_slurm(const review::Review& review, const EmitSource& source,
                                const SlurmOptions& options = {});

}  // namespace orrery::emit
