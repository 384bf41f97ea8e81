// The files that designs in requests may name: those that the served design names.
//
// A design in a request is text from the network, so it must not choose what is read on this
// machine. The user who started the server chose the served file, and with it the files that it
// names, each spelt exactly as there. Names are looked up in the served file as it is on disk now
// and in every version seen before, because a file that is being edited may be broken for a while.
// A text that the console saved adds no names, because it came over the network too.
//
// Any other name is refused with catalog::kFileNotGiven, as if there were no files here.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "app/server/json_body.h"
#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"

namespace orrery::server {

class ServedFiles {
 public:
  // `text` returns the served file as it is now; `read_file` reads files beside it. Both outlive
  // this object.
  ServedFiles(const catalog::Catalog& catalog, std::function<Result<std::string>()> text,
              catalog::ReadFile read_file);
  ServedFiles(const ServedFiles&) = delete;
  ServedFiles& operator=(const ServedFiles&) = delete;

  // Returns the text of a file that the served design names; callable from any thread.
  Result<std::string> read(std::string_view name);
  // Returns read() as a reader. The reader must not outlive this object.
  catalog::ReadFile reader();
  // Must be called before the console writes this text into the served file.
  void will_save(const std::string& text);

 private:
  void look();

  const catalog::Catalog& catalog_;
  const std::function<Result<std::string>()> text_;
  const catalog::ReadFile read_file_;
  std::mutex mutex_;
  std::set<std::string> seen_;  // digests of the versions that were searched for names or saved
                                // here
  std::set<std::string, std::less<>> names_;
};

// The files that a request named, by name.
using FileTexts = std::map<std::string, std::string, std::less<>>;

// Reads with `read` and keeps what was read in `texts`. Both outlive the reader.
catalog::ReadFile keeping_reader(const catalog::ReadFile& read, FileTexts& texts);
// Returns the request with the texts of the files that its design names, as the member `files`. The
// job then gives the same result whatever is on disk when it continues.
std::string with_files(const std::string& request, const FileTexts& texts);
// Returns a reader of the files that were stored with a request.
catalog::ReadFile kept_files(JsonBody& request);

}  // namespace orrery::server
