#include "model/design_text/templates.h"

#include <gtest/gtest.h>

namespace orrery::design_text {
namespace {

TEST(Templates, are_all_there) {
  for (const char* name :
       {"superpod-a100", "superpod-h100", "superpod-h200", "superpod-b200", "superpod-b300",
        "superpod-gb200", "single-node", "small-lab", "inference-pod", "cloud-rental", "av-vision",
        "chatbot-zones", "recommender", "fraud-cpu", "medical-imaging"}) {
    const auto found = find_template(name);
    ASSERT_TRUE(found) << name;
    EXPECT_FALSE(found->summary.empty()) << name;
  }
  EXPECT_FALSE(find_template("superpod"));
}

}  // namespace
}  // namespace orrery::design_text
