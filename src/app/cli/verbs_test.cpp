#include <gmock/gmock.h>

#include <fstream>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "live/agent/test_folder.h"
#include "model/design_text/templates.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

struct RefusedLine {
  std::vector<std::string> words;
  std::string codes;
};

void expect_refusals(const std::vector<RefusedLine>& rows) {
  for (const RefusedLine& row : rows) {
    const VerbAnswer a = spoken(row.words);
    EXPECT_EQ(codes_in(a.err), row.codes) << a.err;
    EXPECT_EQ(a.code, ExitCode::bad_input) << a.err;
    EXPECT_EQ(a.out, "") << a.err;
  }
}

TEST(Verbs, refused_networks) {
  expect_refusals({
      {{"fabric", "bill", "--switch", "nosuch", "--rate", "x", "--planes", "9"},
       "fabric.usage fabric.usage fabric.usage"},
      {{"fabric", "bill", "--nodes", "1000001"}, "fabric.usage"},
      {{"fabric", "bill", "--nics", "1000001"}, "fabric.usage"},
      {{"fabric", "bill", "--radix", "1000001"}, "fabric.usage"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--to", "8"}, "fabric.usage"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--from", "8"}, "fabric.usage"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--from", "-1"}, "fabric.usage"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--to", "-1"}, "fabric.usage"},
      {{"fabric", "what-if", "--number", "-1"}, "fabric.usage"},
      {{"fabric", "storm", "--partners", "0"}, "fabric.usage"},
      {{"fabric", "compare", "--leaves", "0"}, "fabric.usage"},
  });
}

TEST(Verbs, refused_stores) {
  expect_refusals({
      {{"store"}, "store.usage"},
      {{"store", "a", "b"}, "store.usage"},
      {{"store", "lineage", "models"}, "store.usage"},
      {{"store", "fsck", "/no/such"}, "store.format"},
      {{"store", "/no/such", "--keep", "hot,sometimes"}, "store.keep"},
      {{"store", "/no/such", "--promote", "6"}, "store.promote"},
      {{"store", "/no/such", "--lifecycle-day", "7"}, "store.day"},
      {{"store", "/no/such", "--tls-key", "x"}, "store.tls"},
      {{"store", "/no/such", "--key-command", "exit 3"}, "store.secrets"},
  });
}

TEST(Verbs, refused_agents) {
  const auto place = [](const std::string& text) {
    return std::vector<std::string>{"agent",      "lifecycle", "--journal",
                                    "/no/such/j", "--place",   text};
  };
  expect_refusals({
      {place("hot"), "usage.place"},
      {place("hot=/x,al"), "usage.place"},
      {place("hot=/x,volatile,all"), "agent.usage"},
      {{"agent", "lifecycle", "--journal", "/no/such/j", "--place", "hot=/x,all", "--quiet", "7"},
       "agent.usage"},
      {{"agent", "rehearse", "--for", "7", "--repair", "8", "--nodes", "0"},
       "agent.usage agent.usage agent.usage"},
      {{"agent", "recover", "--journal", "/no/such/j", "--interval", "7", "--silence", "x",
        "--out-max", "2", "--crash-loop", "9"},
       "agent.usage agent.usage agent.usage agent.usage"},
      {{"agent", "stragglers", "/no/such", "--slow", "10"}, "stragglers.usage"},
  });
}

TEST(Verbs, refused_simulations) {
  const agent::TestFolder folder;
  folder.write("t.csv", "submit,run,gpus\n0,100,16\n");
  const auto replay = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate", "--replay", folder.at("t.csv")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refusals({
      {{"simulate"}, "simulate.usage"},
      {{"simulate", "/no/such", "--for", "1", "--replications", "0"},
       "simulate.usage simulate.usage"},
      {replay({}), "usage.replay"},
      {replay({"--gpus", "4", "--nodes", "4"}), "usage.replay"},
      {replay({"--gpus", "-4"}), "usage.replay"},
      {replay({"--gpus", "4", "--policy", "x", "--mtbf", "4", "--trace-format", "y"}),
       "usage.replay usage.replay usage.replay"},
      {replay({"--nodes", "4", "--placement", "x"}), "usage.replay"},
      {replay({"--gpus", "4", "--from", "1"}), "usage.replay"},
      {replay({"--gpus", "4", "--rewind", "--more", "-1"}), "usage.replay"},
  });
}

