#include "output/emit/object_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "output/emit/escape.h"
#include "output/emit/script.h"
#include "output/emit/stamp.h"
#include "output/emit/yaml_writer.h"

namespace orrery::emit {
namespace {

// The name of the region is arbitrary for an own store, but both ends must use the same one.
constexpr std::string_view kRegion = "us-east-1";
constexpr std::string_view kKeysFile = "/etc/orrery/object-store.keys";
constexpr std::string_view kDriver = "s3.csi.aws.com";

struct BucketTier {
  const machine::Tier* tier = nullptr;
  std::string bucket;
};

// Returns the design's own tiers, which are buckets of the store. Rented tiers are elsewhere.
Result<std::vector<BucketTier>> bucket_tiers(const review::Review& review) {
  std::vector<BucketTier> found;
  Diagnostics faults;
  for (const machine::Tier& tier : review.tiers()) {
    if (tier.tier->kind != design::TierKind::object || !tier.tier->provider.empty()) continue;
    const auto name =
        checked_name(tier.label, NameRule::dns_label,
                     {"the tier", design::place_of(review.design(), tier.path + ".name")});
    if (name) {
      found.push_back({&tier, *name});
    } else {
      gather(faults, name.error());
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return found;
}

void add_volume(YamlWriter& yaml, const KubePlan& plan, const BucketTier& of,
                const Tenant& tenant) {
  const std::string name = of.bucket + '-' + tenant.name;
  const auto profile = profile_annotations(*of.tier, plan.review.catalog());
  open_object(yaml, plan, {"v1", "PersistentVolume", name, {}, profile});
  yaml.begin("spec").texts("accessModes", {"ReadWriteMany"});
  yaml.comment("A bucket has no size, but Kubernetes requires one.");
  yaml.begin("capacity").text("storage", "1Ti").end();
  yaml.text("storageClassName", "").text("persistentVolumeReclaimPolicy", "Retain");
  yaml.texts("mountOptions", {"endpoint-url " + plan.object_store, "force-path-style",
                              "region " + std::string(kRegion), "prefix " + tenant.name + "/",
                              "allow-delete", "allow-overwrite"});
  yaml.begin("csi").text("driver", kDriver).text("volumeHandle", name);
  yaml.begin("volumeAttributes").text("bucketName", of.bucket).end().end();
  yaml.begin("claimRef").text("namespace", tenant.name).text("name", of.bucket).end().end();
  open_object(yaml, plan, {"v1", "PersistentVolumeClaim", of.bucket, tenant.name, profile});
  yaml.begin("spec").texts("accessModes", {"ReadWriteMany"}).text("storageClassName", "");
  yaml.text("volumeName", name);
  yaml.begin("resources").begin("requests").text("storage", "1Ti").end().end().end();
}

}  // namespace

Diagnostics check_object_store(const std::string& url) {
  if (url.empty()) return {};
  const std::size_t host = url.starts_with("http://")    ? 7
                           : url.starts_with("https://") ? 8
                                                         : std::string::npos;
  const bool is_address =
      host != std::string::npos && host < url.size() &&
      std::ranges::all_of(
          url.substr(std::min(host, url.size())),
          [](unsigned char c) {
            return std::isalnum(c) != 0 || std::string_view(".-:[]").contains(static_cast<char>(c));
          });
  if (is_address) return {};
  return {{.code = "emit.object-store",
           .what = "the address of the object store is " + comment_text(url, 40),
           .why = "files for mounts need http:// or https://, a host and a port",
           .fix = "write --object-store http://store-1:8118"}};
}

Result<std::string> mount_script(const SlurmPlan& plan) {
  if (plan.options.object_store.empty()) return std::string();
  const auto tiers = bucket_tiers(plan.review);
  if (!tiers) return std::unexpected(tiers.error());
  if (tiers->empty()) return std::string();
  std::vector<Script> mounts;
  for (const BucketTier& t : *tiers) {
    mounts.push_back(Script::from_text("mount_bucket @bucket@ @at@ || exit 1\n")
                         .word("bucket", t.bucket)
                         .word("at", "/mnt/" + t.bucket));
  }
  return Script::from_file("emit/slurm/mount.sh")
      .stamp(plan.source)
      .word("url", plan.options.object_store)
      .word("keys", kKeysFile)
      .word("region", kRegion)
      .lines("mounts", mounts)
      .text();
}

Result<std::string> object_volumes_yaml(const KubePlan& plan) {
  if (plan.object_store.empty()) return std::string();
  const auto tiers = bucket_tiers(plan.review);
  if (!tiers) return std::unexpected(tiers.error());
  YamlWriter yaml;
  for (const BucketTier& t : *tiers) {
    for (const Tenant& tenant : plan.tenants) add_volume(yaml, plan, t, tenant);
  }
  if (yaml.result().empty()) return std::string();
  return stamp(plan.source, "#") + yaml.result();
}

}  // namespace orrery::emit
