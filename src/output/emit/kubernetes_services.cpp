// The services of a design: what answers requests, with how many replicas, who may reach it, and
// the buckets that services and runs use.
//
// A service is a Deployment of the planned replicas, a Service in front of it, a
// HorizontalPodAutoscaler between the replicas for the mean traffic and those for the peak, and a
// disruption budget. Scaling follows the number of waiting requests, because accelerators look busy
// at any load. A tenant that must be isolated gets a NetworkPolicy: its pods may talk to each other
// and to DNS only.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/workload/adapters.h"
#include "layers/serving/adapters.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "output/emit/escape.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

using figures::assumptions::kProbePeriod;
using figures::assumptions::kScaleDownWait;
using figures::assumptions::kStartupWait;
using figures::assumptions::kSystemCores;
constexpr std::string_view kAppLabel = "app.kubernetes.io/name";
constexpr int kPort = 8000;  // port of the OpenAI interface of vllm and other engines
// Waiting requests per replica that start another replica; vllm exports them under this name.
constexpr std::string_view kWaiting = "vllm:num_requests_waiting";
constexpr int kWaitingTarget = 2;
constexpr std::string_view kRunning = "vllm:num_requests_running";
constexpr int kProbeSeconds = static_cast<int>(kProbePeriod / seconds(1));
constexpr int kStartupProbes = static_cast<int>(kStartupWait / kProbePeriod);

int replicas_of(const review::ServeView& s) {
  return std::max(1, static_cast<int>(std::ceil(s.replicas - 1e-9)));
}

// Returns the replicas for the mean traffic: the peak's replicas over the peak factor, and two if
// one may fail.
int least_replicas(const review::ServeView& s) {
  if (s.serve->autoscale) {
    const double share = s.replicas / s.serve->autoscale->max;
    const auto least = static_cast<int>(std::ceil(s.serve->autoscale->min * share - 1e-9));
    return std::clamp(least, 1, replicas_of(s));
  }
  const double peak = s.rate > PerSecond(0) ? s.peak / s.rate : 1;
  const int needed = static_cast<int>(std::ceil(s.replicas_needed / std::max(1.0, peak) - 1e-9));
  return std::clamp(needed, replicas_of(s) > 1 ? 2 : 1, replicas_of(s));
}

void add_resources(YamlWriter& yaml, const KubePlan& plan, const review::ServeView& s) {
  const auto at = std::ranges::find(plan.hosts.fleets, s.fleet, &HostFleet::view);
  const KubeFleet& fleet = plan.fleets[at->index];
  yaml.begin("resources").begin("limits");
  if (fleet.resources.empty()) {
    const int cores = host_shape(*at).cores();
    yaml.comment("A replica has the whole host: all its cores except those for the system.");
    yaml.text("cpu", std::to_string(std::max(1, cores - kSystemCores)));
  } else {
    yaml.number(
        s.slice ? "nvidia.com/mig-" + s.slice->profile->profile : fleet.resources.begin()->first,
        s.devices_per_replica);
  }
  yaml.end().end();
}

void add_probe(YamlWriter& yaml, std::string_view key, int failures) {
  yaml.begin(key).begin("httpGet").text("path", "/health").number("port", kPort).end();
  yaml.number("periodSeconds", kProbeSeconds).number("failureThreshold", failures).end();
}

int tensor_split(const review::ServeView& s) {
  return s.devices_per_replica / std::max(1, s.serve->pp);
}

// Returns the modules that an adapter extends, named as in the checkpoints of common models.
std::vector<std::string> adapted_modules(const design::Adapters& adapters, bool fused) {
  using Names = std::vector<std::string>;
  Names out;
  const workload::AdapterTargets targets = workload::adapter_targets(adapters.targets);
  const auto add = [&](bool wanted, const Names& one, const Names& apart) {
    if (!wanted) return;
    const Names& names = fused ? one : apart;
    out.insert(out.end(), names.begin(), names.end());
  };
  add(targets.qkv, {"qkv_proj"}, {"q_proj", "k_proj", "v_proj"});
  add(targets.o, {"o_proj"}, {"o_proj"});
  add(targets.mlp, {"gate_up_proj", "down_proj"}, {"gate_proj", "up_proj", "down_proj"});
  return out;
}

