// Prompts that SGLang cuts at whole pages.
#include <gtest/gtest.h>

#include "layers/engines/engine_fixture.h"

namespace orrery::engines {
namespace {

// Pages of four tokens and ten tokens per step: the two that are left do not make a page.
TEST(SglangPages, prompt_is_cut_at_a_page_or_not_begun) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.block_tokens = 4;
  StepwiseEngine e(p);
  e.add(asking(8, 3));
  e.add(asking(11, 3));
  EXPECT_EQ(e.step(), "0:8:0");
  EXPECT_EQ(e.step(), "1:8:0") << "ten tokens hold two pages";
  EXPECT_EQ(e.step(), "1:3:8");
  EXPECT_EQ(e.step(), "0:1:8 1:1:11");
  StepwiseEngine page(p);
  page.add(asking(6, 3));
  page.add(asking(9, 3));
  EXPECT_EQ(page.step(), "0:6:0 1:4:0") << "four that are left are a page";
  EXPECT_EQ(page.step(), "1:5:4");
}

}  // namespace
}  // namespace orrery::engines
