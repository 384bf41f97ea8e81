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

#include "app/cli/emit_plan.h"

namespace orrery::cli {

class EmitFolder {
 public:
  // `create`: makes the folder where it is missing; without it a missing folder reads as empty.
  static Result<std::unique_ptr<EmitFolder>> open(const std::string& path, bool create);
  ~EmitFolder();
  EmitFolder(const EmitFolder&) = delete;
  EmitFolder& operator=(const EmitFolder&) = delete;

  // nullopt where there is no such file; anything but a plain file is "emit.not-a-file".
  Result<std::optional<FileOnDisk>> read(const std::string& path) const;
  Result<void> write(const emit::EmittedFile& file) const;
  Result<void> remove(const std::string& path) const;  // and folders that it leaves empty

 private:
  EmitFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;  // -1: a folder that is not there
};

}  // namespace orrery::cli
