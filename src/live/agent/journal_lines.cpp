#include "live/agent/journal_lines.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/text.h"

namespace orrery::agent {
namespace {

// Keys keep the order in which they were written, so that lines are readable and equal values give
// equal bytes.
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr const char* kHeader = R"({"kind":"journal","of":"orrery agent recover","version":1})";

// Text from outside may contain any bytes, but a journal line must be valid JSON.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}
void put(Json& json, const char* key, const Names& names) {
  if (!names.empty()) json[key] = names;
}
void put(Json& json, const char* key, double number) {
  if (number != 0) json[key] = number;
}
void put(Json& json, const char* key, int number) {
  if (number != 0) json[key] = number;
}
void put(Json& json, const char* key, bool flag) {
  if (flag) json[key] = true;
}

constexpr std::array<const char*, 6> kPhases = {"pending",    "starting", "running",
                                                "completing", "failed",   "ended"};

failure::JobPhase phase_from(const std::string& text) {
  const auto found = std::ranges::find(kPhases, text);
  if (found == kPhases.end()) throw Json::other_error::create(501, "unknown phase", nullptr);
  return static_cast<failure::JobPhase>(found - kPhases.begin());
}

Json json_of(const failure::JobView& job) {
  Json json = {{"id", job.id}, {"phase", kPhases[static_cast<std::size_t>(job.phase)]}};
  put(json, "restarts", job.restarts);
  if (!job.requeueable) json["requeueable"] = false;
  put(json, "held", job.held);
  put(json, "launch_failed", job.launch_failed);
  put(json, "waits_for_time", job.waits_for_time);
  put(json, "eligible_s", job.eligible.base());
  put(json, "ended_s", job.ended.base());
  put(json, "nodes", job.nodes);
  put(json, "avoids", job.avoids);
  return json;
}

failure::JobView job_from(const Json& json) {
  return {.id = json.at("id").get<std::string>(),
          .phase = phase_from(json.at("phase").get<std::string>()),
          .restarts = json.value("restarts", 0),
          .requeueable = json.value("requeueable", true),
          .held = json.value("held", false),
          .launch_failed = json.value("launch_failed", false),
          .waits_for_time = json.value("waits_for_time", false),
          .eligible = seconds(json.value("eligible_s", 0.0)),
          .ended = seconds(json.value("ended_s", 0.0)),
          .nodes = json.value("nodes", Names()),
          .avoids = json.value("avoids", Names())};
}

constexpr std::array<const char*, 4> kFences = {"none", "under_way", "off", "failed"};

failure::FenceState fence_from(const std::string& text) {
  const auto found = std::ranges::find(kFences, text);
  if (found == kFences.end()) throw Json::other_error::create(501, "unknown fence", nullptr);
  return static_cast<failure::FenceState>(found - kFences.begin());
}

Json json_of(const failure::NodeView& node) {
  Json json = {{"name", node.name}};
  put(json, "down", node.down);
  put(json, "silent", node.silent);
  put(json, "drained", node.drained);
  put(json, "broken", node.broken);
  put(json, "spare", node.spare);
  if (node.fence != failure::FenceState::none) {
    json["fence"] = kFences[static_cast<std::size_t>(node.fence)];
  }
  return json;
}

failure::NodeView node_from(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .down = json.value("down", false),
          .silent = json.value("silent", false),
          .drained = json.value("drained", false),
          .broken = json.value("broken", false),
          .spare = json.value("spare", false),
          .fence = fence_from(json.value("fence", "none"))};
}

// Writes the entries of `now` that differ from `before`, and the names of entries that are gone.
template <class View>
void put_change(Json& json, const std::string& name, const std::vector<View>& before,
                const std::vector<View>& now, std::string View::* key) {
  std::map<std::string_view, const View*> old;
  for (const View& view : before) old[view.*key] = &view;
  Json changed = Json::array();
  for (const View& view : now) {
    const auto found = old.find(view.*key);
    if (found == old.end() || *found->second != view) changed.push_back(json_of(view));
    if (found != old.end()) old.erase(found);
  }
  Names gone;
  for (const auto& [id, view] : old) gone.emplace_back(id);
  if (!changed.empty()) json[name] = std::move(changed);
  put(json, (name + "_gone").c_str(), gone);
}

template <class View, class From>
void take_change(const Json& json, const std::string& name, std::vector<View>& views,
                 std::string View::* key, From from) {
  std::map<std::string, View> all;
  for (View& view : views) all[view.*key] = std::move(view);
  for (const std::string& gone : json.value(name + "_gone", Names())) all.erase(gone);
  if (json.contains(name)) {
    for (const Json& entry : json.at(name)) {
      View view = from(entry);
      all[view.*key] = view;
    }
  }
  views.clear();
  for (auto& [id, view] : all) views.push_back(std::move(view));
}

failure::RecoveryEvent event_from(const Json& json, failure::RecoveryEventKind kind) {
  return {.kind = kind,
          .at = seconds(json.at("at_s").get<double>()),
          .node = json.value("node", ""),
          .job = json.value("job", ""),
          .key = json.value("key", ""),
          .restarts = json.value("restarts", 0),
          .nodes = json.value("nodes", Names()),
          .weight = json.value("weight", 0.0),
          .lasted = seconds(json.value("lasted_s", 0.0)),
          .good = json.value("good", false)};
}

failure::RecoveryAction action_from(const Json& json) {
  failure::RecoveryAction action{.job = json.value("job", ""),
                                 .nodes = json.value("nodes", Names()),
                                 .why = json.value("why", ""),
                                 .key = json.value("key", "")};
  const std::string name = json.at("action").get<std::string>();
  for (int k = 0; k <= static_cast<int>(failure::ActionKind::alert); ++k) {
    if (name != to_text(static_cast<failure::ActionKind>(k))) continue;
    action.kind = static_cast<failure::ActionKind>(k);
    return action;
  }
  throw Json::other_error::create(501, "unknown action", nullptr);
}

Json json_of(const failure::NodeMemory& m) {
  Json json = {{"failures", m.failures}};
  put(json, "out", m.out);
  put(json, "wants_drain", m.wants_drain);
  put(json, "lemon", m.lemon);
  put(json, "fenced", m.fenced);
  put(json, "silent_since_s", m.silent_since.base());
  put(json, "drain_seen_s", m.drain_seen.base());
  put(json, "forgotten_s", m.forgotten.base());
  put(json, "out_shown", m.out_shown);
  put(json, "drain_shown", m.drain_shown);
  put(json, "weight", m.weight.weight);
  put(json, "weight_at_s", m.weight.at.base());
  put(json, "stood_in_for", m.stood_in_for);
  put(json, "serves_for", m.serves_for);
  return json;
}

failure::NodeMemory node_memory_from(const Json& json) {
  return {.out = json.value("out", false),
          .wants_drain = json.value("wants_drain", false),
          .lemon = json.value("lemon", false),
          .fenced = json.value("fenced", false),
          .silent_since = seconds(json.value("silent_since_s", 0.0)),
          .drain_seen = seconds(json.value("drain_seen_s", 0.0)),
          .forgotten = seconds(json.value("forgotten_s", 0.0)),
          .out_shown = json.value("out_shown", false),
          .drain_shown = json.value("drain_shown", false),
          .failures = json.at("failures").get<int>(),
          .weight = {.weight = json.value("weight", 0.0),
                     .at = seconds(json.value("weight_at_s", 0.0))},
          .stood_in_for = json.value("stood_in_for", ""),
          .serves_for = json.value("serves_for", "")};
}

Json json_of(const failure::JobLoss& loss) {
  return {{"at_s", loss.at.base()},
          {"restarts", loss.restarts},
          {"nodes", loss.nodes},
          {"ran_on", loss.ran_on}};
}

failure::JobLoss loss_from(const Json& json) {
  return {.at = seconds(json.at("at_s").get<double>()),
          .restarts = json.at("restarts").get<int>(),
          .nodes = json.at("nodes").get<Names>(),
          .ran_on = json.at("ran_on").get<Names>()};
}

Json json_of(const failure::JobMemory& m) {
  Json json = {{"restarts", m.restarts}, {"started_s", m.started.base()}};
  put(json, "nodes", m.nodes);
  put(json, "losses_total", m.losses_total);
  put(json, "blamed", m.blamed);
  put(json, "held_seen", m.held_seen);
  for (const failure::PastLoss& past : m.losses) {
    json["losses"].push_back({{"node", past.node}, {"ran_s", past.ran.base()}});
  }
  if (m.loss) json["loss"] = json_of(*m.loss);
  if (m.regained) json["regained"] = json_of(*m.regained);
  return json;
}

failure::JobMemory job_memory_from(const Json& json) {
  failure::JobMemory m{.restarts = json.at("restarts").get<int>(),
                       .started = seconds(json.at("started_s").get<double>()),
                       .nodes = json.value("nodes", Names()),
                       .losses_total = json.value("losses_total", 0),
                       .blamed = json.value("blamed", false),
                       .held_seen = json.value("held_seen", false)};
  for (const Json& past : json.value("losses", Json::array())) {
    m.losses.push_back({.node = past.at("node").get<std::string>(),
                        .ran = seconds(past.at("ran_s").get<double>())});
  }
  if (json.contains("loss")) m.loss = loss_from(json.at("loss"));
  if (json.contains("regained")) m.regained = loss_from(json.at("regained"));
  return m;
}

failure::RecoveryMemory memory_from(const Json& json) {
  failure::RecoveryMemory memory;
  if (json.contains("since_s")) memory.since = seconds(json.at("since_s").get<double>());
  memory.controller = seconds(json.value("controller_s", 0.0));
  memory.all = {.weight = json.value("failures", 0.0),
                .at = seconds(json.value("failures_at_s", 0.0))};
  for (const auto& [name, entry] : json.at("nodes").items()) {
    memory.nodes[name] = node_memory_from(entry);
  }
  for (const auto& [id, entry] : json.at("jobs").items()) memory.jobs[id] = job_memory_from(entry);
  for (const auto& [key, entry] : json.at("attempts").items()) {
    memory.attempts[key] = {.count = entry.at("count").get<int>(),
                            .last = seconds(entry.at("last_s").get<double>()),
                            .good = entry.at("good").get<bool>()};
  }
  for (const Json& key : json.at("alerted")) memory.alerted.insert(key.get<std::string>());
  return memory;
}

// Calls `each` with every line as JSON. If the library or `each` throws, the exception becomes a
// Diagnostic at that line.
template <class Each>
Diagnostics each_line(std::string_view text, const std::string& file, Each each) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    try {
      const Json json = Json::parse(line);
      each(json.at("kind").get<std::string>(), json);
    } catch (const Json::exception& fault) {
      return {{.code = "journal.line",
               .place = {.file = file, .line = number},
               .what = "this is not a line of a recovery journal",
               .why = fault.what(),
               .fix = "move the file away; the agent then starts with a new journal and forgets "
                      "the lemon scores"}};
    }
  }
  return {};
}