TEST(Verbs, refused_questions) {
  expect_refusals({
      {{"rank", "--model", "x"}, "usage.value"},
      {{"rank", "--precision", "x"}, "usage.value"},
      {{"rank", "--rack", "4"}, "usage.value"},
      {{"rank", "--ttft", "4"}, "usage.value"},
      {{"rank", "--tpot", "4"}, "usage.value"},
      {{"explain", "claims", "nosuch"}, "explain.unknown"},
      {{"explain", "rules", "nosuch"}, "explain.unknown"},
      {{"explain", "glossary", "nosuchword"}, "explain.unknown"},
      {{"catalog", "nosuch"}, "catalog.table"},
      {{"catalog", "nodes", "nosuch"}, "catalog.row"},
      {{"catalog", "NODES", "dgx-h10"}, "catalog.row"},
      {{"catalog", "h100-sxm"}, "catalog.table"},
      {{"search", "layout", "llama-3-8b", "--keep", "0"}, "search.unknown"},
      {{"bench", "nosuch"}, "bench.unknown"},
  });
}

TEST(Verbs, refused_output_files) {
  const agent::TestFolder folder;
  folder.write("there", "mine");
  expect_refusals({
      {{"init", "-t", "nosuch"}, "init.unknown-template"},
      {{"init", "-t", "superpod-h101"}, "init.unknown-template"},
      {{"init", "--schema", "-t", "single-node"}, "init.conflict"},
      {{"init", "-t", "single-node", "-o", folder.at("there")}, "file.exists"},
      {{"init", "-t", "single-node", "-o", "/no/such/x"}, "file.unwritable"},
      {{"man", "/dev/null/x"}, "file.unwritable"},
      {{"emit", "slurm", "/no/such", folder.at("out"), "--force", "--keep"}, "emit.conflict"},
      {{"emit", "slurm", "/no/such", folder.at("out"), "--cloud"}, "emit.conflict"},
      {{"serve", ""}, "serve.no-name"},
  });
}

TEST(Verbs, refused_measurements) {
  const agent::TestFolder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    folder.write(name, text);
    return folder.at(name);
  };
  const std::string probe = put(
      "p.json",
      R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"first_byte","value_s":0.001}]})");
  const std::string abacus = put("x.csv", "gpu,op,dtype,seconds\nAbacus 9,idle,,1\n");
  const std::string rows = put("r.csv", "id,x\na,1\n");
  const std::string megatron =
      put("m.sh",
          "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
          "--micro-batch-size 1 --global-batch-size 64\n");
  expect_refusals({
      {{"calibrate", probe}, "calibrate.tier"},
      {{"calibrate", abacus}, "calibrate.accelerator"},
      {{"score", "serving", rows, "--leave-out", "gpu"}, "score.kind"},
      {{"search", "layout", megatron, "--megatron", "--gpus", "0"}, "search.unknown"},
      {{"probe", "storage", folder.path(), "--block", "1", "--depth", "0", "--seconds", "0",
        "--only", "x"},
       "usage.value usage.value usage.value usage.value"},
      {{"probe", "serving", "--clients", "0", "--eager-layer", "-1", "--model", "x",
        "--accelerator", "y"},
       "usage.value usage.value usage.value usage.value"},
      {{"probe", "storage", folder.path(), "--depth", "1025", "--random-depth", "4097", "--streams",
        "257", "--repeats", "1001", "--seconds", "600.5"},
       "usage.value usage.value usage.value usage.value usage.value"},
      {{"probe", "gpu", "--program", "/no/such"}, "probe.missing"},
      {{"plan", rows, "--calibration", abacus}, "calibration.row"},
  });
}

void expect_refused(const std::vector<std::string>& words, const std::string& code) {
  const VerbAnswer answer = spoken(words);
  EXPECT_EQ(answer.code, ExitCode::bad_input) << words.front();
  EXPECT_THAT(answer.err, HasSubstr("[" + code + "]")) << words.front();
  EXPECT_EQ(answer.out, "") << words.front();
}

TEST(Verbs, unknown_names_are_refused) {
  expect_refused({"init", "--template", "superpod-h101"}, "init.unknown-template");
  expect_refused({"init", "--list", "--schema"}, "init.conflict");
  expect_refused({"bench", "nosuch"}, "bench.unknown");
  expect_refused({"catalog", "nodes", "nosuch"}, "catalog.row");
  expect_refused({"catalog", "notes"}, "catalog.table");
  expect_refused({"explain", "nosuch"}, "explain.unknown");
  expect_refused({"calc", "tier", "--device", "floppy"}, "calc.device");
}

TEST(Verbs, impossible_networks_are_refused) {
  expect_refused({"fabric", "bill", "--nodes", "0"}, "fabric.size");
  expect_refused({"fabric", "bill", "--topology", "torus"}, "fabric.torus");
  expect_refused({"fabric", "bill", "--switch", "nosuch"}, "fabric.usage");
  expect_refused({"fabric", "bill", "--radix", "63"}, "fabric.radix");
}

TEST(Verbs, agent_options_have_bounds) {
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

TEST(Verbs, files_are_not_overwritten) {
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
