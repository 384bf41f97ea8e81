#include "layers/fabric/traffic.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/random.h"

namespace orrery::fabric {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Starts messages at their times and records when the last flow of each is done.
class Sender final : public sim::EventHandler, public FlowObserver {
 public:
  Sender(FlowEngine& engine, const FabricGraph& graph, Router& router,
         const std::vector<Message>& messages, const TrafficOptions& options)
      : engine_(engine),
        graph_(graph),
        router_(router),
        messages_(messages),
        options_(options),
        busy_(graph.links.size(), 0) {
    result.finish.assign(messages.size(), kNever);
  }

  void begin(sim::Kernel& kernel) {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (messages_[i].start <= 0) {
        send(i);
      } else {
        kernel.schedule(sim::SimTime::from(Seconds(messages_[i].start)), sim::EventRank::start,
                        *this, 0, i);
      }
    }
  }

  void on_event(sim::Kernel&, std::uint32_t, std::uint64_t data) override {
    send(static_cast<std::size_t>(data));
  }

  void on_flow_done(sim::Kernel&, FlowId flow, std::uint64_t tag) override {
    const double at = engine_.finish_time(flow).seconds().base();
    double& finish = result.finish[static_cast<std::size_t>(tag)];
    finish = finish == kNever ? at : std::max(finish, at);
    result.last = std::max(result.last, at);
  }

  void name_limit() {
    for (std::size_t l = 0; l < busy_.size(); ++l) {
      const double seconds = busy_[l] / graph_.links[l].capacity;
      if (seconds <= result.limiting_seconds) continue;
      result.limiting_seconds = seconds;
      result.limiting_link = static_cast<LinkId>(l);
    }
  }

  TrafficResult result;

 private:
  void send(std::size_t i) {
    const Message& m = messages_[i];
    const int parts = std::max(1, options_.queue_pairs);
    for (int qp = 0; qp < parts; ++qp) {
      path_.clear();
      if (!router_.route(m.source, m.destination, qp, path_)) {
        ++result.unreachable;
        return;
      }
      const double latency = path_latency(graph_, path_);
      const double bytes = m.bytes / parts;
      for (const LinkId l : path_) busy_[static_cast<std::size_t>(l)] += bytes;
      engine_.start({.path = path_,
                     .bytes = bytes,
                     .latency = latency,
                     .weight = options_.weigh_by_latency && latency > 0 ? 1e-6 / latency : 1,
                     .cap = kUncapped,
                     .priority = m.priority,
                     .tag = i});
    }
  }

  FlowEngine& engine_;
  const FabricGraph& graph_;
  Router& router_;
  const std::vector<Message>& messages_;
  const TrafficOptions& options_;
  std::vector<double> busy_;
  std::vector<LinkId> path_;
};

}  // namespace

std::vector<Message> all_to_all(int endpoints, Bytes each) {
  std::vector<Message> out;
  out.reserve(static_cast<std::size_t>(endpoints) * static_cast<std::size_t>(endpoints));
  for (int s = 0; s < endpoints; ++s) {
    for (int d = 0; d < endpoints; ++d) {
      if (s != d) out.push_back({s, d, each.base()});
    }
  }
  return out;
}

std::vector<Message> random_permutation(int endpoints, Bytes each, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(endpoints));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(seed, "fabric/permutation");
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::vector<Message> out;
  out.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.push_back({order[i], order[(i + 1) % order.size()], each.base()});
  }
  return out;
}

std::vector<double> capacities_of(const FabricGraph& graph) {
  std::vector<double> out;
  out.reserve(graph.links.size());
  for (const GraphLink& l : graph.links) out.push_back(l.capacity);
  return out;
}

TrafficResult run_traffic(const FabricGraph& graph, Router& router,
                          const std::vector<Message>& messages, const TrafficOptions& options) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, capacities_of(graph), {.tolerance = options.tolerance});
  const std::size_t flows =
      messages.size() * static_cast<std::size_t>(std::max(1, options.queue_pairs));
  engine.reserve(flows, flows * 4);
  Sender sender(engine, graph, router, messages, options);
  engine.observe(&sender);
  sender.begin(kernel);
  kernel.run();
  sender.name_limit();
  sender.result.solves = engine.solves();
  return std::move(sender.result);
}

}  // namespace orrery::fabric
