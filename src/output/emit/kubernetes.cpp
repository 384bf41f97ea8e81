#include "output/emit/kubernetes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "output/emit/escape.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/object_store.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

using figures::assumptions::kPodMemoryShare;

// Returns the extended resource with which a vendor's device plugin counts whole devices.
std::string resource_of(const catalog::Accelerator& part) {
  if (part.vendor == "NVIDIA") return "nvidia.com/gpu";
  if (part.vendor == "AMD") return "amd.com/gpu";
  if (part.vendor == "Intel") return "habana.ai/gaudi";
  if (part.vendor == "AWS") return "aws.amazon.com/neuron";
  if (part.vendor == "Google") return "google.com/tpu";
  return "example.com/accelerator";
}

KubeFleet fleet_of_hosts(const HostFleet& hosts) {
  KubeFleet fleet{.shape = host_shape(hosts)};
  const machine::Fleet& view = *hosts.view;
  const catalog::Accelerator* part = view.accelerator();
  if (part == nullptr) return fleet;
  fleet.nvidia = part->vendor == "NVIDIA";
  if (view.fleet->mig.empty()) {
    fleet.resources[resource_of(*part)] = view.accelerators_per_host;
    return fleet;
  }
  for (const design::MigSlices& s : view.fleet->mig) {
    fleet.resources["nvidia.com/mig-" + s.profile] = s.count * view.accelerators_per_host;
  }
  return fleet;
}

int accelerators_of(const KubePlan& plan) {
  int all = 0;
  for (const HostFleet& f : plan.hosts.fleets) all += f.view->accelerators;
  return all;
}

// Plans the tenants with a quota, and `shared` for capacity without a quota and workloads without a
// tenant.
Diagnostics plan_tenants(KubePlan& plan) {
  Diagnostics faults;
  const auto& quotas = plan.review.design().scheduler.quotas;
  double left = 1;
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    const auto name = checked_name(
        quotas[i].tenant, NameRule::dns_label,
        {"the tenant",
         design::place_of(plan.review.design(), fmt::format("scheduler.quotas[{}].tenant", i))});
    if (!name) {
      gather(faults, name.error());
      continue;
    }
    const double share =
        quotas[i].share.value_or(static_cast<double>(quotas[i].accelerators.value_or(0)) /
                                 std::max(1, accelerators_of(plan)));
    plan.tenants.push_back({*name, share});
    left -= share;
  }
  const bool taken = std::ranges::find(plan.tenants, "shared", &Tenant::name) != plan.tenants.end();
  if (!taken) plan.tenants.push_back({"shared", std::max(0.0, left)});
  return faults;
}

std::unexpected<Diagnostics> not_kubernetes(const design::Design& design) {
  return fail({.code = "emit.scheduler",
               .place = design::place_of(design, "scheduler.kind"),
               .what = "the design assigns no fleet to Kubernetes",
               .why = "scheduler.kind is slurm, or no fleet has `partition: kubernetes`",
               .fix = "set scheduler.kind to kubernetes or both, or emit slurm"});
}

Diagnostics check_profiles(const KubePlan& plan) {
  Diagnostics faults;
  for (const HostFleet& f : plan.hosts.fleets) {
    for (const design::MigSlices& s : f.view->fleet->mig) {
      const auto name = checked_name(
          s.profile, NameRule::slurm,
          {"the MIG profile", design::place_of(plan.review.design(), f.view->path + ".mig")});
      if (!name) gather(faults, name.error());
    }
  }
  return faults;
}

Result<KubePlan> plan_of(const review::Review& review, const EmitSource& source) {
  auto hosts = hosts_of(review, HostsOf::kubernetes);
  if (!hosts) return std::unexpected(std::move(hosts.error()));
  if (hosts->fleets.empty()) return not_kubernetes(review.design());
  KubePlan plan{.review = review, .source = source};
  plan.hosts = std::move(*hosts);
  Diagnostics faults = check_profiles(plan);
  for (const HostFleet& f : plan.hosts.fleets) {
    plan.fleets.push_back(fleet_of_hosts(f));
    plan.domains = plan.domains || (f.hosts_per_node > 1 && plan.fleets.back().nvidia);
  }
  gather(faults, plan_tenants(plan));
  const auto cohort = checked_name(review.design().name, NameRule::dns_label,
                                   {"the cohort", design::place_of(review.design(), "name")});
  if (cohort) {
    plan.cohort = *cohort;
  } else {
    gather(faults, cohort.error());
  }
  plan.topology = review.design().scheduler.topology != design::PlacementTopology::none;
  plan.pods = std::ranges::any_of(plan.hosts.tree,
                                  [](const TreeSwitch& s) { return s.name.starts_with("pod-"); });
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return plan;
}

