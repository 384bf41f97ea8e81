#include "live/drives/s3_drive.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "core/base/text.h"
#include "live/drives/aside_names.h"
#include "live/drives/windowed_file.h"

namespace orrery::drives {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCallsMax = 8;
constexpr std::chrono::seconds kTurn{2};
constexpr std::chrono::seconds kSilence{2};
constexpr std::uint64_t kPutBytesMax = std::uint64_t{64} << 20;
constexpr std::size_t kPartBytes = std::size_t{16} << 20;
constexpr std::string_view kMarkName = "drive";

std::unexpected<Diagnostics> place_fault(const std::string& place, const std::string& what,
                                         const std::string& fix) {
  return fail({.code = "store.s3", .place = {place}, .what = what, .why = {}, .fix = fix});
}

Fault fault_of(const s3::Error& error) {
  const std::string what =
      fmt::format("{}: {} {} {}", error.operation, error.status, error.code, error.detail);
  if (error.status == 507 || error.code == "QuotaExceeded") return {PortFault::full, what};
  if (error.fault == s3::Fault::absent && error.code != "NoSuchBucket") {
    return {PortFault::missing, what};
  }
  if (error.fault == s3::Fault::corrupt) return {PortFault::corrupt, what};
  if (error.fault == s3::Fault::local) return {PortFault::failed, what};
  return {PortFault::busy, what};
}

// The clients of one store; each is used by one call at a time.
class S3Calls {
 public:
  S3Calls(s3::Config config, net::ClientOptions options, std::string prefix, std::string mark)
      : config_(std::move(config)),
        options_(std::move(options)),
        prefix_(std::move(prefix)),
        mark_(std::move(mark)) {}

  std::string key_of(std::string_view name) const { return prefix_ + std::string(name); }
  const std::string& prefix() const { return prefix_; }
  void trust_mark() { checked_ = true; }

  // Runs `call` with a client that no other call uses, once the marker is known to be ours.
  template <class Call>
  auto ask(Call call) -> Outcome<typename std::invoke_result_t<Call, s3::Client&>::value_type> {
    auto client = take();
    if (!client) return std::unexpected(client.error());
    if (!checked_) {
      const auto found = (*client)->get(key_of(kMarkName));
      if (!found || found->bytes != mark_) {
        give_back(std::move(*client), found ? nullptr : &found.error());
        return fault(PortFault::busy, found ? "the drive's marker belongs to another store or drive"
                                            : fault_of(found.error()).what);
      }
      checked_ = true;
    }
    auto answer = call(**client);
    give_back(std::move(*client), answer ? nullptr : &answer.error());
    if (!answer) return std::unexpected(fault_of(answer.error()));
    return std::move(*answer);
  }

