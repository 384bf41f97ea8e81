// A small object store on loopback that fails on demand, for tests of the S3 client.
//
// It keeps objects in memory and answers PUT, GET (whole and range), HEAD, DELETE, list and the
// steps of a multipart upload, with ETags like those of S3. It checks every request's payload
// digest and Content-MD5, and computes its signature from what arrived. Each injected fault is used
// by the next request with a matching method.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "live/net/test_socket.h"
#include "live/s3/sigv4.h"

namespace orrery {

enum class StoreFault {
  drop_before,      // the connection closes, and nothing was done
  drop_after,       // the request is carried out, then the connection closes without an answer
  internal_error,   // 500, and nothing was done
  error_after,      // the request is carried out, then 500
  slow_down,        // 503 SlowDown, and nothing was done
  reset_upload,     // the connection is reset while the request's body is being sent
  truncated,        // half of the announced body
  reset_body,       // half of the body, then a reset
  stall,            // half of the body, then silence
  slow,             // the whole body, piece by piece
  wrong_bytes,      // a flipped bit in the body
  wrong_etag,       // stored, but with another ETag
  error_in_success  // 200 with an error document, and nothing was done
};

class S3FaultServer {
 public:
  S3FaultServer();
  ~S3FaultServer();
  S3FaultServer(const S3FaultServer&) = delete;
  S3FaultServer& operator=(const S3FaultServer&) = delete;

  std::string endpoint() const;
  static s3::Credentials credentials();

  // An empty `method` matches any request.
  void inject(StoreFault fault, int times = 1, const std::string& method = "");
  int faults_left() const;
  int requests() const;
  int conditional_writes() const;  // conditional writes that stored something
  std::optional<std::string> object(const std::string& key) const;
  std::size_t objects() const;
  std::size_t open_uploads() const;
  void ignore_conditions();  // as stores without conditional writes do

 private:
  struct Request {
    std::string method;
    std::string path;  // encoded, as it was sent
    std::string key;
    net::HeaderList query;
    std::map<std::string, std::string> headers;
    std::string body;
  };
  struct Reply {
    int status = 200;
    std::string body;
    net::HeaderList headers = {};
  };
  struct Object {
    std::string bytes;
    std::string etag;
    net::HeaderList metadata;
  };
  struct Pending {
    StoreFault fault;
    std::string method;
  };
  struct Parts {
    net::HeaderList metadata;
    std::map<int, std::string> bytes;
  };

  void accept_all();
  void serve(net::TestSocket& socket);
  std::optional<Request> read_request(net::TestSocket& socket, std::string& buffer);
  bool answer(net::TestSocket& socket, const Request& request);
  bool send_body(net::TestSocket& socket, std::string_view body, std::optional<StoreFault> fault);
  bool takes_reset(const Request& request);
  std::optional<StoreFault> fault_for(const Request& request);
  bool signature_holds(const Request& request) const;
  Reply act(const Request& request);
  Reply put(const Request& request);
  Reply get(const Request& request) const;
  Reply list(const Request& request) const;
  Reply complete(const Request& request, const std::string& upload);

  net::TestListener listener_;
  std::atomic<bool> ending_ = false;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::vector<std::thread> workers_;
  std::list<net::TestSocket> sockets_;
  std::deque<Pending> faults_;
  std::map<std::string, Object> objects_;
  std::map<std::string, Parts> uploads_;
  int upload_count_ = 0;
  int requests_ = 0;
  int conditional_writes_ = 0;
  bool conditions_ = true;
};

}  // namespace orrery
