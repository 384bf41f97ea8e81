#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/catalog/adapter_target.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

// Most turns: each turn resends the history, and no model's context holds more.
constexpr int kMostTurns = 64;

class ServiceCheck {
 public:
  ServiceCheck(const design::PlaceMap& places, ValueReader& values) : places_(places), v_(values) {}

  // Checks that fields about conversations and routers have something to act on.
  void conversations(const design::Serve& s, const std::string& path) {
    const auto refuse = [&](const std::string& field, std::string what, std::string why,
                            std::string fix) {
      complain(path + field, {"design.talks", std::move(what), std::move(why), std::move(fix)});
    };
    const bool by_agent = s.arrivals.agent.has_value();
    const std::string field = by_agent ? ".arrivals.agent" : ".arrivals.turns";
    if (s.arrivals.turns <= 1 && s.arrivals.think_time) {
      refuse(".arrivals.think_time",
             "`think_time` applies to conversations, but these requests are single",
             "`rate` gives the time between requests", "write `turns`, or leave it out");
    }
    if (s.arrivals.cache_hits >= 1) {
      complain(path + ".arrivals.cache_hits",
               {"design.range", "a response cache that answers everything leaves nothing to serve",
                "replicas are sized by the requests that reach them", "write less than 1"});
    } else if (s.arrivals.visits() > 1 && s.arrivals.cache_hits > 0) {
      refuse(".arrivals.cache_hits", "a response cache cannot answer turns of a conversation",
             "each turn brings a history of its own", "leave out `turns`, `agent` or `cache_hits`");
    }
    if (by_agent && s.arrivals.turns > 1) {
      refuse(".arrivals.turns", "`turns` and `agent` both say who sends the next request",
             "a person thinks between two turns, an agent calls its tools",
             "leave one of them out");
    }
    const bool again = by_agent || s.arrivals.turns > 1;
    if (s.arrivals.visits() > kMostTurns) {
      refuse(field, fmt::format("a conversation may have at most {} turns", kMostTurns),
             "every turn resends the history, and no context is that long",
             "write fewer turns of more tokens");
    } else if (again && s.model.empty()) {
      refuse(field, "a non-transformer network has no conversations",
             "each of its requests is one sample", "leave it out");
    } else if (again && s.disaggregated) {
      refuse(
          field, "conversations are not modelled with prefill and decode on different replicas",
          "the two sides are simulated one after the other, so no answer can cause the next turn",
          "leave out this or `disaggregated`");
    } else if (again && !s.draft_model.empty()) {
      refuse(field, "conversations are not modelled with a draft model",
             "answers would be counted in steps, but the history in tokens",
             "leave out this or `draft_model`");
    }
    if (s.objective.task_p99 && !by_agent) {
      refuse(".objective.task_p99",
             "`task_p99` applies to an agent's tasks, and this service has no agent",
             "for a single request use `latency_p99`",
             "write `arrivals: { agent }`, or leave it out");
    }
    if (s.router != catalog::ServeRouter::least_requests && s.model.empty()) {
      refuse(".router", "requests of a non-transformer network are not routed one by one",
             "they wait as in M/M/1, in front of one replica each", "leave `router` out");
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
      refuse(path + ".replicas", "`replicas` and `autoscale` both give the number of replicas",
             "an autoscaler chooses a number between its `min` and its `max`",
             "leave one of them out");
    }
    for (std::size_t i = 0; i < s.zones.size(); ++i) {
      if (!s.zones[i].replicas) continue;
      refuse(fmt::format("{}.zones[{}].replicas", path, i),
             "`replicas` of a zone and `autoscale` both give the number of replicas",
             "an autoscaler chooses a number between its `min` and its `max`",
             "leave one of them out");
    }
    if (s.autoscale->min > s.autoscale->max) {
      refuse(at + ".min", "`min` is larger than `max`", "no number of replicas is between them",
             fmt::format("write {} or less", s.autoscale->max));
    }
    if (s.disaggregated) {
      refuse(at, "autoscaling is not modelled with prefill and decode on different replicas",
             "the two sides would follow different loads", "leave out one of the two");
    }
  }

  void kv_tier(const design::Serve& s, const std::string& path) {
    if (!s.kv_tier || (!s.model.empty() && s.prefix_cache)) return;
    const char* why =
        s.model.empty() ? "a non-transformer network has no KV cache" : "`prefix_cache` is off";
    complain(path + ".kv_tier",
             {"design.kv-tier", "a KV tier extends a prefix cache, and this service has none", why,
              "leave `kv_tier` out"});
  }

