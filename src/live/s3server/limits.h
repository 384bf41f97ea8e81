// Limits per client: requests per second, concurrent requests, and stored bytes.
//
// A client is a tenant, or an address if it is anonymous. Requests per second are limited by a
// token bucket that holds two seconds' worth, so that bursts pass. A request above the limit gets
// 503 SlowDown, which S3 clients understand. The limit on concurrent requests keeps one tenant from
// occupying every handler.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "live/s3server/names.h"

namespace orrery::s3server {

struct ClientLimit {
  double requests_per_s = 0;  // 0: no limit
  int at_once = 0;            // 0: no limit
};

class ClientLimits {
 public:
  explicit ClientLimits(const ClientLimit& limit) : limit_(limit) {}

  // Counts as one concurrent request during its lifetime.
  class Turn {
   public:
    Turn(ClientLimits& of, std::string client) : of_(of), client_(std::move(client)) {}
    ~Turn() { of_.leave(client_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ClientLimits& of_;
    std::string client_;
  };
  // Returns null if there are too many requests.
  std::unique_ptr<Turn> enter(const std::string& client, TimeMs now);

 private:
  struct Account {
    double tokens = 0;
    TimeMs filled_ms = 0;
    int under_way = 0;
  };
  void leave(const std::string& client);
  void forget_idle(TimeMs now);

  ClientLimit limit_;
  std::mutex mutex_;
  std::map<std::string, Account> accounts_;
};

// Bytes that uploads in progress will add to a tenant's stored bytes. They are reserved as soon as
// their length is announced, so that concurrent uploads cannot exceed the quota together, and
// released once they are counted or the upload has failed.
class QuotaBook {
 public:
  struct Ask {
    std::string tenant;
    std::uint64_t quota = 0;
    // Returns the bytes that the tenant has stored now, without reservations. Called while no
    // reservation changes.
    std::function<Answer<std::uint64_t>()> used;
  };

 private:
  struct Account {
    std::mutex mutex;
    std::uint64_t held = 0;
  };

 public:
  // A reservation; its destruction releases it.
  class Hold {
   public:
    Hold(Account& account, Ask ask) : account_(account), ask_(std::move(ask)) {}
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Raises the reservation to `bytes` in total; fails with QuotaExceeded if that exceeds the
    // quota.
    Answer<void> extend_to(std::uint64_t bytes);

   private:
    Account& account_;
    Ask ask_;
    std::uint64_t bytes_ = 0;
  };
  Answer<std::unique_ptr<Hold>> hold(Ask ask, std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::string, Account> accounts_;  // by tenant; the address of an entry never changes
};

}  // namespace orrery::s3server
