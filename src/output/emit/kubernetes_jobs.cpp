// Storage classes and claims of the tiers, and one JobSet per training run.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "model/design/names.h"
#include "model/design_text/profiles.h"
#include "output/emit/escape.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/run_terms.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kProvisioners = "emit/kubernetes/provisioners.csv";
// Restarts to allow, as a multiple of a run's expected failures, because the planned rate may be
// wrong by half.
constexpr double kRestartMargin = 2;
constexpr int kRestartsLeast = 10;

bool can_mount(const machine::Tier& tier) { return tier.tier->kind != design::TierKind::object; }

std::optional<std::string> provisioner_of(const design::StorageTier& tier) {
  const auto table = catalog::embedded_table(kProvisioners);
  if (!table) return std::nullopt;
  std::optional<std::string> owned;
  for (const CsvRow& row : table->rows()) {
    if (table->text(row, "kind") != word_of(tier.kind)) continue;
    const std::string_view provider = table->text(row, "provider");
    if (provider == tier.provider) return std::string(table->text(row, "provisioner"));
    if (provider.empty()) owned = std::string(table->text(row, "provisioner"));
  }
  return owned;
}

void add_tier(YamlWriter& yaml, const KubePlan& plan, const machine::Tier& tier,
              const std::string& name) {
  const bool local = tier.per_node;
  const std::string provisioner =
      provisioner_of(*tier.tier).value_or("kubernetes.io/no-provisioner");
  const auto profile = profile_annotations(tier, plan.review.catalog());
  open_object(yaml, plan, {"storage.k8s.io/v1", "StorageClass", name, {}, profile});
  yaml.text("provisioner", provisioner);
  // Data of a training run survives the deletion of its claim.
  yaml.text("reclaimPolicy", local ? "Delete" : "Retain");
  yaml.text("volumeBindingMode", local ? "WaitForFirstConsumer" : "Immediate");
  yaml.flag("allowVolumeExpansion", provisioner != "kubernetes.io/no-provisioner");
  if (local || tier.tier->kind == design::TierKind::block) return;
  for (const Tenant& tenant : plan.tenants) {
    open_object(yaml, plan, {"v1", "PersistentVolumeClaim", name, tenant.name, profile});
    yaml.begin("spec").texts("accessModes", {"ReadWriteMany"}).text("storageClassName", name);
    yaml.begin("resources").begin("requests");
    yaml.text("storage", quantity_gib(max(gib(1), tier.capacity * tenant.share))).end().end().end();
  }
}

// Returns the tiers that a run reads from and saves to, each once.
std::vector<std::string> tiers_of(const review::TrainView& train) {
  std::vector<std::string> out;
  const auto add = [&out](const machine::Tier* tier) {
    const bool mounts =
        tier && can_mount(*tier) && !tier->per_node && tier->tier->kind != design::TierKind::block;
    if (mounts && std::ranges::find(out, tier->label) == out.end()) out.push_back(tier->label);
  };
  add(train.feed.tier);
  if (train.checkpoint) {
    add(train.checkpoint->first);
    add(train.checkpoint->safe);
  }
  return out;
}

void add_environment(YamlWriter& yaml, const review::TrainView& train, const std::string& name) {
  const auto set = [&yaml](std::string_view key, const std::string& value) {
    yaml.item().text("name", key).text("value", value).end_item();
  };
  yaml.begin("env");
  set("MASTER_ADDR", fmt::format("{0}-workers-0-0.{0}", name));
  set("NNODES", std::to_string(train.hosts));
  set("GPUS_PER_NODE", std::to_string(train.fleet->accelerators_per_host));
  for (const RunVariable& v : run_variables(train)) set(v.name, v.value);
  yaml.end();
}

void add_container(YamlWriter& yaml, const KubePlan& plan, const review::TrainView& train,
                   const std::string& name) {
  const auto hosts = std::ranges::find(plan.hosts.fleets, train.fleet, &HostFleet::view);
  yaml.begin("containers").item().text("name", "train");
  yaml.comment("Put your image and its command here; the plan is in the environment.");
  yaml.text("image", "example.invalid/train:1").texts("command", {"train"});
  add_environment(yaml, train, name);
  yaml.begin("resources").begin("limits");
  for (const auto& [resource, count] : plan.fleets[hosts->index].resources)
    yaml.number(resource, count);
  yaml.end().end();
  const std::vector<std::string> tiers = tiers_of(train);
  if (!tiers.empty()) {
    yaml.begin("volumeMounts");
    for (const std::string& tier : tiers) {
      yaml.item().text("name", tier).text("mountPath", "/mnt/" + tier).end_item();
    }
    yaml.end();
  }
  yaml.end_item().end();
  if (tiers.empty()) return;
  yaml.begin("volumes");
  for (const std::string& tier : tiers) {
    yaml.item().text("name", tier).begin("persistentVolumeClaim").text("claimName", tier);
    yaml.end().end_item();
  }
  yaml.end();
}

