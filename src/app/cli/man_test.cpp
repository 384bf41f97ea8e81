#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

TEST(Man, every_verb_has_a_page_in_roff) {
  const agent::TestFolder folder;
  EXPECT_EQ(ask(all_verbs(), {"man", folder.at("man")}).code, ExitCode::good);
  const Result<std::string> page = read_text_file(folder.at("man/orrery-agent-recover.1"));
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr(".SH NAME\norrery\\-agent\\-recover \\- "));
  EXPECT_THAT(*page, HasSubstr(".B \\-\\-journal"));
  EXPECT_THAT(*page, HasSubstr(".SH EXAMPLES"));
  EXPECT_TRUE(read_text_file(folder.at("man/orrery.1")));
}

}  // namespace
}  // namespace orrery::cli
