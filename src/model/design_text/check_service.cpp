#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/catalog/adapter_target.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

// Every turn brings all before it, and no context is as long.
constexpr int kMostTurns = 64;

class ServiceCheck {
 public:
  ServiceCheck(const design::PlaceMap& places, ValueReader& values) : places_(places), v_(values) {}

  // What is said of talks and routers must have something to act on.
  void talks(const design::Serve& s, const std::string& path) {
    const auto refuse = [&](const std::string& field, std::string what, std::string why,
                            std::string fix) {
      complain(path + field, {"design.talks", std::move(what), std::move(why), std::move(fix)});
    };
    const bool by_agent = s.arrivals.agent.has_value();
    const std::string field = by_agent ? ".arrivals.agent" : ".arrivals.turns";
    if (s.arrivals.turns <= 1 && s.arrivals.think_time) {
      refuse(".arrivals.think_time", "`think_time` is of talks, and requests come one by one here",
             "the time between requests is `rate`", "write `turns`, or leave it out");
    }
    if (s.arrivals.cache_hits >= 1) {
      complain(path + ".arrivals.cache_hits",
               {"design.range", "a response cache that answers all leaves nothing to serve",
                "replicas are sized by the requests that reach them", "write less than 1"});
    } else if (s.arrivals.visits() > 1 && s.arrivals.cache_hits > 0) {
      refuse(".arrivals.cache_hits", "turns of a talk are not found in a response cache",
             "each brings a history of its own", "leave out `turns`, `agent` or `cache_hits`");
    }
    if (by_agent && s.arrivals.turns > 1) {
      refuse(".arrivals.turns", "`turns` and `agent` both say who asks again",
             "a person thinks between two turns, an agent calls its tools",
             "leave one of them out");
    }
    const bool again = by_agent || s.arrivals.turns > 1;
    if (s.arrivals.visits() > kMostTurns) {
      refuse(field, fmt::format("a talk has at most {} turns here", kMostTurns),
             "every turn brings all before it, and no context is as long",
             "write fewer turns of more tokens");
    } else if (again && s.model.empty()) {
      refuse(field, "a plain network has no talks", "one request is one sample of it",
             "leave it out");
    } else if (again && s.disaggregated) {
      refuse(field, "talks with prefill and decode apart are not modelled",
             "the two sides are run one after the other, and no answer brings about a turn",
             "leave out this or `disaggregated`");
    } else if (again && !s.draft_model.empty()) {
      refuse(field, "talks with guessed tokens are not modelled",
             "an answer is counted by its steps, and a history by its tokens",
             "leave out this or `draft_model`");
    }
    if (s.objective.task_p99 && !by_agent) {
      refuse(".objective.task_p99", "`task_p99` is of an agent's tasks, and there are none here",
             "a request by itself has `latency_p99`",
             "write `arrivals: { agent }`, or leave it out");
    }
    if (s.router != catalog::ServeRouter::least_requests && s.model.empty()) {
      refuse(".router", "a plain network's requests are not routed one by one",
             "they wait as M/M/1, before one replica each", "leave `router` out");
    }
  }

  void scaling(const design::Serve& s, const std::string& path) {
    if (!s.autoscale) return;
    const std::string at = path + ".autoscale";
    const auto refuse = [&](const std::string& where, std::string what, std::string why,
                            std::string fix) {
      complain(where, {"design.autoscale", std::move(what), std::move(why), std::move(fix)});
    };
    if (s.replicas) {
      refuse(path + ".replicas", "`replicas` and `autoscale` both say how many replicas there are",
             "an autoscaler moves between its `min` and its `max`", "leave one of them out");
    }
    for (std::size_t i = 0; i < s.zones.size(); ++i) {
      if (!s.zones[i].replicas) continue;
      refuse(fmt::format("{}.zones[{}].replicas", path, i),
             "`replicas` of a zone and `autoscale` both say how many there are",
             "an autoscaler moves between its `min` and its `max`", "leave one of them out");
    }
    if (s.autoscale->min > s.autoscale->max) {
      refuse(at + ".min", "`min` is more than `max`", "no number of replicas lies between",
             fmt::format("write {} or less", s.autoscale->max));
    }
    if (s.disaggregated) {
      refuse(at, "autoscaling with prefill and decode apart is not modelled",
             "the two sides would follow loads of their own", "leave out one of the two");
    }
  }

  void kv_tier(const design::Serve& s, const std::string& path) {
    if (!s.kv_tier || (!s.model.empty() && s.prefix_cache)) return;
    const char* why =
        s.model.empty() ? "a plain network keeps no keys and values" : "`prefix_cache` is off";
    complain(path + ".kv_tier",
             {"design.kv-tier", "a KV tier is behind a prefix cache, and there is none here", why,
              "leave `kv_tier` out"});
  }

