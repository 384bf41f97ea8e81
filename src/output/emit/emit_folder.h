// The folder that emitted files go to: reads and writes below it and nowhere else.
//
// Paths are relative, without `..`; every step is opened without following links, so that a link
// planted in the folder leads nowhere. A file is written beside its place, flushed and renamed over
// it: who reads it meanwhile, or after a power cut, sees the old text or the new one. One emit
// works in a folder at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "output/emit/emit_plan.h"

namespace orrery::emit {

// Nothing emitted is near it; a larger file in the folder is somebody else's.
inline constexpr std::size_t kEmittedBytesMax = std::size_t{16} << 20;

class EmitFolder {
 public:
  // `create`: makes the folder where it is missing; without it a missing folder reads as empty.
  static Result<std::unique_ptr<EmitFolder>> open(const std::string& path, bool create);
  ~EmitFolder();
  EmitFolder(const EmitFolder&) = delete;
  EmitFolder& operator=(const EmitFolder&) = delete;

  // nullopt where there is no such file; anything but a plain file is "emit.not-a-file".
  Result<std::optional<FileOnDisk>> read(const std::string& path) const;
  Result<void> write(const EmittedFile& file) const;
  Result<void> remove(const std::string& path) const;  // and folders that it leaves empty

  // The manifest in the folder; an empty one if there is none.
  Result<Manifest> manifest() const;
  // Makes the plan's changes. The manifest says first that old and new texts are both ours, so that
  // a run that is killed in between leaves nothing that looks edited by hand.
  Result<void> carry_out(const EmitPlan& plan, const Manifest& before) const;

 private:
  EmitFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;  // -1: a folder that is not there
};

}  // namespace orrery::emit