 private:
  Outcome<std::unique_ptr<s3::Client>> take() {
    std::unique_lock lock(mutex_);
    if (Clock::now() < silent_until_) {
      return fault(PortFault::busy, config_.endpoint +
                                        " did not answer a moment ago and is not "
                                        "asked again yet");
    }
    if (!free_.wait_for(lock, kTurn, [this] { return out_ < kCallsMax; })) {
      return fault(PortFault::busy, config_.endpoint +
                                        " already has the maximum number of "
                                        "requests in flight");
    }
    ++out_;
    if (!idle_.empty()) {
      auto client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
    s3::Config config = config_;
    config.seed = ++made_;
    config.writer += '-' + std::to_string(made_);
    return std::make_unique<s3::Client>(std::move(config), options_);
  }

  void give_back(std::unique_ptr<s3::Client> client, const s3::Error* error) {
    {
      const std::scoped_lock lock(mutex_);
      --out_;
      idle_.push_back(std::move(client));
      if (error != nullptr && error->fault == s3::Fault::unreachable) {
        silent_until_ = Clock::now() + kSilence;
      }
    }
    free_.notify_one();
  }

  s3::Config config_;
  net::ClientOptions options_;
  std::string prefix_;
  std::string mark_;
  std::atomic<bool> checked_ = false;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<s3::Client>> idle_;
  std::size_t out_ = 0;
  std::uint64_t made_ = 0;
  Clock::time_point silent_until_ = {};
};

Fault spool_fault(const std::string& folder) {
  return {errno == ENOSPC || errno == EDQUOT ? PortFault::full : PortFault::failed,
          "cannot create a spool file in " + folder + ": " + std::strerror(errno)};
}

// A file that is being written: on this machine until sync() sends it.
class SpooledFile final : public DriveFile {
 public:
  SpooledFile(S3Calls& calls, std::string name, int file, std::string folder)
      : calls_(calls), name_(std::move(name)), file_(file), folder_(std::move(folder)) {}
  ~SpooledFile() override { ::close(file_); }
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  Outcome<void> append(std::span<const std::string_view> pieces) override {
    for (std::string_view piece : pieces) {
      while (!piece.empty()) {
        const ssize_t n = ::write(file_, piece.data(), piece.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(spool_fault(folder_));
        piece.remove_prefix(static_cast<std::size_t>(n));
        size_ += static_cast<std::uint64_t>(n);
      }
    }
    return {};
  }

  using DriveFile::read;
  Outcome<std::size_t> read(std::uint64_t, std::span<char>) override {
    return fault(PortFault::failed, "a file cannot be read while it is being written");
  }

  Outcome<void> sync() override {
    if (sent_) return {};
    const net::BodySource source = [this](std::uint64_t offset,
                                          std::span<char> into) -> std::optional<std::size_t> {
      const ssize_t n = ::pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
      if (n < 0) return std::nullopt;
      return static_cast<std::size_t>(n);
    };
    const auto done = calls_.ask([&](s3::Client& client) { return send(client, source); });
    if (!done) return std::unexpected(done.error());
    sent_ = true;
    return {};
  }

 private:
  s3::Outcome<bool> send(s3::Client& client, const net::BodySource& source) {
    const std::string key = calls_.key_of(name_);
    if (size_ > kPutBytesMax) return client.put_parts(key, size_, source, kPartBytes);
    const auto body = s3::Body::of(size_, source);
    if (!body) {
      return std::unexpected(s3::Error{.fault = s3::Fault::local,
                                       .operation = "PUT " + key,
                                       .detail = "the spool file cannot be read"});
    }
    const auto put = client.put(key, *body);
    if (!put) return std::unexpected(put.error());
    return true;
  }

  S3Calls& calls_;
  std::string name_;
  int file_;
  std::string folder_;
  std::uint64_t size_ = 0;
  bool sent_ = false;
};

class S3Drive final : public Drive {
 public:
  S3Drive(std::unique_ptr<S3Calls> calls, std::string spool)
      : calls_(std::move(calls)), spool_(std::move(spool)) {}

  bool is_remote() const override { return true; }

  Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) override {
    const int file = ::open(spool_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return std::unexpected(spool_fault(spool_));
    return std::make_unique<SpooledFile>(*calls_, name, file, spool_);
  }
  Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) override {
    const auto head =
        calls_->ask([&](s3::Client& client) { return client.head(calls_->key_of(name)); });
    if (!head) return std::unexpected(head.error());
    return std::make_unique<WindowedFile>(
        [this, name, size = head->bytes](std::uint64_t from, std::size_t count) {
          return bytes_of(name, size, from, count);
        });
  }
  Outcome<void> remove(const std::string& name) override {
    const auto gone =
        calls_->ask([&](s3::Client& client) { return client.remove(calls_->key_of(name)); });
    if (!gone) return std::unexpected(gone.error());
    return {};
  }
  Outcome<std::vector<std::string>> list() override {
    const auto all = all_names();
    if (!all) return all;
    return names_in_use(*all);
  }

  Outcome<std::string> note() override {
    auto found =
        calls_->ask([&](s3::Client& client) { return client.get(calls_->key_of(kNoteName)); });
    if (!found) return std::unexpected(found.error());
    return std::move(found->bytes);
  }
  // A request per note would cost too much, so only durable notes are sent.
  Outcome<void> set_note(std::string_view text, bool durable) override {
    if (!durable) return {};
    return put(kNoteName, std::string(text));
  }

  Outcome<void> set_aside(const AsideFile& file, const std::string& origin) override {
    return put(aside_name(file.name), aside_text(file, origin));
  }
  Outcome<void> bring_back(const AsideFile& file) override { return remove(aside_name(file.name)); }
  Outcome<void> remove_aside(const AsideFile& file) override {
    if (auto gone = remove(file.name); !gone) return gone;
    return remove(aside_name(file.name));
  }
  Outcome<std::vector<AsideFile>> aside() override {
    const auto all = all_names();
    if (!all) return std::unexpected(all.error());
    std::vector<AsideFile> files;
    for (const std::string& name : names_aside(*all)) {
      const auto text = calls_->ask(
          [&](s3::Client& client) { return client.get(calls_->key_of(aside_name(name))); });
      if (!text) return std::unexpected(text.error());
      files.push_back({name, aside_since(text->bytes)});
    }
    return files;
  }

  // S3 does not report the free space of a store.
  Outcome<DriveSpace> space() override { return DriveSpace{}; }

