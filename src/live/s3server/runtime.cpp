#include "live/s3server/runtime.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/rows/codec.h"
#include "live/s3server/private_folder.h"
#include "live/s3server/tenants.h"
#include "live/upkeep/sweep.h"

namespace orrery::s3server {
namespace {

const std::string kClockRow = "nclock";  // the wall clock, recorded every minute
constexpr std::chrono::milliseconds kTick{100};
constexpr TimeMs kLifecycleMostMs = 60'000;
constexpr TimeMs kPlaceMs = 1000;
constexpr TimeMs kSweepMs = 5000;
constexpr TimeMs kMeasureMs = 600'000;
constexpr TimeMs kWitnessMs = 2000;
constexpr TimeMs kBeatMs = 10'000;
constexpr TimeMs kWellMs = 60'000;
constexpr TimeMs kAsideMs = 3600'000;
constexpr double kDayMs = 24 * 3600 * 1000.0;
constexpr std::uint64_t kScrubBytesMin = 16u << 10;
constexpr TimeMs kScrubSayMs = 3'600'000;  // between two lines about the same damage
constexpr std::uint64_t kScrubTicks = 7ull * 24 * 3600 * 10;  // ticks per week

std::unexpected<Diagnostics> store_fault(const std::string& folder, const Refused& why) {
  return fail({.code = "store.open",
               .place = {folder},
               .what = "the store cannot be opened: " + why.code + ' ' + why.message,
               .why = {},
               .fix = {}});
}

// Returns true if a Host header names this machine as its own processes do. Any other name comes
// from a browser page whose host name resolves to 127.0.0.1, or from a proxy for other machines.
bool names_this_machine(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const auto end = bracketed ? host.find(']') : host.find(':');
  const std::string name = lowered(host.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0)));
  const std::string_view port = end == host.npos ? "" : host.substr(end + (bracketed ? 1 : 0));
  if (!port.empty() &&
      (port.front() != ':' || port.find_first_not_of("0123456789", 1) != port.npos)) {
    return false;
  }
  if (bracketed) return name == "::1";
  return name == "localhost" ||
         (name.starts_with("127.") && name.find_first_not_of("0123456789.") == name.npos);
}

// Never 0, and never set back.
TimeMs steady_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return 1 + std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

// Letters and digits, like the access keys of S3.
std::string fresh_key(std::size_t length) {
  static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string key;
  for (const char c : random_bytes(length)) key += kLetters[static_cast<unsigned char>(c) % 32];
  return key;
}

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t got = 0;
  while (got < count) {
    const ssize_t n = ::getrandom(bytes.data() + got, count - got, 0);
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  return bytes;
}

TimeMs wall_clock_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

Runtime::Runtime(const RuntimeOptions& options) : options_(options) {}

StoreSetting Runtime::setting() {
  StoreSetting to{.metadata = *opened_.metadata,
                  .drives = opened_.drive_set(),
                  .tiers = opened_.tiers,
                  .now_ms = options_.wall_clock,
                  .random_bytes = random_bytes,
                  .keys = options_.keys,
                  .hedger = hedger_.get()};
  to.tiers.front().held_bytes_max = options_.held_bytes_max;
  if (!options_.keeps_house) to.shared_grace_ms = 0;  // no other gateway is running
  to.run_after = opened_.run_after;
  to.sweeps_whole = !options_.keeps_house;  // only a repair sweeps in this mode
  to.is_tight = [reserve = opened_.reserve] { return reserve->is_tight(); };
  to.agrees = [this] {
    const auto facts = store::facts_of(*opened_.metadata);
    return facts && opened_.witnesses->agrees(*facts);
  };
  to.aside_ms = static_cast<std::uint64_t>(options_.aside_ms);
  return to;
}

// Takes a number for this run, and notifies the drives before anything is written to them.
Answer<void> Runtime::begin() {
  if (auto good = store_->open(); !good) return good;
  if (const auto told = opened_.witnesses->begin(store_->epoch()); !told)
    options_.log("no drive has recorded this run: " + told.error().what);
  return {};
}

