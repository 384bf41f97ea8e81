// `orrery catalog` as a person meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"

namespace orrery::cli {

Verb catalog_verb();

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

VerbAnswer ask_catalog(std::vector<std::string> words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  words.insert(words.begin(), "catalog");
  const ExitCode code = run_command_line({catalog_verb()}, words, terminal);
  return {code, out.str(), err.str()};
}

TEST(CatalogVerb, ListsTheTablesWithTheirCounts) {
  const VerbAnswer answer = ask_catalog({});
  EXPECT_EQ(answer.code, ExitCode::good);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("accelerators"), HasSubstr("40"),
                                HasSubstr("power_measured"), HasSubstr("export_controls")));
}

TEST(CatalogVerb, ListsRowsWithinTheLine) {
  const VerbAnswer answer = ask_catalog({"nodes"});
  EXPECT_THAT(answer.out, HasSubstr("dgx-h100"));
  std::istringstream lines(answer.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(CatalogVerb, ShowsARowWithItsSource) {
  const VerbAnswer answer = ask_catalog({"accelerators", "h100-sxm"});
  EXPECT_THAT(answer.out, AllOf(HasSubstr("989.4"), HasSubstr("NVIDIA H100 datasheet"),
                                HasSubstr("seen"), HasSubstr("high (80 % interval of +-2 %)"),
                                HasSubstr("2026-11"), HasSubstr("Not stated: fp4_tflops_dense")));
}

TEST(CatalogVerb, FindsARowByAliasInAnyCase) {
  EXPECT_THAT(ask_catalog({"models", "Meta-Llama/Llama-3.1-70B"}).out, HasSubstr("llama-3-70b"));
  EXPECT_EQ(ask_catalog({"optics-cables", "DAC-400-passive"}).code, ExitCode::good);
}

TEST(CatalogVerb, WritesJsonAndCsv) {
  const VerbAnswer json = ask_catalog({"nodes", "dgx-h100", "--format", "json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"max_power_kw\": 10.2"),
                              HasSubstr("\"table\": \"nodes\""), Not(HasSubstr("dgx-a100"))));
  EXPECT_THAT(ask_catalog({"nodes", "--format", "csv"}).out, StartsWith("id,vendor,name,"));
  EXPECT_THAT(ask_catalog({"nodes", "--format", "markdown"}).out, HasSubstr("| dgx-h100"));
}

TEST(CatalogVerb, SuggestsTheNearest) {
  const VerbAnswer table = ask_catalog({"acelerators"});
  EXPECT_EQ(table.code, ExitCode::bad_input);
  EXPECT_THAT(table.err, HasSubstr("did you mean 'accelerators'?"));
  EXPECT_THAT(ask_catalog({"nodes", "dgx-h10"}).err, HasSubstr("did you mean 'dgx-h100'?"));
  EXPECT_THAT(ask_catalog({"h100-sxm"}).err, HasSubstr("orrery catalog accelerators h100-sxm"));
}

}  // namespace
}  // namespace orrery::cli
