// For tests: an engine with few blocks that is run step by step. "1:3:4" means that request 1
// computes 3 tokens after 4 that are in the cache.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "layers/engines/scheduler.h"

namespace orrery::engines {

inline EnginePolicy tiny(EngineKind kind) {
  EnginePolicy p;
  p.kind = kind;
  p.block_tokens = kind == EngineKind::sglang ? 1 : 4;
  p.blocks = 1000;
  p.token_budget = 10;
  p.max_sequences = 8;
  p.chunk_unit = 4;
  return p;
}

class StepwiseEngine {
 public:
  explicit StepwiseEngine(const EnginePolicy& policy) : scheduler_(make_scheduler(policy)) {}

  int add(const RequestSpec& spec) { return scheduler_->add(spec, ++clock_); }
  std::string plan() {
    batch_ = scheduler_->plan();
    std::string text;
    for (const BatchItem& i : batch_.items) {
      text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ", i.id, i.tokens, i.context);
    }
    EXPECT_EQ(scheduler_->check(), "");
    return text;
  }
  // Plans a step and runs it.
  std::string step() {
    const std::string text = plan();
    scheduler_->done();
    EXPECT_EQ(scheduler_->check(), "");
    return text;
  }
  const Batch& batch() const { return batch_; }
  Scheduler& operator*() { return *scheduler_; }
  Scheduler* operator->() { return scheduler_.get(); }

 private:
  std::unique_ptr<Scheduler> scheduler_;
  Batch batch_;
  double clock_ = 0;
};

inline RequestSpec asking(int prompt, int output) { return {.prompt = prompt, .output = output}; }
inline RequestSpec naming(int prompt, int output, std::uint64_t content) {
  return {.prompt = prompt, .output = output, .content = content};
}

}  // namespace orrery::engines
