// What a person reads who asked for something impossible: every sentence whole, with its reason and
// what mends it.
#include <gtest/gtest.h>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

struct RefusedLine {
  std::vector<std::string> words;
  std::string said;
};

void expect_said(const std::vector<RefusedLine>& rows) {
  for (const RefusedLine& row : rows) {
    const VerbAnswer a = spoken(row.words);
    EXPECT_EQ(a.err, row.said);
    EXPECT_EQ(a.code, ExitCode::bad_input) << row.said;
    EXPECT_EQ(a.out, "") << row.said;
  }
}

TEST(RefusalSentences, of_networks) {
  const std::string range =
      "error: a number is out of range [fabric.usage]\n    fix: at most a million nodes\n";
  expect_said({
      {{"fabric", "bill", "--switch", "nosuch", "--rate", "x", "--planes", "9"},
       "error: no switch nosuch [fabric.usage]\n    fix: see orrery catalog switches\n"
       "error: not a rate: x [fabric.usage]\n    fix: 400 Gb/s\n" +
           range},
      {{"fabric", "bill", "--nodes", "1000001"}, range},
      {{"fabric", "bill", "--nics", "1000001"}, range},
      {{"fabric", "bill", "--radix", "1000001"}, range},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--to", "8"},
       "error: endpoints are 0 to 7 [fabric.usage]\n"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--from", "8"},
       "error: endpoints are 0 to 7 [fabric.usage]\n"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--from", "-1"},
       "error: endpoints are 0 to 7 [fabric.usage]\n"},
      {{"fabric", "path", "--nodes", "4", "--nics", "2", "--to", "-1"},
       "error: endpoints are 0 to 7 [fabric.usage]\n"},
      {{"fabric", "what-if", "--number", "-1"}, "error: no such part [fabric.usage]\n"},
      {{"fabric", "storm", "--partners", "0"}, "error: 1 to 256 partners [fabric.usage]\n"},
      {{"fabric", "compare", "--leaves", "0"}, "error: counts are 1 to 256 [fabric.usage]\n"},
  });
}

// A million of each is allowed, and refused for what it is.
TEST(RefusalSentences, are_not_of_what_is_just_within_bounds) {
  for (const char* option : {"--nodes", "--nics", "--radix"}) {
    const std::string err =
        spoken({"fabric", "bill", option, "1000000", "--torus", "x", "--topology", "torus"}).err;
    EXPECT_EQ(err.find("a number is out of range"), err.npos) << option;
    EXPECT_NE(err.find("[fabric."), err.npos) << option;
  }
  EXPECT_EQ(spoken({"fabric", "bill", "--nodes", "4", "--planes", "8"}).err, "");
}

TEST(RefusalSentences, of_stores) {
  const std::string usage =
      "error: a folder is missing, or there is a word too many [store.usage]\n"
      "    fix: orrery store FOLDER, orrery store fsck FOLDER, orrery store repair FOLDER, "
      "orrery store status, or orrery store lineage BUCKET/KEY\n";
  expect_said({
      {{"store"}, usage},
      {{"store", "a", "b"}, usage},
      {{"store", "lineage", "models"},
       "error: 'models' is no object [store.usage]\n    fix: write BUCKET/KEY\n"},
      {{"store", "fsck", "/no/such"}, "/no/such: error: there is no store here [store.format]\n"},
      {{"store", "/no/such", "--keep", "hot,sometimes"},
       "error: --keep hot,sometimes is not understood [store.keep]\n"
       "    why: it is a tier and words behind commas\n"
       "    fix: --keep hot,newest=3,pace=200MB/s --keep cold,milestones,hours=22-6\n"},
      {{"store", "/no/such", "--promote", "6"},
       "error: '6' is no length of time [store.promote]\n    fix: write --promote 6h\n"},
      {{"store", "/no/such", "--lifecycle-day", "7"},
       "error: '7' is not the length of a day [store.day]\n    fix: write --lifecycle-day 10s\n"},
      {{"store", "/no/such", "--tls-key", "x"},
       "error: --tls-certificate and --tls-key go together [store.tls]\n"},
      {{"store", "/no/such", "--key-command", "exit 3"},
       "error: --key-command failed [store.secrets]\n"
       "    why: a store that cannot have its key does not start\n"
       "    fix: run the command by hand: it prints ID and 64 hexadecimal digits\n"},
  });
}