// Returns the placement of a gang. A gang that fits into one unit must be in one; a larger one is
// packed as closely as possible.
std::pair<std::string, std::string> placement(const KubePlan& plan,
                                              const review::TrainView& train) {
  int largest = 0;
  for (const TreeSwitch& s : plan.hosts.tree) {
    int hosts = 0;
    for (const HostRange& r : s.hosts) {
      if (plan.hosts.fleets[r.fleet].view == train.fleet) hosts += r.count;
    }
    largest = std::max(largest, hosts);
  }
  const bool fits = train.hosts <= largest;
  return {
      fits ? "kueue.x-k8s.io/podset-required-topology" : "kueue.x-k8s.io/podset-preferred-topology",
      std::string(kUnitLabel)};
}

std::int64_t restarts_of(const review::TrainView& train) {
  const double failures = train.failure.mtbf > Seconds(0) ? train.run_time / train.failure.mtbf : 0;
  return std::max<std::int64_t>(kRestartsLeast, std::llround(failures * kRestartMargin));
}

void add_pod(YamlWriter& yaml, const KubePlan& plan, const review::TrainView& train,
             const std::string& name) {
  yaml.begin("template");
  if (plan.topology) {
    const auto [annotation, level] = placement(plan, train);
    yaml.begin("metadata").begin("annotations").text(annotation, level).end().end();
  }
  yaml.begin("spec").text("restartPolicy", "Never");
  yaml.comment("Time to save a checkpoint when the pod must stop.");
  yaml.number("terminationGracePeriodSeconds",
              std::llround(std::ceil(time_to_save(train) / seconds(1))));
  yaml.begin("nodeSelector").text(kFleetLabel, train.fleet->fleet->name).end();
  add_container(yaml, plan, train, name);
  yaml.end().end();
}

std::string job_yaml(const KubePlan& plan, const review::TrainView& train,
                     const std::string& name) {
  const Tenant& tenant = tenant_of(plan, *train.workload);
  YamlWriter yaml;
  yaml.document();
  yaml.text("apiVersion", "jobset.x-k8s.io/v1alpha2").text("kind", "JobSet").begin("metadata");
  yaml.text("name", name).text("namespace", tenant.name);
  const int priority = train.workload->terms.priority;
  yaml.begin("labels").text("kueue.x-k8s.io/queue-name", tenant.name);
  yaml.text("kueue.x-k8s.io/priority-class",
            fmt::format("priority-{}{}", priority < 0 ? "minus-" : "", std::abs(priority)));
  yaml.end().begin("annotations").text("orrery/emitted-from", stamp_text(plan.source)).end().end();
  yaml.begin("spec").flag("suspend", true);
  yaml.begin("network").flag("enableDNSHostnames", true).text("subdomain", name).end();
  yaml.begin("failurePolicy").number("maxRestarts", restarts_of(train)).end();
  yaml.begin("replicatedJobs").item().text("name", "workers").number("replicas", 1);
  yaml.begin("template").begin("spec").number("parallelism", train.hosts);
  yaml.number("completions", train.hosts).text("completionMode", "Indexed");
  yaml.comment("One lost rank stops them all: the whole set restarts from the checkpoint.");
  yaml.number("backoffLimit", 0);
  add_pod(yaml, plan, train, name);
  yaml.end().end().end_item().end().end();
  return stamp(plan.source, "#") + yaml.result();
}

}  // namespace

void add_run_pod(YamlWriter& yaml, const KubePlan& plan, const review::TrainView& train,
                 const std::string& name) {
  add_pod(yaml, plan, train, name);
}

std::vector<std::pair<std::string_view, std::string>> profile_annotations(
    const machine::Tier& tier, const catalog::Catalog& catalog) {
  if (tier.tier->profile.empty()) return {};
  std::string settings;
  for (const design_text::ProfileField& f : design_text::profile_fields(*tier.tier, catalog)) {
    settings += fmt::format("{}{}: {}", settings.empty() ? "" : ", ", f.key, f.value);
  }
  return {{"orrery/storage-profile", tier.tier->profile}, {"orrery/storage-settings", settings}};
}

Result<std::string> storage_yaml(const KubePlan& plan) {
  YamlWriter yaml;
  Diagnostics faults;
  for (const machine::Tier& tier : plan.review.tiers()) {
    if (!can_mount(tier)) continue;
    const auto name =
        checked_name(tier.label, NameRule::dns_label,
                     {"the tier", design::place_of(plan.review.design(), tier.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    add_tier(yaml, plan, tier, *name);
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  if (yaml.result().empty()) return std::string();
  return stamp(plan.source, "#") + yaml.result();
}

Result<EmittedFiles> job_files(const KubePlan& plan) {
  EmittedFiles files;
  Diagnostics faults;
  for (const review::TrainView& train : plan.review.trains) {
    const auto fleet = std::ranges::find(plan.hosts.fleets, train.fleet, &HostFleet::view);
    if (!train.feasible() || fleet == plan.hosts.fleets.end()) continue;
    const auto name = checked_name(
        train.label, NameRule::dns_label,
        {"the workload", design::place_of(plan.review.design(), train.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    files.push_back({"job-" + *name + ".yaml",
                     plan.ray ? ray_job_yaml(plan, train, *name) : job_yaml(plan, train, *name)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return files;
}

}  // namespace orrery::emit