Result<std::unique_ptr<Runtime>> Runtime::open(const RuntimeOptions& options) {
  auto opened = open_store_folder(
      options.folder, options.tiers, to_hex(random_bytes(8)), options.replace_drives, options.s3,
      {.database = options.database,
       .alone = !options.keeps_house,
       .accepts_loss = options.accepts_loss,
       .admits = [&](Metadata& metadata) -> Result<void> {
         if (!options.keeps_house) return {};
         return check_known_keys(metadata, options.keys, options.folder);
       }});
  if (!opened) return std::unexpected(opened.error());
  std::unique_ptr<Runtime> made(new Runtime(options));
  made->opened_ = std::move(*opened);
  for (Diagnostic& note : tighten_modes(options.folder, made->opened_)) {
    made->opened_.notes.push_back(std::move(note));
  }
  made->store_ = std::make_unique<Store>(made->setting());
  if (auto good = made->store_->measure(); !good) return store_fault(options.folder, good.error());
  if (auto good = made->check_key(); !good) return std::unexpected(good.error());
  if (auto good = made->begin(); !good) return store_fault(options.folder, good.error());
  if (auto good = made->take_tenants(); !good) return store_fault(options.folder, good.error());
  if (auto good = made->look_at_policies(); !good) {
    return store_fault(options.folder, good.error());
  }
  GatewaySetting gateway = options.gateway;
  gateway.quota_of = [quotas = made->quotas_](std::string_view tenant) {
    const auto at = quotas.find(std::string(tenant));
    return at == quotas.end() ? 0 : at->second;
  };
  made->gateway_ = std::make_unique<Gateway>(*made->store_, std::move(gateway), options.log);
  made->scrubber_ = std::make_unique<Scrubber>(*made->store_);
  if (!options.keeps_house) return made;
  made->begin_clock();
  if (options.moves.on) {
    MoverOptions moves = options.moves;
    moves.day_ms = options.gateway.day_ms;
    moves.may = [runtime = made.get()] {
      return runtime->leads_.load() && runtime->trusts_clock();
    };
    made->mover_ = std::make_unique<Mover>(*made->store_, std::move(moves), options.log);
  }
  made->house_ = std::jthread(
      [runtime = made.get()](const std::stop_token& stop) { runtime->keep_house(stop); });
  return made;
}

// If the store was encrypted before, forgetting an option must not make it continue unencrypted. A
// run that only checks or repairs needs no key.
Result<void> Runtime::check_key() {
  if (!options_.keeps_house) return {};
  const auto last = opened_.metadata->get(kKeyRow);
  if (!last) return store_fault(options_.folder, refusal_of(last.error()));
  const std::string& current = options_.keys.current;
  if (auto good = check_master_keys(*store_, options_.folder); !good) return good;
  if (current.empty() || *last == current) return {};
  const auto done = opened_.metadata->commit({.changes = {{std::string(kKeyRow), current}}});
  if (!done) return store_fault(options_.folder, refusal_of(done.error()));
  return {};
}

// Tenants that are no longer named lose their access keys; their objects stay.
Answer<void> Runtime::take_tenants() {
  auto set = set_tenants(*store_, {options_.tenants, options_.keeps_house});
  if (!set) return std::unexpected(set.error());
  quotas_ = std::move(set->quotas);
  if (!options_.keeps_house) return {};
  const auto note = [&](std::string code, std::string what, std::string why, std::string fix) {
    opened_.notes.push_back({.severity = Severity::warning,
                             .code = std::move(code),
                             .place = {options_.folder},
                             .what = std::move(what),
                             .why = std::move(why),
                             .fix = std::move(fix)});
  };
  if (!options_.tenants && !set->stayed.empty()) {
    note("store.tenants",
         fmt::format("tenants of an earlier --tenants file still have access: {}",
                     fmt::join(set->stayed, ", ")),
         "without --tenants the earlier tenants are kept",
         "give the file again, or give an empty file to revoke their access");
  }
  const bool others = !set->stayed.empty() || (options_.tenants && !options_.tenants->empty());
  if (others && options_.keys.current.empty()) {
    note("store.clear-secrets", "the tenants' secret keys are stored unencrypted in the metadata",
         "the store has no master key, so anyone who can read its files can read the secret keys",
         "give a master key with --key-file or --key-command");
  }
  if (set->unread > 0) {
    note("store.key", fmt::format("the secret keys of {} tenants cannot be decrypted", set->unread),
         "they are encrypted with a master key that was not given",
         "give that key too, after the current one");
  }
  if (set->sealed == 0) return {};
  note("store.sealed",
       fmt::format("the secret keys of {} tenants are now encrypted with the key {}", set->sealed,
                   options_.keys.current),
       "before, they were stored unencrypted or encrypted with another key", {});
  // Values that cannot be removed from the disk now disappear when the engine merges its tables.
  if (auto gone = opened_.metadata->forget_before(rows::row::tenant("")); !gone) {
    options_.log("earlier rows with tenants' secret keys are still on the disk: " +
                 gone.error().what);
  }
  return {};
}

