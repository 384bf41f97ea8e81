#include "ceph_cluster.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "live/net/test_socket.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFsid = "5f1d2c3a-8b7e-4d60-9c1a-2e3f4a5b6c7d";
// followed by the number of the disk
constexpr const char* kDiskUuid = "0a1b2c3d-4e5f-4061-8273-8495a6b7c8d";

std::string conf_text(const std::string& folder, int port) {
  return fmt::format(
      "[global]\n"
      "fsid = {1}\n"
      "mon host = v2:127.0.0.1:{2}\n"
      "public addr = 127.0.0.1\n"
      "cluster addr = 127.0.0.1\n"
      "keyring = {0}/keyring\n"
      "mon data = {0}/mon\n"
      "mgr data = {0}/mgr\n"
      "osd data = {0}/osd/$id\n"
      "run dir = {0}/run\n"
      "log file = {0}/log/$name.log\n"
      "admin socket = {0}/run/$name.$pid.asok\n"
      "pid file = {0}/run/$name.pid\n"
      "ms bind msgr1 = false\n"
      "mon allow pool size one = true\n"
      "mon allow pool delete = true\n"
      "mon pg warn min per osd = 0\n"
      "osd pool default size = 1\n"
      "osd pool default min size = 1\n"
      "osd pool default pg num = 8\n"
      "osd pool default pg autoscale mode = off\n"
      "osd crush chooseleaf type = 0\n"
      "osd objectstore = bluestore\n"
      "osd memory target = 939524096\n"
      "bluestore block create = true\n"
      "bluestore block size = 4294967296\n",
      folder, kFsid, port);
}

}  // namespace

bool CephCluster::is_installed() {
  for (const char* program : {"ceph-mon", "ceph-mgr", "ceph-osd", "ceph", "ceph-authtool"}) {
    if (!fs::exists(std::string("/usr/bin/") + program)) return false;
  }
  return true;
}

CephCluster::CephCluster(const std::string& folder, int disks) : folder_(folder), disks_(disks) {
  if (is_installed()) runs_ = make();
}

CephCluster::~CephCluster() {
  // Disks end before their monitor; otherwise they would wait for it.
  std::vector<std::string> programs;
  for (int i = 0; i < disks_; ++i) programs.push_back(fmt::format("osd.{}", i));
  programs.insert(programs.end(), {"mgr.x", "mon.a"});
  for (const std::string& program : programs) {
    const pid_t pid = pid_of(program);
    if (pid > 1) ::kill(pid, SIGKILL);
  }
}

bool CephCluster::make() {
  for (const char* name : {"mon", "mgr", "osd", "run", "log"}) {
    fs::create_directories(folder_ + '/' + name);
  }
  const int port = net::free_port();
  std::ofstream(conf()) << conf_text(folder_, port);
  const std::string keys = folder_ + "/keyring";
  const auto key = [&](const std::string& name, const std::string& caps) {
    return run(fmt::format("ceph-authtool {} --gen-key -n {} {}", keys, name, caps));
  };
  bool made = run("ceph-authtool --create-keyring " + keys) && key("mon.", "--cap mon 'allow *'") &&
              key("client.admin", "--cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'") &&
              key("mgr.x", "--cap mon 'allow profile mgr' --cap osd 'allow *'");
  for (int i = 0; i < disks_; ++i) {
    const std::string caps = "--cap mon 'allow profile osd' --cap osd 'allow *'";
    made = made && key(fmt::format("osd.{}", i), caps);
  }
  made = made &&
         run(fmt::format("monmaptool --create --fsid {} --addv a '[v2:127.0.0.1:{}]' {}/monmap",
                         kFsid, port, folder_)) &&
         run(fmt::format("ceph-mon --mkfs -i a --monmap {}/monmap --keyring {}", folder_, keys));
  made = made && run("ceph-mon -i a") && run("ceph-mgr -i x");
  for (int i = 0; i < disks_; ++i) made = made && make_disk(i) && start_disk(i);
  return made;
}

bool CephCluster::make_disk(int number) {
  fs::create_directories(fmt::format("{}/osd/{}", folder_, number));
  return run(fmt::format("timeout 60 ceph osd create {}{}", kDiskUuid, number)) &&
         run(fmt::format("ceph-osd -i {0} --mkfs --osd-uuid {1}{0}", number, kDiskUuid));
}

bool CephCluster::start_disk(int number) { return run(fmt::format("ceph-osd -i {}", number)); }

bool CephCluster::run(const std::string& command) const {
  const std::string all =
      fmt::format("CEPH_CONF={} {} >> {}/log/commands 2>&1", conf(), command, folder_);
  return std::system(all.c_str()) == 0;
}

bool CephCluster::make_pool(const std::string& pool) {
  return run("timeout 60 ceph osd pool create " + pool + " 8") &&
         run("timeout 60 ceph osd pool application enable " + pool + " orrery");
}

bool CephCluster::make_code_pool(const std::string& pool) {
  return run("timeout 60 ceph osd erasure-code-profile set code k=2 m=1 crush-failure-domain=osd "
             "stripe_unit=12288") &&
         run("timeout 60 ceph osd pool create " + pool + " 8 8 erasure code");
}

std::string CephCluster::make_user(const std::string& user, const std::string& pool,
                                   const std::string& space) {
  const std::string file = folder_ + '/' + user + ".keyring";
  const bool made = run(fmt::format(
      "timeout 60 ceph auth get-or-create client.{} mon 'allow r' osd 'allow rw pool={} "
      "namespace={}' -o {}",
      user, pool, space, file));
  return made ? file : "";
}

pid_t CephCluster::pid_of(const std::string& program) const {
  pid_t pid = -1;
  std::ifstream(folder_ + "/run/" + program + ".pid") >> pid;
  return pid;
}

void CephCluster::signal_disk(int signal) {
  if (const pid_t pid = pid_of("osd.0"); pid > 1) ::kill(pid, signal);
}

bool CephCluster::crash_and_restart_disk() {
  const pid_t pid = pid_of("osd.0");
  signal_disk(SIGKILL);
  for (int i = 0; i < 100 && ::kill(pid, 0) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return start_disk(0);
}

}  // namespace orrery