failure::RecoveryEventKind known_kind(const std::string& name) {
  const auto kind = failure::event_kind_from(name);
  if (!kind) throw Json::other_error::create(501, "unknown kind: " + name, nullptr);
  return *kind;
}

}  // namespace

std::string line_of(const failure::RecoveryEvent& event) {
  Json json = {{"kind", to_text(event.kind)}, {"at_s", event.at.base()}};
  put(json, "node", event.node);
  put(json, "job", event.job);
  put(json, "key", event.key);
  put(json, "restarts", event.restarts);
  put(json, "nodes", event.nodes);
  put(json, "weight", event.weight);
  put(json, "lasted_s", event.lasted.base());
  put(json, "good", event.good);
  return dumped(json);
}

std::string line_of(const failure::RecoveryAction& action) {
  Json json = {{"kind", "act"}, {"action", to_text(action.kind)}};
  put(json, "job", action.job);
  put(json, "nodes", action.nodes);
  put(json, "why", action.why);
  put(json, "key", action.key);
  return dumped(json);
}

std::string line_of(const failure::RecoveryMemory& memory) {
  Json json = {{"kind", "memory"}};
  if (memory.since) json["since_s"] = memory.since->base();
  put(json, "controller_s", memory.controller.base());
  put(json, "failures", memory.all.weight);
  put(json, "failures_at_s", memory.all.at.base());
  json["nodes"] = Json::object();
  for (const auto& [name, m] : memory.nodes) json["nodes"][name] = json_of(m);
  json["jobs"] = Json::object();
  for (const auto& [id, m] : memory.jobs) json["jobs"][id] = json_of(m);
  json["attempts"] = Json::object();
  for (const auto& [key, a] : memory.attempts) {
    json["attempts"][key] = {{"count", a.count}, {"last_s", a.last.base()}, {"good", a.good}};
  }
  json["alerted"] = memory.alerted;
  return dumped(json);
}