  void adapters(const design::Serve& s, const std::string& path) {
    if (!s.adapters) return;
    const design::Adapters& a = *s.adapters;
    const auto refuse = [&](bool wrong, const char* field, const char* what, const char* fix) {
      if (wrong) complain(path + ".adapters" + field, {"design.adapters", what, "", fix});
    };
    refuse(s.model.empty(), "", "a plain network has no adapters here", "leave them out");
    refuse(s.disaggregated, "", "adapters with roles apart are not modelled", "leave one out");
    refuse(a.rank > design::kHighestRank, ".rank", "engines serve ranks up to 512", "lower it");
    refuse(a.count > design::kMostAdapters, ".count", "that are more than 100,000", "write fewer");
    const bool known = std::ranges::all_of(a.targets, catalog::is_adapter_target);
    refuse(!known || a.targets.empty(), ".targets", "they stand beside qkv, o, mlp", "write some");
  }

  // Whoever takes a zone's traffic has replicas of the service, and stands elsewhere.
  void failover(const design::Serve& s, const std::string& path) {
    for (std::size_t i = 0; i < s.zones.size(); ++i) {
      const design::Zone& zone = s.zones[i];
      const std::string here = fmt::format("{}.zones[{}].failover", path, i);
      for (std::size_t f = 0; f < zone.failover.size(); ++f) {
        takes_over(s, zone, f, fmt::format("{}[{}]", here, f));
      }
      if (zone.failover.empty() && zone.failover_after) {
        complain(
            here + "_after",
            {"design.failover", "`failover_after` is of a zone whose traffic goes elsewhere",
             "this one names no site that would take it", "write `failover`, or leave it out"});
      }
    }
  }

  void retrieval(const design::Serve& s, const std::string& path) {
    const auto refuse = [&](const char* field, std::string what, std::string why) {
      complain(path + field, {"design.retrieval", std::move(what), std::move(why), "leave it out"});
    };
    if (s.max_batch && s.model.empty()) {
      refuse(".max_batch", "a plain network runs one request at a time here",
             "its requests wait as M/M/1");
    }
    if (!s.retrieval) return;
    if (s.model.empty()) {
      refuse(".retrieval", "a plain network has no prompt", "what is looked up lengthens a prompt");
    } else if (s.arrivals.agent) {
      refuse(".retrieval", "an agent's retrieval is one of its tools",
             "`tool_time` and `tool_tokens` say what a tool takes and brings");
    } else if (s.retrieval->hops > s.retrieval->reads) {
      refuse(".retrieval.hops", "there are more hops than reads", "each hop reads at least once");
    }
  }

 private:
  void takes_over(const design::Serve& s, const design::Zone& zone, std::size_t number,
                  const std::string& path) {
    const std::string& site = zone.failover[number];
    const auto first = zone.failover.begin();
    const auto refuse = [&](std::string what, std::string why, std::string fix) {
      complain(path, {"design.failover", std::move(what), std::move(why), std::move(fix)});
    };
    if (site == zone.site) {
      refuse(fmt::format("`{}` is the zone's own site", site), "what takes it takes the zone",
             "name another site, or leave it out");
    } else if (std::find(first, first + static_cast<std::ptrdiff_t>(number), site) !=
               first + static_cast<std::ptrdiff_t>(number)) {
      refuse(fmt::format("`{}` is named twice", site), "what it has no room for, it has none for",
             "leave one out");
    } else if (std::ranges::find(s.zones, site, &design::Zone::site) == s.zones.end()) {
      refuse(fmt::format("no zone of this service stands at `{}`", site),
             "a site takes traffic with the replicas it has",
             "name the site of another zone, or write a zone there");
    }
  }

  void complain(const std::string& path, ValueReader::Fault fault) {
    v_.complain(places_.find(path), std::move(fault));
  }

  const design::PlaceMap& places_;
  ValueReader& v_;
};

}  // namespace

void check_service(const design::Serve& serve, const std::string& path,
                   const design::PlaceMap& places, ValueReader& values) {
  ServiceCheck check(places, values);
  check.talks(serve, path);
  check.scaling(serve, path);
  check.kv_tier(serve, path);
  check.adapters(serve, path);
  check.failover(serve, path);
  check.retrieval(serve, path);
}

namespace {

class CascadeCheck {
 public:
  CascadeCheck(const design::Design& design, ValueReader& values) : d_(design), v_(values) {}

  void run() {
    for (std::size_t i = 0; i < d_.workloads.size(); ++i) {
      const auto* serve = std::get_if<design::Serve>(&d_.workloads[i].task);
      if (serve == nullptr) continue;
      const std::string path = fmt::format("workloads[{}].serve", i);
      if (serve->escalate) escalation(*serve, path);
      if (serve->arrivals.rate <= PerSecond(0) &&
          !is_named(design::label_of(d_, d_.workloads[i]))) {
        complain(path + ".arrivals.rate", "design.range", "nobody asks this service",
                 "its rate is 0, and no other service escalates to it", "write a rate");
      }
    }
  }

 private:
  const design::Serve* find(const std::string& name) const {
    for (const design::Workload& w : d_.workloads) {
      if (design::label_of(d_, w) == name) return std::get_if<design::Serve>(&w.task);
    }
    return nullptr;
  }

