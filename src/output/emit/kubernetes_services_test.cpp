#include <gmock/gmock.h>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_fixture.h"
#include "output/emit/pods_fixture.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using ::testing::HasSubstr;
using testing::HasSubstr;
using ::testing::Not;
using testing::Not;

// Returns the text after the metadata of each object.
std::string bodies(const std::string& text) {
  std::string out;
  bool head = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line == "---" || line.starts_with("metadata:")) head = true;
    if (line.starts_with("spec:")) head = false;
    if (!head && !line.starts_with("# ")) out += line + "\n";
    if (line.starts_with("kind:")) out += line + "\n";
  }
  return out;
}

TEST(KubernetesServices, engine_arguments_have_both_parallel_sizes) {
  design::Design design = read_template("inference-pod");
  auto& serve = std::get<design::Serve>(design.workloads.front().task);
  serve.engine = "vllm";
  serve.tp = 4;
  serve.pp = 2;
  const auto r = reviewed(design);
  const review::ServeView& view = r->review->serves.front();
  ASSERT_TRUE(view.feasible());
  ASSERT_EQ(view.devices_per_replica, 8);
  EXPECT_THAT(text_of(kubernetes_of(*reviewed(design)), "service-" + view.label + ".yaml"),
              HasSubstr("\"--tensor-parallel-size\", \"4\", \"--pipeline-parallel-size\", \"2\""));
}

TEST(KubernetesServices, engine_arguments_have_the_weight_format) {
  const auto emitted = [](catalog::Precision precision) {
    design::Design design = read_template("inference-pod");
    auto& serve = std::get<design::Serve>(design.workloads.front().task);
    serve.precision = precision;
    const auto r = reviewed(design);
    EXPECT_TRUE(r->review->serves.front().feasible());
    return text_of(kubernetes_of(*reviewed(design)),
                   "service-" + r->review->serves.front().label + ".yaml");
  };
  const auto as_option = HasSubstr("\"--quantization\", fp8");
  const auto on_disk = HasSubstr("must be a 4-bit checkpoint");
  EXPECT_THAT(emitted(catalog::Precision::fp8), AllOf(as_option, Not(on_disk)));
  EXPECT_THAT(emitted(catalog::Precision::bf16), AllOf(Not(as_option), Not(on_disk)));
  EXPECT_THAT(emitted(catalog::Precision::int4), AllOf(Not(as_option), on_disk));
}

TEST(KubernetesServices, engine_arguments_have_the_adapters) {
  const auto emitted = [](const std::string& engine, const design::Adapters& adapters) {
    design::Design design = read_template("inference-pod");
    auto& serve = std::get<design::Serve>(design.workloads.front().task);
    serve.engine = engine;
    serve.adapters = adapters;
    const auto r = reviewed(design);
    EXPECT_TRUE(r->review->serves.front().feasible()) << r->review->serves.front().infeasible;
    return text_of(kubernetes_of(*reviewed(design)),
                   "service-" + r->review->serves.front().label + ".yaml");
  };
  const std::string all = emitted("vllm", {.count = 200, .rank = 12, .slots = 8});
  EXPECT_THAT(all, HasSubstr("\"--enable-lora\", \"--max-loras\", \"8\", \"--max-lora-rank\", "
                             "\"16\", \"--max-cpu-loras\", \"200\""));
  EXPECT_THAT(all, Not(HasSubstr("--lora-target-modules")));
  EXPECT_THAT(emitted("vllm", {.count = 2, .slots = 4, .targets = {"qkv", "o"}}),
              HasSubstr("\"--max-cpu-loras\", \"4\", \"--lora-target-modules\", qkv_proj, o_proj"));
  EXPECT_THAT(emitted("sglang", {.count = 200, .rank = 12, .slots = 8, .targets = {"mlp"}}),
              HasSubstr("\"--enable-lora\", \"--max-loras-per-batch\", \"8\", \"--max-lora-rank\", "
                        "\"12\", \"--lora-target-modules\", gate_proj, up_proj, down_proj"));
}

constexpr std::string_view kDesk = R"(
orrery: 1
name: desk
site: { region: deu }
fleet:
  - { name: whole, node: dgx-h100, count: 6 }
  - { name: cut, node: dgx-h200, count: 3, mig: { 2g.35gb: 3 } }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler: { kind: kubernetes, topology: none, quotas: [{ tenant: vision, share: 0.37 }] }
workloads:
  - serve:
      name: chat
      fleet: whole
      model: llama-3-70b
      engine: sglang
      tp: 8
      tenant: vision
      isolate_tenant: true
      precision: int4
      adapters: { count: 9, rank: 24, slots: 5 }
      autoscale: { min: 2, max: 6, target: 33, hold: 7 min }
      arrivals: { rate: 1 /s, peak: 3, trace: chat }
      objective: { ttft_p99: 9 s, tpot_p99: 200 ms }
  - serve:
      name: small
      fleet: cut
      model: llama-3-8b
      engine: vllm
      max_batch: 48
      prefix_cache: false
      chunked_prefill: false
      arrivals: { rate: 4 /s, peak: 3, trace: chat }
      objective: { ttft_p99: 9 s, tpot_p99: 200 ms }
)";

