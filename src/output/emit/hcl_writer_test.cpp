#include "output/emit/hcl_writer.h"

#include <gtest/gtest.h>

#include "output/emit/yaml_writer.h"

namespace orrery::emit {
namespace {

TEST(HclWriter, arguments_are_aligned_and_blocks_separated) {
  HclWriter w;
  w.begin("resource", {"a", "b"}).text("x", "1").expression("long", "var.y");
  w.begin("inner", {}).end().text("z", "2").end();
  w.begin("output", {"o"}).expression("value", "1").end();
  EXPECT_EQ(w.result(),
            "resource \"a\" \"b\" {\n  x    = \"1\"\n  long = var.y\n\n  inner {\n  }\n"
            "  z = \"2\"\n}\n\noutput \"o\" {\n  value = 1\n}\n");
}

}  // namespace
}  // namespace orrery::emit
