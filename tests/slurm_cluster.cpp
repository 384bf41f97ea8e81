#include "slurm_cluster.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/text.h"
#include "core/catalog/catalog.h"
#include "core/catalog/embedded.h"
#include "live/net/test_socket.h"
#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"
#include "output/emit/hosts.h"
#include "output/emit/slurm.h"
#include "plan/verdict/verdict.h"

namespace orrery::testing_slurm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kFirstPort = 20'000;  // below the ephemeral ports of Linux
constexpr int kLastPort = 32'000;
constexpr int kDevices = 64;
constexpr double kStartSeconds = 60;

std::chrono::milliseconds pause() { return std::chrono::milliseconds(50); }

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

bool on_path(const std::string& program) {
  for (const std::string_view folder : split("/usr/sbin:/usr/bin:/sbin:/bin", ':')) {
    if (::access((std::string(folder) + '/' + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Returns the first of `count` free consecutive ports. The start of the search depends on the
// process, so that two tests at the same time do not compete for the same ports.
int free_ports(int count) {
  const int span = kLastPort - kFirstPort - count;
  int at = kFirstPort + static_cast<int>(::getpid()) * 131 % span;
  int found = 0;
  for (int tried = 0; tried < 3 * span && found < count; ++tried) {
    if (at + found >= kLastPort) {
      at = kFirstPort;
      found = 0;
    }
    if (net::is_free(at + found)) {
      ++found;
    } else {
      at += found + 1;
      found = 0;
    }
  }
  return at;
}

// Processes that have our folder in their environment, open files or working folder: daemons, steps
// and their jobs, and nothing else.
std::set<pid_t> processes_of(const std::string& dir) {
  std::set<pid_t> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = parse_integer(entry.path().filename().string());
    if (!pid || *pid == ::getpid()) continue;
    std::error_code ignored;
    bool ours = read_text(entry.path() / "environ").find('=' + dir + '/') != std::string::npos ||
                fs::read_symlink(entry.path() / "cwd", ignored).string().starts_with(dir);
    fs::directory_iterator files(entry.path() / "fd", ignored);
    for (; !ours && !ignored && files != fs::directory_iterator(); files.increment(ignored)) {
      ours = fs::read_symlink(files->path(), ignored).string().starts_with(dir + '/');
    }
    if (ours) out.insert(static_cast<pid_t>(*pid));
  }
  return out;
}

// A plain tree with eight ports per node: a leaf with 32 downlinks holds four nodes.
std::string plain_design(const ClusterOptions& o) {
  return fmt::format(
      "orrery: 1\n"
      "name: trial\n"
      "site: {{ region: gcp-us-east4 }}\n"
      "fleet:\n"
      "  - {{ name: n, node: dgx-h100, count: {}, spares: {} }}\n"
      "fabric:\n"
      "  compute: {{ topology: fat-tree, switch: qm9700 }}\n"
      "scheduler: {{ kind: slurm, topology: tree }}\n",
      o.nodes, o.spares);
}

// Lines about this machine or about what a test did, not about the emitted files.
bool is_about_the_machine(const std::string& line) {
  static const std::vector<std::string> kParts = {
      "pmix",  // no PMIx library
      "MPI: Cannot create context",
      "state file",  // the first start
      "Trying backup state save file",
      "xcpuinfo_hwloc_topo_load",  // no saved topology yet
      "CANCELLED AT",              // scancel
      "Lookup failed for",         // no /etc/hosts
  };
  for (const std::string& part : kParts) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string Cluster::missing() {
  for (const char* program : {"slurmctld", "slurmd", "munged", "sinfo", "sbatch", "scontrol"}) {
    if (!on_path(program)) return fmt::format("{} is not installed", program);
  }
  if (::geteuid() != 0) return "slurmd starts jobs as their owner, which takes root";
  std::error_code absent;
  if (fs::is_empty("/sys/fs/cgroup", absent) || absent) {
    return "slurmd does not start without /sys/fs/cgroup";
  }
  return "";
}

std::expected<std::unique_ptr<Cluster>, std::string> Cluster::start(const ClusterOptions& options) {
  std::unique_ptr<Cluster> cluster(new Cluster);
  if (const auto ready = cluster->set_up(options); !ready) {
    return std::unexpected(ready.error() + '\n' + cluster->log());
  }
  return cluster;
}

Cluster::~Cluster() { stop(); }

std::expected<void, std::string> Cluster::set_up(const ClusterOptions& options) {
  std::string pattern = (fs::temp_directory_path() / "orrery-slurm-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return std::unexpected("no temporary folder");
  dir_ = pattern;
  fs::permissions(dir_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec |
                            fs::perms::group_read | fs::perms::others_read);
  fs::create_directories(dir_ + "/conf");
  fs::create_directories(dir_ + "/state");
  make_devices();
  if (const auto munge = start_munge(); !munge) return munge;
  if (const auto written = write_files(options); !written) return written;
  return start_daemons(options);
}

// Character devices like those of real GPUs, or plain files if devices cannot be created.
void Cluster::make_devices() {
  for (int i = 0; i < kDevices; ++i) {
    const std::string path = fmt::format("{}/gpu{}", dir_, i);
    if (::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(1, 3)) != 0) write_text(path, "");
  }
}

std::expected<void, std::string> Cluster::start_munge() {
  const std::string key = dir_ + "/munge.key";
  std::ifstream random("/dev/urandom", std::ios::binary);
  std::string secret(128, '\0');
  random.read(secret.data(), static_cast<std::streamsize>(secret.size()));
  write_text(key, secret);
  ::chmod(key.c_str(), 0400);
  const agent::CommandResult result =
      run({"munged", "--force", "--key-file=" + key, "--socket=" + dir_ + "/munge.sock",
           "--pid-file=" + dir_ + "/munge.pid", "--log-file=" + dir_ + "/munge.log",
           "--seed-file=" + dir_ + "/munge.seed"});
  if (!result.good()) return std::unexpected("munged: " + result.err);
  return {};
}

std::expected<void, std::string> Cluster::write_files(const ClusterOptions& options) {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(to_text(models.error()));
  const std::string text = options.design.empty() ? plain_design(options) : options.design;
  const auto design = design_text::read_design(text, models->catalog(), {.file = "trial.yaml"});
  if (!design) return std::unexpected(to_text(design.error()));
  const review::Review review = review::run_stages(*design, *models);
  const auto hosts = hosts_of(review, emit::HostsOf::slurm);
  if (!hosts) return std::unexpected(to_text(hosts.error()));
  for (const emit::HostFleet& f : hosts->fleets) {
    for (int i = 1; i <= f.hosts(); ++i) nodes_.push_back(host_name(f, i));
    spares_ += f.spares;
  }
  port_ = free_ports(static_cast<int>(nodes_.size()) + 1);
  const emit::SlurmTrial trial{.dir = dir_,
                               .munge_socket = dir_ + "/munge.sock",
                               .controller_port = port_,
                               .cloud = options.cloud};
  const auto files = emit::emit_slurm(review,
                                      {.design = design->name,
                                       .version = design->version,
                                       .digest = design_text::design_digest(*design)},
                                      {.conf_dir = dir_ + "/conf", .trial = trial});
  if (!files) return std::unexpected(to_text(files.error()));
  for (const emit::EmittedFile& f : *files) {
    const std::string path = dir_ + "/conf/" + f.path;
    const std::string more = f.path == "site.conf"    ? options.site_lines
                             : f.path == "slurm.conf" ? options.conf_lines
                                                      : "";
    write_text(path, f.text + more);
    if (f.executable) ::chmod(path.c_str(), 0755);
  }
  return {};
}

std::expected<void, std::string> Cluster::start_daemons(const ClusterOptions& options) {
  const agent::CommandResult controller = run({"slurmctld", "-c", "-f", conf()});
  if (!controller.good()) return std::unexpected("slurmctld: " + controller.err);
  if (options.cloud) {
    if (wait_for({"scontrol", "ping"}, "UP", kStartSeconds, true)) return {};
    return std::unexpected("slurmctld does not answer");
  }
  for (const std::string& node : nodes_) start_node(node);
  const Clock::time_point start = Clock::now();
  while (since(start) < kStartSeconds) {
    const std::string states = ask({"sinfo", "-h", "-N", "-o", "%N %T"});
    std::set<std::string> idle;
    std::set<std::string> drained;
    std::istringstream lines(states);
    for (std::string node, state; lines >> node >> state;) {
      if (state == "idle") idle.insert(node);
      if (state == "drained") drained.insert(node);
    }
    const auto spares = static_cast<std::size_t>(spares_);
    if (drained.size() == spares && idle.size() + spares == nodes_.size()) return {};
    std::this_thread::sleep_for(pause());
  }
  return std::unexpected("the nodes did not come up:\n" + ask({"sinfo", "-N", "-o", "%N %T %E"}));
}

agent::CommandResult Cluster::run(const std::vector<std::string>& words, double timeout_s) const {
  const auto result = agent::run_command(
      {.words = words, .timeout = Seconds(timeout_s), .environment = {{"SLURM_CONF", conf()}}});
  if (result) return *result;
  return {.exit_code = 127, .err = to_text(result.error())};
}

std::string Cluster::ask(const std::vector<std::string>& words) const {
  const agent::CommandResult result = run(words);
  if (!result.good()) return fmt::format("[{}] {}", result.exit_code, result.err);
  std::string out = result.out;
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

bool Cluster::wait_for(const std::vector<std::string>& words, const std::string& text,
                       double seconds, bool part) const {
  const Clock::time_point start = Clock::now();
  do {
    const std::string answer = ask(words);
    if (part ? answer.find(text) != std::string::npos : answer == text) return true;
    std::this_thread::sleep_for(pause());
  } while (since(start) < seconds);
  return false;
}

void Cluster::start_node(const std::string& node) {
  fs::create_directories(dir_ + "/spool-" + node);
  run({"slurmd", "-N", node, "-f", conf()});
}

void Cluster::kill_node(const std::string& node) {
  const auto pid = parse_integer(trimmed(read_text(dir_ + "/slurmd-" + node + ".pid")));
  if (pid && node_runs(node)) ::kill(static_cast<pid_t>(*pid), SIGKILL);
}

bool Cluster::node_runs(const std::string& node) const {
  const auto pid = parse_integer(trimmed(read_text(dir_ + "/slurmd-" + node + ".pid")));
  if (!pid) return false;
  // A reused process id is not our slurmd.
  const std::string command = read_text(fmt::format("/proc/{}/cmdline", *pid));
  return command.find(conf()) != std::string::npos;
}

void Cluster::kill_controller() {
  const auto pid = parse_integer(trimmed(read_text(dir_ + "/slurmctld.pid")));
  if (!pid) return;
  const auto runs = [&] {
    const std::string command = read_text(fmt::format("/proc/{}/cmdline", *pid));
    return command.find(conf()) != std::string::npos;
  };
  if (runs()) ::kill(static_cast<pid_t>(*pid), SIGKILL);
  for (int i = 0; i < 200 && runs(); ++i) std::this_thread::sleep_for(pause());
}

bool Cluster::start_controller() {
  const agent::CommandResult controller = run({"slurmctld", "-f", conf()});
  return controller.good() && wait_for({"scontrol", "ping"}, "UP", kStartSeconds, true);
}

std::string Cluster::log() const { return read_text(dir_ + "/slurmctld.log"); }

std::string Cluster::node_log(const std::string& node) const {
  return read_text(dir_ + "/slurmd-" + node + ".log");
}

std::vector<std::string> Cluster::complaints() const {
  std::string all = log();
  for (const std::string& node : nodes_) all += node_log(node);
  std::vector<std::string> out;
  for (const std::string_view view : split(all, '\n')) {
    const std::string line(view);
    const std::string low = lowered(line);
    const bool complains = low.find("error") != std::string::npos ||
                           low.find("warning") != std::string::npos ||
                           low.find("fatal") != std::string::npos;
    if (complains && !is_about_the_machine(line)) out.push_back(line);
  }
  return out;
}

void Cluster::stop() {
  if (dir_.empty()) return;
  const Clock::time_point start = Clock::now();
  constexpr double kPatience = 2;
  for (int round = 0; round < 200; ++round) {
    const std::set<pid_t> left = processes_of(dir_);
    if (left.empty()) break;
    const int signal = round == 0 ? SIGTERM : since(start) > kPatience ? SIGKILL : 0;
    for (const pid_t pid : left) ::kill(pid, signal);
    std::this_thread::sleep_for(pause());
  }
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

std::string read_text(const std::filesystem::path& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 65536> chunk;
  for (ssize_t got = 1; file >= 0 && got > 0;) {
    got = ::read(file, chunk.data(), chunk.size());
    if (got > 0) text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  if (file >= 0) ::close(file);
  return text;
}

}  // namespace orrery::testing_slurm
