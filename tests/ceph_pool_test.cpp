// The port to a RADOS pool over a simulated librados: its calls to the library, how it handles
// every answer and fault, and that it releases everything it allocated.
#include "live/drives/ceph_pool.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "simulated_librados.h"

namespace orrery::rados {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

SimulatedLibrados& library() {
  void* const loaded = ::dlopen("librados.so.2", RTLD_NOW | RTLD_LOCAL);
  auto* const state = reinterpret_cast<decltype(&orrery_simulated_librados)>(
      loaded == nullptr ? nullptr : ::dlsym(loaded, "orrery_simulated_librados"));
  if (state == nullptr) throw std::runtime_error("the library is not the simulated one");
  return *state();
}

class CephPool : public testing::Test {
 protected:
  CephPool() { ceph = {}; }
  ~CephPool() override {
    pool.reset();
    EXPECT_EQ(ceph.held, 0);
  }

  // Returns the result of a call as text, or how it failed.
  template <class T>
  static std::string fault(const drives::Said<T>& said) {
    return said ? "none" : said.error().what;
  }
  template <class T>
  static drives::PoolFault kind(const drives::Said<T>& said) {
    return said ? drives::PoolFault{-1} : said.error().kind;
  }
  drives::Said<void> append(const std::string& object, std::string_view bytes, bool fresh) {
    return pool->append(object, bytes, fresh)->wait();
  }