 private:
  Outcome<void> put(const std::string& name, const std::string& text) {
    const auto done = calls_->ask(
        [&](s3::Client& client) { return client.put(calls_->key_of(name), s3::Body::of(text)); });
    if (!done) return std::unexpected(done.error());
    return {};
  }
  Outcome<std::vector<std::string>> all_names() {
    std::vector<std::string> names;
    std::string token;
    do {
      auto page =
          calls_->ask([&](s3::Client& client) { return client.list(calls_->prefix(), token); });
      if (!page) return std::unexpected(page.error());
      for (const s3::Entry& entry : page->entries) {
        const std::string name = entry.key.substr(calls_->prefix().size());
        if (name != kMarkName && name != kNoteName) names.push_back(name);
      }
      token = page->next;
    } while (!token.empty());
    return names;
  }
  Outcome<std::string> bytes_of(const std::string& name, std::uint64_t size, std::uint64_t from,
                                std::size_t count) {
    if (from >= size) return std::string();
    auto object = calls_->ask([&](s3::Client& client) {
      return client.get_range(calls_->key_of(name), from,
                              std::min<std::uint64_t>(count, size - from));
    });
    if (!object) return std::unexpected(object.error());
    return std::move(object->bytes);
  }

  std::unique_ptr<S3Calls> calls_;
  std::string spool_;
};

// Returns true if the marker is ours and false if there is none; a fault says why it is unknown.
s3::Outcome<bool> look_at_mark(s3::Client& client, const std::string& key, const std::string& mark,
                               bool make) {
  auto found = client.get(key);
  if (!found && found.error().fault == s3::Fault::absent && make) {
    const auto put = client.put_new(key, s3::Body::of(mark));
    if (!put) return std::unexpected(put.error());
    found = client.get(key);
  }
  if (!found) return std::unexpected(found.error());
  return found->bytes == mark;
}

}  // namespace

bool is_s3_place(std::string_view text) { return text.starts_with("s3+"); }

Result<S3Place> s3_place_of(const std::string& text) {
  const std::string fix = "write s3+https://HOST[:PORT]/BUCKET[/PREFIX][?region=NAME]";
  const std::string bare = text.substr(0, text.find('?'));
  const auto scheme = bare.find("://");
  const auto slash = scheme == bare.npos ? bare.npos : bare.find('/', scheme + 3);
  if (!is_s3_place(bare) || slash == bare.npos) {
    return place_fault(text, "this is not an address in an object store", fix);
  }
  auto endpoint = s3::checked_endpoint(bare.substr(3, slash - 3));
  if (!endpoint) return std::unexpected(endpoint.error());
  auto location = s3::parse_location("s3:/" + bare.substr(slash));
  if (!location) return std::unexpected(location.error());
  S3Place place{*endpoint, location->bucket, location->prefix};
  if (!place.prefix.empty()) place.prefix += '/';
  if (bare.size() == text.size()) return place;
  constexpr std::string_view kRegion = "region=";
  const std::string query = text.substr(bare.size() + 1);
  place.region = query.substr(std::min(query.size(), kRegion.size()));
  const bool plain =
      place.region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (query.starts_with(kRegion) && plain && !place.region.empty()) return place;
  return place_fault(text, "'" + query + "' is not a known option", fix);
}

Result<std::unique_ptr<Drive>> open_s3_drive(const S3Place& place, const DriveMark& mark,
                                             const S3Access& access, const std::string& spool,
                                             bool make) {
  const std::string where = place.endpoint + '/' + place.bucket + '/' + place.prefix;
  auto keys = access.keys.find(place.bucket);
  if (keys == access.keys.end()) keys = access.keys.find("");
  if (keys == access.keys.end()) {
    return place_fault(where, "no access keys were given for this object store",
                       "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --s3-keys FILE");
  }
  const s3::Config config{.endpoint = place.endpoint,
                          .bucket = place.bucket,
                          .region = place.region,
                          .credentials = keys->second,
                          .retry = access.retry,
                          .writer = mark.store + '-' + mark.drive};
  const std::string text = mark_text(mark);
  auto calls = std::make_unique<S3Calls>(config, access.client, place.prefix, text);
  s3::Client first(config, access.client);
  const auto ours = look_at_mark(first, place.prefix + std::string(kMarkName), text, make);
  if (ours && !*ours) {
    return place_fault(where,
                       "this place belongs to another store, or to another drive of this store",
                       "give each drive its own bucket or prefix");
  }
  if (!ours) {
    const Fault why = fault_of(ours.error());
    if (make || why.kind == PortFault::missing) {
      return place_fault(
          where, "this drive of the store cannot be reached: " + why.what,
          make ? "create the bucket, and check that the keys may write to it"
               : "check its address, or replace the drive with `orrery store repair`");
    }
  } else {
    calls->trust_mark();
  }
  return std::make_unique<S3Drive>(std::move(calls), spool);
}

}  // namespace orrery::drives
