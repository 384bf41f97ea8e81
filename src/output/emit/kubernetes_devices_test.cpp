#include <gtest/gtest.h>

#include "output/emit/kubernetes.h"
#include "output/emit/pods_fixture.h"

namespace orrery::emit {
namespace {

std::string device_file(std::string_view path, const KubernetesOptions& options = {}) {
  const auto r = reviewed_as_pods(read_text(kPodsDesign));
  const auto files = emit_kubernetes(*r->review, r->source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files ? directives(text_of(*files, path)) : "";
}

// 80 GB, of which the driver leaves 95 %, are 70.8 GiB.
constexpr std::string_view kDeviceFile =
    R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu-70gi
spec:
  selectors:
    - cel:
)"
    "        expression: \"device.driver == 'gpu.nvidia.com' && "
    "device.attributes['gpu.nvidia.com'].type == 'gpu' && "
    "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('70Gi')) >= 0\"\n"
    R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: mig-1g-18gb
spec:
  selectors:
    - cel:
)"
    "        expression: \"device.driver == 'gpu.nvidia.com' && "
    "device.attributes['gpu.nvidia.com'].type == 'mig' && "
    "device.attributes['gpu.nvidia.com'].profile == '1g.18gb'\"\n"
    R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: mig-2g-35gb
spec:
  selectors:
    - cel:
)"
    "        expression: \"device.driver == 'gpu.nvidia.com' && "
    "device.attributes['gpu.nvidia.com'].type == 'mig' && "
    "device.attributes['gpu.nvidia.com'].profile == '2g.35gb'\"\n"
    R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: whole-host
  namespace: vision
spec:
  spec:
    devices:
      requests:
        - name: accelerators
          exactly:
            deviceClassName: gpu-70gi
            allocationMode: ExactCount
            count: 8
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: cut-mig-1g-18gb
  namespace: vision
spec:
  spec:
    devices:
      requests:
        - name: accelerators
          exactly:
            deviceClassName: mig-1g-18gb
            allocationMode: ExactCount
            count: 1
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: cut-mig-2g-35gb
  namespace: vision
spec:
  spec:
    devices:
      requests:
        - name: accelerators
          exactly:
            deviceClassName: mig-2g-35gb
            allocationMode: ExactCount
            count: 1
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: whole-host
  namespace: shared
spec:
  spec:
    devices:
      requests:
        - name: accelerators
          exactly:
            deviceClassName: gpu-70gi
            allocationMode: ExactCount
            count: 8
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: cut-mig-1g-18gb
  namespace: shared
spec:
  spec:
    devices:
      requests:
        - name: accelerators
          exactly:
            deviceClassName: mig-1g-18gb
            allocationMode: ExactCount
            count: 1
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: cut-mig-2g-35gb
  namespace: shared
spec:
  spec:
    devices:
      requests:
        - name: accelerators
          exactly:
            deviceClassName: mig-2g-35gb
            allocationMode: ExactCount
            count: 1
)";

TEST(KubernetesDevices, every_tenant_can_claim_every_fleet) {
  EXPECT_EQ(device_file("devices.yaml"), kDeviceFile);
}

constexpr std::string_view kMigFile =
    R"(---
apiVersion: v1
kind: ConfigMap
metadata:
  name: orrery-mig-config
  namespace: gpu-operator
data:
  config.yaml: |
    version: v1
    mig-configs:
      all-disabled:
        - devices: all
          mig-enabled: false
      cut:
        - devices: all
          mig-enabled: true
          mig-devices:
            "1g.18gb": 3
            "2g.35gb": 2
)";

constexpr std::string_view kOperatorFile =
    R"(driver:
  enabled: true
  rdma:
    enabled: true
toolkit:
  enabled: true
devicePlugin:
  enabled: true
gds:
  enabled: false
nfd:
  enabled: true
gfd:
  enabled: true
mig:
  strategy: mixed
migManager:
  enabled: true
  config:
    name: orrery-mig-config
    default: all-disabled
dcgmExporter:
  enabled: true
  config:
    name: orrery-dcgm-counters
)";

TEST(KubernetesDevices, the_gpu_operator_cuts_the_slices) {
  EXPECT_EQ(device_file("mig.yaml"), kMigFile);
  EXPECT_EQ(device_file("gpu-operator-values.yaml"), kOperatorFile);
}

// 97 TB are 90,338 GiB, divided into 15 % and 85 %.
constexpr std::string_view kStorageFile =
    R"(---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: files
provisioner: nfs.csi.k8s.io
reclaimPolicy: Retain
volumeBindingMode: Immediate
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: files
  namespace: vision
