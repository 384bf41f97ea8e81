#include "live/agent/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "live/files/replace.h"

namespace orrery::agent {
namespace {

// Journals are rewritten at a few MiB, so a file of this size is not one.
constexpr std::size_t kBytesMax = std::size_t{1} << 30;

std::unexpected<Diagnostics> fault(const std::string& path, const std::string& what, int error,
                                   std::string fix = {}) {
  return fail({.code = "journal.unusable",
               .place = {.file = path},
               .what = what + ": " + std::strerror(error),
               .why = "the agent writes every step to its journal before it acts",
               .fix = std::move(fix)});
}

bool read_all(int file, std::string& text) {
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t got = ::read(file, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kBytesMax) return errno = EFBIG, false;
  }
}

// A new name is durable only once its folder is synced.
bool sync_folder_of(const std::string& path) {
  return files::sync_folder(std::filesystem::path(path).parent_path().string());
}

std::unexpected<Diagnostics> not_a_journal(const std::string& path) {
  return fail({.code = "journal.other-file",
               .place = {.file = path},
               .what = "this file is not a journal of the agent",
               .why = "it does not begin like one, and appending to it or truncating it would "
                      "damage it",
               .fix = "name a file that does not exist yet; this file was left unchanged"});
}

// Returns the complete lines of a file that holds `text`, after checking its form.
Result<std::string> whole_lines(std::string text, const std::string& path,
                                const JournalForm& form) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) {
    // The process was killed during the first append: the file holds only part of the header.
    if (!form.header.starts_with(text)) return not_a_journal(path);
    return std::string();
  }
  const std::string_view first = std::string_view(text).substr(0, text.find('\n'));
  const bool is_ours = first == form.header ||
                       std::ranges::any_of(form.older, [first](const std::string& beginning) {
                         return first.starts_with(beginning);
                       });
  if (!is_ours) return not_a_journal(path);
  text.resize(end + 1);
  if (auto good = form.check(text); !good) return std::unexpected(good.error());
  return text;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

Journal::Journal(Journal&& o) noexcept
    : path_(std::move(o.path_)),
      header_(std::move(o.header_)),
      text_(std::move(o.text_)),
      torn_(o.torn_),
      size_(o.size_),
      file_(std::exchange(o.file_, -1)),
      lock_(std::exchange(o.lock_, -1)) {}

Journal& Journal::operator=(Journal&& o) noexcept {
  std::swap(path_, o.path_);
  std::swap(header_, o.header_);
  std::swap(text_, o.text_);
  std::swap(torn_, o.torn_);
  std::swap(size_, o.size_);
  std::swap(file_, o.file_);
  std::swap(lock_, o.lock_);
  return *this;
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
  if (lock_ >= 0) ::close(lock_);
}

Result<std::string> Journal::read(const std::string& path, const JournalForm& form) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return std::string();
  if (file < 0) return fault(path, "cannot open the journal", errno);
  struct stat status = {};
  std::string text;
  const bool is_plain = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const bool is_read = is_plain && read_all(file, text);
  const int error = is_plain ? errno : EINVAL;
  ::close(file);
  if (!is_read) {
    return fault(path, is_plain ? "cannot read the journal" : "the journal is not a regular file",
                 error);
  }
  return whole_lines(std::move(text), path, form);
}

Result<Journal> Journal::open(const std::string& path, const JournalForm& form) {
  // Checked before anything is created, including the lock file.
  if (const auto before = read(path, form); !before) return std::unexpected(before.error());
  Journal journal;
  journal.path_ = path;
  journal.header_ = form.header;
  const std::string lock_path = path + ".lock";
  journal.lock_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (journal.lock_ < 0) return fault(lock_path, "cannot open the lock file of the journal", errno);
  if (::flock(journal.lock_, LOCK_EX | LOCK_NB) != 0) {
    return fault(path, "another agent is using this journal", errno,
                 "stop that agent, or give this one a journal of its own");
  }
  journal.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (journal.file_ < 0) return fault(path, "cannot open the journal", errno);
  struct stat status = {};
  if (::fstat(journal.file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    return fault(path, "the journal is not a regular file", EINVAL);
  }
  if (!read_all(journal.file_, journal.text_)) return fault(path, "cannot read the journal", errno);
  auto whole = whole_lines(journal.text_, path, form);
  if (!whole) return std::unexpected(whole.error());
  journal.torn_ = journal.text_.size() - whole->size();
  if (journal.torn_ > 0 && ::ftruncate(journal.file_, static_cast<off_t>(whole->size())) != 0) {
    return fault(path, "cannot remove the incomplete last line of the journal", errno);
  }
  journal.text_ = std::move(*whole);
  journal.size_ = journal.text_.size();
  if (::fsync(journal.file_) != 0 || !sync_folder_of(path)) {
    return fault(path, "cannot flush the journal to disk", errno);
  }
  return journal;
}

Result<void> Journal::append(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  const std::string text = (size_ == 0 ? header_ + '\n' : std::string()) + joined(lines);
  if (!files::write_all(file_, text) || ::fdatasync(file_) != 0) {
    return fault(path_, "cannot write to the journal", errno,
                 "free space on the disk of the journal");
  }
  size_ += text.size();
  return {};
}

Result<void> Journal::rewrite(const std::vector<std::string>& lines) {
  const bool has_header = !lines.empty() && lines.front() == header_;
  const std::string text = (has_header ? std::string() : header_ + '\n') + joined(lines);
  if (!files::replace_file(path_, text, 0600)) {
    return fault(path_, "cannot rewrite the journal", errno,
                 "free space on the disk of the journal");
  }
  ::close(file_);
  file_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file_ < 0) return fault(path_, "cannot reopen the journal", errno);
  size_ = text.size();
  return {};
}

}  // namespace orrery::agent