  bool is_named(const std::string& name) const {
    return std::ranges::any_of(d_.workloads, [&](const design::Workload& w) {
      const auto* serve = std::get_if<design::Serve>(&w.task);
      return serve != nullptr && serve->escalate && serve->escalate->service == name;
    });
  }

  void escalation(const design::Serve& s, const std::string& path) {
    const std::string at = path + ".escalate";
    const design::Serve* to = find(s.escalate->service);
    if (to == nullptr) {
      return complain(at + ".service", "design.unknown-name",
                      fmt::format("this file has no service `{}`", s.escalate->service), "",
                      "name a workload of kind `serve`");
    }
    const design::Serve* next = to;
    for (std::size_t i = 0; i < d_.workloads.size() && next != nullptr && next != &s; ++i) {
      next = next->escalate ? find(next->escalate->service) : nullptr;
    }
    if (next != nullptr) {
      return complain(at + ".service", "design.cascade", "services escalate in a circle",
                      "no answer would ever stay", "end the chain with a service that answers all");
    }
    for (const design::Serve* one : {&s, to}) {
      if (!one->model.empty() && one->arrivals.visits() <= 1) continue;
      return complain(at, "design.cascade",
                      one->model.empty() ? "a plain network has no larger model to go to"
                                         : "talks and tasks that escalate are not modelled",
                      one->model.empty() ? "its requests are samples, and not answered in tokens"
                                         : "the larger model would have none of their history",
                      "leave `escalate` out");
    }
  }

  void complain(const std::string& path, std::string_view code, std::string what, std::string why,
                std::string fix) {
    v_.complain(d_.places.find(path), {code, std::move(what), std::move(why), std::move(fix)});
  }

  const design::Design& d_;
  ValueReader& v_;
};

}  // namespace

void check_inference(const design::Batch& batch, const std::string& path,
                     const design::PlaceMap& places, ValueReader& values) {
  if (!batch.inference || (!batch.core_hours && !batch.accelerator_hours)) return;
  values.complain(places.find(path + ".inference"),
                  {"design.inference", "the work of this batch is said twice",
                   "hours follow from the requests of `inference`", "leave the hours out"});
}

namespace {

// Replicas run on what the accelerators of their fleet are cut into.
class SliceCheck {
 public:
  SliceCheck(const design::Design& design, ValueReader& values) : d_(design), v_(values) {}

  void run() {
    for (std::size_t i = 0; i < d_.workloads.size(); ++i) {
      const auto* serve = std::get_if<design::Serve>(&d_.workloads[i].task);
      if (serve == nullptr) continue;
      const std::string path = fmt::format("workloads[{}].serve", i);
      if (serve->zones.empty()) on_fleet(*serve, fleet_named(d_.workloads[i].terms.fleet), path);
      for (const design::Zone& zone : serve->zones) {
        on_fleet(*serve, zone.fleet.empty() ? fleet_at(zone.site) : fleet_named(zone.fleet), path);
      }
    }
  }

 private:
  const design::Fleet* fleet_named(const std::string& name) const {
    const auto at =
        name.empty() ? d_.fleet.begin() : std::ranges::find(d_.fleet, name, &design::Fleet::name);
    return at == d_.fleet.end() ? nullptr : &*at;
  }
  const design::Fleet* fleet_at(const std::string& site) const {
    const design::Site* wanted = design::find_site(d_, site);
    const auto at = std::ranges::find_if(
        d_.fleet, [&](const design::Fleet& f) { return design::find_site(d_, f.site) == wanted; });
    return at == d_.fleet.end() ? nullptr : &*at;
  }

  void on_fleet(const design::Serve& s, const design::Fleet* fleet, const std::string& path) {
    // A fleet that there is none of has been said.
    if (fleet == nullptr || fleet->mig.empty()) return;
    if (fleet->mig.size() > 1) {
      complain(path, "the accelerators of its fleet are cut into slices of several sizes",
               "services that share an accelerator are not modelled",
               "cut them into one size, or give the service a fleet of its own");
    } else if (s.disaggregated) {
      complain(path + ".disaggregated", "prefill and decode apart on slices are not modelled",
               "a slice has no port of its own to send keys through",
               "leave it out, or serve on whole accelerators");
    } else if (s.tp.value_or(1) > 1 || s.pp > 1) {
      complain(path + (s.pp > 1 ? ".pp" : ".tp"), "a replica on a slice is on one",
               "no link joins slices", "leave it out, or serve on whole accelerators");
    }
  }

  void complain(const std::string& path, std::string what, std::string why, std::string fix) {
    v_.complain(d_.places.find(path),
                {"design.mig", std::move(what), std::move(why), std::move(fix)});
  }

  const design::Design& d_;
  ValueReader& v_;
};

}  // namespace

void check_cascades(const design::Design& design, ValueReader& values) {
  CascadeCheck(design, values).run();
}

void check_slices(const design::Design& design, ValueReader& values) {
  SliceCheck(design, values).run();
}

}  // namespace orrery::design_text
