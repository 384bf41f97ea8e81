#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "bench/figure.h"

namespace orrery::cli {
namespace {

TEST(Bench, names_are_unique_and_unknown_ones_are_refused) {
  std::vector<std::string> names;
  for (const SpeedFigure& figure : all_figures()) names.push_back(figure.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(ask(all_verbs(), {"bench", "no_such_figure"}).code, ExitCode::bad_input);
}

TEST(Bench, prints_one_json_object_per_line) {
  const VerbAnswer answer = ask(all_verbs(), {"bench", "random_uniform"});
  EXPECT_THAT(answer.out,
              testing::MatchesRegex(
                  "\\{\"name\":\"random_uniform\",\"value\":[0-9.e+]+,\"unit\":\"1/s\"\\}\n"));
}

}  // namespace
}  // namespace orrery::cli
