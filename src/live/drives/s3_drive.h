// A drive that is a prefix of a bucket in another object store: radosgw, MinIO, a cloud, another of
// ours. With it a tier is warm or cold somewhere else, and nothing above the port knows: moves
// copy, verify, switch and delete, reads check every block.
//
//   s3+https://HOST[:PORT]/BUCKET[/PREFIX][?region=NAME]
//   PREFIX/drive   whose drive this is, as folder_drive.h has it
//   PREFIX/NAME    a shard file, whole
//   PREFIX/seen    the note; PREFIX/NAME!aside says that a file is set aside (aside_names.h)
// A file on its way lies in a file without a name in the spool folder until sync(), which sends it:
// in one piece up to 64 MiB, above that in parts of 16 MiB, aborted where one fails. So the other
// store has a file whole or not at all, and a crash leaves nothing but parts of an upload (let a
// rule of that bucket end those). A file is read in ranges that grow while it is read in order.
//
// Faults. A store that does not answer, answers 5xx or refuses us is `busy`, which is no damage:
// reads around it go on, nothing is rebuilt, and a request that needs it hears 503 SlowDown. After
// a silence further calls fail at once for two seconds; at most eight run at a time, and one that
// finds no turn within two more is busy. A drive whose store is silent when ours opens is checked
// against its mark at the first call that gets through.
#pragma once

#include <map>

#include "live/drives/folder_drive.h"
#include "live/s3/client.h"

namespace orrery::drives {

struct S3Place {
  std::string endpoint;
  std::string bucket;
  std::string prefix;  // empty, or ends with '/'
  std::string region = "us-east-1";
};
bool is_s3_place(std::string_view text);
Result<S3Place> s3_place_of(const std::string& text);

struct S3Access {
  std::map<std::string, s3::Credentials> keys = {};  // by bucket; "": of every other
  s3::RetryPolicy retry = {.attempts_max = 3, .base_s = 0.1, .cap_s = 1};
  net::ClientOptions client = {.connect_s = 3, .slow_bytes_per_s = 16 << 10, .slow_s = 10};
};

// `spool` is a folder of this machine with room for the largest file on its way. The fault is a
// mark that is another's, keys that are missing, or, with `make`, a store that does not answer.
Result<std::unique_ptr<Drive>> open_s3_drive(const S3Place& place, const DriveMark& mark,
                                             const S3Access& access, const std::string& spool,
                                             bool make);

}  // namespace orrery::drives
