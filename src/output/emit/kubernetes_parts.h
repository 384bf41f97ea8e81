// The pieces of emit_kubernetes: what its files are written from, and one function per file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/emit/host_shape.h"
#include "output/emit/kubernetes.h"
#include "output/emit/yaml_writer.h"

namespace orrery::emit {

// Labels that label-nodes.sh sets and that the queues select by.
inline constexpr std::string_view kFleetLabel = "fleet.orrery/name";
inline constexpr std::string_view kPodLabel = "fabric.orrery/pod";
inline constexpr std::string_view kUnitLabel = "fabric.orrery/unit";
// Set by NVIDIA's feature discovery on hosts of one NVLink domain.
inline constexpr std::string_view kDomainLabel = "nvidia.com/gpu.clique";
inline constexpr std::string_view kHostLabel = "kubernetes.io/hostname";

struct KubeFleet {
  HostShape shape;
  // Extended resources of one host: "nvidia.com/gpu" -> 8, or "nvidia.com/mig-1g.18gb" -> 24.
  std::map<std::string, int> resources;
  bool nvidia = false;
};

struct Tenant {
  std::string name;  // also the name of its namespace, cluster queue and local queue
  double share = 1;  // share of the accelerators
};

struct KubePlan {
  const review::Review& review;
  const EmitSource& source;
  Hosts hosts;
  IndexedVector<HostFleetIndex, KubeFleet> fleets;
  std::vector<Tenant> tenants;
  std::string cohort;
  bool topology = false;  // place jobs by the fabric's topology
  bool pods = false;      // the fabric has pods above its units
  bool domains = false;   // hosts share NVLink domains
  bool ray = false;       // training runs as RayJobs
  std::string object_store = {};
};

const Tenant& tenant_of(const KubePlan& plan, const design::Workload& workload);

std::string queues_yaml(const KubePlan& plan);
std::string devices_yaml(const KubePlan& plan);
std::string mig_yaml(const KubePlan& plan);  // empty if no fleet is sliced
std::string operator_values(const KubePlan& plan);
std::string label_script(const KubePlan& plan);
Result<std::string> storage_yaml(const KubePlan& plan);  // empty if no tier can be mounted
Result<EmittedFiles> job_files(const KubePlan& plan);
Result<EmittedFiles> service_files(const KubePlan& plan);
std::string isolation_yaml(const KubePlan& plan);        // empty if no tenant requires it
Result<std::string> buckets_yaml(const KubePlan& plan);  // empty if there is no object store
// Used by job_files with the parts of a run's pod: its node selection, container and mounts.
std::string ray_job_yaml(const KubePlan& plan, const review::TrainView& train,
                         const std::string& name);
void add_run_pod(YamlWriter& yaml, const KubePlan& plan, const review::TrainView& train,
                 const std::string& name);

// Writes apiVersion, kind and metadata, and leaves the object open for its spec.
struct ObjectHead {
  std::string_view api_version;
  std::string_view kind;
  std::string name;
  std::string name_space = {};
  std::vector<std::pair<std::string_view, std::string>> annotations = {};
};
// Returns the profile of a tier and the values that it sets there; empty if the tier has no
// profile.
std::vector<std::pair<std::string_view, std::string>> profile_annotations(
    const machine::Tier& tier, const catalog::Catalog& catalog);
void open_object(YamlWriter& yaml, const KubePlan& plan, const ObjectHead& head);
// Returns "gpu-76gi" or "mig-1g-18gb": device classes are named after what they guarantee.
std::string device_class(const catalog::Accelerator& part);
std::string mig_class(const std::string& profile);
std::string claim_name(const HostFleet& fleet);
std::string quantity_gib(Bytes size);  // "1862Gi", rounded down

}  // namespace orrery::emit
