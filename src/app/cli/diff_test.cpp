#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb_fixture.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using DiffFormats = FormatsTest;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(DiffFormats, errors_of_both_designs_are_reported) {
  folder.write("bad.yaml", "orrery: 1\nname: [");
  const VerbAnswer a = spoken({"diff", folder.at("none.yaml"), folder.at("bad.yaml")});
  EXPECT_EQ(a.code, ExitCode::bad_input);
  EXPECT_THAT(a.err, AllOf(HasSubstr("none.yaml"), HasSubstr("bad.yaml")));
}

}  // namespace
}  // namespace orrery::cli
