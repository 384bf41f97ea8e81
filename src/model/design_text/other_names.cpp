#include "model/design_text/other_names.h"

#include <algorithm>
#include <sstream>

#include "core/base/text.h"

namespace orrery::design_text {
namespace {

struct OtherName {
  std::string_view written;  // in lower case
  std::string_view meant;
};

constexpr OtherName kOtherNames[] = {
    {"air", "air-contained"},
    {"clos", "fat-tree"},
    {"leaf-spine", "fat-tree"},
    {"spine-leaf", "fat-tree"},
    {"dlc", "direct-to-chip-1p"},
    {"liquid", "direct-to-chip-1p"},
    {"cold-plate", "direct-to-chip-1p"},
    {"rdhx", "rear-door-active"},
    {"rear-door", "rear-door-active"},
    {"immersion", "immersion-1p"},
    {"weka", "parallel-fs"},
    {"lustre", "parallel-fs"},
    {"gpfs", "parallel-fs"},
    {"storage-scale", "parallel-fs"},
    {"beegfs", "parallel-fs"},
    {"vast", "parallel-fs"},
    {"daos", "parallel-fs"},
    {"cephfs", "parallel-fs"},
    {"s3", "object"},
    {"ceph", "object"},
    {"minio", "object"},
    {"isilon", "nfs"},
    {"netapp", "nfs"},
    {"nvme", "local-nvme"},
    {"ebs", "block"},
    {"san", "block"},
    {"ib", "infiniband"},
    {"ndr", "infiniband"},
    {"rocev2", "roce"},
    {"k8s", "kubernetes"},
    {"trtllm", "tensorrt-llm"},
    {"trt-llm", "tensorrt-llm"},
    {"float16", "fp16"},
    {"bfloat16", "bf16"},
};

}  // namespace

std::optional<std::string> meant_by(std::string_view written,
                                    const std::vector<std::string>& known) {
  const std::string word = lowered(written);
  for (const OtherName& other : kOtherNames) {
    if (other.written == word && std::ranges::find(known, other.meant) != known.end()) {
      return std::string(other.meant);
    }
  }
  return nearest(written, known);
}

const catalog::GridRegion* region_named(const catalog::Catalog& catalog,
                                        std::string_view written) {
  const std::string word = lowered(written);
  for (const catalog::GridRegion& region : catalog.regions) {
    std::istringstream words(lowered(region.name));
    for (std::string one; words >> one;) {
      if (one == word) return &region;
    }
  }
  return nullptr;
}

}  // namespace orrery::design_text
