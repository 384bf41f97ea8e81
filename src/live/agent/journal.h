// An append-only file of lines that survives its writer.
//
// append() is one write and one fdatasync: after a kill or a power cut the file holds whole
// appends and at most one torn end, which open() cuts off (a line counts once its newline is
// there). A file is looked at before it is touched: one that does not begin as a journal of this
// form, or has a line that is none of it, is refused and keeps every byte. One writer at a time:
// the lock lies on FILE.lock beside it and ends with the process, however that ends.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery::agent {

struct JournalForm {
  std::string header;              // the first line of a new journal
  std::vector<std::string> older;  // what the first line of an older one may begin with
  std::function<Result<void>(std::string_view text)> check;  // of its whole lines
};

class Journal {
 public:
  static Result<Journal> open(const std::string& path, const JournalForm& form);
  // The whole lines that open() would find, and its errors; writes nothing. No file: no lines.
  static Result<std::string> read(const std::string& path, const JournalForm& form);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  // What was there when it was opened, whole lines only.
  const std::string& text() const { return text_; }
  // Bytes of a torn last line that were cut off.
  std::size_t torn_bytes() const { return torn_; }
  std::size_t size() const { return size_; }  // now

  // A file without a line of its own gets its header with the first append. No line may hold a line
  // break.
  Result<void> append(const std::vector<std::string>& lines);
  // Puts the header (once) and these lines in the place of everything, as one step: the old file or
  // the new one is there.
  Result<void> rewrite(const std::vector<std::string>& lines);

 private:
  Journal() = default;

  std::string path_;
  std::string header_;
  std::string text_;
  std::size_t torn_ = 0;
  std::size_t size_ = 0;
  int file_ = -1;
  int lock_ = -1;
};

}  // namespace orrery::agent
