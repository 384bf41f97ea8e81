// The engines' policies in situations written down in tests/data/schedulers: the decision of each
// engine in every iteration, restated from its own tests and code.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "layers/engines/scheduler.h"

namespace orrery::serving {
namespace {

using Settings = std::map<std::string, std::string>;

Settings settings_of(std::istringstream& words) {
  Settings s;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    s[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return s;
}

double number(const Settings& s, const std::string& name, double otherwise) {
  const auto at = s.find(name);
  return at == s.end() ? otherwise : std::stod(at->second);
}

engines::EnginePolicy policy_from(engines::EngineKind kind, const Settings& s) {
  const auto whole = [&](const char* name, int otherwise) {
    return static_cast<int>(number(s, name, otherwise));
  };
  engines::EnginePolicy p;
  p.kind = kind;
  p.token_budget = whole("budget", 8192);
  p.max_sequences = whole("seqs", 16);
  p.blocks = whole("blocks", 10000);
  p.block_tokens = whole("block", kind == engines::EngineKind::sglang ? 1 : 16);
  p.chunked_prefill = whole("chunk", kind == engines::EngineKind::tensorrt_llm ? 0 : 1) == 1;
  p.long_prompt = whole("long", 0);
  p.by_priority = whole("prio", 0) == 1;
  p.whole_prompt_fits = whole("fit", 1) == 1;
  p.prefix_cache = whole("cache", 0) == 1;
  p.chunk_unit = whole("unit", 32);
  p.max_utilisation = whole("util", 0) == 1;
  p.new_token_ratio = number(s, "ratio", 0.7);
  p.new_token_ratio_min = number(s, "rmin", 0.098);
  p.new_token_steps = whole("rsteps", 600);
  return p;
}

class Situation {
 public:
  void read(const std::string& line) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "engine") {
      std::string kind;
      words >> kind;
      scheduler_ =
          make_scheduler(policy_from(*from_word<engines::EngineKind>(kind), settings_of(words)));
    } else if (first == "at") {
      int step = 0;
      words >> step;
      arrivals_.emplace(step, settings_of(words));
    } else {
      check(line.substr(line.find(' ') + 1));
    }
  }

 private:
  void arrive(const Settings& s) {
    const auto id = scheduler_->add({.prompt = static_cast<int>(number(s, "p", 1)),
                                     .output = static_cast<int>(number(s, "o", 1)),
                                     .priority = static_cast<int>(number(s, "pr", 0)),
                                     .shared = static_cast<std::uint64_t>(number(s, "sh", 0)),
                                     .shared_tokens = static_cast<int>(number(s, "st", 0)),
                                     .content = static_cast<std::uint64_t>(number(s, "c", 0))},
                                    static_cast<double>(names_.size()));
    names_[id] = s.at("n");
  }

  std::string decision() {
    const engines::Batch& batch = scheduler_->plan();
    std::string text;
    for (const engines::BatchItem& item : batch.items) {
      text += (text.empty() ? "" : " ") + names_[item.id] + ":" + std::to_string(item.tokens);
    }
    if (!batch.preempted.empty()) text += " |";
    for (const int id : batch.preempted) text += " " + names_[id];
    return text.empty() ? "-" : text;
  }

  void check(const std::string& expected) {
    const auto [begin, end] = arrivals_.equal_range(step_);
    for (auto a = begin; a != end; ++a) arrive(a->second);
    EXPECT_EQ(decision(), expected) << "in iteration " << step_;
    EXPECT_EQ(scheduler_->check(), "");
    scheduler_->done();
    ++step_;
  }

  std::unique_ptr<engines::Scheduler> scheduler_;
  std::multimap<int, Settings> arrivals_;
  std::map<int, std::string> names_;
  int step_ = 0;
};

int play(const std::string& kind) {
  std::ifstream file(std::string(ORRERY_SOURCE_DIR) + "/tests/data/schedulers/" + kind + ".txt");
  EXPECT_TRUE(file) << kind;
  int count = 0;
  std::unique_ptr<Situation> now;
  std::string title;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("situation ")) {
      title = line.substr(10);
      now = std::make_unique<Situation>();
      ++count;
      continue;
    }
    const testing::ScopedTrace trace(__FILE__, __LINE__, kind + ": " + title);
    now->read(line);
  }
  return count;
}

TEST(Schedulers, VllmDecidesAsWrittenDown) { EXPECT_GE(play("vllm"), 80); }
TEST(Schedulers, TensorrtLlmDecidesAsWrittenDown) { EXPECT_GE(play("tensorrt-llm"), 50); }
TEST(Schedulers, SglangDecidesAsWrittenDown) { EXPECT_GE(play("sglang"), 40); }

}  // namespace
}  // namespace orrery::serving
