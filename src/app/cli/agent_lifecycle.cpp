// `orrery agent lifecycle`: keeps a run's checkpoints where its rules say. Deletes nothing until
// its replacement was read back and verified.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "app/cli/keep_words.h"
#include "app/cli/recover_policy.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "live/agent/journal.h"
#include "live/agent/lifecycle.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/lifecycle_places.h"
#include "live/agent/lifecycle_rounds.h"
#include "live/agent/machine_clock.h"

namespace orrery::cli {
namespace {

struct LifecycleOptions {
  std::vector<std::string> places;
  std::string journal;
  std::string interval = "10 s";
  std::string quiet = "10 s";
  std::string marker;
  std::string run = "run";
  std::string endpoint = "https://s3.us-east-1.amazonaws.com";
  std::string region = "us-east-1";
  std::string reread = "0 s";
  std::string grace = "1 d";
  std::int64_t copies = 1;
  bool once = false;
  bool dry_run = false;
  Format format = Format::text;
};

struct LifecycleSetup {
  storage::LifecyclePolicy policy;
  std::vector<agent::LivePlace> places;
  std::vector<std::string> locations;  // of the places, each ending in '/'
  Seconds interval;
  Seconds quiet;
};

std::unexpected<Diagnostics> bad_place(const std::string& text, std::string what) {
  return fail({.code = "usage.place",
               .what = "--place " + text + ": " + std::move(what),
               .fix = "NAME=FOLDER or NAME=s3://BUCKET/PREFIX, then any of ,written ,volatile ,all "
                      ",newest=3 ,window=7d ,spacing=1d ,milestones ,every=1000 ,pace=200MB/s "
                      ",hours=22-6"});
}

template <class Q>
Result<Q> quantity_of(std::string_view text, const char* name) {
  const auto read = parse_quantity<Q>(text);
  if (read) return *read;
  return fail(
      agent_usage(std::string(name) + ": '" + std::string(text) + "' is not a length of time",
                  "write a number with its unit: 10 s, 5 min, 7d"));
}

Result<std::unique_ptr<agent::KeepStore>> store_at(const std::string& location,
                                                   const LifecycleOptions& o,
                                                   const agent::KeepOwner& owner) {
  if (!location.starts_with("s3://")) return agent::folder_store(location, owner);
  const auto at = s3::parse_location(location);
  if (!at) return std::unexpected(at.error());
  const auto credentials = s3::credentials_of([](const char* name) { return std::getenv(name); });
  if (!credentials) return std::unexpected(credentials.error());
  const auto endpoint = s3::checked_endpoint(o.endpoint);
  if (!endpoint) return std::unexpected(endpoint.error());
  auto client =
      std::make_shared<s3::Client>(s3::Config{.endpoint = *endpoint,
                                              .bucket = at->bucket,
                                              .region = o.region,
                                              .credentials = *credentials,
                                              .writer = owner.id.empty() ? "one" : owner.id});
  return agent::bucket_store(std::move(client), at->prefix, owner,
                             [] { return agent::machine_clock().up; });
}

// Returns a location as it can be compared with others: folders by where their links lead.
std::string plain_location(const std::string& location) {
  std::string plain = location;
  if (!location.starts_with("s3://")) {
    std::error_code error;
    plain = std::filesystem::weakly_canonical(std::filesystem::absolute(location), error).string();
    if (error) plain = location;
  }
  while (plain.ends_with('/')) plain.pop_back();
  return plain + '/';
}

Result<void> add_place(const std::string& text, const LifecycleOptions& o,
                       const agent::KeepOwner& owner, LifecycleSetup& setup) {
  const auto words = split(text, ',');
  const std::size_t equals = words.front().find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == words.front().size()) {
    return bad_place(text, "the name or the location is missing");
  }
  storage::KeepPlace place{.name = std::string(words.front().substr(0, equals))};
  const std::string location(words.front().substr(equals + 1));
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!read_keep_word(words[i], place)) {
      return bad_place(text, "'" + std::string(words[i]) + "' is not understood");
    }
  }
  for (const storage::KeepPlace& other : setup.policy.places) {
    if (other.name == place.name) return bad_place(text, "another place has this name");
  }
  // What one place keeps the rules of the other could remove: it is the same copy.
  const std::string plain = plain_location(location);
  for (const std::string& other : setup.locations) {
    if (plain.starts_with(other) || other.starts_with(plain)) {
      return bad_place(text, "it is another place, or contains it or is inside it: " + other);
    }
  }
  setup.locations.push_back(plain);
  auto store = store_at(location, o, owner);
  if (!store) return std::unexpected(store.error());
  setup.places.push_back(
      {.name = place.name, .written = place.written, .store = std::move(*store)});
  setup.policy.places.push_back(std::move(place));
  return {};
}

