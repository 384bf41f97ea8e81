// A Ceph cluster of a test's own: a monitor, a manager and disks in files, on loopback, gone with
// the test. Skips its caller where Debian's packages are not installed (ceph-mon, ceph-mgr,
// ceph-osd, ceph-common).
//
// One replica and no redundancy: what is tried is what a client hears and what outlives a crash.
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
  // A pool, and a user who may write to one namespace of it; his keyring.
  bool make_pool(const std::string& pool);
  // ... with a code of 2+1 over disks, whose stripes are no power of two.
  bool make_code_pool(const std::string& pool);
  std::string make_user(const std::string& user, const std::string& pool, const std::string& space);
  bool run(const std::string& command) const;  // of Ceph's, with its configuration

  void signal_disk(int signal);  // SIGSTOP, SIGCONT: the first
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
