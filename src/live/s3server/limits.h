// How much one client may ask for: so many requests a second, so many at once.
//
// A client is a tenant, or for strangers an address. Requests a second are a bucket of tokens that
// holds two seconds' worth, so that bursts pass; one too many is told to slow down (503), which
// S3's clients understand. "At once" is what keeps one tenant from taking every handler: the others
// always find one free.
#pragma once

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

}  // namespace orrery::s3server