// Builds the places and the policy from the options. With an empty owner the places are only read,
// never locked.
Result<LifecycleSetup> setup_of(const LifecycleOptions& o, const agent::KeepOwner& owner) {
  LifecycleSetup setup;
  for (const std::string& text : o.places) {
    if (auto added = add_place(text, o, owner, setup); !added)
      return std::unexpected(added.error());
  }
  bool keeps_for_good = false;
  for (const storage::KeepPlace& place : setup.policy.places) {
    const storage::KeepRule& keep = place.keep;
    const bool keeps = keep.everything || keep.newest > 0 || keep.window > Seconds() ||
                       keep.milestones || keep.milestone_every > 0;
    keeps_for_good = keeps_for_good || (place.durable && keeps);
  }
  if (setup.policy.places.size() < 2 && !keeps_for_good) {
    return fail(agent_usage("no durable place keeps anything",
                            "give one a rule: --place hot=/checkpoints,written,newest=3"));
  }
  const auto interval = quantity_of<Seconds>(o.interval, "--interval");
  if (!interval) return std::unexpected(interval.error());
  const auto quiet = quantity_of<Seconds>(o.quiet, "--quiet");
  if (!quiet) return std::unexpected(quiet.error());
  const auto reread = quantity_of<Seconds>(o.reread, "--reread");
  if (!reread) return std::unexpected(reread.error());
  const auto grace = quantity_of<Seconds>(o.grace, "--grace");
  if (!grace) return std::unexpected(grace.error());
  setup.policy.grace = max(Seconds(), *grace);
  setup.interval = *interval;
  setup.quiet = *quiet;
  setup.policy.reread = *reread;
  setup.policy.copies_min = static_cast<int>(std::clamp<std::int64_t>(o.copies, 1, 100));
  return setup;
}

void show(const agent::LifecycleDone& done, Seconds at, const LifecycleOptions& o,
          Terminal& terminal) {
  if (o.format == Format::json) {
    terminal.out << agent::line_of(done) << '\n';
    return;
  }
  terminal.out << clock_text(at) << "  " << agent::text_of(done, o.dry_run) << '\n';
}

// Prints one tick. The outcome has an end if the places already satisfy the rules.
agent::RoundOutcome after(const agent::LifecycleTick& tick, agent::LifecycleRounds& rounds,
                          const LifecycleOptions& o, Terminal& terminal) {
  for (const agent::LifecycleDone& done : tick.done) show(done, tick.at, o, terminal);
  terminal.out.flush();
  terminal.err << rounds.said_of(tick) << std::flush;
  if (terminal.interrupted()) return {.end = agent::AgentEnd::stopped, .wait = {}};
  const auto end = rounds.end_of(tick);
  if (!end) return {.end = {}, .wait = rounds.pause_after(tick)};
  for (const auto& alert : end->alerts) show({.action = alert, .said = {}}, tick.at, o, terminal);
  terminal.err << end->text;
  return {.end = end->is_good ? agent::AgentEnd::good : agent::AgentEnd::needs_a_person,
          .wait = {}};
}

// Runs ticks until the places satisfy the rules (--once, --dry-run) or until interrupted.
ExitCode drive(agent::LifecycleAgent& agent, agent::Journal* journal, const LifecycleSetup& setup,
               const LifecycleOptions& o, Terminal& terminal) {
  agent::LifecycleRounds rounds({.ends = o.once || o.dry_run,
                                 .only_read = o.dry_run,
                                 .quiet = setup.quiet,
                                 .interval = setup.interval});
  const auto round = [&]() -> Result<agent::RoundOutcome> {
    const auto tick = agent.tick(terminal.interrupted);
    if (!tick) return std::unexpected(tick.error());
    return after(*tick, rounds, o, terminal);
  };
  return drive_agent({.round = round,
                      .interval = setup.interval,
                      .ends_on_fault = o.once,
                      .journal = journal,
                      .memory_lines = [&] { return agent::lines_of(agent.memory()); },
                      .journal_was_cut = {}},
                     terminal);
}

agent::LifecyclePlaces port_of(LifecycleSetup& setup, const LifecycleOptions& o,
                               const Terminal& terminal) {
  const auto clock = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return seconds(std::chrono::duration<double>(since).count());
  };
  return {std::move(setup.places),
          {.run = o.run,
           .marker = o.marker,
           .quiet = setup.quiet,
           .clock = clock,
           .stop = [&terminal] { return terminal.interrupted(); },
           .only_read = o.dry_run,
           .machine = agent::machine_clock}};
}

