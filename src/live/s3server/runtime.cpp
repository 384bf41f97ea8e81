#include "live/s3server/runtime.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "core/base/digest.h"
#include "live/store/sweep.h"

namespace orrery::s3server {
namespace {

constexpr const char* kFirstTenant = "main";
const std::string kKeyRow = "nkey";
constexpr std::chrono::milliseconds kTick{100};
constexpr TimeMs kLifecycleMostMs = 60'000;
constexpr TimeMs kPlaceMs = 1000;
constexpr TimeMs kSweepMs = 5000;
constexpr TimeMs kMeasureMs = 600'000;
constexpr std::uint64_t kScrubBytesMin = 16u << 10;
constexpr std::uint64_t kScrubTicks = 7ull * 24 * 3600 * 10;  // in a week

std::unexpected<Diagnostics> store_fault(const std::string& folder, const Refused& why) {
  return fail({.code = "store.open",
               .place = {folder},
               .what = "the store cannot be opened: " + why.code + ' ' + why.message,
               .why = {},
               .fix = {}});
}

// Letters and digits, as the keys of S3 are.
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

Result<std::unique_ptr<Runtime>> Runtime::open(const RuntimeOptions& options) {
  auto opened = open_store_folder(options.folder, options.tiers, to_hex(random_bytes(8)),
                                  options.replace_drives, options.s3,
                                  {options.database, !options.keeps_house});
  if (!opened) return std::unexpected(opened.error());
  std::unique_ptr<Runtime> made(new Runtime(options));
  made->opened_ = std::move(*opened);
  StoreSetting setting{.metadata = *made->opened_.metadata,
                       .drives = made->opened_.drive_set(),
                       .tiers = made->opened_.tiers,
                       .now_ms = wall_clock_ms,
                       .random_bytes = random_bytes,
                       .keys = options.keys,
                       .hedger = made->hedger_.get()};
  setting.tiers.front().held_bytes_max = options.held_bytes_max;
  if (!options.keeps_house) setting.shared_grace_ms = 0;  // it is opened alone
  made->store_ = std::make_unique<Store>(std::move(setting));
  if (auto good = made->store_->open(); !good) return store_fault(options.folder, good.error());
  if (auto good = made->store_->measure(); !good) return store_fault(options.folder, good.error());
  if (auto good = made->check_key(); !good) return std::unexpected(good.error());
  if (auto good = made->set_tenants(); !good) return store_fault(options.folder, good.error());
  GatewaySetting gateway = options.gateway;
  gateway.quota_of = [quotas = made->quotas_](std::string_view tenant) {
    const auto at = quotas.find(std::string(tenant));
    return at == quotas.end() ? 0 : at->second;
  };
  made->gateway_ = std::make_unique<Gateway>(*made->store_, std::move(gateway), options.log);
  made->scrubber_ = std::make_unique<Scrubber>(*made->store_);
  if (!options.keeps_house) return made;
  if (options.moves.on) {
    MoverOptions moves = options.moves;
    moves.day_ms = options.gateway.day_ms;
    moves.may = [runtime = made.get()] { return runtime->leads_.load(); };
    made->mover_ = std::make_unique<Mover>(*made->store_, std::move(moves), options.log);
  }
  made->house_ = std::jthread(
      [runtime = made.get()](const std::stop_token& stop) { runtime->keep_house(stop); });
  return made;
}

// What was enciphered once is not continued in the clear by an option that was forgotten. Who only
// checks and mends needs no key.
Result<void> Runtime::check_key() {
  if (!options_.keeps_house) return {};
  const auto last = opened_.metadata->get(kKeyRow);
  if (!last) return store_fault(options_.folder, refusal_of(last.error()));
  const std::string& current = options_.keys.current;
  if (*last && !options_.keys.keys.contains(**last)) {
    return fail({.code = "store.key",
                 .place = {options_.folder},
                 .what = "the store is enciphered with the key " + **last + ", which was not given",
                 .why = "what is there could not be read, and what is new would be in the clear",
                 .fix = "name it with --key-file or --key-command"});
  }
  if (current.empty() || *last == current) return {};
  const auto done = opened_.metadata->commit({.changes = {{kKeyRow, current}}});
  if (!done) return store_fault(options_.folder, refusal_of(done.error()));
  return {};
}

// Those who are no longer named lose their keys; what they put stays.
Answer<void> Runtime::set_tenants() {
  Metadata& metadata = *opened_.metadata;
  Commit commit;
  const std::string base = row::tenant("");
  const auto cursor = metadata.cursor();
  for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
    const auto tenant = decode_tenant(cursor->value());
    if (!tenant) continue;
    if (options_.tenants && tenant->id != kFirstTenant) {
      commit.changes.push_back({std::string(cursor->key()), std::nullopt});
    } else {
      quotas_[tenant->id] = tenant->quota_bytes;
    }
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  for (const Tenant& tenant : options_.tenants.value_or(std::vector<Tenant>{})) {
    commit.changes.push_back({row::tenant(tenant.access_key), encode(tenant)});
    quotas_[tenant.id] = tenant.quota_bytes;
  }
  if (commit.changes.empty()) return {};
  if (const auto done = metadata.commit(commit); !done) return refused(done.error());
  return {};
}

Runtime::~Runtime() {
  if (!store_ || store_->epoch() == 0) return;
  mover_.reset();
  if (house_.joinable()) {
    house_.request_stop();
    house_.join();
  }
  if (auto ended = end_run(*store_); !ended) options_.log("the run could not be ended in order");
}

Result<Runtime::FirstKeys> Runtime::first_tenant(const std::string& access_key,
                                                 const std::string& secret_key) {
  FirstKeys keys{access_key, secret_key, false};
  Metadata& metadata = *opened_.metadata;
  if (access_key.empty()) {
    const auto cursor = metadata.cursor();
    cursor->seek(row::tenant(""));
    const bool any = cursor->valid() && cursor->key().starts_with(row::tenant(""));
    if (const auto tenant = any ? decode_tenant(cursor->value()) : std::nullopt) {
      return FirstKeys{tenant->access_key, tenant->secret_key, false};
    }
    keys = {fresh_key(20), fresh_key(40), true};
  }
  const Tenant tenant{.access_key = keys.access_key,
                      .secret_key = keys.secret_key,
                      .id = kFirstTenant,
                      .name = kFirstTenant};
  const auto done = metadata.commit({.changes = {{row::tenant(keys.access_key), encode(tenant)}}});
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
  if (!near && !options_.metrics_for_all) return {.status = 403, .body = "not from there\n"};
  if (path == "/-/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics_text(status())};
  }
  if (path == "/-/status")
    return {.content_type = "application/json", .body = status_json(status())};
  return {.status = 404, .body = "there is no such page\n"};
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
    if (!gone) return options_.log("garbage could not be collected: " + gone.error().message);
    if (*gone == 0) return;
  }
}

// So much a tick that a walk over all takes about a week, and a little even where there is little.
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
  if (!more) return options_.log("the scrubber stopped: " + more.error().message);
  const ScrubCounts& now = scrubber_->counts();
  {
    const std::scoped_lock lock(scrub_mutex_);
    scrubbed_ = now;
  }
  if (now.damaged == before.damaged) return;
  options_.log(fmt::format("{} damaged shards found, {} written anew", now.damaged - before.damaged,
                           now.mended - before.mended));
}

