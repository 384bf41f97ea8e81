// The words and options that each verb takes, what is taken where they are left out, and which of
// them must be given: scripts rely on all three.
#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/spoken_fixture.h"

namespace orrery::cli {
namespace {

// Where the explanations begin in the help.
constexpr std::size_t kHelpColumn = 30;

std::string left_of_the_explanation(const std::string& line) {
  const bool has_one = line.size() > kHelpColumn && line[kHelpColumn - 1] == ' ';
  std::string text = line.substr(2, has_one ? kHelpColumn - 2 : std::string::npos);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// "FILE REQUIRED; --brief; --rack POWER=40 kW": as the help of the verb lists them.
std::string options_said(const std::string& verb) {
  std::vector<std::string> words = {"help"};
  std::istringstream parts(verb);
  for (std::string part; parts >> part;) words.push_back(part);
  std::istringstream lines(spoken(words).out);
  std::string all;
  bool is_list = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) is_list = line == "Options:" || line == "Positionals:";
    if (!is_list || !line.starts_with("  ") || line.starts_with("   ")) continue;
    const std::string text = left_of_the_explanation(line);
    if (text.starts_with("-h,--help")) continue;
    all += (all.empty() ? "" : "; ") + text;
  }
  return all;
}

using VerbOptions = std::pair<std::string, std::string>;

void expect_options(const std::vector<VerbOptions>& rows) {
  for (const auto& [verb, options] : rows) EXPECT_EQ(options_said(verb), options) << verb;
}

TEST(VerbOptions, of_designs_and_what_is_known) {
  expect_options({{"init",
                   "-t,--template NAME; -o,--output FILE; --list; --schema; --force; "
                   "--format text|json=text"},
                  {"plan",
                   "FILE REQUIRED; --brief; --explain; --calibration FILE ...; "
                   "--format text|json|markdown|html|csv=text"},
                  {"rank",
                   "--model ID=llama-3-70b; --accelerator ID ...; --input X=1024; --output X=1024; "
                   "--precision WORD=fp8; --engine ID=vllm; --ttft TIME; --tpot TIME; "
                   "--rack POWER=40 kW; --format text|json|markdown=text"},
                  {"search layout",
                   "MODEL REQUIRED; --accelerator ID=h100-sxm; --gpus N=64; --batch N=512; "
                   "--sequence N=4096; --precision NAME=bf16; --framework NAME=default; "
                   "--nic RATE=400 Gb/s; --keep N=10; --tp N; --pp N; --vp N; --cp N; --ep N; "
                   "--microbatch N; --megatron; --trace FILE; --pareto; --jobs N=1; "
                   "--format text|json=text"},
                  {"score",
                   "KIND training|collectives|storage|serving|offline|open-loop|requests|steps "
                   "REQUIRED; FILE REQUIRED; --models DIR; --logs DIR; --tests FILE; --predict; "
                   "--leave-out model|source|gpu|release|framework|all|system; --explain ID; "
                   "--format text|json|markdown=text"},
                  {"calibrate",
                   "FILE REQUIRED; --accelerator ID; --tier NAME; --whole-tier; --adjust; "
                   "--part NAME"},
                  {"diff",
                   "BEFORE REQUIRED; AFTER REQUIRED; --simulate; --for TIME=30 d; "
                   "--replications N=8; --seed N=1; --jobs N=1; "
                   "--format text|json|markdown|html=text"},
                  {"explain", "TOPIC REQUIRED; NAME; --format text|json|markdown=text"},
                  {"catalog", "TABLE; ID; --format text|json|csv|markdown=text"},
                  {"bench", "NAME ...; --list"},
                  {"completion", "SHELL bash|zsh|fish REQUIRED"},
                  {"version", "--format text|json=text"},
                  {"man", "DIR REQUIRED"}});
}

TEST(VerbOptions, of_simulated_time) {
  expect_options(
      {{"simulate",
        "DESIGN; --for TIME=30 d; --replications N=8; --calibration FILE ...; --series FILE; "
        "--trace FILE; --events FILE; --replay FILE; --trace-format WORD; --policy WORD ...; "
        "--gpus N=0; --nodes N=0; --gpus-per-node N=8; --nodes-per-leaf N=0; "
        "--placement WORD=pack; --from N=0; --take N=0; --mtbf TIME; --repair TIME=4 h; "
        "--checkpoint TIME; --requeue TIME=2 min; --pod-nodes FILE; --load X=1.3; --rewind; "
        "--more N=0; --why TIME; --seed N=1; --jobs N=1; "
        "--format text|json|markdown|html=text"}});
}

TEST(VerbOptions, of_networks) {
  const std::string network =
      "--design FILE; "
      "--topology rail-fat-tree|fat-tree|rail-only|dragonfly|torus|scale-up=rail-fat-tree; "
      "--nodes N=127; --nics N=8; --switch ID=qm9700; --radix N; --rate Gb/s=400 Gb/s; "
      "--planes N=1; --oversubscription X=1; --torus SIZES; "
      "--routing static|ecmp|adaptive|fixed=static; --seed N=1; "
      "--format text|json|markdown=text";
  expect_options(
      {{"fabric bill", network},
       {"fabric path", "--from N=0; --to N=1; " + network},
       {"fabric what-if", "--lose nic|link|plane|leaf|spine=link; --number N=0; " + network},
       {"fabric storm", "--partners N=4; " + network},
       {"fabric compare",
        "--leaves N=32; --hosts N=32; --spines N=32; --queue-pairs N=4; "
        "--format text|markdown=text"},
       {"fabric counters", "FILE REQUIRED"},
       {"fabric log",
        "FILE REQUIRED; --gpu ID=h100-sxm; --gpus-per-node N=8; --nics N=8; "
        "--rate Gb/s=400 Gb/s; --network KIND=infiniband; --ranks N; "
        "--format text|markdown=text"}});
}

TEST(VerbOptions, of_files_for_other_systems) {
  const std::string common = "DESIGN REQUIRED; DIR REQUIRED; --dry-run; --diff; --force; --keep";
  expect_options({{"emit slurm", common + "; --controller HOST=slurm-controller; "
                                          "--conf-dir DIR=/etc/slurm; --object-store URL; "
                                          "--trial DIR; --trial-port N=6817; --cloud"},
                  {"emit kubernetes", common + "; --object-store URL; --ray"},
                  {"emit prometheus", common},
                  {"emit grafana", common},
                  {"emit terraform", common},
                  {"emit dlio", common}});
}

TEST(VerbOptions, of_agents) {
  const std::string policy =
      "--silence TIME=10 s; --out-max X=0.1; --avoid-share X; --crash-loop N=4; "
      "--losses-max N=50; ";
  expect_options({{"agent recover",
                   "--conf FILE; --journal FILE REQUIRED; --interval TIME=500 ms; --once; "
                   "--dry-run; --fence PROGRAM; " +
                       policy +
                       "--spare-reason TEXT=spare; --broken-reason TEXT=fatal:; "
                       "--format text|json=text"},
                  {"agent rehearse",
                   "--nodes N=64; --spares N=0; --jobs N=16; --job-nodes N=2; "
                   "--faults N=10; --for TIME=1 h; --repair TIME=10 min; --fence; "
                   "--interval TIME=500 ms; " +
                       policy + "--seed N=1; --format text|json=text"},
                  {"agent stragglers",
                   "FILE REQUIRED; --false-positives X=0.01; --slow X=0.02; "
                   "--spike X=0.1; --format text|json=text"},
                  {"agent lifecycle",
                   "--place PLACE ... REQUIRED; --journal FILE REQUIRED; --run TEXT=run; "
                   "--marker NAME; --quiet TIME=10 s; --interval TIME=10 s; --copies N=1; "
                   "--grace TIME=1 d; --reread TIME=0 s; "
                   "--endpoint URL=https://s3.us-east-1.amazonaws.com; "
                   "--region TEXT=us-east-1; --once; --dry-run; "
                   "--format text|json=text"}});
}

TEST(VerbOptions, of_probes_and_servers) {
  expect_options(
      {{"probe gpu", "--program FILE; --quick"},
       {"probe storage",
        "PLACE REQUIRED; --size BYTES; --block BYTES=1 MiB; --depth N=8; "
        "--random-block BYTES=4 KiB; --random-depth N=32; "
        "--engine auto|io_uring|threads=auto; --buffered; --only PART ...; "
        "--streams N=4; --seconds S; --repeats N; --quick; --design FILE; "
        "--tier NAME; --endpoint URL; --region NAME; --create-bucket; "
        "--seed N=1; --format text|json|csv=text"},
       {"probe serving",
        "--model ID=llama-3-8b; --accelerator ID=h200-sxm; --clients N=16; "
        "--requests N=100; --prompt TOKENS=512; --output TOKENS=128; "
        "--blocks N=4096; --budget TOKENS=2048; --sequences N=64; "
        "--eager-layer US=0; --live"},
       {"exporter",
        "DESIGN REQUIRED; --port N=9817; --slurm; --slurm-conf FILE; "
        "--node-files DIR; --probe FILE ...; --once"},
       {"serve", "DESIGN; --port N=8117; --state FILE; --calibration FILE ...; --store URL"},
       {"store",
        "FOLDER ...; --port N=8118; --tier TIER ...; --metadata URL; --lifecycle-day TIME=24h; "
        "--keep TIER,WORDS ...; --promote TIME; --tenants FILE; --key-file FILE; "
        "--key-command TEXT; --s3-keys FILE; --audit FILE; --md5; --open-metrics; "
        "--client-requests N=0; --client-at-once N=24; --at URL; --quick; "
        "--dry-run; --apply; --grace TIME=7d; "
        "--domain NAME=localhost; --listen ADDRESS=127.0.0.1; --tls-certificate FILE; "
        "--tls-key FILE; --region NAME=us-east-1"}});
}

// Groups of verbs take one of these, and nothing else.
TEST(VerbOptions, verbs_stand_in_the_order_of_the_work) {
  std::vector<std::string> names;
  for (const VerbShape& shape : shapes_of(all_verbs())) {
    if (shape.path.empty() || !shape.verbs.empty()) {
      names.push_back(joined(shape.path, " ") + ": " + joined(shape.verbs, " "));
    }
  }
  EXPECT_EQ(joined(names, "\n"),
            ": init plan simulate search rank calc fabric score calibrate diff explain catalog "
            "emit agent probe exporter store serve bench completion version man\n"
            "search: layout\n"
            "calc: checkpoint memory train-time kv-cache collective goodput spares power tco "
            "durability tier tier-size serve kv-tier\n"
            "fabric: bill path what-if storm compare counters log\n"
            "emit: slurm kubernetes prometheus grafana terraform dlio\n"
            "agent: recover rehearse stragglers lifecycle\n"
            "probe: gpu storage serving");
}

}  // namespace
}  // namespace orrery::cli
