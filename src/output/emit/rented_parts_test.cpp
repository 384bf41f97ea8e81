// Rented fleets as Terraform, a service as Kubernetes objects and the variables of a run, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "output/emit/kubernetes.h"
#include "output/emit/review_fixture.h"
#include "output/emit/run_terms.h"
#include "output/emit/terraform_parts.h"

namespace orrery::emit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RentedPart part_at(const char* provider, catalog::Contract contract) {
  RentedPart p;
  p.name = "train";
  p.provider = provider;
  p.instance = {.name = "big-8", .network_cards = 2};
  p.hosts = 3;
  p.contract = contract;
  return p;
}

TEST(RentedFleets, AtGoogle) {
  const std::string text = fleet_tf(part_at("gcp", catalog::Contract::spot));
  EXPECT_THAT(text, HasSubstr("resource \"google_compute_resource_policy\" \"train\" {\n"));
  EXPECT_THAT(text, HasSubstr("collocation = \"COLLOCATED\"\n"));
  EXPECT_THAT(text, HasSubstr("= \"train-${count.index + 1}\"\n"));
  EXPECT_THAT(text, HasSubstr("= [google_compute_resource_policy.train.id]\n"));
  EXPECT_THAT(text, HasSubstr("= { fleet = \"train\" }\n"));
  EXPECT_THAT(text, HasSubstr("size  = 500\n"));
  EXPECT_THAT(text, HasSubstr("    on_host_maintenance         = \"TERMINATE\"\n"
                              "    automatic_restart           = false\n"
                              "    preemptible                 = true\n"
                              "    provisioning_model          = \"SPOT\"\n"
                              "    instance_termination_action = \"STOP\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("reservation_affinity")));
  const std::string reserved = fleet_tf(part_at("gcp", catalog::Contract::reserved));
  EXPECT_THAT(reserved, HasSubstr("    on_host_maintenance = \"TERMINATE\"\n"
                                  "    automatic_restart   = true\n"
                                  "    preemptible         = false\n"
                                  "    provisioning_model  = \"STANDARD\"\n"));
  EXPECT_THAT(reserved, HasSubstr("reservation_affinity {\n    type = \"ANY_RESERVATION\"\n"));
  EXPECT_THAT(reserved, Not(HasSubstr("instance_termination_action")));
}

TEST(RentedFleets, AtAzure) {
  const std::string spot = fleet_tf(part_at("azure", catalog::Contract::spot));
  EXPECT_THAT(spot, HasSubstr("single_placement_group = true\n"));
  EXPECT_THAT(spot, HasSubstr("overprovision          = false\n"));
  EXPECT_THAT(spot, HasSubstr("priority               = \"Spot\"\n"));
  EXPECT_THAT(spot, HasSubstr("eviction_policy        = \"Deallocate\"\n"));
  EXPECT_THAT(spot, HasSubstr("tags                   = { fleet = \"train\" }\n"));
  EXPECT_THAT(spot, HasSubstr("instances              = 3\n"));
  const std::string plain = fleet_tf(part_at("azure", catalog::Contract::on_demand));
  EXPECT_THAT(plain, HasSubstr("= \"Regular\"\n"));
  EXPECT_THAT(plain, Not(HasSubstr("eviction_policy")));
}

TEST(RentedFleets, AtAmazon) {
  RentedPart p = part_at("aws", catalog::Contract::spot);
  const std::string spot = fleet_tf(p);
  EXPECT_THAT(spot, HasSubstr("market_type = \"spot\"\n"));
  EXPECT_THAT(spot, HasSubstr("    network_card_index = 0\n    device_index       = 0\n"
                              "    interface_type     = \"efa\"\n"
                              "    subnet_id          = var.aws_subnet\n"
                              "    security_groups    = [var.aws_security_group]\n"));
  EXPECT_THAT(spot, HasSubstr("    network_card_index = 1\n    device_index       = 1\n"
                              "    interface_type     = \"efa-only\"\n"));
  EXPECT_THAT(spot, HasSubstr("strategy = \"cluster\"\n"));
  EXPECT_THAT(spot, Not(HasSubstr("capacity_reservation")));
  p.contract = catalog::Contract::reserved;
  EXPECT_THAT(fleet_tf(p), HasSubstr("capacity_reservation_preference = \"open\"\n"));
  p.capacity_block = true;
  EXPECT_THAT(fleet_tf(p), HasSubstr("market_type = \"capacity-block\"\n"));
  EXPECT_THAT(fleet_tf(p), Not(HasSubstr("capacity_reservation_preference")));
  p.instance.network_cards = 1;
  EXPECT_THAT(fleet_tf(p), Not(HasSubstr("interface_type")));
}

TEST(RentedFleets, TheirOutputs) {
  const auto output = [](const char* provider) {
    return output_of(part_at(provider, catalog::Contract::on_demand));
  };
  EXPECT_EQ(output("aws"), "aws_instance.train[*].private_ip");
  EXPECT_EQ(output("gcp"), "google_compute_instance.train[*].network_interface[0].network_ip");
  EXPECT_EQ(output("coreweave"), "kubernetes_manifest.train.manifest.metadata.name");
  EXPECT_EQ(output("azure"), "azurerm_linux_virtual_machine_scale_set.train.unique_id");
  const std::string pool = fleet_tf(part_at("coreweave", catalog::Contract::on_demand));
  EXPECT_THAT(pool, HasSubstr("kind = \"NodePool\""));
  EXPECT_THAT(pool, HasSubstr("instanceType = \"big-8\", targetNodes = 3"));
  EXPECT_EQ(RentedPart{}.hosts, 0);
  EXPECT_EQ(InstanceType{}.network_cards, 1);
}

std::string value_in(const review::TrainView& t, std::string_view name) {
  for (const RunVariable& v : run_variables(t)) {
    if (v.name == name) return v.value;
  }
  return "none";
}

TEST(RunVariables, OfARun) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.step.step = seconds(2.34567);
  t.checkpoint->interval = seconds(100);
  t.checkpoint->stall.safe = seconds(40);
  EXPECT_EQ(value_in(t, "ORRERY_STEP_S"), "2.346");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_STEPS"), "43");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_INTERVAL_S"), "100");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_MODE"), "async");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_TIER"), "node-nvme");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_SAFE_TIER"), "hot");
  EXPECT_EQ(time_to_save(t), seconds(100)) << "a minute beside its write";
  t.checkpoint->interval = seconds(1);
  t.checkpoint->async = false;
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_STEPS"), "1");
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_MODE"), "sync");
  t.checkpoint.reset();
  EXPECT_EQ(value_in(t, "ORRERY_CHECKPOINT_STEPS"), "none");
  EXPECT_EQ(time_to_save(t), seconds(300));
}

// What stands after the objects' heads.
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

TEST(ServiceObjects, OfAChatInEightBits) {
  auto r = reviewed(read_template("inference-pod"));
  review::ServeView& s = r->review->serves[0];
  s.replicas = 16;
  s.replicas_needed = 15;
  s.peak = PerSecond(150);
  s.rate = PerSecond(75);
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  const std::string text = bodies(text_of(*files, "service-chat.yaml"));
  EXPECT_THAT(
      text,
      HasSubstr("kind: Deployment\nspec:\n  replicas: 16\n  selector:\n    matchLabels:\n"
                "      app.kubernetes.io/name: chat\n  strategy:\n    type: RollingUpdate\n"
                "    rollingUpdate:\n      # No second set of accelerators waits for a rollout.\n"
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
