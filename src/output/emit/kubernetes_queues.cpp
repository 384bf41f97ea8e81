// Kueue's objects, and the labels of the nodes that they select by.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "model/figures/assumptions.h"
#include "output/emit/escape.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io/v1beta2";
constexpr std::string_view kTopology = "fabric";
using figures::assumptions::kPodMemoryShare;
using figures::assumptions::kQueueMemoryPerCore;

std::vector<std::string> covered(const KubePlan& plan) {
  std::set<std::string> names;
  for (const KubeFleet& f : plan.fleets) {
    for (const auto& [name, count] : f.resources) names.insert(name);
  }
  std::vector<std::string> all = {"cpu", "memory"};
  all.insert(all.end(), names.begin(), names.end());
  return all;
}

// Returns what a fleet in service offers of a resource, times a tenant's share, rounded down.
std::string quota(const KubePlan& plan, HostFleetIndex f, const std::string& resource,
                  double share) {
  const KubeFleet& fleet = plan.fleets[f];
  const int hosts = plan.hosts.fleets[f].in_service;
  const auto part = [share](double all) {
    return static_cast<long long>(std::floor(all * share + 1e-9));
  };
  if (resource == "cpu") return std::to_string(part(hosts * fleet.shape.cores() * kPodMemoryShare));
  if (resource == "memory") {
    const Bytes host = fleet.shape.memory.value_or(kQueueMemoryPerCore * fleet.shape.cores());
    return quantity_gib(host * (hosts * kPodMemoryShare * share));
  }
  const auto at = fleet.resources.find(resource);
  return std::to_string(at == fleet.resources.end() ? 0 : part(hosts * at->second));
}

void add_topology(YamlWriter& yaml, const KubePlan& plan) {
  if (!plan.topology) return;
  open_object(yaml, plan, {kKueue, "Topology", std::string(kTopology)});
  yaml.begin("spec").begin("levels");
  const auto level = [&yaml](std::string_view label) {
    yaml.item().text("nodeLabel", label).end_item();
  };
  if (plan.pods) level(kPodLabel);
  level(kUnitLabel);
  if (plan.domains) level(kDomainLabel);
  level(kHostLabel);
  yaml.end().end();
}

void add_flavors(YamlWriter& yaml, const KubePlan& plan) {
  for (const HostFleet& hosts : plan.hosts.fleets) {
    const std::string& name = hosts.name();
    open_object(yaml, plan, {kKueue, "ResourceFlavor", name});
    yaml.begin("spec").begin("nodeLabels").text(kFleetLabel, name).end();
    if (plan.fleets[hosts.index].nvidia) {
      yaml.begin("tolerations").item().text("key", "nvidia.com/gpu").text("operator", "Exists");
      yaml.text("effect", "NoSchedule").end_item().end();
    }
    if (plan.topology) yaml.text("topologyName", kTopology);
    yaml.end();
  }
}

void add_quotas(YamlWriter& yaml, const KubePlan& plan, const Tenant& tenant) {
  const std::vector<std::string> resources = covered(plan);
  yaml.begin("resourceGroups").item().texts("coveredResources", resources).begin("flavors");
  for (const HostFleet& hosts : plan.hosts.fleets) {
    yaml.item().text("name", hosts.name()).begin("resources");
    for (const std::string& resource : resources) {
      yaml.item().text("name", resource);
      yaml.text("nominalQuota", quota(plan, hosts.index, resource, tenant.share)).end_item();
    }
    yaml.end().end_item();
  }
  yaml.end().end_item().end();
}

void add_queue(YamlWriter& yaml, const KubePlan& plan, const Tenant& tenant) {
  const design::Scheduler& s = plan.review.design().scheduler;
  const bool preempts = s.preemption != design::Preemption::none;
  open_object(yaml, plan, {"v1", "Namespace", tenant.name});
  open_object(yaml, plan, {kKueue, "ClusterQueue", tenant.name});
  yaml.begin("spec").text("cohortName", plan.cohort);
  yaml.begin("namespaceSelector").begin("matchLabels");
  yaml.text("kubernetes.io/metadata.name", tenant.name).end().end();
  // In a strict queue, smaller jobs cannot overtake a large gang at its head for ever.
  yaml.text("queueingStrategy",
            s.backfill == design::Backfill::none ? "StrictFIFO" : "BestEffortFIFO");
  yaml.begin("preemption").text("reclaimWithinCohort", preempts ? "Any" : "Never");
  yaml.text("withinClusterQueue", preempts ? "LowerPriority" : "Never").end();
  if (s.fair_share) {
    const long weight = std::max(1L, std::lround(100 * tenant.share));
    yaml.begin("fairSharing").text("weight", std::to_string(weight)).end();
  }
  add_quotas(yaml, plan, tenant);
  yaml.end();
  open_object(yaml, plan, {kKueue, "LocalQueue", tenant.name, tenant.name});
  yaml.begin("spec").text("clusterQueue", tenant.name).end();
}

void add_priorities(YamlWriter& yaml, const KubePlan& plan) {
  std::set<int> values = {0};
  for (const design::Workload& w : plan.review.design().workloads) values.insert(w.terms.priority);
  for (const int value : values) {
    open_object(yaml, plan,
                {kKueue, "WorkloadPriorityClass",
                 fmt::format("priority-{}{}", value < 0 ? "minus-" : "", std::abs(value))});
    yaml.number("value", value);
    yaml.text("description", "of workloads with this priority in the design");
  }
}

// Unit and pod of a leaf: the names of the switches above it.
struct Above {
  std::string unit;
  std::string pod;
};

Above above(const Hosts& hosts, const std::string& leaf) {
  Above out{.unit = leaf};
  std::string below = leaf;
  for (const TreeSwitch& s : hosts.tree) {
    if (std::ranges::find(s.switches, below) == s.switches.end()) continue;
    if (s.name.starts_with("su-")) out.unit = s.name;
    if (s.name.starts_with("pod-")) out.pod = s.name;
    below = s.name;
  }
  return out;
}

}  // namespace

std::string queues_yaml(const KubePlan& plan) {
  YamlWriter yaml;
  add_topology(yaml, plan);
  add_flavors(yaml, plan);
  add_priorities(yaml, plan);
  for (const Tenant& tenant : plan.tenants) add_queue(yaml, plan, tenant);
  return stamp(plan.source, "#") + yaml.result();
}

std::string label_script(const KubePlan& plan) {
  std::string out = "#!/bin/bash\n" + stamp(plan.source, "#");
  out +=
      "# Labels each node with its place in the network, for Kubernetes. Read it, then run it.\n"
      "set -eu\n"
      "\n";
  for (const TreeSwitch& leaf : plan.hosts.tree) {
    const Above place = above(plan.hosts, leaf.name);
    for (const HostRange& r : leaf.hosts) {
      const HostFleet& fleet = plan.hosts.fleets[r.fleet];
      std::string labels =
          fmt::format("{}={} {}={}", kFleetLabel, fleet.name(), kUnitLabel, place.unit);
      if (!place.pod.empty()) labels += fmt::format(" {}={}", kPodLabel, place.pod);
      if (!fleet.view->fleet->mig.empty()) {
        labels += fmt::format(" nvidia.com/mig.config={}", fleet.name());
      }
      out += fmt::format(
          "for n in $(seq -f '{}-%0{}g' {} {}); do\n"
          "  kubectl label --overwrite node \"$n\" {}\n"
          "done\n",
          fleet.name(), fleet.digits, r.from, r.from + r.count - 1, labels);
    }
  }
  return out;
}

}  // namespace orrery::emit
