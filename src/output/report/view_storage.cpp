#include "output/report/view_storage.h"

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "layers/storage/save_lives.h"
#include "model/design/names.h"
#include "model/design_text/profiles.h"
#include "model/jobs/tier_asks.h"
#include "model/machine/tier_purchase.h"
#include "output/report/figure_json.h"
#include "plan/verdict/sections.h"

namespace orrery::report {
namespace {

const review::TrainView* saver(const review::Review& r, const std::string& workload) {
  for (const review::TrainView& t : r.trains) {
    const bool is_meant = workload.empty() || t.label == workload;
    if (is_meant && t.feasible() && t.checkpoint && t.checkpoint->first) return &t;
  }
  return nullptr;
}

void write_profile(JsonWriter& w, const machine::Tier& t, const catalog::Catalog& catalog) {
  w.field("profile", t.tier->profile).key("settings").begin_array();
  for (const design_text::ProfileField& f : design_text::profile_fields(*t.tier, catalog)) {
    w.begin_object().field("field", f.key).field("value", f.value);
    w.field("of_profile", f.followed()).end_object();
  }
  w.end_array();
}

// Returns the cost of a tier per year, from its own lines of the bill: bought or rented.
double held_share(const review::Review& r, const machine::Tier& t) {
  return t.capacity > Bytes(0) ? r.used_of(t) / t.capacity : 0;
}

void write_asks(JsonWriter& w, const review::Review& r, const machine::Tier& tier) {
  const auto write_ask = [&](const machine::TierAsk& ask) {
    if (ask.tier != tier.label) return;
    w.begin_object().field("what", ask.what);
    w.field("capacity_bytes", ask.demand.capacity.base());
    w.field("read_bytes_per_s", ask.demand.read.base());
    w.field("write_bytes_per_s", ask.demand.write.base()).end_object();
  };
  w.key("asks").begin_array();
  for (const review::TrainView& t : r.trains) {
    if (t.feasible()) std::ranges::for_each(jobs::asks_of(t, *r.machine), write_ask);
  }
  std::ranges::for_each(jobs::asks_of_pipeline(*r.machine), write_ask);
  w.end_array();
}

void write_tier(JsonWriter& w, const review::Review& r, const machine::Tier& t,
                const figures::Section& section) {
  const catalog::StorageDevice* device = device_or_usual(t, r.catalog());
  w.begin_object().field("label", t.label).field("tier", word_of(t.tier->tier));
  w.field("kind", word_of(t.tier->kind)).field("path", t.path).field("summary", section.summary);
  w.field("provider", t.tier->provider).field("in_nodes", t.per_node);
  w.field("device", device ? device->id : std::string()).field("devices", t.devices);
  w.field("servers", t.servers).field("bound_by", t.need ? t.need->bound_by : std::string());
  w.field("encrypted", t.tier->encrypted).field("versioned", t.tier->versioned);
  w.field("latency_target_s", machine::latency_target(t.tier->tier).base());
  w.field("used_ratio", held_share(r, t));
  write_profile(w, t, r.catalog());
  write_asks(w, r, t);
  w.key("figures").begin_object();
  for (const figures::Figure& f : section.figures) write_figure(w, f);
  w.end_object().end_object();
}

void write_tiers(JsonWriter& w, const review::Review& r) {
  const std::vector<figures::Section> sections = verdict::storage_sections(r);
  w.key("tiers").begin_array();
  for (std::size_t i = 0; i < r.tiers().size(); ++i) {
    write_tier(w, r, r.tiers()[design::TierIndex(i)], sections[i]);
  }
  w.end_array();
}

// Returns the run's keep rules for a tier. Node-local drives without a rule keep the newest
// checkpoint until the next save replaces it.
storage::KeepRule keep_on(const machine::Tier& tier, const design::Checkpoint& wanted) {
  for (const design::KeepRule& rule : wanted.keep) {
    if (rule.tier != tier.label && rule.tier != word_of(tier.tier->tier)) continue;
    if (rule.newest) return {.newest = *rule.newest};
    return {.milestones = true};
  }
  if (tier.per_node) return {.newest = 1};
  return {.everything = true};
}

storage::LivesQuestion lives_of(const review::TrainView& t, const machine::Machine& m) {
  const jobs::SavePlan& save = *t.checkpoint;
  const design::Checkpoint& wanted = *t.train->checkpoint;
  storage::LivesQuestion q{.places = {},
                           .interval = save.interval,
                           .milestone = wanted.milestone.value_or(weeks(1)),
                           .size = save.size,
                           .saves = kMostSaves};
  const auto add = [&](const machine::Tier& tier, Seconds takes) {
    const bool is_there = std::ranges::any_of(
        q.places, [&](const storage::LivesPlace& p) { return p.place.name == tier.label; });
    if (is_there) return;
    const BytesPerSecond read = tier.per_node ? tier.read * std::max(1, t.hosts) : tier.read;
    q.places.push_back({.place = {.name = tier.label,
                                  .durable = tier.durable(),
                                  .written = q.places.empty(),
                                  .keep = keep_on(tier, wanted)},
                        .takes = takes,
                        .reread = read > BytesPerSecond(0) ? save.size / read : Seconds(0)});
  };
  add(*save.first, save.write.total);
  if (save.safe) add(*save.safe, save.drain.total);
  for (const jobs::LaterCopy& copy : save.later) {
    if (m.crossing_to(*t.fleet, *copy.tier).leads_there()) add(*copy.tier, copy.takes);
  }
  return q;
}

void write_lives(JsonWriter& w, const review::TrainView& t, const machine::Machine& m) {
  const storage::LivesQuestion question = lives_of(t, m);
  const storage::SaveLives lives = storage::follow_saves(question);
  w.key("lives").begin_object().field("end_s", lives.end.base());
  w.field("save_bytes", question.size.base()).field("saves", question.saves);
  w.key("places").begin_array();
  for (const storage::LivesPlace& p : question.places) w.value(p.place.name);
  w.end_array().key("milestones").begin_array();
  for (const int save : lives.milestones) w.value(save);
  w.end_array().key("stays").begin_array();
  for (const storage::LifeStay& s : lives.stays) {
    w.begin_object().field("save", s.save).field("place", s.place).field("from_s", s.from.base());
    w.key("until_s");
    if (s.until) {
      w.value(s.until->base());
    } else {
      w.null();
    }
    w.end_object();
  }
  w.end_array().key("moves").begin_array();
  for (const storage::LifeMove& move : lives.moves) {
    w.begin_object().field("at_s", move.at.base()).field("kind", to_text(move.kind));
    w.field("save", move.save).field("place", move.place).field("from", move.from);
    w.field("why", move.why).end_object();
  }
  w.end_array().end_object();
}

void write_time(JsonWriter& w, std::string_view key, const storage::WriteTime& t,
                const machine::Tier& tier) {
  w.key(key).begin_object().field("tier", tier.label).field("total_s", t.total.base());
  w.field("server_s", t.server.base()).field("network_s", t.network.base());
  w.field("serialise_s", t.serialise.base()).field("metadata_s", t.metadata.base());
  w.field("commit_s", t.commit.base()).field("wall", to_text(t.wall)).end_object();
}

void write_clocks(JsonWriter& w, const review::TrainView& t) {
  const jobs::SavePlan& s = *t.checkpoint;
  w.key("clocks").begin_object().field("interval_s", s.interval.base());
  w.field("interval_given", s.interval_given).field("async", s.async);
  w.field("stall_end_s", s.stall.stall_end.base()).field("safe_s", s.stall.safe.base());
  w.field("has_safe", s.safe != nullptr).field("loss_per_save", s.exposure.loss_per_save);
  write_time(w, "write", s.write, *s.first);
  write_time(w, "drain", s.drain, s.safe ? *s.safe : *s.first);
  w.key("later").begin_array();
  for (const jobs::LaterCopy& copy : s.later) {
    w.begin_object().field("tier", copy.tier->label).field("every_s", copy.every.base());
    w.field("takes_s", copy.takes.base()).end_object();
  }
  w.end_array().field("restore_s", s.restore.total.base()).end_object();
}

}  // namespace

Result<std::string> storage_view_json(const review::Review& review, const std::string& workload) {
  const review::TrainView* run = saver(review, workload);
  if (run == nullptr && !workload.empty()) {
    return fail({.code = "storage.no-workload",
                 .what = "there is no run '" + workload.substr(0, 80) + "' that saves checkpoints",
                 .fix = "name a `train` with a checkpoint, or leave the name out"});
  }
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "storage").key("workloads");
  w.begin_array();
  for (const review::TrainView& t : review.trains) {
    if (saver(review, t.label) == &t) w.value(t.label);
  }
  w.end_array().field("workload", run ? run->label : std::string());
  write_tiers(w, review);
  w.key("run");
  if (run == nullptr) {
    w.null();
  } else {
    w.begin_object().field("path", run->path);
    write_clocks(w, *run);
    write_lives(w, *run, *review.machine);
    w.end_object();
  }
  w.field("note",
          "The places of checkpoints follow the lifecycle policy on the planned clock: one move at "
          "a time, and nothing fails. Runs that save to the same tier at the same time take "
          "longer: see Run.");
  w.end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
