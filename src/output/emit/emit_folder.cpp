#include "output/emit/emit_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/text.h"
#include "live/files/folder.h"
#include "live/files/replace.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kTemporary = ".orrery-tmp-";

using files::OpenFile;

std::unexpected<Diagnostics> failed(const std::string& file, std::string_view doing, int error) {
  const bool link = error == ELOOP || error == ENOTDIR;
  return fail(
      {.code = link ? "emit.link" : "emit.file",
       .place = {file, 0, 0},
       .what = fmt::format("cannot {}: {}", doing, std::strerror(error)),
       .why =
           link ? "a link or another kind of file is where a folder or a plain file should be" : "",
       .fix = link ? "remove it, or emit into another folder" : ""});
}

Result<std::vector<std::string>> steps_of(const std::string& path, const std::string& folder) {
  std::vector<std::string> steps;
  for (const std::string_view step : split(path, '/')) steps.emplace_back(step);
  for (const std::string& step : steps) {
    if (!step.empty() && step != "." && step != ".." && step.find('\0') == std::string::npos) {
      continue;
    }
    return fail({.code = "emit.path",
                 .place = {folder, 0, 0},
                 .what = fmt::format("`{}` is not a path below the folder", path),
                 .why = "emitted files must stay inside the folder that was named",
                 .fix = "if the manifest lists it, restore or remove the manifest"});
  }
  return steps;
}

// Returns the folder that contains the last step, or -1 with errno if it is missing.
OpenFile parent_of(int root, const std::vector<std::string>& steps, bool create) {
  OpenFile at(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i + 1 < steps.size() && at.get() >= 0; ++i) {
    if (create && ::mkdirat(at.get(), steps[i].c_str(), 0755) != 0 && errno != EEXIST) {
      return OpenFile(-1);
    }
    at = OpenFile(
        ::openat(at.get(), steps[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

Result<std::string> read_all(int fd, const std::string& name) {
  std::string text;
  std::string chunk(std::size_t{64} << 10, '\0');
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(name, "read", errno);
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kEmittedBytesMax) return failed(name, "read", EFBIG);
  }
}

}  // namespace

Result<std::unique_ptr<EmitFolder>> EmitFolder::open(const std::string& path, bool create) {
  if (create) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return failed(path, "make the folder", error.value());
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && (errno != ENOENT || create)) return failed(path, "open the folder", errno);
  std::unique_ptr<EmitFolder> folder(new EmitFolder(path, fd));
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return fail({.code = "emit.busy",
                 .place = {path, 0, 0},
                 .what = "another emit is running in this folder",
                 .fix = "run it again when the other has finished"});
  }
  return folder;
}

EmitFolder::~EmitFolder() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::optional<FileOnDisk>> EmitFolder::read(const std::string& path) const {
  if (fd_ < 0) return std::nullopt;
  const auto steps = steps_of(path, path_);
  if (!steps) return std::unexpected(steps.error());
  const std::string name = path_ + '/' + path;
  const OpenFile parent = parent_of(fd_, *steps, false);
  if (parent.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    return failed(name, "open", errno);
  }
  // Non-blocking, because a pipe with the name of the file must not block us.
  const OpenFile file(::openat(parent.get(), steps->back().c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    return failed(name, "open", errno);
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return failed(name, "look at", errno);
  if (!S_ISREG(status.st_mode)) return failed(name, "read", ENOTDIR);
  auto text = read_all(file.get(), name);
  if (!text) return std::unexpected(std::move(text.error()));
  return FileOnDisk{std::move(*text), (status.st_mode & S_IXUSR) != 0};
}

Result<void> EmitFolder::write(const EmittedFile& file) const {
  const auto steps = steps_of(file.path, path_);
  if (!steps) return std::unexpected(steps.error());
  const std::string name = path_ + '/' + file.path;
  const OpenFile parent = parent_of(fd_, *steps, true);
  if (parent.get() < 0) return failed(name, "make the folder of", errno);
  const mode_t mode = file.executable ? 0755 : 0644;
  const bool written = files::replace_at(
      parent.get(), std::string(kTemporary) + steps->back(), steps->back(), mode,
      [&](int out) { return files::write_all(out, file.text) && ::fchmod(out, mode) == 0; });
  if (!written) return failed(name, "write", errno);
  return {};
}

Result<void> EmitFolder::remove(const std::string& path) const {
  auto steps = steps_of(path, path_);
  if (!steps) return std::unexpected(steps.error());
  const OpenFile parent = parent_of(fd_, *steps, false);
  if (parent.get() < 0 ||
      (::unlinkat(parent.get(), steps->back().c_str(), 0) != 0 && errno != ENOENT)) {
    return failed(path_ + '/' + path, "remove", errno);
  }
  // Removing a folder that is not empty fails, as it should.
  for (steps->pop_back(); !steps->empty(); steps->pop_back()) {
    const OpenFile above = parent_of(fd_, *steps, false);
    if (above.get() < 0 || ::unlinkat(above.get(), steps->back().c_str(), AT_REMOVEDIR) != 0) break;
  }
  return {};
}

Result<Manifest> EmitFolder::manifest() const {
  const std::string path(kManifestFile);
  const auto disk = read(path);
  if (!disk) return std::unexpected(disk.error());
  if (!*disk) return Manifest();
  return read_manifest((*disk)->text, path_ + '/' + path);
}

Result<void> EmitFolder::carry_out(const EmitPlan& plan, const Manifest& before) const {
  const std::string path(kManifestFile);
  if (auto done = write({path, write_manifest(manifest_between(before, plan.manifest))}); !done) {
    return done;
  }
  for (const Change& c : plan.changes) {
    auto done = c.kind == ChangeKind::remove ? remove(c.file.path) : write(c.file);
    if (!done) return done;
  }
  return write({path, write_manifest(plan.manifest)});
}

}  // namespace orrery::emit
