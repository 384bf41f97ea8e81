#include "store/runtime.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "base/digest.h"
#include "store/sweep.h"

namespace orrery::store {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr TimeMs kLifecycleMostMs = 60'000;
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
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

Runtime::Runtime(const RuntimeOptions& options) : options_(options) {}

Result<std::unique_ptr<Runtime>> Runtime::open(const RuntimeOptions& options) {
  auto opened = open_store_folder(options.folder, options.tiers, to_hex(random_bytes(8)),
                                  options.replace_drives);
  if (!opened) return std::unexpected(opened.error());
  std::unique_ptr<Runtime> made(new Runtime(options));
  made->opened_ = std::move(*opened);
  made->store_ = std::make_unique<Store>(StoreSetting{.metadata = *made->opened_.metadata,
                                                      .drives = made->opened_.drive_set(),
                                                      .tiers = made->opened_.tiers,
                                                      .now_ms = wall_clock_ms,
                                                      .random_bytes = random_bytes});
  if (auto good = made->store_->open(); !good) return store_fault(options.folder, good.error());
  made->gateway_ = std::make_unique<Gateway>(*made->store_, options.gateway, options.log);
  made->scrubber_ = std::make_unique<Scrubber>(*made->store_);
  if (!options.keeps_house) return made;
  made->house_ = std::jthread(
      [runtime = made.get()](const std::stop_token& stop) { runtime->keep_house(stop); });
  return made;
}

Runtime::~Runtime() {
  if (!store_ || store_->epoch() == 0) return;
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
  const Tenant tenant{
      .access_key = keys.access_key, .secret_key = keys.secret_key, .id = "main", .name = "main"};
  const auto done = metadata.commit({.changes = {{row::tenant(keys.access_key), encode(tenant)}}});
  if (!done) return store_fault(options_.folder, refusal_of(done.error()));
  return keys;
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
  if (now.damaged == before.damaged) return;
  options_.log(fmt::format("{} damaged shards found, {} written anew", now.damaged - before.damaged,
                           now.mended - before.mended));
}

void Runtime::keep_house(const std::stop_token& stop) {
  if (const auto swept = sweep_orphans(*store_); !swept) {
    options_.log("the sweep after the start failed: " + swept.error().message);
  } else if (swept->removed > 0) {
    options_.log(fmt::format("{} files of a run that died were removed", swept->removed));
  }
  const TimeMs day = options_.gateway.day_ms;
  const TimeMs period = std::clamp<TimeMs>(day / 100, kTick.count(), kLifecycleMostMs);
  TimeMs next = wall_clock_ms() + period;
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    collect(stop);
    scrub();
    if (wall_clock_ms() >= next) {
      const auto run = run_lifecycle(*store_, day, [&] { return stop.stop_requested(); });
      if (!run) options_.log("the lifecycle run failed: " + run.error().message);
      next = wall_clock_ms() + period;
    }
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, kTick, [] { return false; });
  }
}

}  // namespace orrery::store