// An earlier version may have accepted policies that this one does not. A policy that cannot be
// read denies access to everyone but the owner.
Answer<void> Runtime::look_at_policies() {
  const auto buckets = store_->buckets("");
  if (!buckets) return std::unexpected(buckets.error());
  for (const Bucket& bucket : *buckets) {
    const std::string_view text = net::header_of(bucket.documents, "policy");
    if (text.empty()) continue;
    const auto policy = policy_of(text, bucket.name);
    if (policy) continue;
    opened_.notes.push_back(
        {.severity = Severity::warning,
         .code = "store.policy",
         .place = {options_.folder},
         .what = "the policy of bucket " + bucket.name + " is not valid: " + policy.error().message,
         .why = "until it is fixed, only the bucket's owner has access",
         .fix = "replace it with a valid S3 policy, or delete it"});
  }
  return {};
}

Runtime::~Runtime() {
  if (!store_) return;
  mover_.reset();
  if (house_.joinable()) {
    house_.request_stop();
    house_.join();
  }
  if (store_->epoch() != 0) {
    if (auto ended = end_run(*store_); !ended) {
      options_.log("the store did not shut down cleanly: " + ended.error().message);
      return;
    }
  }
  scrubber_.reset();
  gateway_.reset();
  store_.reset();
  seal_store_folder(opened_);
}

Result<Runtime::FirstKeys> Runtime::first_tenant(const std::string& access_key,
                                                 const std::string& secret_key) {
  FirstKeys keys{access_key, secret_key, false};
  Metadata& metadata = *opened_.metadata;
  Commit commit;
  std::optional<Tenant> before;
  const std::string base = rows::row::tenant("");
  const auto cursor = metadata.cursor();
  for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
    const auto in_row = decode_tenant(cursor->value());
    if (!in_row) continue;
    if (!before) before = opened_tenant(*in_row, options_.keys);
    // Keys given now replace those of an earlier run, so that a leaked key can be changed.
    if (in_row->id != kFirstTenant || in_row->access_key == access_key) continue;
    commit.changes.push_back({std::string(cursor->key()), std::nullopt});
  }
  if (auto state = cursor->state(); !state) {
    return store_fault(options_.folder, refusal_of(state.error()));
  }
  if (access_key.empty()) {
    if (before) return FirstKeys{before->access_key, before->secret_key, false};
    keys = {fresh_key(20), fresh_key(40), true};
    commit.changes.clear();
  }
  const Tenant tenant{.access_key = keys.access_key,
                      .secret_key = keys.secret_key,
                      .id = std::string(kFirstTenant),
                      .name = std::string(kFirstTenant)};
  commit.changes.push_back(
      {rows::row::tenant(keys.access_key), tenant_row(tenant, options_.keys, random_bytes(16))});
  const auto done = metadata.commit(commit);
  if (!done) return store_fault(options_.folder, refusal_of(done.error()));
  return keys;
}

StoreStatus Runtime::status() {
  StoreStatus status{.requests = &gateway_->counts(),
                     .moves = moves(),
                     .load = options_.load.get(),
                     .hedges = hedger_->counts(),
                     .buckets = store_->usage().all()};
  {
    const std::scoped_lock lock(scrub_mutex_);
    status.scrub = scrubbed_;
  }
  add_drives(status, opened_);
  return status;
}

net::Response Runtime::own_answer(const net::Request& request) {
  const bool near = request.peer.starts_with("127.") || request.peer == "::1";
  const std::string_view path = net::path_of(request);
  if (path == "/-/health") return {.body = "good\n"};
  if (!near && !options_.metrics_for_all) {
    return {.status = 403, .body = "requests from this address are not allowed\n"};
  }
  if (!options_.metrics_for_all && !names_this_machine(request.header("Host"))) {
    return {.status = 421,
            .body =
                "use 127.0.0.1 or localhost as the host, or start the store with "
                "--open-metrics\n"};
  }
  if (path == "/-/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics_text(status())};
  }
  if (path == "/-/status")
    return {.content_type = "application/json", .body = status_json(status())};
  return {.status = 404, .body = "page not found\n"};
}

