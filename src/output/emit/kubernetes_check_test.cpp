#include <gmock/gmock.h>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_fixture.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns "KIND FIELD" per fault.
std::vector<std::string> places_of(const Diagnostics& faults) {
  std::vector<std::string> all;
  for (const Diagnostic& d : faults) {
    EXPECT_EQ(d.code, "emit.schema");
    all.push_back(d.what.substr(0, d.what.find(": ")));
  }
  return all;
}

using ::testing::HasSubstr;

const std::string kTopology = "kueue.x-k8s.io/v1beta2\nkind: Topology";
const std::string kQueue = "kueue.x-k8s.io/v1beta2\nkind: LocalQueue";
const std::string kClass = "storage.k8s.io/v1\nkind: StorageClass";

std::vector<std::string> faults_in(const std::string& kind, const std::string& body) {
  const std::string yaml = "apiVersion: " + kind + "\nmetadata:\n  name: a\n" + body;
  return places_of(check_kubernetes(yaml, "f.yaml").faults);
}

constexpr std::string_view kGood = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: { name: a }
spec:
  queueingStrategy: StrictFIFO
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{ name: f, resources: [{ name: cpu, nominalQuota: "9" }] }]
)";

std::string broken(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<std::string> faults_of(std::string_view yaml) {
  return places_of(check_kubernetes(yaml, "t.yaml").faults);
}

TEST(KubernetesCheck, each_kind_of_fault_is_found) {
  const std::string flavors = "ClusterQueue spec.resourceGroups[].flavors[]";
  EXPECT_THAT(faults_of(kGood), IsEmpty());
  EXPECT_THAT(
      faults_of(broken("nominalQuota", "nominalQuta")),
      ElementsAre(flavors + ".resources[].nominalQuta", flavors + ".resources[].nominalQuota"));
  EXPECT_THAT(faults_of(broken("StrictFIFO", "Strict")),
              ElementsAre("ClusterQueue spec.queueingStrategy"));
  EXPECT_THAT(faults_of(broken("\"9\"", "nine")),
              ElementsAre(flavors + ".resources[].nominalQuota"));
  EXPECT_THAT(faults_of(broken("[cpu]", "cpu")),
              ElementsAre("ClusterQueue spec.resourceGroups[].coveredResources"));
  EXPECT_THAT(faults_of(broken("name: f,", "name: 7,")), ElementsAre(flavors + ".name"));
  EXPECT_THAT(faults_of(broken("name: a", "name: A_b")), ElementsAre("ClusterQueue metadata.name"));
  EXPECT_EQ(faults_of(broken("kind: ClusterQueue", "kind: Clusterqueue")).size(), 1U);
  EXPECT_FALSE(check_kubernetes("a: [", "t.yaml").faults.empty());
}

TEST(KubernetesCheck, the_summary_lists_what_was_not_checked) {
  const auto r = reviewed(read_template("cloud-rental"));
  const std::string text = kubernetes_check_text(kubernetes_of(*r));
  EXPECT_THAT(text, HasSubstr("JobSet (jobset.x-k8s.io/v1alpha2): 1"));
  EXPECT_THAT(text, HasSubstr("gpu-operator-values.yaml"));
}

TEST(KubernetesCheck, value_types_are_checked) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(faults_in(kClass,
                      "provisioner: x\nallowVolumeExpansion: true\nreclaimPolicy: Retain\n"
                      "mountOptions: [a]\nparameters: { a.b/c: d }\n"),
            Texts{});
  EXPECT_EQ(faults_in(kClass, "provisioner: 12\n"), Texts{"StorageClass provisioner"});
  EXPECT_EQ(faults_in(kClass, "provisioner: true\n"), Texts{"StorageClass provisioner"});
  EXPECT_EQ(faults_in(kClass, "provisioner: \"12\"\n"), Texts{});
  EXPECT_EQ(faults_in(kClass, "provisioner: [a]\n"), Texts{"StorageClass provisioner"});
  EXPECT_EQ(faults_in(kClass, "allowVolumeExpansion: true\n"), Texts{"StorageClass provisioner"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nallowVolumeExpansion: \"true\"\n"),
            Texts{"StorageClass allowVolumeExpansion"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nreclaimPolicy: Keep\n"),
            Texts{"StorageClass reclaimPolicy"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nmountOptions: a\n"),
            Texts{"StorageClass mountOptions"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nparameters: [a]\n"),
            Texts{"StorageClass parameters"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nparameters: { \"a b\": c }\n"),
            Texts{"StorageClass parameters"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nspeed: 1\n"), Texts{"StorageClass speed"});
  EXPECT_EQ(faults_in(kQueue, "spec: a\n"), Texts{"LocalQueue spec"});
}

TEST(KubernetesCheck, required_fields_and_quantities_are_checked) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(faults_in(kTopology, "spec:\n  levels:\n    - nodeLabel: a\n"), Texts{});
  EXPECT_EQ(faults_in(kTopology, "spec:\n  levels:\n    - {}\n"),
            Texts{"Topology spec.levels[].nodeLabel"});
  EXPECT_EQ(faults_in(kTopology, "spec: {}\n"), Texts{"Topology spec.levels"});
  for (const char* good : {"1", "0.5", "500m", "36Gi", "2E", "\"3Ki\""}) {
    EXPECT_EQ(faults_in(kQueue, std::string("spec: { fairSharing: { weight: ") + good + " } }\n"),
              Texts{})
        << good;
  }
  for (const char* bad : {"x", "Gi", "1g", "1GiB", "-1", "1.2.3"}) {
    EXPECT_EQ(faults_in(kQueue, std::string("spec: { fairSharing: { weight: ") + bad + " } }\n"),
              Texts{"LocalQueue spec.fairSharing.weight"})
        << bad;
  }
}

TEST(KubernetesCheck, names_labels_and_kinds_are_checked) {
  const auto said = [](const std::string& metadata) {
    const auto check = check_kubernetes(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\n"
        "provisioner: x\nmetadata: " +
            metadata + "\n",
        "f.yaml");
    return places_of(check.faults);
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(said("{ name: a.b-c, namespace: n, labels: { x.y/z_1: \"1\" } }"), Texts{});
  EXPECT_EQ(said("{ name: A }"), Texts{"StorageClass metadata.name"});
  EXPECT_EQ(said("{ name: a, namespace: N }"), Texts{"StorageClass metadata.namespace"});
  EXPECT_EQ(said("{ name: a, labels: { k: 1 } }"), Texts{"StorageClass metadata"});
  EXPECT_EQ(said("{ name: a, annotations: { X.y/z: a } }"), Texts{"StorageClass metadata"});
  EXPECT_EQ(said("{ name: a, labels: { a-: b } }"), Texts{"StorageClass metadata"});
  const auto check = check_kubernetes(
      "# only words\n---\napiVersion: v1\nkind: Pod\nmetadata: { name: a }\n---\napiVersion: "
      "v1\nkind: ConfigMap\nmetadata: { name: a }\nbinaryData: { x: y }\ndata: { a: b }\n",
      "f.yaml");
  ASSERT_EQ(check.objects.size(), 2U);
  EXPECT_FALSE(check.objects[0].known);
  EXPECT_EQ(check.objects[0].kind, "Pod");
  ASSERT_EQ(check.faults.size(), 1U);
  EXPECT_TRUE(check.objects[1].known);
  EXPECT_EQ(check.objects[1].api_version, "v1");
  EXPECT_EQ(check.objects[1].fields_checked, 4);
  EXPECT_EQ(check.objects[1].unchecked, Texts{"binaryData.x"});
}

}  // namespace
}  // namespace orrery::emit
