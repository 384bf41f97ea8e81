#include "live/drives/ceph_pool.h"

#include <dlfcn.h>
#include <rados/librados.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/text.h"

namespace orrery::drives {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLibrary = "librados.so.2";
constexpr const char* kMonitorSeconds = "5";
constexpr const char* kDiskSeconds = "10";
// After this many seconds without an answer the library asks the monitors where the disk is now.
// Its default of ten seconds would never expire before our own time limit, so it would keep asking
// a disk that has moved to another address.
constexpr const char* kLookAgainSeconds = "2";
constexpr const char* kTickSeconds = "1";
constexpr std::chrono::seconds kSpaceAge{10};  // a monitor is asked at most this often
constexpr std::size_t kUnitBytes = 4096;

// The functions of the library that are used, under their own names.
struct Calls {
  decltype(&rados_create2) create2 = nullptr;
  decltype(&rados_conf_read_file) conf_read_file = nullptr;
  decltype(&rados_conf_set) conf_set = nullptr;
  decltype(&rados_connect) connect = nullptr;
  decltype(&rados_shutdown) shutdown = nullptr;
  decltype(&rados_ioctx_create) ioctx_create = nullptr;
  decltype(&rados_ioctx_destroy) ioctx_destroy = nullptr;
  decltype(&rados_ioctx_set_namespace) ioctx_set_namespace = nullptr;
  decltype(&rados_set_pool_full_try) set_pool_full_try = nullptr;
  decltype(&rados_ioctx_pool_required_alignment2) required_alignment = nullptr;
  decltype(&rados_create_write_op) create_write_op = nullptr;
  decltype(&rados_release_write_op) release_write_op = nullptr;
  decltype(&rados_write_op_create) write_op_create = nullptr;
  decltype(&rados_write_op_assert_exists) write_op_assert_exists = nullptr;
  decltype(&rados_write_op_append) write_op_append = nullptr;
  decltype(&rados_aio_create_completion2) aio_create_completion = nullptr;
  decltype(&rados_aio_write_op_operate) aio_write_op_operate = nullptr;
  decltype(&rados_aio_wait_for_complete) aio_wait_for_complete = nullptr;
  decltype(&rados_aio_get_return_value) aio_get_return_value = nullptr;
  decltype(&rados_aio_release) aio_release = nullptr;
  decltype(&rados_read) read = nullptr;
  decltype(&rados_stat) stat = nullptr;
  decltype(&rados_remove) remove = nullptr;
  decltype(&rados_nobjects_list_open) list_open = nullptr;
  decltype(&rados_nobjects_list_next) list_next = nullptr;
  decltype(&rados_nobjects_list_close) list_close = nullptr;
  decltype(&rados_mon_command) mon_command = nullptr;
  decltype(&rados_buffer_free) buffer_free = nullptr;
};

template <class Function>
bool bind(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(::dlsym(library, name));
  return to != nullptr;
}

bool bind_all(void* lib, Calls& to) {
  return bind(lib, "rados_create2", to.create2) &&
         bind(lib, "rados_conf_read_file", to.conf_read_file) &&
         bind(lib, "rados_conf_set", to.conf_set) && bind(lib, "rados_connect", to.connect) &&
         bind(lib, "rados_shutdown", to.shutdown) &&
         bind(lib, "rados_ioctx_create", to.ioctx_create) &&
         bind(lib, "rados_ioctx_destroy", to.ioctx_destroy) &&
         bind(lib, "rados_ioctx_set_namespace", to.ioctx_set_namespace) &&
         bind(lib, "rados_set_pool_full_try", to.set_pool_full_try) &&
         bind(lib, "rados_ioctx_pool_required_alignment2", to.required_alignment) &&
         bind(lib, "rados_create_write_op", to.create_write_op) &&
         bind(lib, "rados_release_write_op", to.release_write_op) &&
         bind(lib, "rados_write_op_create", to.write_op_create) &&
         bind(lib, "rados_write_op_assert_exists", to.write_op_assert_exists) &&
         bind(lib, "rados_write_op_append", to.write_op_append) &&
         bind(lib, "rados_aio_create_completion2", to.aio_create_completion) &&
         bind(lib, "rados_aio_write_op_operate", to.aio_write_op_operate) &&
         bind(lib, "rados_aio_wait_for_complete", to.aio_wait_for_complete) &&
         bind(lib, "rados_aio_get_return_value", to.aio_get_return_value) &&
         bind(lib, "rados_aio_release", to.aio_release) && bind(lib, "rados_read", to.read) &&
         bind(lib, "rados_stat", to.stat) && bind(lib, "rados_remove", to.remove) &&
         bind(lib, "rados_nobjects_list_open", to.list_open) &&
         bind(lib, "rados_nobjects_list_next", to.list_next) &&
         bind(lib, "rados_nobjects_list_close", to.list_close) &&
         bind(lib, "rados_mon_command", to.mon_command) &&
         bind(lib, "rados_buffer_free", to.buffer_free);
}

// Loaded once and never unloaded, because its threads may briefly outlive the last pool.
Said<Calls> librados() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return pool_error(PoolFault::refused,
                      std::string(kLibrary) + " is not installed (Debian: librados2)");
  }
  Calls calls;
  if (bind_all(library, calls)) return calls;
  return pool_error(PoolFault::refused, std::string(kLibrary) + " is too old");
}

