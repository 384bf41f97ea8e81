// An append-only file of lines that survives its writer.
//
// append() is one write and one fdatasync: after a kill or a power cut the file holds whole appends
// and at most one torn end, which open() cuts off (a line counts once its newline is written).
// open() checks a file before it changes it: a file that does not begin like a journal of this
// form, or has an invalid line, is refused and left unchanged. There is one writer at a time: it
// locks FILE.lock, and the lock ends with the process, however that ends.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery::agent {

struct JournalForm {
  std::string header;              // the first line of a new journal
  std::vector<std::string> older;  // prefixes of the first line of older journals
  std::function<Result<void>(std::string_view text)> check;  // fails if a line is invalid
};

class Journal {
 public:
  static Result<Journal> open(const std::string& path, const JournalForm& form);
  // Returns the complete lines that open() would find, or its errors, without writing. A missing
  // file has no lines.
  static Result<std::string> read(const std::string& path, const JournalForm& form);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  // The complete lines that the file had when it was opened.
  const std::string& text() const { return text_; }
  // Number of bytes of the torn last line that open() cut off.
  std::size_t torn_bytes() const { return torn_; }
  std::size_t size() const { return size_; }  // current size

  // The first append to an empty file also writes the header. A line must not contain a line break.
  Result<void> append(const std::vector<std::string>& lines);
  // Replaces the file by the header and these lines in one step: after a crash the file is the old
  // or the new one. If `lines` already begins with the header, it is not written twice.
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
