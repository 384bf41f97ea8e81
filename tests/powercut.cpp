// Preloaded into a program, this library records what would survive a power cut. The tests then
// replace the files by what was recorded, and start the program again.
//
//   POWERCUT_ROOT     the folder that is watched
//   POWERCUT_SHADOW   where the records go: data/INODE is a file's bytes at its last sync,
//                     names/INODE a folder's names at its last sync (one "INODE f|d NAME" per
//                     line), keep/INODE a link that keeps the inode number from being reused
//
// A sync of a file makes its bytes durable, but not its name; a sync of its folder makes names
// durable, but no bytes. Most file systems keep more than that, but POSIX promises no more. Files
// are assumed to be only appended to. Nothing is really synced: the page cache serves as the disk.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// In a function, because the first sync may come before this library's constructors run.
const std::string& root() {
  static const std::string kRoot = environment("POWERCUT_ROOT");
  return kRoot;
}
const std::string& shadow() {
  static const std::string kShadow = environment("POWERCUT_SHADOW");
  return kShadow;
}

std::string path_of(int file) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

void note_bytes(int file, const struct stat& now) {
  const std::string to = shadow() + "/data/" + std::to_string(now.st_ino);
  const int copy = ::open(to.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (copy < 0) return;
  struct stat before{};
  ::fstat(copy, &before);
  // Without a link that keeps it, the inode number may have belonged to another file before.
  const std::string kept = shadow() + "/keep/" + std::to_string(now.st_ino);
  if (::access(kept.c_str(), F_OK) != 0) before.st_size = 0;
  // The descriptor may be open only for writing.
  const std::string self = "/proc/self/fd/" + std::to_string(file);
  const int from = ::open(self.c_str(), O_RDONLY | O_CLOEXEC);
  off_t at = before.st_size <= now.st_size ? before.st_size : 0;
  static thread_local char piece[1 << 16];
  while (from >= 0 && at < now.st_size) {
    const ssize_t got = ::pread(from, piece, sizeof piece, at);
    if (got <= 0 || ::pwrite(copy, piece, static_cast<std::size_t>(got), at) != got) break;
    at += got;
  }
  if (::ftruncate(copy, now.st_size) != 0) ::abort();
  if (from >= 0) ::close(from);
  ::close(copy);
}

void note_names(const std::string& folder, const struct stat& now) {
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) return;
  std::string text;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const bool is_folder = entry->d_type == DT_DIR;
    const std::string number = std::to_string(entry->d_ino);
    const std::string from = folder + '/' + name;
    const std::string to = shadow() + "/keep/" + number;
    // A file that is being removed now may as well have been removed earlier.
    if (!is_folder && ::link(from.c_str(), to.c_str()) != 0 && errno != EEXIST) continue;
    text += number + (is_folder ? " d " : " f ") + name + '\n';
  }
  ::closedir(listing);
  const std::string to = shadow() + "/names/" + std::to_string(now.st_ino);
  const std::string fresh = to + ".new" + std::to_string(::gettid());
  const int file = ::open(fresh.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    ::rename(fresh.c_str(), to.c_str());
  }
  ::close(file);
}

int note_alone(int file, const std::string& path) {
  struct stat now{};
  if (::fstat(file, &now) != 0) return -1;
  if (S_ISDIR(now.st_mode)) {
    note_names(path, now);
  } else {
    note_bytes(file, now);
  }
  return 0;
}

// One at a time: if two syncs of a folder overlap, the one that ends last must not record an older
// state than the other.
int note(int file) {
  const std::string path = path_of(file);
  if (root().empty() || !path.starts_with(root())) return 0;
  static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
  ::pthread_mutex_lock(&alone);
  const int done = note_alone(file, path);
  ::pthread_mutex_unlock(&alone);
  return done;
}

}  // namespace

extern "C" int fsync(int file) { return note(file); }
extern "C" int fdatasync(int file) { return note(file); }