TEST(RefusalSentences, of_agents) {
  const std::string places =
      "    fix: NAME=FOLDER or NAME=s3://BUCKET/PREFIX, then any of ,written ,volatile ,all "
      ",newest=3 ,window=7d ,spacing=1d ,milestones ,every=1000 ,pace=200MB/s ,hours=22-6\n";
  const auto place = [](const std::string& text) {
    return std::vector<std::string>{"agent",      "lifecycle", "--journal",
                                    "/no/such/j", "--place",   text};
  };
  expect_said({
      {place("hot"), "error: --place hot: no name or no location [usage.place]\n" + places},
      {place("hot=/x,al"),
       "error: --place hot=/x,al: 'al' is not understood [usage.place]\n" + places},
      {place("hot=/x,volatile,all"),
       "error: no durable place keeps anything [agent.usage]\n"
       "    fix: give a place a rule: --place hot=/checkpoints,written,newest=3\n"},
      {{"agent", "lifecycle", "--journal", "/no/such/j", "--place", "hot=/x,all", "--quiet", "7"},
       "error: --quiet: '7' cannot be read [agent.usage]\n"
       "    fix: a number with its unit: 10 s, 7d, 200 MB/s\n"},
      {{"agent", "rehearse", "--for", "7", "--repair", "8", "--nodes", "0"},
       "error: not a length: 7 [agent.usage]\n    fix: 1 h; from 1 min to 1 d\n"
       "error: not a time: 8 [agent.usage]\n    fix: 10 min; at least 1 s\n"
       "error: the jobs and the spares do not fit on the nodes [agent.usage]\n"
       "    fix: --jobs x --job-nodes + --spares at most --nodes, at most 4096\n"},
      {{"agent", "recover", "--journal", "/no/such/j", "--interval", "7", "--silence", "x",
        "--out-max", "2", "--crash-loop", "9"},
       "error: not an interval: 7 [agent.usage]\n    fix: 500 ms; at least 50 ms\n"
       "error: not a time: x [agent.usage]\n    fix: 10 s\n"
       "error: a share is not between 0 and 1 [agent.usage]\n"
       "    fix: 0.1 is a tenth of the fleet\n"
       "error: a count is out of range [agent.usage]\n"
       "    fix: --crash-loop 0 (off) to 8, --losses-max from 1\n"},
      {{"agent", "stragglers", "/no/such", "--slow", "10"},
       "error: a share is out of range [stragglers.usage]\n"
       "    fix: --false-positives 0.01 --slow 0.02 --spike 0.1\n"},
  });
}

TEST(RefusalSentences, of_simulated_time) {
  const agent::TestFolder folder;
  folder.write("t.csv", "submit,run,gpus\n0,100,16\n");
  const auto replay = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate", "--replay", folder.at("t.csv")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_said({
      {{"simulate"},
       "error: what to simulate is not said [simulate.usage]\n"
       "    fix: a design file, or --replay FILE: a trace of jobs\n"},
      {{"simulate", "/no/such", "--for", "1", "--replications", "0"},
       "error: not a span to simulate: 1 [simulate.usage]\n    fix: --for 30d; from 1 s to 10 y\n"
       "error: 0 replications [simulate.usage]\n    fix: --replications 8; from 1 to 10000\n"},
      {replay({}),
       "error: a replay needs a fleet [usage.replay]\n    fix: DESIGN, --gpus N or --nodes N\n"},
      {replay({"--gpus", "4", "--nodes", "4"}),
       "error: --gpus and --nodes exclude each other [usage.replay]\n"},
      {replay({"--gpus", "-4"}),
       "error: no fleet of this size [usage.replay]\n"
       "    fix: --gpus N, or --nodes N --gpus-per-node 1..64\n"},
      {replay({"--gpus", "4", "--policy", "x", "--mtbf", "4", "--trace-format", "y"}),
       "error: --policy x is not known [usage.replay]\n"
       "    fix: fifo, best-effort, easy, easy-sticky, unguarded, conservative, slurm\n"
       "error: --mtbf 4 is not a time [usage.replay]\n    fix: 30 d, 4 h, 2 min\n"
       "error: --trace-format y is not known [usage.replay]\n    fix: swf, philly, sacct, csv\n"},
      {replay({"--nodes", "4", "--placement", "x"}),
       "error: --placement x is not known [usage.replay]\n    fix: pack, spread, tree\n"},
      {replay({"--gpus", "4", "--from", "1"}),
       "error: the trace has 1 jobs [usage.replay]\n    fix: --from below that\n"},
      {replay({"--gpus", "4", "--rewind", "--more", "-1"}),
       "error: no such --more [usage.replay]\n    fix: 0 to 200000\n"},
  });
}

