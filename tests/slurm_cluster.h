// A whole Slurm on this machine, for tests: munge, slurmctld and one slurmd per node, from the
// files that `emit slurm` writes, in its own folder and on its own ports.
//
// Needs Debian's slurmctld, slurmd and munge, and root (slurmd starts jobs as their owner). Without
// them `missing()` says what is missing and a test is skipped. The destructor ends everything that
// was started, by its process id, also after a failed assertion.
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
  // The design to emit from; if empty, `nodes` nodes of eight GPUs, four per leaf, in fleet `n`.
  std::string design = {};
  bool cloud = false;  // nodes without daemons
  // Lines appended to site.conf, which belongs to the site: "KillWait=5\n".
  std::string site_lines = {};
  // Lines appended to slurm.conf, which override everything else.
  std::string conf_lines = {};
};

class Cluster {
 public:
  // Returns what this machine lacks; empty if nothing.
  static std::string missing();
  // Returns when every node is idle (spares: drained), or returns what went wrong.
  static std::expected<std::unique_ptr<Cluster>, std::string> start(const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& dir() const { return dir_; }  // the folder of the cluster
  std::string conf() const { return dir_ + "/conf/slurm.conf"; }
  const std::vector<std::string>& nodes() const { return nodes_; }

  // Runs a Slurm client program against this cluster (SLURM_CONF is set), such as {"squeue", "-h"}.
  agent::CommandResult run(const std::vector<std::string>& words, double timeout_s = 30) const;
  // Returns the standard output without the last newline; a failure is written into the text.
  std::string ask(const std::vector<std::string>& words) const;
  // Repeats `ask(words)` until the answer equals the text or, with `part`, contains it.
  bool wait_for(const std::vector<std::string>& words, const std::string& text, double seconds,
                bool part = false) const;

  void start_node(const std::string& node);
  void kill_node(const std::string& node);  // sends SIGKILL to its slurmd
  bool node_runs(const std::string& node) const;

  void kill_controller();   // sends SIGKILL to slurmctld and returns when it has ended
  bool start_controller();  // starts with the state that the last one saved; returns true once it
                            // answers

  std::string log() const;  // log of slurmctld
  std::string node_log(const std::string& node) const;
  // Returns the warnings and errors in all logs, except those about the machine rather than the
  // files: a first start finds no saved state, and a PMIx library may be missing.
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

// Returns the text of a file. If a process of /proc ends in the meantime, returns what was read so
// far (a stream would throw).
std::string read_text(const std::filesystem::path& path);

}  // namespace orrery::testing_slurm