spec:
  accessModes: [ReadWriteMany]
  storageClassName: files
  resources:
    requests:
      storage: "13550Gi"
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: files
  namespace: shared
spec:
  accessModes: [ReadWriteMany]
  storageClassName: files
  resources:
    requests:
      storage: "76787Gi"
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: disks
provisioner: kubernetes.io/no-provisioner
reclaimPolicy: Retain
volumeBindingMode: Immediate
allowVolumeExpansion: false
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: node-nvme
provisioner: kubernetes.io/no-provisioner
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: false
)";

TEST(KubernetesDevices, tiers_are_storage_classes_and_claims) {
  EXPECT_EQ(device_file("storage.yaml"), kStorageFile);
}

constexpr std::string_view kBucketFile =
    R"(---
apiVersion: objectstorage.k8s.io/v1alpha1
kind: BucketClass
metadata:
  name: shelf
driverName: objectstorage.example.com
deletionPolicy: Retain
---
apiVersion: objectstorage.k8s.io/v1alpha1
kind: BucketAccessClass
metadata:
  name: shelf
driverName: objectstorage.example.com
authenticationType: KEY
---
apiVersion: objectstorage.k8s.io/v1alpha1
kind: BucketClaim
metadata:
  name: shelf
  namespace: vision
spec:
  bucketClassName: shelf
  protocols: [S3]
---
apiVersion: objectstorage.k8s.io/v1alpha1
kind: BucketAccess
metadata:
  name: shelf
  namespace: vision
spec:
  bucketClaimName: shelf
  bucketAccessClassName: shelf
  credentialsSecretName: shelf-keys
  protocol: S3
)";

constexpr std::string_view kVolumeFile =
    R"(---
apiVersion: v1
kind: PersistentVolume
metadata:
  name: shelf-vision
spec:
  accessModes: [ReadWriteMany]
  capacity:
    storage: "1Ti"
  storageClassName: ""
  persistentVolumeReclaimPolicy: Retain
)"
    "  mountOptions: [\"endpoint-url http://s-1:81\", force-path-style, \"region "
    "us-east-1\", \"prefix vision/\", allow-delete, allow-overwrite]\n"
    R"(  csi:
    driver: s3.csi.aws.com
    volumeHandle: shelf-vision
    volumeAttributes:
      bucketName: shelf
  claimRef:
    namespace: vision
    name: shelf
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: shelf
  namespace: vision
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeName: shelf-vision
  resources:
    requests:
      storage: "1Ti"
)";

TEST(KubernetesDevices, every_tenant_has_its_bucket_and_volume) {
  const std::string buckets = device_file("buckets.yaml");
  EXPECT_EQ(buckets.substr(0, kBucketFile.size()), kBucketFile);
  const std::string volumes = device_file("object-volumes.yaml", {.object_store = "http://s-1:81"});
  EXPECT_EQ(volumes.substr(0, kVolumeFile.size()), kVolumeFile);
  EXPECT_NE(volumes.find("name: shelf-shared\n"), std::string::npos);
}

// By kind of tier and vendor; volumes without a provisioner cannot grow.
TEST(KubernetesDevices, a_tier_is_provisioned_by_the_driver_of_its_kind) {
  const auto made = [](design::TierKind kind, const std::string& provider) {
    design::Design design = read_text(kPodsDesign);
    design.storage[0].kind = kind;
    design.storage[0].provider = provider;
    const auto r = reviewed_as_pods(design);
    const auto files = emit_kubernetes(*r->review, r->source);
    if (!files) return to_text(files.error());
    const std::string text = text_of(*files, "storage.yaml");
    const std::size_t at = text.find("provisioner: ");
    const std::size_t grows = text.find("allowVolumeExpansion: ", at) + 22;
    return text.substr(at + 13, text.find('\n', at) - at - 13) + ' ' +
           text.substr(grows, text.find('\n', grows) - grows);
  };
  using design::TierKind;
  EXPECT_EQ(made(TierKind::nfs, ""), "nfs.csi.k8s.io true");
  EXPECT_EQ(made(TierKind::nfs, "gcp"), "filestore.csi.storage.gke.io true");
  EXPECT_EQ(made(TierKind::nfs, "elsewhere"), "nfs.csi.k8s.io true");
  EXPECT_EQ(made(TierKind::parallel_fs, "azure"), "azurelustre.csi.azure.com true");
  EXPECT_EQ(made(TierKind::parallel_fs, ""), "kubernetes.io/no-provisioner false");
}

}  // namespace
}  // namespace orrery::emit
