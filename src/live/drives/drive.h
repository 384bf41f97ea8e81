// The port to one drive: files that are written once, from front to end, and then only read.
//
// Promises. After sync() of a file, its bytes and its name outlive a power cut; before it either
// may be gone, or the bytes may be there in part (torn at any byte). A file that is removed may
// come back after a power cut. Names are short, of letters, digits, dots and dashes.
//
// Faults. create and append return `full` if there is no space, and open `missing`; every call may
// return `failed`, and on another machine `busy`. read returns what is there: the reader checks
// whether it is right (blob.h), because drives flip bits and lose writes silently.
//
// Threads. All calls of a Drive from any thread; those of a file from one at a time.
//
// Besides its files a drive keeps a note of a few lines (witness.h). Files that no row names any
// more are set aside on it: they are listed separately, open() still finds them, and later they are
// brought back or removed (sweep.h).
//
// Live: folder_drive.h, s3_drive.h, rados_drive.h. Simulated: simulated_drive_fixture.h, which
// tears, loses, flips and fills.
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
  // Announces how many bytes will be appended in all, so that the drive may reserve room. A hint:
  // neither side promises anything.
  virtual void expect(std::uint64_t bytes) { (void)bytes; }
  // Starts syncing, after the last append, so that several files sync at once. sync() returns the
  // result.
  virtual void begin_sync() {}
  // Returns how many bytes were read from `offset` on; fewer than asked for only at the end.
  virtual Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) = 0;
  // As above, with the bytes that follow in `behind`: data and checksum in one call.
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
  std::uint64_t since_ms = 0;  // of the store's healthy time (sweep.h), when it was set aside
};

class Drive {
 public:
  virtual ~Drive() = default;
  virtual Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) = 0;
  virtual Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) = 0;
  virtual Outcome<void> remove(const std::string& name) = 0;  // succeeds if there is none
  virtual Outcome<std::vector<std::string>> list() = 0;       // in no order
  virtual Outcome<DriveSpace> space() = 0;

  // Returns what the note said last; `missing` if there is none.
  virtual Outcome<std::string> note() { return fault(PortFault::missing, "the drive has no note"); }
  // Replaces the note as a whole. If it is not `durable` it outlives this process, but perhaps not
  // a power cut.
  virtual Outcome<void> set_note(std::string_view text, bool durable) {
    (void)text, (void)durable;
    return fault(PortFault::failed, "this kind of drive cannot store a note");
  }
  // Sets a file aside and writes down `origin`, a line for people; good if it is aside already.
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
