// How much one client may ask for: so many requests a second, so many at once, so many bytes kept.
//
// A client is a tenant, or for strangers an address. Requests a second are a bucket of tokens that
// holds two seconds' worth, so that bursts pass; one too many is told to slow down (503), which
// S3's clients understand. "At once" is what keeps one tenant from taking every handler: the others
// always find one free.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "live/s3server/names.h"

namespace orrery::s3server {

struct ClientLimit {
  double requests_per_s = 0;  // 0: any number
  int at_once = 0;            // 0: any number
};

class ClientLimits {
 public:
  explicit ClientLimits(const ClientLimit& limit) : limit_(limit) {}

  // Counts a request for as long as it lives.
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
  // Null: too many.
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

// The bytes that uploads under way will add to what a tenant keeps. They are held from the moment
// their length is announced, so that uploads at the same time cannot pass the quota together, and
// given back once they are counted or the upload has failed.
class QuotaBook {
 public:
  struct Ask {
    std::string tenant;
    std::uint64_t quota = 0;
    // What the tenant keeps now, without what is held. Asked while nobody else holds or gives back.
    std::function<Answer<std::uint64_t>()> used;
  };

 private:
  struct Account {
    std::mutex mutex;
    std::uint64_t held = 0;
  };

 public:
  // Gives back what it holds when it ends.
  class Hold {
   public:
    Hold(Account& account, Ask ask) : account_(account), ask_(std::move(ask)) {}
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Holds so many bytes in all; QuotaExceeded where there is no room for them.
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