std::string line_of_change(const failure::ClusterLook& before, const failure::ClusterLook& now) {
  Json json = {{"kind", "seen"}, {"at_s", now.now.base()}};
  put(json, "controller_s", now.controller_since.base());
  if (before.nodes.empty()) json["whole"] = true;
  put_change(json, "nodes", before.nodes, now.nodes, &failure::NodeView::name);
  put_change(json, "jobs", before.jobs, now.jobs, &failure::JobView::id);
  return dumped(json);
}

JournalForm recovery_journal(const std::string& file, const failure::RecoveryPolicy& policy) {
  return {.header = kHeader,
          .older = {R"({"kind":"seen",)", R"({"kind":"memory",)"},
          .check = [file, policy](std::string_view text) -> Result<void> {
            const auto memory = recall(text, file, policy);
            if (!memory) return std::unexpected(memory.error());
            return {};
          }};
}

Result<failure::RecoveryMemory> recall(std::string_view text, const std::string& file,
                                       const failure::RecoveryPolicy& policy) {
  failure::RecoveryMemory memory;
  const auto take = [&](const std::string& kind, const Json& json) {
    if (kind == "seen" || kind == "act" || kind == "journal") return;
    if (kind == "memory") {
      memory = memory_from(json);
    } else {
      apply(memory, event_from(json, known_kind(kind)), policy.lemon.memory);
    }
  };
  if (Diagnostics faults = each_line(text, file, take); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  return memory;
}

Result<std::vector<JournalTick>> replay(std::string_view text, const std::string& file) {
  std::vector<JournalTick> ticks;
  const auto take = [&](const std::string& kind, const Json& json) {
    if (kind == "memory" || kind == "journal") return;
    if (kind == "seen") {
      JournalTick tick;
      if (!ticks.empty() && !json.value("whole", false)) tick.view = ticks.back().view;
      tick.view.now = seconds(json.at("at_s").get<double>());
      tick.view.controller_since = seconds(json.value("controller_s", 0.0));
      take_change(json, "nodes", tick.view.nodes, &failure::NodeView::name, node_from);
      take_change(json, "jobs", tick.view.jobs, &failure::JobView::id, job_from);
      ticks.push_back(std::move(tick));
      return;
    }
    if (ticks.empty()) {
      throw Json::other_error::create(501, "no observation precedes this line", nullptr);
    }
    if (kind == "act") {
      ticks.back().decision.actions.push_back(action_from(json));
      return;
    }
    const failure::RecoveryEvent event = event_from(json, known_kind(kind));
    const bool outcome = event.kind == failure::RecoveryEventKind::tried;
    (outcome ? ticks.back().tried : ticks.back().decision.events).push_back(event);
  };
  if (Diagnostics faults = each_line(text, file, take); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  return ticks;
}

}  // namespace orrery::agent
