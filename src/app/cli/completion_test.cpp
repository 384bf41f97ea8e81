#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "bench/figure.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

TEST(Completion, scripts_have_verbs_options_and_choices) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const VerbAnswer script = ask(all_verbs(), {"completion", shell});
    EXPECT_EQ(script.code, ExitCode::good);
    EXPECT_THAT(script.out, HasSubstr("completion"));
    EXPECT_THAT(script.out, HasSubstr("format"));
    EXPECT_THAT(script.out, HasSubstr("text json"));
  }
}

}  // namespace
}  // namespace orrery::cli
