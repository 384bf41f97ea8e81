// For tests of the client: an object store that is a list of replies. It records the requests, and
// how long the client slept between attempts.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"
#include "live/s3/receiver.h"

namespace orrery::s3 {

class ScriptedStore : public testing::Test {
 protected:
  struct Sent {
    std::string method;
    std::string url;
    HeaderList headers;
    std::string body;
    bool once = false;
  };

  Client client(RetryPolicy retry = {.attempts_max = 3, .base_s = 1, .cap_s = 8},
                std::string token = {}) {
    return Client(
        {.endpoint = "https://store.example:9000/",
         .bucket = "pail",
         .region = "eu-west-1",
         .credentials = {"AK", "secret", std::move(token)},
         .retry = retry,
         .writer = "me"},
        [this](const net::Question& q) { return answer(q); },
        [this](double seconds) { slept.push_back(seconds); },
        [] { return std::string("20130524T000000Z"); });
  }
  // Makes at most this many attempts.
  Client client(int attempts) {
    return client(RetryPolicy{.attempts_max = attempts, .base_s = 1, .cap_s = 8});
  }

  static net::Reply plain(int status, HeaderList headers = {}, std::string body = {}) {
    net::Reply reply;
    reply.status = status;
    reply.headers = std::move(headers);
    reply.body = std::move(body);
    return reply;
  }
  static net::Reply error(int status, const std::string& code) {
    return plain(status, {}, "<Error><Code>" + code + "</Code><Message>words</Message></Error>");
  }
  static net::Reply lost() {
    net::Reply reply;
    reply.fault = net::NetFault::broken;
    reply.fault_text = "cut off";
    return reply;
  }
  static net::Reply stored(std::string_view bytes) {
    return plain(200, {{"etag", '"' + to_hex(md5(bytes)) + '"'}});
  }
  // Returns the answer to a HEAD of an object that `writer` wrote.
  static net::Reply own_head(std::string_view bytes, const std::string& writer = "me") {
    return plain(200, {{"content-length", std::to_string(bytes.size())},
                       {std::string(kCrcHeader), crc_text(crc32c(bytes))},
                       {std::string(kWriterHeader), writer}});
  }
  static net::Reply upload_begun() {
    return plain(
        200, {},
        "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
  }
  static net::Reply upload_done() { return plain(200, {}, "<CompleteMultipartUploadResult/>"); }

  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const Sent& one : sent) all.push_back(one.method);
    return all;
  }

  std::deque<net::Reply> replies;  // used in order; 500 when none are left
  std::vector<std::string> pieces =
      {};             // pieces in which each 2xx body is streamed; empty: the whole body at once
  bool taken = true;  // false once a piece has been refused
  std::vector<Sent> sent;
  std::vector<double> slept;

 private:
  net::Reply answer(const net::Question& q) {
    std::string body;
    if (q.source) {
      std::string piece(64 << 10, '\0');
      while (const auto got = q.source(body.size(), piece)) {
        if (*got == 0) break;
        body.append(piece, 0, *got);
      }
    }
    sent.push_back({q.method, q.url, q.headers, body, q.once});
    net::Reply reply = replies.empty() ? plain(500) : replies.front();
    if (!replies.empty()) replies.pop_front();
    if (q.take && reply.status / 100 == 2) {
      if (pieces.empty() && !reply.body.empty()) taken = q.take(reply, reply.body) && taken;
      for (const std::string& piece : pieces) taken = taken && q.take(reply, piece);
      reply.body.clear();
    }
    return reply;
  }
};

}  // namespace orrery::s3