std::string desk_file(const ReviewedExample& r, std::string_view path) {
  const auto files = emit_kubernetes(*r.review, r.source);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files ? directives(text_of(*files, path)) : "";
}

// Six replicas of eight GPUs each, at least two; 33 requests run in one; weights load within seven
// minutes.
constexpr std::string_view kChat =
    R"(---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: vision
spec:
  replicas: 6
  selector:
    matchLabels:
      app.kubernetes.io/name: chat
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 0
      maxUnavailable: 1
  template:
    metadata:
      labels:
        app.kubernetes.io/name: chat
    spec:
      nodeSelector:
        fleet.orrery/name: whole
      containers:
        - name: serve
          image: "example.invalid/sglang:1"
)"
    "          args: [\"--model-path\", llama-3-70b, \"--tp-size\", \"8\", \"--enable-lora\", "
    "\"--max-loras-per-batch\", \"5\", \"--max-lora-rank\", \"24\", \"--lora-target-modules\", "
    "q_proj, "
    "k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]\n"
    R"(          ports:
            - name: http
              containerPort: 8000
          startupProbe:
            httpGet:
              path: "/health"
              port: 8000
            periodSeconds: 10
            failureThreshold: 120
          readinessProbe:
            httpGet:
              path: "/health"
              port: 8000
            periodSeconds: 10
            failureThreshold: 3
          resources:
            limits:
              nvidia.com/gpu: 8
---
apiVersion: v1
kind: Service
metadata:
  name: chat
  namespace: vision
spec:
  type: ClusterIP
  selector:
    app.kubernetes.io/name: chat
  ports:
    - name: http
      port: 80
      targetPort: http
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: chat
  namespace: vision
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: chat
  minReplicas: 2
  maxReplicas: 6
  metrics:
    - type: Pods
      pods:
        metric:
          name: "vllm:num_requests_running"
        target:
          type: AverageValue
          averageValue: "33"
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 420
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: chat
  namespace: vision
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: chat
)";

constexpr std::string_view kSmallsPod =
    R"(    spec:
      nodeSelector:
        fleet.orrery/name: cut
      containers:
        - name: serve
          image: "example.invalid/vllm:1"
          args: ["--model", llama-3-8b, "--tensor-parallel-size", "1", "--max-num-seqs", "48"]
          ports:
            - name: http
              containerPort: 8000
          startupProbe:
            httpGet:
              path: "/health"
              port: 8000
            periodSeconds: 10
            failureThreshold: 120
          readinessProbe:
            httpGet:
              path: "/health"
              port: 8000
            periodSeconds: 10
            failureThreshold: 3
          resources:
            limits:
              nvidia.com/mig-2g.35gb: 1
)";

constexpr std::string_view kOnlyVision =
    R"(---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: only-vision
  namespace: vision
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
  ingress:
    - from:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: vision
  egress:
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: vision
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: kube-system
      ports:
        - port: 53
          protocol: UDP
        - port: 53
          protocol: TCP
)";

TEST(KubernetesServices, an_autoscaled_service_has_a_scaler) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  r->review->serves[0].replicas = 6;
  EXPECT_EQ(desk_file(*r, "service-chat.yaml"), kChat);
}

TEST(KubernetesServices, a_service_on_slices_claims_its_slice) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  EXPECT_THAT(desk_file(*r, "service-small.yaml"), HasSubstr(std::string(kSmallsPod)));
}

TEST(KubernetesServices, an_isolated_tenant_has_network_policies) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  EXPECT_EQ(desk_file(*r, "isolation.yaml"), kOnlyVision);
}

// Two to six replicas: the least number shrinks with the peak's, and is at least one.
TEST(KubernetesServices, least_replicas_of_an_autoscaled_service) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  const auto scale = [&](double replicas) {
    r->review->serves[0].replicas = replicas;
    const std::string text = desk_file(*r, "service-chat.yaml");
    const std::size_t at = text.find("  minReplicas: ");
    return text.substr(at, text.find("  metrics:", at) - at);
  };
  EXPECT_EQ(scale(3), "  minReplicas: 1\n  maxReplicas: 3\n");
  EXPECT_EQ(scale(3.2), "  minReplicas: 2\n  maxReplicas: 4\n");
  EXPECT_EQ(scale(0.3), "  minReplicas: 1\n  maxReplicas: 1\n");
  EXPECT_EQ(scale(5), "  minReplicas: 2\n  maxReplicas: 5\n");
  EXPECT_EQ(scale(12), "  minReplicas: 4\n  maxReplicas: 12\n");
}

