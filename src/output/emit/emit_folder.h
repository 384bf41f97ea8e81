// The folder that emitted files go to. Reads and writes below it and nowhere else.
//
// Paths are relative, without `..`. Every step is opened without following links, so that a link
// planted in the folder leads nowhere. A file is written beside its final place, flushed and
// renamed over it: a concurrent reader, or a reader after a power failure, sees the old text or the
// new one. Only one emit works in a folder at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "output/emit/emit_plan.h"

namespace orrery::emit {

// Largest file to read. Emitted files are much smaller; a larger file is not ours.
inline constexpr std::size_t kEmittedBytesMax = std::size_t{16} << 20;

class EmitFolder {
 public:
  // `create` creates a missing folder; without it a missing folder reads as empty.
  static Result<std::unique_ptr<EmitFolder>> open(const std::string& path, bool create);
  ~EmitFolder();
  EmitFolder(const EmitFolder&) = delete;
  EmitFolder& operator=(const EmitFolder&) = delete;

  // Returns nullopt if there is no such file. Fails with "emit.not-a-file" for anything but a plain
  // file.
  Result<std::optional<FileOnDisk>> read(const std::string& path) const;
  Result<void> write(const EmittedFile& file) const;
  Result<void> remove(const std::string& path) const;  // also removes folders that become empty

  // Returns the manifest of the folder, or an empty one if there is none.
  Result<Manifest> manifest() const;
  // Makes the changes of the plan. First the manifest lists both old and new texts as ours, so that
  // an interrupted run leaves nothing that looks edited by hand.
  Result<void> carry_out(const EmitPlan& plan, const Manifest& before) const;

 private:
  EmitFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;  // -1: the folder does not exist
};

}  // namespace orrery::emit
