// Limits of one client: requests per second, requests at a time, and bytes kept.
//
// A client is a tenant, or an address if it is anonymous. Requests per second are a bucket of
// tokens that holds two seconds' worth, so that bursts pass; a request too many gets 503 SlowDown,
// which S3 clients understand. The limit of requests at a time keeps one tenant from taking every
// handler.
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

  // Counts as one request while it lives.
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
  // Returns null if there are too many.
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

// Bytes that uploads in progress will add to what a tenant keeps. They are reserved as soon as
// their length is announced, so that concurrent uploads cannot exceed the quota together, and
// released once they are counted or the upload has failed.
class QuotaBook {
 public:
  struct Ask {
    std::string tenant;
    std::uint64_t quota = 0;
    // Returns what the tenant keeps now, without reservations. Called while no reservation changes.
    std::function<Answer<std::uint64_t>()> used;
  };

 private:
  struct Account {
    std::mutex mutex;
    std::uint64_t held = 0;
  };

 public:
  // A reservation, released when it is destroyed.
  class Hold {
   public:
    Hold(Account& account, Ask ask) : account_(account), ask_(std::move(ask)) {}
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Raises the reservation to `bytes` in all; QuotaExceeded if there is no room.
    Answer<void> extend_to(std::uint64_t bytes);

   private:
    Account& account_;
    Ask ask_;
    std::uint64_t bytes_ = 0;
  };
  Answer<std::unique_ptr<Hold>> hold(Ask ask, std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::string, Account> accounts_;  // by tenant; one stays where it is
};

}  // namespace orrery::s3server
