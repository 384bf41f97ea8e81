// The objects of a Kubernetes cluster for a design, as files for `kubectl apply` and Helm.
//
//   queues.yaml     Kueue: topology, resource flavors, one cluster queue per tenant in one cohort,
//                   local queues, priorities
//   devices.yaml    dynamic resource allocation: device classes and claim templates that select by
//                   attribute (memory, NVLink domain) instead of product name
//   mig.yaml        slices of the GPUs, for the MIG manager (mig-parted)
//   storage.yaml    a storage class and a claim for each tier that a pod can mount
//   buckets.yaml    one bucket per tenant on each object store (COSI)
//   object-volumes.yaml   object tiers as volumes, if an object store is named
//   job-NAME.yaml   a JobSet for each training run with the planned layout and checkpoint interval,
//                   or a RayJob if requested
//   service-NAME.yaml   for each service a Deployment of the planned replicas, a Service, an
//                   autoscaler from the mean traffic's replicas to the peak's, a disruption budget
//   isolation.yaml  a NetworkPolicy for each tenant that must be isolated
//   gpu-operator-values.yaml   Helm values of the NVIDIA GPU operator
//
// Every object is read back and checked against facts about the published schemas (data/emit/
// kubernetes/): required fields, types, closed sets. What the facts do not cover is listed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "plan/review/stages.h"

namespace orrery::emit {

struct KubernetesOptions {
  bool ray = false;               // write runs as RayJobs (KubeRay) instead of JobSets
  std::string object_store = {};  // its address; empty: none of its buckets is mounted
};
Result<EmittedFiles> emit_kubernetes(const review::Review& review, const EmitSource& source,
                                     const KubernetesOptions& options = {});

// What a check covered, for people: "Job v1 batch: 12 fields checked, 2 not known".
struct KindCheck {
  std::string file;
  std::string kind;         // "ClusterQueue"
  std::string api_version;  // "kueue.x-k8s.io/v1beta1"
  int fields_checked = 0;
  std::vector<std::string> unchecked;  // paths that the facts do not cover
  bool known = false;                  // true if the facts include this kind
};
struct KubernetesCheck {
  std::vector<KindCheck> objects;
  Diagnostics faults;  // "emit.schema"
};
// Reads YAML of one or more documents back and checks every object.
KubernetesCheck check_kubernetes(std::string_view yaml, const std::string& file);

// Returns what was and was not checked, over all files.
std::string kubernetes_check_text(const EmittedFiles& files);

}  // namespace orrery::emit
