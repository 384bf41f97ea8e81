// A Ceph cluster for one test: a monitor, a manager and disks in files, on loopback, removed after
// the test. If Debian's packages are not installed (ceph-mon, ceph-mgr, ceph-osd, ceph-common), the
// calling test is skipped.
//
// One replica and no redundancy, because the tests are about what a client sees and what survives a
// crash.
#pragma once

#include <sys/types.h>

#include <string>

namespace orrery {

class CephCluster {
 public:
  explicit CephCluster(const std::string& folder, int disks = 1);
  ~CephCluster();
  CephCluster(const CephCluster&) = delete;
  CephCluster& operator=(const CephCluster&) = delete;

  static bool is_installed();
  bool runs() const { return runs_; }
  std::string conf() const { return folder_ + "/ceph.conf"; }
  // A pool, and a user with a keyring who may write to one namespace of it.
  bool make_pool(const std::string& pool);
  // A pool with an erasure code of 2+1 over disks, whose stripes are not a power of two.
  bool make_code_pool(const std::string& pool);
  std::string make_user(const std::string& user, const std::string& pool, const std::string& space);
  bool run(const std::string& command) const;  // runs a Ceph program with this cluster's
                                               // configuration

  void signal_disk(int signal);  // sends SIGSTOP or SIGCONT to the first disk
  bool crash_and_restart_disk();

 private:
  bool make();
  bool make_disk(int number);
  bool start_disk(int number);
  pid_t pid_of(const std::string& program) const;

  std::string folder_;
  int disks_;
  bool runs_ = false;
};

}  // namespace orrery
