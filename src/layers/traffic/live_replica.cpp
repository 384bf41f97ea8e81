#include "layers/traffic/live_replica.h"

#include <fmt/format.h>

namespace orrery::traffic {
namespace {

// The clients' side: which request is sent next, and when answers came back.
class Clients {
 public:
  Clients(const std::vector<engines::RequestSpec>& requests, engines::Scheduler& scheduler)
      : requests_(requests), scheduler_(scheduler) {}

  void send(double at) {
    if (next_ >= requests_.size()) return;
    const engines::RequestSpec& spec = requests_[next_];
    const auto id = static_cast<std::size_t>(scheduler_.add(spec, at));
    if (id >= request_of_.size()) request_of_.resize(id + 1);
    request_of_[id] = static_cast<int>(next_);
    records_.push_back({.id = static_cast<int>(next_),
                        .prompt = spec.prompt,
                        .output = spec.output,
                        .arrived = at});
    ++next_;
  }
  RequestRecord& record(int id) {
    return records_[static_cast<std::size_t>(request_of_[static_cast<std::size_t>(id)])];
  }
  const std::vector<int>& request_of() const { return request_of_; }
  std::vector<RequestRecord> take() { return std::move(records_); }

 private:
  const std::vector<engines::RequestSpec>& requests_;
  engines::Scheduler& scheduler_;
  std::size_t next_ = 0;
  std::vector<int> request_of_;  // indexed by the scheduler's id
  std::vector<RequestRecord> records_;
};

}  // namespace

std::string decision_text(const engines::Batch& batch, const std::vector<int>& request_of) {
  std::string text;
  for (const engines::BatchItem& item : batch.items) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ",
                        request_of[static_cast<std::size_t>(item.id)], item.tokens, item.context);
  }
  return text;
}

LiveRun run_live(
    const engines::EnginePolicy& policy, const std::vector<engines::RequestSpec>& requests,
    int clients,
    const std::function<double(const engines::Batch&, const std::vector<int>&)>& execute) {
  LiveRun run;
  const auto scheduler = engines::make_scheduler(policy);
  Clients loop(requests, *scheduler);
  for (int i = 0; i < clients; ++i) loop.send(0);
  double now = 0;
  while (scheduler->unfinished() > 0) {
    const engines::Batch& batch = scheduler->plan();
    if (batch.empty()) break;
    const double took = execute(batch, loop.request_of());
    run.failed = took < 0;
    if (run.failed) break;
    run.decisions.push_back(decision_text(batch, loop.request_of()));
    run.seconds.push_back(took);
    for (const engines::BatchItem& item : batch.items) {
      RequestRecord& r = loop.record(item.id);
      if (r.scheduled == 0) r.scheduled = now;
      if (item.emits && r.first == 0) r.first = now + took;
    }
    now += took;
    scheduler->done();
    const std::vector<int> finished = scheduler->finished();
    for (const int id : finished) {
      loop.record(id).last = now;
      scheduler->recycle(id);
    }
    for (std::size_t i = 0; i < finished.size(); ++i) loop.send(now);
  }
  run.records = loop.take();
  return run;
}

}  // namespace orrery::traffic
