// A running S3 service (`orrery store`, radosgw, MinIO, a cloud) as files. The object tiers of a
// design are buckets of the same names, mounted for users as /mnt/TIER.
//
//   mount.sh             Slurm: the prolog runs it on every node; rclone over FUSE
//   object-volumes.yaml  Kubernetes: a volume and a claim for each tenant, by the driver of
//                        Mountpoint for Amazon S3 (s3.csi.aws.com), which accepts any endpoint;
//                        a tenant has a prefix of the bucket
//
// Keys are never written: the node has them in a file, the cluster in the driver's secret. A mount
// is a view of objects, not a file system: files are written whole and renamed by copying, so runs
// can save through it but not append.
#pragma once

#include "output/emit/kubernetes_parts.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {

// Returns "emit.object-store" if not every file can contain the address.
Diagnostics check_object_store(const std::string& url);

// Empty if no store was named or no tier has objects.
Result<std::string> mount_script(const SlurmPlan& plan);
Result<std::string> object_volumes_yaml(const KubePlan& plan);

}  // namespace orrery::emit
