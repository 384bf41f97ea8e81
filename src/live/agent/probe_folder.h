// A folder of the probe's own below the place that is measured: made new, never shared, always
// removed.
//
// The name is drawn by mkdtemp, so nothing that was there is touched. Large files lose their name
// as soon as they are open, so their space comes back even where the process is killed.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::agent {

// What errno says of a call on a file: "PATH: CALL: why".
std::string failed(const std::string& path, const char* call);

class ProbeFolder {
 public:
  // Refuses what is no folder, cannot be written to, or has less than `needed_bytes` free.
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

// A new file without a name, open for reading and writing; O_DIRECT where `direct` and the file
// system has it.
struct NamelessFile {
  OpenFile file;
  bool direct = false;
};
Result<NamelessFile> open_nameless(const ProbeFolder& folder, bool direct);

struct FileSystem {
  std::string name;  // "ext4", "xfs", "tmpfs"; its number where unknown
  std::uint64_t free_bytes = 0;
  bool in_memory = false;
};
Result<FileSystem> file_system_of(const std::string& path);

// What the operating system said of `path`, as a Diagnostic.
Diagnostic system_fault(const std::string& path, const std::string& what, int error);

}  // namespace orrery::agent