TEST(RefusalSentences, of_questions_about_what_is_known) {
  expect_said({
      {{"rank", "--model", "x"},
       "error: --model x: not in the catalog; `orrery catalog models` lists them [usage.value]\n"},
      {{"rank", "--precision", "x"},
       "error: --precision x: one of fp4, fp8, bf16, fp16 [usage.value]\n"},
      {{"rank", "--rack", "4"}, "error: --rack 4: a power such as 40 kW [usage.value]\n"},
      {{"rank", "--ttft", "4"}, "error: --ttft 4: a time: 500 ms [usage.value]\n"},
      {{"rank", "--tpot", "4"}, "error: --tpot 4: a time: 40 ms [usage.value]\n"},
      {{"explain", "claims", "nosuch"},
       "error: there is no claim 'nosuch' [explain.unknown]\n"
       "    fix: 'orrery explain claims' lists them\n"},
      {{"explain", "rules", "nosuch"},
       "error: there is no rule 'nosuch' [explain.unknown]\n"
       "    fix: 'orrery explain rules' lists them\n"},
      {{"explain", "glossary", "nosuchword"},
       "error: there is no word 'nosuchword' [explain.unknown]\n"
       "    fix: 'orrery explain glossary' lists them\n"},
      {{"catalog", "nosuch"},
       "error: no table 'nosuch' [catalog.table]\n    fix: `orrery catalog` lists them\n"},
      {{"catalog", "nodes", "nosuch"},
       "error: no row 'nosuch' in nodes [catalog.row]\n"
       "    fix: `orrery catalog nodes` lists them\n"},
      {{"catalog", "NODES", "dgx-h10"},
       "error: no row 'dgx-h10' in nodes [catalog.row]\n    fix: did you mean 'dgx-h100'?\n"},
      {{"catalog", "h100-sxm"},
       "error: no table 'h100-sxm' [catalog.table]\n"
       "    fix: it is a row: orrery catalog accelerators h100-sxm\n"},
      {{"search", "layout", "llama-3-8b", "--keep", "0"},
       "error: at least one layout is kept [search.unknown]\n    fix: --keep 10\n"},
      {{"bench", "nosuch"},
       "error: there is no figure named nosuch [bench.unknown]\n"
       "    fix: `orrery bench --list` shows the names\n"},
  });
}

TEST(RefusalSentences, of_files_that_are_written) {
  const agent::TestFolder folder;
  folder.write("there", "mine");
  expect_said({
      {{"init", "-t", "nosuch"},
       "error: there is no template `nosuch` [init.unknown-template]\n"
       "    fix: see `orrery init --list`\n"},
      {{"init", "-t", "superpod-h101"},
       "error: there is no template `superpod-h101` [init.unknown-template]\n"
       "    fix: did you mean `superpod-h100`?\n"},
      {{"init", "--schema", "-t", "single-node"},
       "error: --list, --schema and --template exclude each other [init.conflict]\n"
       "    fix: give one of them\n"},
      {{"init", "-t", "single-node", "-o", folder.at("there")},
       folder.at("there") + ": error: the file is there already [file.exists]\n"
                            "    why: it may hold your work\n"
                            "    fix: choose another name, or add --force to replace it\n"},
      {{"init", "-t", "single-node", "-o", "/no/such/x"},
       "/no/such/x: error: cannot write: No such file or directory [file.unwritable]\n"},
      {{"man", "/dev/null/x"}, "/dev/null/x/orrery.1: error: cannot write [file.unwritable]\n"},
      {{"emit", "slurm", "/no/such", folder.at("out"), "--force", "--keep"},
       "error: --force and --keep exclude each other [emit.conflict]\n"
       "    fix: give one of them\n"},
      {{"emit", "slurm", "/no/such", folder.at("out"), "--cloud"},
       "error: --cloud is a kind of trial [emit.conflict]\n    fix: add --trial DIR\n"},
      {{"serve", ""},
       "error: the design's name is empty [serve.no-name]\n"
       "    why: a variable of a script may not be set\n"
       "    fix: name a file; without a word the sample is served\n"},
  });
}

