#include "output/report/view_run.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/json_writer.h"
#include "model/design/indices.h"

namespace orrery::report {
namespace {

constexpr int kNone = -1;

std::string_view about(cluster::Cause cause) {
  switch (cause) {
    case cluster::Cause::productive:
      return "steps and saves";
    case cluster::Cause::feed:
      return "waits for samples";
    case cluster::Cause::contention:
      return "storage traffic shares the compute network";
    case cluster::Cause::straggler:
      return "the slowest host sets the pace";
    case cluster::Cause::shrunk:
      return "hosts are missing: continues with fewer replicas";
    case cluster::Cause::cap:
      return "slowed to stay under the site's power limit";
    case cluster::Cause::paused:
      return "a NIC's pause frames stop the network";
    case cluster::Cause::heat:
      return "slowed because the cooling cannot keep up";
    case cluster::Cause::save:
      return "stops while it saves a checkpoint";
    case cluster::Cause::lost:
      return "repeats work that was lost";
    case cluster::Cause::detect:
      return "a fault has happened but is not yet detected";
    case cluster::Cause::requeue:
      return "the scheduler ends the run and requeues it";
    case cluster::Cause::no_host:
      return "too few hosts are left: waits for one";
    case cluster::Cause::start:
      return "processes start, groups form, kernels compile";
    case cluster::Cause::restore:
      return "reads the checkpoint";
    case cluster::Cause::repair:
      return "the host is in repair";
    case cluster::Cause::power:
      return "the site has no power for it";
    case cluster::Cause::reserve:
      return "the host is a spare in reserve";
    case cluster::Cause::standby:
      return "a replica is ready and waits for requests";
    case cluster::Cause::stranded:
      return "jobs wait, but they need more GPUs, or GPUs in another place";
    case cluster::Cause::idle:
      return "no workload needs it";
  }
  return "";
}

struct Span {
  int track = 0;
  double begin_s = 0;
  double end_s = 0;
  int word = 0;
  int why = kNone;
  double saves_every_s = 0;
};

struct Point {
  double t_s = 0;
  std::optional<design::FleetIndex> fleet;
  int host = 0;
  int name = 0;
};

// Numbers texts in the order in which they are first seen.
class Names {
 public:
  int of(const std::string& text) {
    const auto [it, is_new] = numbers_.emplace(text, static_cast<int>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return it->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, int> numbers_;
  std::vector<std::string> texts_;
};

// Reads the log once from front to back.
class LogReader {
 public:
  explicit LogReader(const run::Run& run) : run_(run) {
    for (const std::string& job : run.jobs) tracks.of(job);
    for (const world::RunEvent& e : run.log) read(e);
    for (Span& s : spans) {
      if (s.end_s < 0) s.end_s = run.simulated.base();
    }
    // A span that begins and ends at the same instant is not drawn; it may only have given a
    // reason.
    std::erase_if(spans, [](const Span& s) { return s.end_s <= s.begin_s; });
  }

  Names tracks;
  Names point_names;
  std::vector<Span> spans;
  std::vector<Point> points;

 private:
  struct Open {
    int span = kNone;
    int why = kNone;
  };

  void read(const world::RunEvent& e) {
    const double t_s = e.at.seconds().base();
    if (e.kind == sim::TraceKind::instant) {
      add_point(e, t_s);
      return;
    }
    Open& open = open_[tracks.of(e.track)];
    if (e.kind == sim::TraceKind::begin) {
      begin(e, t_s, open);
    } else if (open.span != kNone && e.kind == sim::TraceKind::end) {
      spans[static_cast<std::size_t>(open.span)].end_s = t_s;
      open.span = kNone;
    } else if (open.span != kNone && e.name == world::kSavesEvery) {
      spans[static_cast<std::size_t>(open.span)].saves_every_s = e.value;
    }
  }

  void add_point(const world::RunEvent& e, double t_s) {
    points.push_back({.t_s = t_s,
                      .fleet = fleet_of(e.track),
                      .host = static_cast<int>(e.value),
                      .name = point_names.of(e.name)});
  }

  std::optional<design::FleetIndex> fleet_of(const std::string& name) const {
    for (std::size_t f = 0; f < run_.fleets.size(); ++f) {
      if (run_.fleets[f].name == name) return design::FleetIndex(f);
    }
    return std::nullopt;
  }

  void begin(const world::RunEvent& e, double t_s, Open& open) {
    const auto cause = from_word<cluster::Cause>(e.name);
    if (cause == cluster::Cause::productive || cause == std::nullopt) open.why = kNone;
    if (cause == cluster::Cause::detect && !points.empty() && points.back().t_s == t_s) {
      open.why = static_cast<int>(points.size()) - 1;
    }
    open.span = static_cast<int>(spans.size());
    spans.push_back({.track = tracks.of(e.track),
                     .begin_s = t_s,
                     .end_s = -1,
                     .word = static_cast<int>(cluster::at(cause.value_or(cluster::Cause::idle))),
                     .why = open.why});
  }

  const run::Run& run_;
  std::map<int, Open> open_;
};

template <class Rows, class Get>
void column(JsonWriter& w, std::string_view name, const Rows& rows, const Get& get) {
  w.key(name).begin_array();
  for (const auto& row : rows) w.value(get(row));
  w.end_array();
}

void write_words(JsonWriter& w) {
  w.key("words").begin_array();
  for (const Word<cluster::Cause>& word : words_of(cluster::Cause{}).rows()) {
    w.begin_object().field("name", word.word);
    w.field("share", word_of(share_of(word.value))).field("about", about(word.value)).end_object();
  }
  w.end_array();
}

void write_spans(JsonWriter& w, const LogReader& events) {
  w.key("tracks").begin_array();
  for (const std::string& name : events.tracks.texts()) w.value(name);
  w.end_array().key("spans").begin_object();
  column(w, "track", events.spans, [](const Span& s) { return s.track; });
  column(w, "begin_s", events.spans, [](const Span& s) { return s.begin_s; });
  column(w, "end_s", events.spans, [](const Span& s) { return s.end_s; });
  column(w, "word", events.spans, [](const Span& s) { return s.word; });
  column(w, "why", events.spans, [](const Span& s) { return s.why; });
  column(w, "saves_every_s", events.spans, [](const Span& s) { return s.saves_every_s; });
  w.end_object();
}

void write_points(JsonWriter& w, const LogReader& events) {
  w.key("point_names").begin_array();
  for (const std::string& name : events.point_names.texts()) {
    const std::string_view kind = name == world::kHostRepaired ? "repaired"
                                  : name == world::kLemon      ? "lemon"
                                                               : "fault";
    w.begin_object().field("name", name).field("kind", kind).end_object();
  }
  w.end_array().key("points").begin_object();
  column(w, "t_s", events.points, [](const Point& p) { return p.t_s; });
  column(w, "fleet", events.points,
         [](const Point& p) { return p.fleet ? static_cast<int>(p.fleet->value()) : kNone; });
  column(w, "host", events.points, [](const Point& p) { return p.host; });
  column(w, "name", events.points, [](const Point& p) { return p.name; });
  w.end_object();
}

// Returns the number of a run, or a code for hosts that no run holds.
int holder_code(const world::HostChange& c) {
  constexpr int kOtherWork = -4;
  switch (c.mark) {
    case world::HostMark::held:
      return c.holder >= 0 ? c.holder : kOtherWork;
    case world::HostMark::free:
      return -1;
    case world::HostMark::reserve:
      return -2;
    case world::HostMark::repair:
      break;
  }
  return -3;
}

void write_hosts(JsonWriter& w, const run::Run& run) {
  w.key("fleets").begin_array();
  for (const run::FleetHosts& f : run.fleets) {
    w.begin_object().field("name", f.name).field("hosts", f.hosts).field("spares", f.spares);
    w.field("accelerators_per_host", f.accelerators_per_host).end_object();
  }
  w.end_array().key("hosts").begin_object();
  using Change = world::HostChange;
  column(w, "t_s", run.host_log, [](const Change& c) { return c.at.seconds().base(); });
  column(w, "fleet", run.host_log, [](const Change& c) { return static_cast<int>(c.fleet); });
  column(w, "host", run.host_log, [](const Change& c) { return static_cast<int>(c.host); });
  column(w, "holder", run.host_log, holder_code);
  w.end_object();
}

// Writes a column; its unit follows from the end of its name, as the world names columns.
void write_column(JsonWriter& w, const world::Series& series, std::size_t c) {
  constexpr std::string_view kShareEnd = "_accelerators", kPowerEnd = "_it_w";
  const std::string& name = series.columns[c];
  std::string_view label = name;
  std::string_view kind = "level";
  if (label.ends_with(kShareEnd)) {
    label.remove_suffix(kShareEnd.size());
    kind = "share";
  } else if (label.ends_with(kPowerEnd)) {
    label.remove_suffix(kPowerEnd.size());
    kind = "power";
  }
  w.begin_object().field("name", name).field("label", label).field("kind", kind);
  column(w, "means", series.means, [c](const std::vector<double>& row) { return row[c]; });
  w.end_object();
}

}  // namespace

std::string run_timeline_json(const run::Run& run) {
  const LogReader events(run);
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "timeline");
  w.field("design", run.design).field("simulated_s", run.simulated.base());
  w.field("seed", run.seed).field("accelerators", run.accelerators);
  write_words(w);
  write_spans(w, events);
  write_points(w, events);
  write_hosts(w, run);
  w.key("series").begin_object().field("bin_s", run.series.bin.base());
  w.key("columns").begin_array();
  for (std::size_t c = 0; c < run.series.columns.size(); ++c) write_column(w, run.series, c);
  w.end_array().end_object().field("left_out", run.log_left_out).end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
