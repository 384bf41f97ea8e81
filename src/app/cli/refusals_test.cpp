// Command lines that cannot be answered, each with the code of its refusal and the exit code of a
// fault of the user's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "live/agent/test_folder.h"
#include "model/design_text/templates.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

VerbAnswer asked(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  const ExitCode code = run_command_line(all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

void expect_refused(const std::vector<std::string>& words, const std::string& code) {
  const VerbAnswer answer = asked(words);
  EXPECT_EQ(answer.code, ExitCode::bad_input) << words.front();
  EXPECT_THAT(answer.err, HasSubstr("[" + code + "]")) << words.front();
  EXPECT_EQ(answer.out, "") << words.front();
}

TEST(Refusals, OfWordsThatNameNothing) {
  expect_refused({"init", "--template", "superpod-h101"}, "init.unknown-template");
  expect_refused({"init", "--list", "--schema"}, "init.conflict");
  expect_refused({"bench", "nosuch"}, "bench.unknown");
  expect_refused({"catalog", "nodes", "nosuch"}, "catalog.row");
  expect_refused({"catalog", "notes"}, "catalog.table");
  expect_refused({"explain", "nosuch"}, "explain.unknown");
  expect_refused({"calc", "tier", "--device", "floppy"}, "calc.device");
}

TEST(Refusals, OfNetworksThatNobodyBuilds) {
  expect_refused({"fabric", "bill", "--nodes", "0"}, "fabric.size");
  expect_refused({"fabric", "bill", "--topology", "torus"}, "fabric.torus");
  expect_refused({"fabric", "bill", "--switch", "nosuch"}, "fabric.usage");
  expect_refused({"fabric", "bill", "--radix", "63"}, "fabric.radix");
}

TEST(Refusals, OfAgentsOutOfTheirBounds) {
  const agent::TestFolder folder;
  const std::string steps = folder.path() + "/steps.csv";
  std::ofstream(steps) << "step,rank,seconds\n1,0,1\n1,1,1\n";
  expect_refused({"agent", "stragglers", steps, "--false-positives", "1"}, "stragglers.usage");
  expect_refused({"agent", "stragglers", steps, "--false-positives", "0"}, "stragglers.usage");
  expect_refused({"agent", "stragglers", steps, "--slow", "10"}, "stragglers.usage");
  expect_refused({"agent", "stragglers", steps, "--spike", "-1"}, "stragglers.usage");
  const std::string journal = folder.path() + "/j.jsonl";
  expect_refused({"agent", "recover", "--journal", journal, "--interval", "49 ms"}, "agent.usage");
  expect_refused({"agent", "recover", "--journal", journal, "--out-max", "1.5"}, "agent.usage");
  expect_refused({"agent", "lifecycle", "--journal", journal, "--place", "hot"}, "usage.place");
  expect_refused({"agent", "lifecycle", "--journal", journal, "--place", "hot=/x,newest=-1"},
                 "usage.place");
}

TEST(Refusals, OfFilesThatWouldBeLost) {
  const agent::TestFolder folder;
  const std::string design = folder.path() + "/d.yaml";
  std::ofstream(design) << design_text::find_template("superpod-h100")->text;
  const std::string to = folder.path() + "/out";
  expect_refused({"emit", "slurm", design, to, "--force", "--keep"}, "emit.conflict");
  expect_refused({"emit", "slurm", design, to, "--cloud"}, "emit.conflict");
  expect_refused({"init", "--template", "superpod-h100", "--output", design}, "file.exists");
  expect_refused({"init", "--template", "superpod-h100", "--output", "/nonexistent/d.yaml"},
                 "file.unwritable");
}

}  // namespace
}  // namespace orrery::cli
