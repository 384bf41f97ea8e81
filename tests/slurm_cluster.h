// A whole Slurm on this machine, for tests: munge, slurmctld and one slurmd a node, from the files
// that `emit slurm` writes, in a folder and on ports of its own.
//
// Needs Debian's slurmctld, slurmd, munge and root (slurmd starts jobs as their owner); without
// them `missing()` says what is not there and a test skips. Everything that was started is ended by
// its process id when the object goes, also after a failed assertion.
#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/agent/command.h"

namespace orrery::testing_slurm {

struct ClusterOptions {
  int nodes = 8;
  int spares = 0;
  // A design to emit from; empty: `nodes` nodes of eight GPUs, four to a leaf, in fleet `n`.
  std::string design = {};
  bool cloud = false;  // nodes without daemons
  // Lines appended to site.conf, which a site may own: "KillWait=5\n".
  std::string site_lines = {};
  // Lines appended to slurm.conf, which have the last word.
  std::string conf_lines = {};
};

class Cluster {
 public:
  // What this machine lacks for it; empty: nothing.
  static std::string missing();
  // Returns when every node is idle (spares: drained), or says what went wrong.
  static std::expected<std::unique_ptr<Cluster>, std::string> start(const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& dir() const { return dir_; }  // the folder of all of it
  std::string conf() const { return dir_ + "/conf/slurm.conf"; }
  const std::vector<std::string>& nodes() const { return nodes_; }

  // Runs a Slurm client program against this cluster (SLURM_CONF is set): {"squeue", "-h"}.
  agent::CommandResult run(const std::vector<std::string>& words, double timeout_s = 30) const;
  // Its standard output without the last newline; a failure is put in the text.
  std::string ask(const std::vector<std::string>& words) const;
  // Polls `ask(words)` until it equals or, with `part`, contains the text.
  bool wait_for(const std::vector<std::string>& words, const std::string& text, double seconds,
                bool part = false) const;

  void start_node(const std::string& node);
  void kill_node(const std::string& node);  // SIGKILL to its slurmd
  bool node_runs(const std::string& node) const;

  void kill_controller();   // SIGKILL to slurmctld; gone when it returns
  bool start_controller();  // with the state that the last one saved; true once it answers

  std::string log() const;  // slurmctld's
  std::string node_log(const std::string& node) const;
  // Lines of all logs that warn or complain, without those about the machine rather than the files:
  // a first start finds no saved state, a PMIx library may not be installed.
  std::vector<std::string> complaints() const;

 private:
  Cluster() = default;
  std::expected<void, std::string> set_up(const ClusterOptions& options);
  std::expected<void, std::string> start_munge();
  std::expected<void, std::string> start_daemons(const ClusterOptions& options);
  std::expected<void, std::string> write_files(const ClusterOptions& options);
  void make_devices();
  void stop();

  std::string dir_;
  std::vector<std::string> nodes_;
  int spares_ = 0;
  int port_ = 0;
};

// The text of a file; what was read so far where a process of /proc ends meanwhile (a stream
// throws there).
std::string read_text(const std::filesystem::path& path);

}  // namespace orrery::testing_slurm