void append(std::vector<std::string>& out, const std::vector<std::string>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

// All adapters stay in the host's memory; by default vLLM would keep as many as it has slots.
std::vector<std::string> vllm_adapters(const design::Adapters& a) {
  const int rank = serving::reserved_rank(engines::EngineKind::vllm, a.rank);
  std::vector<std::string> out = {"--enable-lora",
                                  "--max-loras",
                                  std::to_string(a.slots),
                                  "--max-lora-rank",
                                  std::to_string(rank),
                                  "--max-cpu-loras",
                                  std::to_string(std::max(a.count, a.slots))};
  if (a.targets == design::Adapters{}.targets) return out;
  out.emplace_back("--lora-target-modules");
  append(out, adapted_modules(a, true));
  return out;
}

std::vector<std::string> sglang_arguments(const review::ServeView& s) {
  if (!s.serve->adapters) return {};
  const design::Adapters& a = *s.serve->adapters;
  std::vector<std::string> out = {"--model-path",
                                  s.serve->model,
                                  "--tp-size",
                                  std::to_string(tensor_split(s)),
                                  "--enable-lora",
                                  "--max-loras-per-batch",
                                  std::to_string(a.slots),
                                  "--max-lora-rank",
                                  std::to_string(a.rank),
                                  "--lora-target-modules"};
  append(out, adapted_modules(a, false));
  return out;
}

std::vector<std::string> engine_arguments(const review::ServeView& s) {
  if (s.serve->engine == "sglang" && s.model != nullptr) return sglang_arguments(s);
  if (s.serve->engine != "vllm" || s.model == nullptr) return {};
  std::vector<std::string> out = {"--model", s.serve->model, "--tensor-parallel-size",
                                  std::to_string(tensor_split(s))};
  if (s.serve->pp > 1) {
    out.insert(out.end(), {"--pipeline-parallel-size", std::to_string(s.serve->pp)});
  }
  if (s.serve->max_batch) {
    out.insert(out.end(), {"--max-num-seqs", std::to_string(*s.serve->max_batch)});
  }
  // Weights of 16 bits are converted to 8 bits while loading; narrower weights are so on disk.
  if (s.serve->precision == catalog::Precision::fp8) {
    out.insert(out.end(), {"--quantization", "fp8"});
  }
  if (s.serve->kv_precision == catalog::Precision::fp8) {
    out.insert(out.end(), {"--kv-cache-dtype", "fp8"});
  }
  if (s.serve->prefix_cache) out.emplace_back("--enable-prefix-caching");
  if (s.serve->chunked_prefill) out.emplace_back("--enable-chunked-prefill");
  if (s.serve->adapters) append(out, vllm_adapters(*s.serve->adapters));
  return out;
}

void add_deployment(YamlWriter& yaml, const KubePlan& plan, const review::ServeView& s,
                    const ObjectHead& head) {
  open_object(yaml, plan, head);
  yaml.begin("spec").number("replicas", replicas_of(s));
  yaml.begin("selector").begin("matchLabels").text(kAppLabel, head.name).end().end();
  yaml.begin("strategy").text("type", "RollingUpdate").begin("rollingUpdate");
  yaml.comment("No second set of accelerators is available for a rolling update.");
  yaml.number("maxSurge", 0).number("maxUnavailable", 1).end().end();
  yaml.begin("template").begin("metadata").begin("labels").text(kAppLabel, head.name);
  yaml.end().end().begin("spec");
  yaml.begin("nodeSelector").text(kFleetLabel, s.fleet->fleet->name).end();
  yaml.begin("containers").item().text("name", "serve");
  yaml.comment("Put your image here; the arguments come from the plan.");
  if (s.serve->precision == catalog::Precision::int4) {
    yaml.comment("The weights must be a 4-bit checkpoint (AWQ, GPTQ or similar).");
  }
  yaml.text("image", fmt::format("example.invalid/{}:1",
                                 nearest_name(s.serve->engine, NameRule::dns_label)));
  if (const auto arguments = engine_arguments(s); !arguments.empty()) yaml.texts("args", arguments);
  yaml.begin("ports").item().text("name", "http").number("containerPort", kPort).end_item().end();
  add_probe(yaml, "startupProbe", kStartupProbes);
  add_probe(yaml, "readinessProbe", 3);
  add_resources(yaml, plan, s);
  yaml.end_item().end().end().end().end();
}

void add_scaler(YamlWriter& yaml, const KubePlan& plan, const review::ServeView& s,
                const ObjectHead& head) {
  open_object(yaml, plan,
              {"autoscaling/v2", "HorizontalPodAutoscaler", head.name, head.name_space});
  yaml.begin("spec").begin("scaleTargetRef").text("apiVersion", "apps/v1");
  yaml.text("kind", "Deployment").text("name", head.name).end();
  yaml.number("minReplicas", least_replicas(s)).number("maxReplicas", replicas_of(s));
  const auto& scale = s.serve->autoscale;
  if (scale) yaml.comment("The part of the design's requests in flight that this replica runs.");
  yaml.begin("metrics").item().text("type", "Pods").begin("pods");
  yaml.begin("metric").text("name", scale ? kRunning : kWaiting).end();
  yaml.begin("target").text("type", "AverageValue");
  const int target = scale ? std::max(1, static_cast<int>(scale->target)) : kWaitingTarget;
  yaml.text("averageValue", std::to_string(target)).end().end().end_item().end();
  yaml.begin("behavior").begin("scaleDown").comment("Running requests may finish first.");
  const double hold = scale ? std::min(3600.0, scale->hold.base()) : kScaleDownWait.base();
  yaml.number("stabilizationWindowSeconds", static_cast<int>(hold)).end().end().end();
}

void add_service(YamlWriter& yaml, const KubePlan& plan, const review::ServeView& s,
                 const std::string& name) {
  const ObjectHead head{"apps/v1", "Deployment", name, tenant_of(plan, *s.workload).name};
  add_deployment(yaml, plan, s, head);
  open_object(yaml, plan, {"v1", "Service", name, head.name_space});
  yaml.begin("spec").text("type", "ClusterIP").begin("selector").text(kAppLabel, name).end();
  yaml.begin("ports").item().text("name", "http").number("port", 80).text("targetPort", "http");
  yaml.end_item().end().end();
  add_scaler(yaml, plan, s, head);
  open_object(yaml, plan, {"policy/v1", "PodDisruptionBudget", name, head.name_space});
  yaml.begin("spec").number("maxUnavailable", 1);
  yaml.begin("selector").begin("matchLabels").text(kAppLabel, name).end().end().end();
}

std::string service_yaml(const KubePlan& plan, const review::ServeView& s,
                         const std::string& name) {
  YamlWriter yaml;
  add_service(yaml, plan, s, name);
  return stamp(plan.source, "#") + yaml.result();
}

void add_isolation(YamlWriter& yaml, const KubePlan& plan, const std::string& tenant) {
  open_object(yaml, plan, {"networking.k8s.io/v1", "NetworkPolicy", "only-" + tenant, tenant});
  yaml.begin("spec").blank("podSelector");
  yaml.texts("policyTypes", {"Ingress", "Egress"});
  const auto peer = [&yaml](const std::string& name_space) {
    yaml.item().begin("namespaceSelector").begin("matchLabels");
    yaml.text("kubernetes.io/metadata.name", name_space).end().end().end_item();
  };
  yaml.begin("ingress").item().begin("from");
  peer(tenant);
  yaml.end().end_item().end();
  yaml.begin("egress").item().begin("to");
  peer(tenant);
  yaml.end().end_item();
  yaml.item().begin("to");
  peer("kube-system");
  yaml.end().begin("ports");
  for (const char* protocol : {"UDP", "TCP"}) {
    yaml.item().number("port", 53).text("protocol", protocol).end_item();
  }
  yaml.end().end_item().end().end();
}

// A design does not name its driver. This one exists nowhere, so that no bucket is created by
// chance.
constexpr std::string_view kBucketDriver = "objectstorage.example.com";

void add_bucket(YamlWriter& yaml, const KubePlan& plan, const machine::Tier& tier,
                const std::string& name) {
  constexpr std::string_view kApi = "objectstorage.k8s.io/v1alpha1";
  const auto profile = profile_annotations(tier, plan.review.catalog());
  open_object(yaml, plan, {kApi, "BucketClass", name, {}, profile});
  yaml.comment("Use the driver of your storage; data of a run outlives the claim.");
  yaml.text("driverName", kBucketDriver).text("deletionPolicy", "Retain");
  open_object(yaml, plan, {kApi, "BucketAccessClass", name});
  yaml.text("driverName", kBucketDriver).text("authenticationType", "KEY");
  for (const Tenant& tenant : plan.tenants) {
    open_object(yaml, plan, {kApi, "BucketClaim", name, tenant.name, profile});
    yaml.begin("spec").text("bucketClassName", name).texts("protocols", {"S3"}).end();
    open_object(yaml, plan, {kApi, "BucketAccess", name, tenant.name});
    yaml.begin("spec").text("bucketClaimName", name).text("bucketAccessClassName", name);
    yaml.text("credentialsSecretName", name + "-keys").text("protocol", "S3").end();
  }
}

}  // namespace

