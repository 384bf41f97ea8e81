#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

VerbAnswer rehearse(const std::vector<std::string>& more, const Circumstances& given = {}) {
  std::vector<std::string> words = {"agent", "rehearse"};
  words.insert(words.end(), more.begin(), more.end());
  return spoken(words, given);
}

TEST(Rehearse, fenced_nodes_may_stop_answering) {
  const std::vector<std::string> words = {"--nodes", "8",      "--jobs", "2",     "--faults",
                                          "12",      "--seed", "3",      "--for", "15 min"};
  std::vector<std::string> fenced = words;
  fenced.push_back("--fence");
  EXPECT_THAT(rehearse(fenced).out,
              AllOf(HasSubstr(" does not answer\n"), HasSubstr(" is confirmed off\n")));
  EXPECT_THAT(rehearse(words).out, Not(HasSubstr("does not answer")));
}

}  // namespace
}  // namespace orrery::cli
