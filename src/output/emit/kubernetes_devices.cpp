// Devices: classes and claims by attribute, MIG slices, the values of the GPU operator.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "output/emit/escape.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kResource = "resource.k8s.io/v1";
constexpr std::string_view kMigConfig = "orrery-mig-config";

// Selects by attributes that the gpu.nvidia.com driver publishes. The product name is not among
// them, so that a newer GPU with as much memory also qualifies.
std::string whole_gpu(const catalog::Accelerator& part) {
  const std::string size = device_class(part).substr(4);
  const std::string memory = size.substr(0, size.size() - 2) + "Gi";
  return fmt::format(
      "device.driver == 'gpu.nvidia.com' && "
      "device.attributes['gpu.nvidia.com'].type == 'gpu' && "
      "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{}')) >= 0",
      memory);
}

std::string slice(const std::string& profile) {
  return fmt::format(
      "device.driver == 'gpu.nvidia.com' && "
      "device.attributes['gpu.nvidia.com'].type == 'mig' && "
      "device.attributes['gpu.nvidia.com'].profile == '{}'",
      profile);
}

void add_class(YamlWriter& yaml, const KubePlan& plan, const std::string& name,
               const std::string& expression) {
  open_object(yaml, plan, {kResource, "DeviceClass", name});
  yaml.begin("spec").begin("selectors").item().begin("cel").text("expression", expression);
  yaml.end().end_item().end().end();
}

void add_classes(YamlWriter& yaml, const KubePlan& plan) {
  std::set<std::string> done;
  for (const HostFleet& hosts : plan.hosts.fleets) {
    const machine::Fleet& view = *hosts.view;
    if (!plan.fleets[hosts.index].nvidia) continue;
    for (const design::MigSlices& s : view.fleet->mig) {
      const std::string name = mig_class(s.profile);
      if (done.insert(name).second) add_class(yaml, plan, name, slice(s.profile));
    }
    if (!view.fleet->mig.empty()) continue;
    const std::string name = device_class(*view.accelerator());
    if (done.insert(name).second) add_class(yaml, plan, name, whole_gpu(*view.accelerator()));
  }
}

struct Claim {
  std::string name;
  std::string name_space;
  std::string device_class;
  int count = 1;
};

void add_claim(YamlWriter& yaml, const KubePlan& plan, const Claim& claim) {
  open_object(yaml, plan, {kResource, "ResourceClaimTemplate", claim.name, claim.name_space});
  yaml.begin("spec").begin("spec").begin("devices").begin("requests").item();
  yaml.text("name", "accelerators").begin("exactly").text("deviceClassName", claim.device_class);
  yaml.text("allocationMode", "ExactCount").number("count", claim.count);
  yaml.end().end_item().end().end().end().end();
}

// Adds claims. A claim for all GPUs of a host is within its NVLink domain. Hosts that share a
// domain (an NVL72 rack) use a ComputeDomain, whose channel is a claim of its own.
void add_claims(YamlWriter& yaml, const KubePlan& plan, const Tenant& tenant) {
  for (const HostFleet& hosts : plan.hosts.fleets) {
    if (!plan.fleets[hosts.index].nvidia) continue;
    if (hosts.view->fleet->mig.empty()) {
      add_claim(yaml, plan,
                {claim_name(hosts), tenant.name, device_class(*hosts.view->accelerator()),
                 hosts.view->accelerators_per_host});
    }
    for (const design::MigSlices& s : hosts.view->fleet->mig) {
      const std::string name = mig_class(s.profile);
      add_claim(yaml, plan, {hosts.name() + '-' + name, tenant.name, name, 1});
    }
    if (hosts.hosts_per_node < 2) continue;
    open_object(
        yaml, plan,
        {"resource.nvidia.com/v1beta1", "ComputeDomain", hosts.name() + "-domain", tenant.name});
    yaml.begin("spec").number("numNodes", 0).begin("channel").begin("resourceClaimTemplate");
    yaml.text("name", hosts.name() + "-channel").end().end().end();
  }
}

// Returns mig-parted's own file, which its ConfigMap contains as text.
std::string mig_parted(const KubePlan& plan) {
  YamlWriter yaml;
  yaml.text("version", "v1").begin("mig-configs");
  yaml.begin("all-disabled").item().text("devices", "all").flag("mig-enabled", false);
  yaml.end_item().end();
  for (const HostFleet& f : plan.hosts.fleets) {
    if (f.view->fleet->mig.empty()) continue;
    yaml.begin(f.name()).item().text("devices", "all").flag("mig-enabled", true);
    yaml.begin("mig-devices");
    for (const design::MigSlices& s : f.view->fleet->mig) yaml.number(s.profile, s.count);
    yaml.end().end_item().end();
  }
  yaml.end();
  return yaml.result();
}

bool any_mig(const KubePlan& plan) {
  return std::ranges::any_of(plan.hosts.fleets,
                             [](const HostFleet& f) { return !f.view->fleet->mig.empty(); });
}

}  // namespace

std::string devices_yaml(const KubePlan& plan) {
  YamlWriter yaml;
  add_classes(yaml, plan);
  if (yaml.result().empty()) return {};
  for (const Tenant& tenant : plan.tenants) add_claims(yaml, plan, tenant);
  return stamp(plan.source, "#") + yaml.result();
}

std::string mig_yaml(const KubePlan& plan) {
  if (!any_mig(plan)) return {};
  YamlWriter yaml;
  open_object(yaml, plan, {"v1", "ConfigMap", std::string(kMigConfig), "gpu-operator"});
  yaml.begin("data").block("config.yaml", mig_parted(plan)).end();
  return stamp(plan.source, "#") + yaml.result();
}

std::string operator_values(const KubePlan& plan) {
  YamlWriter yaml;
  const bool direct = std::ranges::any_of(plan.review.tiers(), [](const machine::Tier& t) {
    return t.tier->tier == design::Tier::gpu_direct;
  });
  const bool rdma = plan.review.networks().compute.topology.has_value();
  yaml.begin("driver").flag("enabled", true).begin("rdma").flag("enabled", rdma).end().end();
  yaml.begin("toolkit").flag("enabled", true).end();
  yaml.begin("devicePlugin").flag("enabled", true).end();
  yaml.begin("gds").flag("enabled", direct).end();
  yaml.begin("nfd").flag("enabled", true).end();
  yaml.begin("gfd").flag("enabled", true).end();
  yaml.begin("mig").text("strategy", any_mig(plan) ? "mixed" : "single").end();
  yaml.begin("migManager").flag("enabled", any_mig(plan));
  if (any_mig(plan)) {
    yaml.begin("config").text("name", kMigConfig).text("default", "all-disabled").end();
  }
  yaml.end();
  yaml.begin("dcgmExporter").flag("enabled", true);
  yaml.comment("The counters that the alert rules read: `orrery emit prometheus` writes the file,");
  yaml.comment("and a ConfigMap of this name carries it as dcgm-metrics.csv.");
  yaml.begin("config").text("name", "orrery-dcgm-counters").end().end();
  return stamp(plan.source, "#") + yaml.result();
}

}  // namespace orrery::emit
