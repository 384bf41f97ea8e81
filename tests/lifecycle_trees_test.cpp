// The lifecycle agent on random trees, as processes that are killed at random points: links in and
// out of an item, hard links, special files, files that cannot be read or parsed, files that change
// during a copy, manifests that lead out, two agents with opposite rules. In every case:
//   1. nothing outside the places is touched: bytes, times, modes, link counts and names;
//   2. no last copy is removed: an item that a rule keeps has all its bytes somewhere in the
//      places, and what the agent must leave alone is still in its place;
//   3. every item that is left alone is explained by an alert that names it and the file.
//
// ./test runs a sample; ORRERY_FULL=1 runs 10,000 trees.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/random.h"
#include "core/base/text.h"
#include "live/agent/journal.h"
#include "live/agent/lifecycle.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/lifecycle_places.h"
#include "live/agent/machine_clock.h"
#include "live/agent/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;  // path to bytes

constexpr uid_t kNobody = 65534;
constexpr int kBusy = 3;
constexpr int kTicksMax = 60;

fs::path fast_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

std::string bytes_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Describes everything about a tree that can be read without following a link.
std::string portrait_of(const fs::path& folder) {
  std::vector<std::string> lines;
  const auto note = [&](const fs::path& path) {
    struct stat s{};
    if (::lstat(path.c_str(), &s) != 0) return;
    std::ostringstream line;
    line << path.string() << ' ' << s.st_mode << ' ' << s.st_uid << ' ' << s.st_nlink << ' '
         << s.st_mtim.tv_sec << '.' << s.st_mtim.tv_nsec << ' ' << s.st_ino << ' ';
    if (S_ISREG(s.st_mode)) line << bytes_in(path);
    if (S_ISLNK(s.st_mode)) line << fs::read_symlink(path).string();
    lines.push_back(line.str());
  };
  note(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) note(entry.path());
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return all;
}

// The regular files of a folder; everything else is left out.
Files files_in(const fs::path& folder) {
  Files files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().lexically_relative(folder).string();
    const bool is_ours = path == ".orrery-copy.json";
    if (at->is_regular_file() && !at->is_symlink() && !is_ours) files[path] = bytes_in(at->path());
  }
  return files;
}

struct Rules {
  storage::KeepRule hot, cold;
};

struct Item {
  std::string id;
  Files files;      // the regular files
  std::string odd;  // the name that its alert must contain; empty: the item is plain
  bool finished = true;
  bool corrupt = false;
  bool changes = false;  // changes while the agent runs
  std::string portrait = {};
  std::string corrupt_file = {};
};

class Trees {
 public:
  explicit Trees(std::uint64_t seed)
      : random_(seed, "trees"), folder_(fast_folder()), root_(folder_.path()) {
    is_two_ = random_.below(4) == 0;
    is_nobody_ = ::geteuid() == 0 && random_.below(4) == 0;
    grace_ = random_.below(2) == 0 ? Seconds() : days(1);
    draw_rules();
    plant_surroundings();
    const std::uint64_t count = 2 + random_.below(5);
    for (std::uint64_t i = 1; i <= count; ++i) plant_item(100 * i);
    plant_cold();
    age(root_ / "places");
    age(root_ / "around");
    if (is_nobody_) give_away();
    for (Item& item : items_) item.portrait = portrait_of(place("hot") / item.id);
    for (const std::string& id : cold_odd_) cold_portrait_ = portrait_of(place("cold") / id);
    around_ = portrait_of(root_ / "around");
  }

  // Returns the first thing that went wrong, or an empty text.
  std::string run() {
    const std::uint64_t kills = random_.below(4);
    for (std::uint64_t i = 0; i < kills && fault_.empty(); ++i) round(true);
    for (int i = 0; i < (is_two_ ? 3 : 1) && fault_.empty(); ++i) round(false);
    if (fault_.empty()) check_explained();
    return fault_;
  }