ExitCode run_dry(LifecycleSetup& setup, const LifecycleOptions& o, Terminal& terminal) {
  const auto text = agent::Journal::read(o.journal, agent::lifecycle_journal(o.journal));
  if (!text) return refuse(terminal, text.error());
  auto recalled = agent::recall_lifecycle(*text, o.journal);
  if (!recalled) return refuse(terminal, recalled.error());
  storage::LifecycleMemory memory = std::move(*recalled);
  agent::LifecyclePlaces port = port_of(setup, o, terminal);
  const auto keep_nothing = [](const auto&) -> Result<void> { return {}; };
  // A dry run changes nothing: long settling times keep each action from being printed again.
  setup.policy.settle = setup.policy.settle_max = days(365);
  agent::LifecycleAgent agent(port, keep_nothing, setup.policy, std::move(memory));
  terminal.err << "dry run: copies are read; nothing is moved, deleted or written to the journal\n";
  return drive(agent, nullptr, setup, o, terminal);
}

ExitCode run_lifecycle(const LifecycleOptions& o, Terminal& terminal) {
  // Reports faults in the options before a journal is created.
  auto setup = setup_of(o, {});
  if (!setup) return refuse(terminal, setup.error());
  if (o.dry_run) return run_dry(*setup, o, terminal);
  auto journal = agent::Journal::open(o.journal, agent::lifecycle_journal(o.journal));
  if (!journal) return refuse(terminal, journal.error());
  auto memory = agent::recall_lifecycle(journal->text(), o.journal);
  if (!memory) return refuse(terminal, memory.error());
  const auto owner = agent::owner_of(o.journal);
  if (!owner) return refuse(terminal, owner.error());
  setup = setup_of(o, *owner);
  if (!setup) return refuse(terminal, setup.error());
  agent::LifecyclePlaces port = port_of(*setup, o, terminal);
  const auto say = [&](const std::string& text) { terminal.err << text << '\n' << std::flush; };
  if (const auto taken = port.take(say, [&] { rest(seconds(1), terminal); }); !taken) {
    return refuse(terminal, taken.error());
  }
  const auto append = [&journal](const std::vector<storage::LifecycleEvent>& events) {
    std::vector<std::string> lines;
    for (const storage::LifecycleEvent& event : events) lines.push_back(agent::line_of(event));
    return journal->append(lines);
  };
  agent::LifecycleAgent agent(port, append, setup->policy, std::move(*memory));
  const ExitCode code = drive(agent, &*journal, *setup, o, terminal);
  port.release();
  return code;
}

void bind(LifecycleOptions& o, Arguments& a) {
  a.option(
      "--place", o.places,
      "NAME=FOLDER or NAME=s3://BUCKET/PREFIX, followed by its rules; name the fastest place first",
      "PLACE");
  a.required();
  a.option("--journal", o.journal, "journal of what was read and done; kept between runs", "FILE");
  a.required();
  a.option("--run", o.run, "name of the training run that writes these checkpoints");
  a.option("--marker", o.marker,
           "file that the trainer writes last, if its checkpoint format is unknown", "NAME");
  a.option("--quiet", o.quiet, "time without writes after which a checkpoint counts as finished",
           "TIME");
  a.option("--interval", o.interval, "time between two checks", "TIME");
  a.option("--copies", o.copies,
           "number of verified durable copies required before another copy is deleted");
  a.option("--grace", o.grace, "how long a removed copy stays in the trash of its place", "TIME");
  a.option("--reread", o.reread, "read verified copies again after this time; 0: never", "TIME");
  a.option("--endpoint", o.endpoint, "URL of the object store", "URL");
  a.option("--region", o.region, "region of the object store");
  a.flag("--once", o.once, "run until there is nothing left to do, then exit");
  a.flag("--dry-run", o.dry_run, "print what would be done, and do nothing");
  a.format(o.format);
}

}  // namespace

Verb lifecycle_verb() {
  return {
      .name = "lifecycle",
      .summary = "Keep a run's checkpoints where its rules say, and never lose the last good copy",
      .examples = {"orrery agent lifecycle --place hot=/ckpt,written,newest=3 "
                   "--place cold=s3://bucket/run,every=1000 --journal life.jsonl --dry-run",
                   "orrery agent lifecycle --place nvme=/nvme/ckpt,written,volatile,newest=1 "
                   "--place hot=/pfs/ckpt,newest=3,pace=2GB/s --journal life.jsonl"},
      .prepare = [](Arguments& arguments) -> Run {
        auto options = std::make_shared<LifecycleOptions>();
        bind(*options, arguments);
        return [options](Terminal& terminal) { return run_lifecycle(*options, terminal); };
      }};
}

}  // namespace orrery::cli
