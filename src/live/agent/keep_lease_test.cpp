// The lease of a bucket place: one agent at a time, whatever is killed, and whatever the clocks
// say.
#include "live/agent/keep_lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/digest.h"
#include "live/s3/hash.h"

namespace orrery::agent {
namespace {

using testing::HasSubstr;

// A bucket in memory that honours If-None-Match, unless it is told not to.
struct LeaseBucket {
  std::map<std::string, std::string> objects;
  bool ignores_conditions = false;
  bool is_away = false;

  net::Reply answer(const net::Question& q) {
    net::Reply reply;
    reply.status = is_away ? 503 : 200;
    if (is_away) return reply;
    const std::string base = "http://store/pail/";
    const std::string rest = q.url.substr(std::min(q.url.size(), base.size()));
    const std::string key = rest.substr(0, rest.find('?'));
    if (q.method == "PUT") {
      std::string body, piece(4096, '\0');
      while (q.source) {
        const auto got = q.source(body.size(), piece);
        if (!got || *got == 0) break;
        body.append(piece, 0, *got);
      }
      const bool is_new = net::header_of(q.headers, "If-None-Match") == "*";
      if (is_new && !ignores_conditions && objects.contains(key)) {
        reply.status = 412;
        return reply;
      }
      objects[key] = body;
      reply.headers = {{"etag", to_hex(s3::md5(body))}};
    } else if (q.method == "DELETE") {
      objects.erase(key);
    } else if (q.url.find("list-type=2") != q.url.npos) {
      reply.body = "<ListBucketResult>";
      for (const auto& [name, bytes] : objects) {
        reply.body += "<Contents><Key>" + name + "</Key><Size>" + std::to_string(bytes.size()) +
                      "</Size></Contents>";
      }
      reply.body += "</ListBucketResult>";
    } else if (!objects.contains(key)) {
      reply.status = 404;
    } else {
      reply.headers = {{"content-length", std::to_string(objects[key].size())}};
      if (q.take) q.take(reply, objects[key]);
      if (!q.take) reply.body = objects[key];
    }
    return reply;
  }
};

class LeaseTest : public testing::Test {
 protected:
  BucketLease lease(const std::string& id) {
    const auto client = std::make_shared<s3::Client>(
        s3::Config{.endpoint = "http://store",
                   .bucket = "pail",
                   .credentials = {"a", "s", ""},
                   .retry = {.attempts_max = 1},
                   .writer = id},
        [this](const net::Question& q) { return bucket.answer(q); }, [](double) {},
        [] { return std::string("20130524T000000Z"); });
    return {
        client, "run/", {.id = id, .host = "host-" + id, .process = 7, .journal = "/j"}, [this] {
          return up;
        }};
  }
  static std::string code(const Result<void>& held) {
    return held ? "held" : held.error().front().code;
  }

  LeaseBucket bucket;
  Seconds up = seconds(1000);
};

TEST_F(LeaseTest, the_second_agent_is_told_who_the_first_is) {
  BucketLease first = lease("one"), second = lease("two");
  EXPECT_EQ(code(first.hold()), "held");
  const auto held = second.hold();
  EXPECT_EQ(code(held), "lifecycle.lease") << "it may be that of one that was killed";
  EXPECT_THAT(held.error().front().what, HasSubstr("host host-one, process 7, journal /j"));
  // The first lives on: then the second knows.
  up += kLeaseRenew;
  EXPECT_EQ(code(first.hold()), "held");
  EXPECT_EQ(code(second.hold()), "lifecycle.busy");
}

TEST_F(LeaseTest, one_that_was_killed_is_followed_after_a_whole_lease_and_no_earlier) {
  {
    EXPECT_EQ(code(lease("one").hold()), "held");
  }
  BucketLease second = lease("two");
  EXPECT_EQ(code(second.hold()), "lifecycle.lease");
  up += kLeaseLasts - seconds(1);
  EXPECT_EQ(code(second.hold()), "lifecycle.lease");
  up += seconds(1);
  EXPECT_EQ(code(second.hold()), "held");
  // The same journal on the same boot is the same agent, and goes on at once.
  EXPECT_EQ(code(lease("two").hold()), "held");
}

TEST_F(LeaseTest, an_owner_that_was_stopped_for_too_long_has_lost_it) {
  BucketLease first = lease("one"), second = lease("two");
  EXPECT_EQ(code(first.hold()), "held");
  EXPECT_EQ(code(second.hold()), "lifecycle.lease");
  up += kLeaseLasts;
  EXPECT_EQ(code(second.hold()), "held");
  EXPECT_EQ(code(first.hold()), "lifecycle.busy");
  EXPECT_EQ(code(second.hold()), "held");
}

TEST_F(LeaseTest, an_owner_that_cannot_renew_stops_before_another_may_begin) {
  BucketLease first = lease("one");
  EXPECT_EQ(code(first.hold()), "held");
  bucket.is_away = true;
  up += kLeaseRenew;
  EXPECT_EQ(code(first.hold()), "held") << "it is still its own for a while";
  up += kLeaseLasts / 2;
  EXPECT_EQ(code(first.hold()), "lifecycle.bucket");
}

TEST_F(LeaseTest, a_clean_end_leaves_nothing_and_the_next_one_begins_at_once) {
  BucketLease first = lease("one");
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(code(first.hold()), "held");
    up += kLeaseRenew;
  }
  EXPECT_LE(bucket.objects.size(), 6U) << "old numbers are taken away";
  first.release();
  EXPECT_TRUE(bucket.objects.empty());
  EXPECT_EQ(code(lease("two").hold()), "held");
}

TEST_F(LeaseTest, a_store_that_ignores_the_condition_is_found_out) {
  bucket.ignores_conditions = true;
  const auto held = lease("one").hold();
  EXPECT_EQ(code(held), "lifecycle.bucket");
  EXPECT_THAT(held.error().front().what, HasSubstr("If-None-Match"));
}

}  // namespace
}  // namespace orrery::agent
