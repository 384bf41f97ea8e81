// The port to one drive: files that are written once, from front to end, and then only read.
//
// Promises. After sync() of a file, its bytes and its name survive a power cut. Before that, either
// may be lost, or the bytes may be there only in part (torn at any byte). A removed file may come
// back after a power cut. Names are short and consist of letters, digits, dots and dashes.
//
// Faults. create and append return `full` if there is no space, and open returns `missing`. Every
// call may return `failed` or, for a drive on another machine, `busy`. read returns whatever is
// stored: the reader checks whether it is right (blob.h), because drives flip bits and lose writes
// silently.
//
// Threads. All calls of a Drive may come from any thread; those of a file from one thread at a
// time.
//
// Besides its files a drive keeps a note of a few lines (witness.h). Files that no metadata row
// refers to any more are set aside on it: they are listed separately, open() still finds them, and
// later they are brought back or removed (sweep.h).
//
// Live: folder_drive.h, s3_drive.h, rados_drive.h. Simulated: simulated_drive_fixture.h, which can
// tear, lose and flip bytes and run out of space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/drives/fault.h"

namespace orrery::drives {

class DriveFile {
 public:
  virtual ~DriveFile() = default;
  virtual Outcome<void> append(std::span<const std::string_view> pieces) = 0;
  // Announces how many bytes will be appended in total, so that the drive may reserve space. Only a
  // hint: neither side promises anything.
  virtual void expect(std::uint64_t bytes) { (void)bytes; }
  // Starts syncing after the last append, so that several files sync at the same time. sync()
  // returns the result.
  virtual void begin_sync() {}
  // Returns how many bytes were read from `offset` on; fewer than requested only at the end.
  virtual Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) = 0;
  // As above, and puts the bytes that follow into `behind`: reads data and checksum in one call.
  virtual Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into,
                                    std::span<char> behind) {
    auto got = read(offset, into);
    if (!got || *got < into.size()) return got;
    const auto rest = read(offset + into.size(), behind);
    if (!rest) return rest;
    return *got + *rest;
  }
  virtual Outcome<void> sync() = 0;
};

struct DriveSpace {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// A file that was set aside.
struct AsideFile {
  std::string name;
  std::uint64_t since_ms = 0;  // healthy time of the store (sweep.h) at which it was set aside
};

class Drive {
 public:
  virtual ~Drive() = default;
  virtual Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) = 0;
  virtual Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) = 0;
  virtual Outcome<void> remove(const std::string& name) = 0;  // succeeds if the file does not exist
  virtual Outcome<std::vector<std::string>> list() = 0;       // in no order
  virtual Outcome<DriveSpace> space() = 0;

  // Returns the last text of the note, or `missing` if there is none.
  virtual Outcome<std::string> note() { return fault(PortFault::missing, "the drive has no note"); }
  // Replaces the whole note. If it is not `durable`, it survives the end of this process, but
  // perhaps not a power cut.
  virtual Outcome<void> set_note(std::string_view text, bool durable) {
    (void)text, (void)durable;
    return fault(PortFault::failed, "this kind of drive cannot store a note");
  }
  // Sets a file aside and records `origin`, a line for people. Succeeds if the file is already set
  // aside.
  virtual Outcome<void> set_aside(const AsideFile& file, const std::string& origin) {
    (void)file, (void)origin;
    return fault(PortFault::failed, "this kind of drive cannot set files aside");
  }
  virtual Outcome<std::vector<AsideFile>> aside() { return std::vector<AsideFile>{}; }
  // Undoes set_aside().
  virtual Outcome<void> bring_back(const AsideFile& file) {
    (void)file;
    return fault(PortFault::missing, "no file is set aside");
  }
  virtual Outcome<void> remove_aside(const AsideFile& file) {
    (void)file;
    return {};
  }
  // Returns true if the drive is on another machine: checks then look for files without reading
  // them.
  virtual bool is_remote() const { return false; }
};

}  // namespace orrery::drives
