// A training run as a RayJob (KubeRay): a head without accelerators and one worker per host, each
// with the same pod as in a JobSet.
#include "output/emit/kubernetes_parts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

// The head schedules and serves the dashboard. An assumption that fits clusters of hundreds of
// workers.
constexpr const char* kHeadCpu = "8";
constexpr const char* kHeadMemory = "32Gi";

void add_head(YamlWriter& yaml) {
  yaml.begin("headGroupSpec").begin("rayStartParams").text("num-gpus", "0").end();
  yaml.begin("template").begin("spec").begin("containers").item().text("name", "head");
  yaml.comment("Use the same image as the workers.");
  yaml.text("image", "example.invalid/train:1");
  yaml.begin("resources").begin("limits").text("cpu", kHeadCpu).text("memory", kHeadMemory);
  yaml.end().end().end_item().end().end().end().end();
}

}  // namespace

std::string ray_job_yaml(const KubePlan& plan, const review::TrainView& train,
                         const std::string& name) {
  const Tenant& tenant = tenant_of(plan, *train.workload);
  YamlWriter yaml;
  yaml.document();
  yaml.text("apiVersion", "ray.io/v1").text("kind", "RayJob").begin("metadata");
  yaml.text("name", name).text("namespace", tenant.name);
  yaml.begin("labels").text("kueue.x-k8s.io/queue-name", tenant.name).end();
  yaml.begin("annotations").text("orrery/emitted-from", stamp_text(plan.source)).end().end();
  yaml.begin("spec").comment("Kueue starts it.");
  yaml.flag("suspend", true).text("entrypoint", "train").flag("shutdownAfterJobFinishes", true);
  yaml.begin("rayClusterSpec");
  add_head(yaml);
  yaml.begin("workerGroupSpecs").item().text("groupName", "workers");
  yaml.number("replicas", train.hosts).number("minReplicas", train.hosts);
  yaml.number("maxReplicas", train.hosts);
  yaml.blank("rayStartParams");
  add_run_pod(yaml, plan, train, name);
  yaml.end_item().end().end().end();
  return stamp(plan.source, "#") + yaml.result();
}

}  // namespace orrery::emit