  void adapters(const design::Serve& s, const std::string& path) {
    if (!s.adapters) return;
    const design::Adapters& a = *s.adapters;
    const auto refuse = [&](bool wrong, const char* field, const char* what, const char* fix) {
      if (wrong) complain(path + ".adapters" + field, {"design.adapters", what, "", fix});
    };
    refuse(s.model.empty(), "", "adapters are not modelled for a non-transformer network",
           "leave them out");
    refuse(s.disaggregated, "",
           "adapters are not modelled with prefill and decode on different replicas",
           "leave out one of the two");
    refuse(a.rank > design::kHighestRank, ".rank", "engines support ranks up to 512",
           "write a lower rank");
    refuse(a.count > design::kMostAdapters, ".count",
           "more than 100,000 adapters are not supported", "write fewer");
    const bool known = std::ranges::all_of(a.targets, catalog::is_adapter_target);
    refuse(!known || a.targets.empty(), ".targets", "targets must be some of qkv, o, mlp",
           "write at least one of them");
  }

  // Checks that a zone fails over to other sites that have replicas of the service.
  void failover(const design::Serve& s, const std::string& path) {
    for (std::size_t i = 0; i < s.zones.size(); ++i) {
      const design::Zone& zone = s.zones[i];
      const std::string here = fmt::format("{}.zones[{}].failover", path, i);
      for (std::size_t f = 0; f < zone.failover.size(); ++f) {
        takes_over(s, zone, f, fmt::format("{}[{}]", here, f));
      }
      if (zone.failover.empty() && zone.failover_after) {
        complain(here + "_after",
                 {"design.failover", "`failover_after` has no effect without `failover`",
                  "the zone names no site that would take its requests",
                  "write `failover`, or leave it out"});
      }
    }
  }

  void retrieval(const design::Serve& s, const std::string& path) {
    const auto refuse = [&](const char* field, std::string what, std::string why) {
      complain(path + field, {"design.retrieval", std::move(what), std::move(why), "leave it out"});
    };
    if (s.max_batch && s.model.empty()) {
      refuse(".max_batch", "a non-transformer network runs one request at a time",
             "its requests wait as in M/M/1");
    }
    if (!s.retrieval) return;
    if (s.model.empty()) {
      refuse(".retrieval", "a non-transformer network has no prompt",
             "retrieval adds text to a prompt");
    } else if (s.arrivals.agent) {
      refuse(".retrieval", "an agent's retrieval is one of its tools",
             "`tool_time` and `tool_tokens` give a tool's time and its tokens");
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
      refuse(fmt::format("`{}` is the zone's own site", site),
             "a failure of the site takes the zone down with it",
             "name another site, or leave it out");
    } else if (std::find(first, first + static_cast<std::ptrdiff_t>(number), site) !=
               first + static_cast<std::ptrdiff_t>(number)) {
      refuse(fmt::format("`{}` is named twice", site),
             "a site that has no room has none the second time either", "leave one out");
    } else if (std::ranges::find(s.zones, site, &design::Zone::site) == s.zones.end()) {
      refuse(fmt::format("this service has no zone at `{}`", site),
             "only a site with replicas of the service can take traffic",
             "name the site of another zone, or add a zone there");
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
  check.conversations(serve, path);
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
        complain(path + ".arrivals.rate", "design.range", "this service gets no requests",
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
                      "no answer would ever be final",
                      "end the chain with a service that answers everything");
    }
    for (const design::Serve* one : {&s, to}) {
      if (!one->model.empty() && one->arrivals.visits() <= 1) continue;
      return complain(
          at, "design.cascade",
          one->model.empty() ? "a non-transformer network cannot escalate to a larger model"
                             : "escalation is not modelled for conversations and agent tasks",
          one->model.empty() ? "its requests are samples, and are not answered in tokens"
                             : "the larger model would not have their history",
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
                  {"design.inference", "this batch gives its work twice",
                   "the hours follow from the requests of `inference`", "leave out the hours"});
}

namespace {

// Checks services whose fleet cuts its accelerators into slices.
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
    // A fleet that does not exist is reported already.
    if (fleet == nullptr || fleet->mig.empty()) return;
    if (fleet->mig.size() > 1) {
      complain(path, "the accelerators of its fleet are cut into slices of several sizes",
               "services that share an accelerator are not modelled",
               "use one size of slice, or give the service its own fleet");
    } else if (s.disaggregated) {
      complain(path + ".disaggregated",
               "slices are not modelled with prefill and decode on different replicas",
               "a slice has no port of its own for sending the KV cache",
               "leave it out, or serve on whole accelerators");
    } else if (s.tp.value_or(1) > 1 || s.pp > 1) {
      complain(path + (s.pp > 1 ? ".pp" : ".tp"), "a replica on slices uses exactly one slice",
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
