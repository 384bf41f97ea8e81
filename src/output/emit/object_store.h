// An S3 that stands already (`orrery store`, radosgw, MinIO, a cloud), as files: the object tiers
// of a design are its buckets, of their names, and people see them mounted as /mnt/TIER.
//
//   mount.sh             Slurm: run by the prolog on every node; rclone over FUSE
//   object-volumes.yaml  Kubernetes: a volume and a claim for each tenant, by the driver of
//   Mountpoint
//                        for Amazon S3 (s3.csi.aws.com), which takes any endpoint; a tenant has a
//                        prefix of the bucket
// Keys are never written: the node has them in a file, the cluster in the driver's secret. A mount
// is a view of objects, not a file system: a file is written whole and renamed by a copy, so runs
// save through it and do not append.
#pragma once

#include "output/emit/kubernetes_parts.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {

// "emit.object-store" where the address is none that every file can carry.
Diagnostics check_object_store(const std::string& url);

// Empty where no store was named or no tier is one of objects.
Result<std::string> mount_script(const SlurmPlan& plan);
Result<std::string> object_volumes_yaml(const KubePlan& plan);

}  // namespace orrery::emit