TEST(KubernetesServices, least_replicas_of_a_fixed_service) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  review::ServeView& s = r->review->serves[1];
  const auto scale = [&](double replicas, double needed, double rate, double peak) {
    s.replicas = replicas;
    s.replicas_needed = needed;
    s.rate = PerSecond(rate);
    s.peak = PerSecond(peak);
    const std::string text = desk_file(*r, "service-small.yaml");
    const std::size_t at = text.find("  minReplicas: ");
    return text.substr(at, text.find("  metrics", at) - at);
  };
  EXPECT_EQ(scale(20, 17, 2, 5), "  minReplicas: 7\n  maxReplicas: 20\n");    // 17 / 2.5
  EXPECT_EQ(scale(20, 17.5, 2, 5), "  minReplicas: 7\n  maxReplicas: 20\n");  // 7 exactly
  EXPECT_EQ(scale(20, 17.6, 2, 5), "  minReplicas: 8\n  maxReplicas: 20\n");  // 7.04
  EXPECT_EQ(scale(20, 17, 0, 5), "  minReplicas: 17\n  maxReplicas: 20\n");   // no traffic
  EXPECT_EQ(scale(20, 17, 5, 2), "  minReplicas: 17\n  maxReplicas: 20\n");   // no peak
  EXPECT_EQ(scale(2, 1, 1, 1), "  minReplicas: 2\n  maxReplicas: 2\n");       // one may fail
  EXPECT_EQ(scale(1, 0.5, 1, 1), "  minReplicas: 1\n  maxReplicas: 1\n");
  EXPECT_EQ(scale(3, 9, 1, 1), "  minReplicas: 3\n  maxReplicas: 3\n");
}

TEST(KubernetesServices, scaler_numbers_are_what_kubernetes_accepts) {
  design::Design design = read_text(kDesk);
  auto& scale = *std::get<design::Serve>(design.workloads[0].task).autoscale;
  scale.target = 0.4;
  scale.hold = hours(2);
  EXPECT_THAT(desk_file(*reviewed_as_pods(design), "service-chat.yaml"),
              testing::AllOf(HasSubstr("averageValue: \"1\"\n"),
                             HasSubstr("stabilizationWindowSeconds: 3600\n")));
}

TEST(KubernetesServices, a_chat_in_fp8_has_its_objects) {
  auto r = reviewed(read_template("inference-pod"));
  review::ServeView& s = r->review->serves[0];
  s.replicas = 16;
  s.replicas_needed = 15;
  s.peak = PerSecond(150);
  s.rate = PerSecond(75);
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  const std::string text = directives(bodies(text_of(*files, "service-chat.yaml")));
  EXPECT_THAT(text,
              HasSubstr("kind: Deployment\nspec:\n  replicas: 16\n  selector:\n    matchLabels:\n"
                        "      app.kubernetes.io/name: chat\n  strategy:\n    type: RollingUpdate\n"
                        "    rollingUpdate:\n"
                        "      maxSurge: 0\n      maxUnavailable: 1\n"));
  EXPECT_THAT(text, HasSubstr("image: \"example.invalid/vllm:1\"\n"));
  EXPECT_THAT(text, HasSubstr("\"--tensor-parallel-size\", \"4\", \"--quantization\", fp8, "
                              "\"--kv-cache-dtype\", fp8, \"--enable-prefix-caching\", "
                              "\"--enable-chunked-prefill\"]\n"));
  EXPECT_THAT(text, HasSubstr("containerPort: 8000\n"));
  EXPECT_THAT(text, HasSubstr("startupProbe:"));
  EXPECT_THAT(text, HasSubstr("failureThreshold: 120\n"));
  EXPECT_THAT(text, HasSubstr("failureThreshold: 3\n"));
  EXPECT_THAT(text, HasSubstr("nvidia.com/gpu: 4\n"));
  EXPECT_THAT(text, HasSubstr("kind: Service\nspec:\n  type: ClusterIP\n"));
  EXPECT_THAT(text, HasSubstr("port: 80\n      targetPort: http\n"));
  EXPECT_THAT(text, HasSubstr("  minReplicas: 8\n  maxReplicas: 16\n"));
  EXPECT_THAT(text, HasSubstr("averageValue: \"2\"\n"));
  EXPECT_THAT(text, HasSubstr("stabilizationWindowSeconds: 300\n"));
  EXPECT_THAT(text, HasSubstr("kind: PodDisruptionBudget\nspec:\n  maxUnavailable: 1\n"
                              "  selector:\n    matchLabels:\n"
                              "      app.kubernetes.io/name: chat\n"));
  s.replicas = 1;
  s.replicas_needed = 0.5;
  EXPECT_THAT(text_of(*emit_kubernetes(*r->review, r->source), "service-chat.yaml"),
              HasSubstr("  minReplicas: 1\n  maxReplicas: 1\n"));
  s.label = "No_Name";
  EXPECT_FALSE(emit_kubernetes(*r->review, r->source));
}

}  // namespace
}  // namespace orrery::emit