// Where others share the metadata: this run lives, and leads or does not.
void Runtime::keep_place() {
  const TimeMs now = wall_clock_ms();
  if (now - kept_place_ms_ < kPlaceMs) return;
  kept_place_ms_ = now;
  const std::uint64_t before = store_->epoch();
  if (const auto good = store_->renew(); !good) {
    leads_ = false;
    return options_.log("the gateway's place could not be kept: " + good.error().message);
  }
  if (store_->epoch() != before) {
    options_.log("others took this gateway for dead: what was under way is refused");
  }
  const auto leads = opened_.metadata->leads();
  leads_ = leads && *leads;
  if (now - measured_ms_ < kMeasureMs) return;
  measured_ms_ = now;
  if (const auto good = store_->measure(); !good) {
    options_.log("the buckets could not be measured: " + good.error().message);
  }
}

void Runtime::sweep(const std::stop_token& stop) {
  const TimeMs now = wall_clock_ms();
  const bool first = swept_ms_ == 0;
  if (!first && now - swept_ms_ < kSweepMs) return;
  swept_ms_ = now;
  if (!first) {
    // Twice in a row: after a fault of the database all are looking for their place again.
    const auto died = has_died(*store_);
    const bool before = std::exchange(seen_dead_, died && *died);
    if (!before || !seen_dead_) return;
    seen_dead_ = false;
  }
  if (const auto swept = sweep_orphans(*store_, [&] { return stop.stop_requested(); }); !swept) {
    options_.log("the sweep failed: " + swept.error().message);
  } else if (swept->removed > 0) {
    options_.log(fmt::format("{} files of a run that died were removed", swept->removed));
  }
}

void Runtime::keep_house(const std::stop_token& stop) {
  const bool shared = opened_.metadata->is_shared();
  leads_ = !shared;
  measured_ms_ = wall_clock_ms();
  const TimeMs day = options_.gateway.day_ms;
  const TimeMs period = std::clamp<TimeMs>(day / 100, kTick.count(), kLifecycleMostMs);
  TimeMs next = wall_clock_ms() + period;
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    if (shared) keep_place();
    if (leads_) {
      if (shared || swept_ms_ == 0) sweep(stop);
      collect(stop);
      scrub();
    }
    if (leads_ && wall_clock_ms() >= next) {
      const auto run = run_lifecycle(*store_, day, [&] { return stop.stop_requested(); });
      if (!run) options_.log("the lifecycle run failed: " + run.error().message);
      next = wall_clock_ms() + period;
    }
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, kTick, [] { return false; });
  }
}

}  // namespace orrery::s3server
