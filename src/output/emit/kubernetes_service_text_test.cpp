// Services and the walls around them, whole; plans, labels and devices of trees made by hand.
#include <gmock/gmock.h>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/pods_fixture.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  return files ? unstamped(text_of(*files, path)) : "";
}

// Six replicas, two at the least, of eight GPUs each; 33 requests run in one, seven minutes pass.
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
      # No second set of accelerators waits for a rollout.
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
          # Your image; the arguments are those of the plan.
          # Its weights must be a checkpoint in 4 bits (AWQ, GPTQ or alike).
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
  # Of the design's requests in flight, those that run.
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
      # Requests that run are let finish.
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
          # Your image; the arguments are those of the plan.
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

TEST(KubernetesServiceText, OfAServiceThatFollowsItsLoad) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  r->review->serves[0].replicas = 6;
  EXPECT_EQ(desk_file(*r, "service-chat.yaml"), kChat);
}

TEST(KubernetesServiceText, OfSlicesOfOneSize) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  EXPECT_THAT(desk_file(*r, "service-small.yaml"), HasSubstr(std::string(kSmallsPod)));
}

TEST(KubernetesServiceText, WallsAroundATenant) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  EXPECT_EQ(desk_file(*r, "isolation.yaml"), kOnlyVision);
}

// Six of two to six: the least shrinks with what there is, and is one at the least.
TEST(KubernetesServiceText, TheLeastOfAServiceThatFollowsItsLoad) {
  const auto r = reviewed_as_pods(read_text(kDesk));
  const auto scale = [&](double replicas) {
    r->review->serves[0].replicas = replicas;
    const std::string text = desk_file(*r, "service-chat.yaml");
    const std::size_t at = text.find("  minReplicas: ");
    return text.substr(at, text.find("  #", at) - at);
  };
  EXPECT_EQ(scale(3), "  minReplicas: 1\n  maxReplicas: 3\n");
  EXPECT_EQ(scale(3.2), "  minReplicas: 2\n  maxReplicas: 4\n");
  EXPECT_EQ(scale(0.3), "  minReplicas: 1\n  maxReplicas: 1\n");
  EXPECT_EQ(scale(5), "  minReplicas: 2\n  maxReplicas: 5\n");
  EXPECT_EQ(scale(12), "  minReplicas: 4\n  maxReplicas: 12\n");
}

TEST(KubernetesServiceText, TheLeastOfOneThatDoesNot) {
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

TEST(KubernetesServiceText, TheScalersNumbersAreKubernetesOwn) {
  design::Design design = read_text(kDesk);
  auto& scale = *std::get<design::Serve>(design.workloads[0].task).autoscale;
  scale.target = 0.4;
  scale.hold = hours(2);
  EXPECT_THAT(desk_file(*reviewed_as_pods(design), "service-chat.yaml"),
              testing::AllOf(HasSubstr("averageValue: \"1\"\n"),
                             HasSubstr("stabilizationWindowSeconds: 3600\n")));
}

// Of a host with one core left nothing is taken for the system.
TEST(KubernetesServiceText, AHostsCores) {
  const auto cpu = [](int cores) {
    design::Design design = read_text(kDesk);
    design.fleet[1] = {.name = "plain", .node = "cpu-2s-server", .count = 4};
    design.fleet[1].custom = design::CustomNode{.cores = cores};
    design.workloads[1].terms.fleet = "plain";
    std::get<design::Serve>(design.workloads[1].task).model = "qwen3-0.6b";
    const auto r = reviewed_as_pods(design);
    r->review->serves[1].infeasible.clear();
    const std::string text = desk_file(*r, "service-small.yaml");
    const std::size_t at = text.find("          resources:\n");
    return text.substr(at, text.find("---", at) - at);
  };
  const std::string head =
      "          resources:\n            limits:\n"
      "              # A replica has the host: all its cores but those of the system.\n";
  EXPECT_EQ(cpu(97), head + "              cpu: \"95\"\n");
  EXPECT_EQ(cpu(2), head + "              cpu: \"1\"\n");
}

}  // namespace
}  // namespace orrery::emit