Result<EmittedFiles> service_files(const KubePlan& plan) {
  EmittedFiles files;
  Diagnostics faults;
  for (const review::ServeView& s : plan.review.serves) {
    const auto fleet = std::ranges::find(plan.hosts.fleets, s.fleet, &HostFleet::view);
    if (!s.feasible() || fleet == plan.hosts.fleets.end()) continue;
    // "chatbot in europe, pool" is the label of a zone; its object is chatbot-in-europe-pool.
    std::string plain = s.label;
    std::erase(plain, ',');
    std::ranges::replace(plain, ' ', '-');
    const auto name =
        checked_name(plain, NameRule::dns_label,
                     {"the service", design::place_of(plan.review.design(), s.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    files.push_back({"service-" + *name + ".yaml", service_yaml(plan, s, *name)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return files;
}

std::string isolation_yaml(const KubePlan& plan) {
  std::set<std::string> isolated;
  for (const design::Workload& w : plan.review.design().workloads) {
    if (w.terms.isolate_tenant) isolated.insert(tenant_of(plan, w).name);
  }
  if (isolated.empty()) return {};
  YamlWriter yaml;
  for (const std::string& tenant : isolated) add_isolation(yaml, plan, tenant);
  return stamp(plan.source, "#") + yaml.result();
}

Result<std::string> buckets_yaml(const KubePlan& plan) {
  YamlWriter yaml;
  Diagnostics faults;
  for (const machine::Tier& tier : plan.review.tiers()) {
    if (tier.tier->kind != design::TierKind::object) continue;
    const auto name =
        checked_name(tier.label, NameRule::dns_label,
                     {"the tier", design::place_of(plan.review.design(), tier.path + ".name")});
    if (name) {
      add_bucket(yaml, plan, tier, *name);
    } else {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  if (yaml.result().empty()) return std::string();
  return stamp(plan.source, "#") + yaml.result();
}

}  // namespace orrery::emit