  SimulatedLibrados& ceph = library();
  std::unique_ptr<drives::Pool> pool = drives::open_ceph_pool({.pool = "hot", .space = "store-1"});
};

TEST_F(CephPool, ConnectsAtTheFirstCallToTheGivenPlace) {
  EXPECT_THAT(ceph.times, IsEmpty()) << "no call before the first use";
  ASSERT_TRUE(pool->list());
  EXPECT_EQ(ceph.cluster, "ceph");
  EXPECT_EQ(ceph.user, "client.orrery");
  EXPECT_EQ(ceph.conf, "/etc/ceph/ceph.conf");
  EXPECT_EQ(ceph.space, "store-1");
  EXPECT_TRUE(ceph.tries_when_full);
  EXPECT_THAT(ceph.options,
              ElementsAre(Pair("client_mount_timeout", "5"), Pair("objecter_tick_interval", "1"),
                          Pair("objecter_timeout", "2"), Pair("rados_mon_op_timeout", "5"),
                          Pair("rados_osd_op_timeout", "10")));
  ASSERT_TRUE(pool->list());
  EXPECT_EQ(ceph.times["connect"], 1) << "one connection for all calls";
  pool.reset();
  EXPECT_EQ(ceph.times["shutdown"], 1);
  EXPECT_EQ(ceph.times["ioctx_destroy"], 1);
}

TEST_F(CephPool, UsesTheGivenConfigurationUserAndKeyring) {
  pool = drives::open_ceph_pool({.pool = "hot",
                                 .space = "s",
                                 .conf = "/here/c.conf",
                                 .user = "client.me",
                                 .keyring = "/here/keys"});
  ASSERT_TRUE(pool->list());
  EXPECT_EQ(ceph.user, "client.me");
  EXPECT_EQ(ceph.conf, "/here/c.conf");
  EXPECT_EQ(ceph.options["keyring"], "/here/keys");
}

TEST_F(CephPool, ACallThatFindsAnotherConnectingIsSilentAtOnce) {
  std::string heard;
  ceph.connecting = [&] {
    const auto said = pool->size("a");
    heard = fault(said);
    EXPECT_EQ(kind(said), drives::PoolFault::silent);
    EXPECT_EQ(kind(append("a", "x", true)), drives::PoolFault::silent);
  };
  EXPECT_TRUE(pool->list());
  EXPECT_EQ(heard, "still connecting to the cluster");
  EXPECT_EQ(ceph.times["connect"], 1);
}

TEST_F(CephPool, ReconnectsAfterAFailure) {
  ceph.codes["connect"] = -ETIMEDOUT;
  EXPECT_EQ(fault(pool->list()), "cannot connect as client.orrery: Connection timed out");
  EXPECT_EQ(kind(pool->list()), drives::PoolFault::silent);
  EXPECT_EQ(ceph.times["connect"], 2);
  EXPECT_EQ(ceph.held, 0) << "the connection is released";
  for (const int code : {-ENOENT, -EINVAL}) {
    ceph.codes["connect"] = code;
    EXPECT_EQ(kind(pool->list()), drives::PoolFault::refused) << "the keyring or the user does not "
                                                                 "exist";
  }
  ceph.codes.clear();
  EXPECT_TRUE(pool->list());
}

TEST_F(CephPool, ReportsWhichStepOfConnectingFailed) {
  ceph.codes["create2"] = -EINVAL;
  EXPECT_EQ(fault(pool->space()), "librados: Invalid argument");
  EXPECT_EQ(kind(pool->space()), drives::PoolFault::broken);
  ceph.codes = {{"conf_read_file", -ENOENT}};
  EXPECT_EQ(fault(pool->size("a")), "cannot read the configuration /etc/ceph/ceph.conf");
  EXPECT_EQ(kind(pool->size("a")), drives::PoolFault::refused);
  ceph.codes.clear();
  ceph.pool = "cold";
  EXPECT_EQ(fault(pool->remove("a")), "the pool hot: No such file or directory");
  EXPECT_EQ(kind(pool->remove("a")), drives::PoolFault::refused);
  ceph.codes["ioctx_create"] = -ETIMEDOUT;
  EXPECT_EQ(kind(pool->append_unit()), drives::PoolFault::silent);
  EXPECT_EQ(kind(pool->read("a", 0, 1)), drives::PoolFault::silent);
  EXPECT_EQ(kind(append("a", "x", true)), drives::PoolFault::silent);
}

TEST_F(CephPool, MakesAppendsReadsMeasuresListsAndRemoves) {
  ASSERT_TRUE(append("b", "hello ", true));
  ASSERT_TRUE(append("b", "world", false));
  ASSERT_TRUE(append("a", "", true));
  EXPECT_EQ(ceph.times["append"], 2) << "without bytes there is nothing to append";
  EXPECT_THAT(ceph.objects, ElementsAre(Pair("a", ""), Pair("b", "hello world")));
  EXPECT_EQ(pool->read("b", 0, 100).value(), "hello world");
  EXPECT_EQ(pool->read("b", 6, 3).value(), "wor");
  EXPECT_EQ(pool->read("b", 11, 3).value(), "");
  EXPECT_EQ(pool->size("b").value(), 11U);
  EXPECT_EQ(pool->size("a").value(), 0U);
  EXPECT_THAT(pool->list().value(), ElementsAre("a", "b"));
  ASSERT_TRUE(pool->remove("a"));
  EXPECT_THAT(pool->list().value(), ElementsAre("b"));
}

TEST_F(CephPool, AnAppendSaysWhereItFailed) {
  ASSERT_TRUE(append("a", "x", true));
  EXPECT_EQ(fault(append("a", "y", true)), "cannot append to a: File exists");
  EXPECT_EQ(kind(append("a", "y", true)), drives::PoolFault::taken);
  EXPECT_EQ(kind(append("b", "y", false)), drives::PoolFault::absent);
  ceph.codes["complete"] = -ENOSPC;
  EXPECT_EQ(kind(append("a", "y", false)), drives::PoolFault::full);
  ceph.times["wait"] = 0;
  ceph.codes = {{"operate", -ESHUTDOWN}};
  EXPECT_EQ(kind(append("a", "y", false)), drives::PoolFault::silent);
  ceph.codes = {{"create_completion", -ENOMEM}};
  EXPECT_EQ(fault(append("a", "y", false)), "cannot append to a: Cannot allocate memory");
  EXPECT_EQ(ceph.times["wait"], 0) << "an append that was not sent is not waited for";
  EXPECT_EQ(ceph.objects["a"], "x");
}

TEST_F(CephPool, AnAppendIsSentBeforeItIsWaitedFor) {
  const auto one = pool->append("a", "1", true);
  const auto two = pool->append("a", "2", false);
  EXPECT_EQ(ceph.objects["a"], "12");
  EXPECT_EQ(ceph.times["wait"], 0);
  EXPECT_TRUE(one->wait());
  EXPECT_TRUE(two->wait());
  EXPECT_EQ(ceph.times["wait"], 2);
}

TEST_F(CephPool, EveryCodeIsAFaultOfThePort) {
  const std::pair<int, drives::PoolFault> codes[] = {
      {ENOENT, drives::PoolFault::absent},      {EEXIST, drives::PoolFault::taken},
      {ENOSPC, drives::PoolFault::full},        {EDQUOT, drives::PoolFault::full},
      {EPERM, drives::PoolFault::refused},      {EACCES, drives::PoolFault::refused},
      {EOPNOTSUPP, drives::PoolFault::refused}, {ETIMEDOUT, drives::PoolFault::silent},
      {ENOTCONN, drives::PoolFault::silent},    {ESHUTDOWN, drives::PoolFault::silent},
      {EIO, drives::PoolFault::broken},         {EINVAL, drives::PoolFault::broken}};
  for (const auto& [code, fault_of_it] : codes) {
    ceph.codes = {{"read", -code},
                  {"stat", -code},
                  {"remove", -code},
                  {"list_open", -code},
                  {"alignment", -code}};
    EXPECT_EQ(kind(pool->read("a", 0, 1)), fault_of_it) << code;
    EXPECT_EQ(kind(pool->size("a")), fault_of_it) << code;
    EXPECT_EQ(kind(pool->remove("a")), fault_of_it) << code;
    EXPECT_EQ(kind(pool->list()), fault_of_it) << code;
    EXPECT_EQ(kind(pool->append_unit()), fault_of_it) << code;
  }
  ceph.codes = {
      {"read", -EIO}, {"stat", -EIO}, {"remove", -EIO}, {"list_open", -EIO}, {"alignment", -EIO}};
  EXPECT_EQ(fault(pool->read("a", 0, 1)), "cannot read a: Input/output error");
  EXPECT_EQ(fault(pool->size("a")), "cannot read the size of a: Input/output error");
  EXPECT_EQ(fault(pool->remove("a")), "cannot remove a: Input/output error");
  EXPECT_EQ(fault(pool->list()), "cannot list the pool hot: Input/output error");
  EXPECT_EQ(fault(pool->append_unit()), "the pool hot: Input/output error");
}

TEST_F(CephPool, AnInterruptedListingFails) {
  ASSERT_TRUE(append("a", "x", true));
  ceph.codes["list_end"] = -EIO;
  EXPECT_EQ(fault(pool->list()), "cannot list the pool hot: Input/output error");
  ceph.codes["list_end"] = -ETIMEDOUT;
  EXPECT_EQ(kind(pool->list()), drives::PoolFault::silent);
}

// A pool that keeps copies has no unit of its own, so the block size of a disk is used.
TEST_F(CephPool, AppendsInThePoolsUnit) {
  EXPECT_EQ(pool->append_unit().value(), 4096U);
  ceph.alignment = 12288;
  EXPECT_EQ(pool->append_unit().value(), 12288U);
}

TEST_F(CephPool, SpaceIsReportedByTheMonitors) {
  ceph.answer = R"({"pools":[{"name":"cold","stats":{"stored":1,"max_avail":2}},)"
                R"({"name":"hot","stats":{"stored":300,"max_avail":5000}}]})";
  const auto space = pool->space();
  EXPECT_EQ(space->total_bytes, 5300U);
  EXPECT_EQ(space->free_bytes, 5000U);
  EXPECT_THAT(ceph.commands, ElementsAre(R"({"prefix":"df","format":"json"})"));
  ceph.answer = "{}";
  EXPECT_EQ(pool->space()->total_bytes, 5300U) << "the answer is reused for a while";
  EXPECT_EQ(ceph.times["mon_command"], 1);
}

TEST_F(CephPool, SpaceIsUnknownUntilTheMonitorsHaveCounted) {
  for (const char* answer : {"not json", "{}", R"({"pools":[]})", R"({"pools":[{"name":"hot"}]})",
                             R"({"pools":[{"name":"cold","stats":{"max_avail":2}}]})"}) {
    ceph.answer = answer;
    pool = drives::open_ceph_pool({.pool = "hot", .space = "s"});
    const auto space = pool->space();
    ASSERT_TRUE(space) << answer;
    EXPECT_EQ(space->total_bytes + space->free_bytes, 0U) << answer;
  }
}

TEST_F(CephPool, SpaceIsAskedAgainAfterAFault) {
  ceph.codes["mon_command"] = -ETIMEDOUT;
  EXPECT_EQ(fault(pool->space()), "df: Connection timed out");
  ceph.codes.clear();
  ceph.answer = R"({"pools":[{"name":"hot","stats":{"max_avail":7}}]})";
  EXPECT_EQ(pool->space()->total_bytes, 7U);
}

TEST(PoolPlace, IsParsedOrRefusedWithAReason) {
  const auto why = [](const std::string& text) {
    const auto place = drives::pool_place_of(text);
    return place ? "none" : place.error()[0].what;
  };
  EXPECT_EQ(drives::pool_place_of("rados:a.b-c/N_9").value(),
            (drives::PoolPlace{.pool = "a.b-c", .space = "N_9"}));
  EXPECT_EQ(drives::pool_place_of("rados:p/n?user=me&conf=/c&keyring=/k").value(),
            (drives::PoolPlace{
                .pool = "p", .space = "n", .conf = "/c", .user = "client.me", .keyring = "/k"}));
  EXPECT_EQ(why("rados:p"), "this is not a namespace of a RADOS pool");
  EXPECT_EQ(why("s3:p/n"), "this is not a namespace of a RADOS pool");
  for (const char* odd : {"rados:/n", "rados:p/", "rados:p/n/m", "rados:p q/n", "rados:p/n@"}) {
    EXPECT_EQ(why(odd),
              "the names of a pool and a namespace consist of letters, digits, '-', '_' and '.'")
        << odd;
  }
  for (const char* word : {"conf=here", "keyring=k", "user=", "user", "colour=red"}) {
    EXPECT_EQ(why(std::string("rados:p/n?") + word),
              "'" + std::string(word) + "' is not a known option");
  }
  EXPECT_EQ(drives::pool_place_of("rados:p").error()[0].fix,
            "write rados:POOL/NAMESPACE[?conf=FILE][&user=NAME][&keyring=FILE]");
}

}  // namespace
}  // namespace orrery::rados