net::Service Runtime::service() {
  net::Service of = gateway_->service();
  const auto answer = of.answer;
  of.answer = [this, answer](const net::Request& request) {
    if (!request.target.starts_with("/-/")) return answer(request);
    if (!options_.gateway.puts_off) return own_answer(request);
    return net::Response{.later = [this, &request] { return own_answer(request); }};
  };
  return of;
}

void Runtime::collect(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto gone = store_->collect();
    if (!gone) return complain("garbage collection failed: " + gone.error().message);
    if (*gone == 0) return;
  }
}

// Reads enough per tick that a walk over all shards takes about a week, but always a minimum.
void Runtime::scrub() {
  if (scrub_bytes_ == 0) {
    std::uint64_t used = 0;
    for (const auto& [id, drive] : opened_.drives) {
      const auto space = drive ? drive->space() : Outcome<DriveSpace>(DriveSpace{});
      if (space) used += space->total_bytes - space->free_bytes;
    }
    scrub_bytes_ = std::max<std::uint64_t>(kScrubBytesMin, used / kScrubTicks);
  }
  const ScrubCounts before = scrubber_->counts();
  const auto more = scrubber_->step(scrub_bytes_);
  if (!more) return complain("the scrubber stopped: " + more.error().message);
  const ScrubCounts& now = scrubber_->counts();
  {
    const std::scoped_lock lock(scrub_mutex_);
    scrubbed_ = now;
  }
  // What cannot be rebuilt is found again in each round: a small store would say so every tick.
  if (now.damaged == before.damaged) return;
  const TimeMs at = steady_ms();
  const bool is_new = now.mended > before.mended || scrub_said_ms_ == 0;
  if (!is_new && at - scrub_said_ms_ < kScrubSayMs) return;
  scrub_said_ms_ = at;
  options_.log(fmt::format("scrubbing found {} damaged shards and rebuilt {} of them",
                           now.damaged - before.damaged, now.mended - before.mended));
}

// If other gateways share the metadata: renews this gateway's registration, and finds out whether
// it leads.
void Runtime::keep_place() {
  const TimeMs now = steady_ms();
  if (now - kept_place_ms_ < kPlaceMs) return;
  kept_place_ms_ = now;
  const std::uint64_t before = store_->epoch();
  if (const auto good = store_->renew(); !good) {
    leads_ = false;
    return complain("this gateway's registration could not be renewed: " + good.error().message);
  }
  if (store_->epoch() != before) {
    options_.log("other gateways declared this one dead: requests in progress fail");
    (void)opened_.witnesses->begin(store_->epoch());
  }
  const auto leads = opened_.metadata->leads();
  leads_ = leads && *leads;
  if (now - measured_ms_ < kMeasureMs) return;
  measured_ms_ = now;
  if (const auto good = store_->measure(); !good) {
    complain("the usage of the buckets could not be updated: " + good.error().message);
  }
}

void Runtime::sweep(const std::stop_token& stop) {
  const TimeMs now = steady_ms();
  const bool first = swept_ms_ == 0;
  if (!first && now - swept_ms_ < kSweepMs) return;
  swept_ms_ = now;
  if (!first) {
    // Requires two observations in a row, because after a fault of the database all gateways
    // register again.
    const auto died = has_died(*store_);
    const bool before = std::exchange(seen_dead_, died && *died);
    if (!before || !seen_dead_) return;
    seen_dead_ = false;
  }
  const auto swept = sweep_orphans(*store_, [&] { return stop.stop_requested(); });
  if (!swept) return complain("the sweep for orphaned files failed: " + swept.error().message);
  if (swept->set_aside > 0) {
    options_.log(
        fmt::format("{} files of a crashed run belong to no object and were set aside; they are "
                    "removed after the store has been healthy for {:.1f} days",
                    swept->set_aside, static_cast<double>(options_.aside_ms) / kDayMs));
  }
  for (const std::string& what : swept->says) options_.log(what);
  if (swept->kept > 0) {
    complain(
        fmt::format("ATTENTION: {} files are complete objects without a metadata row, so rows were "
                    "lost. None of these files is removed; `orrery store fsck` lists them",
                    swept->kept));
  }
}

void Runtime::complain(const std::string& what) {
  is_well_ = false;
  options_.log(what);
}

