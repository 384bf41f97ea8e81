// For tests of Kubernetes files: all files of a review.
#pragma once

#include "output/emit/kubernetes.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {

inline EmittedFiles kubernetes_of(const ReviewedExample& r, const KubernetesOptions& options = {}) {
  const auto files = emit_kubernetes(*r.review, r.source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

}  // namespace orrery::emit