TEST(RefusalSentences, of_measurements) {
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
  expect_said({
      {{"calibrate", probe},
       probe + ": error: which tier of the design was measured is not said [calibrate.tier]\n"
               "    why: the same path may be any tier\n"
               "    fix: give --tier NAME, as the design calls it\n"},
      {{"calibrate", abacus},
       abacus + ": error: which accelerator of the catalog this is cannot be told "
                "[calibrate.accelerator]\n    why: peaks and bandwidth come from there\n"
                "    fix: give --accelerator ID; `orrery catalog accelerators` lists them\n"},
      {{"score", "serving", rows, "--leave-out", "gpu"},
       "error: this --leave-out or --explain is not for rows of serving [score.kind]\n"
       "    why: training rows are left out by model, source, gpu, release or framework, serving "
       "by model, collectives by system, other kinds not at all\n"
       "    fix: write `orrery score training FILE` or --leave-out system\n"},
      {{"search", "layout", megatron, "--megatron", "--gpus", "0"},
       "error: the machine of " + megatron +
           " is not clear [search.unknown]\n"
           "    fix: --accelerator ID --gpus N --nic '400 Gb/s'\n"},
      {{"probe", "storage", folder.path(), "--block", "1", "--depth", "0", "--seconds", "0",
        "--only", "x"},
       "--block: error: \"1\" is no size for this [usage.value]\n"
       "    fix: write a multiple of 4.1 kB from 4.1 kB to 67.1 MB\n"
       "--depth: error: 0 is out of range [usage.value]\n    fix: write 1 to 1024\n"
       "--seconds: error: out of range [usage.value]\n    fix: write 0.05 to 600 seconds\n"
       "--only: error: \"x\" is no part of the probe [usage.value]\n"
       "    fix: write one of sequential random metadata samples decode checkpoint\n"},
      {{"probe", "serving", "--clients", "0", "--eager-layer", "-1", "--model", "x",
        "--accelerator", "y"},
       "--clients: error: it must be a whole number from 1 to 1000000 [usage.value]\n"
       "    fix: give one\n"
       "--eager-layer: error: it must be from 0 to 1000000 microseconds [usage.value]\n"
       "    fix: give one\n"
       "--model: error: no model x [usage.value]\n    fix: `orrery catalog` lists them\n"
       "--accelerator: error: no accelerator y [usage.value]\n"
       "    fix: `orrery catalog` lists them\n"},
      {{"probe", "storage", folder.path(), "--depth", "1025", "--random-depth", "4097", "--streams",
        "257", "--repeats", "1001", "--seconds", "600.5"},
       "--depth: error: 1025 is out of range [usage.value]\n    fix: write 1 to 1024\n"
       "--random-depth: error: 4097 is out of range [usage.value]\n    fix: write 1 to 4096\n"
       "--streams: error: 257 is out of range [usage.value]\n    fix: write 1 to 256\n"
       "--repeats: error: 1001 is out of range [usage.value]\n    fix: write 1 to 1000\n"
       "--seconds: error: out of range [usage.value]\n    fix: write 0.05 to 600 seconds\n"},
      {{"probe", "gpu", "--program", "/no/such"},
       "/no/such: error: the GPU probe is not built [probe.missing]\n"
       "    why: it needs CUDA's compiler and a GPU\n"
       "    fix: run tools/probe/build on the machine with the GPU\n"},
      {{"plan", rows, "--calibration", abacus},
       abacus + ":2:1: error: a parameter row names an accelerator, a parameter and a number "
                "[calibration.row]\n    fix: `orrery calibrate PROBE.csv` writes such a file\n"},
  });
}

}  // namespace
}  // namespace orrery::cli