// Records on the drives how far the metadata has come. If gateways share the metadata, the leader
// counts.
void Runtime::keep_witness() {
  const TimeMs now = steady_ms();
  if (now - witnessed_ms_ < kWitnessMs) return;
  witnessed_ms_ = now;
  if (opened_.metadata->is_shared() && leads_ && now - beaten_ms_ >= kBeatMs) {
    beaten_ms_ = now;
    const std::string key = rows::row::fact("beat");
    const auto before = opened_.metadata->get(key);
    if (!before) return;
    const std::uint64_t beat = (*before ? rows::from_big_endian(**before) : 0) + 1;
    const auto done = opened_.metadata->commit(
        {.expects = {{key, *before}}, .changes = {{key, rows::big_endian(beat)}}});
    if (done && *done) opened_.witnesses->note(beat);
  }
  opened_.witnesses->keep();
}

// Adds up the time in which nothing failed and all drives were available, and removes files that
// have been set aside for long enough of it.
void Runtime::keep_health(const std::stop_token& stop) {
  const TimeMs now = steady_ms();
  if (now - well_ms_ < kWellMs) return;
  const TimeMs passed = now - std::exchange(well_ms_, now);
  const auto wall = static_cast<std::uint64_t>(std::max<TimeMs>(options_.wall_clock(), 0));
  (void)opened_.metadata->commit(
      {.changes = {{kClockRow, rows::big_endian(wall)}}, .durable = false});
  const bool all_there = std::ranges::all_of(
      opened_.drives, [](const auto& of) { return of.second && of.second->space(); });
  if (is_well_.exchange(true) && all_there)
    (void)add_well(*store_, static_cast<std::uint64_t>(passed));
  if (now - aside_ms_ < kAsideMs && aside_ms_ != 0) return;
  aside_ms_ = now;
  const auto aside = tend_aside(*store_, [&] { return stop.stop_requested(); });
  if (!aside) return complain("the files set aside could not be checked: " + aside.error().message);
  if (aside->brought_back + aside->removed > 0) {
    options_.log(fmt::format("of the files set aside, {} were restored and {} were removed",
                             aside->brought_back, aside->removed));
  }
}

void Runtime::begin_clock() {
  clock_ = upkeep::ClockWatch(options_.gateway.day_ms);
  const auto row = opened_.metadata->get(kClockRow);
  const TimeMs noted = row && *row ? static_cast<TimeMs>(rows::from_big_endian(**row)) : 0;
  const std::scoped_lock lock(clock_mutex_);
  say_clock(clock_.begin(options_.wall_clock(), steady_ms(), noted));
}

void Runtime::say_clock(std::optional<upkeep::ClockChange> change) {
  if (change == upkeep::ClockChange::set_forward) {
    complain(
        "ATTENTION: the clock of this machine was set forward, or the store was stopped for a "
        "month. Lifecycle rules remove nothing for one day. If the clock is wrong, correct it");
  } else if (change == upkeep::ClockChange::set_back) {
    options_.log("the clock of this machine was set back");
  }
}

bool Runtime::trusts_clock() {
  const std::scoped_lock lock(clock_mutex_);
  const TimeMs now = steady_ms();
  say_clock(clock_.look(options_.wall_clock(), now));
  return !clock_.rests(now);
}

void Runtime::keep_house(const std::stop_token& stop) {
  const bool shared = opened_.metadata->is_shared();
  leads_ = !shared;
  measured_ms_ = steady_ms();
  well_ms_ = steady_ms();
  const TimeMs day = options_.gateway.day_ms;
  const TimeMs period = std::clamp<TimeMs>(day / 100, kTick.count(), kLifecycleMostMs);
  TimeMs next = steady_ms() + period;
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    if (shared) keep_place();
    if (!shared) opened_.reserve->tend();
    keep_witness();
    if (leads_) {
      if (shared || swept_ms_ == 0) sweep(stop);
      collect(stop);
      scrub();
      keep_health(stop);
    }
    // Read before the clock is judged: a jump in between is seen.
    const TimeMs wall = options_.wall_clock();
    const bool trusts = trusts_clock();
    if (leads_ && trusts && steady_ms() >= next) {
      const auto run = run_lifecycle(*store_, day, [&] { return stop.stop_requested(); }, wall);
      if (!run) complain("the lifecycle run failed: " + run.error().message);
      next = steady_ms() + period;
    }
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, kTick, [] { return false; });
  }
}

}  // namespace orrery::s3server