PoolError error_of(const std::string& what, int code) {
  const int error = -code;
  const PoolFault kind =
      error == ENOENT                                                 ? PoolFault::absent
      : error == EEXIST                                               ? PoolFault::taken
      : error == ENOSPC || error == EDQUOT                            ? PoolFault::full
      : error == EPERM || error == EACCES || error == EOPNOTSUPP      ? PoolFault::refused
      : error == ETIMEDOUT || error == ENOTCONN || error == ESHUTDOWN ? PoolFault::silent
                                                                      : PoolFault::broken;
  return {kind, what + ": " + std::strerror(error)};
}

// A connection to the cluster and its view of the pool.
class Session {
 public:
  static Said<std::shared_ptr<Session>> open(const PoolPlace& place) {
    auto calls = librados();
    if (!calls) return std::unexpected(calls.error());
    std::shared_ptr<Session> made(new Session(*calls));
    if (auto good = made->connect(place); !good) return std::unexpected(good.error());
    return made;
  }
  ~Session() {
    if (io != nullptr) call.ioctx_destroy(io);
    if (cluster_ != nullptr) call.shutdown(cluster_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Returns what the monitors report about the pool; zeros if they have no counts for it yet.
  Said<PoolSpace> space(const std::string& pool) const {
    const char* command = R"({"prefix":"df","format":"json"})";
    char* text = nullptr;
    std::size_t length = 0;
    const int code =
        call.mon_command(cluster_, &command, 1, "", 0, &text, &length, nullptr, nullptr);
    if (code < 0) return std::unexpected(error_of("df", code));
    const std::string said(text, length);
    call.buffer_free(text);
    const auto json = nlohmann::json::parse(said, nullptr, false);
    if (json.is_discarded() || !json.contains("pools")) return PoolSpace{};
    for (const auto& entry : json["pools"]) {
      if (entry.value("name", "") != pool || !entry.contains("stats")) continue;
      const auto left = entry["stats"].value("max_avail", std::uint64_t{0});
      return PoolSpace{left + entry["stats"].value("stored", std::uint64_t{0}), left};
    }
    return PoolSpace{};
  }

  Calls call;
  rados_ioctx_t io = nullptr;

 private:
  explicit Session(const Calls& calls) : call(calls) {}

  Said<void> connect(const PoolPlace& place) {
    rados_t made = nullptr;
    if (const int code = call.create2(&made, "ceph", place.user.c_str(), 0); code < 0) {
      return std::unexpected(error_of("librados", code));
    }
    cluster_ = made;
    if (call.conf_read_file(made, place.conf.c_str()) < 0) {
      return pool_error(PoolFault::refused, "cannot read the configuration " + place.conf);
    }
    if (!place.keyring.empty()) call.conf_set(made, "keyring", place.keyring.c_str());
    call.conf_set(made, "client_mount_timeout", kMonitorSeconds);
    call.conf_set(made, "rados_mon_op_timeout", kMonitorSeconds);
    call.conf_set(made, "rados_osd_op_timeout", kDiskSeconds);
    call.conf_set(made, "objecter_timeout", kLookAgainSeconds);
    call.conf_set(made, "objecter_tick_interval", kTickSeconds);
    if (const int code = call.connect(made); code < 0) {
      PoolError error = error_of("cannot connect as " + place.user, code);
      // ENOENT means that the keyring is missing, EINVAL that the user is: neither is a silence.
      if (error.kind != PoolFault::silent) error.kind = PoolFault::refused;
      return std::unexpected(std::move(error));
    }
    if (const int code = call.ioctx_create(made, place.pool.c_str(), &io); code < 0) {
      PoolError error = error_of("the pool " + place.pool, code);
      if (error.kind != PoolFault::silent) error.kind = PoolFault::refused;
      return std::unexpected(std::move(error));
    }
    call.ioctx_set_namespace(io, place.space.c_str());
    call.set_pool_full_try(io);
    return {};
  }

  rados_t cluster_ = nullptr;
};
using Connected = std::shared_ptr<Session>;

class CephAppend final : public Append {
 public:
  CephAppend(Connected to, const std::string& object, std::string_view bytes, bool fresh)
      : to_(std::move(to)), object_(object) {
    const Calls& call = to_->call;
    code_ = call.aio_create_completion(nullptr, nullptr, &done_);
    if (code_ < 0) return;
    rados_write_op_t what = call.create_write_op();
    if (fresh) {
      call.write_op_create(what, LIBRADOS_CREATE_EXCLUSIVE, nullptr);
    } else {
      call.write_op_assert_exists(what);
    }
    if (!bytes.empty()) call.write_op_append(what, bytes.data(), bytes.size());
    code_ = call.aio_write_op_operate(what, to_->io, done_, object.c_str(), nullptr, 0);
    call.release_write_op(what);
  }
  ~CephAppend() override {
    if (done_ != nullptr) to_->call.aio_release(done_);
  }
  CephAppend(const CephAppend&) = delete;
  CephAppend& operator=(const CephAppend&) = delete;

  Said<void> wait() override {
    if (code_ >= 0) {
      to_->call.aio_wait_for_complete(done_);
      code_ = to_->call.aio_get_return_value(done_);
    }
    if (code_ < 0) return std::unexpected(error_of("cannot append to " + object_, code_));
    return {};
  }

 private:
  Connected to_;
  std::string object_;
  rados_completion_t done_ = nullptr;
  int code_ = 0;
};

// An append that was never sent.
class FailedAppend final : public Append {
 public:
  explicit FailedAppend(PoolError why) : why_(std::move(why)) {}
  Said<void> wait() override { return std::unexpected(why_); }

 private:
  PoolError why_;
};

class CephPool final : public Pool {
 public:
  explicit CephPool(PoolPlace place) : place_(std::move(place)) {}

  std::unique_ptr<Append> append(const std::string& object, std::string_view bytes,
                                 bool fresh) override {
    auto to = session();
    if (!to) return std::make_unique<FailedAppend>(to.error());
    return std::make_unique<CephAppend>(std::move(*to), object, bytes, fresh);
  }

  Said<std::size_t> append_unit() override {
    const auto to = session();
    if (!to) return std::unexpected(to.error());
    std::uint64_t unit = 0;  // 0 if the pool keeps copies; then the block size of a disk is used
    const int code = (*to)->call.required_alignment((*to)->io, &unit);
    if (code < 0) return std::unexpected(error_of("the pool " + place_.pool, code));
    return std::max<std::size_t>(unit, kUnitBytes);
  }

  Said<std::string> read(const std::string& object, std::uint64_t offset,
                         std::size_t count) override {
    const auto to = session();
    if (!to) return std::unexpected(to.error());
    std::string bytes(count, '\0');
    const int got = (*to)->call.read((*to)->io, object.c_str(), bytes.data(), bytes.size(), offset);
    if (got < 0) return std::unexpected(error_of("cannot read " + object, got));
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }

  Said<std::uint64_t> size(const std::string& object) override {
    const auto to = session();
    if (!to) return std::unexpected(to.error());
    std::uint64_t bytes = 0;
    std::time_t when = 0;
    const int code = (*to)->call.stat((*to)->io, object.c_str(), &bytes, &when);
    if (code < 0) return std::unexpected(error_of("cannot read the size of " + object, code));
    return bytes;
  }

  Said<void> remove(const std::string& object) override {
    const auto to = session();
    if (!to) return std::unexpected(to.error());
    const int code = (*to)->call.remove((*to)->io, object.c_str());
    if (code < 0) return std::unexpected(error_of("cannot remove " + object, code));
    return {};
  }

  Said<std::vector<std::string>> list() override {
    const auto to = session();
    if (!to) return std::unexpected(to.error());
    const Calls& call = (*to)->call;
    rados_list_ctx_t walk = nullptr;
    if (const int code = call.list_open((*to)->io, &walk); code < 0) {
      return std::unexpected(error_of("cannot list the pool " + place_.pool, code));
    }
    std::vector<std::string> names;
    const char* name = nullptr;
    int code = 0;
    while ((code = call.list_next(walk, &name, nullptr, nullptr)) >= 0) names.emplace_back(name);
    call.list_close(walk);
    if (code == -ENOENT) return names;
    return std::unexpected(error_of("cannot list the pool " + place_.pool, code));
  }

  Said<PoolSpace> space() override {
    const auto to = session();
    if (!to) return std::unexpected(to.error());
    const std::scoped_lock lock(space_mutex_);
    if (spaced_ && Clock::now() - spaced_at_ < kSpaceAge) return *spaced_;
    auto found = (*to)->space(place_.pool);
    if (!found) return found;
    spaced_ = *found;
    spaced_at_ = Clock::now();
    return found;
  }

 private:
  Said<Connected> session() {
    {
      const std::scoped_lock lock(mutex_);
      if (ready_) return ready_;
      if (connecting_) {
        return pool_error(PoolFault::silent, "still connecting to the cluster");
      }
      connecting_ = true;
    }
    auto made = Session::open(place_);
    const std::scoped_lock lock(mutex_);
    connecting_ = false;
    if (made) ready_ = *made;
    return made;
  }

  PoolPlace place_;
  std::mutex mutex_;
  bool connecting_ = false;
  Connected ready_;
  std::mutex space_mutex_;
  std::optional<PoolSpace> spaced_;
  Clock::time_point spaced_at_ = {};
};

std::unexpected<Diagnostics> place_error(const std::string& text, const std::string& what) {
  return fail({.code = "store.rados",
               .place = {text},
               .what = what,
               .why = {},
               .fix = "write rados:POOL/NAMESPACE[?conf=FILE][&user=NAME][&keyring=FILE]"});
}

bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](const char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

bool is_pool_place(std::string_view text) { return text.starts_with("rados:"); }

Result<PoolPlace> pool_place_of(const std::string& text) {
  const std::string bare = text.substr(0, text.find('?'));
  const auto slash = bare.find('/');
  if (!is_pool_place(bare) || slash == bare.npos) {
    return place_error(text, "this is not a namespace of a RADOS pool");
  }
  const auto colon = bare.find(':');
  PoolPlace place{.pool = bare.substr(colon + 1, slash - colon - 1),
                  .space = bare.substr(slash + 1)};
  if (!is_plain(place.pool) || !is_plain(place.space)) {
    return place_error(text,
                       "the names of a pool and a namespace consist of letters, digits, '-', '_' "
                       "and '.'");
  }
  if (bare.size() == text.size()) return place;
  for (const std::string_view word : split(std::string_view(text).substr(bare.size() + 1), '&')) {
    const auto equals = word.find('=');
    const std::string key(word.substr(0, equals));
    const std::string value(equals == word.npos ? "" : word.substr(equals + 1));
    if (key == "conf" && value.starts_with('/')) {
      place.conf = value;
    } else if (key == "keyring" && value.starts_with('/')) {
      place.keyring = value;
    } else if (key == "user" && is_plain(value)) {
      place.user = value.starts_with("client.") ? value : "client." + value;
    } else {
      return place_error(text, "'" + std::string(word) + "' is not a known option");
    }
  }
  return place;
}

std::unique_ptr<Pool> open_ceph_pool(const PoolPlace& place) {
  return std::make_unique<CephPool>(place);
}

}  // namespace orrery::drives