  int kills() const { return kills_; }
  std::size_t odd_items() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(items_, [](const Item& i) { return !i.odd.empty(); }));
  }
  std::size_t gone() const { return gone_; }

 private:
  fs::path place(const std::string& name) const { return root_ / "places" / name; }

  std::string draw_bytes() {
    std::string text(random_.below(3000), '\0');
    for (char& byte : text) byte = static_cast<char>(random_.below(256));
    return text;
  }

  void draw_rules() {
    Rules& a = rules_[0];
    if (is_two_) {
      a.hot.everything = true, a.cold.newest = 1;
      rules_[1].hot.newest = 1, rules_[1].cold.everything = true;
      return;
    }
    a.hot.newest = static_cast<int>(random_.below(3));
    a.hot.everything = random_.below(5) == 0;
    switch (random_.below(3)) {
      case 0:
        a.cold.everything = true;
        break;
      case 1:
        a.cold.milestones = true, a.cold.milestone_every = 200;
        break;
      default:
        a.cold.newest = 1;
    }
  }

  void plant_surroundings() {
    put(root_ / "around/models/base.bin", draw_bytes());
    put(root_ / "around/models/only/one.bin", draw_bytes());
    put(root_ / "around/notes.txt", "mine");
    fs::create_directories(root_ / "around/empty");
    fs::create_directory_symlink(root_ / "places/hot", root_ / "around/back");
    fs::create_directories(place("hot"));
    fs::create_directories(place("cold"));
  }

  void plant_item(std::uint64_t step) {
    Item item{.id = "iter_" + std::to_string(step), .files = {}, .odd = {}};
    const fs::path at = place("hot") / item.id;
    put(at / "model.bin", draw_bytes());
    if (random_.below(2) == 0) put(at / "optim/rank_0/state.bin", draw_bytes());
    item.finished = random_.below(8) != 0;
    if (item.finished) put(at / ".metadata", "m" + std::to_string(step));
    if (random_.below(6) == 0) {
      item.corrupt = true;
      item.corrupt_file = "part.safetensors";
      put(at / item.corrupt_file, draw_bytes() + "0123456789");
    }
    if (random_.below(3) == 0) plant_odd(at, item);
    item.changes = item.odd.empty() && item.finished && !item.corrupt && random_.below(6) == 0;
    item.files = files_in(at);
    items_.push_back(std::move(item));
  }

  void plant_odd(const fs::path& at, Item& item) {
    const std::string deep = random_.below(2) == 0 ? "optim/" : "";
    fs::create_directories(at / deep);
    const auto link = [&](const fs::path& to, const char* name) {
      fs::create_symlink(to, at / deep / name);
      item.odd = deep + name;
    };
    switch (random_.below(9)) {
      case 0:
        return link(root_ / "around/models/base.bin", "absolute");
      case 1:
        return link(deep.empty() ? "../../../around/models/only/one.bin"
                                 : "../../../../around/models/only/one.bin",
                    "relative");
      case 2:
        return link("../iter_100/model.bin", "sibling");
      case 3:
        return link("nowhere", "dangling");
      case 4:
        return link(root_ / "around/models", "folder");
      case 5:
        return link("..", "parent");
      case 6:
        item.odd = deep + "fifo";
        ASSERT_EQ(::mkfifo((at / item.odd).c_str(), 0600), 0);
        return;
      case 7:
        item.odd = deep + "socket";
        ASSERT_EQ(::mknod((at / item.odd).c_str(), S_IFSOCK | 0600, 0), 0);
        return;
      default:
        item.odd = deep + "shared";
        fs::create_hard_link(root_ / "around/models/base.bin", at / item.odd);
    }
  }

  // Puts files of other owners at the cold place.
  void plant_cold() {
    if (random_.below(3) != 0) return;
    const std::string id = items_[random_.below(items_.size())].id;
    switch (random_.below(3)) {
      case 0:
        put(place("cold") / id / "theirs.bin", draw_bytes());
        break;
      case 1:
        put(place("cold") / id / ".orrery-copy.json",
            R"({"orrery_copy":1,"item":"x","made_s":5,"digest":"d","files":)"
            R"([{"path":"../../../around/notes.txt","bytes":4,"sha256":"s"}]})");
        break;
      default:
        fs::create_directory_symlink(root_ / "around/models", place("cold") / id);
        return;  // the item is not the agent's, and no copy can be put at this name
    }
    cold_odd_.insert(id);
  }

  static void age(const fs::path& folder) {
    const timespec times[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      ::utimensat(AT_FDCWD, entry.path().c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
  }

  // The agent runs as the user nobody. It cannot read some of the files and folders.
  void give_away() {
    ::chmod(root_.c_str(), 0755);
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "places")) {
      EXPECT_EQ(::lchown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    for (const char* name : {"", "hot", "cold"}) {
      EXPECT_EQ(::chown((root_ / "places" / name).c_str(), kNobody, kNobody), 0);
    }
    fs::create_directories(root_ / "journals");
    EXPECT_EQ(::chown((root_ / "journals").c_str(), kNobody, kNobody), 0);
    for (Item& item : items_) {
      // A hard link shares its owner with the file outside, which belongs to the surroundings.
      if (!item.odd.empty() || random_.below(4) != 0) continue;
      const bool is_folder = random_.below(2) == 0;
      const fs::path at = place("hot") / item.id;
      if (is_folder) fs::create_directories(at / "closed");
      const fs::path closed = at / (is_folder ? "closed" : "model.bin");
      EXPECT_EQ(::chown(closed.c_str(), 0, 0), 0);
      EXPECT_EQ(::chmod(closed.c_str(), is_folder ? 0700 : 0600), 0);
      if (is_folder) item.odd = "closed";
      item.changes = false;
      unreadable_.insert(item.id);
    }
  }

  storage::LifecyclePolicy policy_of(const Rules& rules) const {
    storage::LifecyclePolicy policy;
    policy.places.push_back({.name = "hot", .written = true, .keep = rules.hot});
    policy.places.push_back({.name = "cold", .keep = rules.cold});
    policy.settle = seconds(0.01);
    policy.grace = grace_;
    return policy;
  }

  // Runs the agent's process until it has nothing left to do.
  int agent(int which) const {
    const std::string name = (root_ / "journals" / std::to_string(which)).string();
    auto journal = agent::Journal::open(name, agent::lifecycle_journal(name));
    if (!journal) return 4;
    auto memory = agent::recall_lifecycle(journal->text(), name);
    const auto owner = agent::owner_of(name);
    if (!memory || !owner) return 5;
    std::vector<agent::LivePlace> places;
    for (const char* at : {"hot", "cold"}) {
      places.push_back(
          {at, std::string_view(at) == "hot", agent::folder_store(place(at).string(), *owner)});
    }
    const auto clock = [] {
      const auto since = std::chrono::system_clock::now().time_since_epoch();
      return seconds(std::chrono::duration<double>(since).count());
    };
    agent::LifecyclePlaces port(
        std::move(places),
        {.run = "run", .quiet = Seconds(), .clock = clock, .machine = agent::machine_clock});
    const auto taken = port.take([](const std::string&) {}, [] {});
    if (!taken) return kBusy;
    agent::LifecycleAgent driver(
        port,
        [&journal](const std::vector<storage::LifecycleEvent>& events) {
          std::vector<std::string> lines;
          for (const auto& event : events) lines.push_back(agent::line_of(event));
          return journal->append(lines);
        },
        policy_of(rules_[which]), std::move(*memory));
    for (int look = 0, idle = 0; look < kTicksMax && idle < 3; ++look) {
      const auto tick = driver.tick();
      if (!tick) return 7;
      std::ofstream alerts(root_ / "journals" / ("alerts-" + std::to_string(which)));
      for (const auto& alert : tick->standing) alerts << alert.item << '\t' << alert.why << '\n';
      const bool tries_again =
          std::ranges::any_of(tick->waits, [](const storage::LifecycleWait& wait) {
            return wait.kind == storage::WaitKind::retry && wait.failures <= 3;
          });
      if (tries_again) std::this_thread::sleep_for(std::chrono::milliseconds(10)), idle = -1;
      idle = tick->done.empty() ? idle + 1 : 0;
    }
    return 0;
  }

  pid_t start(int which) {
    fs::create_directories(root_ / "journals");
    if (is_nobody_) {
      EXPECT_EQ(::chown((root_ / "journals").c_str(), kNobody, kNobody), 0);
    }
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (is_nobody_ && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(8);
    ::_exit(agent(which));
  }

  void round(bool is_killed) {
    std::vector<pid_t> children = {start(0)};
    if (is_two_) children.push_back(start(1));
    if (is_killed) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_.below(12'000)));
      change_some();
      std::this_thread::sleep_for(std::chrono::microseconds(random_.below(12'000)));
    }
    for (const pid_t child : children) {
      if (is_killed) ::kill(child, SIGKILL), ++kills_;
      int status = 0;
      ::waitpid(child, &status, 0);
      const bool is_fine = WIFSIGNALED(status)
                               ? is_killed && WTERMSIG(status) == SIGKILL
                               : WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kBusy;
      if (!is_fine) fault_ = "an agent ended with status " + std::to_string(status);
    }
    check();
  }

  // The trainer continues writing in items that looked finished.
  void change_some() {
    for (Item& item : items_) {
      if (!item.changes || random_.below(2) == 0) continue;
      const int file = ::open((place("hot") / item.id / "model.bin").c_str(),
                              O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
      if (file < 0) continue;
      const std::string text = draw_bytes();
      EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      ::close(file);
      item.files["model.bin"] = text;
    }
  }

  // Returns whether all the bytes of the item are together somewhere in the places.
  bool is_somewhere(const Item& item) const {
    for (const char* name : {"hot", "cold"}) {
      if (files_in(place(name) / item.id) == item.files) return true;
      std::error_code error;
      for (fs::directory_iterator at(place(name) / ".orrery-trash", error), end;
           !error && at != end; at.increment(error)) {
        const bool is_its = at->path().filename().string().starts_with(item.id + '.');
        if (is_its && files_in(at->path()) == item.files) return true;
      }
    }
    return false;
  }

  bool must_stay(const Item& item) const {
    if (is_two_ || grace_ > Seconds() || !item.finished) return true;
    const std::uint64_t step = std::stoull(item.id.substr(5));
    const Rules& rules = rules_[0];
    const bool is_milestone = rules.cold.milestone_every > 0 &&
                              step % static_cast<std::uint64_t>(rules.cold.milestone_every) == 0;
    if (rules.hot.everything || rules.cold.everything || is_milestone) return true;
    // Items older than another that can be relied on may be removed; the newest such item never.
    return std::ranges::none_of(items_, [&](const Item& other) {
      // A rewritten item counts as the newest, because of its time.
      const bool is_newer = other.changes || std::stoull(other.id.substr(5)) > step;
      return is_newer && other.id != item.id && other.odd.empty() && other.finished &&
             !other.corrupt && !unreadable_.contains(other.id) && !cold_odd_.contains(other.id);
    });
  }

  // Returns whether every item is read. If the rules want nothing of some items, the agent does not
  // read them.
  bool all_are_read() const {
    return is_two_ || rules_[0].hot.everything || rules_[0].cold.everything;
  }

  void check() {
    if (!fault_.empty()) return;
    if (portrait_of(root_ / "around") != around_) fault_ = "the surroundings were touched";
    for (const auto& entry : fs::directory_iterator(root_)) {
      const std::string name = entry.path().filename().string();
      if (name != "places" && name != "around" && name != "journals") fault_ = name + " is new";
    }
    for (const auto& entry : fs::directory_iterator(root_ / "places")) {
      const std::string name = entry.path().filename().string();
      if (name != "hot" && name != "cold") fault_ = name + " is new next to the places";
    }
    for (const Item& item : items_) check(item);
    for (const std::string& id : cold_odd_) {
      if (portrait_of(place("cold") / id) != cold_portrait_) fault_ = id + " at cold was touched";
    }
  }

  void check(const Item& item) {
    const bool is_alone = !item.odd.empty() || !item.finished || (item.corrupt && all_are_read());
    if (is_alone && portrait_of(place("hot") / item.id) != item.portrait) {
      fault_ = item.id + " was touched although it had to be left alone";
    }
    if (is_somewhere(item)) return;
    ++gone_;
    if (must_stay(item)) fault_ = item.id + " is not complete anywhere\n" + described();
  }

  // For a person who looks for the reason.
  std::string described() const {
    std::ostringstream text;
    text << (is_two_ ? "two agents" : "one agent") << (is_nobody_ ? ", as nobody" : "")
         << ", grace " << grace_.base() << " s, hot newest " << rules_[0].hot.newest
         << (rules_[0].hot.everything ? " all" : "") << ", cold newest " << rules_[0].cold.newest
         << " every " << rules_[0].cold.milestone_every << (rules_[0].cold.everything ? " all" : "")
         << '\n';
    for (const Item& item : items_) {
      text << item.id << (item.finished ? "" : " unfinished") << (item.corrupt ? " corrupt" : "")
           << (item.changes ? " changes" : "") << ' ' << item.odd << '\n';
    }
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "places")) {
      text << entry.path().string() << '\n';
    }
    for (const auto& entry : fs::directory_iterator(root_ / "journals")) {
      text << entry.path().string() << '\n' << bytes_in(entry.path());
    }
    return text.str();
  }

  // Checks the alerts of the last run of the (first) agent.
  void check_explained() {
    std::string said = bytes_in(root_ / "journals/alerts-0");
    if (is_two_) said += bytes_in(root_ / "journals/alerts-1");
    const auto lines = split(said, '\n');
    const auto is_said = [&](const std::string& id, const std::string& name) {
      return std::ranges::any_of(lines, [&](std::string_view line) {
        return line.starts_with(id + '\t') && line.find(name) != std::string_view::npos;
      });
    };
    for (const Item& item : items_) {
      if (!item.odd.empty() && !is_said(item.id, item.odd)) {
        fault_ = item.id + ": no alert names " + item.odd + "\n" + said;
      }
      const bool is_read =
          all_are_read() && item.finished && item.odd.empty() && !cold_odd_.contains(item.id);
      const bool is_closed = unreadable_.contains(item.id);
      const std::string why = is_closed ? "Permission denied" : item.corrupt_file;
      if (is_read && (is_closed || item.corrupt) && !is_said(item.id, why)) {
        fault_ = item.id + ": no alert names " + why + "\n" + said;
      }
    }
    for (const std::string& id : cold_odd_) {
      if (!is_said(id, ".orrery-copy.json")) fault_ = id + ": no alert names the one at cold";
    }
  }

  RandomStream random_;
  agent::TestFolder folder_;
  fs::path root_;
  bool is_two_ = false;
  bool is_nobody_ = false;
  Seconds grace_;
  Rules rules_[2];
  std::vector<Item> items_;
  std::set<std::string> cold_odd_, unreadable_;
  std::string cold_portrait_, around_, fault_;
  int kills_ = 0;
  std::size_t gone_ = 0;
};

TEST(LifecycleTrees,
     nothing_outside_is_touched_no_last_copy_is_removed_and_every_refusal_is_reported) {
  std::uint64_t trees = std::getenv("ORRERY_FULL") ? 10'000 : 200;
  const char* first = std::getenv("ORRERY_SEED");  // selects one tree, or a few, to examine
  const char* count = std::getenv("ORRERY_TREES");
  const std::uint64_t from = first ? std::stoull(first) : 1;
  if (count) trees = std::stoull(count);
  int kills = 0;
  std::size_t odd = 0, gone = 0;
  for (std::uint64_t seed = from; seed < from + trees; ++seed) {
    Trees one(seed);
    ASSERT_EQ(one.run(), "") << "seed " << seed;
    kills += one.kills();
    odd += one.odd_items();
    gone += one.gone();
  }
  // The test is meaningful only if kills occur and the agent removes items.
  if (trees > 100) {
    EXPECT_GT(kills, static_cast<int>(trees));
    EXPECT_GT(odd, trees / 2);
    EXPECT_GT(gone, trees / 50);
  }
  RecordProperty("kills", kills);
  RecordProperty("left_alone", static_cast<int>(odd));
  RecordProperty("removed", static_cast<int>(gone));
}

}  // namespace
}  // namespace orrery
