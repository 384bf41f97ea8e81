// The probe's own folder inside the measured one: newly created, never shared, always removed.
//
// mkdtemp chooses the name, so no existing file is touched. Large files are unlinked as soon as
// they are open, so their space is released even if the process is killed.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::agent {

// Returns errno of a call on a file as "PATH: CALL: why".
std::string failed(const std::string& path, const char* call);

class ProbeFolder {
 public:
  // Fails if `parent` is not a folder, cannot be written to, or has less than `needed_bytes` free.
  static Result<ProbeFolder> make(const std::string& parent, std::uint64_t needed_bytes);
  ~ProbeFolder();
  ProbeFolder(ProbeFolder&& other) noexcept;
  ProbeFolder& operator=(ProbeFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ProbeFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

using files::OpenFile;

// A new file without a name, open for reading and writing; with O_DIRECT if `direct` is set and the
// file system supports it.
struct NamelessFile {
  OpenFile file;
  bool direct = false;
};
Result<NamelessFile> open_nameless(const ProbeFolder& folder, bool direct);

struct FileSystem {
  std::string name;  // "ext4", "xfs", "tmpfs"; the number of the type if it is unknown
  std::uint64_t free_bytes = 0;
  bool in_memory = false;
};
Result<FileSystem> file_system_of(const std::string& path);

// Returns an error of the operating system at `path` as a Diagnostic.
Diagnostic system_fault(const std::string& path, const std::string& what, int error);

}  // namespace orrery::agent