// Checks our own output against the schemas. A fault here is ours, but it is better found now than
// by kubectl.
Diagnostics check_all(const EmittedFiles& files) {
  Diagnostics faults;
  for (const EmittedFile& f : files) {
    if (!f.path.ends_with(".yaml") || f.path == "gpu-operator-values.yaml") continue;
    gather(faults, check_kubernetes(f.text, f.path).faults);
  }
  return faults;
}

}  // namespace

const Tenant& tenant_of(const KubePlan& plan, const design::Workload& workload) {
  const auto at = std::ranges::find(plan.tenants, workload.terms.tenant, &Tenant::name);
  if (at != plan.tenants.end()) return *at;
  return *std::ranges::find(plan.tenants, "shared", &Tenant::name);
}

void open_object(YamlWriter& yaml, const KubePlan& plan, const ObjectHead& head) {
  yaml.document();
  yaml.text("apiVersion", head.api_version).text("kind", head.kind).begin("metadata");
  yaml.text("name", head.name);
  if (!head.name_space.empty()) yaml.text("namespace", head.name_space);
  yaml.begin("annotations").text("orrery/emitted-from", stamp_text(plan.source));
  for (const auto& [key, value] : head.annotations) yaml.text(key, value);
  yaml.end().end();
}

std::string quantity_gib(Bytes size) {
  return fmt::format("{}Gi", static_cast<long long>(std::floor(size / gib(1) + 1e-9)));
}

std::string device_class(const catalog::Accelerator& part) {
  return "gpu-" + lowered(quantity_gib(part.memory * kPodMemoryShare));
}

std::string mig_class(const std::string& profile) {
  return "mig-" + nearest_name(profile, NameRule::dns_label);
}

std::string claim_name(const HostFleet& fleet) { return fleet.name() + "-host"; }

Result<EmittedFiles> emit_kubernetes(const review::Review& review, const EmitSource& source,
                                     const KubernetesOptions& options) {
  if (Diagnostics faults = check_object_store(options.object_store); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  auto plan = plan_of(review, source);
  if (!plan) return std::unexpected(plan.error());
  plan->ray = options.ray;
  plan->object_store = options.object_store;
  EmittedFiles files = {{"gpu-operator-values.yaml", operator_values(*plan)},
                        {"label-nodes.sh", label_script(*plan), true},
                        {"queues.yaml", queues_yaml(*plan)}};
  const auto add = [&files](std::string path, std::string text) {
    if (!text.empty()) files.push_back({std::move(path), std::move(text)});
  };
  add("devices.yaml", devices_yaml(*plan));
  add("mig.yaml", mig_yaml(*plan));
  Diagnostics faults;
  auto storage = storage_yaml(*plan);
  if (storage) {
    add("storage.yaml", std::move(*storage));
  } else {
    gather(faults, storage.error());
  }
  auto buckets = buckets_yaml(*plan);
  if (buckets) {
    add("buckets.yaml", std::move(*buckets));
  } else {
    gather(faults, buckets.error());
  }
  auto volumes = object_volumes_yaml(*plan);
  if (volumes) {
    add("object-volumes.yaml", std::move(*volumes));
  } else {
    gather(faults, volumes.error());
  }
  add("isolation.yaml", isolation_yaml(*plan));
  for (const auto& more : {job_files(*plan), service_files(*plan)}) {
    if (more) {
      files.insert(files.end(), more->begin(), more->end());
    } else {
      gather(faults, more.error());
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  std::ranges::sort(files, {}, &EmittedFile::path);
  if (faults = check_all(files); !faults.empty()) return std::unexpected(std::move(faults));
  return files;
}

}  // namespace orrery::emit
